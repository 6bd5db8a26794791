"""Interrupts at random moments of an ask/tell loop: none may leave a study unusable, locked, or with a wrong history.

Half of them are KeyboardInterrupt, half an error raised by an alarm. `python -m benchmarks.reliability` does the long
run, 2,000 interrupts on SQLite and 500 on PostgreSQL; the tests do a short one.
"""

import signal
from collections import Counter
from typing import NamedTuple

import numpy as np

from benchmarks.reliability import PROBLEM, answer, create
from causal_bandits import Study
from causal_bandits.errors import CausalBanditsError
from causal_bandits.product.studies.storage import connections


class Interrupted(NamedTuple):
    """What a run of interrupts showed."""

    interrupts: int
    acknowledged: int
    bricked: int
    """Interrupts after which this study, or another one on the same storage, could not continue at once."""
    lost: int
    doubled: int
    unacknowledged: int
    """Stored, and the interrupt came before the answer."""


class TimeLimitError(Exception):
    """What a time limit raises: an ordinary exception, at any moment."""


def interrupt_studies(storage: str, interrupts: int, seed: int, longest: float = 0.004) -> Interrupted:
    """Interrupt one loop again and again; after each interrupt somebody else must be able to write at once."""
    study, other = create(storage), create(storage)
    rng = np.random.default_rng(seed)
    promised: Counter[tuple[str, int, int]] = Counter()
    pending: list[int] = []
    kept: list[BaseException] = []  # as an interactive session does: the traceback keeps what it refers to
    done = bricked = 0
    study.tell(study.ask().id, answer(1))  # compiled before the first interrupt
    promised.update([("asked", 1, _arm(study, 1)), ("told", 1, 0)])

    def strike(number: int, _frame: object) -> None:
        raise KeyboardInterrupt if done % 2 else TimeLimitError

    before = signal.signal(signal.SIGALRM, strike)
    try:
        while done < interrupts:
            try:
                # Again and again: SQLAlchemy logs and drops an error that comes while it closes a cursor.
                signal.setitimer(signal.ITIMER_REAL, rng.random() * longest + 1e-5, 0.1)
                while True:
                    _round(study, promised, pending)
            except (KeyboardInterrupt, TimeLimitError) as error:
                signal.setitimer(signal.ITIMER_REAL, 0)
                kept[:] = [error]
            done += 1
            bricked += not _both_go_on((other, study), promised, pending)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return _judged(storage, done, bricked, promised)


def _round(study: Study, promised: Counter[tuple[str, int, int]], pending: list[int]) -> None:
    if len(pending) < 3:
        decision = study.ask()
        pending.append(decision.id)
        promised["asked", decision.id, PROBLEM.index(decision.arm)] += 1
        return
    number = pending[0]  # told again if the interrupt came before the answer: the same again changes nothing
    study.tell(number, answer(number))
    del pending[0]
    promised["told", number, 0] += 1


def _both_go_on(studies: tuple[Study, ...], promised: Counter[tuple[str, int, int]], pending: list[int]) -> bool:
    """Whether each can ask; a database that is busy for a second counts as locked forever."""
    usual, connections.RETRY_SECONDS = connections.RETRY_SECONDS, 1.0
    try:
        for each in studies:
            decision = each.ask()
            promised["asked", decision.id, PROBLEM.index(decision.arm)] += 1
            pending.append(decision.id)
    except CausalBanditsError:
        return False
    finally:
        connections.RETRY_SECONDS = usual
    return True


def _arm(study: Study, number: int) -> int:
    row = study.to_frame().row(number - 1, named=True)
    return PROBLEM.index({"i": row["i"], "j": row["j"]})


def _judged(storage: str, done: int, bricked: int, promised: Counter[tuple[str, int, int]]) -> Interrupted:
    frame = Study.load("s", storage=storage).to_frame()
    arms = {row["id"]: PROBLEM.index({"i": row["i"], "j": row["j"]}) for row in frame.to_dicts()}
    status = dict(zip(frame["id"], frame["status"], strict=True))
    lost = sum(
        arms.get(number) != arm if what == "asked" else status.get(number) != "told" for what, number, arm in promised
    )
    doubled = sum(count - 1 for count in promised.values()) + len(frame) - len(status)
    asked = sum(what == "asked" for what, _, _ in promised)
    told = sum(what == "told" for what, _, _ in promised)
    extra = len(frame) - asked + Counter(frame["status"])["told"] - told
    return Interrupted(done, sum(promised.values()), bricked, lost, doubled, extra)
