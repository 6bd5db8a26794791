"""Guardrails: arms whose rows show that they break one are not asked for.

The evidence that an arm's mean is beyond the limit is that of `independence.limits`: the chance that it ever reaches
1 / (1 - confidence) is at most 1 - confidence while the arm keeps the guardrail, however often one looks and however
the arm came to be played. From there on the arm is excluded. So an arm that keeps its guardrail is excluded with a
probability of at most 1 - confidence over the whole study, and one that breaks it sooner or later, if it is played at
all. For metrics without bounds this holds approximately.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.special import ndtri

from ..compiled import Bools, Floats
from ..doors import is_number
from ..errors import OptionError, UnknownVariableError, brief, listing
from ..estimators import jeffreys_interval
from ..independence.limits import log_evidence
from ..markup import printable
from ..policies import Policy
from ..problem import Arm, Level, Problem

SIGNS = ("<=", ">=")


class Guardrail(NamedTuple):
    """What must hold of an arm: the mean of a metric, or the share of one of its levels, on one side of a limit."""

    metric: str
    level: Level | None
    sign: str
    limit: float

    @property
    def name(self) -> str:
        """What is measured."""
        return self.metric if self.level is None else f"{self.metric}={self.level}"

    def __str__(self) -> str:
        return f"{self.name} {self.sign} {self.limit:g}"


def read_guardrails(problem: Problem, metrics: Mapping[str, str], given: object) -> list[list[Any]]:
    """Guardrails as a caller gives them, checked: {"refund": ("<=", 0.02)}; a level is named as in "cart=empty"."""
    if not isinstance(given, Mapping):
        raise OptionError(f"guardrails={brief(given)}; expected a mapping metric -> ('<=' or '>=', limit)")
    found = []
    for key, bound in given.items():
        name, level = _metric(problem, metrics, key)
        if not isinstance(bound, Sequence) or isinstance(bound, str) or len(bound) != 2 or bound[0] not in SIGNS:
            raise OptionError(f"the guardrail on {brief(key)} is {brief(bound)}; expected ('<=' or '>=', limit)")
        if not is_number(bound[1]) or not abs(float(bound[1])) < math.inf:
            raise OptionError(f"the limit of the guardrail on {brief(key)} is {brief(bound[1])}; expected a number")
        rail = Guardrail(name, level, str(bound[0]), float(bound[1]))
        low, high = Reader(problem, metrics, rail).ends
        if not (low <= rail.limit < high if rail.sign == "<=" else low < rail.limit <= high):
            raise OptionError(
                f"the guardrail {rail} always holds or never does: {rail.name} lies between {low:g} and {high:g}"
            )
        found.append(list(rail))
    return found


def _metric(problem: Problem, metrics: Mapping[str, str], key: object) -> tuple[str, Level | None]:
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


class Reader:
    """Where the values of a guardrail's metric are in a row, and between what ends they lie."""

    def __init__(self, problem: Problem, metrics: Mapping[str, str], rail: Guardrail) -> None:
        self.metric = rail.metric if rail.metric in metrics else None
        self.place = -1 if self.metric or rail.metric == problem.target else problem.observed_names.index(rail.metric)
        self.column, self.values = -1, np.empty(0)
        self.ends = (-math.inf, math.inf)
        if self.metric:
            self.ends = (0.0, 1.0) if metrics[self.metric] == "binary" else self.ends
        elif self.place < 0:
            kind, values = problem.reward.kind, problem.reward.values
            self.ends = {"binary": (0.0, 1.0), "levels": (min(values, default=0.0), max(values, default=0.0))}.get(
                kind, (0.0 if kind in ("count", "revenue") else -math.inf, math.inf)
            )
        else:
            self._read_levels(problem, rail)

    def _read_levels(self, problem: Problem, rail: Guardrail) -> None:
        variable = problem.observed[self.place]
        if variable.is_number:
            self.column = [each.name for each in problem.observed if each.is_number].index(variable.name)
        elif rail.level is not None:
            self.values = np.array([float(level == rail.level) for level in variable.levels])
            self.ends = (0.0, 1.0)
        elif any(isinstance(level, str) for level in variable.levels):
            raise OptionError(
                f"{variable.name!r} has the levels {listing(variable.levels)}, which are no numbers; say which level "
                f"the guardrail is on, as in {f'{variable.name}={variable.levels[-1]}'!r}"
            )
        else:
            self.values = np.array([float(level) for level in variable.levels])
            self.ends = (float(self.values.min()), float(self.values.max()))

    def of_rows(self, packed: Mapping[str, Any], start: int) -> Floats:
        """The values in the rows from `start` on; NaN where a row has none."""
        if self.place < 0:
            return np.asarray(packed["rewards"][start:], dtype=np.float64)
        if self.column >= 0:
            return np.asarray(packed["raw"][start:, self.column], dtype=np.float64)
        codes = packed["codes"][start:, self.place]
        return np.where(codes >= 0, self.values[codes], np.nan)

    def of_told(self, problem: Problem, seen: Mapping[str, Any]) -> float:
        """The value of an observed variable in what was told of a decision; NaN where it was not."""
        variable = problem.observed[self.place]
        told = seen.get(variable.name)
        if told is None:
            return math.nan
        return float(told) if self.column >= 0 else float(self.values[variable.code(told)])


class ArmGuardrail(NamedTuple):
    """An arm and a guardrail: what its rows say, and whether they show that it breaks it."""

    arm: Arm
    guardrail: str
    rows: int
    mean: float
    low: float
    high: float
    """95 % interval of the mean, from the arm's own rows."""
    evidence: float
    """How much more likely the rows are if the arm breaks the guardrail than if it just keeps it."""
    broken: bool

    def __str__(self) -> str:
        return printable(f"{self.arm} breaks {self.guardrail}: {self.mean:.4g} in {self.rows:,} rows")


class Guardrails(tuple[ArmGuardrail, ...]):
    """All guardrails of all arms."""

    __slots__ = ()

    @property
    def broken(self) -> tuple[ArmGuardrail, ...]:
        """Those that an arm breaks."""
        return tuple(each for each in self if each.broken)

    def to_frame(self) -> pl.DataFrame:
        """One row per arm and guardrail."""
        return pl.DataFrame([{**each._asdict(), "arm": str(each.arm)} for each in self], infer_schema_length=None)

    def __repr__(self) -> str:
        return repr(self.to_frame()) if self else "no guardrails"


class Guards:
    """Running sums of the guarded metrics, from which it follows which arms break a guardrail.

    `early`: observed variables count when they are told, not when the row is whole.
    """

    def __init__(
        self, rails: Sequence[Guardrail], confidence: float, metrics: Mapping[str, str], *, early: bool = False
    ) -> None:
        self.rails, self.confidence, self.metrics, self.early = tuple(rails), confidence, metrics, early
        self._sums = np.zeros((len(self.rails), 3, 0))
        self._rows = 0
        self._problem: Problem | None = None
        self._evidence: Floats | None = None
        """As it was worked out last; None once something was counted."""
        self._readers: list[Reader] = []

    def count_metric(self, name: str, arm: int, value: float) -> None:
        """Count a further metric of a decision."""
        self._make_room(arm + 1)
        self._evidence = None
        for place, rail in enumerate(self.rails):
            if rail.metric == name:
                self._sums[place, :, arm] += (1.0, value, value * value)

    def count_told(self, problem: Problem, arm: int, seen: Mapping[str, Any]) -> None:
        """Count what is new about the observed variables of a decision, where they count early."""
        if not self.early:
            return
        self._prepare(problem)
        self._evidence = None
        for place, reader in enumerate(self._readers):
            value = reader.of_told(problem, seen) if reader.place >= 0 else math.nan
            if not math.isnan(value):
                self._sums[place, :, arm] += (1.0, value, value * value)

    def count_imported(self, policy: Policy[Any], start: int) -> None:
        """Count the observed variables of the rows from `start` on, which no decision asked for, where others do."""
        if self.early:
            self._prepare(policy.problem)
            self._evidence = None
            self._add_rows(policy, start, [each for each in enumerate(self._readers) if each[1].place >= 0])

    def _make_room(self, arms: int) -> None:
        if self._sums.shape[2] < arms:
            more = np.zeros((len(self.rails), 3, arms - self._sums.shape[2]))
            self._sums = np.concatenate([self._sums, more], axis=2)

    def _prepare(self, problem: Problem) -> None:
        self._make_room(len(problem.arms))
        if problem is not self._problem:
            self._problem, self._readers = problem, [Reader(problem, self.metrics, rail) for rail in self.rails]

    def _catch_up(self, policy: Policy[Any]) -> None:
        """Count the rows that came since the last time, but for what counted early."""
        self._prepare(policy.problem)
        if policy.rows == self._rows:
            return
        self._evidence = None
        whole = [each for each in enumerate(self._readers) if each[1].metric is None]
        self._add_rows(policy, self._rows, [each for each in whole if not self.early or each[1].place < 0])
        self._rows = policy.rows

    def _add_rows(self, policy: Policy[Any], start: int, readers: Sequence[tuple[int, Reader]]) -> None:
        packed = policy.history.packed
        arms = packed["arms"][start:].astype(np.int64)
        for place, reader in readers:
            values = reader.of_rows(packed, start)
            known = ~np.isnan(values)
            for row, power in enumerate((np.ones(len(values)), values, values**2)):
                # One after the other: the same bits whether rows come one by one or all at once.
                np.add.at(self._sums[place, row], arms[known], power[known])

    def arrays(self) -> dict[str, Any]:
        """Plain arrays for a snapshot."""
        return {"guard_sums": self._sums, "guard_rows": np.array([self._rows])} if self.rails else {}

    def fill(self, arrays: Mapping[str, Any]) -> None:
        """Read back what `arrays` gave."""
        if self.rails:
            self._sums, self._rows = arrays["guard_sums"].astype(np.float64), int(arrays["guard_rows"][0])
            if self._sums.shape[:2] != (len(self.rails), 3):
                raise ValueError("its sums are not those of its guardrails")

    def evidence(self, policy: Policy[Any]) -> Floats:
        """(guardrails, arms): log E."""
        self._catch_up(policy)
        if self._evidence is not None and self._evidence.shape[1] == len(policy.problem.arms):
            return self._evidence
        self._evidence = np.array(
            [
                log_evidence(sums[0], sums[1], sums[2], limit=rail.limit, above=rail.sign == "<=", ends=reader.ends)
                for sums, rail, reader in zip(self._sums, self.rails, self._readers, strict=True)
            ]
        ).reshape(len(self.rails), len(policy.problem.arms))
        return self._evidence

    def broken(self, policy: Policy[Any]) -> Bools:
        """(guardrails, arms): whether an arm breaks a guardrail."""
        return self.evidence(policy) >= -math.log1p(-self.confidence)

    def status(self, policy: Policy[Any]) -> Guardrails:
        """What is known of all arms."""
        evidence, broken = self.evidence(policy), self.broken(policy)
        far, found = float(ndtri(0.975)), []
        for place, rail in enumerate(self.rails):
            for number, arm in enumerate(policy.problem.arms):
                n, total, squares = self._sums[place, :, number]
                mean = total / n if n else math.nan
                reach = far * math.sqrt(max(squares / n - mean * mean, 0.0) / n) if n else math.nan
                low, high = _ends(rail, self._readers[place].ends, n, total, mean, reach)
                ratio = float(np.exp(min(evidence[place, number], 700.0)))
                found.append(
                    ArmGuardrail(arm, str(rail), int(n), float(mean), low, high, ratio, bool(broken[place, number]))
                )
        return Guardrails(found)


def _ends(
    rail: Guardrail, ends: tuple[float, float], n: float, total: float, mean: float, reach: float
) -> tuple[float, float]:
    """Jeffreys' interval of a rate, a normal one of another mean."""
    if n and ends == (0.0, 1.0) and float(total).is_integer():
        return jeffreys_interval(int(n), int(total), 0.95)
    return float(mean - reach), float(mean + reach)
