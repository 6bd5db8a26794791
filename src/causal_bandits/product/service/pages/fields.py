"""Fields of forms that name arms: one for each lever and segment, where an empty one stands for any level."""

from collections.abc import Mapping
from typing import Any

from ....core.problem import Problem, Variable

MOST_OPTIONS = 100
"""Levels of a lever in a list; one with more has a field to type in."""
LEVER = "lever "
"""How the field of a lever begins."""

Given = Mapping[str, str]


def choices(problem: Problem) -> list[tuple[Variable, list[tuple[str, str]]]]:
    """Every lever and segment with the names of its levels by their values; none for a field to type in."""
    return [
        (variable, [(str(level), problem.name_of(variable.name, level)) for level in variable.levels])
        if variable.size <= MOST_OPTIONS
        else (variable, [])
        for variable in problem.interventions
    ]


def pattern_of(problem: Problem, given: Given) -> dict[str, Any]:
    """The arms that the fields name."""
    found: dict[str, Any] = {}
    for variable in problem.interventions:
        text = given.get(LEVER + variable.name, "")
        found[variable.name] = variable.levels[variable.code(text)] if text else ...
    return found
