"""Modes: what a study promises while many processes use it at once.

A transactional study (the default) orders everything: each decision knows every outcome that was acknowledged before
it. In high-throughput mode a study decides from a snapshot in memory and counts what was appended a moment later, many
rows at once.
"""

from typing import Any

from ...errors import OptionError, brief

TRANSACTIONAL, HIGH_THROUGHPUT = "transactional", "high-throughput"
SECONDS = 1.0
"""A snapshot is published when the oldest of the rows that wait for it has waited for this long."""


def check_mode(plain: dict[str, Any]) -> None:
    """Reject what only high-throughput mode has, and what it cannot promise; the default mode is not stored."""
    if plain.get("mode") == HIGH_THROUGHPUT:
        if "reward_window" in plain:
            raise OptionError(
                f"reward_window={plain['reward_window']:g}: there are no reward windows in high-throughput mode, which "
                "may acknowledge a reward before it knows that the window has closed; leave the window out, or use "
                "mode='transactional'"
            )
        return
    for name in ("publish_rows", "publish_seconds"):
        if name in plain:
            raise OptionError(
                f"{name}={brief(plain[name])} needs high-throughput mode; pass mode='high-throughput' too"
            )
    plain.pop("mode", None)


def check_engine(mode: str | None, backend: str, place: str) -> None:
    """Reject high-throughput mode in a storage that cannot have it."""
    if mode is not None and backend != "postgresql":
        raise OptionError(
            f"mode='high-throughput' needs PostgreSQL, and storage {place} is {backend}; "
            "use a postgresql:// storage, or leave mode out"
        )
