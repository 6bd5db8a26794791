"""Direct testing where the reward is a real number: the residual test instead of G2 (sec. 4.1)."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ...errors import OptionError
from ..data import ArmMoments, DesignLayout
from ..independence import Factor, residual_tests
from ..validation import check_fields
from .base import Discovery, Findings, check_alpha
from .direct import lever_tests

ResidualReading = Literal["conditional", "joint"]


@dataclass(frozen=True)
class ResidualTesting(Discovery):
    """Accept I' for S when the residual test does not reject that the reward's equation is the same, at level alpha.

    The readings of what a set is tested against are

    - ``conditional`` (default): each lever given the others. Arms that differ in that variable alone
      are the environments; there is a regression for every setting of the others, and their tests are combined by
      Bonferroni. This is what eq. 6 needs.
    - ``joint``: all levers at once, every arm an environment. A set separates all or nothing.

    It assumes what Peters et al. (2016) do: given S the noise has one distribution in every arm, and one close
    enough to normal for t- and F-tests. Arms that share a mean but not a variance are rejected. With zeros and heavy
    tails, such as revenue, that happens to almost every set (docs/results/rewards.md).

    Args:
        alpha: Significance level of the tests.
        reading: One of the readings above.
        factor: Bonferroni factor; ``"environments"`` holds the level with more than two environments
            (`independence.residual` has the formula).
        require_evidence: Reject a set whose test has no evidence (`dof` 0); otherwise such a test does not reject.

    >>> ResidualTesting(alpha=0.01).reading
    'conditional'
    """

    name: ClassVar[str] = "residual"
    alpha: float = 0.05
    reading: ResidualReading = "conditional"
    factor: Factor = "environments-1"
    require_evidence: bool = False

    def __post_init__(self) -> None:
        check_alpha(self.alpha, 0.05)
        check_fields(self)

    def discover(self, layout: DesignLayout, moments: ArmMoments, rows: int) -> Findings:
        """Test every set of the layout."""
        if not isinstance(layout, DesignLayout):
            raise OptionError("ResidualTesting needs a real-valued reward; use DirectTesting() or ASD()")
        tested, tests = lever_tests(layout.problem, "conditional")
        groups = tests.strata
        if self.reading == "joint":
            tested, groups = (layout.problem.intervention_names,), np.zeros_like(groups[:1])
        results = residual_tests(moments, layout.chosen(), groups, factor=self.factor)
        accepted = results["p_value"] > self.alpha
        if self.require_evidence:
            accepted &= results["dof"] > 0
        separated = np.repeat(accepted, len(layout.problem.interventions), axis=1) if len(tested) == 1 else accepted
        return Findings(layout, rows, separated, "tested", results, tested)
