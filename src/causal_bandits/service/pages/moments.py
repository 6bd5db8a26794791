"""Decisions, and how long they wait, in words."""

from datetime import datetime
from typing import Any, NamedTuple

from ...markup import Markup
from ...policies.estimates import ArmEstimate
from ...policies.overview import finite
from ...reporting import charts
from ...reporting.axes import axis_for
from ...reporting.inline_svg import Interval
from ...studies import Explanation
from .naming import short
from .sentences import unit_of
from .views import View


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


def values(given: dict[str, Any]) -> str:
    """An arm or an outcome in words."""
    return short(
        ", ".join(f"{name}={'missing' if value is None else value}" for name, value in given.items()) or "–", 160
    )


def compared(view: View, found: Explanation, most: int | None) -> list[Compared]:
    """The arms of that time, the most probable choice first."""
    unit = unit_of(view.problem)
    shown = found.arms[:most]
    both = [_interval(each.estimate) for each in shown]
    axis = axis_for([end for each in both if each is not None for end in each], unit, most=5)
    return [
        Compared(
            view.names.of(each.arm),
            each.arm == found.arm,
            f"{100 * each.propensity:.1f}%",
            charts.bars([(each.propensity, "own")], f"chosen with probability {each.propensity:.3f}"),
            "–" if each.index is None else unit.show(finite(each.index)),
            unit.show(finite(each.estimate.mean)),
            charts.strip(
                axis, interval, None, None, f"{view.names.of(each.arm)}: mean {unit.show(finite(each.estimate.mean))}"
            ),
            each.estimate.own_rows,
            each.borrowed_rows,
        )
        for each, interval in zip(shown, both, strict=True)
    ]


def _interval(row: ArmEstimate) -> Interval | None:
    mean, low, high = finite(row.mean), finite(row.low), finite(row.high)
    return None if mean is None or low is None or high is None else (mean, low, high)
