"""Tables of arms, sets, lifts and effects; `html.sheet_table` and `terminal.TerminalTable` show them."""

from collections.abc import Sequence
from typing import NamedTuple

from ..core.markup import (
    between,
    braces,
    chance_words,
    counted,
    loss_words,
    number,
    signed,
    through_words,
    weight_words,
)
from ..core.policies.estimates import IN_PLAY
from ..core.validation import duration_words
from .axes import PLAIN, Unit
from .described import (
    AnalysisDescription,
    ArmRow,
    EffectRow,
    LiftRow,
    PendingRewards,
    RecommendationRow,
    SetRow,
)


class Sheet(NamedTuple):
    """A table in words."""

    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...]
    """The columns that hold numbers."""
    grouped: bool = False
    """Rows with the same first cell belong together."""


def in_markdown(sheet: Sheet) -> str:
    """A table in Markdown, without title and caption."""

    def row(cells: tuple[str, ...]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    rule = tuple("---:" if place in sheet.numbers else "---" for place in range(len(sheet.columns)))
    return "\n".join([row(sheet.columns), row(rule), *(row(each) for each in groups_once(sheet))])


def groups_once(sheet: Sheet) -> list[tuple[str, ...]]:
    """The rows, where the first cell of a group is in its first row only."""
    before = [None, *(row[0] for row in sheet.rows)]
    return [
        ("", *row[1:]) if sheet.grouped and row[0] == above else row
        for row, above in zip(sheet.rows, before, strict=False)
    ]


def columns_from(first: int, columns: tuple[str, ...]) -> tuple[int, ...]:
    """All columns from one on."""
    return tuple(range(first, len(columns)))


# Arms and sets


MOST_NAMED = 3
"""Number of sets that the answer names."""


def evidence_of(found: SetRow) -> str:
    """The evidence for a set: its probability, p-values, or nats per lever."""
    evidence = found["evidence"]
    if evidence["probability"] is None:
        words: str = evidence["words"]
        return words
    if not evidence["rows"]:
        return "no data yet"
    weight = "" if evidence["weight"] is None else f", weight {weight_words(evidence['weight'])}"
    return f"separates with probability {chance_words(evidence['probability'])}{weight}"


def state_of(found: SetRow) -> str:
    """The verdict on a set; without rows that have its variables there is no evidence against it."""
    rows = found["evidence"]["rows"]
    if found["evidence"]["probability"] is not None and rows:
        return "separates" if found["accepted"] else "not sure"
    if found["accepted"]:
        return "accepted"
    return "rejected" if rows else "not tested yet"


def arms_sheet(arms: list[ArmRow], unit: Unit = PLAIN) -> Sheet:
    """The arms, the best first: rows, what they say alone, then the estimate with sharing, and through what."""
    columns = ("arm", "own rows", "own rows say", "with sharing", "through", "borrowed rows")
    if not any(row["segment"] for row in arms):
        return Sheet("Arms, the best first", "", columns, tuple(_arm_cells(row, unit) for row in arms), (1, 2, 3, 5))
    rows = tuple((segment_of(row), *_arm_cells(row, unit)) for row in arms)
    return Sheet("Arms, the best of each segment first", "", ("segment", *columns), rows, (2, 3, 4, 6), grouped=True)


def segment_of(row: ArmRow | RecommendationRow) -> str:
    """A segment in words; empty if there is none."""
    return ", ".join(f"{name}={level}" for name, level in row["segment"].items())


def _arm_cells(row: ArmRow, unit: Unit) -> tuple[str, ...]:
    gone = "" if row["status"] in (*IN_PLAY, "not allowed") else row["status"]
    note = ", ".join(filter(None, ["control" if row["is_control"] else "", gone]))
    return (
        row["lever_label"] + (f" ({note})" if note else ""),
        f"{row['own_rows']:,}" + (f" + {row['pending_rows']:,} pending" if row["pending_rows"] else ""),
        _range(row, "own_", unit) if row["own_rows"] else "no outcome yet" if row.get("decisions") else "never played",
        _range(row, unit=unit),
        through_words(row["through"], row["through_share"]),
        f"{row['borrowed_rows']:,.0f}",
    )


def _range(row: ArmRow, of: str = "", unit: Unit = PLAIN) -> str:
    mean, low, high = (row[f"{of}{name}"] for name in ("mean", "low", "high"))
    if mean is None:
        return "–"
    if unit.percent:
        return unit.show(mean) + ("" if low is None else f" ({unit.show(low)} – {unit.show(high)})")
    return f"{number(mean, beside=(low, high))} ({between(low, high, mean)})"


def pending_words(pending: PendingRewards) -> str:
    """How many rows wait for their reward, and what they are worth; empty if there are none."""
    if not pending["rows"]:
        return ""
    one = pending["rows"] == 1
    waits = f"{counted(pending['rows'], 'row')} {'waits' if one else 'wait'} for {'its' if one else 'their'} reward"
    if pending["window"] is not None:
        known = f", {pending['known']:,} of them with a reward that counts then" if pending["known"] else ""
        waits += f" or for their window of {duration_words(pending['window'])} to close{known}"
    if not pending["used"]:
        return f"{waits}; they count when they are complete."
    return f"{waits}; their mediators count already, which is worth {pending['worth']:,.0f} rows."


def _sure(best: RecommendationRow) -> str:
    return (
        f"It is the best arm with probability {chance_words(best['probability_best'])}, within "
        f"{number(best['margin'])} of the best with probability {chance_words(best['probability_close'])}, and "
        f"expected to lose {loss_words(best['expected_loss'])}."
    )


def answer(found: AnalysisDescription) -> str:
    """The answer of an analysis in one paragraph: the recommended arm, the control, probabilities, and the sets
    used."""
    one = found["recommendation"]
    best = found.get("recommendations", []) if one is None else [one]
    causal, says = found["assignment"]["causal"], found["assignment"]["says"]
    advice = " ".join(_advice(found, each) for each in best) if causal else _highest(found)
    used = sorted(found["accepted"], key=lambda each: -(each["evidence"]["weight"] or 0.0))
    shared = [braces(each["variables"]) for each in used if each["variables"]]
    more = f" and {counted(len(shared) - MOST_NAMED, 'more set')}" if len(shared) > MOST_NAMED else ""
    through = f" Arms share what they learned through {', '.join(shared[:MOST_NAMED])}{more}." if shared else ""
    return (
        f"{says}{' ' * bool(says)}{advice}{through} "
        f"From {found['rows']:,} rows of {len(found['arms'])} arms; {found['level']:.0%} intervals in brackets. "
        f"{found['assignment']['basis']}"
    )


def other_notices(found: AnalysisDescription) -> list[str]:
    """The notices without the one that the answer begins with."""
    return [notice for notice in found["notices"] if notice != found["assignment"]["says"]]


def _highest(found: AnalysisDescription) -> str:
    """The arms with the highest means, for tables without a recommendation."""
    said = []
    for segment in {segment_of(row): row["segment"] for row in found["arms"]}.values():
        among = [row for row in found["arms"] if row["segment"] == segment]
        where = f"For {segment_of(among[0])}: the" if segment else "The"
        said.append(
            f"{where} highest mean {found['target']} is {_range(among[0])}, in rows with {among[0]['lever_label']}; "
            "nothing is recommended."
        )
    return " ".join(said)


def _advice(found: AnalysisDescription, best: RecommendationRow) -> str:
    """The arm to take, in one segment if there are segments."""
    row = next(each for each in found["arms"] if each["arm"] == best["arm"])
    among = [each for each in found["arms"] if each["segment"] == best["segment"]]
    control = next((each for each in among if each["is_control"] and each is not row), None)
    against = "" if control is None else f", against {_range(control)} for the control, {control['lever_label']}"
    where = f"For {segment_of(best)}: " if best["segment"] else ""
    stands_out = "" if best["stands_out"] else "no arm stands out yet. " if where else "No arm stands out yet. "
    worth = f"mean {found['target']} {_range(row)}{against}"
    return f"{where}{stands_out}Recommended: {best['lever_label']}; {worth}. {_sure(best)}"


SHOWN_ROWS = 40
"""Of the table of a figure, on a terminal."""


def first_rows(sheet: Sheet, most: int = SHOWN_ROWS, *, rest: str) -> Sheet:
    """The same table with its first rows alone, and below it where the rest is."""
    if len(sheet.rows) <= most:
        return sheet
    return sheet._replace(
        rows=sheet.rows[:most], caption=f"{sheet.caption}\nthe first {most} of {len(sheet.rows):,}; {rest}".strip()
    )


def sets_sheet(sets: list[SetRow]) -> Sheet:
    """Every set that was looked at, with its evidence, and whether it still holds if watched."""
    sets = listed(sets)
    learnt = any(found["evidence"]["probability"] is not None for found in sets)
    watched = any(found["drift"] is not None for found in sets)
    rows = [
        {
            "set": braces(found["variables"]),
            "": state_of(found),
            **({} if learnt else {"separates": ", ".join(found["separated"]) or "–"}),
            "evidence": evidence_of(found),
            "rows": f"{found['evidence']['rows']:,}",
            **({"recently": _recently(found)} if watched else {}),
        }
        for found in sets
    ]
    columns = tuple(rows[0]) if rows else ("set", "", "evidence", "rows")
    return Sheet("Separating sets", "", columns, tuple(tuple(row.values()) for row in rows), (columns.index("rows"),))


def listed(sets: Sequence[SetRow]) -> list[SetRow]:
    """Sets in the order of a table, accepted ones first.

    Where sets are averaged, the empty one is what arms share without mediators, and is not listed.
    """
    kept = [found for found in sets if found["variables"] or found["evidence"]["probability"] is None]
    return sorted(kept, key=lambda found: (not found["accepted"], -(found["evidence"]["probability"] or 0.0)))


def _recently(found: SetRow) -> str:
    return "" if found["drift"] is None else "no longer holds" if found["drift"]["alarm"] else "holds"


# Lifts over the control, and effects of levels


def lifts_sheet(arms: Sequence[ArmRow], unit: Unit = PLAIN) -> Sheet | None:
    """The lift of every arm over the control, best first; None if there is no control, or no data yet."""
    controls = [row for row in arms if row["is_control"]]
    if not controls or not any(row["own_rows"] for row in arms):
        return None
    costs = any(row["cost"] for row in arms)
    columns: tuple[str, ...] = ("arm", "lift", "relative lift", "better than the control")
    if costs:
        columns = ("arm", "cost", "mean less cost", *columns[1:])
    others = [row for row in arms if not row["is_control"]]
    changes = unit.changes(row["lift"] and row["lift"]["absolute"] for row in others)
    rows = []
    for row in others:
        worth = (unit.show(row["cost"]), unit.show(row["net"])) if costs else ()
        lift = row["lift"]
        cells = ("–", "–", "–")
        if lift is not None:
            cells = absolute_words(lift, changes), relative_words(lift), chance_words(lift["probability_better"])
        rows.append((row["label"], *worth, *cells))
    title = f"Lift over the control ({'; '.join(_base(row, unit) for row in controls)})"
    return Sheet(title, "", columns, tuple(rows), tuple(range(1, len(columns))))


def _base(control: ArmRow, unit: Unit) -> str:
    less = f", less its cost {unit.show(control['net'])}" if control["cost"] else ""
    return f"{control['label']}, mean {unit.show(control['mean'])}{less}"


def absolute_words(lift: LiftRow, unit: Unit = PLAIN) -> str:
    """A difference with its interval."""
    by, low, high = lift["absolute"], lift["low"], lift["high"]
    if unit.percent:
        return f"{unit.change(by)} ({unit.change(low)} to {unit.change(high)})"
    return f"{signed(by, (low, high))} ({between(low, high, by)})"


def relative_words(lift: LiftRow) -> str:
    """The same in percent of what it is compared with; a dash if that may be 0.

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


def effects_sheet(effects: Sequence[EffectRow], unit: Unit = PLAIN) -> Sheet:
    """The effect of every level compared with the control's."""
    columns = ("lever", "level", "instead of", "rows", "effect", "relative", "better")
    changes = unit.changes(row["effect"]["absolute"] for row in effects)
    rows = tuple(
        (
            *(row["lever"], str(row["level"]), str(row["base"]), f"{row['own_rows']:,}"),
            *(absolute_words(row["effect"], changes), relative_words(row["effect"])),
            chance_words(row["effect"]["probability_better"]),
        )
        for row in effects
    )
    return Sheet("Levels, averaged over the other levers", "", columns, rows, (3, 4, 5, 6), grouped=True)
