"""Compile all that a study needs, by running one: what is compiled depends on types, not on what users do."""

import contextlib
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core.compiled import cache, compiling_first
from ...core.independence.drift import FIRST, find_drift
from ...core.problem import Level, Problem
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
            uses = _uses(study, rng)
            for index, (what, use) in enumerate(uses.items()):
                tell(f"{study.policy_name}: {what}", index, len(uses))
                use()
            name = study.policy_name
        with Study.load("warm-up", storage=storage) as again:
            again.estimates()
    return Warmed(name, time.perf_counter() - begun)


def kept_in() -> str | None:
    """The folder that compiled code is kept in, or below; None if there is none."""
    found = cache.folder()
    return None if found is None else str(found)


def _outcome(problem: Problem, rng: np.random.Generator) -> dict[str, Any]:
    seen: dict[str, Any] = {
        each.name: float(rng.normal()) if each.is_number else each.levels[int(rng.integers(each.size))]
        for each in problem.observed
    }
    return {**seen, problem.target: _reward(problem, rng)}


def _reward(problem: Problem, rng: np.random.Generator) -> Level:
    return problem.reward.levels[rng.integers(2)] if problem.reward.levels else int(rng.integers(2))


def _uses(study: Study, rng: np.random.Generator) -> dict[str, Callable[[], None]]:
    """What people do with a study, in words."""
    problem = study.problem
    segment = problem.segment_settings[0] if problem.segments else None

    def ask_and_tell() -> None:
        for decision in (study.ask(segment=segment), *study.ask(2, segment=segment)):
            study.tell(decision, _outcome(problem, rng))

    def miss_values() -> None:
        for decision in study.ask(2, segment=segment):
            with contextlib.suppress(ObservationError):  # a policy that needs complete rows
                study.tell(decision, reward=_reward(problem, rng), final=True)
        study.ask(segment=segment)

    def import_rows() -> None:
        arms = problem.arms
        chosen = [arms[index % len(arms)] for index in range(max(ROWS, 3 * min(len(arms), ROWS)))]
        study.import_rows([{**arm, **_outcome(problem, rng)} for arm in chosen])

    def report() -> None:
        study.estimates()
        study.recommend()
        study.separating_sets(rejected=True)
        study.describe(history=True)
        find_drift(np.zeros(FIRST, dtype=np.int64), rng.random(FIRST), np.ones(1), seed=(0,))  # arms have too few rows

    def explain() -> None:
        study.explain(study.ask(segment=segment))
        study.ask(arms=[arm.lever_arm for arm in problem.arms[:2]], segment=segment)

    return {
        "ask and tell": ask_and_tell,
        "missing values": miss_values,
        "import rows": import_rows,
        "ask and tell after many rows": ask_and_tell,
        "estimates and reports": report,
        "explanations": explain,
    }
