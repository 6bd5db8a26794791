"""Events: what happened to a study, in order. They are only ever added, and everything else follows from them."""

from typing import Any, Literal, NamedTuple, get_args

Kind = Literal[
    "created",
    "asked",
    "told",
    "abandoned",
    "expired",
    "arms",
    "imported",
    "annotated",
    "closed",
    "counted",
    "corrected",
    "excluded",
    "included",
    "finished",
]
KINDS: frozenset[str] = frozenset(get_args(Kind))


class Event(NamedTuple):
    """One event; `seq` counts from 1 without gaps, and its order is the order in which everything is counted."""

    seq: int
    kind: Kind
    time: float
    """Seconds since 1970, UTC, by the clock of the process that wrote it. It decides expiry and windows alone."""
    body: dict[str, Any]
    digest: bytes = b""
    """What stands for it and all events before it, once it is stored."""
