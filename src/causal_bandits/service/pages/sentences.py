"""What is known, how sure, and what to do: one plain sentence."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...problem import Problem
from ...reporting.axes import Unit
from .naming import ArmNames, short
from .views import View

NAMED_ARMS = 4
NOTHING = "Nothing is known yet: no arm has enough rows. Ask for decisions and tell their outcomes."


class Answer(NamedTuple):
    """The answer to: what shall I do?"""

    action: str
    """stop, good enough, drop, go on or wait."""
    says: str
    segment: str
    progress: float | None
    """The share of the evidence that a stop needs; None before any arm has rows enough."""
    guarantee: str


def answers(view: View) -> list[Answer]:
    """One for the study, or one for each segment."""
    advices: list[Any] = view.about.get("advices", [view.about["advice"]])
    return [_answer(view, advice) for advice in advices]


def unit_of(problem: Problem) -> Unit:
    """Rewards of 0 or 1 have rates."""
    return Unit(percent=problem.reward.kind == "binary")


def _answer(view: View, advice: Mapping[str, Any]) -> Answer:
    names, unit = view.names, unit_of(view.problem)
    segment = advice.get("segment") or {}
    where = names.segment_of(segment)
    rows = [row for row in view.about["arms"] if not segment or row.get("segment") == segment]
    playing = sum(row.get("status") not in ("retired", "forbidden") for row in rows)
    if advice["arm"] is None or not view.about["rows"]:
        return Answer("wait", NOTHING, where, None, "")
    row = next(row for row in rows if row["settings"] == advice["arm"])
    leads = _worth(row, names, unit, view.about["target"])
    sure = f"{100 * advice['confidence']:.3g}% confidence"
    less = " after costs" if less_costs(view) else ""
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
        gone = _listed(advice["drop"], names)
        control = " The control is among them; keep it if you still need lifts." if advice["drops_control"] else ""
        says = f"Retire {gone}: not the best{less}, with {sure}.{control} Then continue; {_ahead(leads, advice, unit)}"
    else:
        says = f"Keep going: {_ahead(leads, advice, unit)}"
    return Answer(advice["action"], says, where, advice["progress"], advice["guarantee"])


def less_costs(view: View) -> str:
    """What to add to the name of an effect where arms have costs: means are as they are, differences less costs."""
    return ", less costs" if any(row.get("cost") for row in view.about["arms"]) else ""


def _ahead(leads: str, advice: Mapping[str, Any], unit: Unit) -> str:
    """Which arm leads, and what stopping now would risk."""
    if advice["probability_best"] is None:
        return f"{leads} leads."
    chance, loss = chance_words(advice["probability_best"]), unit.change(advice["expected_loss"]).lstrip("+-")
    return (
        f"{leads} leads and is the best arm with a probability of {chance}. "
        f"Deploying it now is expected to lose {loss} per decision against the best arm."
    )


def _worth(row: Mapping[str, Any], names: ArmNames, unit: Unit, target: str) -> str:
    mean, ends = unit.show(row["mean"]), (row["low"], row["high"])
    between = "" if None in ends else f", {unit.show(ends[0])} to {unit.show(ends[1])}"
    return f"{names.of(row['settings'])} ({short(target, 40)} {mean}{between})"


def _listed(dropped: list[dict[str, Any]], names: ArmNames) -> str:
    shown = ", ".join(names.of(settings) for settings in dropped[:NAMED_ARMS])
    more = len(dropped) - NAMED_ARMS
    return shown + (f" and {more} more" if more > 0 else "")


def chance_words(probability: float) -> str:
    """A probability from draws; never certain.

    >>> chance_words(0.624), chance_words(1.0), chance_words(0.0)
    ('62%', 'over 99%', 'under 1%')
    """
    if probability >= 0.995:
        return "over 99%"
    return "under 1%" if probability < 0.005 else f"{100 * probability:.0f}%"
