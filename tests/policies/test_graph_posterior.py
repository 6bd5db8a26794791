"""The posterior over causal graphs against brute force, and what the policy refuses."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from causal_bandits import DiscreteSCM, MixedGraph, Problem
from causal_bandits.core.compiled import interpreted
from causal_bandits.core.graphs import all_dags
from causal_bandits.core.problem.variables import declare
from causal_bandits.errors import ObservationError, OptionError, ProblemError
from causal_bandits.research.comparators import GraphPosteriorThompson, graph_posterior
from causal_bandits.research.simulation import play
from causal_bandits.research.worlds import Mechanism, paper_world, perfect
from tests.policies.cases import random_table, rows_of

THREE = Problem(
    "Y",
    {"A": 2, "B": ["low", "middle", "high"]},
    {"I_A": ["idle", 0, 1], "I_B": ["idle", "on"]},
    targets={"I_A": "A", "I_B": "B"},
)


def brute_force(problem: Problem, rows: list[tuple[dict[str, Any], dict[str, Any]]]) -> dict[MixedGraph, float]:
    """P(graph | rows): every node of every graph predicted row by row, from what was seen of it before."""
    sizes = {variable.name: variable.size for variable in problem.observed} | {"Y": 2}
    levers = {name: [lever for lever, acted_on in problem.targets if name in acted_on] for name in sizes}
    scores = {}
    for graph in all_dags(list(sizes)):
        score = 0.0
        for node in sizes:
            seen: dict[Any, dict[Any, int]] = {}
            for arm, row in rows:
                if any(arm[lever] != problem.idle_settings[lever] for lever in levers[node]):
                    continue  # the node did not follow its causes
                counts = seen.setdefault(tuple(row[parent] for parent in sorted(graph.parents(node))), {})
                score += math.log((counts.get(row[node], 0) + 1) / (sum(counts.values()) + sizes[node]))
                counts[row[node]] = counts.get(row[node], 0) + 1
        scores[graph] = score
    highest = max(scores.values())
    total = sum(math.exp(score - highest) for score in scores.values())
    return {graph: math.exp(score - highest) / total for graph, score in scores.items()}


@pytest.mark.parametrize("rows", [0, 1, 10, 60])
def test_the_posterior_agrees_with_brute_force_over_three_nodes(rows: int) -> None:
    table = random_table(THREE, rows, seed=rows)
    policy = GraphPosteriorThompson(THREE, seed=0)
    policy.tell_many(table)
    expected = brute_force(THREE, rows_of(THREE, table))
    found = dict(policy.graphs(1000))
    assert len(found) == 25
    assert found.keys() == expected.keys()
    for graph, chance in found.items():
        assert chance == pytest.approx(expected[graph], rel=1e-9, abs=1e-12)
    assert len(policy.graphs(3)) == 3


@pytest.mark.parametrize("nodes", [2, 4])
def test_arm_means_agree_with_the_world_they_describe(nodes: int) -> None:
    """The world's own chances as parameters give the world's means, for every graph up to three (of four) nodes."""
    names = ["A", "B", "C"][: nodes - 1]
    for number, graph in enumerate(itertools.islice(all_dags([*names, "Y"]), 0, None, 7 if nodes == 4 else 1)):
        world = paper_world(graph, seed=number)
        policy = GraphPosteriorThompson(world.problem, seed=0)
        state = policy.ready()
        masks = np.array([sum(1 << [*names, "Y"].index(p) for p in graph.parents(n)) for n in [*names, "Y"]])
        free, fixed = chances_of(world, state, masks)
        means = [graph_posterior.graph_mean(state, masks, arm, free, fixed) for arm in range(len(world.problem.arms))]
        assert means == pytest.approx(world.means.tolist())


def chances_of(world: DiscreteSCM, state: Any, masks: Any) -> tuple[Any, Any]:
    """The parameters that `draw_parameters` would draw if the world were known."""
    names = [*world.problem.observed_names, "Y"]
    free, fixed = np.zeros((len(names), 2 ** len(names), 2)), np.zeros((len(names), 3, 2))
    for node, name in enumerate(names):
        mechanism, binary = world.mechanisms[name], declare(name, 2)
        table = mechanism.probabilities(binary, [binary for _ in mechanism.parents])
        for values in itertools.product((0, 1), repeat=len(names)):
            at = graph_posterior.joint_value(state, node, masks[node], np.array(values))
            free[node, at] = table[tuple(values[names.index(parent)] for parent in mechanism.parents)]
        fixed[node, 1:] = np.eye(2)  # the settings of I_X are 0 and 1
    return free, fixed


def test_compiled_equals_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = GraphPosteriorThompson(THREE, seed=0)
    policy.tell_many(random_table(THREE, 30, seed=1))
    state = policy.ready()
    fast = [graph_posterior.draw_graph_means(state, np.random.default_rng(seed)).tolist() for seed in range(5)]
    for name in ("joint_value", "graph_weights", "draw_graph", "_draw_chances", "draw_parameters", "_joint_values"):
        monkeypatch.setattr(graph_posterior, name, interpreted(getattr(graph_posterior, name)))
    monkeypatch.setattr(graph_posterior, "graph_mean", interpreted(graph_posterior.graph_mean))
    slow = [
        interpreted(graph_posterior.draw_graph_means)(state, np.random.default_rng(seed)).tolist() for seed in range(5)
    ]
    assert np.array(fast) == pytest.approx(np.array(slow), rel=1e-12)


def test_it_learns_the_graph_and_the_best_arm() -> None:
    """Null: A -> B -> Y with the paper's chances; 1000 rounds.

    The chain's score beats that of any graph without its edges by more than 15 nats, but for A -> B against B -> A,
    which only rounds with levers tell apart. Seed 2; false alarms are those of a policy that never tries the levers.
    """
    world = paper_world(MixedGraph(["A", "B", "Y"], [("A", "B"), ("B", "Y")]), seed=1)
    policy = GraphPosteriorThompson(world.problem, seed=2)
    run = play(policy, world, 1000, np.random.default_rng(3))
    assert policy.recommend().mean == pytest.approx(world.means.max(), abs=0.05)
    assert world.means[world.problem.index(policy.recommend().arm)] == world.means.max()
    ((graph, _),) = policy.graphs(1)
    assert ("B", "Y") in graph.directed
    assert run.regret(world.means)[-1] < 100


def test_a_lever_on_the_reward_and_one_on_two_variables() -> None:
    coin = Mechanism([], [0.5, 0.5])
    world = DiscreteSCM(
        {"A": 2, "B": 2, "Y": 2},
        {"A": coin, "B": coin, "Y": Mechanism(["A"], lambda a: [0.8 - 0.6 * a, 0.2 + 0.6 * a])},
        {"I_A": perfect("A"), "I_Y": perfect("Y")},
    )
    policy = GraphPosteriorThompson(world.problem, seed=0)
    play(policy, world, 200, np.random.default_rng(1))
    assert policy.recommend().arm["I_Y"] == 1
    both = Problem("Y", {"A": 2, "B": 2}, {"I": 2, "J": 2}, targets={"I": ["A", "B"], "J": "B"})
    acting = GraphPosteriorThompson(both).ready().acting
    assert acting.tolist() == [[0, 0, 0], [0, 1, 0], [1, 2, 0], [1, 3, 0]]


def test_what_is_refused() -> None:
    with pytest.raises(OptionError, match="what 'I' acts on is not known; pass targets="):
        GraphPosteriorThompson(Problem("Y", {"A": 2}, {"I": 2}))
    many = Problem("Y", dict.fromkeys("ABCDE", 2), {"I": 2}, targets={"I": "A"})
    with pytest.raises(ProblemError, match="possible for 4 observed variables and the reward; this problem has 5"):
        GraphPosteriorThompson(many)
    wide = Problem("Y", dict.fromkeys("ABCD", 20), {"I": 2}, targets={"I": "A"})
    with pytest.raises(ProblemError, match="160000 joint values"):
        GraphPosteriorThompson(wide)
    policy = GraphPosteriorThompson(THREE)
    with pytest.raises(ObservationError, match="needs a value of each of 'A', 'B' in every row"):
        policy.tell({}, {"A": 1, "Y": 1}, missing=True)
    assert policy.rows == 0
