"""Decisions and events: what a study answered, what happened to it in order, and what was changed later."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.markup import printable
from ...core.problem import Arm, Level
from ...errors import StorageError, UnknownDecisionError, brief

Status = Literal["open", "told", "abandoned", "expired"]

OPEN, ABANDONED, EXPIRED, KEPT_OUT = -1, -2, -3, -4
"""Values of the column `row` for decisions that have no row yet, never will, or whose row is excluded."""
STATUS: dict[int, Status] = {OPEN: "open", ABANDONED: "abandoned", EXPIRED: "expired", KEPT_OUT: "told"}

OWN = ("id", "key", "status", "excluded", "asked", "done")
"""The columns of a table of decisions that describe the decision itself."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

LATEST = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
"""Times that can be shown end here."""

COLUMNS: dict[str, type] = {
    "arm": np.int32,
    "row": np.int64,
    "seq": np.int64,
    "asked": np.float64,
    "since": np.float64,
    "done": np.float64,
    "excluded": np.int32,
}


@dataclass(frozen=True, repr=False)
class Decision:
    """The arm to play for one visitor. Decisions are numbered from 1 in each study.

    `segment` is the segment passed to `ask`, if the problem has segments; `arm` has only the levers.
    """

    id: int
    arm: Arm
    time: datetime
    _propensity: Callable[[int], float] = field(repr=False, compare=False)
    segment: dict[str, Level] = field(default_factory=dict, hash=False)

    def __repr__(self) -> str:
        segment = "".join(f"{name}={level}, " for name, level in self.segment.items())
        return printable(f"Decision({self.id}, {self.arm.label}, {segment}{self.time.isoformat(timespec='seconds')})")

    @cached_property
    def propensity(self) -> float:
        """The probability with which this arm was chosen (see `Study.propensity`)."""
        return self._propensity(self.id)


def microseconds(seconds: ArrayLike) -> NDArray[np.float64]:
    """Times rounded to the microsecond, everywhere in the same way."""
    parts, whole = np.modf(np.asarray(seconds, dtype=np.float64))
    rounded: NDArray[np.float64] = whole * 1e6 + np.rint(parts * 1e6)
    return rounded


def moment(seconds: float) -> datetime:
    """A time to read."""
    return EPOCH + timedelta(microseconds=int(microseconds(seconds)))


def checked_time(now: float) -> float:
    """The time that a clock reads, if it can be stored and shown."""
    if not 0 <= now < LATEST:
        raise StorageError(f"the system clock reads {now!r} seconds since 1970; correct it")
    return now


def number_of(decision: object) -> int:
    """The number that a caller names a decision by; 0 for what is no number."""
    given = decision.id if isinstance(decision, Decision) else decision
    try:
        return 0 if isinstance(given, bool) else int(given.__index__())  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        return 0


def checked_number(decision: object, made: int) -> int:
    """The number of one of the decisions that were made."""
    found = number_of(decision)
    if not 1 <= found <= made:
        there = f"decisions 1 to {made}" if made else "no decision yet"
        given = decision.id if isinstance(decision, Decision) else decision
        raise UnknownDecisionError(f"decision {brief(given)} is not known; the study has made {there}")
    return found


class Decisions:
    """All decisions of a study as columns: arm, row of the history, event that asked, times.

    `excluded` is the number of the exclusion that a decision is in, from 1, or 0.
    `asked` is what the clock said. Clocks go wrong and are set back, so ages count from `since`: never later than the
    time of any event after it. It never falls from one decision to the next.
    """

    def __init__(self, metrics: Iterable[str] = ()) -> None:
        self._length = 0
        self._metrics = {name: f"metric_{index}" for index, name in enumerate(metrics)}
        kinds = {**COLUMNS, **dict.fromkeys(self._metrics.values(), np.float64)}
        self._columns: dict[str, NDArray[Any]] = {name: np.empty(64, dtype=kind) for name, kind in kinds.items()}
        self.open: dict[int, None] = {}
        """The open ones, the oldest first."""

    def __len__(self) -> int:
        return self._length

    def column(self, name: str) -> NDArray[Any]:
        """One column, for all decisions; not a copy."""
        return self._columns[name][: self._length]

    def add(self, arms: list[int], seq: int, time: float | NDArray[np.float64]) -> None:
        """New decisions, all open; asked for at one time, or each at its own (times that never fall)."""
        start, end = self._length, self._length + len(arms)
        if end > len(self._columns["arm"]):
            for name, old in self._columns.items():
                self._columns[name] = np.concatenate([old[:start], np.empty(max(end, start), dtype=old.dtype)])
        fresh = {"arm": arms, "row": OPEN, "seq": seq, "asked": time, "since": time, "excluded": 0}
        for name, column in self._columns.items():
            column[start:end] = fresh.get(name, np.nan)
        self._length = end
        self.open.update(dict.fromkeys(range(start + 1, end + 1)))

    def pass_time(self, time: float) -> None:
        """Record the time of an event: no earlier decision was asked for later than that."""
        since = self.column("since")
        if len(since) and since[-1] > time:
            since[np.searchsorted(since, time, side="right") :] = time

    def close(self, number: int, row: int, time: float) -> None:
        """Record the row of a decision, or that it will never have one."""
        self._columns["row"][number - 1] = row
        self._columns["done"][number - 1] = time
        del self.open[number]

    @property
    def included(self) -> NDArray[np.bool_]:
        """Which decisions are not excluded."""
        found: NDArray[np.bool_] = self.column("excluded") == 0
        return found

    def check(self, number: object) -> int:
        """Validate the number of a decision."""
        return checked_number(number, len(self))

    def status(self, number: int) -> Status:
        """What became of a decision."""
        return STATUS.get(int(self._columns["row"][number - 1]), "told")

    def metric(self, name: str) -> NDArray[Any]:
        """The values of a guardrail metric that were reported, for all decisions; NaN where none was."""
        return self.column(self._metrics[name])

    def measured(self, number: int) -> dict[str, float]:
        """The guardrail metrics that were reported of one decision."""
        values = {name: float(self.metric(name)[number - 1]) for name in self._metrics}
        return {name: value for name, value in values.items() if not np.isnan(value)}

    def measure(self, number: int, values: Mapping[str, float]) -> None:
        """Record guardrail metrics of a decision."""
        for name, value in values.items():
            self.metric(name)[number - 1] = value

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Plain arrays for a snapshot."""
        return {f"decisions_{name}": self.column(name) for name in self._columns}

    @classmethod
    def of(cls, arrays: dict[str, NDArray[Any]], metrics: Iterable[str]) -> "Decisions":
        """Read back what `arrays` gave."""
        made = cls(metrics)
        made._columns = {name: arrays[f"decisions_{name}"].astype(old.dtype) for name, old in made._columns.items()}
        made._length = len(made._columns["arm"])
        if any(len(column) != made._length for column in made._columns.values()):
            raise ValueError("its decisions have columns of different lengths")
        made.open = dict.fromkeys((np.flatnonzero(made._columns["row"] == OPEN) + 1).tolist())
        return made


Kind = Literal[
    "created",
    "asked",
    "told",
    "abandoned",
    "expired",
    "arms",
    "imported",
    "annotated",
    "closed",
    "counted",
    "aside",
    "corrected",
    "excluded",
    "included",
    "finished",
]
KINDS: frozenset[str] = frozenset(get_args(Kind))


class Event(NamedTuple):
    """One event; `seq` counts from 1 without gaps, and its order is the order in which everything is counted."""

    seq: int
    kind: Kind
    time: float
    """Seconds since 1970, UTC, by the clock of the process that wrote it. It decides expiry and windows alone."""
    body: dict[str, Any]
    digest: bytes = b""
    """What stands for it and all events before it, once it is stored."""


AFTER_FINISH = "asked for after the study was finished"


class Exclusion(NamedTuple):
    """Decisions that were excluded together, and why."""

    time: float
    reason: str
    filter: dict[str, Any]
    """What they have in common; empty where they were named one by one."""


class Correction(NamedTuple):
    """Values of a decision that were recorded and replaced."""

    time: float
    reason: str
    before: dict[str, Any]
    after: dict[str, Any]


class Finished(NamedTuple):
    """What a study was finished with."""

    time: float
    decisions: int
    """The number of decisions until then; later ones do not count."""
    left_out: int
    """Open decisions that were closed."""
    winners: list[int]
    """The arm to play from then on, by number: one, or one in each segment."""
    report: Any
    """The JSON of `describe` with its history, with the final answers."""
