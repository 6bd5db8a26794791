"""Consistency: what a study promises while many processes use it at once.

A strict study (the default) orders everything: each decision knows every outcome that was acknowledged before it. A
served study decides from a snapshot in memory and counts what was appended a moment later, many rows at once.
"""

import math
from typing import Any

from ..doors import is_number
from ..errors import OptionError, brief, whole_number

STRICT, SERVED = "strict", "served"
SECONDS = 1.0
"""A snapshot is published when the oldest of the rows that wait for it has waited for so long, however few they are."""
MOST_ROWS = 1_000_000


def make_consistency(mode: object, rows: object, seconds: object) -> dict[str, Any] | None:
    """What the settings keep of it, checked; None for a strict study.

    >>> make_consistency("served", None, 0.5)
    {'rows': None, 'seconds': 0.5}
    """
    if mode is not None and (not isinstance(mode, str) or mode not in (STRICT, SERVED)):
        raise OptionError(f"consistency={brief(mode)}; expected 'strict' (the default) or 'served'")
    if mode != SERVED:
        for name, given in (("publish_rows", rows), ("publish_seconds", seconds)):
            if given is not None:
                raise OptionError(f"{name}={brief(given)} is for served studies; pass consistency='served' with it")
        return None
    if seconds is not None and not (is_number(seconds) and 0 < float(seconds) < math.inf):  # type: ignore[arg-type]
        raise OptionError(f"publish_seconds={brief(seconds)}; expected a number of seconds above 0")
    return {
        "rows": None if rows is None else whole_number("publish_rows", rows, 1, MOST_ROWS),
        "seconds": SECONDS if seconds is None else float(seconds),  # type: ignore[arg-type]
    }


def check_served(consistency: dict[str, Any] | None, window: float | None) -> None:
    """Refuse what a served study cannot promise."""
    if consistency is not None and window is not None:
        raise OptionError(
            f"reward_window={window:g}: a served study has no reward windows, since it may acknowledge a reward before "
            "it knows that the window has closed; leave the window out, or use consistency='strict'"
        )


def check_engine(consistency: dict[str, Any] | None, backend: str, place: str) -> None:
    """Refuse a served study in a storage that cannot have one."""
    if consistency is not None and backend != "postgresql":
        raise OptionError(
            f"consistency='served' needs PostgreSQL, and storage {place} is {backend}; "
            "use a postgresql:// storage, or leave consistency out"
        )
