"""Tables and progress on a terminal: no name is cut, and escape sequences in names have no effect."""

from __future__ import annotations

import contextlib
import threading
import time
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


class TerminalTable:
    """A sheet for the terminal, laid out when it is printed, for the current width.

    Groups have a line in bold instead of a column.
    """

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """What rich prints."""
        sheet, first = self._sheet, 1 if self._sheet.grouped else 0
        table = Table(
            title=written(printable(sheet.title)),
            title_justify="left",
            title_style="bold",
            caption=written(sheet.caption) if sheet.caption else None,
            caption_justify="left",
            box=SIMPLE,
            pad_edge=False,
            collapse_padding=True,
        )
        rows: list[tuple[tuple[str, ...], bool]] = []
        """The cells of each line, and whether it is the head of a group."""
        for group, members in groupby(sheet.rows, lambda row: row[:first]):
            rows += [(group, True)] * any(group)
            rows += [(row[first:], False) for row in members]
        names = [printable(name) for name in sheet.columns[first:]]
        lines = [([*map(printable, row)] + [""] * (len(names) - len(row)), head) for row, head in rows]
        cells = [[name, *(line[place] for line, _ in lines)] for place, name in enumerate(names)]
        whole = [max(map(cell_len, column)) for column in cells]
        words = [max(cell_len(word) for cell in column for word in cell.split() or [""]) for column in cells]
        between = 2 * len(cells)  # the edges, and a line and a space between two columns
        for place, wide in enumerate(fitted(whole, words, options.max_width - between)):
            side: Literal["left", "right"] = "right" if place + first in sheet.numbers else "left"
            table.add_column(written(names[place]), justify=side, width=wide, overflow="fold")
        for line, head in lines:
            if head:
                table.add_section()
            table.add_row(*map(written, line), style="bold" if head else "")
        yield table


# Progress of long work: bars with the time left on a terminal, otherwise occasional lines


Tell = Callable[[str, int, int], None]
"""Called with (what, parts done, all parts)."""
ALL = ""
"""What stands for all tasks together; no task has this name."""


@contextlib.contextmanager
def progress(console: Console, after: float = 0.0) -> Iterator[Tell]:
    """Yields a function to call when parts are done; nothing is shown in the first seconds."""
    if not console.is_terminal:
        yield _lines(console, time.monotonic() + after)
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
    bars = bar.Progress(*columns, console=console, transient=True)
    tasks: dict[str, bar.TaskID] = {}
    parts: dict[str, tuple[int, int]] = {}

    def tell(what: str, done: int, of: int) -> None:
        if what not in tasks:
            tasks[what] = bars.add_task(printable(what), total=of, start=False)
            if len(tasks) == 2:
                tasks[ALL] = bars.add_task("all")
        if done:
            bars.start_task(tasks[what])
        parts[what] = (done, of)
        bars.update(tasks[what], completed=done, total=of)
        if ALL in tasks:
            everything = [sum(each) for each in zip(*parts.values(), strict=True)]
            bars.update(tasks[ALL], completed=everything[0], total=everything[1])

    start = threading.Timer(after, bars.start)
    start.daemon = True
    start.start()
    try:
        yield tell
    finally:
        start.cancel()
        start.join()
        bars.stop()


def _lines(console: Console, since: float) -> Tell:
    said: dict[str, int] = {}

    def tell(what: str, done: int, of: int) -> None:
        tenth = 10 * done // max(of, 1)
        if done and tenth > said.get(what, 0) and time.monotonic() >= since:
            said[what] = tenth
            console.print(f"{printable(what)}: {done} of {of} done", highlight=False, markup=False)

    return tell
