"""Lu, Meisami and Tewari 2021: the rows of a question, the order of questions on trees and forests, what is played."""

import math
from typing import Any

import numpy as np
import pytest

from causal_bandits import DiscreteSCM, MixedGraph
from causal_bandits.research.comparators import LuTree
from causal_bandits.research.simulation import told
from tests.policies.comparators.plans import copies, rounds

CHAIN = MixedGraph(["A", "B", "C", "D", "E", "Y"], [("A", "B"), ("B", "C"), ("C", "D"), ("D", "E")])
FOREST = MixedGraph([*"ABCDEFG", "Y"], [("A", "B"), ("C", "D"), ("D", "E"), ("D", "F")])
"""A - B, a star around D, and G alone."""


def searching(world: DiscreteSCM, budget: int = 800) -> LuTree:
    policy = told("lu-tree", world, horizon=5000)(world.problem, gap=0.4, eps=0.4, budget=budget, seed=0)
    assert isinstance(policy, LuTree)
    return policy


def questions(policy: LuTree, world: DiscreteSCM) -> list[str]:
    """The variables asked about, in order."""
    asked: list[str] = []
    for _ in range(40):
        rounds(policy, world, policy.budget)
        now = policy.asking()
        if now is not None and now not in asked:
            asked.append(now)
    return asked


def test_the_rows_of_a_question() -> None:
    """B for n = 5, K = 2, gap = eps = .2, delta = .05: 800 ln(1600) = 5902.2 > 50 ln(16000); B of their Lemma 1."""
    world = copies(MixedGraph(CHAIN.nodes, [*CHAIN.directed, ("E", "Y")]))
    policy = told("lu-tree", world, horizon=5000)(world.problem)
    assert isinstance(policy, LuTree)
    assert policy.budget == math.ceil(32 / 0.2**2 * math.log(8 * 5 * 2 / 0.05)) == 5903
    narrow = told("lu-tree", world, horizon=5000)(world.problem, gap=0.9, eps=0.1)
    assert isinstance(narrow, LuTree)
    assert narrow.budget == math.ceil(2 / 0.1**2 * math.log(8 * 5**2 * 2**2 / 0.05))
    assert "heuristic" not in policy.hints
    assert "forest" in policy.hints
    assert "100 rows per question is a heuristic (the paper's: 5903)" in LuTree(**_told(world), budget=100).hints


def _told(world: DiscreteSCM) -> dict[str, Any]:
    factory = told("lu-tree", world, horizon=5000)
    return {"problem": world.problem, **factory.keywords}  # type: ignore[attr-defined]


@pytest.mark.parametrize("parent", "ABCDE")
def test_it_finds_the_parent_with_few_questions(parent: str) -> None:
    """A chain of five: the central node, then a half; at most three questions, and the parent's values are played.

    Null: a comparison errs when a difference with standard error .025 is off by .09 or more (the weakest effect is
    .295, the threshold .2): below 3e-4 each, at most 12 of them, five cases. Seeds 0 and 1.
    """
    graph = MixedGraph(CHAIN.nodes, [*CHAIN.directed, (parent, "Y")])
    world = copies(graph)
    policy = searching(world)
    rounds(policy, world, 7 * 800)
    assert {next(iter(world.problem.arms[arm].active)) for arm in rounds(policy, world, 50)} == {f"I_{parent}"}
    assert len(policy._asked) <= 3
    assert 2 in policy._asked  # C is the center


WANTED = {
    "F": ["D", "E", "F"],  # D is an ancestor: it and the branches of its children E and F are left, the other trees not
    "D": ["D", "E", "F"],
    "C": ["D", "A", "C"],  # D is none: it, E and F are dropped; A - B is now the largest tree, and its A is none either
    "A": ["D", "A", "B"],
    "B": ["D", "A", "B"],
    "G": ["D", "A", "C", "G"],
}


@pytest.mark.parametrize("parent", WANTED)
def test_a_forest_by_hand(parent: str) -> None:
    """The largest tree first, and its center; what is left decides the rest.

    The weakest effect is .405, the threshold .2 and the standard error of a difference .025 with 800 rows: 8 of them,
    so no comparison errs. Seeds 0 and 1.
    """
    world = copies(MixedGraph(FOREST.nodes, [*FOREST.directed, (parent, "Y")]))
    policy = searching(world)
    assert questions(policy, world) == WANTED[parent]
    assert policy.asking() is None
    assert {next(iter(world.problem.arms[arm].active)) for arm in rounds(policy, world, 50)} == {f"I_{parent}"}


def test_without_an_ancestor_all_arms_are_played() -> None:
    """Where the reward has no cause among the variables, no mean moves."""
    world = copies(FOREST)
    policy = LuTree(
        world.problem,
        skeleton=FOREST.directed,
        marginals={name: [0.5, 0.5] for name in "ABCDEFG"},
        gap=0.4,
        eps=0.4,
        budget=400,
        seed=0,
    )
    rounds(policy, world, 30 * 400)
    assert bool(np.all(policy._state.counts.allowed))
