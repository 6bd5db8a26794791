"""What all commands share: the program, its consoles, and how errors end it."""

import sys
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
        Console().print(f"causal-bandits {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Causal bandits without prior knowledge."""


def console(*, quiet: bool = False) -> Console:
    """The terminal as wide as it is; a file or a pipe wide enough for a table; or one that says nothing."""
    terminal = Console(quiet=quiet)
    return terminal if terminal.is_terminal else Console(width=120, quiet=quiet)


def main() -> None:
    """Run the command line; an error on purpose is one line, not a traceback."""
    try:
        app(prog_name="causal-bandits")
    except CausalBanditsError as error:
        Console(stderr=True).print(f"Error: {error}", style="red", highlight=False, markup=False, soft_wrap=True)
        sys.exit(2)
