"""What is measured: acceptance of sets against a plain play and the graph's own separations."""

import numpy as np
import pytest

from causal_bandits import CausalThompsonSampling, DirectTesting, KnownSets, StructurelessWorld, ThompsonSampling
from causal_bandits.errors import OptionError, WorldError
from causal_bandits.research.experiments.families import class_world
from causal_bandits.research.experiments.methods import ACCEPTANCE, REGRET, geometric_checkpoints, true_pairs
from causal_bandits.research.simulation import play

WORLD = class_world(40, np.random.SeedSequence(1))


def test_accepted_sets_are_those_in_use_in_that_round() -> None:
    """Against ask and tell, one round at a time."""
    readings = ACCEPTANCE.take(CausalThompsonSampling(WORLD.problem, seed=3), WORLD, 60, np.random.default_rng(4))
    policy, rng = CausalThompsonSampling(WORLD.problem, seed=3), np.random.default_rng(4)
    true = np.asarray(true_pairs(WORLD, list(policy.layout.names)).all(axis=1))
    false_ones, true_ones = [], []
    points = set(geometric_checkpoints(60).tolist())
    for step in range(1, 61):
        arm = policy.ask()
        if step in points:
            assert policy.findings is not None
            accepted = np.atleast_1d(policy.findings.separated.all(axis=1))
            false_ones.append(int(accepted[~true].sum()))
            true_ones.append(int(accepted[true].sum()))
        policy.tell(arm, WORLD.pull(arm, rng))
    assert readings["-fpr"].values.tolist() == false_ones
    assert readings["-sensitivity"].values.tolist() == true_ones
    assert readings["-fpr"].of + readings["-sensitivity"].of == len(true)


def test_what_is_told_is_accepted_in_every_round() -> None:
    parents = KnownSets([WORLD.graph.parents("Y")])
    told = ACCEPTANCE.take(
        CausalThompsonSampling(WORLD.problem, discovery=parents, seed=0), WORLD, 30, np.random.default_rng(0)
    )
    assert set(told["-sensitivity"].values.tolist()) == {1.0}
    assert set(told["-fpr"].values.tolist()) == {0.0}


def test_regret_is_that_of_a_plain_play() -> None:
    taken = REGRET.take(ThompsonSampling(WORLD.problem, seed=3), WORLD, 250, np.random.default_rng(4))
    run = play(ThompsonSampling(WORLD.problem, seed=3), WORLD, 250, np.random.default_rng(4))
    assert taken[""].values.tolist() == run.regret(WORLD.means)[REGRET.lines[""].points(250) - 1].tolist()


def test_checkpoints_end_at_the_horizon() -> None:
    for horizon in (1, 2, 39, 40, 500, 5000):
        points = geometric_checkpoints(horizon)
        assert points[0] == 1
        assert points[-1] == horizon
        assert np.all(np.diff(points) > 0)


def test_worlds_and_policies_without_sets() -> None:
    rng = np.random.default_rng(0)
    bare = StructurelessWorld(WORLD, seed=0)
    policy = CausalThompsonSampling(WORLD.problem, discovery=DirectTesting(), seed=0)
    with pytest.raises(WorldError, match="known only in a world that has a graph"):
        ACCEPTANCE.take(policy, bare, 10, rng)
    with pytest.raises(OptionError, match="only a policy with a discovery"):
        ACCEPTANCE.take(ThompsonSampling(WORLD.problem, seed=0), WORLD, 10, rng)
