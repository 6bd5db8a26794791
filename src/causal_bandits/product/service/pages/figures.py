"""The figures and tables of a study's pages."""

import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from ....core.markup import Markup, chance_words, markup, tag
from ....core.problem import Problem, setting_words
from ....core.serialization import to_json
from ....reporting import charts
from ....reporting.axes import RATE, Unit, axis_for, interval_of, intervals_axis, seconds_of, time_words
from ....reporting.charts import SHARES, Series
from ....reporting.described import ArmRow
from ....reporting.html import soft
from ....reporting.study_page import decisions_figure, each_segment, notes_of, over_time, stretches, unit_of
from ....reporting.text import short
from ...studies import Explanation
from ...studies.funnel import Funnel, Step
from .views import View, arm_name

# Overview


def colors(view: View) -> dict[int, str]:
    """The class of each colored arm."""
    return {number: f"c{rank}" for rank, number in enumerate(view.colored)}


def traffic(view: View) -> Markup:
    """Which arms were chosen, over time."""
    shown = [
        (number, arm_name(view.problem, view.problem.arms[number]), color) for number, color in colors(view).items()
    ]
    return markup([decisions_figure(view.about["decisions_over_time"], shown, notes_in(view)), _newest(view)])


def notes_in(view: View) -> Sequence[charts.Note]:
    """The annotations of a study."""
    return notes_of(view.about["annotations"])


def best_by_segment(view: View) -> list[tuple[str, Markup]]:
    """The segments that have colored arms, each with the chart of its arms' probabilities."""
    problem, found = view.problem, []
    for segment in sorted({int(problem.arm_segments[arm]) for arm in view.colored}):
        settings = problem.segment_settings[segment].items()
        words = ", ".join(setting_words(name, level, problem.names) for name, level in settings)
        found.append((short(words), best(view, segment)))
    return found


def best(view: View, segment: int) -> Markup:
    """The probability of each arm to be the best one, of its segment where there are some, over time."""
    course, by_arm = view.chances, colors(view)
    series = [
        Series(arm_name(view.problem, view.problem.arms[arm]), by_arm[arm], [row[index] for row in course["chances"]])
        for index, arm in enumerate(course["arms"])
        if view.problem.arm_segments[arm] == segment
    ]
    if not view.times or not any(value is not None for each in series for value in each.values):
        return soft("No arm has enough rows yet.")
    if len(view.times) == 1 and not view.is_newest:
        return soft("Being computed from all rows, which takes a few seconds.")
    times, label = [seconds_of(time) for time in view.times], "Probability of each arm to be the best, over time"
    names = [f"{time_words(time)}, row {row:,}" for time, row in zip(times, course["rows"], strict=True)]
    return over_time(series, times, SHARES, RATE, names, label, "rows", notes_in(view), show=chance_words)


def rewards(view: View) -> Markup:
    """The mean reward of each stretch of decisions, and the control as a line."""
    course, unit, control = view.about["decisions_over_time"], unit_of(view.about["reward"]), control_row(view)
    earned, mean = course["mean_reward"], None if control is None else control["mean"]
    if not any(value is not None for value in earned):
        return soft("No reward yet.")
    times = [seconds_of(time) for time in course["times"]]
    middles = [(start + end) / 2 for start, end in pairwise(times)]
    series = [Series(f"mean {view.problem.name_of(view.problem.target)}", "c0", earned)]
    level = None if mean is None else (mean, f"control, {unit.show(mean)}")
    y, names, label = axis_for([*earned, mean], unit), stretches(course), "Mean reward over time"
    figure = over_time(series, middles, y, unit, names, label, "stretch", notes_in(view), ends=times, level=level)
    return markup([figure, _newest(view)])


def control_row(view: View) -> ArmRow | None:
    """The arm that others are compared with; with segments there is none for all."""
    if view.problem.segments:
        return None
    rows = view.about["arms"]
    named = [row for row in rows if row["is_control"]]
    idle = [row for row in rows if row["arm"] == view.problem.idle_settings]
    return next(iter(named or idle), None)


class ArmsTable:
    """Some arms in a table, with their common axis and the units of its columns."""

    def __init__(self, view: View, rows: Sequence[ArmRow]) -> None:
        self.rows, self.control, self.colors = rows, control_row(view), colors(view)
        self.problem, self.unit = view.problem, unit_of(view.about["reward"])
        self.counted = "Conversions / visitors" if self.unit.percent else "Total / visitors"
        self.each_segment = each_segment(view.about["arms"])
        self._level = None if self.control is None else self.control["mean"]
        self._axis = intervals_axis(rows, self.unit, self._level, most=5)
        self._means = self.unit.column(row["mean"] for row in rows)
        self._lifts = self.unit.changes(row["lift"] and row["lift"]["absolute"] for row in rows)
        self._totals = self.unit.column(row["reward_total"] for row in rows)
        self._most = max((row["own_rows"] + row["borrowed_rows"] for row in rows), default=0.0) or 1.0

    @property
    def axis(self) -> Markup:
        """The ticks above the strips."""
        return charts.strip_axis(self._axis)

    def color(self, row: ArmRow) -> str:
        """The class of the arm's color; empty if it has none."""
        return self.colors.get(self.problem.index(row["arm"]), "")

    def mean(self, row: ArmRow) -> str:
        """The mean of an arm."""
        return self._means.show(row["mean"])

    def between(self, row: ArmRow) -> str:
        """The interval of an arm; empty if there is none."""
        found = interval_of(row)
        return "" if found is None else f"{self._means.show(found[1])} to {self._means.show(found[2])}"

    def strip(self, row: ArmRow) -> Markup:
        """The intervals of an arm, drawn."""
        between = self.between(row)
        said = f"{arm_name(self.problem, row['arm'])}: mean {self.mean(row)}"
        said += f", 95% interval {between}" if between else ""
        return charts.strip(self._axis, interval_of(row), interval_of(row, "own_"), self._level, said)

    def earned(self, row: ArmRow) -> str:
        """The sum of an arm's rewards: conversions, where rewards are 0 or 1."""
        total = row["reward_total"]
        return f"{total:,.0f}" if self.unit.percent else self._totals.show(total)

    def worth(self, row: ArmRow) -> Markup:
        """Own and borrowed rows, as a bar."""
        own, borrowed = row["own_rows"], row["borrowed_rows"]
        parts = [(own / self._most, "own"), (borrowed / self._most, "borrowed")]
        return charts.bars(parts, f"{own:,} own rows, worth {borrowed:,.0f} more by sharing")

    def lift(self, row: ArmRow) -> tuple[str, str, str]:
        """How far an arm is above the control, the interval where one is known, and "good" or "bad" if it is clear."""
        found, control = row["lift"], self.control
        if row is control or control is None:
            return "–", "", ""
        if not found:
            both = row["mean"], control["mean"]
            return ("–" if both[0] is None or both[1] is None else self._lifts.change(both[0] - both[1])), "", ""
        relative = found.get("relative")
        percent = "" if relative is None else f" ({'+' if relative > 0 else ''}{100 * relative:.0f}%)"
        between = f"{self._lifts.change(found['low'])} to {self._lifts.change(found['high'])}"
        verdict = "good" if found["low"] > 0 else "bad" if found["high"] < 0 else ""
        return self._lifts.change(found["absolute"]) + percent, between, verdict


def _newest(view: View) -> Markup:
    """What the numbers beside the names are of, in figures of stretches of decisions."""
    until = (0, *view.about["decisions_over_time"]["until"])
    return soft(f"Numbers next to names: decisions {until[-2] + 1:,} to {until[-1]:,}.") if len(until) > 1 else Markup()


# Funnel


BOX = 76
"""The height of a box with the gap under it, in pixels, as the style sheet has it."""
MOST_BOXES = 8


def drawing(found: Funnel, problem: Problem, unit: Unit) -> dict[str, Any]:
    """The funnel at a glance: an edge is as thick as its strongest step, and broken where none is clear."""
    levers, mediators = found.levers[:MOST_BOXES], found.mediators[:MOST_BOXES]
    tall = max(len(levers), len(mediators), 1)
    left = {name: (tall - len(levers)) / 2 + index for index, name in enumerate(levers)}
    middle = {name: (tall - len(mediators)) / 2 + index for index, name in enumerate(mediators)}
    first = [(left[a], middle[b], _strongest(found.to_mediators, a, b)) for a in levers for b in mediators]
    second = [(middle[b], (tall - 1) / 2, _strongest(found.mediators_to_reward, b, found.reward)) for b in mediators]
    notes = {name: _strongest(found.levers_to_reward, name, found.reward) for name in levers}
    return {
        "levers": [(name, "" if step is None else _note(step, problem, unit)) for name, step in notes.items()],
        "left": _edges(first, tall, problem, RATE),
        "mediators": mediators,
        "right": _edges(second, tall, problem, unit),
        "reward": found.reward,
    }


def _strongest(steps: Sequence[Step], source: str, target: str) -> Step | None:
    known = [step for step in steps if step.source == source and step.target == target and step.effect is not None]
    return max(known, key=_strength, default=None)


def _strength(step: Step) -> float:
    """How many half intervals the effect is from 0."""
    effect = step.effect
    if effect is None or effect.value == 0:
        return 0.0
    return abs(effect.value) / (effect.high - effect.value) if effect.high > effect.value else math.inf


def _change(step: Step, unit: Unit) -> str:
    return unit.change(None if step.effect is None else step.effect.value)


def _note(step: Step, problem: Problem, unit: Unit) -> str:
    return f"{short(problem.name_of(step.source, step.level), 24)}: {_change(step, unit)}"


def target_of(step: Step, problem: Problem) -> str:
    """What a step changes, in words."""
    return (
        setting_words(step.target, step.outcome, problem.names)
        if step.outcome is not None
        else problem.name_of(step.target)
    )


def verdict_of(step: Step) -> str:
    """What a step does, in a word; empty if nothing is known."""
    effect = step.effect
    return "" if effect is None else "not clear" if not effect.is_clear else "rises" if effect.value > 0 else "falls"


def _edges(edges: Iterable[tuple[float, float, Step | None]], tall: int, problem: Problem, unit: Unit) -> Markup:
    lines = []
    for start, end, step in edges:
        if step is None:
            continue
        strength = _strength(step)
        thick = 1 if strength < 1 else 2 if strength < 2 else 3 if strength < 4 else 4
        look = verdict_of(step).replace("not clear", "unclear")
        ys = {"y1": f"{BOX * (start + 0.5):.0f}", "y2": f"{BOX * (end + 0.5):.0f}"}
        setting = setting_words(step.source, step.level, problem.names)
        said = f"{setting}: {target_of(step, problem)} {_change(step, unit)}"
        lines.append(
            tag("line", tag("title", short(said, 200)), at={"class": f"edge {look} w{thick}", "x2": "100%", **ys})
        )
    height = str(BOX * tall)
    return tag("svg", *lines, at={"class": "edges", "width": "100%", "height": height, "aria-hidden": "true"})


def step_units(steps: Sequence[Step], unit: Unit) -> dict[bool, Unit]:
    """The units of a table of steps: of changes of shares, and of the other changes."""
    return {
        is_share: (RATE if is_share else unit).changes(
            step.effect and step.effect.value for step in steps if (step.outcome is not None) == is_share
        )
        for is_share in (True, False)
    }


# Decisions


def spell(when: datetime | None) -> str:
    """A time to read, in UTC."""
    return "–" if when is None else f"{when:%Y-%m-%d %H:%M:%S} UTC"


def values(problem: Problem, given: dict[str, Any]) -> str:
    """An outcome in words."""
    said = (setting_words(name, "missing" if value is None else value, problem.names) for name, value in given.items())
    return short(", ".join(said) or "–", 160)


def compared(found: Explanation, most: int | None, unit: Unit) -> dict[str, Any]:
    """The arms of that time, the most probable choice first: each with its estimate, its strip and a bar."""
    shown = [(each, to_json(each.estimate)) for each in found.arms[:most]]
    both = [interval_of(row) for _, row in shown]
    axis = axis_for([end for each in both if each is not None for end in each], unit, most=5)
    unit = unit.column(row["mean"] for _, row in shown)
    return {
        "unit": unit,
        "axis": charts.strip_axis(axis),
        "compared": [
            (
                each,
                row,
                charts.strip(axis, interval, None, None, f"mean {unit.show(row['mean'])}"),
                charts.bars([(each.propensity, "own")], f"chosen with probability {RATE.show(each.propensity)}"),
            )
            for (each, row), interval in zip(shown, both, strict=True)
        ],
    }
