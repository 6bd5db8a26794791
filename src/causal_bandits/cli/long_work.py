"""Work that takes long: bars while it runs, and a word when it is stopped."""

from collections.abc import Callable

import typer
from rich.console import Console

from ..experiments import Reproduced, Told
from ..reporting import progress


def run_long(terminal: Console, work: Callable[[Told], list[Reproduced]]) -> list[Reproduced]:
    """Run it with progress on the terminal, and warnings and the last word on standard error."""
    errors = Console(stderr=True)
    try:
        with progress(terminal) as done:
            return work(Told(done, lambda text: errors.print(text, style="yellow", highlight=False, soft_wrap=True)))
    except KeyboardInterrupt:
        errors.print("Stopped. Finished work is kept; the same command goes on from there.")
        raise typer.Exit(130) from None


def show_places(terminal: Console, each: Reproduced) -> None:
    """Where a figure is."""
    terminal.print(f"Figure: {each.folder / 'figure.png'}", highlight=False, soft_wrap=True)
