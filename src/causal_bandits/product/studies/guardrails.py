"""Guardrails: arms whose values prove that they break one are not asked for.

A guardrail is a limit on a mean, or on its ratio to the control's mean. The evidence that an arm breaks it is that of
`independence.betting`: the probability that it *ever* reaches 1 / error is at most the error while the arm keeps the
guardrail, for values of any distribution, however often you look and however the arm came to be played. The error is
1 - confidence for the study as a whole, divided among guardrails and arms. An arm that was once proven to break a
guardrail stays excluded.

The evidence needs values between two ends. Rates and levels have them, and those of a reward or a metric can be
declared. Otherwise the ends are quantiles of the first 1,000 values, which are then no evidence; later values are
clipped to them, and what is proven is about the mean of the clipped values. A limit is moved by as much as clipping
moved the mean of the first values, if that is in favor of the arm, so that clipping alone excludes no arm.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ...core.compiled import Bools, Floats
from ...core.independence.betting import (
    CAP_ROWS,
    DOWN,
    UP,
    Sums,
    evidence_above,
    evidence_ahead,
    evidence_below,
    interval,
    learned_ends,
    needed,
)
from ...core.markup import counted, printable
from ...core.markup import number as shown_number
from ...core.policies import Policy
from ...core.problem import Arm, Level, Problem
from ...core.validation import is_number
from ...errors import OptionError, UnknownVariableError, brief, listing
from ...libraries import pl

SIGNS = ("<=", ">=")
FIRST_SHARE = 0.9
"""The part of an error rate for the arms that a study begins with; the rest is for arms that are added later."""


def error_shares(first: int, count: int) -> Floats:
    """The part of an error rate for each arm: equal parts for the first ones, and less and less for each added one.

    >>> error_shares(2, 4).round(3).tolist()
    [0.45, 0.45, 0.05, 0.017]
    """
    added = np.arange(1.0, count - first + 1)
    return np.concatenate([np.full(first, FIRST_SHARE / first), (1 - FIRST_SHARE) / (added * (added + 1))])


RELATIVE = re.compile(r"\s*(?P<factor>[^\s*x]+)\s*[*x]\s*control\s*")


class Guardrail(NamedTuple):
    """What must hold of an arm: the mean of a metric, or the share of one of its levels, on one side of a limit."""

    metric: str
    level: Level | None
    sign: str
    limit: float
    relative: bool = False
    """Whether the limit is a multiple of the control's mean."""

    @property
    def name(self) -> str:
        """What is measured."""
        return self.metric if self.level is None else f"{self.metric}={self.level}"

    def __str__(self) -> str:
        return f"{self.name} {self.sign} {self.limit:g}{' x control' if self.relative else ''}"


def read_guardrails(
    problem: Problem, metrics: Mapping[str, Any], given: object, controls: Sequence[int]
) -> list[list[Any]]:
    """Guardrails as a caller gives them, checked: {"refund": ("<=", 0.02), "cart=empty": (">=", "0.95 x control")}."""
    if not isinstance(given, Mapping):
        raise OptionError(f"guardrails={brief(given)}; expected {{metric: ('<=' or '>=', limit)}}")
    found = []
    for key, bound in given.items():
        name, level = _metric(problem, metrics, key)
        if not isinstance(bound, Sequence) or isinstance(bound, str) or len(bound) != 2 or bound[0] not in SIGNS:
            raise OptionError(f"the guardrail on {brief(key)} is {brief(bound)}; expected ('<=' or '>=', limit)")
        rail = Guardrail(name, level, str(bound[0]), *_limit(key, bound[1]))
        low, high = _Track(rail, problem, metrics).bounds
        if rail.relative:
            if not controls:
                raise OptionError(
                    f"the guardrail {rail} needs a control, and no arm has every lever at its control level; "
                    "set control="
                )
        elif not (low <= rail.limit < high if rail.sign == "<=" else low < rail.limit <= high):
            useless = rail.limit >= high if rail.sign == "<=" else rail.limit <= low
            outcome = "has no effect" if useless else "can never hold"
            raise OptionError(f"the guardrail {rail} {outcome}: {rail.name} is always between {low:g} and {high:g}")
        found.append(list(rail))
    return found


def _limit(key: object, given: object) -> tuple[float, bool]:
    """A limit, and whether it is a multiple of the control's mean."""
    match = RELATIVE.fullmatch(given) if isinstance(given, str) else None
    value: Any = given
    if match is not None:
        try:
            value = float(match["factor"])
        except ValueError:
            value = math.nan
    if not is_number(value) or not abs(float(value)) < math.inf or (match is not None and float(value) <= 0):
        raise OptionError(
            f"the limit of the guardrail on {brief(key)} is {brief(given)}; "
            "expected a number, or a multiple of the control such as '0.95 x control'"
        )
    return float(value), match is not None


def _metric(problem: Problem, metrics: Mapping[str, Any], key: object) -> tuple[str, Level | None]:
    """The metric of a guardrail, and the level that is meant."""
    names = (*problem.observed_names, problem.target, *metrics)
    if isinstance(key, str) and key in names:
        return key, None
    parts = key.split("=", 1) if isinstance(key, str) else key
    if isinstance(parts, Sequence) and len(parts) == 2 and parts[0] in problem.observed_names:
        variable = problem.observed[problem.observed_names.index(parts[0])]
        if variable.is_number:
            raise OptionError(f"{variable.name!r} is a number and has no levels to guard; guard its mean")
        return variable.name, variable.levels[variable.code(parts[1])]
    raise UnknownVariableError(
        f"guardrail on an unknown metric {brief(key)}; expected one of {listing(names)}, "
        "or declare it with metrics={name: bool or float}"
    )


class ArmGuardrail(NamedTuple):
    """The evidence for one arm and guardrail, and whether it proves that the arm breaks the guardrail."""

    arm: Arm
    guardrail: str
    rows: int
    mean: float
    """Mean of the values, clipped to the ends where these are learned."""
    low: float
    high: float
    """95% confidence sequence of the mean: it holds at all looks together. NaN before the ends are known."""
    evidence: float
    """The highest evidence so far that the arm breaks the guardrail; it starts at 1."""
    broken: bool
    clipped: tuple[float, float] | None = None
    """Ends that were learned from the first values; later values are clipped to them."""

    def __str__(self) -> str:
        clipped = ""
        if self.clipped is not None:
            low, high = map(shown_number, self.clipped)
            clipped = f", clipped to {low} to {high}"
        rows = counted(self.rows, "row")
        return printable(f"{self.arm.label} breaks {self.guardrail}: {self.mean:.4g} in {rows}{clipped}")


class Guardrails(tuple[ArmGuardrail, ...]):
    """All guardrails of all arms."""

    __slots__ = ()

    @property
    def broken(self) -> tuple[ArmGuardrail, ...]:
        """The guardrails that an arm breaks."""
        return tuple(each for each in self if each.broken)

    def to_frame(self) -> pl.DataFrame:
        """One row per arm and guardrail."""
        return pl.DataFrame([{**each._asdict(), "arm": each.arm.label} for each in self], infer_schema_length=None)

    def __repr__(self) -> str:
        return repr(self.to_frame()) if self else "no guardrails"


def is_look(rows: int) -> bool:
    """Whether an arm is looked at after this many values: always up to 64, and then at least 32 times in each octave.

    >>> [rows for rows in range(60, 80) if is_look(rows)]
    [60, 61, 62, 63, 64, 66, 68, 70, 72, 74, 76, 78]
    """
    return rows % (1 << max(rows.bit_length() - 6, 0)) == 0


class _Track:
    """The values of one guardrail in each arm, and the highest evidence so far that the arm breaks it."""

    def __init__(self, rail: Guardrail, problem: Problem, metrics: Mapping[str, Any]) -> None:
        self.rail = rail
        self.is_reported = rail.metric != problem.target
        """Whether values count when they are reported; rewards count with their row."""
        self.variable = next((each for each in problem.observed if each.name == rail.metric), None)
        self.index = -1 if self.variable is None else problem.observed.index(self.variable)
        numbers = [each.name for each in problem.observed if each.is_number]
        self.column = numbers.index(rail.metric) if rail.metric in numbers else -1
        self.levels = np.empty(0)
        """The values of the levels of an observed variable."""
        low, high = self._bounds(problem, metrics)
        self.bounds = (-math.inf if low is None else low, math.inf if high is None else high)
        """Between what ends values lie."""
        self.learns = not all(map(math.isfinite, self.bounds))
        self.ends = None if self.learns else self.bounds
        self.first: list[tuple[int, float]] = []
        """The arms and values from which ends are learned."""
        self.moved = 0.0
        """How far the limit is moved because values are clipped."""
        self.sums = np.zeros((6, 0))
        """(6, arms): number and total of values; number, total and squares of those that are evidence; log evidence."""
        self.bets = np.zeros((2, 0, 0 if self.binary else len(UP)))
        self.reported: list[tuple[int, int, float]] = []
        """Decision (0 for an imported row), arm and value of all reports in order; rewards are in the rows."""

    def _bounds(self, problem: Problem, metrics: Mapping[str, Any]) -> Sequence[float | None]:
        rail, variable = self.rail, self.variable
        kind = metrics.get(rail.metric)
        self.binary = kind == "binary"
        """Whether all values are 0 or 1."""
        if kind is not None:
            return (0.0, 1.0) if self.binary else (None, None) if isinstance(kind, str) else kind
        if variable is None:
            self.binary = problem.reward.kind == "binary"
            return problem.reward.ends
        if variable.is_number:
            return (None, None)
        if rail.level is None and any(isinstance(level, str) for level in variable.levels):
            raise OptionError(
                f"{variable.name!r} has the levels {listing(variable.levels)}, which are not numbers; name a level, "
                f"as in {f'{variable.name}={variable.levels[-1]}'!r}"
            )
        named = rail.level is not None
        self.levels = np.array([float(level == rail.level if named else level) for level in variable.levels])
        self.binary = set(self.levels.tolist()) == {0.0, 1.0}
        return (0.0, 1.0) if named else (float(self.levels.min()), float(self.levels.max()))

    def of_rows(self, packed: Mapping[str, Any], start: int) -> Floats:
        """The values in the rows from `start` on; NaN if a row has none."""
        if self.index < 0:
            return np.asarray(packed["rewards"][start:], dtype=np.float64)
        if self.column >= 0:
            return np.asarray(packed["raw"][start:, self.column], dtype=np.float64)
        codes = packed["codes"][start:, self.index]
        return np.where(codes >= 0, self.levels[codes], np.nan)

    def value_of(self, reported: Mapping[str, Any]) -> float:
        """The value in what was reported of a decision; NaN where it is missing."""
        given = reported[self.rail.metric]
        if given is None:
            return math.nan
        return float(self.levels[self.variable.code(given)] if self.variable and len(self.levels) else given)

    def make_room(self, arms: int) -> None:
        """Reserve memory for this many arms."""
        more = arms - self.sums.shape[1]
        if more > 0:
            self.sums = np.concatenate([self.sums, np.zeros((6, more))], axis=1)
            self.bets = np.concatenate([self.bets, np.zeros((2, more, self.bets.shape[2]))], axis=1)

    def add(self, arm: int, value: float, control: int | None) -> None:
        """Count one value of an arm."""
        if self.ends is None:
            self.sums[:2, arm] += (1.0, value)
            if len(self.first) < CAP_ROWS:
                self.first.append((arm, value))
                self.learn_ends()
            return
        low, high = self.ends
        clipped = min(max(value, low), high)
        x = (clipped - low) / (high - low)
        self.sums[:5, arm] += (1.0, clipped, 1.0, x, x * x)
        if not self.binary:
            self.bets[0, arm] += np.log1p(UP * x)
            self.bets[1, arm] += np.log1p(DOWN * x)
        if is_look(int(self.sums[2, arm])) and self._is_beyond(arm, control):
            self.sums[5, arm] = max(self.sums[5, arm], self._evidence(arm, control))

    def learn_ends(self) -> None:
        """Learn the ends once there are values enough; those are clipped, too, in the means that are shown."""
        if len(self.first) < CAP_ROWS:
            return
        low = self.bounds[0]
        values = np.array([value for _, value in self.first])
        self.ends = learned_ends(values, low if math.isfinite(low) else None)
        if self.ends is not None:
            clipped = np.clip(values, *self.ends)
            moved = float(clipped.mean() - values.mean())
            self.moved = max(moved, 0.0) if self.rail.sign == "<=" else min(moved, 0.0)
            self.sums[1] = np.bincount([arm for arm, _ in self.first], clipped, minlength=self.sums.shape[1])

    @property
    def limit(self) -> float:
        """The limit on the scale of the evidence, from 0 to 1; outside where no value can be beyond it."""
        low, high = self.ends or (0.0, 1.0)
        return (self.rail.limit + self.moved - low) / (high - low)

    @property
    def idle(self) -> str:
        """Why the guardrail can exclude no arm; empty if it can."""
        name = repr(self.rail.metric)
        if not self.sums[0].any():
            return f"no value of {name} was reported; report it with tell"
        if self.ends is None:
            alike = len(self.first) == CAP_ROWS
            return f"the first {CAP_ROWS:,} values of {name} are equal, so it has no range; declare its range" * alike
        outside = self.limit >= 1 if self.rail.sign == "<=" else self.limit <= 0
        if self.learns and not self.rail.relative and (outside or not 0 <= self.limit <= 1):
            low, high = map(shown_number, self.ends)
            return (
                f"the limit of {self.rail} is outside the range of its first values, {low} to {high}; declare its range"
            )
        return ""

    def sums_of(self, arm: int) -> Sums:
        """What the engine is given of an arm: fields of shape (1,)."""
        _, _, rows, total, squares, _ = self.sums[:, [arm]]
        up, down = self.bets[:, [arm]]
        return Sums(rows, total, squares, up, down)

    @property
    def offset(self) -> float:
        """What is added to a multiple of the control's mean on the scale of the evidence."""
        low, high = self.ends or (0.0, 1.0)
        return (self.rail.limit - 1) * low / (high - low)

    def _is_beyond(self, arm: int, control: int | None) -> bool:
        """Whether the mean of an arm is beyond the limit by more than noise; only then the evidence is computed."""
        rows, mean, variance = self._moments(arm)
        limit, noise = self.limit, variance / rows
        if self.rail.relative:
            if control is None or control == arm or not self.sums[2, control]:
                return False
            other_rows, other, variance = self._moments(control)
            limit, noise = self.rail.limit * other + self.offset, noise + self.rail.limit**2 * variance / other_rows
        elif not 0 <= limit <= 1:
            return False
        beyond = mean - limit if self.rail.sign == "<=" else limit - mean
        return beyond > 0 and beyond**2 > 2 * noise

    def _moments(self, arm: int) -> tuple[float, float, float]:
        """Number, mean and variance of the values of an arm that are evidence."""
        rows, total, squares = self.sums[2:5, arm].tolist()
        return rows, total / rows, max(squares / rows - (total / rows) ** 2, 0.0)

    def _evidence(self, arm: int, control: int | None) -> float:
        """Nats of evidence that an arm breaks the guardrail."""
        rail, binary = self.rail, self.binary
        own, at_most = self.sums_of(arm), rail.sign == "<="
        if control is None or not rail.relative:
            evidence = evidence_above if at_most else evidence_below
            return float(evidence(own, self.limit, binary=binary)[0])
        other, factor, offset = self.sums_of(control), rail.limit, self.offset
        if at_most:
            return float(evidence_ahead(own, other, factor, offset, binary=binary)[0])
        return float(evidence_ahead(other, own, 1 / factor, -offset / factor, binary=binary)[0])

    def interval(self, arm: int) -> tuple[float, float]:
        """A 95% confidence sequence of the mean of an arm."""
        if self.ends is None or not self.sums[2, arm]:
            return math.nan, math.nan
        low, high = self.ends
        ends = interval(self.sums_of(arm), 0.05, binary=self.binary)
        return low + (high - low) * float(ends[0][0]), low + (high - low) * float(ends[1][0])

    def arrays(self) -> dict[str, Any]:
        """Plain arrays for a snapshot."""
        first, told = (np.array(each, dtype=np.float64) for each in (self.first, self.reported))
        return {"sums": self.sums, "bets": self.bets, "first": first.reshape(-1, 2), "told": told.reshape(-1, 3)}

    def fill(self, arrays: Mapping[str, Any]) -> None:
        """Read back what `arrays` gave."""
        if arrays["sums"].shape != self.sums.shape or arrays["bets"].shape != self.bets.shape:
            raise ValueError("its sums are not those of its guardrails")
        self.first = [(int(arm), value) for arm, value in arrays["first"].tolist()]
        self.reported = [(int(number), int(arm), value) for number, arm, value in arrays["told"].tolist()]
        if self.first:
            self.learn_ends()
        self.sums, self.bets = arrays["sums"].copy(), arrays["bets"].copy()


class Guards:
    """Running sums of the guarded metrics, from which it follows which arms break a guardrail.

    Further metrics and observed variables count as soon as they are reported, rewards with their row.

    Args:
        confidence: Probability that no arm is ever excluded that keeps its guardrails.
        metrics: Further metrics, as `read_metrics` gives them.
        first: Number of arms that the study began with.
        controls: Which arms of a problem are the control, one in each segment.
    """

    def __init__(
        self,
        rails: Sequence[Guardrail],
        confidence: float,
        metrics: Mapping[str, Any],
        first: int,
        controls: Callable[[Problem], list[int]],
    ) -> None:
        self.rails, self.confidence, self.metrics, self.first = tuple(rails), confidence, metrics, first
        self._find_controls = controls
        self._rows = 0
        self._problem: Problem | None = None
        self._tracks: list[_Track] = []
        self._control: list[int | None] = []
        """The control of each arm."""
        self._enough: Floats | float = math.inf
        """Nats of evidence that an arm breaks a guardrail, for each arm."""

    def count_reported(
        self, problem: Problem, number: int, arm: int, reported: Mapping[str, Any], *, counts: bool
    ) -> None:
        """Count what is new about the observed variables and the further metrics of a decision, if it counts."""
        self._prepare(problem)
        for track in self._tracks:
            if track.is_reported and track.rail.metric in reported:
                value = track.value_of(reported)
                track.reported.append((number, arm, value))
                if counts and not math.isnan(value):
                    track.add(arm, value, self._control[arm])

    def recount(
        self,
        problem: Problem,
        is_excluded: Callable[[int], bool],
        corrected: int = 0,
        values: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Count again all reports of decisions that are not excluded, with other values of one of them."""
        self._prepare(problem)
        for index, old in enumerate(self._tracks):
            track = self._tracks[index] = _Track(old.rail, problem, self.metrics)
            track.make_room(len(problem.arms))
            track.reported = old.reported
            if old.is_reported and old.rail.metric in values:
                new = old.value_of(values)
                track.reported = [
                    (number, arm, new if number == corrected else value) for number, arm, value in old.reported
                ]
            for number, arm, value in track.reported:
                if not math.isnan(value) and not (number and is_excluded(number)):
                    track.add(arm, value, self._control[arm])
        self._rows = 0

    def count_imported(self, policy: Policy[Any], start: int) -> None:
        """Count the observed variables of the rows from `start` on, which no decision asked for."""
        self._prepare(policy.problem)
        self._add_rows(policy, start, [track for track in self._tracks if track.variable])

    def _prepare(self, problem: Problem) -> None:
        if problem is self._problem or not self.rails:
            return
        self._tracks = self._tracks or [_Track(rail, problem, self.metrics) for rail in self.rails]
        for track in self._tracks:
            track.make_room(len(problem.arms))
        segments = problem.arm_segments
        control = {int(segments[arm]): arm for arm in self._find_controls(problem)}
        self._control = [control.get(int(segment)) for segment in segments]
        shares = error_shares(self.first, len(problem.arms)) * (1 - self.confidence) / len(self.rails)
        self._enough = np.array([needed(share) for share in shares])
        self._problem = problem

    def _catch_up(self, policy: Policy[Any]) -> None:
        """Count the rewards of the rows that came since the last time."""
        self._prepare(policy.problem)
        if policy.rows != self._rows:
            self._add_rows(policy, self._rows, [track for track in self._tracks if not track.is_reported])
            self._rows = policy.rows

    def _add_rows(self, policy: Policy[Any], start: int, tracks: Sequence[_Track]) -> None:
        packed = policy.history.packed
        arms = packed["arms"][start:].tolist()
        for track in tracks:
            for arm, value in zip(arms, track.of_rows(packed, start).tolist(), strict=True):
                if track.is_reported:
                    track.reported.append((0, arm, value))
                if not math.isnan(value):
                    track.add(arm, value, self._control[arm])

    def arrays(self) -> dict[str, Any]:
        """Plain arrays for a snapshot."""
        parts = [
            (f"guard{index}_{name}", part)
            for index, each in enumerate(self._tracks)
            for name, part in each.arrays().items()
        ]
        return {**dict(parts), "guard_rows": np.array([self._rows])}

    def fill(self, arrays: Mapping[str, Any], problem: Problem) -> None:
        """Read back what `arrays` gave."""
        if "guard0_sums" in arrays:
            self._prepare(problem)
            for index, track in enumerate(self._tracks):
                track.fill({name: arrays[f"guard{index}_{name}"] for name in track.arrays()})
        self._rows = int(arrays["guard_rows"][0])

    def evidence(self, policy: Policy[Any]) -> Floats:
        """(guardrails, arms): the highest log evidence so far."""
        self._catch_up(policy)
        return np.array([track.sums[5] for track in self._tracks]).reshape(len(self.rails), len(policy.problem.arms))

    def broken(self, policy: Policy[Any]) -> Bools:
        """(guardrails, arms): whether an arm is proven to break a guardrail."""
        found: Bools = self.evidence(policy) >= self._enough
        return found

    def idle(self, policy: Policy[Any]) -> list[str]:
        """Why guardrails can exclude no arm, those that cannot."""
        self._catch_up(policy)
        return list(dict.fromkeys(track.idle for track in self._tracks if track.idle))

    def status(self, policy: Policy[Any]) -> Guardrails:
        """What is known of all arms."""
        evidence, broken = self.evidence(policy), self.broken(policy)
        found = []
        for index, track in enumerate(self._tracks):
            clipped = track.ends if track.learns else None
            for number, arm in enumerate(policy.problem.arms):
                rows, total = track.sums[:2, number].tolist()
                ratio = math.exp(min(float(evidence[index, number]), 700.0))
                about = (int(rows), total / rows if rows else math.nan, *track.interval(number))
                found.append(ArmGuardrail(arm, str(track.rail), *about, ratio, bool(broken[index, number]), clipped))
        return Guardrails(found)
