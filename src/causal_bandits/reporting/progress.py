"""Progress of long work: a bar with the time left on a terminal, a line now and then elsewhere."""

import contextlib
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


@contextlib.contextmanager
def progress(console: Console, what: str) -> Iterator[Callable[[int, int], None]]:
    """Gives a function to call with (done, all)."""
    if not console.is_terminal:
        yield _lines(console, what)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("elapsed"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


def _lines(console: Console, what: str) -> Callable[[int, int], None]:
    said = -1

    def tell(done: int, of: int) -> None:
        nonlocal said
        tenth = 10 * done // max(of, 1)
        if tenth > said:
            said = tenth
            console.print(f"{what}: {done} of {of} done", highlight=False)

    return tell
