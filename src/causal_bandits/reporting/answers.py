"""What a study advises, in the sentences that its pages and its report have in common."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..core.markup import chance_words
from .axes import PLAIN, RATE, Unit, seconds_of, time_words
from .described import AdviceRow, ArmRow, StudyDescription
from .sheets import segment_of
from .text import short

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
