"""E[Y | S] where purchases are known early and their absence late: biased without a window, not biased with one."""

import numpy as np

from causal_bandits import DiscreteSCM, SafePolicy
from causal_bandits.core.compiled import Floats
from causal_bandits.research.simulation import ByOutcome, Geometric, play
from causal_bandits.research.simulation.delays import Delay
from causal_bandits.research.worlds import practice_world

ROUNDS, WINDOW, RUNS = 1200, 600, 12


def errors(delay: Delay) -> Floats:
    """For each run and cell with enough rows: (mean reward of the rows that count - E[Y | S]) in standard errors."""
    found = []
    for run in range(RUNS):
        world = practice_world("mediated", rate=0.3, arms=6, seed=run)
        assert isinstance(world, DiscreteSCM)
        policy = SafePolicy(world.problem, seed=run)
        play(policy, world, ROUNDS, np.random.default_rng(run), delay=delay)
        tables = policy._state.counts.tables
        cells = tables.table(len(tables.cells) - 1)  # of all stages: the same E[Y | S] for all arms
        rows, ones = cells[..., 0].sum(axis=0), (cells[..., 0] * cells[..., 1]).sum(axis=0)
        counted = np.stack([rows - ones, ones], axis=1)
        joint = world.distribution(world.problem.arm(), [*world.problem.observed_names, world.problem.target])
        chances = np.moveaxis(joint, -1, 0).reshape(2, -1, order="F")
        for (zeros, ones), (no, yes) in zip(counted.tolist(), chances.T.tolist(), strict=True):
            n, chance = zeros + ones, yes / max(no + yes, 1e-12)
            if n >= 30 and 0.05 < chance < 0.95:
                found.append((ones / n - chance) / np.sqrt(chance * (1 - chance) / n))
    return np.array(found)


def test_a_window_keeps_the_surrogate_index_unbiased() -> None:
    """Null: E[Y | S] of the rows that count is unbiased, so the mean of k errors is N(0, 1 / k); false alarm 1e-4.

    Purchases are known after 20 rounds on average, their absence after 600. With a window of 600 every reward counts
    then. The bias of E[Y | S] over all cells is below one standard error of a single cell, and without the window it is
    at least twice that of a single cell.
    """
    window = errors(WINDOW)
    assert len(window) >= 15
    assert abs(window.mean()) < 3.9 / np.sqrt(len(window))
    assert abs(window.mean()) < 1.0
    ignored = errors(ByOutcome(zero=WINDOW, other=Geometric(20)))
    assert ignored.mean() > 2.0
    assert ignored.mean() > 3.9 / np.sqrt(len(ignored))


def test_pending_rows_say_which_arm_is_better_before_any_reward_of_it() -> None:
    """With the control logged and no other reward yet, the arm with the best mediators is estimated the highest.

    Over 10 funnels with 2,000 pending rows per arm the estimated and true means of arms correlate above 0.8 on
    average; without use of pending rows they would not at all (standard deviation 0.15 of the mean).
    """
    found = []
    for seed in range(10):
        world = practice_world("mediated", rate=0.3, arms=6, seed=seed)
        policy = SafePolicy(world.problem, seed=0)
        rng = np.random.default_rng(seed)
        policy.learn(world.sample({}, 3000, rng))
        for arm in world.problem.arms[1:]:
            policy.expect(world.sample(arm, 2000, rng))
        found.append(np.corrcoef([row.mean for row in policy.estimates()], world.means)[0, 1])
    assert np.mean(found) > 0.8
