"""One answer for every segment."""

import polars as pl

from ..compiled import Bools
from ..markup import number, printable, titled_table
from ..problem import Problem, Segment
from .advice import Advice
from .allowing import arms_left
from .estimates import Recommendation
from .listed import Listed


class Recommendations(Listed[Recommendation]):
    """The arm to deploy in each segment, in the order of `problem.segment_settings`.

    Args:
        rows: The recommendations.
    """

    def to_frame(self) -> pl.DataFrame:
        """One row per segment."""
        return pl.DataFrame(
            [
                {
                    **{name: str(level) for name, level in best.segment.items()},
                    "recommended arm": str(best.arm.lever_arm),
                    "mean reward": best.mean,
                    "probability best": best.probability_best,
                    "probability close": best.probability_close,
                    "expected loss": best.expected_loss,
                }
                for best in self
            ]
        )

    def __repr__(self) -> str:
        return "\n".join(
            printable(f"{segment_words(best)}: {best.arm.lever_arm}, mean {number(best.mean)}, ")
            + f"the best with probability {best.probability_best:.2f}"
            for best in self
        )

    def _repr_html_(self) -> str:
        rows = [
            (segment_words(best), str(best.arm.lever_arm), number(best.mean), f"{best.probability_best:.2f}")
            for best in self
        ]
        columns = ("segment", "recommended", "mean", "probability best")
        return titled_table(f"{len(self)} segments", columns, rows, numeric=(2, 3))


class Advices(Listed[Advice]):
    """Whether to stop, to go on or to drop arms in each segment, in the order of `problem.segment_settings`.

    Args:
        rows: The advice for each segment.
    """

    def to_frame(self) -> pl.DataFrame:
        """One row per segment."""
        return pl.DataFrame(
            [
                {
                    **{name: str(level) for name, level in each.segment.items()},
                    "action": each.action,
                    "arm": None if each.arm is None else str(each.arm.lever_arm),
                    "drop": [str(arm.lever_arm) for arm in each.drop],
                    "progress": each.progress,
                }
                for each in self
            ],
            schema_overrides={"arm": pl.String, "drop": pl.List(pl.String)},
        )

    def __repr__(self) -> str:
        return "\n".join(printable(f"{segment_words(each)}: ") + str(each) for each in self)


def segment_words(answer: Recommendation | Advice) -> str:
    """A segment as it is written on the command line."""
    return ",".join(f"{name}={level}" for name, level in answer.segment.items())


def segment_masks(problem: Problem, segment: Segment | None, allowed: Bools) -> list[Bools]:
    """The allowed arms of a segment, which is checked; of each segment for None."""
    wanted = problem.segment_settings if segment is None else [problem.segment(segment)]
    return [arms_left(problem, allowed, problem.arms_in(each)) for each in wanted] if problem.segments else [allowed]
