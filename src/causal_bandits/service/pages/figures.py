"""The figures of a study's page."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...markup import Markup, markup, tag, through_words
from ...policies.overview import ArmRow, IntervalRow
from ...reporting import charts
from ...reporting.axes import RATE, Axis, Unit, axis_for, counts_axis
from ...reporting.charts import Series
from ...reporting.inline_svg import Interval
from .sentences import chance_words, unit_of
from .views import View

SHARES = Axis(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0), ("0%", "25%", "50%", "75%", "100%"))
GREY = "grey"


def soft(text: str) -> Markup:
    """Where there is nothing to draw."""
    return tag("p", text, at={"class": "soft"})


def colours(view: View) -> dict[int, str]:
    """The class of each coloured arm."""
    return {number: f"c{rank}" for rank, number in enumerate(view.coloured)}


def name_of(view: View, number: int) -> str:
    """An arm, with its segment where there is one."""
    segment = view.names.segment_of(view.problem.arms[number])
    return view.names.all[number] + (f" | {segment}" if segment else "")


def traffic(view: View) -> Markup:
    """Which arms were chosen, over time."""
    course = view.about["decisions_over_time"]
    until = course["until"]
    if not until or not until[-1]:
        return soft("No decision yet.")
    series = [
        Series(name_of(view, number), colour, [row[number] for row in course["shares"]])
        for number, colour in colours(view).items()
    ]
    others = [max(1.0 - sum(row[number] for number in view.coloured), 0.0) for row in course["shares"]]
    more = len(course["arms"]) - len(series)
    if more > 0:
        series.append(Series(f"{more} other arms", GREY, others))
    x = counts_axis(0, until[-1])
    drawn = charts.shares(x, SHARES, until, series, unit=RATE, label="Share of decisions of each arm over time")
    return _figure(drawn, series, until, RATE, "decisions up to")


def best(view: View, segment: int) -> Markup:
    """The probability of each arm to be the best one, of its segment where there are some, over time."""
    course = view.chances
    places = [place for place, arm in enumerate(course["arms"]) if view.problem.arm_segments[arm] == segment]
    by_arm = colours(view)
    series = [
        Series(
            name_of(view, course["arms"][place]),
            by_arm[course["arms"][place]],
            [row[place] for row in course["chances"]],
        )
        for place in places
    ]
    if not course["rows"] or not any(value is not None for each in series for value in each.values):
        return soft("No arm has enough rows yet.")
    rows: Sequence[float] = course["rows"]
    x = counts_axis(0, rows[-1])
    names = ("rows", "row")
    label = "Probability of each arm to be the best, over time"
    drawn = charts.lines(x, SHARES, rows, series, unit=RATE, names=names, label=label)
    return _figure(drawn, series, rows, RATE, "rows", show=chance_words)


def rewards(view: View) -> Markup:
    """The mean reward of each stretch of decisions, and the control as a line."""
    course, unit = view.about["decisions_over_time"], unit_of(view.problem)
    earned = course["mean_reward"]
    if not any(value is not None for value in earned):
        return soft("No reward yet.")
    starts = (0, *course["until"])
    middles = [(start + end) / 2 for start, end in zip(starts, course["until"], strict=False)]
    control = control_row(view)
    level = (
        None
        if control is None or control["mean"] is None
        else (control["mean"], f"control, {unit.show(control['mean'])}")
    )
    y = axis_for([*earned, *([level[0]] if level else [])], unit)
    series = [Series(f"mean {view.about['target']}", "c0", earned)]
    x = counts_axis(0, max(course["until"][-1], 1))
    label = "Mean reward over time"
    drawn = charts.lines(
        x, y, middles, series, unit=unit, names=("decisions", "around decision"), label=label, level=level
    )
    return _figure(drawn, series, course["until"], unit, "decisions up to", level=level)


def _figure(
    drawn: Markup, series: Sequence[Series], xs: Sequence[float], unit: Unit, x_name: str,
    level: tuple[float, str] | None = None, show: Callable[[float], str] | None = None,
) -> Markup:  # fmt: skip
    """A chart with its legend, whose values `show` may write in words, and its numbers."""
    last = [next((value for value in reversed(each.values) if value is not None), None) for each in series]
    words = [unit.show(value) if value is None or show is None else show(value) for value in last]
    shown = [(each.colour, each.name, word) for each, word in zip(series, words, strict=True)]
    if level is not None:
        shown.append(("level-key", level[1], ""))
    rows = [(f"{x:,.0f}", *(unit.show(each.values[place]) for each in series)) for place, x in enumerate(xs)]
    return markup([drawn, charts.legend(shown), charts.numbers((x_name, *(each.name for each in series)), rows)])


def control_row(view: View) -> ArmRow | None:
    """The arm that others are compared with; with segments there is none for all."""
    if view.problem.segments:
        return None
    rows = view.about["arms"]
    named = [row for row in rows if row.get("is_control")]
    idle = [row for row in rows if row["settings"] == view.problem.idle_settings]
    return next(iter(named or idle), None)


class ArmLine(NamedTuple):
    """An arm in the table."""

    name: str
    segment: str
    colour: str
    mean: str
    between: str
    strip: Markup
    lift: str
    lift_between: str
    is_better: bool | None
    chance: str
    own: int
    borrowed: float
    rows_bar: Markup
    through: str
    status: str
    is_control: bool


def arms_axis(rows: Sequence[ArmRow], unit: Unit) -> Axis:
    """Room for all intervals that are drawn."""
    ends = [
        value for row in rows for each in (_interval(row), _interval(row["without_sharing"])) if each for value in each
    ]
    return axis_for(ends, unit, most=5)


def arm_lines(view: View, rows: Sequence[ArmRow], axis: Axis) -> list[ArmLine]:
    """The arms in the table."""
    control, unit = control_row(view), unit_of(view.problem)
    numbers = {str(arm): number for number, arm in enumerate(view.problem.arms)}
    most = max((row["own_rows"] + row["borrowed_rows"] for row in rows), default=0.0) or 1.0
    line = _line_maker(view, axis, unit, control, most)
    return [line(row, numbers[row["arm"]]) for row in rows]


def _line_maker(
    view: View, axis: Axis, unit: Unit, control: ArmRow | None, most: float
) -> Callable[[ArmRow, int], ArmLine]:
    by_arm = colours(view)
    level = None if control is None else control["mean"]

    def line(row: ArmRow, number: int) -> ArmLine:
        shared, alone = _interval(row), _interval(row["without_sharing"])
        between = "" if shared is None else f"{unit.show(shared[1])} to {unit.show(shared[2])}"
        name, own, borrowed = view.names.all[number], row["own_rows"], row["borrowed_rows"]
        said = f"{name}: mean {unit.show(row['mean'])}" + (f", 95% interval {between}" if between else "")
        lift, lift_between, is_better = _lift(row, control, unit)
        chance = row.get("probability_best")
        through = "" if row["through"] is None else through_words(row["through"], row["through_share"])
        words = f"{own:,} own rows, worth {borrowed:,.0f} more by sharing"
        return ArmLine(
            name, view.names.segment_of(row["settings"]), by_arm.get(number, ""), unit.show(row["mean"]), between,
            charts.strip(axis, shared, alone, level, said), lift, lift_between, is_better,
            "–" if chance is None else chance_words(chance), own, borrowed,
            charts.bars([(own / most, "own"), (borrowed / most, "borrowed")], words),
            through, row.get("status", "active"), row is control,
        )  # fmt: skip

    return line


def newest(view: View) -> Markup:
    """What the numbers beside the names are of, in figures of stretches of decisions."""
    until = (0, *view.about["decisions_over_time"]["until"])
    return soft(f"Beside each name: decisions {until[-2] + 1:,} to {until[-1]:,}.") if len(until) > 1 else Markup()


def _lift(row: ArmRow, control: ArmRow | None, unit: Unit) -> tuple[str, str, bool | None]:
    """How far an arm is above the control, with an interval where one is known, and whether that is clear."""
    found: Any = row.get("lift")
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


def _interval(row: IntervalRow) -> Interval | None:
    mean, low, high = row["mean"], row["low"], row["high"]
    return None if mean is None or low is None or high is None else (mean, low, high)
