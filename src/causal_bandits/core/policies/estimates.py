"""What a policy knows of each arm, to read or to put into a table."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from ...libraries import pl, special
from ..compiled import Bools
from ..data import History
from ..estimators import jeffreys_interval
from ..estimators.reward_shapes import add_to_stats, learn_dispersion, one_more, own_limits, stats_for
from ..markup import between, braces, printable, signed, text_table, through_words, titled_table
from ..markup import number as shown
from ..problem import Arm, Level
from .arms import OfArm
from .posterior import Posterior

IN_PLAY = ("active", "never played", "no outcome yet")
"""The statuses of arms that may be chosen."""
LIFT_COLUMNS = (
    *("lift", "lift_low", "lift_high"),
    *("relative_lift", "relative_low", "relative_high", "probability_better"),
)
_FRAMED = (
    *("own_rows", "effective_rows", "used_rows", "own_mean", "own_low", "own_high"),
    *("status", "pending_rows", "pending_effective"),
)
"""Fields of an estimate that are columns of a frame as they are."""

R = TypeVar("R")


class Listed(tuple[R, ...]):
    """Rows that stay as they are.

    Args:
        rows: The rows.
    """

    def __new__(cls, rows: Iterable[R]) -> Self:
        """The rows."""
        return super().__new__(cls, rows)


class Tabled(Listed[R]):
    """Rows that show themselves as a table, in a terminal and in a notebook."""

    _words: ClassVar[tuple[str, ...]]
    """The columns that hold words, not numbers."""

    def _columns(self) -> dict[str, list[str]]:
        """What is shown, by column."""
        raise NotImplementedError

    def _title(self) -> str:
        """What a notebook shows above the table."""
        raise NotImplementedError

    def _cells(self) -> tuple[list[str], list[tuple[str, ...]], list[int]]:
        """Columns, rows, and the numbers of the columns that hold numbers."""
        columns = self._columns()
        numeric = [index for index, name in enumerate(columns) if name not in self._words]
        return list(columns), list(zip(*columns.values(), strict=True)), numeric

    def __repr__(self) -> str:
        return text_table(*self._cells())

    def _repr_html_(self) -> str:
        return self.table(self._title())

    def table(self, title: str) -> str:
        """The table as HTML under lines of text."""
        columns, rows, numeric = self._cells()
        return titled_table(title, columns, rows, numeric=numeric)


class Lift(NamedTuple):
    """The lift of an arm over the control, from joint draws of both means, net of costs.

    The relative lift is NaN if the control's mean may be 0 or negative.
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
class ArmEstimate(OfArm):
    """The estimate of one arm: posterior mean, interval, and the set it was learned through (None: own rows only).

    If a policy averages over sets, `through` is the set with the largest weight, and `through_share` its weight.
    `effective_rows` is the number of own rows that would give the same posterior variance. `used_rows` counts the own
    rows with a value for every variable of the set. `own_mean`, `own_low` and `own_high` use the own rows alone (NaN
    if the arm was never played). `pending_rows` wait for their reward and add `pending_effective` effective rows.
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
    """active or never played; not allowed after `restrict`; no outcome yet, forbidden or retired in a study."""
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
        """The mean net of the cost."""
        return self.mean - self.cost

    @property
    def borrowed_rows(self) -> float:
        """The number of own rows that would be as informative as what the rows of other arms add."""
        return max(self.effective_rows - self.own_rows, 0.0)

    @property
    def was_played(self) -> bool:
        """Whether the arm has own rows; otherwise its estimate comes from other arms only."""
        return self.own_rows > 0

    def __post_init__(self) -> None:
        if self.used_rows < 0:
            object.__setattr__(self, "used_rows", self.own_rows)
        if not self.status:
            object.__setattr__(self, "status", "active" if self.was_played else "never played")

    def __repr__(self) -> str:
        columns = {
            "mean": shown(self.mean, beside=(self.low, self.high)),
            "interval": between(self.low, self.high, self.mean),
            **({} if self.lift is None else {"lift": signed(self.lift.absolute)}),
            "through": braces(self.through),
            "own rows": f"{self.own_rows:,}",
            "effective rows": f"{self.effective_rows:,.0f}",
        }
        said = ", ".join(f"{name} {value}" for name, value in columns.items())
        return printable(f"ArmEstimate({self.arm.label}: {said})")

    @property
    def name(self) -> str:
        """The arm in words, and whether it is the control or out of play."""
        notes = ["control"] if self.is_control else []
        if self.status not in IN_PLAY:
            notes.append(self.status)
        return self.arm.label + (f" ({', '.join(notes)})" if notes else "")


E = TypeVar("E", bound=ArmEstimate)


def best_first(rows: Sequence[E]) -> list[E]:
    """By the mean less the cost, those with too few rows for an interval last; one segment after the other."""
    segments = {tuple(row.segment.values()): place for place, row in reversed([*enumerate(rows)])}

    def rank(row: E) -> tuple[int, bool, float]:
        known = math.isfinite(row.high - row.low)
        return segments[tuple(row.segment.values())], not known, math.inf if math.isnan(row.net) else -row.net

    return sorted(rows, key=rank)


def segment_column(name: str) -> str:
    """The column of a segment, which may be called like a column of the estimates."""
    return f"segment {name}" if name in ("arm", "through", "status", *ArmEstimate.__annotations__) else name


class Estimates(Tabled[ArmEstimate]):
    """The estimates of all arms, in the order of the problem's arms."""

    _words = ("arm", "through", "status")

    def with_status(self, status: Callable[[int], str | None]) -> Estimates:
        """The same where the arms that `status` has a word for, by their number, have that status."""
        words = [status(number) for number in range(len(self))]
        return Estimates(
            [row if word is None else replace(row, status=word) for row, word in zip(self, words, strict=True)]
        )

    def before_any_row(self) -> Estimates:
        """The same with nothing known: what a prior says is not shown to people as data."""
        nothing: Any = {"mean": math.nan, "low": math.nan, "high": math.nan, "effective_rows": 0.0, "lift": None}
        return Estimates([replace(row, **nothing, through=None, through_share=1.0) for row in self])

    def of(self, segment: Mapping[str, Level] | None) -> Estimates:
        """The arms of one segment; all arms for None."""
        return self if segment is None else Estimates([row for row in self if row.arm.segment == segment])

    def to_frame(self) -> pl.DataFrame:
        """One row per arm, with columns for segments, costs and lifts if there are any."""
        segments = self[0].arm.segment if len(self) else {}
        frame = pl.DataFrame(
            {
                "arm": [row.arm.lever_arm.label for row in self],
                **{segment_column(name): [str(row.arm[name]) for row in self] for name in segments},
                **{name: [getattr(row, name) for row in self] for name in ("mean", "low", "high")},
                "through": [None if row.through is None else "{" + ", ".join(row.through) + "}" for row in self],
                **{name: [getattr(row, name) for row in self] for name in _FRAMED},
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
        """Draw the best arms on matplotlib axes, new ones by default, and return the axes; `most=None` draws all."""
        drawing = importlib.import_module("causal_bandits.reporting.plots")  # by name: the core draws nothing
        return drawing.plot_estimates(self, axes, most=most)

    def _title(self) -> str:
        return f"{len(self)} arms, the best first"

    def _columns(self) -> dict[str, list[str]]:
        best = sorted(self, key=lambda row: (math.isnan(row.mean), -row.mean))
        columns: dict[str, list[str]] = {
            "arm": [row.name for row in best],
            "mean": [shown(row.mean, beside=(row.low, row.high)) for row in best],
            "interval": [between(row.low, row.high, row.mean) for row in best],
            "through": [through_words(row.through, row.through_share) for row in best],
            "own rows": [f"{row.own_rows:,}" for row in best],
            "used": [f"{row.used_rows:,}" for row in best],
            "effective": [f"{row.effective_rows:,.0f}" for row in best],
            "own mean": [shown(row.own_mean, beside=(row.own_low, row.own_high)) for row in best],
            "own interval": [between(row.own_low, row.own_high, row.own_mean) for row in best],
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
            columns["lift"], columns["lift interval"] = map(
                list, zip(*[lift_cells(row.lift) for row in best], strict=True)
            )
        return columns


def lift_cells(lift: Lift | None) -> tuple[str, str]:
    """A lift and its interval, with the same decimals; empty for the control."""
    if lift is None:
        return "", ""
    return signed(lift.absolute, (lift.low, lift.high)), between(lift.low, lift.high, lift.absolute)


def estimates_of(
    history: History, posterior: Posterior, without: Posterior, level: float, allowed: Bools, widened: float
) -> Estimates:
    """The estimate of every arm, from the posterior and from its own rows alone.

    Args:
        history: The rows.
        posterior: What follows from them.
        without: What follows without the rows that wait for their reward.
        level: Confidence level of intervals.
        allowed: (arms,): arms that may be chosen; the others have the status "not allowed".
        widened: Factor of the variance of own means, for dependent rows.
    """
    arms, (low, high) = history.problem.arms, posterior.interval(level)
    numbers = zip(posterior.means.tolist(), low.tolist(), high.tolist(), strict=True)
    waiting = np.bincount(history.pending.all.arms, minlength=len(arms)).tolist()
    more = [0.0] * len(arms)
    if any(waiting):
        both = zip(posterior.sources, without.sources, strict=True)
        more = [max(one.effective_rows - other.effective_rows, 0.0) for one, other in both]
    lines = zip(arms, numbers, posterior.sources, _own_intervals(history, level, widened), strict=True)
    return Estimates(
        [
            ArmEstimate(
                arm,
                *known,
                source.through,
                source.own_rows,
                source.effective_rows,
                source.used_rows,
                *own,
                status="" if allowed[number] else "not allowed",
                pending_rows=waiting[number],
                pending_effective=more[number],
                through_share=source.through_share,
            )
            for number, (arm, known, source, own) in enumerate(lines)
        ]
    )


def _own_intervals(history: History, level: float, widened: float) -> list[tuple[float, float, float]]:
    """What each arm's own rows say alone: mean and ends of the interval, NaN without rows.

    Jeffreys' interval of a chance, Student's t of a real-valued mean; of counts, revenue and levels a score interval
    with the dispersion of all arms, which zeros alone do not make certain.
    """
    rows, arms = history.rows, len(history.problem.arms)
    n = np.bincount(rows.arms, minlength=arms)
    total = np.bincount(rows.arms, rows.rewards, minlength=arms)
    square = np.bincount(rows.arms, np.asarray(rows.rewards, dtype=np.float64) ** 2, minlength=arms)
    kind = history.problem.reward.kind
    stats = stats_for(history.problem.reward)
    if kind not in ("binary", "real"):
        for reward in rows.rewards:
            add_to_stats(stats, reward)
        stats.rate[0] = max(stats.mean[0], one_more(stats) / (stats.rows[0] + 1)) if len(rows.arms) else stats.rate[0]
        own = np.stack([n, total / np.maximum(n, 1), square - total**2 / np.maximum(n, 1)], axis=1)
        learn_dispersion(stats, own)
    found = []
    for arm in range(arms):
        if n[arm] == 0:
            found.append((math.nan, math.nan, math.nan))
            continue
        mean = float(total[arm] / n[arm])
        if kind == "real":
            reach = _t_reach(int(n[arm]), float(square[arm] - n[arm] * mean * mean), level)
            low, high = mean - reach, mean + reach
        elif kind != "binary":
            far = NormalDist().inv_cdf((1 + level) / 2)
            low, high = own_limits(stats, far, *own[arm])
        else:
            low, high = jeffreys_interval(int(n[arm]), int(total[arm]), level)
        if widened != 1:
            low, high = (mean + math.sqrt(widened) * (end - mean) for end in (low, high))
        found.append((mean, low, high))
    return found


def _t_reach(rows: int, scatter: float, level: float) -> float:
    """Half the width of Student's interval of a mean; infinite from a single row."""
    if rows < 2:
        return math.inf
    return float(special.stdtrit(rows - 1, (1 + level) / 2)) * math.sqrt(max(scatter, 0.0) / (rows - 1) / rows)
