"""Progress of long work: bars with the time left on a terminal, a line now and then elsewhere."""

import contextlib
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from ..markup import printable

Tell = Callable[[str, int, int], None]
"""Called with (what, parts done, all parts)."""


@contextlib.contextmanager
def progress(console: Console) -> Iterator[Tell]:
    """Gives a function to call as parts get done; with several things to do there is a bar for all of them."""
    if not console.is_terminal:
        yield _lines(console)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("elapsed"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        yield _Bars(bars).tell


class _Bars:
    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}
        self._done: dict[str, tuple[int, int]] = {}
        self._overall: TaskID | None = None

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
