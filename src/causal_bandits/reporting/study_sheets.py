"""Arms and sets as tables."""

from ..markup import between, braces, evidence_words, number, probability_words, settings_of, through_words
from ..policies.overview import ArmRow, IntervalRow, RecommendationRow, SetRow
from .described import AnalysisDescription, PendingRewards
from .sheets import Sheet

MOST_NAMED = 3
"""Sets that the answer names."""
SET_COLUMNS = ("set", "", "separates", "evidence", "rows", "recently")


def evidence_of(found: SetRow) -> str:
    """What speaks for or against a set: its probability, p-values, or nats per lever."""
    if found["probability"] is not None:
        return probability_words(found["probability"], found["weight"])
    tests = ((test["levers"], test["p_value"]) for test in found["tests"])
    return evidence_words(tests, {**found["confidence"], **found["log_bayes_factor"]}, found["source"])


def state_of(found: SetRow) -> str:
    """The verdict on a set; without rows that have its variables there is no evidence against it."""
    if found["probability"] is not None and found["rows"]:
        return "separates" if found["accepted"] else "not sure"
    if found["accepted"]:
        return "accepted"
    return "rejected" if found["rows"] else "not tested yet"


def arms_sheet(arms: list[ArmRow]) -> Sheet:
    """The arms, the best first: rows, what they say alone, then the estimate with sharing, and through what."""
    columns = ("arm", "own rows", "own rows say", "with sharing", "through", "borrowed rows")
    if not any(row.get("segment") for row in arms):
        return Sheet("Arms, the best first", "", columns, tuple(map(_arm_cells, arms)), (1, 2, 3, 5))
    rows = tuple((segment_of(row), *_arm_cells(row)) for row in arms)
    return Sheet("Arms, the best of each segment first", "", ("segment", *columns), rows, (2, 3, 4, 6), grouped=True)


def segment_of(row: ArmRow | RecommendationRow) -> str:
    """A segment in words; empty where there is none."""
    return ", ".join(f"{name}={level}" for name, level in row.get("segment", {}).items())


def _does(row: ArmRow | RecommendationRow) -> str:
    """What an arm does, without its segment."""
    return row.get("lever_arm", row["arm"])


def _settings(row: ArmRow | RecommendationRow) -> str:
    """The level of every lever, without the segment."""
    segment = row.get("segment", {})
    return settings_of({name: level for name, level in row["settings"].items() if name not in segment})


def _arm_cells(row: ArmRow) -> tuple[str, ...]:
    gone = row.get("status", "active")
    gone = "" if gone in ("active", "never played", "not allowed") else gone
    control = ", control" if row.get("is_control") else ""
    own = row["without_sharing"]
    return (
        _does(row) + control + (f" ({gone})" if gone else ""),
        f"{row['own_rows']:,}" + (f" + {row['pending_rows']:,} pending" if row["pending_rows"] else ""),
        _range(own) if row["own_rows"] else "never played",
        _range(row),
        through_words(row["through"], row["through_share"]),
        f"{row['borrowed_rows']:,.0f}",
    )


def _range(row: IntervalRow) -> str:
    return f"{number(row['mean'])} ({between(row['low'], row['high'])})"


def pending_words(pending: PendingRewards) -> str:
    """How many rows wait for their reward, and what they are worth; empty where none does."""
    if not pending["rows"]:
        return ""
    waits = f"{pending['rows']:,} rows wait for their reward"
    if pending["window"] is not None:
        known = f", {pending['known']:,} of them with a reward that counts then" if pending["known"] else ""
        waits += f" or for their window of {pending['window']:,.6g} seconds to close{known}"
    if not pending["used"]:
        return f"{waits}; they count when they are complete."
    return f"{waits}; their mediators count already, which is worth {pending['worth']:,.0f} rows."


def recommended(best: RecommendationRow) -> str:
    """The recommended arm in two sentences: what it is worth, and how sure that is; in its segment if it is for one."""
    where = f"For {segment_of(best)}: " if best.get("segment") else ""
    worth = f"Recommended: {_does(best)}, mean {number(best['mean'])}"
    sure = (
        f"It is the best arm with probability {best['probability_best']:.2f}, within {number(best['margin'])} of the "
        f"best with probability {best['probability_close']:.2f}, and expected to lose {number(best['expected_loss'])}."
    )
    if best["stands_out"]:
        return f"{where}{worth}: it stands out. {sure}"
    return f"{where}{'no' if where else 'No'} arm stands out yet. {worth}. {sure}"


def answer(found: AnalysisDescription) -> str:
    """What a table says, in one paragraph: the arm to take, against the control, how sure, and what was shared."""
    one = found["recommendation"]
    best = found.get("recommendations", []) if one is None else [one]
    causal, says = found["assignment"]["causal"], found["assignment"]["says"]
    advice = " ".join(_advice(found, each) for each in best) if causal else _highest(found)
    used = sorted(found["accepted"], key=lambda each: -(each["weight"] or 0.0))
    shared = [braces(each["variables"]) for each in used if each["variables"]]
    more = f" and {len(shared) - MOST_NAMED} more sets" if len(shared) > MOST_NAMED else ""
    through = f" Arms share what they learnt through {', '.join(shared[:MOST_NAMED])}{more}." if shared else ""
    return (
        f"{says}{' ' * bool(says)}{advice}{through} "
        f"From {found['rows']:,} rows of {len(found['arms'])} arms; {found['level']:.0%} intervals in brackets. "
        f"{found['assignment']['basis']}"
    )


def _highest(found: AnalysisDescription) -> str:
    """The arms with the highest means, where nothing can be recommended."""
    said = []
    for segment in {segment_of(row): row.get("segment") for row in found["arms"]}.values():
        among = [row for row in found["arms"] if row.get("segment") == segment]
        where = f"For {segment_of(among[0])}: the" if segment else "The"
        said.append(
            f"{where} highest mean {found['target']} is {_range(among[0])}, in rows with {_settings(among[0])}; "
            "nothing is recommended."
        )
    return " ".join(said)


def _advice(found: AnalysisDescription, best: RecommendationRow) -> str:
    """The arm to take, in one segment if there are segments."""
    row = next(each for each in found["arms"] if each["arm"] == best["arm"])
    among = [each for each in found["arms"] if each.get("segment") == best.get("segment")]
    control = next((each for each in among if each.get("is_control") and each is not row), None)
    against = "" if control is None else f", against {_range(control)} for the control, {_settings(control)}"
    sure = (
        f"It is the best arm with probability {best['probability_best']:.2f}, within {number(best['margin'])} of the "
        f"best with probability {best['probability_close']:.2f}, and expected to lose {number(best['expected_loss'])}."
    )
    where = f"For {segment_of(best)}: " if best.get("segment") else ""
    stands_out = "" if best["stands_out"] else "no arm stands out yet. " if where else "No arm stands out yet. "
    return f"{where}{stands_out}Recommended: {_settings(best)}; mean {found['target']} {_range(row)}{against}. {sure}"


def first_rows(sheet: Sheet, most: int, rest: str) -> Sheet:
    """The same table with its first rows alone, and below it where the rest is."""
    if len(sheet.rows) <= most:
        return sheet
    return sheet._replace(rows=sheet.rows[:most], caption=f"the first {most} of {len(sheet.rows):,}; {rest}")


def sets_sheet(sets: list[SetRow]) -> Sheet:
    """Every set that was looked at, accepted ones first, with its evidence, and whether it still holds if watched.

    Where sets are averaged, the empty one is what arms share without mediators, and is not listed.
    """
    sets = [found for found in sets if found["variables"] or found["probability"] is None]
    learnt, watched = (any(found[name] is not None for found in sets) for name in ("probability", "alarm"))
    columns = ("set", "", *(() if learnt else ("separates",)), "evidence", "rows", *(("recently",) if watched else ()))
    rows = [dict(zip(SET_COLUMNS, _set_cells(found), strict=True)) for found in sorted(sets, key=_set_rank)]
    shown = tuple(tuple(row[column] for column in columns) for row in rows)
    return Sheet("Separating sets", "", columns, shown, (columns.index("rows"),))


def _set_rank(found: SetRow) -> tuple[bool, float]:
    return not found["accepted"], -(found["probability"] or 0.0)


def _set_cells(found: SetRow) -> tuple[str, ...]:
    return (
        braces(found["variables"]),
        state_of(found),
        ", ".join(found["separated"]) or "–",
        evidence_of(found),
        f"{found['rows']:,}",
        {None: "", True: "no longer holds", False: "holds"}[found["alarm"]],
    )
