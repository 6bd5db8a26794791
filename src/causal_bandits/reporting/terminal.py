"""Tables and progress on a terminal: no name is cut, and escape sequences in names have no effect."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from rich.box import SIMPLE
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from ..core.markup import printable
from ..libraries import later
from .sheets import Sheet

if TYPE_CHECKING:
    from rich import progress as bar
else:
    bar = later("rich.progress")

SHOWN_ROWS = 12
"""Of a long table."""


def written(text: str, style: str = "") -> Text:
    """Literal text: brackets and colons are neither markup nor emoji; escape sequences are spelled out."""
    return Text(printable(text, keep="\n"), style=style)


class PlainConsole(Console):
    """A console that prints text literally; escape sequences in it have no effect."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, with escape sequences spelled out."""
        shown = (printable(each, keep="\n\t") if isinstance(each, str) else each for each in objects)
        super().print(*shown, **options)


def fitted(whole: Sequence[int], words: Sequence[int], room: int) -> list[int]:
    """Widths of columns, from the widths of their cells and of their longest words. Words stay whole and narrow columns
    stay on one line if they fit; otherwise the widest columns are wrapped.

    >>> fitted([5, 30, 40], [5, 10, 12], 90)
    [5, 30, 40]
    >>> fitted([5, 30, 40], [5, 10, 12], 50)
    [5, 30, 15]
    >>> fitted([5, 30, 40], [5, 10, 12], 20)
    [5, 7, 8]
    """
    widths = list(words)
    while sum(widths) > max(room, len(widths)):
        widest = max(range(len(widths)), key=widths.__getitem__)
        widths[widest] -= 1
    for place in sorted(range(len(widths)), key=lambda place: whole[place] - words[place]):
        widths[place] += max(min(whole[place] - widths[place], room - sum(widths)), 0)
    return widths


class FittedTable:
    """A table that is laid out when it is printed, for the current width."""

    def __init__(self, title: str, columns: Sequence[str], *, numbers: Sequence[int], caption: str = "") -> None:
        self._title, self._caption = printable(title), caption
        self._columns = tuple(map(printable, columns))
        self._numbers = frozenset(numbers)
        self._rows: list[tuple[str, ...]] = []
        self._heads: set[int] = set()

    def add_row(self, *cells: str, head: bool = False) -> None:
        """One more row; a head is a row in bold above others."""
        if head:
            self._heads.add(len(self._rows))
        self._rows.append(tuple(map(printable, cells)) + ("",) * (len(self._columns) - len(cells)))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """What rich prints."""
        yield self._laid_out(options.max_width)

    def _laid_out(self, width: int) -> Table:
        table = Table(
            title=written(self._title),
            title_justify="left",
            title_style="bold",
            caption=written(self._caption) if self._caption else None,
            caption_justify="left",
            box=SIMPLE,
            pad_edge=False,
            collapse_padding=True,
        )
        cells = [[name, *(row[place] for row in self._rows)] for place, name in enumerate(self._columns)]
        whole = [max(map(cell_len, column)) for column in cells]
        words = [max(cell_len(word) for cell in column for word in cell.split() or [""]) for column in cells]
        between = 2 * len(cells)  # the edges, and a line and a space between two columns
        for place, wide in enumerate(fitted(whole, words, width - between)):
            side: Literal["left", "right"] = "right" if place in self._numbers else "left"
            table.add_column(written(self._columns[place]), justify=side, width=wide, overflow="fold")
        for number, row in enumerate(self._rows):
            if number in self._heads:
                table.add_section()
            table.add_row(*map(written, row), style="bold" if number in self._heads else "")
        return table


def terminal_table(sheet: Sheet) -> FittedTable:
    """A sheet for the terminal; long ones are cut if kept elsewhere, groups have a line instead of a column."""
    cut = bool(sheet.kept_in) and len(sheet.rows) > 3 * SHOWN_ROWS
    caption = sheet.caption
    if cut:
        caption += f"\nthe first {SHOWN_ROWS} of {len(sheet.rows)} rows; all are in {sheet.kept_in}"
    first = 1 if sheet.grouped else 0
    numbers = [place - first for place in sheet.numbers]
    table = FittedTable(sheet.title, sheet.columns[first:], numbers=numbers, caption=caption)
    shown = sheet.rows[:SHOWN_ROWS] if cut else sheet.rows
    for group, rows in groupby(shown, lambda row: row[0] if sheet.grouped else ""):
        if group:
            table.add_row(group, head=True)
        for row in rows:
            table.add_row(*row[first:])
    return table


# Progress of long work: bars with the time left on a terminal, otherwise occasional lines


Tell = Callable[[str, int, int], None]
"""Called with (what, parts done, all parts)."""


@contextlib.contextmanager
def progress(console: Console) -> Iterator[Tell]:
    """Yields a function to call when parts are done; several tasks share one bar."""
    if not console.is_terminal:
        yield _lines(console)
        return
    columns = (
        bar.TextColumn("{task.description}", markup=False),
        bar.BarColumn(),
        bar.MofNCompleteColumn(),
        bar.TextColumn("elapsed"),
        bar.TimeElapsedColumn(),
        bar.TextColumn("left"),
        bar.TimeRemainingColumn(elapsed_when_finished=False),
    )
    with bar.Progress(*columns, console=console, transient=True) as bars:
        yield _Bars(bars).tell


class _Bars:
    def __init__(self, bars: bar.Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, bar.TaskID] = {}
        self._done: dict[str, tuple[int, int]] = {}
        self._overall: bar.TaskID | None = None

    def tell(self, what: str, done: int, of: int) -> None:
        """One more part done."""
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(printable(what), total=of, start=False)
            if len(self._tasks) == 2:
                self._overall = self._bars.add_task("all")
        if done:
            self._bars.start_task(self._tasks[what])
        self._done[what] = (done, of)
        self._bars.update(self._tasks[what], completed=done, total=of)
        if self._overall is not None:
            everything = [sum(each) for each in zip(*self._done.values(), strict=True)]
            self._bars.update(self._overall, completed=everything[0], total=everything[1])


def _lines(console: Console) -> Tell:
    said: dict[str, int] = {}

    def tell(what: str, done: int, of: int) -> None:
        tenth = 10 * done // max(of, 1)
        if done and tenth > said.get(what, 0):
            said[what] = tenth
            console.print(f"{printable(what)}: {done} of {of} done", highlight=False, markup=False)

    return tell
