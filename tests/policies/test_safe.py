"""The default: what it says depends on the rows alone, stays sane on odd rows, and follows the rows of an arm."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from causal_bandits import Problem, SafePolicy, ThompsonSampling
from causal_bandits.core.data import MISSING, Rows
from causal_bandits.core.policies.safe import MOST_WORK
from causal_bandits.errors import ObservationError, OptionError
from causal_bandits.research.comparators import MainEffectsThompson
from causal_bandits.research.simulation import play
from causal_bandits.research.worlds import hillstrom_world, practice_world, soft_world

FUNNEL = Problem("Y", {"A": 2, "B": 3}, {"I": 2, "J": 3})


def rows_of(problem: Problem, count: int, seed: int) -> Rows:
    """Random rows in which A and B follow the levers, and Y follows A."""
    rng = np.random.default_rng(seed)
    arms = rng.integers(len(problem.arms), size=count)
    levels = problem.arm_codes[arms]
    a = (rng.random(count) < 0.2 + 0.4 * levels[:, 0]).astype(np.int64)
    b = np.minimum(rng.binomial(2, 0.2 + 0.3 * (levels[:, 1] > 0)), 2)
    rewards = (rng.random(count) < 0.1 + 0.5 * a).astype(np.int64)
    return Rows(arms, np.stack([a, b], axis=1), rewards, np.empty((count, 0)))


def part(rows: Rows, places: slice) -> Rows:
    return Rows(rows.arms[places], rows.codes[places], rows.rewards[places], rows.raw[places])


@pytest.mark.parametrize("kind", [SafePolicy, MainEffectsThompson])
def test_what_is_stated_depends_on_the_rows_alone(kind: type[SafePolicy | MainEffectsThompson]) -> None:
    """Told at once, or in parts with arms asked for in between: the same estimates, sets and recommendation."""
    rows = rows_of(FUNNEL, 400, 0)
    at_once, in_parts = kind(FUNNEL, seed=1), kind(FUNNEL, seed=1)
    at_once.learn(rows)
    for start in range(0, 400, 50):
        in_parts.ask()
        in_parts.learn(part(rows, slice(start, start + 50)))
    assert list(at_once.estimates()) == list(in_parts.estimates())
    assert at_once.recommend() == in_parts.recommend()
    assert at_once.separating_sets(rejected=True) == in_parts.separating_sets(rejected=True)


def test_rows_counted_at_once_are_rows_counted_one_by_one() -> None:
    """To the bit, also where values are missing."""
    rows = rows_of(FUNNEL, 300, 3)
    rows.codes[::7, 0] = rows.codes[::11, 1] = MISSING
    at_once, one_by_one = (SafePolicy(FUNNEL, seed=1) for _ in range(2))
    for policy in (at_once, one_by_one):
        policy.learn(rows_of(FUNNEL, 600, 2))
        policy.ask()
    at_once.learn(rows)
    for row in range(300):
        one_by_one.learn(part(rows, slice(row, row + 1)))
    for name, array in at_once._sums().items():
        np.testing.assert_array_equal(array, one_by_one._sums()[name], err_msg=name)


def test_looking_changes_no_arm() -> None:
    world = soft_world(seed=0)
    looked, alone = (SafePolicy(world.problem, seed=3) for _ in range(2))
    draws = [np.random.default_rng(4) for _ in range(2)]
    for _ in range(20):
        first, second = play(looked, world, 10, draws[0]), play(alone, world, 10, draws[1])
        assert np.array_equal(first.arms, second.arms)
        looked.estimates()
        looked.recommend()
        looked.frequencies(5, np.random.default_rng(0))
        looked.separating_sets(rejected=True)


def test_a_true_set_is_shared_through() -> None:
    """Hillstrom's e-mails through visits: intervals are no wider than those of own rows, near the truth."""
    world = hillstrom_world()
    rng = np.random.default_rng(1)
    policy = SafePolicy(world.problem, seed=0)
    for arm in world.problem.arms:
        policy.learn(world.sample(arm, 4000, rng))
    widths = [(row.high - row.low, row.own_high - row.own_low) for row in policy.estimates()]
    for row, mean in zip(policy.estimates(), world.means, strict=True):
        assert abs(row.mean - mean) < 4.5 * (row.high - row.low) / 3.9  # 4.5 standard errors: false alarms 2e-5
    shared, own = (sum(ends) for ends in zip(*widths, strict=True))
    assert shared < 1.05 * own
    found = {each.variables: each.evidence.probability for each in policy.separating_sets(rejected=True)}
    assert (found[("visit",)] or 0) > 0.5


def test_own_rows_are_never_contradicted() -> None:
    """A false set says that arm 1 is good; 2000 rows of its own say that it is not, and they win."""
    problem = Problem("Y", {"A": 2}, {"I": 3})
    rng = np.random.default_rng(2)
    policy = SafePolicy(problem, seed=0)
    for arm, chance in ((0, 0.5), (1, 0.02), (2, 0.5)):
        a = np.ones((2000, 1), dtype=np.int64)
        y = (rng.random(2000) < chance).astype(np.int64)
        policy.learn(Rows(np.full(2000, arm), a, y, np.empty((2000, 0))))
    assert policy.estimates()[1].high < 0.05
    assert policy.posterior().draws[:, 1].max() < 0.1
    assert policy.ask(500).count(problem.arms[1]) < 10


def odd_rows() -> dict[str, tuple[Problem, Rows]]:
    """Rows that break formulas."""
    none = np.empty((60, 0))
    arms, coin = np.tile(np.arange(6), 10), np.arange(60) % 2
    codes = np.stack([coin, np.arange(60) % 3], axis=1)
    zeros, ones = np.zeros(60, dtype=np.int64), np.ones(60, dtype=np.int64)
    return {
        "all rewards 0": (FUNNEL, Rows(arms, codes, zeros, none)),
        "all rewards 1": (FUNNEL, Rows(arms, codes, ones, none)),
        "one row per arm": (FUNNEL, Rows(np.arange(6), codes[:6], coin[:6], none[:6])),
        "one arm played": (FUNNEL, Rows(zeros, codes, coin, none)),
        "a constant mediator": (FUNNEL, Rows(arms, np.zeros_like(codes), coin, none)),
        "the mediator is the reward": (FUNNEL, Rows(arms, np.stack([coin, coin], axis=1), coin, none)),
        "a mediator is never seen": (FUNNEL, Rows(arms, np.full_like(codes, -1), coin, none)),
    }


@pytest.mark.parametrize("case", odd_rows())
@pytest.mark.parametrize("kind", [SafePolicy, MainEffectsThompson])
def test_odd_rows_leave_finite_and_wide_answers(case: str, kind: type[SafePolicy | MainEffectsThompson]) -> None:
    problem, rows = odd_rows()[case]
    policy = kind(problem, seed=0)
    policy.learn(rows)
    for row in policy.estimates():
        assert 0 <= row.low <= row.mean <= row.high <= 1
        assert row.high - row.low > 0.03
        assert row.was_played == (row.own_rows > 0) == (not math.isnan(row.own_mean))
    best = policy.recommend()
    assert 0 <= best.probability_best <= best.probability_close <= 1
    assert 0 <= best.expected_loss < 1
    assert set(policy.ask(20)) <= set(problem.arms)


def test_nothing_is_recommended_without_rows() -> None:
    policy = SafePolicy(FUNNEL, seed=0)
    with pytest.raises(ObservationError, match="no data yet, so nothing is recommended"):
        policy.recommend()


def test_all_alike_no_arm_stands_out() -> None:
    policy = SafePolicy(FUNNEL, seed=0)
    policy.learn(odd_rows()["all rewards 0"][1])
    best = policy.recommend()
    assert not best.stands_out
    assert best.verdict.startswith("no arm stands out yet")


def test_relabeling_levels_relabels_the_fit() -> None:
    """Levels of a lever and of a mediator in another order: the same moments for the same arms."""
    rows = rows_of(FUNNEL, 500, 5)
    policy, other = SafePolicy(FUNNEL, seed=0), SafePolicy(FUNNEL, seed=0)
    turned = FUNNEL.arm_codes.copy()
    turned[:, 1] = (turned[:, 1] + 1) % 3
    number = {tuple(codes): place for place, codes in enumerate(FUNNEL.arm_codes.tolist())}
    where = np.array([number[tuple(codes)] for codes in turned.tolist()])
    policy.learn(rows)
    other.learn(rows._replace(arms=where[rows.arms], codes=np.stack([1 - rows.codes[:, 0], rows.codes[:, 1]], axis=1)))
    here, there = policy._fitted().fit, other._fitted().fit
    np.testing.assert_allclose(here.weights, there.weights, rtol=1e-8)
    np.testing.assert_allclose(here.difference_scales, there.difference_scales, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(here.shared, there.shared[:, where], rtol=1e-7, atol=1e-12)


def test_restricted_arms_alone_are_chosen_and_compared() -> None:
    policy = SafePolicy(FUNNEL, seed=0)
    policy.learn(rows_of(FUNNEL, 200, 6))
    policy.restrict([FUNNEL.arms[1], FUNNEL.arms[4]])
    assert {FUNNEL.index(arm) for arm in policy.ask(100)} <= {1, 4}
    compared = policy.indices(np.random.default_rng(0))
    assert compared is not None
    assert np.flatnonzero(~np.isnan(compared)).tolist() == [1, 4]
    assert FUNNEL.index(policy.recommend().arm) in (1, 4)


def test_sets_are_limited_by_the_work_of_a_refit() -> None:
    large = Problem("Y", {f"X{n}": 2 for n in range(8)}, {f"I{n}": 3 for n in range(7)})
    policy = SafePolicy(large, seed=0)
    assert policy.layout.max_size < 8
    assert policy._work(policy.layout) <= MOST_WORK
    assert SafePolicy(FUNNEL).layout.max_size == 2
    assert SafePolicy(FUNNEL, max_size=1).layout.count == 3


def test_a_recommendation_is_what_draws_say() -> None:
    """Plain TS, two arms with known Betas: P(best), P(close) and expected loss against a million draws of our own.

    Standard errors at 20,000 draws: .0035, .0035, .0006; 4.5 of them (and of a share of the million): 2e-5. Seed 7.
    """
    problem = Problem("Y", {"A": 2}, {"I": 2})
    policy = ThompsonSampling(problem, seed=0)
    for arm, ones, zeros in ((0, 6, 14), (1, 8, 12)):
        n = ones + zeros
        policy.learn(Rows(np.full(n, arm), np.zeros((n, 1), dtype=np.int64), np.arange(n) < ones, np.empty((n, 0))))
    found = policy.recommend(margin=0.05)
    rng = np.random.default_rng(7)
    first, second = rng.beta(7, 15, 1_000_000), rng.beta(9, 13, 1_000_000)
    assert problem.index(found.arm) == 1
    assert found.margin == 0.05
    assert abs(found.probability_best - (second > first).mean()) < 4.5 * 0.0036
    assert abs(found.probability_close - (second > first - 0.05).mean()) < 4.5 * 0.0036
    assert abs(found.expected_loss - np.maximum(first - second, 0).mean()) < 4.5 * 0.0007


@pytest.mark.parametrize("margin", [-0.1, math.nan, math.inf, "wide", True])
def test_a_bad_margin_is_refused(margin: object) -> None:
    policy = ThompsonSampling(FUNNEL, seed=0)
    with pytest.raises(OptionError, match="margin"):
        policy.recommend(margin=margin)  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", ["linear", "logistic"])
def test_main_effects_are_saved_and_loaded(scale: str, tmp_path: Path) -> None:
    policy = MainEffectsThompson(FUNNEL, scale=scale, seed=1)  # type: ignore[arg-type]
    policy.learn(rows_of(FUNNEL, 120, 8))
    policy.ask(3)
    policy.save(tmp_path / "kept")
    again = MainEffectsThompson.load(tmp_path / "kept")
    assert again.scale == scale
    assert policy.ask(20) == again.ask(20)


def test_main_effects_say_which_scales_there_are() -> None:
    with pytest.raises(OptionError, match="expected one of linear, logistic"):
        MainEffectsThompson(FUNNEL, scale="cubic")  # type: ignore[arg-type]


@pytest.mark.statistical
def test_it_does_not_lose_to_thompson_sampling_in_practice() -> None:
    """Null: as much regret as TS over 12 funnels of 8 and 30%, T = 3000; fails above 1.15 of it. Seed 9.

    Measured with other seeds: 0.75 with a standard error of 0.07 over such 12 funnels, so false alarms below 1e-7.
    """
    lost = dict.fromkeys((SafePolicy, ThompsonSampling), 0.0)
    for number, (kind, rate) in enumerate(itertools.product(("mediated", "direct", "none"), (0.08, 0.3))):
        for arms in (6, 12):
            world = practice_world(kind, rate=rate, arms=arms, seed=90 + number)  # type: ignore[arg-type]
            for policy in lost:
                run = play(policy(world.problem, seed=1), world, 3000, np.random.default_rng(2))
                lost[policy] += run.regret(world.means)[-1] / rate
    assert lost[SafePolicy] < 1.15 * lost[ThompsonSampling]
