"""How a decision was asked for: the state that decided, among which arms, with which random numbers."""

from typing import NamedTuple

import numpy as np

from ...errors import StorageError, UnknownDecisionError
from .high_throughput.deriving import AskMade, asks_in
from .segments import asked_among
from .session import Session
from .state import StudyState


class Asking(NamedTuple):
    """One decision of an ask."""

    then: StudyState
    """The state that decided."""
    arm: int
    time: float
    among: list[int] | None
    before: int
    """Decisions of the same ask before this one."""
    ask: AskMade

    @property
    def random(self) -> np.random.Generator | None:
        """Fresh random numbers of the ask; None for those that the state itself has."""
        return self.ask.random(self.then.settings.seed)


def asking(session: Session, number: int) -> Asking:
    """Replay the study up to the state that decided; one of high-throughput mode is derived again and compared."""
    arm, seq, time = session.read(
        lambda state: [state.decisions.column(name)[number - 1].item() for name in ("arm", "seq", "asked")]
    )
    asks = asks_in(session.event(seq))
    ask = next((each for each in asks if each.first <= number < each.first + len(each.arms)), None)
    if ask is None:
        raise UnknownDecisionError(
            f"decision {number} was set aside, since the log has it in a form that cannot be counted; see health()"
        )
    then = session.at(ask.version + 1)
    if ask.key is not None and ask.chosen(then) != ask.arms:
        raise StorageError(
            f"decision {number} cannot be derived again: version {ask.version} chooses another arm for its key; "
            "it was decided by another release, or with code of another kind of processor"
        )
    return Asking(then, arm, time, asked_among(then.problem, ask.about), number - ask.first, ask)
