"""Bayes factors: how much more probable the rewards are if S separates a lever from them than if it does not."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ...errors import OptionError, brief
from ..compiled import Bools, Floats
from ..data import ArmMoments, CountTables, DesignLayout, SubsetLayout, TableLayout
from ..independence import factors_of_arms, regression_factors
from ..validation import check_fields, is_number
from .base import Discovery, Findings
from .direct import lever_tests

Others = Literal["both", "either", "marginal", "conditional"]


@dataclass(frozen=True)
class BayesFactors(Discovery):
    """Accept a lever I for S when log [ P(Y | S) / P(Y | S, I) ] exceeds `threshold` nats.

    Unlike a test that does not reject, a Bayes factor needs evidence *for* a set: without data it is 0, and nothing is
    shared. If rewards are 0 or 1, every reward probability has a uniform prior. If they are real numbers, one linear
    regression on S is compared with one for every level of I, and the units of Y and S do not matter
    (`independence.regressions` has the formula). The other levers may be

    - averaged over (``marginal``): few cells, so that true sets are found early, and false ones too;
    - held fixed (``conditional``): what sharing needs, but it takes many rows;
    - ``both`` (default): sets are accepted by the first, and no more probable than the weaker of the two makes them;
    - ``either``: the same, but what exceeds the threshold in either way is accepted. Real-valued policies do best so.

    Args:
        threshold: Evidence that a set needs, in nats (natural logarithm of the Bayes factor).
        reading: How the other levers are treated, as above.
        veto: Reject a set when the factor with the other levers held fixed is this many nats against it.

    >>> BayesFactors(threshold=2).reading
    'both'
    """

    name: ClassVar[str] = "bayes"
    threshold: float = 1.0
    reading: Others = "both"
    veto: float | None = None

    def __post_init__(self) -> None:
        for name, nats, such in (("threshold", self.threshold, 1), ("veto", self.veto, 5)):
            if nats is None and name == "veto":
                continue
            if not is_number(nats) or not math.isfinite(float(nats)):  # type: ignore[arg-type]
                raise OptionError(f"{name}={brief(nats)}; expected a number of nats, such as {such}")
        check_fields(self)

    def discover(self, layout: SubsetLayout, statistics: CountTables | ArmMoments, rows: int) -> Findings:
        """Weigh every set of the layout, from tables or from moments."""
        found = _factors(layout, statistics, given_others=self.reading == "conditional")
        given = _factors(layout, statistics, given_others=True) if self.reading in ("both", "either") else None
        weighed = {"log_bayes_factor": found, **({} if given is None else {"given_others": given})}
        return Findings(layout, rows, self._accepted(found, given), "weighed", weighed)

    def _accepted(self, found: Floats, given: Floats | None) -> Bools:
        accepted: Bools = found > self.threshold
        if given is None:
            return accepted
        if self.reading == "either":
            accepted = accepted | (given > self.threshold)
        return accepted if self.veto is None else accepted & ~(given < -self.veto)


def _factors(layout: SubsetLayout, statistics: CountTables | ArmMoments, *, given_others: bool) -> Floats:
    """(sets, levers): log Bayes factors, the other variables averaged over or held fixed."""
    problem = layout.problem
    _, tests = lever_tests(problem, "conditional" if given_others else "marginal")
    if isinstance(layout, TableLayout) and isinstance(statistics, CountTables):
        return factors_of_arms(statistics, tests)
    if not isinstance(layout, DesignLayout) or not isinstance(statistics, ArmMoments):
        raise TypeError("expected tables with a TableLayout, or moments with a DesignLayout")
    chosen, every = layout.chosen(with_reward=True), problem.arm_groups(problem.intervention_names)
    by_lever = [
        regression_factors(statistics, chosen, strata, every if given_others else levels)
        for strata, levels in zip(tests.strata, tests.rows, strict=True)
    ]
    return np.stack(by_lever, axis=1)
