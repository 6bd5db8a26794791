"""Pending rows, stored compactly until their reward arrives."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..problem import Problem
from .coding import Coder, Rows

COLUMNS = ("numbers", "arms", "codes", "raw")


class WaitingRows:
    """Coded rows without a reward, by number; numbers count up from 0 and are never used again.

    A row takes 13 bytes, 2 per observed variable and 8 per variable that is a number; memory is reserved for up to
    twice as many rows as are pending.

    >>> waiting = WaitingRows(Problem("Y", {"A": 2}, {"I": 2}))
    >>> waiting.add(Rows(np.array([1, 0]), np.array([[1], [0]]), np.zeros(2), np.empty((2, 0)))).tolist()
    [0, 1]
    >>> waiting.take(np.array([0])).arms.tolist(), len(waiting)
    ([1], 1)
    """

    def __init__(self, problem: Problem) -> None:
        coder = Coder(problem)
        self._reward_type = coder.reward_type
        self.made = 0
        """How many rows were ever added."""
        self._end, self._gone = 0, 0
        self._numbers = np.empty(0, dtype=np.int64)
        self._arms = np.empty(0, dtype=np.int32)
        self._codes = np.empty((0, len(problem.observed)), dtype=np.int16)
        self._raw = np.empty((0, len(coder.numbers)), dtype=np.float64)
        self._left = np.empty(0, dtype=np.bool_)

    def __len__(self) -> int:
        return self._end - self._gone

    @property
    def nbytes(self) -> int:
        """Memory of all rows."""
        return sum(array.nbytes for array in (self._numbers, self._arms, self._codes, self._raw, self._left))

    def add(self, rows: Rows) -> NDArray[np.int64]:
        """Add rows, ignoring their rewards; returns their numbers."""
        count = len(rows.arms)
        self._reserve(count)
        part = slice(self._end, self._end + count)
        numbers = np.array([self.made]) if count == 1 else np.arange(self.made, self.made + count)
        self._numbers[part], self._arms[part], self._codes[part] = numbers, rows.arms, rows.codes
        self._raw[part], self._left[part] = rows.raw, True
        self._end += count
        self.made += count
        return numbers

    def has(self, number: int) -> bool:
        """Whether a row still waits."""
        index = int(np.searchsorted(self._numbers[: self._end], number))
        return index < self._end and bool(self._numbers[index] == number and self._left[index])

    def rows(self, numbers: NDArray[np.int64]) -> Rows:
        """Rows that wait, by number; their rewards are 0."""
        return self._at(np.searchsorted(self._numbers[: self._end], numbers))

    def take(self, numbers: NDArray[np.int64]) -> Rows:
        """Return and remove rows."""
        places = np.searchsorted(self._numbers[: self._end], numbers)
        found = self._at(places)
        self._left[places] = False
        self._gone += len(places)
        if self._gone > max(32, self._end // 2):
            self._tidy(self._end - self._gone)
        return found

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The numbers of all pending rows, oldest first."""
        return self._numbers[: self._end][self._left[: self._end]]

    @property
    def all(self) -> Rows:
        """All rows that wait."""
        return self._at(np.flatnonzero(self._left[: self._end]))

    def recode(self, codes: NDArray[np.int64]) -> None:
        """Set new level numbers of all pending rows, after cut points were learned."""
        self._codes[np.flatnonzero(self._left[: self._end])] = codes

    def _at(self, places: NDArray[np.int64]) -> Rows:
        rewards: NDArray[Any] = np.zeros(len(places), dtype=self._reward_type)
        arms, codes = self._arms[places].astype(np.int64), self._codes[places].astype(np.int64)
        return Rows(arms, codes, rewards, self._raw[places])

    def _reserve(self, count: int) -> None:
        if self._end + count > len(self._numbers):
            self._tidy(max(64, 2 * (len(self) + count)))

    def _tidy(self, capacity: int) -> None:
        """Compact the pending rows, with memory for `capacity`."""
        kept = np.flatnonzero(self._left[: self._end])
        for name in ("_numbers", "_arms", "_codes", "_raw", "_left"):
            old = getattr(self, name)
            new = np.empty((max(capacity, len(kept)), *old.shape[1:]), dtype=old.dtype)
            new[: len(kept)] = old[kept]
            setattr(self, name, new)
        self._end, self._gone = len(kept), 0

    # Saving

    def packed(self) -> dict[str, NDArray[Any]]:
        """All pending rows, by the names of the arrays in save files."""
        kept = np.flatnonzero(self._left[: self._end])
        return {f"waiting_{name}": getattr(self, f"_{name}")[kept] for name in COLUMNS}

    def fill(self, rows: Rows, numbers: NDArray[np.int64], made: int) -> None:
        """Read back what `packed` gave, after the rows were checked; a ValueError where numbers do not fit."""
        ordered = numbers.ndim == 1 and len(numbers) == len(rows.arms) and bool(np.all(np.diff(numbers) > 0))
        if not ordered or numbers.dtype.kind != "i" or np.any(numbers < 0) or np.any(numbers >= made):
            raise ValueError("its pending rows have invalid numbers")
        self.add(rows)
        self._numbers[: self._end] = numbers
        self.made = made
