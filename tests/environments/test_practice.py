"""Worlds as real experiments have them: their numbers, their ranges, and what separates in them."""

from collections.abc import Callable
from functools import partial
from typing import get_args

import numpy as np
import pytest
from scipy import stats

from causal_bandits import separating_sets
from causal_bandits.errors import OptionError, WorldError
from causal_bandits.research.worlds import (
    DiscreteSCM,
    DiscreteWorld,
    Mechanism,
    Nudge,
    hillstrom_world,
    loan_world,
    practice_world,
    soft_world,
)
from causal_bandits.research.worlds.practice import LEVERS, RATES, Kind
from causal_bandits.research.worlds.real_experiments import EMAIL_COUNTS, LOAN_COUNTS

KINDS: tuple[Kind, ...] = get_args(Kind)


def _sets(world: DiscreteSCM) -> list[tuple[str, ...]]:
    graph = world.graph.with_context(dict(world.problem.targets))
    return separating_sets(graph, world.problem.intervention_names, world.problem.target)


@pytest.mark.parametrize("kind", KINDS)
def test_rates_lifts_and_sizes_are_as_stated(kind: Kind) -> None:
    for seed, (rate, arms) in enumerate([(rate, arms) for rate in RATES for arms in (3, 12, 30)]):
        world = practice_world(kind, rate=rate, arms=arms, seed=seed)
        assert len(world.problem.arms) == arms
        assert world.means[0] == pytest.approx(rate, rel=1e-9)
        assert 0.1 <= world.means.max() / rate - 1 <= 0.5
        assert 1 <= len(world.problem.interventions) <= 4
        stages = [name for name in world.problem.observed_names if not name.startswith("noise")]
        assert 2 <= len(stages) <= 4
        assert len(world.problem.observed) - len(stages) == (3 if kind == "noise" else 0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_makes_one_world(kind: Kind) -> None:
    one, same, other = (practice_world(kind, seed=seed) for seed in (4, 4, 5))
    assert one.problem == same.problem
    np.testing.assert_array_equal(one.means, same.means)
    np.testing.assert_array_equal(one.sampler.cumulative, same.sampler.cumulative)
    assert len(one.means) != len(other.means) or not np.array_equal(one.means, other.means)
    assert len(one.means) in LEVERS
    assert any(one.means[0] == pytest.approx(rate) for rate in RATES)


@pytest.mark.parametrize(
    ("make", "seed"),
    [
        *((partial(practice_world, kind, rate=0.08, arms=6, seed=2), 0) for kind in KINDS),
        (hillstrom_world, 1),
        (partial(soft_world, seed=5), 2),
    ],
)
def test_exact_means_against_simulation(make: Callable[[], DiscreteWorld], seed: int) -> None:
    """Null: the rewards of an arm are Bernoulli with its exact mean.

    z of 40,000 rows per arm (standard error of a rate at most 0.0025), at most 9 arms in 8 worlds, 49 tests at
    |z| < 4.9: false-alarm rate 5e-5.
    """
    world = make()
    rng = np.random.default_rng(seed)
    for arm, mean in zip(world.problem.arms, world.means, strict=True):
        rewards = world.sample(arm, 40_000, rng).rewards
        assert abs(rewards.mean() - mean) / np.sqrt(mean * (1 - mean) / 40_000) < 4.9


def test_nobody_skips_a_stage() -> None:
    world = practice_world("intent-direct", rate=0.3, arms=12, seed=3)
    rows = world.sample(world.problem.arms[-1], 5000, np.random.default_rng(0))
    reached = np.column_stack([rows.codes, rows.rewards]) > 0
    assert np.all(reached[:, :-1] >= reached[:, 1:])
    assert reached[:, -1].any()


@pytest.mark.parametrize("seed", range(4))
def test_what_separates(seed: int) -> None:
    """The parents of the reward do where levers act on stages alone; nothing does with intent or direct effects."""
    separated: tuple[Kind, ...] = ("mediated", "noise")
    others: tuple[Kind, ...] = ("direct", "intent", "intent-direct")
    for kind in separated:
        world = practice_world(kind, arms=12, seed=seed)
        assert isinstance(world, DiscreteSCM)
        assert world.graph.parents("purchase") in _sets(world)
        assert () not in _sets(world)
    for kind in others:
        world = practice_world(kind, arms=12, seed=seed)
        assert isinstance(world, DiscreteSCM)
        assert _sets(world) == []
    assert ("A", "B", "C") in _sets(soft_world(seed=seed))
    assert _sets(hillstrom_world()) == []


def test_noise_has_no_effect() -> None:
    """The same seed makes the same funnel with and without columns of noise; the first lever moves one of them."""
    plain, noisy = (practice_world(kind, rate=0.02, arms=12, seed=8) for kind in ("mediated", "noise"))
    np.testing.assert_allclose(plain.means, noisy.means, rtol=1e-12)
    assert isinstance(noisy, DiscreteSCM)
    moved = [np.ptp([noisy.distribution(arm, [f"noise{i}"])[0] for arm in noisy.problem.arms]) for i in (1, 2, 3)]
    assert moved[0] == pytest.approx(0) == pytest.approx(moved[1])
    assert moved[2] > 0


def test_where_nothing_mediates_the_reward_ignores_the_stages() -> None:
    """Null: given the arm, the reward is independent of the last stage: 40,000 rows, level 1e-5, seed 9."""
    world = practice_world("none", rate=0.3, arms=3, seed=9)
    rows = world.sample(world.problem.arms[2], 40_000, np.random.default_rng(9))
    table = np.zeros((2, 2))
    np.add.at(table, ((rows.codes[:, -1] > 0).astype(int), rows.rewards), 1)
    assert stats.chi2_contingency(table).pvalue > 1e-5


def test_hillstrom_is_its_nine_counts() -> None:
    world = hillstrom_world()
    assert sum(map(sum, EMAIL_COUNTS.values())) == 64_000
    for arm, (absent, visited, converted) in zip(world.problem.arms, EMAIL_COUNTS.values(), strict=True):
        everybody = absent + visited + converted
        expected = np.array([[absent, 0], [visited, converted]]) / everybody
        np.testing.assert_allclose(world.distribution(arm, ["visit", "conversion"]), expected, atol=1e-15)


def test_loans_are_their_thirty_counts() -> None:
    """Null: every arm draws the frequencies of its three counts; ten tests of 20,000 rows at 1e-6 each, seed 3."""
    world, rng = loan_world(), np.random.default_rng(3)
    cases = [(discount, term) for discount in LOAN_COUNTS for term in ("no", "yes")]
    for (discount, term), mean in zip(cases, world.means, strict=True):
        counts = np.array(LOAN_COUNTS[discount][term == "yes"], dtype=np.float64)
        assert mean == pytest.approx(counts[2] / counts.sum(), rel=1e-12)
        rows = world.sample({"discount": discount, "one_year_term": term}, 20_000, rng)
        assert (rows.rewards <= rows.codes[:, 0]).all()
        seen = np.bincount(rows.codes[:, 0] + rows.rewards, minlength=3)
        assert stats.chisquare(seen, 20_000 * counts / counts.sum()).pvalue > 1e-6


@pytest.mark.parametrize(
    "options",
    [{"kind": "odd"}, {"kind": "none", "arms": 4}, {"kind": "none", "rate": 0.0}, {"kind": "none", "rate": 1}],
)
def test_bad_input(options: dict[str, object]) -> None:
    with pytest.raises(OptionError, match="expected"):
        practice_world(**options)  # type: ignore[arg-type]


def test_nudges_add_up() -> None:
    """Each level's odds against the ones below are multiplied, for all parents; two levers multiply twice."""
    table = np.array([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]])
    world = DiscreteSCM(
        {"A": 2, "B": 3, "Y": 2},
        {"A": Mechanism([], [0.5, 0.5]), "B": Mechanism(["A"], table), "Y": Mechanism([], [0.5, 0.5])},
        {"one": {0: {}, 1: {"B": Nudge(0.7)}}, "two": {0: {}, 1: {"B": Nudge(-0.3)}}},
    )
    for arm, odds in (({"one": 1}, np.exp(0.7)), ({"one": 1, "two": 1}, np.exp(0.4))):
        found = world.distribution(arm, ["A", "B"]) * 2
        above = np.array([0.8, 0.3])
        expected = above * odds / (1 - above + above * odds)
        np.testing.assert_allclose([found[0, 1:].sum(), found[0, 2]], expected)
        np.testing.assert_allclose(found[1], table[1])
    with pytest.raises(WorldError, match="'one' and 'two' both act on 'A'"):
        DiscreteSCM(
            {"A": 2, "Y": 2},
            {"A": Mechanism([], [0.5, 0.5]), "Y": Mechanism([], [0.5, 0.5])},
            {"one": {0: {}, 1: {"A": Nudge(1.0)}}, "two": {0: {}, 1: {"A": 1}}},
        )
