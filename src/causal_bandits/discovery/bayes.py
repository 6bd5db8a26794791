"""Bayes factors: how much more probable the rewards are if S separates a lever from them than if it does not."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

from ..data import CountTables, TableLayout, levels_of, margins_of
from ..errors import OptionError
from ..independence import Neighbours, conditional_factors, marginal_factors
from ..problem import Problem
from .base import Findings

Others = Literal["both", "marginal", "conditional"]


@dataclass(frozen=True)
class BayesFactors:
    """Accept an intervention variable I for S when log [ P(Y | S) / P(Y | S, I) ] exceeds `threshold` nats.

    Every chance of a reward is uniform beforehand. Unlike a test that does not reject, a Bayes factor needs evidence
    *for* a set: without data it is 0, and nothing is shared. The other intervention variables may be

    - averaged over (``marginal``): few cells, so that true sets are found early, and false ones too;
    - held fixed (``conditional``): what sharing needs, and late to be sure of;
    - ``both`` (default): sets are accepted by the first, and no more probable than the weaker of the two makes them.

    >>> BayesFactors(threshold=2).reading
    'both'
    """

    threshold: float = 1.0
    reading: Others = "both"

    def __post_init__(self) -> None:
        good = isinstance(self.threshold, int | float) and not isinstance(self.threshold, bool)
        if not good or not math.isfinite(self.threshold):
            raise OptionError(f"threshold={self.threshold!r}; expected a number of nats, such as 1")
        if self.reading not in get_args(Others):
            raise OptionError(f"reading={self.reading!r}; expected one of {', '.join(get_args(Others))}")

    def discover(self, layout: TableLayout, tables: CountTables, rows: int) -> Findings:
        """Weigh every set that has a table."""
        if not isinstance(layout, TableLayout):
            raise OptionError("BayesFactors needs discrete variables and a reward of 0 or 1; use ResidualTesting()")
        if self.reading == "conditional":
            found, given = conditional_factors(tables, _neighbours(layout.problem)), None
        else:
            found = marginal_factors(margins_of(layout, tables), levels_of(layout.problem).starts)
            given = conditional_factors(tables, _neighbours(layout.problem)) if self.reading == "both" else None
        accepted = found > self.threshold
        return Findings(layout, rows, "weighed", accepted, log_bayes_factor=found, given_others=given)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"name": "bayes", **vars(self)}


@lru_cache(maxsize=32)
def _neighbours(problem: Problem) -> Neighbours:
    return Neighbours.of(problem)
