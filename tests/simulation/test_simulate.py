"""Many runs: seeds, processes, checkpoints, tables."""

from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest

from causal_bandits import (
    CausalThompsonSampling,
    DirectTesting,
    MixedGraph,
    Problem,
    StructurelessWorld,
    ThompsonSampling,
    simulate,
)
from causal_bandits.errors import OptionError
from causal_bandits.research.simulation import Simulation, play
from causal_bandits.research.worlds import paper_world

WORLD = paper_world(MixedGraph(["A", "B", "Y"], directed=[("A", "B"), ("B", "Y")]), seed=4)
CAUSAL = partial(CausalThompsonSampling, discovery=DirectTesting(alpha=0.1))


def test_a_run_is_play_with_spawned_seeds() -> None:
    sim = simulate(CAUSAL, WORLD, 60, runs=3, seed=5, checkpoints=range(1, 61), keep_arms=True)
    assert sim.arms is not None
    assert sim.runs == 3
    for number, child in enumerate(np.random.SeedSequence(5).spawn(3)):
        of_world, of_policy = child.spawn(2)
        run = play(CAUSAL(WORLD.problem, seed=of_policy), WORLD, 60, np.random.default_rng(of_world))
        assert np.array_equal(sim.arms[number], run.arms)
        assert np.array_equal(sim.regret[number], np.cumsum(WORLD.means.max() - WORLD.means[run.arms]))
        assert np.array_equal(sim.realized_regret[number], np.cumsum(WORLD.means.max() - run.rewards))


def test_the_answer_does_not_depend_on_jobs() -> None:
    """Also for a world whose mechanisms are closures, which no process could be sent."""
    one, two = (simulate(CAUSAL, WORLD, 50, runs=3, seed=1, jobs=jobs, keep_arms=True) for jobs in (1, 2))
    assert np.array_equal(one.regret, two.regret)
    assert np.array_equal(one.realized_regret, two.realized_regret)
    assert one.arms is not None
    assert two.arms is not None
    assert np.array_equal(one.arms, two.arms)


def test_seeds() -> None:
    first, again, other = (simulate(ThompsonSampling, WORLD, 80, runs=2, seed=s, keep_arms=True) for s in (1, 1, 2))
    assert first.arms is not None
    assert again.arms is not None
    assert other.arms is not None
    assert np.array_equal(first.arms, again.arms)
    assert not np.array_equal(first.arms, other.arms)
    assert not np.array_equal(first.arms[0], first.arms[1])


def test_more_runs_keep_the_first_ones() -> None:
    few, many = (simulate(ThompsonSampling, WORLD, 40, runs=runs, seed=1) for runs in (2, 5))
    assert np.array_equal(few.regret, many.regret[:2])


def test_equal_arms_have_no_regret() -> None:
    world = StructurelessWorld(WORLD, np.full(len(WORLD.problem.arms), 0.5))
    sim = simulate(ThompsonSampling, world, 50, runs=2, seed=3)
    assert not sim.regret.any()
    assert sim.realized_regret.any()


@pytest.mark.parametrize(
    ("horizon", "expected"), [(0, []), (1, [1]), (3, [1, 2, 3]), (200, list(range(2, 201, 2))), (1000, None)]
)
def test_checkpoints(horizon: int, expected: list[int] | None) -> None:
    sim = simulate(ThompsonSampling, WORLD, horizon, runs=2)
    assert sim.checkpoints.tolist() == (list(range(10, 1001, 10)) if expected is None else expected)
    assert sim.regret.shape == (2, len(sim.checkpoints))


def test_given_checkpoints_pick_from_the_whole_curve() -> None:
    curve = simulate(CAUSAL, WORLD, 30, runs=2, seed=2, checkpoints=range(1, 31))
    picked = simulate(CAUSAL, WORLD, 30, runs=2, seed=2, checkpoints=[1, 7, 30])
    assert np.array_equal(curve.regret[:, [0, 6, 29]], picked.regret)


SMALL = Simulation(WORLD.problem, np.array([5, 10]), np.array([[1.0, 2.0], [3.0, 6.0], [2.0, 1.0]]), np.zeros((3, 2)))


def test_tables() -> None:
    frame = SMALL.to_frame()
    assert frame.columns == ["run", "t", "regret", "realized_regret"]
    assert frame.filter((pl.col("run") == 1) & (pl.col("t") == 10))["regret"].to_list() == [6.0]


def test_summary() -> None:
    summary = SMALL.summary()
    assert summary["t"].to_list() == [5, 10]
    assert summary["mean"].to_list() == [2.0, 3.0]
    assert summary["se"].to_list() == pytest.approx([1 / np.sqrt(3), np.sqrt(7 / 3)])
    assert repr(SMALL) == "Simulation(3 runs, regret 3.00 ± 1.53 at t = 10)"


def test_one_run_has_no_standard_error() -> None:
    assert np.isnan(simulate(ThompsonSampling, WORLD, 5).summary()["se"].to_numpy()).all()


def test_no_rounds() -> None:
    sim = simulate(ThompsonSampling, WORLD, 0, runs=2)
    assert sim.to_frame().height == 0
    assert repr(sim) == "Simulation(2 runs of 0 rounds)"


@pytest.mark.parametrize(
    "options",
    [
        {"horizon": -1},
        {"horizon": 2.5},
        {"runs": 0},
        {"jobs": 0},
        {"checkpoints": [0, 5]},
        {"checkpoints": [5, 5]},
        {"checkpoints": [11]},
        {"checkpoints": [[1, 2]]},
    ],
)
def test_bad_options(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        simulate(ThompsonSampling, WORLD, **{"horizon": 10, **options})


def test_a_lambda_cannot_go_to_another_process() -> None:
    with pytest.raises(OptionError, match=r"functools\.partial"):
        simulate(lambda problem, seed: ThompsonSampling(problem, seed=seed), WORLD, 10, runs=2, jobs=2)


def test_a_policy_for_another_problem() -> None:
    other = Problem("Y", {"A": 2}, {"I": 2})
    with pytest.raises(OptionError, match=r"world\.problem"):
        simulate(lambda problem, seed: ThompsonSampling(other, seed=seed), WORLD, 10)
