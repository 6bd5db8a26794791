"""The page of a study and the page of an analysis, from plain values alone."""

import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..core.files import file_path, replacing
from ..core.markup import Markup, braces, chance_words, counted, markup, number, tag
from . import charts
from .axes import (
    PLAIN,
    RATE,
    Axis,
    Interval,
    Unit,
    counts_axis,
    interval_of,
    intervals_axis,
    seconds_of,
    time_axis,
    time_words,
)
from .charts import GREY, LEVEL, SHARES, Note, Series
from .courses import EvidenceCourse, SetCourse
from .described import (
    AdviceRow,
    AnalysisDescription,
    ArmRow,
    DecisionCourse,
    Known,
    SetRow,
    StudyDescription,
    in_display_names,
)
from .html import page, sheet_table, soft
from .sheets import (
    answer,
    arms_sheet,
    effects_sheet,
    lifts_sheet,
    other_notices,
    pending_words,
    segment_of,
    sets_sheet,
)
from .text import short, shortened
from .theme import PALETTE


def study_page(study: StudyDescription) -> str:
    """A study: `Study.describe(history=True)`."""
    study = in_display_names(study)
    decisions = study["decisions"]
    names = ("told", "open", "abandoned", "expired", *(["excluded"] if decisions["excluded"] else []))
    counts = ", ".join(f"{decisions[name]:,} {name}" for name in names)
    notes, course = notes_of(study["annotations"]), study["decisions_over_time"]
    parts = [
        tag("h1", study["title"]),
        tag("p", study["description"]) if study["description"] else Markup(),
        soft(
            f"Study {study['name']}: "
            f"{study['policy']}, seed {study['seed']}, since {time_words(seconds_of(study['created']))}. "
            f"{counted(decisions['all'], 'decision')} ({counts}); {counted(study['rows'], 'row')} counted."
        ),
        soft(pending_words(study["pending"])) if study["pending"]["rows"] else Markup(),
        *_answers(study),
        *_health(study),
        *_changes(study),
        *_what_is_known(study, unit_of(study["reward"]), notes=notes),
        tag("h2", "Decisions over time"),
        decisions_figure(course, most_chosen(course), notes),
        *_glossary(study),
        *_checks(study.get("health", [])),
    ]
    return page(study["title"], parts)


def write_study_page(study: StudyDescription, path: str | os.PathLike[str]) -> Path:
    """Write the page of a study to a file."""
    file = file_path(path)
    with replacing(file) as temporary:
        temporary.write_text(study_page(study), encoding="utf-8")
    return file


def analysis_page(analysis: AnalysisDescription) -> str:
    """An analyzed table: `Analysis.to_dict()`."""
    parts = [
        tag("h1", f"What decides {analysis['target']}?"),
        soft(f"{analysis['rows']:,} rows; levers {', '.join(analysis['interventions'])}{_segments(analysis)}."),
        tag("p", answer(analysis), at={"class": "lead box"}),
        *(tag("p", notice, at={"class": "box"}) for notice in other_notices(analysis)),
        *_what_is_known(analysis, PLAIN, lifts=analysis["assignment"]["causal"]),
        tag("h2", "What was inferred from the table"),
        tag("ul", *(tag("li", note) for note in analysis["inferred"])),
    ]
    return page(f"Analysis of {analysis['target']}", parts)


def _segments(analysis: AnalysisDescription) -> str:
    names = ", ".join(analysis.get("segments", []))
    return f"; segments {names}" if names else ""


def _glossary(study: StudyDescription) -> list[Markup]:
    """What people say of variables and levels."""
    said = [
        tag("li", tag("b", study.get("names", {}).get(key, key)), f": {text}")
        for key, text in study.get("descriptions", {}).items()
    ]
    return [tag("h2", "What the names mean"), tag("ul", *said)] if said else []


def _what_is_known(values: Known, unit: Unit, *, lifts: bool = True, notes: Sequence[Note] = ()) -> list[Markup]:
    """Shared by both pages: arms, sets and their evidence; lifts only if arms can be compared."""
    return [
        _missing(values["missing"]),
        tag(
            "h2",
            ("Arms, the best first" if lifts else "Arms, the highest mean first")
            + (" (mean less cost)" if any(row["cost"] for row in values["arms"]) else ""),
        ),
        arms_figure(values["arms"], unit),
        sheet_table(arms_sheet(values["arms"], unit)),
        *(_lifts(values, unit) if lifts else []),
        tag("h2", "Separating sets"),
        _sets(values["sets"]),
        *([soft(values["explained_variance"]["says"])] if "explained_variance" in values else []),
        tag("h2", EVIDENCE),
        evidence_figure(values["evidence_over_time"], notes),
    ]


def _lifts(values: Known, unit: Unit) -> list[Markup]:
    """Lifts over the control and effects of levels, if they can be estimated."""
    lifts, effects = lifts_sheet(values["arms"], unit), values.get("effects", [])
    parts = []
    if lifts is not None:
        parts += [tag("h2", lifts.title), sheet_table(lifts)]
    if effects:
        sheet = effects_sheet(effects, unit)
        parts += [tag("h2", sheet.title), sheet_table(sheet)]
    return parts


def _health(study: StudyDescription) -> list[Markup]:
    """The alarms of the study."""
    word = tag("b", "Alarm:", at={"class": "fails"})
    alarms = (each for each in study.get("health", []) if each["alarm"])
    return [tag("p", word, _check(each), at={"class": "box fails"}) for each in alarms]


def _check(check: Mapping[str, Any]) -> str:
    return f" {check['code']}: {check['says']}. False alarms: {check['false_alarms']}."


def _changes(study: StudyDescription) -> list[Markup]:
    """What was excluded or corrected."""
    said = [
        f"{_were(row['decisions'])} excluded on {time_words(seconds_of(row['time']))}: {row['reason']}"
        for row in study.get("exclusions", [])
    ]
    if study.get("corrected"):
        said.append(f"{_were(study['corrected'])} corrected")
    return [tag("h2", "Excluded and corrected"), tag("ul", *(tag("li", each + ".") for each in said))] if said else []


def _were(decisions: int) -> str:
    return f"{counted(decisions, 'decision')} {'was' if decisions == 1 else 'were'}"


def _checks(checks: list[dict[str, Any]]) -> list[Markup]:
    """Every check with its result and its false-alarm rate."""
    said = [
        tag("li", tag("b", check["word"], at={"class": "fails"} if check["alarm"] else None), _check(check))
        for check in checks
    ]
    return [tag("h2", "Checks of the study"), tag("ul", *said)] if said else []


def _answers(study: StudyDescription) -> list[Markup]:
    """What to do, for each segment where there are some, and the guarantee; how a finished study ended."""
    found, parts = answers(study), []
    for each in found:
        where = f"{each.segment}: " if each.segment else ""
        parts += [
            tag("p", where + each.says, at={"class": "lead box"}),
            *(soft(said) for said in [each.forecast] if said),
        ]
    return [*parts, *(soft(said) for said in dict.fromkeys(each.guarantee for each in found) if said)]


def _missing(gaps: dict[str, int]) -> Markup:
    if not gaps:
        return Markup()
    told = ", ".join(f"{name} in {counted(count, 'row')}" for name, count in gaps.items())
    return soft(f"Missing: {told}. A row counts for the sets whose variables it has.")


def _sets(sets: list[SetRow]) -> Markup:
    return sheet_table(sets_sheet(sets)) if sets else soft("This policy does not use separating sets.")


# What to do


LONGEST_ARM = 200
"""Letters of an arm; its middle is left out where it has more."""
NAMED_ARMS = 4
NOTHING = "No data yet: nothing is recommended. Ask for decisions and tell their outcomes."
TOO_FEW = "Nothing is recommended yet: no arm has enough rows."


class Answer(NamedTuple):
    """The recommended action."""

    action: str
    """stop, good enough, drop, continue, finished or wait."""
    says: str
    segment: str
    progress: float | None
    """The share of the evidence that a stop needs; None before any arm has rows enough."""
    guarantee: str
    forecast: str


def answers(about: StudyDescription) -> list[Answer]:
    """One for the study, or one for each segment; `about` has display names."""
    advices: list[Any] = about.get("advices", [about["advice"]])
    return [_answer(about, advice) for advice in advices]


def unit_of(reward: str) -> Unit:
    """Rewards of 0 or 1 have rates."""
    return RATE if reward == "binary" else PLAIN


def less_costs(about: StudyDescription) -> str:
    """What to add to the name of an effect where arms have costs: means are as they are, differences less costs."""
    return ", less costs" if any(row["cost"] for row in about["arms"]) else ""


def _answer(about: StudyDescription, advice: AdviceRow) -> Answer:
    unit, segment = unit_of(about["reward"]), advice.get("segment") or {}
    rows = [row for row in about["arms"] if not segment or row["segment"] == segment]
    where = short(segment_of(rows[0])) if segment else ""
    playing = sum(row["status"] not in ("retired", "forbidden") for row in rows)
    if advice["arm"] is None or not about["rows"]:
        waits = f"Nothing is recommended yet: {advice['held']}" if advice["held"] else NOTHING
        return Answer("wait", TOO_FEW if about["rows"] else waits, where, None, "", "")
    row = next(row for row in rows if row["arm"] == advice["arm"])
    leads = _worth(about, row, unit)
    if advice["action"] == "finished":
        chance = chance_words(advice["probability_best"])
        says = f"Finished on {time_words(seconds_of(advice['finished']))}. The winner is {leads}."
        sure = f" It is the best arm with a probability of {chance}."
        return Answer("finished", says + sure * (chance != "–"), where, None, "", "")
    sure = f"{100 * advice['confidence']:.3g}% confidence"
    less = " after costs" if less_costs(about) else ""
    if advice["action"] == "stop":
        near = unit.show(advice["margin"]) if advice["margin_share"] is None else f"{100 * advice['margin_share']:.3g}%"
        claim = "the best" if advice["is_best"] else f"within {near} of the best"
        says = f"Stop and deploy {leads}. It is {claim} of {playing} arms{less} with {sure}."
    elif advice["action"] == "good enough":
        says = (
            f"Good enough: deploying {leads} is expected to lose less than {100 * advice['tolerance']:.3g}% of the "
            f"control's mean{less}. This is an estimate, not a proof."
        )
    elif advice["action"] == "drop":
        gone = _listed([row for row in rows if row["arm"] in advice["drop"]])
        control = " The control is among them; keep it if you still need lifts." if advice["drops_control"] else ""
        says = f"Retire {gone}: not the best{less}, with {sure}.{control} Then continue; {_ahead(leads, advice, unit)}"
    else:
        says = f"Keep going: {_ahead(leads, advice, unit)}"
    return Answer(advice["action"], says, where, advice["progress"], advice["guarantee"], advice["forecast"])


def _ahead(leads: str, advice: Mapping[str, Any], unit: Unit) -> str:
    """Which arm leads, and what stopping now would risk."""
    if advice["probability_best"] is None:
        return f"{leads} leads."
    chance, loss = chance_words(advice["probability_best"]), unit.change(advice["expected_loss"]).lstrip("+-")
    return (
        f"{leads} leads and is the best arm with a probability of {chance}. "
        f"Deploying it now is expected to lose {loss} per decision against the best arm."
    )


def _worth(about: StudyDescription, row: ArmRow, unit: Unit) -> str:
    mean, ends = unit.show(row["mean"]), (row["low"], row["high"])
    between = "" if None in ends else f", {unit.show(ends[0])} to {unit.show(ends[1])}"
    return f"{_name(row)} ({short(about['target'], 40)} {mean}{between})"


def _name(row: ArmRow) -> str:
    return short(row["lever_label"], LONGEST_ARM)


def _listed(dropped: list[ArmRow]) -> str:
    more = len(dropped) - NAMED_ARMS
    return "; ".join(map(_name, dropped[:NAMED_ARMS])) + (f" and {more} more" if more > 0 else "")


# Figures: as wide as the page, with ticks and a grid


EVIDENCE = "Evidence as rows came in"
MOST_ARMS, MOST_SETS = 12, len(PALETTE)
"""That are drawn; tables have all of them."""
LONGEST_SET = 40
BY_PROBABILITY = (
    SHARES,
    RATE,
    (0.5, "one half"),
    "The probability that each set separates levers from the reward; above the broken line it is more likely than not.",
)
BY_NATS = (
    Axis(-10.0, 10.0, (-10.0, -5.0, 0.0, 5.0, 10.0), ("-10", "-5", "0", "5", "10")),
    PLAIN,
    (1.0, "1 nat"),
    "Evidence for each set as logarithms of odds (nats), for the lever with the weakest; the broken line is 1.",
)
BY_TESTS = (
    Axis(-6.0, 0.0, (-6.0, -4.0, -2.0, 0.0), ("1e-6", "1e-4", "0.01", "1")),
    PLAIN,
    (math.log10(0.05), "p = 0.05"),
    "The smallest p-value of each set, on a logarithmic scale; the broken line is 0.05.",
)


def best_arms(arms: Sequence[ArmRow], most: int) -> Sequence[ArmRow]:
    """The first arms, at most `most` of them; of every segment the same number, where there are some."""
    segments = [tuple(row["segment"].items()) for row in arms]
    each, counts, shown = max(most // max(len({*segments}), 1), 1), Counter[Any](), []
    for row, segment in zip(arms, segments, strict=True):
        counts[segment] += 1
        if counts[segment] <= each:
            shown.append(row)
    return shown[:most]


def each_segment(arms: Sequence[ArmRow]) -> str:
    """What to add to "the best arms" where there are segments."""
    return ", the same number of each segment" if any(row["segment"] for row in arms) else ""


def arms_figure(arms: Sequence[ArmRow], unit: Unit) -> Markup:
    """Every arm with its interval with sharing, under it the one of its own rows, and the control across."""
    shown = best_arms(arms, MOST_ARMS)
    both = [(interval_of(row), interval_of(row, "own_")) for row in shown]
    if not any(each is not None for pair in both for each in pair):
        return soft("No arm has enough rows for an interval yet.")
    axis = intervals_axis([*shown, *(row for row in arms if row["is_control"])], unit)
    parts = []
    for row, (shared, alone) in zip(shown, both, strict=True):
        strip = charts.strip(axis, shared, alone, _level(arms, row), _said(row["label"], shared, alone, unit))
        parts += [tag("bdi", row["label"]), strip]
    figure = tag("div", *parts, tag("span"), charts.strip_axis(axis), at={"class": "strips"})
    more = f" The best {len(shown)} of {len(arms)} arms{each_segment(arms)}." if len(arms) > len(shown) else ""
    line = " Broken line: the control." if any(row["is_control"] for row in arms) else ""
    return markup([figure, soft(f"Thick: with sharing. Thin: from the arm's own rows alone.{line}{more}")])


def _level(arms: Sequence[ArmRow], row: ArmRow) -> float | None:
    """The mean of the control, in the arm's segment where there are some."""
    same = (each for each in arms if each["is_control"] and each["segment"] == row["segment"])
    return next((each["mean"] for each in same), None)


def _said(arm: str, shared: Interval | None, alone: Interval | None, unit: Unit) -> str:
    words = [arm]
    for name, each in (("with sharing", shared), ("own rows alone", alone)):
        if each is not None:
            mean, low, high = map(unit.show, each)
            words.append(f"{name}: {mean} ({low} – {high})")
    return "\n".join(words)


def notes_of(annotations: Sequence[Mapping[str, Any]]) -> list[Note]:
    """Annotations of a study as they are drawn: A, B, C, and so on."""
    times = [seconds_of(each["time"]) for each in annotations]
    return [
        Note(time, chr(ord("A") + place % 26), f"{time_words(time)}: {each['text']}")
        for place, (each, time) in enumerate(zip(annotations, times, strict=True))
    ]


def inside(x: Axis, notes: Sequence[Note]) -> list[Note]:
    """Those that an axis has room for."""
    return [note for note in notes if x.low <= note.at <= x.high]


def noted(notes: Sequence[Note]) -> list[tuple[str, str, str]]:
    """Annotations in a legend."""
    return [("noted-key", f"{note.letter}: {note.text}", "") for note in notes]


def over_time(
    series: Sequence[Series], times: Sequence[float], y: Axis, unit: Unit, names: Sequence[str], label: str,
    x_name: str, notes: Sequence[Note], *, ends: Sequence[float] = (), level: tuple[float, str] | None = None,
    show: Callable[[float | None], str] | None = None, axis: Axis | None = None,
) -> Markup:  # fmt: skip
    """A chart over time with its legend, whose values `show` may write in words, and its numbers.

    Where there is a time more than there are values, these are shares of the stretches in between. The axis ends where
    the times do, unless `ends` says otherwise; it may also be one of rows.
    """
    x = axis or time_axis((ends or times)[0], (ends or times)[-1])
    here, about = inside(x, notes), [x.name, *names]
    if len(times) > len(names):
        drawn = charts.shares(x, y, times, series, unit=unit, names=about, label=label, notes=here)
    else:
        drawn = charts.lines(x, y, times, series, unit=unit, names=about, label=label, notes=here, level=level)
    shown = [(each.color, each.name, (show or unit.show)(each.last)) for each in series]
    if level is not None:
        shown.append((LEVEL, level[1], ""))
    rows = [(name, *(unit.show(each.values[place]) for each in series)) for place, name in enumerate(names)]
    numbers = charts.numbers((x_name, *(each.name for each in series)), rows)
    return markup([drawn, charts.legend([*shown, *noted(here)]), numbers])


def stretches(course: DecisionCourse) -> list[str]:
    """Stretches of decisions in words."""
    both = zip((0, *course["until"]), course["until"], strict=False)
    return [
        f"until {time_words(seconds_of(time))}, decisions {start + 1:,} to {end:,}"
        for (start, end), time in zip(both, course["times"][1:], strict=True)
    ]


def decisions_figure(
    course: DecisionCourse, arms: Sequence[tuple[int, str, str]], notes: Sequence[Note] = ()
) -> Markup:
    """Which arms were chosen, over time: of each its number, name and color; the others are one gray block."""
    until, shares = course["until"], course["shares"]
    if not until or not until[-1]:
        return soft("No decision yet.")
    series = [Series(name, color, [row[number] for row in shares]) for number, name, color in arms]
    more = len(course["arms"]) - len(arms)
    if more > 0:
        others = [max(1.0 - sum(row[number] for number, _, _ in arms), 0.0) for row in shares]
        series.append(Series(counted(more, "other arm"), GREY, others))
    edges, label = [seconds_of(time) for time in course["times"]], "Share of decisions of each arm over time"
    return over_time(series, edges, SHARES, RATE, stretches(course), label, "stretch", notes)


def most_chosen(course: DecisionCourse) -> list[tuple[int, str, str]]:
    """The arms that were chosen most, each with a color."""
    total = [sum(row[arm] for row in course["shares"]) for arm in range(len(course["arms"]))]
    order = sorted(range(len(total)), key=lambda arm: -total[arm])[: len(PALETTE) - 1]
    return [(arm, course["arms"][arm], f"c{rank}") for rank, arm in enumerate(order)]


def evidence_figure(course: EvidenceCourse, notes: Sequence[Note] = ()) -> Markup:
    """The evidence for each set over time, and a caption."""
    rows = course["rows"]
    learnt = any(chance is not None for each in course["sets"] for chance in each["probability"])
    kept = [each for each in course["sets"] if each["variables"] or not learnt]  # {} is a level to shrink to
    by_nats = any(nats is not None for each in kept[:MOST_SETS] for nats in each["nats"])
    series = [
        Series(
            shortened(braces(each["variables"]), LONGEST_SET),
            f"c{place}",
            _evidence_values(each, learnt=learnt, by_nats=by_nats),
        )
        for place, each in enumerate(kept[:MOST_SETS])
    ]
    if len(rows) < 2 or not any(value is not None for each in series for value in each.values):
        return soft("Too few rows to show the evidence over time.")
    y, unit, level, note = BY_PROBABILITY if learnt else BY_NATS if by_nats else BY_TESTS
    times, names = [seconds_of(time) for time in course.get("times", [])], [f"row {row:,}" for row in course["rows"]]
    if times:
        axis, names = None, [f"{time_words(time)}, {name}" for time, name in zip(times, names, strict=True)]
    else:
        axis, times = counts_axis(rows[0], rows[-1]), [*map(float, rows)]
    drawn = over_time(series, times, y, unit, names, EVIDENCE, "rows", notes, level=level, axis=axis)
    more = f" The first {MOST_SETS} of {number(len(kept))} sets." if len(kept) > MOST_SETS else ""
    return markup([drawn, soft(note + more)])


def _evidence_values(each: SetCourse, *, learnt: bool, by_nats: bool) -> list[float | None]:
    """Probabilities, nats or logarithms of p-values, clipped to the range of the axis."""
    if learnt:
        return each["probability"]
    if by_nats:
        return [None if nats is None else min(max(nats, -10.0), 10.0) for nats in each["nats"]]
    return [None if p is None else max(math.log10(max(p, 1e-6)), -6.0) for p in each["p_value"]]
