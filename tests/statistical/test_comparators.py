"""What each comparator promises, measured. Runs are independent, so means of runs are nearly normal."""

import itertools

import numpy as np
import pytest

from causal_bandits import DiscreteSCM, MixedGraph, simulate
from causal_bandits.research.comparators import SuccessiveElimination, UCBPlus
from causal_bandits.research.simulation import play, told
from causal_bandits.research.worlds import lee_bareinboim_world, paper_world, parallel_world
from tests.statistical.regrets import mean, regret, simple_regret


@pytest.mark.parametrize("name", ["c-ucb", "c-ts", "hac-ucb-told"])
def test_told_the_truth_regret_flattens(name: str) -> None:
    """Null: the second half costs at least half of what the first did (linear regret: as much).

    80 runs; first / 2 - second is at least 5 of its standard errors above 0, so were the null true a pass would be
    rarer than 1e-6; measured it is 8 and more, so a false alarm is rarer than 1e-3. Seed 11.
    """
    for case in ("benign", "dag"):
        halves = regret(name, case, 80)
        gained, error = mean(halves[:, 0] / 2 - halves[:, 1])
        assert gained > 5 * error


def test_told_a_wrong_set_c_ucb_is_linear_and_hac_ucb_is_not() -> None:
    """Null: C-UCB's second half costs as much as its first (it does: at least 80%), HAC-UCB's as well.

    HAC-UCB falls back in the first half: its second costs less than a fifth of C-UCB's by 5 standard errors. 20 runs,
    seed 11; both margins are beyond 5 standard errors, false alarms below 1e-6.
    """
    wrong, safe = regret("c-ucb", "worst"), regret("hac-ucb-told", "worst")
    linear, error = mean(wrong[:, 1] - 0.8 * wrong[:, 0])
    assert linear > 5 * error
    saved, error = mean(wrong[:, 1] / 5 - safe[:, 1])
    assert saved > 5 * error
    estimated, error = mean(wrong.sum(axis=1) - regret("hac-ucb", "worst").sum(axis=1))
    assert estimated > 5 * error


@pytest.mark.parametrize("better", ["c-ts", "hac-ucb-told", "causal-ts-known"])
def test_knowing_more_is_better_than_thompson_sampling(better: str) -> None:
    """Null: no less regret than Thompson Sampling with a true set told; 20 paired runs, 5 standard errors. Seed 11."""
    for case in ("benign", "dag"):
        saved, error = mean(regret("ts", case).sum(axis=1) - regret(better, case).sum(axis=1))
        assert saved > 5 * error


def test_the_plain_policies_in_their_known_order() -> None:
    """Null: no order. On the 27 arms at T = 4000 UCB-V > UCB1 > KL-UCB > Thompson Sampling > small-constant UCB, each
    by 4 standard errors of the paired difference (false alarms 4 * 3e-5); successive elimination is the worst. Seed 11.
    """
    order = ["successive-elimination", "ucb-v", "ucb1", "kl-ucb", "ts", "ucb-small"]
    for worse, better in itertools.pairwise(order):
        saved, error = mean(regret(worse, "dag").sum(axis=1) - regret(better, "dag").sum(axis=1))
        assert saved > 4 * error, (worse, better)


def test_successive_elimination_keeps_the_best_arm() -> None:
    """Null: with probability at least 1 - delta = .7 the best arm is never dropped.

    80 runs of three arms: standard error .051, so at least .7 - 4 * .051 = .49 keep it; false alarms below 1e-4. The
    bounds are far from tight, so all are expected to. Seed 5.
    """
    world = DiscreteSCM({"A": 2, "Y": 2}, dict(SINGLE.mechanisms), SINGLE.interventions)
    kept = 0
    for seed in range(80):
        policy = SuccessiveElimination(world.problem, delta=0.3, seed=seed)
        play(policy, world, 600, np.random.default_rng([5, seed]))
        kept += bool(policy._state.counts.allowed[world.means.argmax()])
    assert kept / 80 > 0.49


SINGLE = paper_world(MixedGraph(["A", "Y"], [("A", "Y")]), seed=0)


def test_lattimore_finds_the_best_arm_with_fewer_rounds() -> None:
    """Lattimore et al. 2016, Theorems 1 and 3: simple regret sqrt(m / T) where a plain policy has sqrt(K / T).

    12 variables, 25 arms, 150 rounds: null: no better than UCB1's recommendation. 60 runs each; the difference is at
    least 4 of its standard errors: false alarms below 1e-4. Seed 7.
    """
    world = parallel_world(12, rare=2, chance=0.1, gap=0.3)
    plain = simple_regret("ucb1", world, 150, 60)
    ours = simple_regret("lattimore-parallel", world, 150, 60)
    error = np.sqrt((plain.var(ddof=1) + ours.var(ddof=1)) / 60)
    assert plain.mean() - ours.mean() > 4 * error


def test_ucb_plus_holds_a_best_action_often_enough() -> None:
    """Shahverdikondori et al. 2026: with probability at least 1 - 1 / sqrt(T) = .9 the random actions hold a best one.

    400 draws of the actions, standard error .015: at least .84, false alarms below 1e-4. Seeds 0 to 399.
    """
    world = paper_world(MixedGraph(["A", "B", "C", "D", "Y"], [("A", "Y"), ("A", "B"), ("C", "D")]), seed=2)
    best = world.means >= world.means.max() - 1e-12
    held = [bool(best[UCBPlus(world.problem, parents=1, horizon=100, seed=s)._playable].any()) for s in range(400)]
    assert np.mean(held) > 0.84


def test_pomis_bandits_win_where_intervening_on_all_loses() -> None:
    """Lee and Bareinboim 2018: over all arms KL-UCB needs longer. Null: no difference over 12 worlds of xyzwst, 243
    arms of which 16 are POMIS arms, T = 1000; paired by world, 4 standard errors, false alarms 3e-5. Seed 2.
    """
    for name, plain in (("pomis-ts", "ts"), ("pomis-kl-ucb", "kl-ucb")):
        saved = []
        for seed in range(12):
            world = lee_bareinboim_world("xyzwst", seed=seed)
            totals = [
                simulate(told(each, world, horizon=1000), world, 1000, seed=2, checkpoints=[1000]).regret[0, 0]
                for each in (plain, name)
            ]
            saved.append(totals[0] - totals[1])
        gained, error = mean(np.array(saved))
        assert gained > 4 * error
