"""What a policy believes about each arm, to read or to put into a table."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import polars as pl

from ..compiled import Floats
from ..data import TableLayout
from ..doors import is_number
from ..drawers import drawn
from ..errors import OptionError, brief, whole_number
from ..estimators import beta_interval, own_moments
from ..markup import between, braces, printable, text_table, through_words, titled_table
from ..markup import number as shown
from ..problem import Arm, Level
from .listed import Listed
from .rules import ThompsonState, best_sets

MOST_DRAWS, FEWEST_DRAWS, ARMS_DRAWN = 4000, 200, 1_000_000
LIMIT = 10_000_000
"""How often `recommend` draws every arm: less often with many arms, so that it answers within a second or so."""


LIFT_COLUMNS = (
    *("lift", "lift_low", "lift_high"),
    *("relative_lift", "relative_low", "relative_high", "probability_better"),
)

STANDS_OUT = 0.9
"""An arm stands out that is the best one with this probability."""
NEAR = 0.05
"""What is close to the best, as a share of the recommended arm's mean."""


class Recommendation(NamedTuple):
    """The arm to deploy, its posterior mean, and how sure it is that no other is better.

    Arms that are equally good keep `probability_best` low for ever; `probability_close`, that it is within `margin` of
    the best arm, and `expected_loss`, how much the best arm is expected to be ahead of it, do not have this fault.
    """

    arm: Arm
    mean: float
    probability_best: float
    probability_close: float = math.nan
    margin: float = math.nan
    expected_loss: float = math.nan

    @property
    def segment(self) -> dict[str, Level]:
        """The segment that it is for; empty where the problem has none."""
        return self.arm.segment

    @property
    def stands_out(self) -> bool:
        """Whether it is the best arm with a probability of 90 % or more."""
        return self.probability_best >= STANDS_OUT

    @property
    def verdict(self) -> str:
        """What to make of it, in one sentence."""
        if self.stands_out:
            return f"{self.arm} stands out: it is the best arm with probability {self.probability_best:.2f}"
        if self.probability_close >= STANDS_OUT:
            return (
                f"no arm stands out yet, but {self.arm} is within {self.margin:.3g} of the best "
                f"with probability {self.probability_close:.2f}"
            )
        return "no arm stands out yet"


def checked_margin(margin: object, mean: float) -> float:
    """How far from the best is close enough: what was given, or 5 % of the recommended arm's mean."""
    if margin is None:
        return NEAR * abs(mean)
    if not is_number(margin) or not 0 <= float(margin) < math.inf:  # type: ignore[arg-type]
        raise OptionError(f"margin={brief(margin)}; expected a number of at least 0, in units of the reward")
    return float(margin)  # type: ignore[arg-type]


def enough_draws(draws: int | None, arms: int) -> int:
    """How many draws tell how probable an arm is to be the best.

    >>> [enough_draws(None, arms) for arms in (27, 1000, 6561)], enough_draws(50, 27)
    ([4000, 1000, 200], 50)
    """
    if draws is None:
        return min(MOST_DRAWS, max(FEWEST_DRAWS, ARMS_DRAWN // arms))
    return whole_number("draws", draws, 1, LIMIT)


class Lift(NamedTuple):
    """How far an arm is above the control arm, from joint draws of both means; less their costs, where arms have some.

    The relative lift is NaN where the control's mean may be 0 or below.
    """

    absolute: float
    low: float
    high: float
    relative: float
    relative_low: float
    relative_high: float
    probability_better: float
    """That the arm's mean is above the control's."""


@dataclass(frozen=True, repr=False)
class ArmEstimate:
    """One arm: posterior mean, 95 % interval, the set it was learnt through (None: own rows only).

    Where a policy averages over sets, `through` is the one that counts most, and `through_share` how much.
    `effective_rows` is how many own rows would give the same posterior variance; `used_rows` are the own rows that have
    a value for every variable of the set (all of them, where nothing was missing). `own_mean`, `own_low` and `own_high`
    are what its own rows say alone (NaN where it was never played). `pending_rows` wait for their reward;
    `pending_effective` is how many of the effective rows they add.
    """

    arm: Arm
    mean: float
    low: float
    high: float
    through: tuple[str, ...] | None
    own_rows: int
    effective_rows: float
    used_rows: int = -1
    own_mean: float = math.nan
    own_low: float = math.nan
    own_high: float = math.nan
    status: str = ""
    """active or never played; not allowed after `restrict`; forbidden or retired in a study."""
    pending_rows: int = 0
    pending_effective: float = 0.0
    lift: Lift | None = None
    """Over the control, where one is named; None for the control itself and while too little is known."""
    is_control: bool = False
    cost: float = 0.0
    """In units of the reward."""
    through_share: float = 1.0

    @property
    def net(self) -> float:
        """The mean less the cost."""
        return self.mean - self.cost

    @property
    def was_played(self) -> bool:
        """Whether it has rows of its own; without, all that is said of it comes from other arms."""
        return self.own_rows > 0

    def __post_init__(self) -> None:
        if self.used_rows < 0:
            object.__setattr__(self, "used_rows", self.own_rows)
        if not self.status:
            object.__setattr__(self, "status", "active" if self.was_played else "never played")

    def __repr__(self) -> str:
        interval = f"{shown(self.mean)} ({between(self.low, self.high)})"
        return printable(f"ArmEstimate({self.arm}, {interval}, {braces(self.through)}, {self.own_rows:,} rows)")


def segment_column(name: str) -> str:
    """The column of a segment, which may be called like a column of the estimates."""
    return f"segment {name}" if name in ("arm", "through", "status", *ArmEstimate.__annotations__) else name


class Estimates(Listed[ArmEstimate]):
    """The estimates of all arms, in the order of the problem's arms."""

    def with_status(self, status: Callable[[int], str | None]) -> "Estimates":
        """The same where the arms that `status` has a word for, by their number, have that status."""
        words = [status(number) for number in range(len(self))]
        return Estimates(
            [row if word is None else replace(row, status=word) for row, word in zip(self, words, strict=True)]
        )

    def of(self, segment: Mapping[str, Level] | None) -> "Estimates":
        """The arms of one segment; all arms for None."""
        return self if segment is None else Estimates([row for row in self if row.arm.segment == segment])

    def with_costs(self, cost: Floats) -> "Estimates":
        """The same with what each arm costs."""
        return Estimates([replace(row, cost=float(each)) for row, each in zip(self, cost, strict=True)])

    def to_frame(self) -> pl.DataFrame:
        """One row per arm; a segment has a column of its own, and so have costs and lifts where there are some."""
        segments = self[0].arm.segment if len(self) else {}
        frame = pl.DataFrame(
            {
                "arm": [str(row.arm.lever_arm) for row in self],
                **{segment_column(name): [str(row.arm[name]) for row in self] for name in segments},
                "mean": [row.mean for row in self],
                "low": [row.low for row in self],
                "high": [row.high for row in self],
                "through": [None if row.through is None else "{" + ", ".join(row.through) + "}" for row in self],
                "own_rows": [row.own_rows for row in self],
                "effective_rows": [row.effective_rows for row in self],
                "used_rows": [row.used_rows for row in self],
                "own_mean": [row.own_mean for row in self],
                "own_low": [row.own_low for row in self],
                "own_high": [row.own_high for row in self],
                "status": [row.status for row in self],
                "pending_rows": [row.pending_rows for row in self],
                "pending_effective": [row.pending_effective for row in self],
            },
            schema_overrides={"through": pl.String},
        )
        if any(row.cost for row in self):
            frame = frame.with_columns(cost=pl.Series([row.cost for row in self]), net=pl.Series([r.net for r in self]))
        if any(row.is_control for row in self):
            frame = frame.with_columns(is_control=pl.Series([row.is_control for row in self]), **self._lifts())
        return frame

    def _lifts(self) -> dict[str, pl.Series]:
        lifts = [row.lift for row in self]
        names = dict(zip(LIFT_COLUMNS, Lift._fields, strict=True))
        return {
            column: pl.Series([None if lift is None else getattr(lift, name) for lift in lifts], dtype=pl.Float64)
            for column, name in names.items()
        }

    def plot(self, axes: Any = None, *, most: int | None = 12) -> Any:
        """Draw the best arms on matplotlib axes, new ones by default, and return them; `most=None` draws all arms."""
        return drawn("estimates", self, axes, most=most)

    def __repr__(self) -> str:
        best = sorted(self, key=lambda row: (math.isnan(row.mean), -row.mean))
        columns: dict[str, list[str]] = {
            "arm": [f"{row.arm}, control" if row.is_control else str(row.arm) for row in best],
            "mean": [shown(row.mean) for row in best],
            "interval": [between(row.low, row.high) for row in best],
            "through": [through_words(row.through, row.through_share) for row in best],
            "own rows": [f"{row.own_rows:,}" for row in best],
            "used": [f"{row.used_rows:,}" for row in best],
            "effective": [f"{row.effective_rows:,.0f}" for row in best],
            "own mean": [shown(row.own_mean) for row in best],
            "own interval": [between(row.own_low, row.own_high) for row in best],
        }
        if any(row.status != "active" for row in best):
            columns["status"] = [row.status for row in best]
        if any(row.pending_rows for row in best):
            columns["pending"] = [f"{row.pending_rows:,}" for row in best]
            columns["worth"] = [f"{row.pending_effective:,.0f}" for row in best]
        if any(row.cost for row in best):
            columns["cost"] = [shown(row.cost) for row in best]
            columns["net"] = [shown(row.net) for row in best]
        if any(row.lift for row in best):
            columns["lift"] = ["" if row.lift is None else shown(row.lift.absolute) for row in best]
            columns["lift interval"] = [
                "" if row.lift is None else between(row.lift.low, row.lift.high) for row in best
            ]
        rows = list(zip(*columns.values(), strict=True))
        words = ("arm", "through", "status")
        return text_table(list(columns), rows, [n for n, name in enumerate(columns) if name not in words])

    def _repr_html_(self) -> str:
        return self.table(f"{len(self)} arms, the best first")

    def table(self, title: str) -> str:
        """The best arms as HTML under a line of text."""
        best = sorted(self, key=lambda row: (math.isnan(row.mean), -row.mean))
        rows = [
            (
                f"{row.arm}" if row.status in ("active", "never played") else f"{row.arm} ({row.status})",
                shown(row.mean),
                between(row.low, row.high),
                through_words(row.through, row.through_share),
                f"{row.own_rows:,}",
                f"{row.effective_rows:,.0f}",
            )
            for row in best
        ]
        columns = ("arm", "mean", "interval", "through", "own rows", "effective rows")
        return titled_table(title, columns, rows, numeric=(1, 2, 4, 5))


def estimate_arms(state: ThompsonState, layout: TableLayout, level: float) -> Estimates:
    """Estimates from a state; intervals are those of the Beta with the posterior's mean and variance.

    For an arm's own rows that Beta is the posterior itself; through a set it is an approximation.
    """
    chosen = best_sets(state)
    rows = []
    for number, arm in enumerate(layout.problem.arms):
        own = int(state.tables.counts[2 * number : 2 * number + 2].sum())
        mean, variance = own_moments(state.tables, number)
        through, used = None, own
        if chosen[number] >= 0:
            place = state.pools.places[chosen[number]]
            mean = state.pools.linear[chosen[number], number] / state.pools.totals[chosen[number], number]
            used = int(state.tables.table(place)[number].sum())
            variance = state.pools.variance[chosen[number], number]
            through = layout.names[state.tables.sets[place]]
        low, high, size = beta_interval(mean, variance, level)
        # Beta(1 + ones, 1 + zeros) has size rows + 2.
        rows.append(ArmEstimate(arm, float(mean), low, high, through, own, size - 2, used))
    return Estimates(rows)
