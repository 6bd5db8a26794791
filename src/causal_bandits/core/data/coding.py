"""Rows as numbers: every value is checked, and a bad one is named with its row."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence, Sized
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import CausalBanditsError, ObservationError, UnknownLevelError, UnknownVariableError, brief, listing
from ..problem import Arm, Level, Problem, Reward, Variable
from .distinct import each_distinct, is_series, plain_columns, reals
from .frames import columns_of

LARGEST = 1e100
"""Squares and products of values up to this are finite."""
MOST_COUNTED = 1e15
"""Whole numbers up to this are exact."""
MISSING = -1
"""The level number of a value that was not observed."""


class Rows(NamedTuple):
    """Coded rows: arm numbers, level numbers, rewards, and the values of the variables that are numbers.

    A real-valued variable has the level number 0 throughout; one that is cut into bins has both. A value that was not
    observed has the level number `MISSING`, and NaN among the numbers.
    """

    arms: NDArray[np.int64]
    codes: NDArray[np.int64]
    rewards: NDArray[Any]
    raw: NDArray[np.float64]


def is_missing(value: object) -> bool:
    """Whether a value is missing: None, NaN, NaT, NA. A list or an array is not one value."""
    if value is None or _is_several(value):
        return value is None
    try:
        return bool(value != value)  # noqa: PLR0124 (NaN and NaT of any library)
    except (ArithmeticError, TypeError, ValueError):  # pandas.NA has no truth value; a signaling NaN
        return True


def _is_several(value: object) -> bool:
    """Whether this is a list, an array or a column; a scalar of an array library is not."""
    return isinstance(value, Sized) and not isinstance(value, str | bytes) and getattr(value, "ndim", 1) != 0


def check_single(name: str, value: object) -> None:
    """Reject several values where one is expected."""
    if _is_several(value):
        shown = brief(value)[:60]
        raise ObservationError(f"{name!r} is {shown}, a {type(value).__name__}; expected one value")


def binary_value(name: str, value: object) -> int:
    """A reward that must be 0 or 1."""
    check_single(name, value)
    if is_missing(value):
        raise ObservationError(f"reward {name!r} is {brief(value)}; every row needs 0 or 1")
    try:
        return {0: 0, 1: 1}[value]  # type: ignore[index]
    except (KeyError, TypeError):
        raise ObservationError(f"reward {name!r} is {brief(value)}; expected 0 or 1 (or False, True)") from None


def real_value(name: str, value: object) -> float:
    """A value that must be a finite number."""
    check_single(name, value)
    try:
        number = math.nan if isinstance(value, str) else float(value)  # type: ignore[arg-type]
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        number = math.nan
    if not abs(number) <= LARGEST:
        raise ObservationError(f"{name!r} is {brief(value)}; expected a finite number (at most {LARGEST:g})")
    return number


def reward_value(name: str, value: object, reward: Reward) -> float:
    """The numeric value of a reward: a level's value, or a number that the kind allows."""
    if reward.kind == "binary":
        return binary_value(name, value)
    if reward.kind == "levels":
        check_single(name, value)
        if is_missing(value):
            raise ObservationError(f"reward {name!r} is {brief(value)}; expected {reward.words}")
        try:
            return reward.value(value)
        except UnknownLevelError:
            raise ObservationError(f"reward {name!r} is {brief(value)}; expected {reward.words}") from None
    number = real_value(name, value)
    if number < 0 and reward.kind != "real":
        hint = "" if reward.kind == "count" else "; with refunds use reward=float"
        raise ObservationError(f"reward {name!r} is {brief(value)}; expected {reward.words}{hint}")
    if reward.kind == "count" and (number != math.floor(number) or number > MOST_COUNTED):
        raise ObservationError(f"reward {name!r} is {brief(value)}; expected {reward.words}, at most {MOST_COUNTED:g}")
    if reward.cap is not None and not reward.cap[0] <= number <= reward.cap[1]:
        low, high = reward.cap
        raise ObservationError(
            f"reward {name!r} is {brief(value)}, beyond its declared cap ({low:g} to {high:g}); "
            "declare a wider cap, or report the capped value"
        )
    return number


class Coder:
    """Turns observations and tables into rows of a problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.numbers = [place for place, variable in enumerate(problem.observed) if variable.is_number]
        """The variables that have a column in `raw`."""
        self.reward_type: type = np.float64 if problem.reward_is_real else np.int64
        self._expected = {*problem.observed_names, problem.target}
        self._observed = set(problem.observed_names)

    def one(
        self,
        arm: Arm | Mapping[str, Level],
        observation: Mapping[str, Any],
        *,
        missing: bool = False,
        pending: bool = False,
    ) -> Rows:
        """A single row; with `missing` observed variables may have no value; with `pending` it has no reward."""
        if not isinstance(observation, Mapping):
            raise ObservationError(f"observation {brief(observation)} is not a mapping variable -> value")
        number = self.problem.index(arm)
        self._check_names(observation, missing, pending)
        codes = np.zeros((1, len(self.problem.observed)), dtype=np.int64)
        raw = np.empty((1, len(self.numbers)))
        column = 0
        for place, variable in enumerate(self.problem.observed):
            value = observation.get(variable.name)
            absent = missing and is_missing(value)
            if variable.is_number:
                raw[0, column] = math.nan if absent else real_value(variable.name, value)
                column += 1
            elif not absent:
                codes[0, place] = _level(variable, value)
            if absent:
                codes[0, place] = MISSING
        reward = 0 if pending else self._reward(observation[self.problem.target])
        return Rows(np.array([number]), codes, np.array([reward], dtype=self.reward_type), raw)

    def known(self, arms: Sequence[int], seen: Sequence[Mapping[str, Any]]) -> Rows:
        """Rows from arm numbers and values that `value` returned; a LookupError or TypeError for others."""
        codes = np.zeros((len(arms), len(self.problem.observed)), dtype=np.int64)
        raw = np.empty((len(arms), len(self.numbers)))
        for place, variable in enumerate(self.problem.observed):
            name = variable.name
            if variable.is_number:
                values = [math.nan if row[name] is None else row[name] for row in seen]
                raw[:, self.numbers.index(place)] = values
                codes[:, place] = np.where(np.isnan(values), MISSING, 0)
            else:
                numbers: dict[Any, int] = {level: code for code, level in enumerate(variable.levels)}
                numbers[None] = MISSING
                codes[:, place] = [numbers[row[name]] for row in seen]
        rewards = [self._reward(row[self.problem.target]) for row in seen]
        return Rows(np.array(arms, dtype=np.int64), codes, np.array(rewards, dtype=self.reward_type), raw)

    def value(self, name: str, value: object) -> Any:
        """One value, checked: a level as the problem spells it, a number, the reward, or None if it is missing."""
        if isinstance(name, str) and name == self.problem.target:
            return self.problem.reward.told(self._reward(value))
        for variable in self.problem.observed:
            if isinstance(name, str) and variable.name == name:
                if is_missing(value):
                    return None
                return real_value(name, value) if variable.is_number else variable.levels[_level(variable, value)]
        known = listing(self.problem.observed_names)
        raise UnknownVariableError(f"{brief(name)} is not an observed variable; expected {known} and the reward")

    def many(self, frame: Any, arm: Arm | Mapping[str, Level] | None, *, missing: bool = False) -> Rows:
        """The rows of a table; all of them belong to `arm`, or the table names every lever."""
        columns: Mapping[str, Any] = plain_columns(frame) or columns_of(frame)
        if not columns and isinstance(frame, Sequence):  # an empty list is a table without rows
            columns = {name: [] for name in (*self.problem.intervention_names, *self._expected)}
        given = {} if arm is None else arm
        levers = list(self.problem.intervention_names if arm is None else self.problem.segments)
        levers = [name for name in levers if not isinstance(given, Mapping) or name not in given]
        for name in (*levers, *self.problem.observed_names, self.problem.target):
            if name not in columns:
                hint = "; or name the arm (arm=... or --arm) when all rows belong to one" if name in levers else ""
                raise ObservationError(f"the table has no column {name!r}; it has {listing(columns)}{hint}")
        length = len(columns[self.problem.target])
        codes = np.zeros((length, len(self.problem.observed)), dtype=np.int64)
        raw = np.empty((length, len(self.numbers)))
        for place, variable in enumerate(self.problem.observed):
            values = columns[variable.name]
            if variable.is_number:
                column = self.numbers.index(place)
                raw[:, column] = _reals(
                    values, _allowing(partial(real_value, variable.name), math.nan, missing), missing
                )
                codes[:, place] = np.where(np.isnan(raw[:, column]), MISSING, 0)
            else:
                codes[:, place] = _each(values, _allowing(partial(_level, variable), MISSING, missing))
        rewards = _each(columns[self.problem.target], self._reward)
        index = self.problem.index
        if arm is not None:
            one = next(self.problem.in_segments(arm)) if levers else arm
            self._check_arm(columns, self.problem.arms[index(one)], levers)
        if levers:
            rows = _each_row(
                [columns[name] for name in levers], lambda *s: index({**given, **dict(zip(levers, s, strict=True))})
            )
            arms = np.array(rows, dtype=np.int64)
        else:
            arms = np.full(length, index(given))
        return Rows(arms, codes, np.array(rewards, dtype=self.reward_type), raw)

    def _check_arm(self, columns: Mapping[str, Any], arm: Arm, read: Sequence[str]) -> None:
        """Check that a table whose rows all belong to one arm does not contradict that; some columns are read."""
        for lever in self.problem.interventions:
            for row, value in enumerate(() if lever.name in read else columns.get(lever.name, ()), 1):
                if lever.code(value) != lever.code(arm[lever.name]):
                    raise ObservationError(
                        f"row {row}: {lever.name!r} is {brief(value)}, but the call says that all rows are from "
                        f"{arm.label}"
                    )

    def _reward(self, value: object) -> float:
        return reward_value(self.problem.target, value, self.problem.reward)

    def _check_names(self, observation: Mapping[str, Any], missing: bool, pending: bool) -> None:
        if observation.keys() == (self._observed if pending else self._expected):
            return
        if self.problem.target not in observation and not pending:
            what = self.problem.reward.words
            raise ObservationError(f"the row has no reward {brief(self.problem.target)}; add it as {what}")
        for name in self.problem.observed_names:
            if name not in observation and not missing:
                raise ObservationError(f"the row has no value for {name!r}; every observed variable is needed")
        for name in observation:
            if name not in self._expected:
                self.value(name, None)


def _level(variable: Variable, value: object) -> int:
    check_single(variable.name, value)
    if is_missing(value):
        raise ObservationError(f"{variable.name!r} is {brief(value)}; every observed variable needs a level")
    return variable.code(value)


def _allowing(convert: Callable[[Any], Any], absent: float, missing: bool) -> Callable[[Any], Any]:
    """The same conversion, with a number for a missing value, if that is allowed."""
    return (lambda value: absent if is_missing(value) else convert(value)) if missing else convert


def _reals(values: Any, convert: Callable[[Any], Any], missing: bool) -> Any:
    found = reals(values, LARGEST) if is_series(values) else None
    return _each(values, convert) if found is None or (np.isnan(found).any() and not missing) else found


def _each(values: Any, convert: Callable[[Any], Any]) -> Any:
    """Convert one by one; an error names the row; the first is row 1."""
    return _each_row([values], convert)


def _each_row(columns: Sequence[Any], convert: Callable[..., Any]) -> Any:
    """Convert the values of several columns together: distinct ones once if known to be the same."""
    if all(map(is_series, columns)) and len(columns[0]):
        with contextlib.suppress(CausalBanditsError):  # the error is for the row that comes first
            return each_distinct(columns, convert)
    done: list[Any] = []
    try:
        for values in zip(*columns, strict=True):
            done.append(convert(*values))  # noqa: PERF401
    except CausalBanditsError as error:
        raise type(error)(f"row {len(done) + 1}: {error}") from None
    return done
