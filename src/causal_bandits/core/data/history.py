"""History: every row, complete or pending, stored compactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import OptionError, flag, whole_number
from ...libraries import pl
from ..problem import Arm, Bins, Level, Problem, Variable
from .coding import MISSING, Coder, Rows
from .tables import CountTables, TableLayout, count_rows
from .waiting import WaitingRows


class History:
    """All rows, one per pull; `pending` has those without a reward yet.

    Args:
        problem: The problem.

    >>> problem = Problem("Y", {"A": ["low", "high"]}, {"I": 2})
    >>> history = History(problem)
    >>> history.extend(history.encode(problem.arm(I=1), {"A": "high", "Y": 1}))
    False
    >>> history.to_frame().rows()
    [(1, 'high', 1)]
    """

    def __init__(self, problem: Problem) -> None:
        if not isinstance(problem, Problem):
            raise OptionError(f"problem is of type {type(problem).__name__}; expected causal_bandits.Problem(...)")
        self.problem = problem
        self._coder = Coder(problem)
        numbers = self._coder.numbers
        self._bins = [
            (column, place, how) for column, place in enumerate(numbers) if (how := problem.observed[place].bins)
        ]
        self._learnt: dict[int, NDArray[np.float64]] = {}
        self.pending = WaitingRows(problem)
        self._length = 0
        self._missing = 0
        self.filled = 0
        """How many rows got values after they were stored."""
        self.batches: list[tuple[int, int]] = []
        """First row and end of each batch of rows that arrived together; the order within a batch is arbitrary."""
        self._arms = np.empty(64, dtype=np.int32)
        self._codes = np.empty((64, len(problem.observed)), dtype=np.int16)
        self._rewards = np.empty(64, dtype=np.float64 if problem.reward_is_real else np.int8)
        self._raw = np.empty((64, len(numbers)), dtype=np.float64)

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"History({self._length:,} rows, {self.problem.outline})"

    @property
    def has_missing(self) -> bool:
        """Whether some row has no value for some observed variable."""
        return self._missing > 0

    @property
    def missing(self) -> dict[str, int]:
        """For each observed variable in how many rows it has no value."""
        absent = np.count_nonzero(self._codes[: self._length] < 0, axis=0)
        return dict(zip(self.problem.observed_names, absent.tolist(), strict=True))

    @property
    def rows(self) -> Rows:
        """All rows so far."""
        return self.since(0)

    def since(self, start: int, end: int | None = None) -> Rows:
        """All rows but the first ones, up to `end`."""
        part = slice(start, self._length if end is None else end)
        return Rows(
            self._arms[part].astype(np.int64),
            self._codes[part].astype(np.int64),
            self._rewards[part].astype(self._coder.reward_type),
            self._raw[part].copy(),
        )

    @property
    def packed(self) -> dict[str, NDArray[Any]]:
        """All rows by the names of `Rows`, as narrow as they are kept; not a copy."""
        end = self._length
        kept = (self._arms[:end], self._codes[:end], self._rewards[:end], self._raw[:end])
        return dict(zip(Rows._fields, kept, strict=True))

    def observation(self, row: int) -> dict[str, Any]:
        """The observed values of one row, with the reward; None if a value is missing."""
        row = whole_number("row", row, 0, self._length - 1)
        seen: dict[str, Any] = {}
        for place, variable in enumerate(self.problem.observed):
            code = int(self._codes[row, place])
            if code == MISSING:
                seen[variable.name] = None
            elif variable.is_number:
                seen[variable.name] = float(self._raw[row, self._coder.numbers.index(place)])
            else:
                seen[variable.name] = variable.levels[code]
        return {**seen, self.problem.target: self.problem.reward.told(self._rewards[row].item())}

    def value(self, name: str, value: object) -> Any:
        """One value of an observed variable or the reward, checked, as it would be stored; None if it is missing."""
        return self._coder.value(name, value)

    def encode(self, arm: Arm | Mapping[str, Level], observation: Mapping[str, Any], *, missing: bool = False) -> Rows:
        """Check and code one row without storing it. With `missing`, observed variables may have no value."""
        return self._with_bins(self._coder.one(arm, observation, missing=flag("missing", missing)))

    def encode_pending(
        self, arm: Arm | Mapping[str, Level], observation: Mapping[str, Any], *, missing: bool = False
    ) -> Rows:
        """One row whose reward is not known yet, checked and coded; its reward is 0."""
        return self._with_bins(self._coder.one(arm, observation, missing=flag("missing", missing), pending=True))

    def encode_many(self, frame: Any, arm: Arm | Mapping[str, Level] | None = None, *, missing: bool = False) -> Rows:
        """Check and code the rows of a table (any dataframe, a list of dicts, a dict of columns).

        The table has one column per lever, or all its rows belong to `arm`
        (`{}` for observational rows, that is, the control). Other columns are ignored. With `missing` cells of observed
        variables may be empty.
        """
        return self._with_bins(self._coder.many(frame, arm, missing=flag("missing", missing)))

    def encode_known(self, arms: Sequence[int], seen: Sequence[Mapping[str, Any]]) -> Rows:
        """Rows of arms by number whose values were checked before, as `value` gave them."""
        return self._with_bins(self._coder.known(arms, seen))

    def extend(self, rows: Rows, batches: Iterable[tuple[int, int]] | None = None) -> bool:
        """Store coded rows; returns True if this fixed the cut points of a variable, which changes all codes.

        `batches` says which of these rows arrived together; by default they are one batch.
        """
        start, end = self._length, self._length + len(rows.arms)
        came = [(0, end - start)] if batches is None else batches
        self.batches += [(start + first, start + last) for first, last in came if last - first > 1]
        self._reserve(end)
        self._arms[start:end] = rows.arms
        self._codes[start:end] = rows.codes
        self._rewards[start:end] = rows.rewards
        self._raw[start:end] = rows.raw
        self._length = end
        self._missing += int(np.count_nonzero(rows.codes < 0))
        learnt = any(how.quantiles and start < how.after <= end for _, _, how in self._bins)
        if learnt:
            self._recode()
        return learnt

    def complete(self, numbers: Iterable[int], rewards: Iterable[Any]) -> tuple[Rows, bool]:
        """Store pending rows with their rewards: these rows, and whether all codes changed, as in `extend`."""
        rows = self.pending.take(np.array(list(numbers), dtype=np.int64))
        counted = [self.problem.reward.number(reward) for reward in rewards]
        rows = rows._replace(rewards=np.array(counted, dtype=rows.rewards.dtype))
        return rows, self.extend(rows)

    def fill(self, row: int, after: Rows) -> bool:
        """Store values that were missing in a row; True when this changed cut points, and so all codes."""
        self._missing -= int(np.count_nonzero(self._codes[row] < 0)) - int(np.count_nonzero(after.codes[0] < 0))
        self.filled += 1
        came = np.isnan(self._raw[row]) & ~np.isnan(after.raw[0])
        self._codes[row], self._raw[row] = after.codes[0], after.raw[0]
        moved = [column for column, _, how in self._bins if came[column] and how.quantiles and row < how.after]
        moved = [column for column in moved if self._learnt.pop(column, None) is not None]
        if moved:
            self._recode()
        return bool(moved)

    # Changes of rows that were counted: whoever counted them must count again

    def remove(self, rows: NDArray[np.int64]) -> None:
        """Remove rows, by number."""
        self._store(Rows._make(np.delete(part, rows, axis=0) for part in self.rows))

    def insert(self, before: NDArray[np.int64], rows: Rows) -> None:
        """Insert rows, each before an existing one."""
        self._store(Rows._make(np.insert(old, before, new, axis=0) for old, new in zip(self.rows, rows, strict=True)))

    def replace(self, row: int, after: Rows) -> None:
        """Replace a row by another one of the same arm."""
        parts = zip(self.rows, after, strict=True)
        self._store(Rows._make(np.concatenate([old[:row], new, old[row + 1 :]]) for old, new in parts))

    def _store(self, rows: Rows) -> None:
        self._length = 0
        self._learnt.clear()
        self._missing, batches = 0, self.batches
        self.extend(rows, ())
        self.batches = batches

    def recoded(self, rows: Rows) -> Rows:
        """The same rows with the level numbers that follow from the cut points of now."""
        return self._with_bins(Rows._make(part.copy() for part in rows))

    def _recode(self) -> None:
        """Recompute the level numbers of every row from the current cut points."""
        self._codes[: self._length] = self._with_bins(self.rows).codes
        self.pending.recode(self._with_bins(self.pending.all).codes)

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
    def cuts_are_known(self) -> bool:
        """Whether all cut points are known."""
        return all(not how.quantiles or self._length >= how.after for _, _, how in self._bins)

    @property
    def cuts(self) -> dict[str, list[float] | None]:
        """The cut points of each real-valued variable; None while they are still to be learned."""
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
            seen = self._raw[: how.after, column]
            seen = seen[~np.isnan(seen)]
            self._learnt[column] = np.unique(np.quantile(seen, probabilities)) if len(seen) else np.empty(0)
        return self._learnt[column]

    def _with_bins(self, rows: Rows) -> Rows:
        """The same rows with the level numbers of the variables that are cut."""
        for column, place, how in self._bins:
            cuts = self._cuts(column, how)
            values = rows.raw[:, column]
            coded = 0 if cuts is None else np.searchsorted(cuts, values, side="right")
            rows.codes[:, place] = np.where(np.isnan(values), MISSING, coded)
        return rows

    def tables(self, max_size: int | None = None) -> CountTables:
        """The counts of all rows."""
        tables, rows = TableLayout.of(self.problem, max_size).empty(), self.rows
        count_rows(tables, rows.arms, rows.codes, rows.rewards)
        return tables

    def to_frame(self) -> pl.DataFrame:
        """One row per pull: the levers, the observed variables, the reward."""
        rows = self.rows
        columns: dict[str, Any] = {}
        for place, variable in enumerate(self.problem.interventions):
            columns[variable.name] = _levels(variable, self.problem.arm_codes[rows.arms, place])
        for place, variable in enumerate(self.problem.observed):
            if variable.is_number:
                values = rows.raw[:, self._coder.numbers.index(place)]
                columns[variable.name] = pl.Series(values).fill_nan(None)
            else:
                columns[variable.name] = _levels(variable, rows.codes[:, place])
        return pl.DataFrame({**columns, self.problem.target: self._rewards_told(rows)}, strict=False)

    def _rewards_told(self, rows: Rows) -> NDArray[Any] | pl.Series:
        """Rewards as reported: levels by their names."""
        reward = self.problem.reward
        if reward.kind != "levels":
            return rows.rewards
        codes = [reward.values.index(value) for value in rows.rewards.tolist()]
        return _levels(reward.variable, np.array(codes, dtype=np.int64))


def _levels(variable: Variable, codes: NDArray[np.int64]) -> pl.Series:
    """The column of a variable: one type throughout, so numbers among names become text."""
    named = any(isinstance(level, str) for level in variable.levels)
    levels = [*(str(level) if named else level for level in variable.levels), None]  # MISSING is the last
    kinds = {type(level) for level in levels[:-1]}
    kind = {frozenset({str}): pl.String, frozenset({bool}): pl.Boolean, frozenset({int}): pl.Int64}.get(
        frozenset(kinds), pl.Float64
    )
    return pl.Series([levels[code] for code in codes], dtype=kind, strict=False)
