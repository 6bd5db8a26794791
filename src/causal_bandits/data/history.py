"""History: every row, kept as small numbers."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..problem import Arm, Bins, Level, Problem, Variable
from .coding import Coder, Rows
from .tables import CountTables, TableLayout, count_rows


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
        self._coder = Coder(problem)
        numbers = self._coder.numbers
        self._bins = [
            (column, place, how) for column, place in enumerate(numbers) if (how := problem.observed[place].bins)
        ]
        self._learnt: dict[int, NDArray[np.float64]] = {}
        self._length = 0
        self._arms = np.empty(64, dtype=np.int32)
        self._codes = np.empty((64, len(problem.observed)), dtype=np.int16)
        self._rewards = np.empty(64, dtype=np.float64 if problem.reward_is_real else np.int8)
        self._raw = np.empty((64, len(numbers)), dtype=np.float64)

    def __len__(self) -> int:
        return self._length

    @property
    def rows(self) -> Rows:
        """All rows so far."""
        end = self._length
        return Rows(
            self._arms[:end].astype(np.int64),
            self._codes[:end].astype(np.int64),
            self._rewards[:end].astype(self._coder.reward_type),
            self._raw[:end].copy(),
        )

    def encode(self, arm: Arm | Mapping[str, Level], observation: Mapping[str, Any]) -> Rows:
        """One row, checked and coded; nothing is stored yet."""
        return self._with_bins(self._coder.one(arm, observation))

    def encode_many(self, frame: Any, arm: Arm | Mapping[str, Level] | None = None) -> Rows:
        """The rows of a table (any dataframe, a list of dicts, a dict of columns), checked and coded.

        The table has one column per intervention variable, or all its rows belong to `arm`
        (observational rows: the idle arm). Other columns are ignored.
        """
        return self._with_bins(self._coder.many(frame, arm))

    def extend(self, rows: Rows) -> bool:
        """Store coded rows; True when this fixed the cut points of a variable, so that all codes are new."""
        start, end = self._length, self._length + len(rows.arms)
        self._reserve(end)
        self._arms[start:end] = rows.arms
        self._codes[start:end] = rows.codes
        self._rewards[start:end] = rows.rewards
        self._raw[start:end] = rows.raw
        self._length = end
        learnt = any(how.quantiles and start < how.after <= end for _, _, how in self._bins)
        if learnt:
            self._codes[:end] = self._with_bins(self.rows).codes
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
        for column, place, how in self._bins:
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

    def _with_bins(self, rows: Rows) -> Rows:
        """The same rows with the level numbers of the variables that are cut."""
        for column, place, how in self._bins:
            cuts = self._cuts(column, how)
            rows.codes[:, place] = 0 if cuts is None else np.searchsorted(cuts, rows.raw[:, column], side="right")
        return rows

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
            if variable.is_number:
                columns[variable.name] = rows.raw[:, self._coder.numbers.index(place)]
            else:
                columns[variable.name] = _levels(variable, rows.codes[:, place])
        return pl.DataFrame({**columns, self.problem.target: rows.rewards}, strict=False)


def _levels(variable: Variable, codes: NDArray[np.int64]) -> list[Level]:
    """The column of a variable: one type throughout, so numbers beside names become their text."""
    named = any(isinstance(level, str) for level in variable.levels)
    levels = [str(level) if named else level for level in variable.levels]
    return [levels[code] for code in codes]
