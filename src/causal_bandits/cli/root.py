"""Shared by all commands: the program, its consoles and streams, flags from a model of options, and errors."""

import codecs
import contextlib
import csv
import errno
import inspect
import io
import json
import os
import sys
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from .._version import __version__
from ..core.logs import log_to_stderr
from ..core.markup import printable
from ..core.secrecy import without_secrets
from ..errors import CausalBanditsError, OptionError, brief
from ..product.options import FLAG, LOG_LEVEL, Option, options_of, unknown_option
from .deferred import terminals

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


# Standard output and error may have another encoding, or be closed or full


class _Closed(io.TextIOBase):
    """A standard output that the caller has closed: writing to it raises an error."""

    def write(self, _text: str) -> NoReturn:
        raise OSError(errno.EBADF, "it is closed")


PLAIN = str.maketrans({"–": "-", "—": "-", "…": "...", "±": "+-", "×": "x", "µ": "u"})
"""ASCII replacements of our symbols; other characters are shown as escapes."""


def _spelt(error: UnicodeError) -> tuple[str | bytes, int]:
    if isinstance(error, UnicodeEncodeError):
        plain = error.object[error.start : error.end].translate(PLAIN)
        return plain.encode("ascii", "backslashreplace").decode(), error.end
    raise error


codecs.register_error("causal_bandits.spelt", _spelt)


def prepare() -> None:
    """Characters that the terminal cannot encode are shown as escapes, and never raise an error."""
    if sys.stdout is None:
        _to_nowhere(1)
        sys.stdout = _Closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="causal_bandits.spelt")


def say(text: str) -> None:
    """Print a text; escape sequences in it have no effect."""
    sys.stdout.write(printable(text, keep="\n\t") + "\n")


def say_json(values: Any, indent: int | None = None) -> None:
    """Print JSON, in characters that the output has."""
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    text = json.dumps(values, indent=indent, ensure_ascii=not encoding.startswith("utf"))
    sys.stdout.write(printable(text, keep="\n\t") + "\n")


def finish() -> None:
    """Flush the output now, while an error can still be reported."""
    sys.stdout.flush()


def failed(error: OSError) -> tuple[str | None, int]:
    """Standard output cannot be written: the message and the exit code. It is not retried at exit."""
    with contextlib.suppress(OSError, ValueError):
        _to_nowhere(1)
    if error.errno == errno.EPIPE:  # as after `| head -1`: the reader has seen enough
        return None, 1
    return f"cannot write to standard output ({error.strerror or error}); the command itself may have completed", 1


def _to_nowhere(handle: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if nowhere != handle:
        os.dup2(nowhere, handle)
        os.close(nowhere)


# Values and flags


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


ENVIRONMENT = "CAUSAL_BANDITS_"
"""Prefix of all environment variables."""


def takes(model: Any, *, environment: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command a flag for every option of a model, and an environment variable if asked for.

    The command gets the options that were given as keywords.
    """
    options = options_of(model)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        flags = []
        for name, option in options.items():
            shown = typer.Option(
                flag_of(name, option),
                help=option.help + default_words(model, name) + (" Repeat it for several." if option.kind.many else ""),
                metavar=option.kind.metavar or None,
                envvar=f"{ENVIRONMENT}{name.upper()}" if environment else None,
                show_envvar=False,
            )
            kind: Any = bool | None if option.kind is FLAG else list[str] | None if option.kind.many else str | None
            annotation = Annotated[kind, shown]
            flags.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation))

        @wraps(command)
        def called(**given: Any) -> None:
            texts = {name: given.pop(name) for name in options}
            found = {name: text for name, text in texts.items() if text is not None and text != []}
            command(**given, **{name: _value(name, options[name], text) for name, text in found.items()})

        vars(called)["__signature__"] = signature.replace(parameters=[*own, *flags])
        return called

    return decorate


def flag_of(name: str, option: Option) -> str:
    """The flag of an option."""
    flag = option.flag or f"--{name.replace('_', '-')}"
    return f"{flag}/--no-{flag[2:]}" if option.kind is FLAG else flag


def default_words(model: Any, name: str) -> str:
    """The default of an option, where its model has one."""
    default = getattr(model, name, None)
    if isinstance(default, tuple):
        default = " ".join(default)
    return "" if default in (None, "", False) else f" [default: {default}]"


def _value(name: str, option: Option, text: Any) -> Any:
    return option.kind.from_text(name, text) if isinstance(text, str) else text


# Running


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
