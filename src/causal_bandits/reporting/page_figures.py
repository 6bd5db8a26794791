"""Figures inside the pages of a study and of an analysed table: as wide as the page, with ticks and a grid."""

import math
from collections.abc import Sequence

from ..markup import Markup, braces, markup, number, tag
from ..policies.overview import ArmRow, EvidenceCourse, IntervalRow, SetCourse
from . import charts
from .axes import PLAIN, RATE, Axis, Unit, axis_for, counts_axis, unit_for
from .charts import Series
from .described import DecisionCourse
from .html import soft
from .inline_svg import Interval
from .palette import PALETTE

EVIDENCE = "Evidence as rows came in"
MOST_ARMS, MOST_SETS = 12, len(PALETTE)
"""That are drawn; tables have all of them."""
GREY = "grey"
SHARES = Axis(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0), ("0%", "25%", "50%", "75%", "100%"))
CHANCES = Axis(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0), ("0", "0.25", "0.5", "0.75", "1"))
NATS = Axis(-10.0, 10.0, (-10.0, -5.0, 0.0, 5.0, 10.0), ("-10", "-5", "0", "5", "10"))
P_VALUES = Axis(-6.0, 0.0, (-6.0, -4.0, -2.0, 0.0), ("1e-06", "0.0001", "0.01", "1"))


def arms_figure(arms: Sequence[ArmRow]) -> Markup:
    """Every arm with its interval with sharing, under it the one of its own rows, and the control across."""
    shown = arms[:MOST_ARMS]
    both = [(_interval(row), _interval(row["without_sharing"])) for row in shown]
    known = [value for pair in both for each in pair if each is not None for value in each]
    if not known:
        return soft("No arm has enough rows for an interval yet.")
    unit = unit_for(row["mean"] for row in shown)
    axis = axis_for(known, unit)
    parts = []
    for row, (shared, alone) in zip(shown, both, strict=True):
        strip = charts.strip(axis, shared, alone, _level(arms, row), _said(row["arm"], shared, alone, unit))
        parts += [tag("bdi", row["arm"]), strip]
    figure = tag("div", *parts, tag("span"), charts.strip_axis(axis), at={"class": "strips"})
    more = f" The best {MOST_ARMS} of {len(arms)} arms." if len(arms) > MOST_ARMS else ""
    line = " Broken line: the control." if any(row.get("is_control") for row in arms) else ""
    return markup([figure, soft(f"Thick: with sharing. Thin: what the arm's own rows alone would say.{line}{more}")])


def _interval(row: IntervalRow) -> Interval | None:
    mean, low, high = row["mean"], row["low"], row["high"]
    return None if mean is None or low is None or high is None else (mean, low, high)


def _level(arms: Sequence[ArmRow], row: ArmRow) -> float | None:
    """The mean of the control, in the arm's segment where there are some."""
    same = (each for each in arms if each.get("is_control") and each.get("segment") == row.get("segment"))
    return next((each["mean"] for each in same), None)


def _said(arm: str, shared: Interval | None, alone: Interval | None, unit: Unit) -> str:
    words = [arm]
    for name, each in (("with sharing", shared), ("own rows alone", alone)):
        if each is not None:
            mean, low, high = map(unit.show, each)
            words.append(f"{name}: {mean} ({low} – {high})")
    return "\n".join(words)


def decisions_figure(course: DecisionCourse) -> Markup:
    """Which arms were chosen, over time; those that were chosen least are one grey block."""
    until, shares = course["until"], course["shares"]
    if not until or not until[-1]:
        return soft("No decision yet.")
    total = [sum(row[arm] for row in shares) for arm in range(len(course["arms"]))]
    order = sorted(range(len(total)), key=lambda arm: -total[arm])
    shown, rest = order[: len(PALETTE) - 1], order[len(PALETTE) - 1 :]
    series = [Series(course["arms"][arm], f"c{rank}", [row[arm] for row in shares]) for rank, arm in enumerate(shown)]
    if rest:
        series.append(Series(f"{len(rest)} others", GREY, [sum(row[arm] for arm in rest) for row in shares]))
    label = "Share of each arm over time"
    drawn = charts.shares(counts_axis(0, until[-1]), SHARES, until, series, unit=RATE, label=label)
    return markup([drawn, charts.legend((each.colour, each.name, "") for each in series)])


def evidence_figure(course: EvidenceCourse) -> Markup:
    """How the evidence for each set came about."""
    rows = course["rows"]
    learnt = any(chance is not None for each in course["sets"] for chance in each["probability"])
    kept = [each for each in course["sets"] if each["variables"] or not learnt]  # {} is a level to shrink to
    by_nats = any(nats is not None for each in kept[:MOST_SETS] for nats in each["nats"])
    series = [
        Series(braces(each["variables"]), f"c{place}", evidence_values(each, learnt=learnt, by_nats=by_nats))
        for place, each in enumerate(kept[:MOST_SETS])
    ]
    if len(rows) < 2 or not any(value is not None for each in series for value in each.values):
        return soft("Too few rows to show a course.")
    if learnt:
        y, level = CHANCES, (0.5, "more likely than not")
        note = "The probability that each set separates; above the broken line it is more likely than not."
    elif by_nats:
        y, level = NATS, (1.0, "1 nat")
        note = "Nats that speak for each set, of the lever for which they are fewest; the broken line is 1."
    else:
        y, level = P_VALUES, (math.log10(0.05), "0.05")
        note = "The smallest p-value of each set over the rows, on a logarithmic scale; the broken line is 0.05."
    x, names = counts_axis(0, rows[-1]), ("rows", "row")
    drawn = charts.lines(x, y, rows, series, unit=PLAIN, names=names, label=EVIDENCE, level=level)
    more = f" The first {MOST_SETS} of {number(len(kept))} sets." if len(kept) > MOST_SETS else ""
    return markup([drawn, charts.legend((each.colour, each.name, "") for each in series), soft(note + more)])


def evidence_values(each: SetCourse, *, learnt: bool, by_nats: bool) -> list[float | None]:
    """Probabilities, nats or logarithms of p-values, within what an axis has room for."""
    if learnt:
        return each["probability"]
    if by_nats:
        return [None if nats is None else min(max(nats, -10.0), 10.0) for nats in each["nats"]]
    return [None if p is None else max(math.log10(max(p, 1e-6)), -6.0) for p in each["p_value"]]
