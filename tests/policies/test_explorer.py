"""How the default policy explores, against loops over all pairs of arms and Bayes' rule."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy import stats

from causal_bandits.core.estimators.reward_shapes import RewardStats, stats_for
from causal_bandits.core.policies.explorer import LEAST_INFORMATION, THOMPSON, beyond_chance, draw_arm, mixed, reweigh
from causal_bandits.core.policies.explorer import directed as best_mixture
from causal_bandits.core.policies.explorer import play_shares as both_shares
from causal_bandits.core.problem.rewards import read_reward

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def leaders(draws: Floats, allowed: Bools, cost: Floats) -> list[int]:
    """The best allowed arm of every draw; the first of equal ones."""
    return [int(np.argmax(np.where(allowed, draw - cost, -np.inf))) for draw in draws]


def regret_and_information(draws: Floats, weights: Floats, allowed: Bools, cost: Floats) -> tuple[Floats, Floats]:
    """(arms,) each: expected regret, and the variance of E[mean of the arm | which arm is best] beyond chance."""
    best, arms = np.array(leaders(draws, allowed, cost)), draws.shape[1]
    net = draws - cost
    regret, information = np.zeros(arms), np.zeros(arms)
    for arm in range(arms):
        regret[arm] = sum(w * (draw[leader] - draw[arm]) for w, draw, leader in zip(weights, net, best, strict=True))
        overall = weights @ net[:, arm]
        for leader in set(best.tolist()):
            won = best == leader
            chance = weights[won].sum()
            information[arm] += chance * (weights[won] @ net[won, arm] / chance - overall) ** 2
        # Analysis of variance: the mean square within groups, times the degrees of freedom between them.
        rows, groups = 1 / sum(weight**2 for weight in weights), len(set(best.tolist()))
        within = 0.0
        for weight, draw, leader in zip(weights, net, best, strict=True):
            won = best == leader
            within += weight * (draw[arm] - weights[won] @ net[won, arm] / weights[won].sum()) ** 2
        chance = (groups - 1) * within / max(rows - groups, 1)
        information[arm] = max(information[arm] - chance, LEAST_INFORMATION * information[arm])
    return regret, information


def play_shares(draws: Floats, weights: Floats, allowed: Bools, cost: Floats) -> Floats:
    """The probability of every arm where no reward is waited for."""
    return mixed(both_shares(draws, weights, allowed, cost), 1e6, 1.0)


def ratio_of(shares: Floats, regret: Floats, information: Floats) -> float:
    return float((shares @ regret) ** 2 / (shares @ information))


def lowest_ratio(regret: Floats, information: Floats, allowed: Bools) -> float:
    """The lowest ratio of all pairs on a fine grid of mixtures."""
    found, mixtures = math.inf, np.linspace(0, 1, 2001)
    for one, two in itertools.combinations_with_replacement(np.flatnonzero(allowed), 2):
        cost = ((1 - mixtures) * regret[one] + mixtures * regret[two]) ** 2
        gain = (1 - mixtures) * information[one] + mixtures * information[two]
        found = min(found, float(np.divide(cost, gain, out=np.full(2001, np.inf), where=gain > 0).min()))
    return found


def random_draws(seed: int, arms: int, count: int = 64) -> tuple[Floats, Floats, Bools, Floats]:
    """Correlated draws of means with unequal weights; some arms are not allowed, and some cost something."""
    rng = np.random.default_rng(seed)
    spread = rng.gamma(1.0, 1.0, size=arms)
    draws = rng.normal(size=arms) + rng.normal(size=(count, arms)) * spread + rng.normal(size=(count, 1))
    allowed = rng.random(arms) < 0.8
    allowed[rng.integers(arms)] = True
    return draws, rng.dirichlet(np.ones(count)), allowed, rng.random(arms) * (seed % 2)


def directed(shares: Floats, draws: Floats, weights: Floats, allowed: Bools, cost: Floats) -> Floats:
    """The part of the shares that is information-directed."""
    chances = np.bincount(leaders(draws, allowed, cost), weights, minlength=len(allowed))
    thompson = np.where(allowed, (len(draws) * chances + 1 / allowed.sum()) / (len(draws) + 1), 0.0)
    return np.asarray((shares - THOMPSON * thompson) / (1 - THOMPSON))


@pytest.mark.parametrize("arms", [2, 3, 6, 12])
@pytest.mark.parametrize("seed", range(25))
def test_shares_have_the_lowest_ratio(seed: int, arms: int) -> None:
    """Of all mixtures of two arms; the compiled search goes from an arm to its best partner and on from there."""
    draws, weights, allowed, cost = random_draws(seed, arms)
    shares = play_shares(draws, weights, allowed, cost)
    assert shares.sum() == pytest.approx(1, abs=1e-9)
    assert (shares[allowed] > 0).all()
    assert (shares[~allowed] == 0).all()
    mixture = directed(shares, draws, weights, allowed, cost)
    assert (mixture > -1e-9).all()
    assert (mixture > 1e-9).sum() <= 2
    regret, information = regret_and_information(draws, weights, allowed, cost)
    if (regret[allowed] > 1e-9).all():
        lowest = lowest_ratio(regret, information, allowed)
        assert ratio_of(mixture, regret, information) <= 1.001 * lowest
    else:  # one arm is the best in every draw
        assert mixture @ regret == pytest.approx(0, abs=1e-9)


def test_groups_by_chance_explain_nothing() -> None:
    """Values that groups do not explain; 400 columns, 256 rows, 6 groups, seed 11.

    The mean of what is left, relative to the variance, is 0 without the floor; the floor keeps the positive half, whose
    mean is half the mean deviation of F: below 0.02, where 5 / 255 = 0.0196 would be explained by chance alone.
    """
    rng = np.random.default_rng(11)
    values, groups = rng.normal(size=(256, 400)), rng.integers(6, size=256)
    values -= values.mean(axis=0)
    weights = np.full(256, 1 / 256)
    sums = np.array([values[groups == group].sum(axis=0) ** 2 / (groups == group).sum() for group in range(6)])
    known = sums.sum(axis=0) / 256
    found = beyond_chance(known, values, weights, 6)
    assert known.mean() == pytest.approx(5 / 255, rel=0.15)  # standard error 3%
    assert found.mean() < 0.3 * known.mean()
    assert (found > 0).all()


@pytest.mark.parametrize("seed", range(20))
def test_search_over_pairs_finds_the_best(seed: int) -> None:
    """Regrets and information of all sizes, which no draws may have."""
    rng = np.random.default_rng(seed)
    arms = int(rng.integers(2, 9))
    regret = rng.gamma(0.5, size=arms)
    information = rng.gamma(0.5, size=arms) * regret ** rng.integers(3)
    every = np.ones(arms, dtype=np.bool_)
    found = ratio_of(best_mixture(regret, information, every), regret, information)
    assert found <= 1.001 * lowest_ratio(regret, information, every)


def test_a_cost_is_taken_off_every_draw() -> None:
    draws, weights, allowed, _ = random_draws(3, 5)
    cost = np.array([0.0, 0.5, -1.0, 2.0, 0.1])
    net = play_shares(draws - cost, weights, allowed, np.zeros(5))
    assert_allclose(play_shares(draws, weights, allowed, cost), net, rtol=1e-9)


def test_arms_that_are_not_allowed_change_nothing() -> None:
    draws, weights, _, cost = random_draws(4, 6)
    allowed = np.array([False, True, True, False, True, False])
    alone = play_shares(draws[:, allowed], weights, np.ones(3, dtype=np.bool_), cost[allowed])
    assert_allclose(play_shares(draws, weights, allowed, cost)[allowed], alone, rtol=1e-9)


@pytest.mark.parametrize("value", [0.0, 0.5, 1e-6, 1e6])
def test_equal_draws(value: float) -> None:
    """Nothing is known to differ: shares are positive and sum to 1."""
    shares = play_shares(np.full((16, 4), value), np.full(16, 1 / 16), np.ones(4, dtype=np.bool_), np.zeros(4))
    assert shares.sum() == pytest.approx(1)
    assert (shares > 0).all()


def test_one_arm_is_always_played() -> None:
    allowed = np.array([False, False, True])
    draws, weights, _, cost = random_draws(5, 3)
    assert_allclose(play_shares(draws, weights, allowed, cost), [0.0, 0.0, 1.0])


def test_an_arm_that_is_never_best_keeps_a_share() -> None:
    """That of one draw more, shared by all arms, in Thompson's rounds."""
    draws = np.stack([np.linspace(0.5, 0.6, 32), np.linspace(0.1, 0.2, 32), np.linspace(0.59, 0.51, 32)], axis=1)
    shares = play_shares(draws, np.full(32, 1 / 32), np.ones(3, dtype=np.bool_), np.zeros(3))
    assert shares[1] == pytest.approx(THOMPSON / 3 / 33)


# Rewards between two fits


def known_of(kind: Any, dispersion: float) -> RewardStats:
    known = stats_for(read_reward(kind))
    known.dispersion[0] = dispersion
    return known


RATING = {"levels": ["bad", "fair", "good"], "values": [-1, 1, 4]}
LIKELIHOODS: dict[str, tuple[RewardStats, float, Callable[[Floats, float], Floats]]] = {
    "binary": (known_of(bool, 1.0), 1.0, lambda mean, y: stats.bernoulli(mean).pmf(y)),
    "count": (known_of("count", 1.0), 3.0, lambda mean, y: stats.poisson(mean).pmf(y)),
    "real": (known_of(float, 2.5), 7.0, lambda mean, y: stats.norm(mean, math.sqrt(2.5)).pdf(y)),
    # Quasi-likelihoods: that of the exponential family with the same variance function, to the power of 1 / dispersion.
    "revenue": (known_of("revenue", 9.0), 20.0, lambda mean, y: (mean**y * np.exp(-mean)) ** (1 / 9.0)),
    "levels": (
        known_of(RATING, 0.4),
        4.0,
        lambda m, y: (((m + 1) / 5) ** ((y + 1) / 5) * ((4 - m) / 5) ** ((4 - y) / 5)) ** 2.5,
    ),
}


@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_rewards_reweigh_draws_by_bayes_rule(kind: str) -> None:
    """Some rewards of two arms, the lowest and the highest among them; the order does not matter."""
    known, high, likelihood = LIKELIHOODS[kind]
    rng = np.random.default_rng(6)
    low = -1.0 if kind == "levels" else 0.0
    draws = low + (high - low) * rng.beta(2, 2, size=(50, 3))
    rewards = {"binary": [0, 1, 1], "count": [0, 2, 5], "levels": [-1, 1, 4]}.get(kind, [0.0, 0.5 * high, high])
    weights, expected = np.full(50, 1 / 50), np.full(50, 1 / 50)
    for place, reward in enumerate(rewards):
        reweigh(draws, weights, known, place % 2, reward)
        expected *= likelihood(draws[:, place % 2], reward)
    assert_allclose(weights, expected / expected.sum(), rtol=1e-9)


@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_impossible_rewards_leave_finite_weights(kind: str) -> None:
    """All draws at the lower end of the range, and a reward above it: no draw explains it, all count the same."""
    known, high, _ = LIKELIHOODS[kind]
    draws, weights = np.full((8, 2), -1.0 if kind == "levels" else 0.0), np.full(8, 1 / 8)
    reweigh(draws, weights, known, 0, high)
    assert_allclose(weights, 1 / 8)


@pytest.mark.parametrize("kind", ["binary", "count", "levels", "revenue"])
def test_a_zero_does_not_count_against_draws_of_zero(kind: str) -> None:
    """A draw at the lower end of the range explains the lowest reward best."""
    known, high, _ = LIKELIHOODS[kind]
    low = -1.0 if kind == "levels" else 0.0
    draws, weights = np.array([[low], [0.5 * high]]), np.array([0.5, 0.5])
    reweigh(draws, weights, known, 0, low)
    assert weights[0] > weights[1] > 0
    assert weights.sum() == pytest.approx(1)


def test_many_rewards_keep_weights_finite() -> None:
    """10,000 rewards between two fits: weights stay finite and sum to 1, and favor the draws near the mean."""
    rng, known = np.random.default_rng(7), LIKELIHOODS["binary"][0]
    draws, weights = rng.beta(2, 2, size=(64, 2)), np.full(64, 1 / 64)
    for reward in rng.random(10_000) < 0.3:
        reweigh(draws, weights, known, 0, float(reward))
    assert weights.sum() == pytest.approx(1)
    assert weights.argmax() == np.abs(draws[:, 0] - 0.3).argmin()


def test_arms_are_drawn_by_their_shares() -> None:
    """Null: frequencies of 20,000 draws are the shares; chi-square with 3 degrees of freedom, false alarms 1e-5.

    Seed 8. An arm without a share is never drawn.
    """
    shares, rng = np.array([0.5, 0.0, 0.3, 0.15, 0.05]), np.random.default_rng(8)
    counts = np.bincount([draw_arm(shares, rng) for _ in range(20_000)], minlength=5)
    assert counts[1] == 0
    assert stats.chisquare(counts[shares > 0], 20_000 * shares[shares > 0]).pvalue > 1e-5


def test_rounding_in_shares_draws_an_arm_that_has_one() -> None:
    """Shares that sum to less than 1: the rest belongs to the last arm that has a share."""
    rng = np.random.default_rng(9)
    assert {draw_arm(np.array([0.0, 1e-9, 0.0]), rng) for _ in range(100)} == {1}


def test_the_more_is_waited_for_the_more_thompson_sampling_decides() -> None:
    shares = np.array([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]])
    assert_allclose(mixed(shares, 30.0, 10.0), 0.75 * shares[0] + 0.25 * shares[1])
    assert_allclose(mixed(shares, 0.0, 5.0), shares[1])
    assert_allclose(mixed(shares, 1e6, 1.0), (1 - THOMPSON) * shares[0] + THOMPSON * shares[1])
