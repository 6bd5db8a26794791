"""What to deploy: the arm with the highest posterior mean, and how sure it is that no other is better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...errors import OptionError, brief
from ...libraries import pl
from ..compiled import Bools, Floats
from ..markup import chance_words, loss_words, number, printable, titled_table
from ..problem import Arm, Level, Problem, Segment
from ..validation import is_number
from .arms import OfArm, arms_left
from .estimates import Listed
from .posterior import Posterior, best_of, losses

STANDS_OUT = 0.9
"""An arm stands out that is the best one with this probability."""
NEAR = 0.05
"""What is close to the best, as a share of the recommended arm's mean."""


@dataclass(frozen=True, repr=False)
class Recommendation(OfArm):
    """The arm to deploy, its posterior mean, and the probability that no other arm is better.

    If several arms are equally good, `probability_best` stays low. `probability_close` (the probability that the arm is
    within `margin` of the best) and `expected_loss` (how far the best arm is expected to be ahead) do not have this
    problem.
    """

    arm: Arm
    mean: float
    probability_best: float
    probability_close: float = math.nan
    margin: float = math.nan
    expected_loss: float = math.nan

    @property
    def stands_out(self) -> bool:
        """Whether the arm is the best with a probability of at least 90%."""
        return self.probability_best >= STANDS_OUT

    @property
    def verdict(self) -> str:
        """The conclusion in one sentence."""
        if self.stands_out:
            return (
                f"{self.arm.lever_arm.label} stands out: it is the best arm with probability "
                f"{chance_words(self.probability_best)}"
            )
        if self.probability_close >= STANDS_OUT:
            return (
                f"no arm stands out yet, but {self.arm.lever_arm.label} is within {number(self.margin)} of the best "
                f"with probability {chance_words(self.probability_close)}"
            )
        return "no arm stands out yet"

    def __repr__(self) -> str:
        chances = f"P(best) {chance_words(self.probability_best)}, expected loss {loss_words(self.expected_loss)}"
        return printable(f"Recommendation({self.arm.label}: mean {number(self.mean)}, {chances})")

    def __str__(self) -> str:
        return printable(f"{self.arm.label}, mean {number(self.mean)}; {self.verdict}")

    def _repr_html_(self) -> str:
        return recommended_table(f"Recommended; {self.verdict}", [self])


def recommended_table(title: str, rows: Sequence[Recommendation]) -> str:
    """What a notebook shows of recommendations."""
    shown = [
        (
            best.arm.label,
            number(best.mean),
            chance_words(best.probability_best),
            f"{chance_words(best.probability_close)} ({number(best.margin)})",
            loss_words(best.expected_loss),
        )
        for best in rows
    ]
    columns = ("recommended arm", "mean reward", "P(best)", "P(close), within", "expected loss")
    return titled_table(title, columns, shown, numeric=(1, 2, 3, 4))


def checked_margin(margin: object, mean: float) -> float:
    """How far from the best is close enough: what was given, or 5% of the recommended arm's mean."""
    if margin is None:
        return NEAR * abs(mean)
    if not is_number(margin) or not 0 <= float(margin) < math.inf:  # type: ignore[arg-type]
        raise OptionError(f"margin={brief(margin)}; expected a number of at least 0, in units of the reward")
    return float(margin)  # type: ignore[arg-type]


class Ranking(NamedTuple):
    """What is recommended, and the probability of every arm to be the best one, from the same draws.

    Args:
        best: The recommended arm.
        probability_best: (arms,): NaN for the arms that are not compared.
    """

    best: Recommendation
    probability_best: Floats


def rank(
    posterior: Posterior, problem: Problem, arm: int, among: Bools, margin: float | None, cost: Floats | None
) -> Ranking:
    """How an arm compares with some arms, by their means less costs."""
    taken = np.zeros(len(among)) if cost is None else cost
    draws, mean = posterior.draws - taken, float(posterior.means[arm] - taken[arm])
    near, behind = checked_margin(margin, mean), losses(draws, among, arm)
    chances = best_of(draws, among)
    close = float(np.mean(behind <= near))
    best = Recommendation(problem.arms[arm], mean, float(chances[arm]), close, near, float(behind.mean()))
    return Ranking(best, chances)


def played_first(
    found: Ranking, posterior: Posterior, problem: Problem, margin: float | None, cost: Floats | None
) -> Ranking:
    """The ranking with the best arm that has own rows, unless no arm has any.

    An arm without rows is only known from others. It is compared and explored, but not deployed before it was tried.
    """
    compared, rows = ~np.isnan(found.probability_best), posterior.own_rows
    can = compared & (rows > 0)
    if rows[problem.index(found.best.arm)] or not can.any():
        return found
    means = posterior.means - (0.0 if cost is None else cost)
    return rank(posterior, problem, int(np.argmax(np.where(can, means, -np.inf))), compared, margin, cost)


class Recommendations(Listed[Recommendation]):
    """The arm to deploy in each segment, in the order of `problem.segment_settings`."""

    def to_frame(self) -> pl.DataFrame:
        """One row per segment."""
        return pl.DataFrame(
            [
                {
                    **{name: str(level) for name, level in best.segment.items()},
                    "recommended arm": best.arm.lever_arm.label,
                    "mean reward": best.mean,
                    "probability best": best.probability_best,
                    "probability close": best.probability_close,
                    "expected loss": best.expected_loss,
                }
                for best in self
            ]
        )

    def __repr__(self) -> str:
        return "\n".join(map(str, self))

    def _repr_html_(self) -> str:
        return recommended_table(f"{len(self)} segments", self)


def segment_words(segment: dict[str, Level]) -> str:
    """A segment as it is written on the command line."""
    return ",".join(f"{name}={level}" for name, level in segment.items())


def segment_masks(problem: Problem, segment: Segment | None, allowed: Bools) -> list[Bools]:
    """The allowed arms of a segment, which is checked; of each segment for None."""
    wanted = problem.segment_settings if segment is None else [problem.segment(segment)]
    return [arms_left(problem, allowed, problem.arms_in(each)) for each in wanted] if problem.segments else [allowed]
