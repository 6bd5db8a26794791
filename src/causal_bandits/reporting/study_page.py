"""The page of a study and the page of an analysed table, from plain values alone."""

from typing import Any

from ..markup import Markup, braces, markup, tag
from ..policies.overview import AdviceRow, RecommendationRow, SetRow
from .described import AnalysisDescription, Known, StudyDescription
from .html import page, sheet_table, soft
from .lift_sheets import effects_sheet, lifts_sheet
from .page_figures import EVIDENCE, arms_figure, decisions_figure, evidence_figure
from .study_sheets import answer, arms_sheet, pending_words, recommended, sets_sheet


def study_page(study: StudyDescription) -> str:
    """A study: `Study.describe(history=True)`."""
    decisions = study["decisions"]
    counts = ", ".join(f"{decisions[name]:,} {name}" for name in ("told", "open", "abandoned", "expired"))
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
        decisions_figure(study["decisions_over_time"]),
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
        *_what_is_known(analysis, lifts=analysis["assignment"]["causal"]),
        tag("h2", "What was inferred from the table"),
        tag("ul", *(tag("li", note) for note in analysis["inferred"])),
    ]
    return page(f"Analysis of {analysis['target']}", parts)


def _segments(analysis: AnalysisDescription) -> str:
    names = ", ".join(analysis.get("segments", []))
    return f"; segments {names}" if names else ""


def _what_is_known(values: Known, *, lifts: bool = True) -> list[Markup]:
    """What both pages show: arms, sets and their evidence; lifts only where arms were compared fairly."""
    return [
        _missing(values["missing"]),
        tag(
            "h2",
            ("Arms, the best first" if lifts else "Arms, the highest mean first")
            + (" (mean less cost)" if any(row.get("cost") for row in values["arms"]) else ""),
        ),
        arms_figure(values["arms"]),
        sheet_table(arms_sheet(values["arms"])),
        *(_lifts(values) if lifts else []),
        tag("h2", "Separating sets"),
        _sets(values["sets"]),
        tag("h2", EVIDENCE),
        evidence_figure(values["evidence_over_time"]),
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


def _checks(checks: list[dict[str, Any]]) -> list[Markup]:
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


def _sets(sets: list[SetRow]) -> Markup:
    return sheet_table(sets_sheet(sets)) if sets else soft("This policy shares nothing: it looks for no sets.")
