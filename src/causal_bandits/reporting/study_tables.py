"""Arms and sets as tables for the terminal, from plain values alone."""

from typing import Any

from ..markup import braces, number
from .study_page import evidence_of, state_of
from .terminal import FittedTable

Values = dict[str, Any]


def arms_table(arms: list[Values]) -> FittedTable:
    """The arms, the best first: mean, interval, its width with and without sharing, own and borrowed rows."""
    columns = ("arm", "mean", "interval", "width", "width alone", "through", "own rows", "borrowed")
    shown = FittedTable("Arms, the best first", columns, numbers=(1, 2, 3, 4, 6, 7))
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


def sets_table(sets: list[Values]) -> FittedTable:
    """Every set that was looked at, accepted ones first, with its evidence."""
    shown = FittedTable("Separating sets", ("set", "", "separates", "evidence", "rows"), numbers=(4,))
    for found in sorted(sets, key=lambda each: not each["accepted"]):
        state = "no longer holds" if found["alarm"] else state_of(found)
        separated = ", ".join(found["separated"]) or "–"
        shown.add_row(braces(found["variables"]), state, separated, evidence_of(found), f"{found['rows']:,}")
    return shown
