"""The figures and rows of the page of sets."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...markup import Markup, braces, markup, weight_words
from ...policies.overview import SetRow
from ...reporting import charts
from ...reporting.axes import PLAIN, RATE, Axis, counts_axis
from ...reporting.charts import Series
from ...reporting.page_figures import evidence_values
from ...reporting.study_sheets import evidence_of, state_of
from .figures import SHARES, soft
from .naming import short
from .sentences import chance_words
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
    """The levers it separates; the probability that it separates them all, where that was learnt."""
    evidence: str
    """The tests; the weight, where that was learnt."""
    rows: int
    drift: str
    alarm: bool


def are_averaged(view: View) -> bool:
    """Whether sets have probabilities and weights."""
    return any(found["probability"] is not None for found in view.about["sets"])


def set_lines(view: View) -> list[SetLine]:
    """Every set that was looked at, those in use first."""
    kept = [found for found in view.about["sets"] if found["variables"] or found["probability"] is None]
    ordered = sorted(kept, key=lambda found: (not found["accepted"], -(found["probability"] or 0.0)))
    return [_line(found) for found in ordered]


def _line(found: SetRow) -> SetLine:
    drift = {None: "–", True: f"no longer holds, seen at row {found['alarm_row'] or 0:,}", False: "holds"}[
        found["alarm"]
    ]
    separated, evidence = ", ".join(found["separated"]) or "–", evidence_of(found)
    if found["probability"] is not None:
        separated, evidence = chance_words(found["probability"]), weight_words(found["weight"] or 0.0)
    return SetLine(
        short(braces(found["variables"])),
        state_of(found),
        short(separated),
        short(evidence, 200),
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
        Series(short(braces(each["variables"]), 40), f"c{place}", evidence_values(each, learnt=learnt, by_nats=by_nats))
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
