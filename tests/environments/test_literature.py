"""The worlds of the papers we compare with: their numbers."""

import math
from typing import Any

import numpy as np
import pytest

from causal_bandits import separating_sets
from causal_bandits.core.graphs import pomis_sets
from causal_bandits.errors import OptionError
from causal_bandits.research.worlds import DIAGRAMS, bilodeau_world, lee_bareinboim_world, parallel_world


def test_bilodeau_benign() -> None:
    """Sec. 6: K = 20, P(Z = 1) = .0005 or .9995, Y ~ B(.5 + (1 - Z) sqrt(K ln T / T)); Z separates."""
    world = bilodeau_world("benign", horizon=2000)
    gap = math.sqrt(20 * math.log(2000) / 2000)
    np.testing.assert_allclose(world.means, [0.5 + 0.9995 * gap] + [0.5 + 0.0005 * gap] * 19)
    np.testing.assert_allclose(world.distribution({"I": 3}, ["Z"]), [0.0005, 0.9995])
    assert ("Z",) in separating_sets(world.graph.with_context(dict(world.problem.targets)), "I", "Y")


def test_bilodeau_worst() -> None:
    """Sec. 6: means 6/8 * 5.5/6 + 2/8 * .5/6 and 7/8 * 1/6 + 1/8 * 5/6; nothing separates."""
    world = bilodeau_world("worst", horizon=2000)
    high, low = 6 / 8 * 5.5 / 6 + 2 / 8 * 0.5 / 6, 7 / 8 / 6 + 5 / 6 / 8
    np.testing.assert_allclose(world.means, [high] * 10 + [low] * 10)
    for arm, one in ((0, 6 / 8), (19, 7 / 8)):
        np.testing.assert_allclose(world.distribution({"I": arm}, ["Z"]), [1 - one, one])
    assert separating_sets(world.graph.with_context(dict(world.problem.targets)), "I", "Y") == []


def test_parallel() -> None:
    """Sec. 5: do() has mean 1/2, do(X1 = 1) 1/2 + gap, do(X1 = 0) 1/2 - gap q / (1 - q), the others 1/2."""
    world = parallel_world(5, rare=2, chance=0.1, gap=0.2)
    np.testing.assert_allclose(world.means[:3], [0.5, 0.5 - 0.2 * 0.1 / 0.9, 0.7])
    np.testing.assert_allclose(world.means[3:], 0.5)
    assert len(world.problem.arms) == 11
    assert [float(world.distribution({}, [f"X{i}"])[1]) for i in range(1, 6)] == pytest.approx(
        [0.1, 0.1, 0.5, 0.5, 0.5]
    )


def test_lee_bareinboim() -> None:
    """The graphs' POMISs as published, and worlds over just these graphs; another seed is another world."""
    assert pomis_sets(DIAGRAMS["iv"], "Y") == [("Z",), ("X",)]
    assert pomis_sets(DIAGRAMS["front-door"], "Y") == [(), ("Z",)]
    assert [set(each) for each in pomis_sets(DIAGRAMS["xyzwst"], "Y")] == [{"S", "T"}, {"T", "W"}, {"T", "X", "W"}]
    for name, graph in DIAGRAMS.items():
        one, same, other = (lee_bareinboim_world(name, seed=seed) for seed in (1, 1, 2))  # type: ignore[arg-type]
        assert one.graph == graph
        np.testing.assert_array_equal(one.means, same.means)
        assert not np.array_equal(one.means, other.means)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bilodeau_world("nice", horizon=100), "expected one of benign, worst"),  # type: ignore[arg-type]
        (lambda: bilodeau_world("benign", horizon=100), "use a longer horizon"),
        (lambda: bilodeau_world("worst", horizon=100, arms=1), "arms=1"),
        (lambda: parallel_world(0), "variables=0"),
        (lambda: parallel_world(3, rare=4), "at most 3"),
        (lambda: parallel_world(3, chance=0.7), "chance=0.7"),
        (lambda: lee_bareinboim_world("m-graph"), "expected one of iv, front-door, xyzwst"),  # type: ignore[arg-type]
    ],
)
def test_bad_input(make: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make()
