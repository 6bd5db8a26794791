"""Screen: of a large problem every set has margins, and only those that are used have a table of all arms.

Tables of all sets grow with arms x sets; margins with levels x sets, and there are few levels. A table that turns out
to be needed is counted from the rows, once, and then kept up like any other.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..compiled import Ints
from ..errors import ProblemError, whole_number
from ..problem import Problem
from .history import History
from .margins import count_lines, empty_margins, levels_of, margin_bytes, member_table
from .subsets import LIMIT_BYTES, fitting_size, gib
from .tables import CountTables, TableLayout, empty_tables, is_small

SCREENED_SETS = 2**13
SCREENED_BYTES = 16 * 2**20
"""All margins are read in one discovery, and each set is counted in every row: these keep both under 20 ms or so."""
LARGEST_TABLE = 2**19
"""Cells of the largest single table: a round may draw twice for each of them."""


@dataclass(frozen=True)
class ScreenedLayout(TableLayout):
    """The same sets, of which only those that are used have a table.

    >>> layout = ScreenedLayout(Problem("Y", {f"X{n}": 2 for n in range(30)}, {f"I{n}": 3 for n in range(8)}), 3)
    >>> round(layout.nbytes / 2**20, 1), round(TableLayout(layout.problem, 3).nbytes / 2**20, 1)
    (6.3, 1716.0)
    """

    @property
    def nbytes(self) -> int:
        """Memory of the margins, and of each arm's own rewards."""
        return margin_bytes(self) + TableLayout(self.problem, 0).nbytes

    def empty(self, places: Ints | None = None) -> CountTables:
        """Tables that have counted nothing yet: of the empty set alone, or of some."""
        return super().empty(np.zeros(1, dtype=np.int64) if places is None else places)

    @classmethod
    def of(cls, problem: Problem, max_size: int | None = None) -> "ScreenedLayout":
        """The layout for a problem; without `max_size` the largest that stays fast."""
        TableLayout.of(problem, 0)  # refuses what cannot be counted
        observed = len(problem.observed)
        if max_size is None:
            return next(each for size in range(observed, -1, -1) if (each := cls(problem, size)).is_fast)
        layout = cls(problem, min(whole_number("max_size", max_size, 0), observed))
        if layout.nbytes > LIMIT_BYTES:
            fits = fitting_size(problem, cls)
            raise ProblemError(f"margins of all sets up to {max_size} variables take {gib(layout.nbytes)}; {fits}")
        return layout

    @property
    def is_fast(self) -> bool:
        """Whether there are few margins and sets to read, and few cells to draw from."""
        sizes = sorted((variable.size for variable in self.problem.observed), reverse=True)[: self.max_size]
        cells = len(self.problem.arms) * math.prod(sizes)
        small = margin_bytes(self) <= SCREENED_BYTES and self.count <= SCREENED_SETS
        return self.max_size == 0 or (small and cells <= LARGEST_TABLE)


def layout_for(problem: Problem, max_size: int | None, *, screens: bool) -> TableLayout:
    """Tables of all sets where these are small; otherwise a screen, if the discovery `screens` and it is smaller."""
    if not screens or len(problem.arms) <= sum(lever.size for lever in problem.interventions):
        return TableLayout.of(problem, max_size)
    screened = ScreenedLayout.of(problem, max_size)
    sizes = range(len(problem.observed) + 1) if max_size is None else [screened.max_size]
    small = [whole for size in sizes if is_small(whole := TableLayout(problem, size), SCREENED_BYTES)]
    return small[-1] if small and small[-1].max_size >= screened.max_size else screened


class Screen:
    """What a discovery reads of a large problem: margins of all sets, and tables of those that it asks for."""

    def __init__(self, layout: ScreenedLayout, history: History) -> None:
        self.layout = layout
        self._history = history
        self._margins: CountTables | None = None
        self._counted = 0
        self._members = member_table(layout)
        self._levels = levels_of(layout.problem).of_arm
        self.kept = layout.empty()
        """The tables in use, which learn every row; the first is that of the empty set."""

    @property
    def margins(self) -> CountTables:
        """The margins of all rows."""
        if self._margins is None:
            self._margins = empty_margins(self.layout)
        self.count()
        return self._margins

    def count(self) -> None:
        """Count the rows that are new, if margins were ever asked for."""
        if self._margins is not None and self._counted < len(self._history):
            rows = self._history.since(self._counted)
            levels = np.ascontiguousarray(self._levels[rows.arms].T)
            count_lines(self._margins, self._members, levels, np.ascontiguousarray(rows.codes.T), rows.rewards)
            self._counted = len(self._history)

    def rows_seen(self) -> Ints:
        """For each set how many rows have a value for all its variables."""
        margins, levers = self.margins, len(self.layout.problem.interventions)
        return np.add.reduceat(margins.counts, margins.starts, dtype=np.int64) // levers

    def check(self, places: Iterable[int]) -> None:
        """Refuse sets whose tables do not fit together, before they are taken."""
        observed, sets = self.layout.problem.observed, [self.layout.members[place] for place in places]
        cells = sum(math.prod(observed[member].size for member in members) for members in sets)
        size = cells * len(self.layout.problem.arms) * 16  # a table, and what is pooled
        if size > LIMIT_BYTES:
            raise ProblemError(
                f"tables of {len(sets)} sets with {cells} joint values take {gib(size)}; share through smaller sets, "
                "observe fewer levels, or list the arms that can be pulled with arms=[...]"
            )

    def tables(self, places: Ints) -> CountTables:
        """Tables of the empty set and of some others, with all rows."""
        wanted = np.union1d([0], places).astype(np.int64)
        arms = len(self.layout.problem.arms)
        fresh = int(self.kept.counts[: 2 * arms].sum()) == len(self._history)  # they may have been made for a look
        if fresh and np.array_equal(wanted, self.kept.sets):
            return self.kept
        known = np.isin(wanted, self.kept.sets) & fresh
        tables = self.layout.empty(wanted)
        _copy(self.kept, tables, wanted[known])
        if not known.all():
            lacking = empty_tables(self.layout, wanted[~known], arms)
            rows = self._history.rows
            columns = np.ascontiguousarray(rows.codes.T)
            count_lines(lacking, self._members[lacking.sets], rows.arms[None], columns, rows.rewards)
            _copy(lacking, tables, wanted[~known])
        self.kept = tables
        return tables


def _copy(source: CountTables, sink: CountTables, sets: Ints) -> None:
    """Copy the tables of some sets."""
    ends = np.append(source.starts, len(source.counts))
    for place in sets:
        one, other = np.searchsorted(source.sets, place), np.searchsorted(sink.sets, place)
        counts = source.counts[ends[one] : ends[one + 1]]
        sink.counts[sink.starts[other] : sink.starts[other] + len(counts)] = counts
