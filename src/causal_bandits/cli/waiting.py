"""Progress of a command that is usually quick; shown after the first second."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from .root import console

SHOWN_AFTER = 1.0
"""Seconds."""
BETWEEN = 2.0
"""Seconds between two lines without a terminal."""


@contextlib.contextmanager
def waiting() -> Iterator[Callable[[str, int, int], None]]:
    """Gives a function to call with (what, parts done, all parts); it shows them on standard error."""
    errors = console(errors=True)
    shown = errors.status("starting")
    begun = said = time.monotonic()

    def tell(what: str, done: int, of: int) -> None:
        nonlocal said
        share = f" ({done / of:.0%})" if of > 1 else ""
        shown.update(f"{what}{share}")
        now = time.monotonic()
        if not errors.is_terminal and now - begun > SHOWN_AFTER and now - said > BETWEEN:
            said = now
            errors.print(f"{what}{share}", soft_wrap=True)

    start = threading.Timer(SHOWN_AFTER, shown.start if errors.is_terminal else lambda: None)
    start.daemon = True
    start.start()
    try:
        yield tell
    finally:
        start.cancel()
        shown.stop()
