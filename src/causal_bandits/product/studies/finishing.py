"""The end of a study: no decision is open any more, and its answer stays as it is."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ...core.markup import counted, printable
from ...core.policies import Recommendation
from ...core.policies.recommendation import Recommendations
from ...core.problem import Segment
from ...core.serialization import to_json
from ...errors import ConflictError, ObservationError
from ...reporting.described import StudyDescription
from .answers import frozen_answer, recommend
from .decisions import moment
from .describe import add_final_answers, described
from .session import Draft, Session
from .state import StudyState


@dataclass(frozen=True)
class Final:
    """How a study was finished.

    Args:
        time: When.
        decisions: The number of decisions until then.
        rows: The rows that the answer rests on.
        left_out: Decisions that were still open, or whose reward window was; they do not count.
        answer: What is recommended, for each segment where there are some; asks get it from then on.
    """

    time: datetime
    decisions: int
    rows: int
    left_out: int
    answer: Recommendation | Recommendations

    def __str__(self) -> str:
        were = "was" if self.left_out == 1 else "were"
        left = f"; {counted(self.left_out, 'open decision')} {were} left out" if self.left_out else ""
        best = [self.answer] if isinstance(self.answer, Recommendation) else [*self.answer]
        arms = "; ".join(each.arm.label for each in best)
        return printable(
            f"finished at {self.time.isoformat(timespec='seconds')} after {counted(self.decisions, 'decision')} and "
            f"{counted(self.rows, 'row')}{left}; the winner is {arms}"
        )


def finish(session: Session, draft: Draft) -> Final:
    """Close everything and add the event that has the answer and the report.

    A reward window that is still open would count a reward that may yet come as 0, and only counting those that came
    would favor them. So such decisions are closed without an outcome, as all others that are open.
    """
    state = draft.state
    if state.finished is not None:
        when = moment(state.finished.time).isoformat(timespec="seconds")
        raise ConflictError(f"study {session.row.name!r} was finished at {when}; a study is finished once")
    draft.close_windows()
    left_out = [*state.decisions.open]
    told = sum(state.problem.target in part for part in state.parts.values())
    if not state.policy.rows and told:
        raise ObservationError(
            f"no reward window has closed yet, so the {counted(told, 'reward')} on record do not count; finish when "
            "some windows have closed"
        )
    if left_out:
        draft.add("expired", {"ids": left_out})
    draft.touched = True
    answer = recommend(state)
    best = [answer] if isinstance(answer, Recommendation) else [*answer]
    body = {
        "left_out": len(left_out),
        "winners": [state.problem.index(each.arm) for each in best],
        "answer": to_json(answer),
        "report": to_json(described(session, state, history=True)),
    }
    draft.add("finished", body)
    final = final_of(state)
    assert final is not None
    return final


def final_of(state: StudyState) -> Final | None:
    """How a study was finished; None before that."""
    found = state.finished
    if found is None:
        return None
    rows = int(found.report["rows"])
    return Final(moment(found.time), found.decisions, rows, found.left_out, frozen_answer(state))


def final_or(state: StudyState, segment: Segment | None, margin: float | None) -> Recommendation | Any:
    """`recommend`, or what a finished study recommends."""
    if state.finished is None or margin is not None:
        return recommend(state, segment=segment, margin=margin)
    answer = frozen_answer(state)
    if segment is None or isinstance(answer, Recommendation):
        return answer
    wanted = state.problem.segment(segment)
    return next(each for each in answer if each.segment == wanted)


def frozen_report(state: StudyState) -> StudyDescription | None:
    """What the report of a finished study shows: all numbers of then, and how it ended; None before that."""
    if state.finished is None:
        return None
    report: StudyDescription = {**state.finished.report}  # type: ignore[typeddict-item]
    add_final_answers(report, state)
    return report
