"""How a case ended: fine, with one sentence, silently different, or with a raw error."""

import contextlib
import signal
import threading
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from causal_bandits import CausalBanditsError

Outcome = Literal["fine", "sentence", "different", "raw"]
OUTCOMES: tuple[Outcome, ...] = ("fine", "sentence", "different", "raw")
LONGEST = 4000
"""Characters of a sentence; one that repeats a whole table is none."""
SECONDS = 30.0
KEPT = 40
"""Failures that are kept with their story."""

T = TypeVar("T")


class SilentlyDifferentError(Exception):
    """After damage the software answered, and the answer is another one."""


class TooSlowError(BaseException):
    """A case that does not come to an end; not an Exception, so that nobody takes it for one of theirs."""


@dataclass
class Score:
    """What became of the cases of one room."""

    counts: Counter[Outcome] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, outcome: Outcome, story: str = "") -> None:
        """Count one case; failures are kept with their story."""
        self.counts[outcome] += 1
        if outcome in ("different", "raw") and len(self.failures) < KEPT:
            self.failures.append(f"{outcome}: {story}")

    @property
    def cases(self) -> int:
        """How many were tried."""
        return self.counts.total()

    @property
    def passed(self) -> bool:
        """Whether nothing was silently different and no error raw."""
        return not self.counts["different"] and not self.counts["raw"]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"cases": self.cases, **{name: self.counts[name] for name in OUTCOMES}, "failures": self.failures}


def is_sentence(error: BaseException) -> bool:
    """Whether an error is one of ours, on one line and of readable length."""
    text = str(error)
    return isinstance(error, CausalBanditsError) and 0 < len(text) <= LONGEST and "\n" not in text


@contextlib.contextmanager
def limited(seconds: float = SECONDS) -> Iterator[None]:
    """Give up after this many seconds; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def give_up(_signal: int, _frame: object) -> None:
        raise TooSlowError(f"not done after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def judge(score: Score, story: str, work: Callable[[], object], *, seconds: float = SECONDS) -> bool:
    """Do something hostile and count how it ended; True when it ended without an error."""
    try:
        with limited(seconds), warnings.catch_warnings():
            warnings.simplefilter("error")
            work()
    except SilentlyDifferentError as error:
        score.add("different", f"{story}: {error}")
    except (Exception, TooSlowError) as error:
        if is_sentence(error):
            score.add("sentence")
        else:
            where = traceback.extract_tb(error.__traceback__)
            ours = [frame for frame in where if "causal_bandits" in frame.filename] or list(where)
            last = f"{ours[-1].filename.rpartition('causal_bandits/')[2]}:{ours[-1].lineno}" if ours else "?"
            score.add("raw", f"{story}: {type(error).__name__} at {last}: {str(error)[:200]!r}")
    else:
        score.add("fine")
        return True
    return False
