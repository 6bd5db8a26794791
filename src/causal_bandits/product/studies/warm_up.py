"""Compile all that a study needs, by running one: what is compiled depends on types, not on what users do."""

import contextlib
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core.compiled import cache, compiling_first
from ...core.independence.drift import FIRST, find_drift
from ...core.problem import Level, Problem, Segment, Variable
from ...errors import ObservationError
from .study import Study

ROWS = 300
"""Imported rows: enough for cut points to be learned, and for rows to be counted at once."""


class Warmed(NamedTuple):
    """A policy whose code is compiled and kept, and how long that took."""

    policy: str
    seconds: float


def warm_up(
    problem: Problem,
    *,
    policy: str | None = None,
    options: dict[str, Any] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Warmed:
    """Run a short study of a problem in a temporary database, to compile and cache everything that it needs.

    Args:
        problem: The problem of the studies to come.
        policy: Preset or policy name; "safe" by default.
        options: Options of a policy given by name.
        progress: Called with (what, parts done, all parts) while it works.
    """
    begun = time.perf_counter()
    tell = progress or (lambda *_: None)
    rng = np.random.default_rng(0)
    with compiling_first(), tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{folder}/warm-up.db"
        with Study.create("warm-up", problem, storage=storage, policy=policy, options=options, seed=0) as study:
            for index, (what, use) in enumerate(USES.items()):
                tell(f"{study.policy_name}: {what}", index, len(USES))
                use(study, rng)
            name = study.policy_name
        with Study.load("warm-up", storage=storage) as again:
            again.estimates()
    return Warmed(name, time.perf_counter() - begun)


def kept_in() -> str | None:
    """The folder that compiled code is kept in, or below; None if there is none."""
    found = cache.folder()
    return None if found is None else str(found)


def _value(variable: Variable, rng: np.random.Generator) -> Any:
    return float(rng.normal()) if variable.is_number else variable.levels[int(rng.integers(variable.size))]


def _outcome(problem: Problem, rng: np.random.Generator) -> dict[str, Any]:
    seen = {variable.name: _value(variable, rng) for variable in problem.observed}
    return {**seen, problem.target: _reward(problem, rng)}


def _reward(problem: Problem, rng: np.random.Generator) -> Level:
    return problem.reward.levels[rng.integers(2)] if problem.reward.levels else int(rng.integers(2))


def _segment(study: Study) -> Segment | None:
    return study.problem.segment_settings[0] if study.problem.segments else None


def _answer(study: Study, rng: np.random.Generator) -> None:
    segment = _segment(study)
    for decision in (study.ask(segment=segment), *study.ask(2, segment=segment)):
        study.tell(decision, _outcome(study.problem, rng))


def _miss(study: Study, rng: np.random.Generator) -> None:
    for decision in study.ask(2, segment=_segment(study)):
        with contextlib.suppress(ObservationError):  # a policy that needs complete rows
            study.tell(decision, reward=_reward(study.problem, rng), final=True)
    study.ask(segment=_segment(study))


def _log(study: Study, rng: np.random.Generator) -> None:
    arms = study.problem.arms
    chosen = [arms[index % len(arms)] for index in range(max(ROWS, 3 * min(len(arms), ROWS)))]
    study.import_rows([{**arm, **_outcome(study.problem, rng)} for arm in chosen])


def _look(study: Study, rng: np.random.Generator) -> None:
    study.estimates()
    study.recommend()
    study.separating_sets(rejected=True)
    study.describe(history=True)
    find_drift(np.zeros(FIRST, dtype=np.int64), rng.random(FIRST), np.ones(1), seed=(0,))  # no arm has enough rows here


def _explain(study: Study, rng: np.random.Generator) -> None:
    study.explain(study.ask(segment=_segment(study)))
    study.ask(arms=[arm.lever_arm for arm in study.problem.arms[:2]], segment=_segment(study))


USES: dict[str, Callable[[Study, np.random.Generator], None]] = {
    "ask and tell": _answer,
    "missing values": _miss,
    "import rows": _log,
    "ask and tell after many rows": _answer,
    "estimates and reports": _look,
    "explanations": _explain,
}
"""What people do with a study, in words."""
