"""What all commands share: the program, its consoles, and how errors end it."""

import csv
import sys
import warnings
from typing import Annotated

import typer
from rich.console import Console

from .. import __version__
from ..errors import CausalBanditsError

app = typer.Typer(
    name="causal-bandits",
    help="Causal bandits without prior knowledge: discover separating sets while playing, share what every arm learns.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        console().print(f"causal-bandits {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Causal bandits without prior knowledge."""


def console(*, quiet: bool = False, errors: bool = False) -> Console:
    """The terminal as wide as it is; a file or a pipe wide enough for a table; or one that says nothing.

    Text is printed as it is: a name may hold [brackets] and :colons:.
    """
    terminal = Console(quiet=quiet, stderr=errors, markup=False, emoji=False, highlight=False)
    if not terminal.is_terminal and not errors:
        terminal.width = 120
    return terminal


def names_in(text: str) -> list[str]:
    """Names with commas between them; one that holds a comma stands in double quotes.

    >>> names_in('banner, "price, EUR"')
    ['banner', 'price, EUR']
    """
    rows = csv.reader([text], skipinitialspace=True)
    return [name.strip() for row in rows for name in row if name.strip()]


def _show_warning(message: Warning | str, *place: object, **more: object) -> None:
    """One line on standard error, without the place in the source."""
    console(errors=True).print(f"Warning: {message}", style="yellow", soft_wrap=True)


def main() -> None:
    """Run the command line; an error on purpose is one line, not a traceback, and so is a warning."""
    warnings.showwarning = _show_warning
    try:
        app(prog_name="causal-bandits")
    except CausalBanditsError as error:
        console(errors=True).print(f"Error: {error}", style="red", soft_wrap=True)
        sys.exit(2)
