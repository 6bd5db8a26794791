"""History: every row, checked at the door and kept as small numbers."""

import math
from collections.abc import Mapping, Sequence, Sized
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..errors import CausalBanditsError, ObservationError, UnknownVariableError, listing
from ..problem import Arm, Bins, Level, Problem, Variable
from .tables import CountTables, TableLayout, count_rows


class Rows(NamedTuple):
    """Coded rows: arm numbers, level numbers, rewards, and the values of the variables that are cut into bins."""

    arms: NDArray[np.int64]
    codes: NDArray[np.int64]
    rewards: NDArray[np.int64]
    raw: NDArray[np.float64]


def _is_missing(value: object) -> bool:
    try:
        return value is None or bool(value != value)  # noqa: PLR0124 (NaN and NaT of any library)
    except (TypeError, ValueError):  # pandas.NA has no truth value, nor has an array
        return True


def _reward(name: str, value: object) -> int:
    if _is_missing(value):
        raise ObservationError(f"reward {name!r} is {value!r}; every row needs 0 or 1")
    try:
        return {0: 0, 1: 1}[value]  # type: ignore[index]
    except (KeyError, TypeError):
        raise ObservationError(f"reward {name!r} is {value!r}; expected 0 or 1 (or False, True)") from None


def _real(name: str, value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ObservationError(f"{name!r} is {value!r}; expected a finite number")
    return number


class History:
    """What was done and seen, one row per pull.

    >>> problem = Problem("Y", {"A": ["low", "high"]}, {"I": 2})
    >>> history = History(problem)
    >>> history.extend(history.encode(problem.arm(I=1), {"A": "high", "Y": 1}))
    False
    >>> history.to_frame().rows()
    [(1, 'high', 1)]
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._bins = [(place, variable.bins) for place, variable in enumerate(problem.observed) if variable.bins]
        self._binned = [place for place, _ in self._bins]
        self._learnt: dict[int, NDArray[np.float64]] = {}
        self._length = 0
        self._arms = np.empty(64, dtype=np.int32)
        self._codes = np.empty((64, len(problem.observed)), dtype=np.int16)
        self._rewards = np.empty(64, dtype=np.int8)
        self._raw = np.empty((64, len(self._binned)), dtype=np.float64)
        self._expected = {*problem.observed_names, problem.target}

    def __len__(self) -> int:
        return self._length

    @property
    def rows(self) -> Rows:
        """All rows so far."""
        end = self._length
        return Rows(
            self._arms[:end].astype(np.int64),
            self._codes[:end].astype(np.int64),
            self._rewards[:end].astype(np.int64),
            self._raw[:end].copy(),
        )

    def encode(self, arm: Arm | Mapping[str, Level], observation: Mapping[str, Any]) -> Rows:
        """One row, checked and coded; nothing is stored yet."""
        if not isinstance(observation, Mapping):
            raise ObservationError(f"observation {observation!r} is not a mapping variable -> value")
        number = self.problem.index(arm)
        self._check_columns(observation)
        codes = np.empty((1, len(self.problem.observed)), dtype=np.int64)
        raw = np.empty((1, len(self._binned)))
        for place, variable in enumerate(self.problem.observed):
            value = observation[variable.name]
            if variable.bins:
                raw[0, self._binned.index(place)] = _real(variable.name, value)
            else:
                codes[0, place] = self._level(variable, value)
        reward = _reward(self.problem.target, observation[self.problem.target])
        self._code_bins(codes, raw)
        return Rows(np.array([number]), codes, np.array([reward]), raw)

    def _check_columns(self, observation: Mapping[str, Any]) -> None:
        if observation.keys() == self._expected:
            return
        if self.problem.target not in observation:
            raise ObservationError(f"the row has no reward {self.problem.target!r}; add it as 0 or 1")
        for name in self.problem.observed_names:
            if name not in observation:
                raise ObservationError(f"the row has no value for {name!r}; every observed variable is needed")
        unknown = next(name for name in observation if name not in self._expected)
        known = listing(self.problem.observed_names)
        raise UnknownVariableError(f"{unknown!r} is not an observed variable; expected {known} and the reward")

    @staticmethod
    def _level(variable: Variable, value: object) -> int:
        if _is_missing(value):
            raise ObservationError(f"{variable.name!r} is {value!r}; every observed variable needs a level")
        return variable.code(value)

    def encode_many(self, frame: Any, arm: Arm | Mapping[str, Level] | None = None) -> Rows:
        """The rows of a table (any dataframe, a list of dicts, a dict of columns), checked and coded.

        The table has one column per intervention variable, or all its rows belong to `arm`
        (observational rows: the idle arm). Other columns are ignored.
        """
        columns = _columns(frame)
        levers = [] if arm is not None else list(self.problem.intervention_names)
        for name in (*levers, *self.problem.observed_names, self.problem.target):
            if name not in columns:
                hint = "; or pass arm=... when all rows belong to one arm" if name in levers else ""
                raise ObservationError(f"the table has no column {name!r}; it has {listing(columns)}{hint}")
        length = len(columns[self.problem.target])
        codes = np.zeros((length, len(self.problem.observed)), dtype=np.int64)
        raw = np.empty((length, len(self._binned)))
        for place, variable in enumerate(self.problem.observed):
            values = columns[variable.name]
            if variable.bins:
                raw[:, self._binned.index(place)] = _each(values, lambda v, name=variable.name: _real(name, v))
            else:
                codes[:, place] = _each(values, lambda v, variable=variable: self._level(variable, v))
        rewards = _each(columns[self.problem.target], lambda v: _reward(self.problem.target, v))
        self._code_bins(codes, raw)
        if arm is not None:
            arms = np.full(length, self.problem.index(arm))
        else:
            settings = zip(*(columns[name] for name in levers), strict=True)
            index = self.problem.index
            arms = np.array(_each(settings, lambda s: index(dict(zip(levers, s, strict=True)))), dtype=np.int64)
        return Rows(arms, codes, np.array(rewards, dtype=np.int64), raw)

    def extend(self, rows: Rows) -> bool:
        """Store coded rows; True when this fixed the cut points of a variable, so that all codes are new."""
        start, end = self._length, self._length + len(rows.arms)
        self._reserve(end)
        self._arms[start:end] = rows.arms
        self._codes[start:end] = rows.codes
        self._rewards[start:end] = rows.rewards
        self._raw[start:end] = rows.raw
        self._length = end
        learnt = any(how.quantiles and start < how.after <= end for _, how in self._bins)
        if learnt:
            codes = self._codes[:end].astype(np.int64)
            self._code_bins(codes, self._raw[:end])
            self._codes[:end] = codes
        return learnt

    def _reserve(self, length: int) -> None:
        capacity = len(self._arms)
        if length <= capacity:
            return
        capacity = max(length, 2 * capacity)
        for name in ("_arms", "_codes", "_rewards", "_raw"):
            old = getattr(self, name)
            new = np.empty((capacity, *old.shape[1:]), dtype=old.dtype)
            new[: self._length] = old[: self._length]
            setattr(self, name, new)

    @property
    def cuts(self) -> dict[str, list[float] | None]:
        """The cut points of each real-valued variable; None while they are still to be learnt."""
        found = {}
        for column, (place, how) in enumerate(self._bins):
            points = self._cuts(column, how)
            found[self.problem.observed[place].name] = None if points is None else points.tolist()
        return found

    def _cuts(self, column: int, how: Bins) -> NDArray[np.float64] | None:
        if how.cuts is not None:
            return np.array(how.cuts)
        if self._length < how.after:
            return None
        if column not in self._learnt:
            probabilities = np.arange(1, how.count) / how.count
            self._learnt[column] = np.unique(np.quantile(self._raw[: how.after, column], probabilities))
        return self._learnt[column]

    def _code_bins(self, codes: NDArray[np.int64], raw: NDArray[np.float64]) -> None:
        for column, (place, how) in enumerate(self._bins):
            cuts = self._cuts(column, how)
            codes[:, place] = 0 if cuts is None else np.searchsorted(cuts, raw[:, column], side="right")

    def tables(self, max_size: int | None = None) -> CountTables:
        """The counts of all rows."""
        tables = TableLayout.of(self.problem, max_size).empty()
        self.count_into(tables)
        return tables

    def count_into(self, tables: CountTables) -> None:
        """Count all rows into tables that are empty."""
        rows = self.rows
        count_rows(tables, rows.arms, rows.codes, rows.rewards)

    def to_frame(self) -> pl.DataFrame:
        """One row per pull: the intervention variables, the observed variables, the reward."""
        rows = self.rows
        columns: dict[str, Any] = {}
        for place, variable in enumerate(self.problem.interventions):
            columns[variable.name] = _levels(variable, self.problem.arm_codes[rows.arms, place])
        for place, variable in enumerate(self.problem.observed):
            if variable.bins:
                columns[variable.name] = rows.raw[:, self._binned.index(place)]
            else:
                columns[variable.name] = _levels(variable, rows.codes[:, place])
        return pl.DataFrame({**columns, self.problem.target: rows.rewards}, strict=False)


def _levels(variable: Variable, codes: NDArray[np.int64]) -> list[Level]:
    """The column of a variable: one type throughout, so numbers beside names become their text."""
    named = any(isinstance(level, str) for level in variable.levels)
    levels = [str(level) if named else level for level in variable.levels]
    return [levels[code] for code in codes]


def _columns(frame: Any) -> dict[str, Sequence[Any]]:
    """The columns of whatever holds a table."""
    if isinstance(frame, Mapping):
        for name, column in frame.items():
            if isinstance(column, str) or not isinstance(column, Sized):
                raise ObservationError(f"column {name!r} is {column!r}; expected a list of values, one per row")
        lengths = {name: len(column) for name, column in frame.items()}
        if len(set(lengths.values())) > 1:
            raise ObservationError(f"the columns have different lengths: {lengths}")
        return dict(frame)
    if isinstance(frame, Sequence) and not isinstance(frame, str | bytes):
        if not all(isinstance(row, Mapping) for row in frame):
            raise ObservationError("a list of rows must hold mappings variable -> value")
        names = list(dict.fromkeys(name for row in frame for name in row))
        return {name: [row.get(name) for row in frame] for name in names}
    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        kind = type(frame).__name__
        raise ObservationError(
            f"a {kind} is not a table; pass a pandas, polars or Arrow frame in memory, or a list of dicts"
        ) from None
    except nw.exceptions.DuplicateError as error:
        raise ObservationError(f"the table names a column twice: {' '.join(str(error).split())}") from None
    return {name: table.get_column(name).to_list() for name in table.columns}


def _each(values: Any, convert: Any) -> list[int]:
    """Convert one by one; an error names the row."""
    done: list[int] = []
    try:
        for value in values:
            done.append(convert(value))  # noqa: PERF401
    except CausalBanditsError as error:
        raise type(error)(f"row {len(done)}: {error}") from None
    return done
