"""The figures and rows of the page of sets."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...markup import Markup, braces, markup
from ...policies.overview import SetCourse, SetRow
from ...reporting import charts
from ...reporting.axes import PLAIN, RATE, Axis, counts_axis
from ...reporting.charts import Series
from ...reporting.study_sheets import evidence_of, state_of
from .figures import SHARES, soft
from .naming import short
from .views import View

MOST_SETS = 8
NATS = Axis(-10.0, 10.0, (-10.0, -5.0, 0.0, 5.0, 10.0), ("-10", "-5", "0", "5", "10"))
LOGS = Axis(-6.0, 0.0, (-6.0, -4.0, -2.0, 0.0), ("1e-6", "1e-4", "0.01", "1"))

LEARNT = (
    SHARES,
    RATE,
    (0.5, "one half"),
    "The probability that each set separates levers from the reward; above the broken line it is more likely than not.",
)
BY_NATS = (
    NATS,
    PLAIN,
    (1.0, "1 nat"),
    "Evidence for each set as logarithms of odds (nats), for the lever with the weakest; the broken line is 1.",
)
BY_TESTS = (
    LOGS,
    PLAIN,
    (math.log10(0.05), "p = 0.05"),
    "The smallest p-value of each set, on a logarithmic scale; the broken line is 0.05.",
)


class SetLine(NamedTuple):
    """A set in the table."""

    name: str
    state: str
    separated: str
    evidence: str
    rows: int
    drift: str
    alarm: bool


def set_lines(view: View) -> list[SetLine]:
    """Every set that was looked at, those in use first."""
    kept = [found for found in view.about["sets"] if found["variables"] or found["probability"] is None]
    ordered = sorted(kept, key=lambda found: (not found["accepted"], -(found["probability"] or 0.0)))
    return [_line(found) for found in ordered]


def _line(found: SetRow) -> SetLine:
    drift = {None: "–", True: f"no longer holds, seen at row {found['alarm_row'] or 0:,}", False: "holds"}[
        found["alarm"]
    ]
    return SetLine(
        short(braces(found["variables"])),
        state_of(found),
        short(", ".join(found["separated"]) or "–"),
        short(evidence_of(found), 200),
        found["rows"],
        drift,
        bool(found["alarm"]),
    )


def evidence(view: View) -> tuple[Markup, str]:
    """The evidence on each set as rows came in, and what is drawn."""
    course = view.about["evidence_over_time"]
    rows: Sequence[float] = course["rows"]
    learnt = any(chance is not None for each in course["sets"] for chance in each["probability"])
    kept = [each for each in course["sets"] if each["variables"] or not learnt][:MOST_SETS]
    by_nats = any(nats is not None for each in kept for nats in each["nats"])
    series = [
        Series(
            short(braces(each["variables"]), 40), f"c{place}", _values(each, len(rows), learnt=learnt, by_nats=by_nats)
        )
        for place, each in enumerate(kept)
    ]
    if len(rows) < 2 or not any(value is not None for each in series for value in each.values):
        return soft("Too few rows to show how the evidence came about."), ""
    y, unit, level, note = LEARNT if learnt else BY_NATS if by_nats else BY_TESTS
    x = counts_axis(rows[0], rows[-1], is_log=True)
    drawn = charts.lines(
        x,
        y,
        rows,
        series,
        unit=unit,
        names=("rows (logarithmic scale)", "row"),
        label="Evidence over time",
        level=level,
    )
    last = [next((value for value in reversed(each.values) if value is not None), None) for each in series]
    shown = [(each.colour, each.name, unit.show(value)) for each, value in zip(series, last, strict=True)]
    return markup([drawn, charts.legend([*shown, ("level-key", level[1], "")])]), note


def _values(each: SetCourse, length: int, *, learnt: bool, by_nats: bool) -> list[float | None]:
    """Of a set that was looked at from some row on, nothing is known before."""
    if learnt:
        found: list[float | None] = list(each["probability"])
    elif by_nats:
        found = [None if nats is None else min(max(nats, -10.0), 10.0) for nats in each["nats"]]
    else:
        found = [None if p is None else max(math.log10(max(p, 1e-6)), -6.0) for p in each["p_value"]]
    return [None] * (length - len(found)) + found
