"""Rows to read one by one or as a whole."""

from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

R = TypeVar("R")


class Listed(Sequence[R]):
    """Rows that stay as they are.

    Args:
        rows: The rows.
    """

    def __init__(self, rows: Sequence[R]) -> None:
        self._rows = tuple(rows)

    @overload
    def __getitem__(self, place: int) -> R: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[R]: ...
    def __getitem__(self, place: int | slice) -> R | Sequence[R]:
        return self._rows[place]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[R]:
        return iter(self._rows)
