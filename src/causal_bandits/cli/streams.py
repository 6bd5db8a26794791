"""Standard output and error that may have another encoding, or be closed or full."""

import codecs
import contextlib
import errno
import io
import json
import os
import sys
from typing import Any, NoReturn

from ..core.markup import printable


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
