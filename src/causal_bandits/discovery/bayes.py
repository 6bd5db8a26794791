"""Bayes factors: how much more probable the rewards are if S separates a lever from them than if it does not."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

from ..compiled import Bools, Floats
from ..data import CountTables, Screen, TableLayout, levels_of, margins_of
from ..errors import OptionError
from ..independence import Neighbours, conditional_factors, marginal_factors
from ..problem import Problem
from .base import Findings
from .screening import used_sets

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

    @property
    def screens(self) -> bool:
        """Whether margins are enough to accept a set, so that only those accepted need a table."""
        return self.reading != "conditional"

    def discover(self, layout: TableLayout, tables: CountTables | Screen, rows: int) -> Findings:
        """Weigh every set that has a table, or every set of a screen."""
        if not isinstance(layout, TableLayout):
            raise OptionError("BayesFactors needs discrete variables and a reward of 0 or 1; use ResidualTesting()")
        if isinstance(tables, Screen):
            return self._screened(tables, rows)
        everything = np.ones((layout.count, len(layout.problem.interventions)), dtype=np.bool_)
        given = None if self.reading == "marginal" else _conditional(layout, tables, everything)
        if self.reading == "conditional" and given is not None:
            found, given = given, None
        else:
            found = _marginal(layout, margins_of(layout, tables))
        return Findings(layout, rows, "weighed", found > self.threshold, log_bayes_factor=found, given_others=given)

    def _screened(self, screen: Screen, rows: int) -> Findings:
        """Every set by its margins; the other levers are held fixed for those alone that are used."""
        layout = screen.layout
        found = _marginal(layout, screen.margins)
        accepted = found > self.threshold
        used = used_sets(screen.margins, len(layout.problem.arms), accepted)
        given = None
        if self.reading == "both":
            tables = screen.tables(np.flatnonzero(used))
            given = np.full(found.shape, np.nan)
            given[tables.sets] = _conditional(layout, tables, accepted[tables.sets])
        return Findings(
            layout,
            rows,
            "weighed",
            accepted & used[:, None],
            log_bayes_factor=found,
            given_others=given,
            passed_over=accepted.any(axis=1) & ~used,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"name": "bayes", **vars(self)}


@lru_cache(maxsize=32)
def _neighbours(problem: Problem) -> Neighbours:
    return Neighbours.of(problem)


def _marginal(layout: TableLayout, margins: CountTables) -> Floats:
    return marginal_factors(margins, levels_of(layout.problem).starts)


def _conditional(layout: TableLayout, tables: CountTables, wanted: Bools) -> Floats:
    return conditional_factors(tables, _neighbours(layout.problem), wanted)
