"""A study as pages see it, kept until it changes.

What is known today is read again after every event. How it came about is a replay of all rows; where that takes long it
is made again only when there are so many more rows that it would look different.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from ...policies.overview import ChanceCourse, chances_over_time, with_newest_chances, with_newest_evidence
from ...problem import Problem
from ...reporting.described import StudyDescription
from ...studies import Newest, Study
from ...studies.state import StudyState
from .naming import ArmNames

T = TypeVar("T")

MOST_KEPT = 100
MOST_LINES = 7
"""Arms that have a colour of their own."""
LONG_SECONDS, GROWTH = 0.1, 1.05


class View(NamedTuple):
    """A study at one moment."""

    about: StudyDescription
    problem: Problem
    names: ArmNames
    coloured: tuple[int, ...]
    """Arms with a colour of their own, by number, in the order of the colours."""
    chances: ChanceCourse
    explained: dict[int, Any]
    """Explanations of decisions, which never change."""


class _Kept(NamedTuple):
    mark: Newest
    view: View
    rows: int
    """In the courses."""
    seconds: float
    """What making the courses took."""


class Views:
    """The newest views of studies, by name and time of creation; any number of threads may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, datetime], _Kept] = OrderedDict()

    def of(self, study: Study) -> View:
        """A view that is not older than this call."""
        key, mark = (study.name, study.created), study.newest
        kept = self.kept(key)
        if kept is not None and kept.mark == mark:
            return kept.view
        made = _made(study, mark, kept)
        with self._lock:
            self._kept[key] = made
            self._kept.move_to_end(key)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return made.view

    def kept(self, key: tuple[str, datetime]) -> _Kept | None:
        """What was seen last, old or not."""
        with self._lock:
            return self._kept.get(key)


def _made(study: Study, mark: Newest, before: _Kept | None) -> _Kept:
    about = study.describe()
    same = before is not None and len(before.view.problem.arms) == len(about["arms"])
    if before is not None and same and before.seconds > LONG_SECONDS and about["rows"] < GROWTH * before.rows:
        old = before.view.about
        about["evidence_over_time"] = with_newest_evidence(old["evidence_over_time"], about["rows"], about["sets"])
        about["decisions_over_time"] = old["decisions_over_time"]
        return before._replace(mark=mark, view=_up_to_now(before.view._replace(about=about)))
    started = time.perf_counter()
    about = study.describe(history=True)
    problem = study.problem
    coloured = _coloured(about, problem)
    chances = _read(study, lambda state: chances_over_time(state.policy, coloured, state.open_arms(None), state.cost))
    explained = {} if before is None else before.view.explained
    view = _up_to_now(View(about, problem, ArmNames(problem), coloured, chances, explained))
    return _Kept(mark, view, about["rows"], time.perf_counter() - started)


def _up_to_now(view: View) -> View:
    """The view whose last probabilities are those that the study states."""
    newest = {view.problem.index(row["settings"]): row.get("probability_best") for row in view.about["arms"]}
    return view._replace(chances=with_newest_chances(view.chances, view.about["rows"], newest))


def _read(study: Study, work: Callable[[StudyState], T]) -> T:
    return study._session.read(work)


def _coloured(about: StudyDescription, problem: Problem) -> tuple[int, ...]:
    """The arms that are looked at most: those with the most decisions, the best ones, and the control."""
    numbers = {str(arm): number for number, arm in enumerate(problem.arms)}
    rows = about["arms"]
    by_traffic = sorted(rows, key=lambda row: -row.get("decisions", 0))
    first = [row for row in rows[:3] if row["width"] is not None]
    control = [row for row in rows if row.get("is_control") or row["settings"] == problem.idle_settings]
    chosen = dict.fromkeys(numbers[row["arm"]] for row in [*first, *control[:1], *by_traffic])
    return tuple(sorted(list(chosen)[:MOST_LINES]))
