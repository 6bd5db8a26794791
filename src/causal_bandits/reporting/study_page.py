"""The page of a study and the page of an analysed table, from plain values alone."""

import math

from ..markup import Markup, braces, markup, tag
from ..policies.answer_rows import AdviceRow
from ..policies.overview import ArmRow, EvidenceCourse, IntervalRow, RecommendationRow, SetCourse, SetRow
from .described import AnalysisDescription, CheckRow, Known, StudyDescription
from .html import page, sheet_table, soft
from .inline_svg import Interval, intervals, lines, stacked
from .lift_sheets import effects_sheet, lifts_sheet
from .study_sheets import answer, arms_sheet, pending_words, recommended, sets_sheet

EVIDENCE = "Evidence as rows came in"
MOST_ARMS, MOST_SETS = 12, 8
"""That are drawn; tables have all of them."""


def study_page(study: StudyDescription) -> str:
    """A study: `Study.describe(history=True)`."""
    decisions = study["decisions"]
    counts = ", ".join(f"{decisions[name]:,} {name}" for name in ("told", "open", "abandoned", "expired"))
    over_time = study["decisions_over_time"]
    parts = [
        tag("h1", f"Study {study['name']}"),
        soft(
            f"{study['policy']}, seed {study['seed']}, since {study['created']}. "
            f"{decisions['all']:,} decisions ({counts}); {study['rows']:,} rows counted."
        ),
        soft(pending_words(study["pending"])) if study["pending"]["rows"] else Markup(),
        *map(_recommended, study["recommendations"] if "segments" in study else [study["recommendation"]]),
        *map(_advised, study["advices"] if "segments" in study else [study["advice"]]),
        *map(_alarm, study["alarms"]),
        *_health(study),
        *_what_is_known(study),
        tag("h2", "Decisions over time"),
        stacked(over_time["until"], over_time["arms"], over_time["shares"]),
        *_checks(study.get("health", [])),
    ]
    return page(f"Study {study['name']}", parts)


def analysis_page(analysis: AnalysisDescription) -> str:
    """An analysed table: `Analysis.to_dict()`."""
    parts = [
        tag("h1", f"What decides {analysis['target']}?"),
        soft(f"{analysis['rows']:,} rows; levers {', '.join(analysis['interventions'])}{_segments(analysis)}."),
        tag("p", answer(analysis), at={"class": "lead box"}),
        *(tag("p", notice, at={"class": "box"}) for notice in analysis["notices"]),
        *_what_is_known(analysis),
        tag("h2", "What was inferred from the table"),
        tag("ul", *(tag("li", note) for note in analysis["inferred"])),
    ]
    return page(f"Analysis of {analysis['target']}", parts)


def _segments(analysis: AnalysisDescription) -> str:
    names = ", ".join(analysis.get("segments", []))
    return f"; segments {names}" if names else ""


def _what_is_known(values: Known) -> list[Markup]:
    """What both pages show: arms, sets and their evidence."""
    return [
        _missing(values["missing"]),
        tag(
            "h2",
            "Arms, the best first" + (" (mean less cost)" if any(row.get("cost") for row in values["arms"]) else ""),
        ),
        _arms_figure(values["arms"]),
        sheet_table(arms_sheet(values["arms"])),
        *_lifts(values),
        tag("h2", "Separating sets"),
        _sets(values["sets"]),
        tag("h2", EVIDENCE),
        _evidence(values["evidence_over_time"]),
    ]


def _advised(found: AdviceRow | None) -> Markup:
    if found is None:
        return Markup()
    where = "".join(f"{name}={level}: " for name, level in found.get("segment", {}).items())
    return markup([tag("p", where + found["text"]), soft(found["guarantee"])])


def _lifts(values: Known) -> list[Markup]:
    """Lifts over the control, and what levels do, where they can be told."""
    lifts, effects = lifts_sheet(values["arms"]), values.get("effects", [])
    parts = []
    if lifts is not None:
        parts += [tag("h2", lifts.title), sheet_table(lifts)]
    if effects:
        sheet = effects_sheet(effects)
        parts += [tag("h2", sheet.title), sheet_table(sheet)]
    return parts


def _health(study: StudyDescription) -> list[Markup]:
    """What is wrong with the study: guardrails that arms break, checks that fail."""
    broken = [tag("b", "Guardrail:", at={"class": "fails"}), " " + "; ".join(study.get("broken", [])) + "."]
    alarms = [check for check in study.get("health", []) if check["alarm"]]
    parts = [tag("p", *broken, at={"class": "box fails"})] if study.get("broken") else []
    for check in alarms:
        said = f" {check['name']}: {check['says']}. False alarms: {check['false_alarms']}."
        parts.append(tag("p", tag("b", "Alarm:", at={"class": "fails"}), said, at={"class": "box fails"}))
    return parts


def _checks(checks: list[CheckRow]) -> list[Markup]:
    """Every check with what it found and how often it is wrong."""
    said = [
        tag(
            "li",
            tag("b", "ALARM" if check["alarm"] else "ok", at={"class": "fails"} if check["alarm"] else None),
            f" {check['name']}: {check['says']}. False alarms: {check['false_alarms']}.",
        )
        for check in checks
    ]
    return [tag("h2", "Checks of the study"), tag("ul", *said)] if said else []


def _recommended(best: RecommendationRow | None) -> Markup:
    if best is None:
        return tag("p", "No arm can be recommended yet: none has enough rows.", at={"class": "box"})
    return tag("p", recommended(best), at={"class": "lead box"})


def _alarm(found: SetRow) -> Markup:
    said = (
        f" the set {braces(found['variables'])} no longer holds on recent rows, as row {found['alarm_row']:,} showed. "
        "What it taught may be out of date."
    )
    return tag("p", tag("b", "Alarm:", at={"class": "fails"}), said, at={"class": "box fails"})


def _missing(gaps: dict[str, int]) -> Markup:
    if not gaps:
        return Markup()
    told = ", ".join(f"{name} in {count:,} rows" for name, count in gaps.items())
    return soft(f"Missing: {told}. A row counts for the sets whose variables it has.")


def _interval(row: IntervalRow) -> Interval | None:
    mean, low, high = row["mean"], row["low"], row["high"]
    return None if mean is None or low is None or high is None else (mean, low, high)


def _arms_figure(arms: list[ArmRow]) -> Markup:
    shown = arms[:MOST_ARMS]
    figure = intervals(
        [row["arm"] for row in shown],
        [_interval(row) for row in shown],
        [_interval(row["without_sharing"]) for row in shown],
        mark=next((row["mean"] for row in arms if row.get("is_control")), None),
    )
    more = f" The best {MOST_ARMS} of {len(arms)} arms." if len(arms) > MOST_ARMS else ""
    line = " Broken line: the control." if any(row.get("is_control") for row in arms) else ""
    words = f"Thick: with sharing. Thin: what the arm's own rows alone would say.{line}{more}"
    return markup([figure, soft(words)])


def _sets(sets: list[SetRow]) -> Markup:
    return sheet_table(sets_sheet(sets)) if sets else soft("This policy shares nothing: it looks for no sets.")


def _evidence(over_time: EvidenceCourse) -> Markup:
    rows = over_time["rows"]
    learnt = any(chance is not None for each in over_time["sets"] for chance in each["probability"])
    kept = [each for each in over_time["sets"] if each["variables"] or not learnt]  # {} is a level to shrink to
    shown = kept[:MOST_SETS]
    by_nats = any(nats is not None for each in shown for nats in each["nats"])
    series = [(braces(each["variables"]), _course(each, learnt=learnt, by_nats=by_nats)) for each in shown]
    if len(rows) < 2 or not any(value is not None for _, values in series for value in values):
        return soft("Too few rows to show a course.")
    if learnt:
        figure = lines(rows, series, low=0, high=1, mark=0.5, ends=("0", "1"), label=EVIDENCE)
        note = "The probability that each set separates; above the broken line it is more likely than not."
    elif by_nats:
        figure = lines(rows, series, low=-10, high=10, mark=1.0, ends=("-10", "10"), label=EVIDENCE)
        note = "Nats that speak for each set, of the lever for which they are fewest; the broken line is 1."
    else:
        figure = lines(rows, series, low=-6, high=0, mark=math.log10(0.05), ends=("1e-06", "1"), label=EVIDENCE)
        note = "The smallest p-value of each set over the rows, on a logarithmic scale; the broken line is 0.05."
    sets = len(kept)
    return markup([figure, soft(note + (f" The first {MOST_SETS} of {sets} sets." if sets > MOST_SETS else ""))])


def _course(each: SetCourse, *, learnt: bool, by_nats: bool) -> list[float | None]:
    if learnt:
        return each["probability"]
    return _nats(each["nats"]) if by_nats else _logs(each["p_value"])


def _logs(p_values: list[float | None]) -> list[float | None]:
    return [None if p is None else max(math.log10(max(p, 1e-6)), -6.0) for p in p_values]


def _nats(values: list[float | None]) -> list[float | None]:
    return [None if nats is None else min(max(nats, -10.0), 10.0) for nats in values]
