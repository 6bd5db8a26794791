"""Shared by all commands: the program, its consoles, and error handling."""

import contextlib
import csv
import io
import sys
import warnings
from contextlib import AbstractContextManager
from typing import Annotated, Any

import typer
from rich.console import Console

from .._version import __version__
from ..core.logs import log_to_stderr
from ..core.secrecy import without_secrets
from ..errors import CausalBanditsError, OptionError, brief
from ..product.options import LOG_LEVEL, unknown_option
from .deferred import terminals
from .streams import failed, finish, prepare

UsageErrors = typer.BadParameter.__mro__[1:3]
"""What the parser raises for an unknown command; typer has no public name for it."""

app = typer.Typer(
    name="causal-bandits",
    help="Run adaptive experiments and analyze logged ones; no causal graph needed.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
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
    log_level: Annotated[
        str, typer.Option(envvar="CAUSAL_BANDITS_LOG_LEVEL", metavar=LOG_LEVEL.metavar, help="Lowest level to log.")
    ] = "warning",
) -> None:
    """Run adaptive experiments and analyze logged ones."""
    log_to_stderr(LOG_LEVEL.check("log_level", log_level))


def console(*, quiet: bool = False, errors: bool = False) -> Console:
    """A console: as wide as the terminal, 120 columns for a file or a pipe, silent if `quiet`.

    Text is printed literally: names may contain [brackets], :colons: and escape sequences.
    """
    terminal = terminals.PlainConsole(quiet=quiet, stderr=errors, markup=False, emoji=False, highlight=False)
    if not terminal.is_terminal and not errors:
        terminal.width = 120
    return terminal


def waiting() -> "AbstractContextManager[terminals.Tell]":
    """Progress on standard error, of work that takes longer than a second."""
    return terminals.progress(console(errors=True), after=1.0)


def names_in(text: str) -> list[str]:
    """Names separated by commas; quote a name that contains one.

    >>> names_in('banner, "price, EUR"')
    ['banner', 'price, EUR']
    """
    try:
        rows = list(csv.reader(io.StringIO(text), skipinitialspace=True))
    except csv.Error:
        raise OptionError(f"{brief(text)} is not a list of names; expected names separated by commas") from None
    return [name.strip() for row in rows for name in row if name.strip()]


def _show_warning(message: Warning | str, *place: object, **more: object) -> None:
    """One line on standard error, without the source location."""
    console(errors=True).print(f"Warning: {message}", style="yellow", soft_wrap=True)


def main() -> None:
    """Run the command line; an error is one line, not a traceback, and so is a warning."""
    warnings.showwarning = _show_warning
    prepare()
    try:
        code = app(prog_name="causal-bandits", standalone_mode=False)
        finish()
    except CausalBanditsError as error:
        _complain(str(error))
        code = 2
    except OSError as error:
        said, code = failed(error)
        _complain(said)
    except RecursionError:
        _complain("the input is nested too deeply; use fewer levels")
        code = 2
    except MemoryError:
        _complain("not enough memory; use a smaller problem or fewer runs")
        code = 2
    except typer.Abort:
        _complain("stopped")
        code = 1
    except Exception as error:
        if not isinstance(error, UsageErrors):
            raise
        code = _refuse(error)
    sys.exit(code if isinstance(code, int) else 0)


def _complain(text: str | None) -> None:
    if text is not None:
        with contextlib.suppress(OSError):  # standard error is full or closed too
            console(errors=True).print(f"Error: {without_secrets(text)}", style="red", soft_wrap=True)


def _refuse(error: Any) -> int:
    """Report a usage error; print the help for a command without arguments."""
    context = getattr(error, "ctx", None)
    if context is not None and type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(context.get_help(), err=True)
    else:
        _complain(_usage(error, context))
    return int(error.exit_code)


def _usage(error: Any, context: Any) -> str:
    """The message of a usage error, in the same words as in Python and HTTP."""
    if hasattr(error, "option_name") and context is not None:
        known = [flag for each in context.command.params for flag in (*each.opts, *each.secondary_opts)]
        return str(unknown_option(error.option_name, [flag for flag in known if flag.startswith("-")]))
    more = f"; see {context.command_path} --help" if context is not None else ""
    return str(error.format_message()).rstrip(".") + more
