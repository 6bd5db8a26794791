"""A study as pages show it: names of arms, fields of forms, templates, and what is kept until the study changes.

What is known today is read again after every event. Its history is a replay of all rows; where that takes long it
is made again only when there are enough new rows for it to look different.
"""

import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jinja2

from ....core.markup import (
    Markup,
    braces,
    breaks,
    chance_words,
    in_path,
    number,
    printable,
    through_words,
    weight_words,
)
from ....core.problem import Arm, Level, Problem, Variable
from ....core.serialization import to_json
from ....errors import CausalBanditsError
from ....reporting import charts
from ....reporting.axes import RATE, interval_of
from ....reporting.courses import (
    ChanceCourse,
    EvidenceCourse,
    chances_over_time,
    with_newest_chances,
    with_newest_evidence,
)
from ....reporting.described import StudyDescription, in_display_names
from ....reporting.sheets import evidence_of, pending_words, state_of
from ....reporting.study_page import LONGEST_ARM, best_arms
from ....reporting.text import short
from ...studies import TRANSACTIONAL, Study
from ...studies.deciding import open_arms
from ...studies.describe import add_history, described, times_of_rows
from ...studies.history import mark_of
from ...studies.state import StudyState, pack, restore

log = logging.getLogger("causal_bandits.service")

# Names of arms


def arm_name(problem: Problem, settings: Mapping[str, Level]) -> str:
    """An arm in words: every lever with its level, then its segment, as people call them."""
    arm = Arm(settings, problem.idle_settings, problem.segments, problem.names)
    return short(arm.label, LONGEST_ARM)


# Fields of forms that name arms: one for each lever and segment, where an empty one stands for any level


MOST_OPTIONS = 100
"""Levels of a lever in a list; one with more has a field to type in."""
LEVER = "lever "
"""How the field of a lever begins."""

Given = Mapping[str, str]


def choices(problem: Problem) -> list[tuple[Variable, list[tuple[str, str]]]]:
    """Every lever and segment with the names of its levels by their values; none for a field to type in."""
    return [
        (variable, [(str(level), problem.name_of(variable.name, level)) for level in variable.levels])
        if variable.size <= MOST_OPTIONS
        else (variable, [])
        for variable in problem.interventions
    ]


def pattern_of(problem: Problem, given: Given) -> dict[str, Any]:
    """The arms that the fields name."""
    found: dict[str, Any] = {}
    for variable in problem.interventions:
        text = given.get(LEVER + variable.name, "")
        found[variable.name] = variable.levels[variable.code(text)] if text else ...
    return found


# Templates; everything that is put into them is escaped


HERE = Path(__file__).parent.parent
STATIC = HERE / "static"


def progress(share: float) -> Markup:
    """A bar that fills up."""
    return charts.bars([(share, "own"), (1 - share, "rest")], f"{share:.0%}")


@cache
def environment() -> jinja2.Environment:
    """The templates, with escaping everywhere and no names that are not given."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        {each.__name__: each for each in (in_path, printable, short, braces, breaks, progress, number)},
        rate=RATE.show,
        key=charts.key,
        pending=pending_words,
        through=through_words,
        chance=chance_words,
        weight=weight_words,
        state=state_of,
        evidence=evidence_of,
        json=to_json,
    )
    made.globals.update(infinity=math.inf, arm_name=arm_name)
    return made


def render(template: str, /, **values: Any) -> str:
    """One page; control characters in names are spelled out wherever they are, in tooltips too."""
    return printable(environment().get_template(template).render(**values), keep="\n\t")


# What is kept


MOST_KEPT = 100
MOST_LINES = 7
"""Arms that have their own color."""
LONG_SECONDS, GROWTH = 0.1, 1.05
LARGE = 2_000_000
"""Rows times arms."""


class View(NamedTuple):
    """A study at one moment."""

    mark: str
    """Of everything that it counts."""
    about: StudyDescription
    problem: Problem
    colored: tuple[int, ...]
    """Arms with their own color, by number, in the order of the colors."""
    chances: ChanceCourse
    times: list[str]
    """When there were as many rows as in `chances`."""
    explained: dict[int, Any]
    """Explanations of decisions, which never change."""
    is_newest: bool = True
    """False where something happened since, or the history is not drawn yet; a newer view is being made."""


class _Kept(NamedTuple):
    view: View
    course: EvidenceCourse
    """As `Study.describe` has it; the view has names that people read."""
    rows: int
    """In the courses."""
    seconds: float
    """What making the courses took."""
    again: float
    """When a view of a large study may be made again, by the monotonic clock."""


class Views:
    """The newest views of studies, by name and time of creation; any number of threads may ask.

    A view of a large study takes seconds. Once there is one, it is shown while another thread makes the next. The first
    one has no history of P(best), for which the policy learns everything again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._one_at_a_time = threading.Lock()
        self._kept: OrderedDict[tuple[str, datetime], _Kept] = OrderedDict()
        self._making: set[tuple[str, datetime]] = set()

    def of(self, study: Study) -> View:
        """A view that is not older than this call, unless the study is large."""
        key, mark = (study.name, study.created), mark_of(study._session)
        kept = self.kept(key)
        if kept is not None and kept.view.mark == mark and kept.view.is_newest:
            return kept.view
        if kept is None or not is_large(kept.view):
            if study._session.read(lambda state: state.policy.rows * len(state.problem.arms)) < LARGE:
                return self._keep(key, study._session.read(lambda state: _made(study, state, mark, kept)))
            with self._one_at_a_time:  # whoever looks waits, those who ask for decisions do not
                kept = self.kept(key)
                if kept is None or kept.view.mark != mark:
                    kept = _made(study, _copied(study), mark, kept, draws_chances=False)._replace(rows=0, again=0.0)
                    self._keep(key, kept)
        self._make_soon(key, study, kept)
        return kept.view._replace(is_newest=False)

    def kept(self, key: tuple[str, datetime]) -> _Kept | None:
        """What was seen last, old or not."""
        with self._lock:
            return self._kept.get(key)

    def _keep(self, key: tuple[str, datetime], made: _Kept) -> View:
        with self._lock:
            self._kept[key] = made
            self._kept.move_to_end(key)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return made.view

    def _make_soon(self, key: tuple[str, datetime], study: Study, kept: _Kept) -> None:
        """Make a newer view in another thread, from a copy of the state, so that nobody waits for it."""
        with self._lock:
            if key in self._making or time.monotonic() < kept.again:
                return
            self._making.add(key)

        def work() -> None:
            try:
                mark = mark_of(study._session)
                self._keep(key, _made(study, _copied(study), mark, kept))
            except CausalBanditsError as error:
                log.warning("the pages of study %r are not up to date: %s", study.name, error)
            finally:
                with self._lock:
                    self._making.discard(key)

        threading.Thread(target=work, name="view", daemon=True).start()


def _copied(study: Study) -> StudyState:
    """A copy of the state, so that nobody who asks waits while a view is made from it."""
    return study._session.read(lambda state: restore(state.settings, pack(state)))


def is_large(view: View) -> bool:
    """Whether looking at a study takes long: its size decides, so that the same study is always treated alike."""
    return view.about["rows"] * len(view.problem.arms) >= LARGE


def _made(study: Study, state: StudyState, mark: str, before: _Kept | None, *, draws_chances: bool = True) -> _Kept:
    started = time.monotonic()
    about = described(study._session, state, history=False)
    if study.mode != TRANSACTIONAL:
        about["staleness"] = study.staleness()._asdict()
    same = before is not None and len(before.view.problem.arms) == len(about["arms"])
    if before is not None and same and before.seconds > LONG_SECONDS and about["rows"] < GROWTH * before.rows:
        course = with_newest_evidence(before.course, state.policy)
        about["evidence_over_time"] = {**course, "times": times_of_rows(state, course["rows"])}
        about["decisions_over_time"] = before.view.about["decisions_over_time"]
        view = _up_to_now(before.view._replace(mark=mark, about=in_display_names(about)), state)
        return before._replace(view=view, course=course, again=_again(started))
    looked = time.monotonic()
    add_history(about, state)
    problem, colored = state.problem, _colored(about, state.problem)
    chances: ChanceCourse = {"rows": [], "arms": [*colored], "chances": []}
    if draws_chances:
        chances = chances_over_time(state.policy, colored, open_arms(state, None), state.cost)
    explained = {} if before is None else before.view.explained
    made = View(mark, in_display_names(about), problem, colored, chances, [], explained, is_newest=draws_chances)
    view = _up_to_now(made, state)
    return _Kept(view, about["evidence_over_time"], about["rows"], time.monotonic() - looked, _again(started))


def _again(started: float) -> float:
    """Views of large studies take a tenth of the time, at most."""
    now = time.monotonic()
    return now + 9 * (now - started)


def _up_to_now(view: View, state: StudyState) -> View:
    """The view whose last probabilities are those that the study states."""
    newest = {view.problem.index(row["arm"]): row["probability_best"] for row in view.about["arms"]}
    chances = with_newest_chances(view.chances, view.about["rows"], newest)
    return view._replace(chances=chances, times=times_of_rows(state, chances["rows"]))


def _colored(about: StudyDescription, problem: Problem) -> tuple[int, ...]:
    """The arms that are looked at most: those with the most decisions, the best ones, and the control."""
    rows = about["arms"]
    by_traffic = sorted(rows, key=lambda row: -row["decisions"])
    first = [row for row in best_arms(rows, 3) if interval_of(row) is not None]
    control = [row for row in rows if row["is_control"] or row["arm"] == problem.idle_settings]
    chosen = dict.fromkeys(problem.index(row["arm"]) for row in [*first, *control[:1], *by_traffic])
    return tuple(sorted(list(chosen)[:MOST_LINES]))
