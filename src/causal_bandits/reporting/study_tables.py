"""Arms and sets as tables for the terminal, from plain values alone."""

from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from .plain_pages import number
from .study_page import braces, evidence_of

Values = dict[str, Any]


def arms_table(arms: list[Values]) -> Table:
    """The arms, the best first: mean, interval, its width with and without sharing, own and borrowed rows."""
    shown = Table(title="Arms, the best first", title_justify="left", title_style="bold", box=SIMPLE)
    shown.add_column("arm")
    for name in ("mean", "interval", "width", "width alone"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("through")
    for name in ("own rows", "borrowed"):
        shown.add_column(name, justify="right", no_wrap=True)
    for row in arms:
        status = "" if row.get("status", "played") == "played" else f" ({row['status']})"
        shown.add_row(
            row["arm"] + status,
            number(row["mean"]),
            f"{number(row['low'])} – {number(row['high'])}",
            number(row["width"]),
            number(row["without_sharing"]["width"]),
            braces(row["through"]),
            f"{row['own_rows']:,}",
            f"{row['borrowed_rows']:,.0f}",
        )
    return shown


def sets_table(sets: list[Values]) -> Table:
    """Every set that was looked at, accepted ones first, with its evidence."""
    shown = Table(title="Separating sets", title_justify="left", title_style="bold", box=SIMPLE)
    for name in ("set", "", "separates", "evidence"):
        shown.add_column(name)
    shown.add_column("rows", justify="right", no_wrap=True)
    for found in sorted(sets, key=lambda each: not each["accepted"]):
        state = "accepted" if found["accepted"] else "rejected"
        if found["alarm"]:
            state = "no longer holds"
        separated = ", ".join(found["separated"]) or "–"
        shown.add_row(braces(found["variables"]), state, separated, evidence_of(found), f"{found['rows']:,}")
    return shown
