"""Which levers act on which variable under an arm."""

import numpy as np

from ..compiled import Ints
from ..problem import Problem


def mechanism_numbers(problem: Problem) -> Ints:
    """(arms, nodes), the reward last: which joint setting of the levers on a node an arm has; 0 where all are idle."""
    nodes = (*problem.observed_names, problem.target)
    idle = np.array([v.code(problem.idle_settings[v.name]) for v in problem.interventions])
    acting = np.zeros((len(problem.arms), len(nodes)), dtype=np.int64)
    for place, node in enumerate(nodes):
        levers = [lever for lever, name in enumerate(problem.intervention_names) if node in dict(problem.targets)[name]]
        settings = problem.arm_codes[:, levers]
        busy = (settings != idle[levers]).any(axis=1)
        if busy.any():
            acting[busy, place] = 1 + np.unique(settings[busy], axis=0, return_inverse=True)[1].reshape(-1)
    return acting
