"""How many levels each lever has."""

import numpy as np

from ..compiled import Ints
from ..problem import Problem


def lever_sizes(problem: Problem) -> Ints:
    """How many levels each lever has."""
    return np.array([lever.size for lever in problem.interventions], dtype=np.int64)
