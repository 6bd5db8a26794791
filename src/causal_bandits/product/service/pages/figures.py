"""The figures and tables of a study's pages."""

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple

from ....core.markup import Markup, braces, chance_words, markup, tag, through_words, weight_words
from ....core.problem import Problem, setting_words
from ....core.serialization import to_json
from ....reporting import charts
from ....reporting.axes import (
    RATE,
    Axis,
    Unit,
    axis_for,
    interval_of,
    intervals_axis,
    seconds_of,
    time_axis,
    time_words,
)
from ....reporting.charts import GREY, SHARES, Note, Series
from ....reporting.described import ArmRow, SetRow
from ....reporting.html import soft
from ....reporting.sheets import evidence_of, listed, state_of
from ....reporting.study_page import inside, noted, notes_of
from ...studies import Explanation
from ...studies.funnel import Difference, Funnel, Step
from .views import View, arm_name, segment_name, short, unit_of

# Overview


def colors(view: View) -> dict[int, str]:
    """The class of each colored arm."""
    return {number: f"c{rank}" for rank, number in enumerate(view.colored)}


def name_of(view: View, number: int) -> str:
    """An arm, with its segment where there is one."""
    arm = view.problem.arms[number]
    segment = segment_name(view.problem, arm)
    return arm_name(view.problem, arm) + (f" | {segment}" if segment else "")


def traffic(view: View) -> Markup:
    """Which arms were chosen, over time."""
    course = view.about["decisions_over_time"]
    until = course["until"]
    if not until or not until[-1]:
        return soft("No decision yet.")
    series = [
        Series(name_of(view, number), color, [row[number] for row in course["shares"]])
        for number, color in colors(view).items()
    ]
    others = [max(1.0 - sum(row[number] for number in view.colored), 0.0) for row in course["shares"]]
    more = len(course["arms"]) - len(series)
    if more > 0:
        series.append(Series(f"{more} other arms", GREY, others))
    edges = [seconds_of(time) for time in course["times"]]
    x, names = time_axis(edges[0], edges[-1]), _stretches(view)
    notes = inside(x, notes_of(view.about["annotations"]))
    label = "Share of decisions of each arm over time"
    drawn = charts.shares(x, SHARES, edges, series, unit=RATE, names=[x.name, *names], label=label, notes=notes)
    return markup([_figure(drawn, series, names, RATE, "stretch", notes), _newest(view)])


def _stretches(view: View) -> list[str]:
    """Stretches of decisions in words."""
    course = view.about["decisions_over_time"]
    both = zip((0, *course["until"]), course["until"], strict=False)
    return [
        f"until {time_words(seconds_of(time))}, decisions {start + 1:,} to {end:,}"
        for (start, end), time in zip(both, course["times"][1:], strict=True)
    ]


def best(view: View, segment: int) -> Markup:
    """The probability of each arm to be the best one, of its segment where there are some, over time."""
    course = view.chances
    places = [place for place, arm in enumerate(course["arms"]) if view.problem.arm_segments[arm] == segment]
    by_arm = colors(view)
    series = [
        Series(
            name_of(view, course["arms"][place]),
            by_arm[course["arms"][place]],
            [row[place] for row in course["chances"]],
        )
        for place in places
    ]
    if not view.times or not any(value is not None for each in series for value in each.values):
        return soft("No arm has enough rows yet.")
    times = [seconds_of(time) for time in view.times]
    names = [f"{time_words(time)}, row {row:,}" for time, row in zip(times, course["rows"], strict=True)]
    x, label = time_axis(times[0], times[-1]), "Probability of each arm to be the best, over time"
    notes = inside(x, notes_of(view.about["annotations"]))
    drawn = charts.lines(x, SHARES, times, series, unit=RATE, names=[x.name, *names], label=label, notes=notes)
    return _figure(drawn, series, names, RATE, "rows", notes, show=chance_words)


def rewards(view: View) -> Markup:
    """The mean reward of each stretch of decisions, and the control as a line."""
    course, unit = view.about["decisions_over_time"], unit_of(view.problem)
    earned = course["mean_reward"]
    if not any(value is not None for value in earned):
        return soft("No reward yet.")
    times = [seconds_of(time) for time in course["times"]]
    middles = [(start + end) / 2 for start, end in pairwise(times)]
    control = control_row(view)
    level = (
        None
        if control is None or control["mean"] is None
        else (control["mean"], f"control, {unit.show(control['mean'])}")
    )
    y = axis_for([*earned, *([level[0]] if level else [])], unit)
    series = [Series(f"mean {view.problem.name_of(view.problem.target)}", "c0", earned)]
    x, names = time_axis(times[0], times[-1]), _stretches(view)
    notes = inside(x, notes_of(view.about["annotations"]))
    drawn = charts.lines(
        x,
        y,
        middles,
        series,
        unit=unit,
        names=[x.name, *names],
        label="Mean reward over time",
        level=level,
        notes=notes,
    )
    return markup([_figure(drawn, series, names, unit, "stretch", notes, level=level), _newest(view)])


def _figure(
    drawn: Markup, series: Sequence[Series], names: Sequence[str], unit: Unit, x_name: str, notes: Sequence[Note],
    level: tuple[float, str] | None = None, show: Callable[[float], str] | None = None,
) -> Markup:  # fmt: skip
    """A chart with its legend, whose values `show` may write in words, and its numbers."""
    words = [unit.show(each.last) if each.last is None or show is None else show(each.last) for each in series]
    shown = [(each.color, each.name, word) for each, word in zip(series, words, strict=True)]
    if level is not None:
        shown.append(("level-key", level[1], ""))
    rows = [(name, *(unit.show(each.values[place]) for each in series)) for place, name in enumerate(names)]
    legend = charts.legend([*shown, *noted(notes)])
    return markup([drawn, legend, charts.numbers((x_name, *(each.name for each in series)), rows)])


def control_row(view: View) -> ArmRow | None:
    """The arm that others are compared with; with segments there is none for all."""
    if view.problem.segments:
        return None
    rows = view.about["arms"]
    named = [row for row in rows if row["is_control"]]
    idle = [row for row in rows if row["arm"] == view.problem.idle_settings]
    return next(iter(named or idle), None)


class ArmLine(NamedTuple):
    """An arm in the table."""

    name: str
    segment: str
    color: str
    mean: str
    between: str
    strip: Markup
    lift: str
    lift_between: str
    is_better: bool | None
    chance: str
    own: int
    earned: str
    """The sum of its rewards: conversions, where rewards are 0 or 1."""
    borrowed: float
    rows_bar: Markup
    through: str
    status: str
    is_control: bool


def arms_axis(view: View, rows: Sequence[ArmRow]) -> Axis:
    """An axis for these arms and the control."""
    control = control_row(view)
    return intervals_axis(rows, unit_of(view.problem), None if control is None else control["mean"], most=5)


def arm_lines(view: View, rows: Sequence[ArmRow], axis: Axis) -> list[ArmLine]:
    """The arms in the table."""
    control, unit = control_row(view), unit_of(view.problem)
    most = max((row["own_rows"] + row["borrowed_rows"] for row in rows), default=0.0) or 1.0
    lifts = [each["absolute"] if each else None for each in (row["lift"] for row in rows)]
    units = (
        unit.column(row["mean"] for row in rows),
        unit.changes(lifts),
        unit.column(row["reward_total"] for row in rows),
    )
    line = _line_maker(view, axis, units, control, most)
    return [line(row, view.problem.index(row["arm"])) for row in rows]


def _line_maker(
    view: View, axis: Axis, units: tuple[Unit, Unit, Unit], control: ArmRow | None, most: float
) -> Callable[[ArmRow, int], ArmLine]:
    by_arm = colors(view)
    level = None if control is None else control["mean"]
    unit, of_lifts, of_totals = units

    def line(row: ArmRow, number: int) -> ArmLine:
        shared, alone = interval_of(row), interval_of(row, "own_")
        between = "" if shared is None else f"{unit.show(shared[1])} to {unit.show(shared[2])}"
        name, own, borrowed = arm_name(view.problem, row["arm"]), row["own_rows"], row["borrowed_rows"]
        total = row["reward_total"]
        said = f"{name}: mean {unit.show(row['mean'])}" + (f", 95% interval {between}" if between else "")
        lift, lift_between, is_better = _lift(row, control, of_lifts)
        chance = row["probability_best"]
        through = "" if row["through"] is None else through_words(row["through"], row["through_share"])
        words = f"{own:,} own rows, worth {borrowed:,.0f} more by sharing"
        return ArmLine(
            name, segment_name(view.problem, row["arm"]), by_arm.get(number, ""), unit.show(row["mean"]), between,
            charts.strip(axis, shared, alone, level, said), lift, lift_between, is_better,
            chance_words(chance), own, f"{total:,.0f}" if unit.percent else of_totals.show(total), borrowed,
            charts.bars([(own / most, "own"), (borrowed / most, "borrowed")], words),
            through, row["status"], row is control,
        )  # fmt: skip

    return line


def _newest(view: View) -> Markup:
    """What the numbers beside the names are of, in figures of stretches of decisions."""
    until = (0, *view.about["decisions_over_time"]["until"])
    return soft(f"Numbers next to names: decisions {until[-2] + 1:,} to {until[-1]:,}.") if len(until) > 1 else Markup()


def _lift(row: ArmRow, control: ArmRow | None, unit: Unit) -> tuple[str, str, bool | None]:
    """How far an arm is above the control, with an interval where one is known, and whether that is clear."""
    found = row["lift"]
    if row is control or control is None:
        return "–", "", None
    if not found:
        both = row["mean"], control["mean"]
        return ("–" if both[0] is None or both[1] is None else unit.change(both[0] - both[1])), "", None
    clear = True if found["low"] > 0 else False if found["high"] < 0 else None
    relative = found.get("relative")
    percent = "" if relative is None else f" ({'+' if relative > 0 else ''}{100 * relative:.0f}%)"
    return (
        unit.change(found["absolute"]) + percent,
        f"{unit.change(found['low'])} to {unit.change(found['high'])}",
        clear,
    )


# Sets


class SetLine(NamedTuple):
    """A set in the table."""

    name: str
    state: str
    separated: str
    """The levers it separates; the probability that it separates them all, where that was learned."""
    evidence: str
    """The tests; the weight, where that was learned."""
    rows: int
    drift: str
    alarm: bool


def are_averaged(view: View) -> bool:
    """Whether sets have probabilities and weights."""
    return any(found["evidence"]["probability"] is not None for found in view.about["sets"])


def set_lines(view: View) -> list[SetLine]:
    """Every set that was looked at, those in use first."""
    return [_set_line(found) for found in listed(view.about["sets"])]


def _set_line(found: SetRow) -> SetLine:
    drift, about = found["drift"], found["evidence"]
    alarm = drift is not None and drift["alarm"]
    separated, evidence = ", ".join(found["separated"]) or "–", evidence_of(found)
    if about["probability"] is not None:
        separated, evidence = chance_words(about["probability"]), weight_words(about["weight"] or 0.0)
    return SetLine(
        short(braces(found["variables"])),
        state_of(found),
        short(separated),
        short(evidence, 200),
        about["rows"],
        f"no longer holds, seen at row {drift['row']:,}" if alarm else "–" if drift is None else "holds",
        alarm,
    )


# Funnel


BOX = 76
"""The height of a box with the gap under it, in pixels, as the style sheet has it."""
MOST_BOXES = 8
MOST_STEPS = 200


class Node(NamedTuple):
    """A box of the drawing."""

    name: str
    note: str


class Drawing(NamedTuple):
    """Three columns of boxes, and the edges between them."""

    levers: list[Node]
    left: Markup
    mediators: list[Node]
    right: Markup
    reward: Node


class StepLine(NamedTuple):
    """A step in a table."""

    source: str
    level: str
    target: str
    effect: str
    between: str
    verdict: str


def named(found: Funnel, problem: Problem) -> Funnel:
    """The same by the names that people gave variables and levels."""

    def step(each: Step) -> Step:
        return each._replace(
            source=problem.name_of(each.source),
            level=problem.name_of(each.source, each.level),
            base=problem.name_of(each.source, each.base),
            target=problem.name_of(each.target),
            outcome=None if each.outcome is None else problem.name_of(each.target, each.outcome),
        )

    return Funnel(
        tuple(map(problem.name_of, found.levers)),
        tuple(map(problem.name_of, found.mediators)),
        problem.name_of(found.reward),
        tuple(map(step, found.to_mediators)),
        tuple(map(step, found.mediators_to_reward)),
        tuple(map(step, found.levers_to_reward)),
    )


def drawing(found: Funnel, problem: Problem) -> Drawing:
    """The funnel at a glance: an edge is as thick as its strongest step, and broken where none is clear."""
    levers, mediators = found.levers[:MOST_BOXES], found.mediators[:MOST_BOXES]
    tall, unit = max(len(levers), len(mediators), 1), unit_of(problem)
    above, beside, middle = (tall - len(levers)) / 2, (tall - len(mediators)) / 2, (tall - 1) / 2
    first = [
        (_row(a, levers) + above, _row(b, mediators) + beside, _strongest(found.to_mediators, a, b))
        for a in levers
        for b in mediators
    ]
    second = [
        (_row(b, mediators) + beside, middle, _strongest(found.mediators_to_reward, b, found.reward)) for b in mediators
    ]
    return Drawing(
        [Node(short(name, 40), _note(found.levers_to_reward, name, found.reward, unit)) for name in levers],
        _edges(first, tall, unit=RATE),
        [Node(short(name, 40), "") for name in mediators],
        _edges(second, tall, unit=unit),
        Node(short(found.reward, 40), ""),
    )


def _row(name: str, names: Sequence[str]) -> float:
    return float(names.index(name))


def _strongest(steps: Sequence[Step], source: str, target: str) -> Step | None:
    known = [step for step in steps if step.source == source and step.target == target and step.effect is not None]
    return max(known, key=_strength, default=None)


def _strength(step: Step) -> float:
    """How many half intervals the effect is from 0."""
    effect = step.effect
    if effect is None or effect.value == 0:
        return 0.0
    return abs(effect.value) / (effect.high - effect.value) if effect.high > effect.value else math.inf


def _note(steps: Sequence[Step], source: str, target: str, unit: Unit) -> str:
    step = _strongest(steps, source, target)
    return "" if step is None or step.effect is None else f"{short(step.level, 24)}: {unit.change(step.effect.value)}"


def _edges(edges: Sequence[tuple[float, float, Step | None]], tall: int, *, unit: Unit) -> Markup:
    lines = []
    for start, end, step in edges:
        if step is None or step.effect is None:
            continue
        strength = _strength(step)
        thick = 1 if strength < 1 else 2 if strength < 2 else 3 if strength < 4 else 4
        look = "unclear" if not step.effect.is_clear else "rises" if step.effect.value > 0 else "falls"
        ys = {"y1": f"{BOX * (start + 0.5):.0f}", "y2": f"{BOX * (end + 0.5):.0f}"}
        said = f"{step.source}={step.level}: {_words(step, unit)}"
        lines.append(
            tag("line", tag("title", short(said, 200)), at={"class": f"edge {look} w{thick}", "x2": "100%", **ys})
        )
    height = str(BOX * tall)
    return tag("svg", *lines, at={"class": "edges", "width": "100%", "height": height, "aria-hidden": "true"})


def _words(step: Step, unit: Unit) -> str:
    what = step.target if step.outcome is None else f"{step.target}={step.outcome}"
    return f"{what} {unit.change(None if step.effect is None else step.effect.value)}"


def step_lines(steps: Sequence[Step], unit: Unit) -> list[StepLine]:
    """Steps in words, the first ones."""
    rates = RATE.changes(step.effect and step.effect.value for step in steps if step.outcome is not None)
    others = unit.changes(step.effect and step.effect.value for step in steps if step.outcome is None)
    return [_step_line(step, others if step.outcome is None else rates) for step in steps[:MOST_STEPS]]


def _step_line(step: Step, unit: Unit) -> StepLine:
    target = step.target if step.outcome is None else f"{step.target}={step.outcome}"
    level = f"{step.level} instead of {step.base}"
    effect = step.effect
    if effect is None:
        return StepLine(short(step.source, 40), short(level), short(target, 60), "–", "no rows to compare", "")
    between = "" if effect.high == float("inf") else f"{unit.change(effect.low)} to {unit.change(effect.high)}"
    return StepLine(
        short(step.source, 40), short(level), short(target, 60), unit.change(effect.value), between, _verdict(effect)
    )


def _verdict(effect: Difference) -> str:
    return "not clear" if not effect.is_clear else "rises" if effect.value > 0 else "falls"


# Decisions


class Compared(NamedTuple):
    """An arm at the time of a decision."""

    name: str
    is_chosen: bool
    propensity: str
    bar: Markup
    value: str
    mean: str
    strip: Markup
    own: int
    borrowed: float


def spell(when: datetime | None) -> str:
    """A time to read, in UTC."""
    return "–" if when is None else f"{when:%Y-%m-%d %H:%M:%S} UTC"


def duration(seconds: float | None) -> str:
    """How long something took.

    >>> [duration(value) for value in (0.25, 42, 600, 9000, 200000, None)]
    ['0.2 s', '42 s', '10 min', '2.5 h', '2.3 days', '–']
    """
    if seconds is None:
        return "–"
    for size, name in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f}".removesuffix(".0") + f" {name}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def values(problem: Problem, given: dict[str, Any]) -> str:
    """An outcome in words."""
    said = (setting_words(name, "missing" if value is None else value, problem.names) for name, value in given.items())
    return short(", ".join(said) or "–", 160)


def compared(view: View, found: Explanation, most: int | None) -> list[Compared]:
    """The arms of that time, the most probable choice first."""
    unit = unit_of(view.problem)
    shown = [(each, to_json(each.estimate)) for each in found.arms[:most]]
    both = [interval_of(row) for _, row in shown]
    axis = axis_for([end for each in both if each is not None for end in each], unit, most=5)
    unit = unit.column(row["mean"] for _, row in shown)
    return [
        Compared(
            arm_name(view.problem, each.arm),
            each.arm == found.arm,
            RATE.show(each.propensity),
            charts.bars([(each.propensity, "own")], f"chosen with probability {each.propensity:.3f}"),
            unit.show(to_json(each.index)),
            unit.show(row["mean"]),
            charts.strip(axis, interval, None, None, f"mean {unit.show(row['mean'])}"),
            each.estimate.own_rows,
            each.borrowed_rows,
        )
        for (each, row), interval in zip(shown, both, strict=True)
    ]
