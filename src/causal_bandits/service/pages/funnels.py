"""The funnel as a drawing and as tables."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...markup import Markup, tag
from ...problem import Problem
from ...reporting.axes import RATE, Unit
from ...studies.funnel import Difference, Funnel, Step
from .naming import short
from .sentences import unit_of

BOX = 76
"""The height of a box with the gap under it, in pixels, as the style sheet has it."""
MOST_BOXES = 8
MOST_STEPS = 200


class Node(NamedTuple):
    """A box of the drawing."""

    name: str
    note: str


class Drawing(NamedTuple):
    """Three columns of boxes, and the edges between them."""

    levers: list[Node]
    left: Markup
    mediators: list[Node]
    right: Markup
    reward: Node


class StepLine(NamedTuple):
    """A step in a table."""

    source: str
    level: str
    target: str
    effect: str
    between: str
    verdict: str


def drawing(found: Funnel, problem: Problem) -> Drawing:
    """The funnel at a glance: an edge is as thick as its strongest step, and broken where none is clear."""
    levers, mediators = found.levers[:MOST_BOXES], found.mediators[:MOST_BOXES]
    tall, unit = max(len(levers), len(mediators), 1), unit_of(problem)
    above, beside, middle = (tall - len(levers)) / 2, (tall - len(mediators)) / 2, (tall - 1) / 2
    first = [
        (_row(a, levers) + above, _row(b, mediators) + beside, _strongest(found.to_mediators, a, b))
        for a in levers
        for b in mediators
    ]
    second = [
        (_row(b, mediators) + beside, middle, _strongest(found.mediators_to_reward, b, found.reward)) for b in mediators
    ]
    return Drawing(
        [Node(short(name, 40), _note(found.levers_to_reward, name, found.reward, unit)) for name in levers],
        _edges(first, tall, unit=RATE),
        [Node(short(name, 40), "") for name in mediators],
        _edges(second, tall, unit=unit),
        Node(short(found.reward, 40), ""),
    )


def _row(name: str, names: Sequence[str]) -> float:
    return float(names.index(name))


def _strongest(steps: Sequence[Step], source: str, target: str) -> Step | None:
    known = [step for step in steps if step.source == source and step.target == target and step.effect is not None]
    return max(known, key=_strength, default=None)


def _strength(step: Step) -> float:
    """How many half intervals the effect is from 0."""
    effect = step.effect
    if effect is None or effect.value == 0:
        return 0.0
    return abs(effect.value) / (effect.high - effect.value) if effect.high > effect.value else math.inf


def _note(steps: Sequence[Step], source: str, target: str, unit: Unit) -> str:
    step = _strongest(steps, source, target)
    return "" if step is None or step.effect is None else f"{short(step.level, 24)}: {unit.change(step.effect.value)}"


def _edges(edges: Sequence[tuple[float, float, Step | None]], tall: int, *, unit: Unit) -> Markup:
    lines = []
    for start, end, step in edges:
        if step is None or step.effect is None:
            continue
        strength = _strength(step)
        thick = 1 if strength < 1 else 2 if strength < 2 else 3 if strength < 4 else 4
        look = "unclear" if not step.effect.is_clear else "rises" if step.effect.value > 0 else "falls"
        ys = {"y1": f"{BOX * (start + 0.5):.0f}", "y2": f"{BOX * (end + 0.5):.0f}"}
        said = f"{step.source}={step.level}: {_words(step, unit)}"
        lines.append(
            tag("line", tag("title", short(said, 200)), at={"class": f"edge {look} w{thick}", "x2": "100%", **ys})
        )
    height = str(BOX * tall)
    return tag("svg", *lines, at={"class": "edges", "width": "100%", "height": height, "aria-hidden": "true"})


def _words(step: Step, unit: Unit) -> str:
    what = step.target if step.outcome is None else f"{step.target}={step.outcome}"
    return f"{what} {unit.change(None if step.effect is None else step.effect.value)}"


def lines(steps: Sequence[Step], unit: Unit) -> list[StepLine]:
    """Steps in words, the first ones."""
    return [_step_line(step, unit if step.outcome is None else RATE) for step in steps[:MOST_STEPS]]


def _step_line(step: Step, unit: Unit) -> StepLine:
    target = step.target if step.outcome is None else f"{step.target}={step.outcome}"
    level = f"{step.level} instead of {step.base}"
    effect = step.effect
    if effect is None:
        return StepLine(short(step.source, 40), short(level), short(target, 60), "–", "no rows to compare", "")
    between = "" if effect.high == float("inf") else f"{unit.change(effect.low)} to {unit.change(effect.high)}"
    return StepLine(
        short(step.source, 40), short(level), short(target, 60), unit.change(effect.value), between, _verdict(effect)
    )


def _verdict(effect: Difference) -> str:
    return "not clear" if not effect.is_clear else "rises" if effect.value > 0 else "falls"
