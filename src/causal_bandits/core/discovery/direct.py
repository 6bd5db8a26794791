"""Direct testing: test for every S whether the reward is independent of the interventions (sec. 4.1)."""

import itertools
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import OptionError, whole_number
from ..data import CountTables, TableLayout
from ..independence import ArmTests, g_squared_of_arms, p_values, permuted_of_arms
from ..independence.permutation import DRAWS, MOST_DRAWS
from ..problem import Problem
from ..validation import check_fields
from .base import Discovery, Findings, check_alpha

Reading = Literal["conditional", "marginal", "joint"]
Calibration = Literal["asymptotic", "permutation"]


@dataclass(frozen=True)
class DirectTesting(Discovery):
    """Accept I' for S when the G2 test does not reject independence of the reward at level alpha.

    The paper does not say what a *partial* separating set is tested against; the readings are

    - ``conditional`` (default): each lever given S and the other levers.
      This is what eq. 6 needs.
    - ``marginal``: each one given S, the others marginalized. A policy's choices make levers
      dependent, so in the population this accepts all or nothing.
    - ``joint``: the largest I' that is independent of the reward given S and the other levers.

    Args:
        alpha: Significance level of the tests.
        reading: One of the readings above.
        require_evidence: Reject a set whose test has no degrees of freedom; otherwise such a test does not reject.
        calibration: Where p-values come from: the chi-squared tail, as in the paper, which rejects true sets far too
            often with few rows per stratum (``asymptotic``), or random deals, which hold their level with any number
            of rows and take about a thousand times as long (``permutation``).
        draws: Number of random deals for ``calibration="permutation"``; the level holds with any number of 19 or more.

    >>> DirectTesting(alpha=0.01).reading
    'conditional'
    """

    name: ClassVar[str] = "direct"
    alpha: float = 0.05
    reading: Reading = "conditional"
    require_evidence: bool = False
    calibration: Calibration = "asymptotic"
    draws: int = field(default=DRAWS, repr=False)

    def __post_init__(self) -> None:
        check_alpha(self.alpha, 0.05)
        check_fields(self)
        whole_number("draws", self.draws, 19, MOST_DRAWS)

    def discover(self, layout: TableLayout, tables: CountTables, rows: int) -> Findings:
        """Test every set that has a table."""
        if not isinstance(layout, TableLayout):
            raise OptionError("DirectTesting needs discrete variables and a reward of 0 or 1; use ResidualTesting()")
        names, tests = lever_tests(layout.problem, self.reading)
        statistic, dof = g_squared_of_arms(tables, tests)
        if self.calibration == "permutation":
            p_value = permuted_of_arms(tables, tests, self.draws, np.random.default_rng(rows))
        else:
            p_value = p_values(statistic, dof)
        accepted = p_value > self.alpha
        if self.require_evidence:
            accepted &= dof > 0
        if self.reading == "joint":
            accepted = _largest(layout.problem, names, accepted, p_value)
        tests_found = {"statistic": statistic, "dof": dof, "p_value": p_value}
        return Findings(layout, rows, accepted, "tested", tests_found, names)


@lru_cache(maxsize=32)
def lever_tests(problem: Problem, reading: Reading) -> tuple[tuple[tuple[str, ...], ...], ArmTests]:
    """The levers that are tested together, and the tests."""
    levers = problem.intervention_names
    sizes = range(1, len(levers) + 1) if reading == "joint" else (1,)
    tested = tuple(itertools.chain.from_iterable(itertools.combinations(levers, size) for size in sizes))
    given: list[tuple[str, ...]] = [()] * len(tested)
    if reading != "marginal":
        given = [tuple(name for name in levers if name not in names) for names in tested]
    return tested, ArmTests.of(problem, zip(tested, given, strict=True))


def _largest(
    problem: Problem, tested: tuple[tuple[str, ...], ...], accepted: NDArray[np.bool_], p_value: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Per set the largest accepted I'; among equals the one with the highest p-value."""
    member = np.array([[name in names for name in problem.intervention_names] for names in tested])
    rank = np.where(accepted, member.sum(axis=1) + p_value / 2, 0)
    best = rank.argmax(axis=1)
    found: NDArray[np.bool_] = member[best] & np.any(accepted, axis=1, keepdims=True)
    return found
