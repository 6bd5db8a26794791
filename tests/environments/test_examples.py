"""Sec. 3.2: three sets that all d-separate, and three worlds in which each of them is the best."""

from typing import Any

import numpy as np
import pytest

from causal_bandits import DiscreteSCM, MixedGraph
from causal_bandits.core.estimators import VarianceDecomposition, sharing_variance
from causal_bandits.core.graphs import separates
from causal_bandits.errors import OptionError
from causal_bandits.research.worlds import example_world
from causal_bandits.research.worlds.paper import Best

SETS: dict[Best, list[str]] = {"AB": ["A", "B"], "S2": ["S2"], "S3": ["S3"]}


def variance(world: DiscreteSCM, names: list[str], arm: int) -> VarianceDecomposition:
    """Of the estimator through S with 40 rows per arm, from exact distributions."""
    joints = np.array([world.distribution(pulled, [*names, "Y"]).reshape(-1, 2) for pulled in world.problem.arms])
    cells = joints.sum(axis=0)
    reward = np.divide(cells[:, 1], cells.sum(axis=1), out=np.zeros(len(cells)), where=cells.sum(axis=1) > 0)
    return sharing_variance(joints.sum(axis=2), reward, [40, 40], arm)


@pytest.mark.parametrize("best", SETS)
def test_graph_and_separation(best: Best) -> None:
    world = example_world(best)
    assert world.graph == MixedGraph(["A", "B", "S2", "S3", "Y"], [("A", "S2"), ("B", "S2"), ("S2", "S3"), ("S3", "Y")])
    graph = world.graph.with_context(dict(world.problem.targets))
    assert all(separates(graph, names, "I", "Y") for names in SETS.values())
    assert not separates(graph, [], "I", "Y")


@pytest.mark.parametrize("best", SETS)
@pytest.mark.parametrize("arm", [0, 1])
def test_the_named_set_is_strictly_the_best_of_the_three(best: Best, arm: int) -> None:
    shared = {name: variance(example_world(best), names, arm).shared for name, names in SETS.items()}
    assert all(shared[best] < 0.95 * value for name, value in shared.items() if name != best)


@pytest.mark.parametrize("arm", [0, 1])
def test_in_the_papers_world_the_other_two_sets_gain_nothing(arm: int) -> None:
    world = example_world("S2")
    mean = world.means[arm]
    for names in (["A", "B"], ["S3"]):
        found = variance(world, names, arm)
        assert found.alpha_star == pytest.approx(0, abs=1e-9)
        assert found.shared == pytest.approx(found.own, rel=1e-12)
        assert found.own == pytest.approx(mean * (1 - mean) / 40, rel=1e-12)


def test_the_papers_equations() -> None:
    """A = I, B = 1 - I, S2 = 1 xor U1, S3 = S2 xor U2, Y = S3: the arms do not differ (notes 2.13)."""
    world = example_world("S2")
    for arm in (0, 1):
        assert world.distribution({"I": arm}, ["A", "B"])[arm, 1 - arm] == pytest.approx(1)
    np.testing.assert_allclose(world.means, 0.7 * 0.8 + 0.3 * 0.2)
    np.testing.assert_allclose(world.distribution({}, ["S3", "Y"]), np.diag(world.distribution({}, ["S3"])))


@pytest.mark.parametrize("best", ["S1", None, ["S2"]])
def test_bad_name(best: Any) -> None:
    with pytest.raises(OptionError, match="expected one of S2, AB, S3"):
        example_world(best)
