"""Lifts over the control and effects of levels as tables."""

from collections.abc import Sequence

from ..markup import SMALLEST, between, number
from ..policies.overview import ArmRow, EffectRow, LiftRow
from .sheets import Sheet


def lifts_sheet(arms: Sequence[ArmRow]) -> Sheet | None:
    """Arm by arm how far it is above the control, the best first; None where there is no control."""
    controls = [row for row in arms if row.get("is_control")]
    if not controls:
        return None
    costs = any(row.get("cost") for row in arms)
    columns: tuple[str, ...] = ("arm", "lift", "relative lift", "better than the control")
    if costs:
        columns = ("arm", "cost", "mean less cost", *columns[1:])
    others = [row for row in arms if not row.get("is_control")]
    rows = [(row["arm"], *(_cost_cells(row) if costs else ()), *_lift_cells(row)) for row in others]
    title = f"Lift over the control ({'; '.join(map(_base, controls))})"
    return Sheet(title, "", columns, tuple(rows), tuple(range(1, len(columns))))


def _base(control: ArmRow) -> str:
    less = f", less its cost {number(control.get('net'))}" if control.get("cost") else ""
    return f"{control['arm']}, mean {number(control['mean'])}{less}"


def _cost_cells(row: ArmRow) -> tuple[str, str]:
    return number(row.get("cost")), number(row.get("net"))


def _lift_cells(row: ArmRow) -> tuple[str, str, str]:
    lift = row.get("lift")
    if lift is None:
        return "–", "–", "–"
    return absolute_words(lift), relative_words(lift), f"{lift['probability_better']:.2f}"


def absolute_words(lift: LiftRow) -> str:
    """A difference with its interval."""
    return f"{_signed(lift['absolute'])} ({between(lift['low'], lift['high'])})"


def _signed(value: float) -> str:
    return f"+{number(value)}" if value >= SMALLEST else number(value)


def relative_words(lift: LiftRow) -> str:
    """The same in percent of what it is compared with; a dash where that may be 0.

    >>> relative_words({"absolute": 0.1, "low": 0.0, "high": 0.2, "relative": 0.5, "relative_low": -0.021,
    ...                 "relative_high": 12.5, "probability_better": 0.97})
    '+50% (-2.1 – 1,250%)'
    """
    relative, low, high = lift["relative"], lift["relative_low"], lift["relative_high"]
    if relative is None or low is None or high is None:
        return "–"
    sign = "+" if relative > 0 else ""
    return f"{sign}{_percent(relative)}% ({_percent(low)} – {_percent(high)}%)"


def _percent(value: float) -> str:
    """Two digits or more, of a share."""
    digits = 0 if abs(value) >= 0.0995 else 1
    return f"{100 * value:,.{digits}f}"


def effects_sheet(effects: Sequence[EffectRow]) -> Sheet:
    """Level by level what it does in place of the control's."""
    columns = ("lever", "level", "instead of", "rows", "effect", "relative", "better")
    rows = tuple(
        (
            *(row["lever"], str(row["level"]), str(row["base"]), f"{row['own_rows']:,}"),
            *(absolute_words(row["effect"]), relative_words(row["effect"])),
            f"{row['effect']['probability_better']:.2f}",
        )
        for row in effects
    )
    return Sheet("Levels, averaged over the other levers", "", columns, rows, (3, 4, 5, 6), grouped=True)
