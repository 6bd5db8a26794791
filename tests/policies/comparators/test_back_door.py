"""Back-door priors: the posterior of parents by enumeration, priors by the delta method, and what they gain."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from causal_bandits import DiscreteSCM, MixedGraph, Problem, simulate
from causal_bandits.errors import OptionError, ProblemError
from causal_bandits.research.comparators import BackDoorBandit
from causal_bandits.research.comparators.back_door import back_door_prior, mixture_index, parent_posterior
from causal_bandits.research.comparators.mixture_quantile import beta_tail, upper_quantile
from causal_bandits.research.experiments import FAMILIES
from causal_bandits.research.simulation import field, play, told
from causal_bandits.research.worlds import Mechanism, from_bif, lee_bareinboim_world
from tests.contracts.kinds import WORLD
from tests.policies.comparators.plans import copies, rows_of
from tests.reference import newer_comparators as slow
from tests.statistical.regrets import mean


@given(st.integers(0, 10**6))
@settings(max_examples=8, deadline=None)
def test_parents_are_weighed_by_every_graph(seed: int) -> None:
    """The posterior of parent sets, from counts, is that of urns filled row by row in each of the 25 graphs."""
    rng = np.random.default_rng(seed)
    settings_ = [(-1, -1), (0, -1), (-1, 1)]
    drawn = rng.integers([3, 2, 3, 2], size=(9, 4)).tolist()
    rows = [(arm, (a, b), reward) for arm, a, b, reward in drawn]
    counts = np.zeros((3, 2, 3, 2), dtype=np.int64)
    for arm, (a, b), reward in rows:
        counts[arm, a, b, reward] += 1
    found = parent_posterior(counts, np.array(settings_))
    for node, chances in enumerate(slow.parents(rows, settings_, [2, 3, 2])):
        for above, chance in chances.items():
            assert found[node, sum(1 << tail for tail, _ in above)] == pytest.approx(chance)
        assert found[node].sum() == pytest.approx(1)


@given(st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_a_prior_is_the_adjusted_mean_and_as_sure_as_the_rows_make_it(seed: int) -> None:
    """mu by the formula; its variance from the covariance of multinomial frequencies and numerical derivatives."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 30, size=(2, 3, 2))  # x, z, y
    mean_, size = back_door_prior(rows, 0, 1, 0b010)
    total = rows.sum() + 1
    p = {cell: float((rows[cell] + 1 / 12) / total) for cell in itertools.product(range(2), range(3), range(2))}
    assert mean_ == pytest.approx(slow.back_door(p, 1))
    step, slope = 1e-6, {}
    for cell, chance in p.items():
        up, down = (slow.back_door({**p, cell: chance + each}, 1) for each in (step, -step))
        slope[cell] = (up - down) / (2 * step)
    variance = (sum(p[c] * slope[c] ** 2 for c in p) - sum(p[c] * slope[c] for c in p) ** 2) / total
    assert size == pytest.approx(float(np.clip(mean_ * (1 - mean_) / variance - 1, 1, total)), rel=1e-3)


def test_a_cause_of_the_variable_that_is_the_reward() -> None:
    rows = np.array([[30, 10], [5, 15]])
    assert back_door_prior(rows, 0, 1, 0b10) == pytest.approx(((25 + 0.5) / 61, 61))


def test_a_step_by_hand() -> None:
    """Two rows of do(A = 1) with rewards 1, 0 are added to the pseudo-rows of each set of parents."""
    problem = Problem("Y", {"A": 2}, {"I": ["idle", 0, 1]}, targets={"I": "A"})
    policy = BackDoorBandit(problem, observe=60, seed=0)
    assert {str(arm) for arm in policy.ask(60)} == {"do()"}
    rows = {"A": [0] * 40 + [1] * 20, "Y": [1] * 10 + [0] * 30 + [1] * 15 + [0] * 5}
    policy.tell_many({"I": ["idle"] * 60, **rows})
    policy.tell_many({"I": [1, 1], "A": [1, 1], "Y": [1, 0]})
    state = policy._state
    mean_, size = back_door_prior(np.array([[30, 10], [5, 15]]), 0, 1, 0)
    assert state.ones[2, 0] == pytest.approx(mean_ * size)
    weights = parent_posterior(np.array([[[30, 10], [5, 15]], [[0, 0], [0, 0]], [[0, 0], [0, 0]]]), policy._sets)[0]
    assert state.weights[2] == pytest.approx(weights)  # looked at after the 60 rows, and not since
    expected = weights[0] * (mean_ * size + 1) / (size + 2) + weights[2] * (25.5 + 1) / (61 + 2)
    assert policy.estimates()[2].mean == pytest.approx(expected)


@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.3, 3000), st.floats(0.3, 3000)), min_size=1, max_size=4),
    st.floats(1e-6, 0.5),
)
@example([(1.0, 0.3, 3000.0)], 1e-6)
@example([(1.0, 3000.0, 0.3)], 1e-6)
@settings(deadline=None)
def test_the_upper_quantile_is_exceeded_with_its_chance(parts: list[tuple[float, float, float]], chance: float) -> None:
    """Tails against scipy's Beta, and the mixture's quantile against the sum of those tails."""
    weights, ones, zeros = np.array(parts).T
    weights = weights / weights.sum()
    found = upper_quantile(chance, weights, ones, zeros)
    for a, b in zip(ones, zeros, strict=True):
        for x in (found, 0.1, 0.5, 0.97):
            assert beta_tail(x, a, b) == pytest.approx(beta.sf(x, a, b), rel=1e-8, abs=1e-10)
    low, high = (float(weights @ beta.sf(np.clip(found + each, 0, 1), ones, zeros)) for each in (1e-9, -1e-9))
    assert low - 1e-9 <= chance <= high + 1e-9


def test_bayes_ucb_by_hand() -> None:
    """While nothing is known of parents every prior is Beta(1, 1): without rows of its own 1 - 1 / t; do() by scipy."""
    problem = Problem("Y", {"A": 2}, {"I": ["idle", 0, 1]}, targets={"I": "A"})
    policy = BackDoorBandit(problem, observe=4, quantile=True, seed=0)
    policy.tell_many({"I": ["idle"] * 3, "A": [0, 1, 1], "Y": [0, 1, 1]})
    rng = np.random.default_rng(0)
    assert mixture_index(policy._state, 1, rng) == pytest.approx(1 - 1 / 3, abs=1e-9)
    assert mixture_index(policy._state, 0, rng) == pytest.approx(beta.isf(1 / 3, 1 + 2, 1 + 1), abs=1e-9)


def test_it_finds_the_parents_and_the_best_arm() -> None:
    world = copies(MixedGraph(["A", "B", "Y"], [("A", "B"), ("A", "Y"), ("B", "Y")]), singles=True)
    policy = BackDoorBandit(world.problem, observe=300, seed=0)
    play(policy, world, 800, np.random.default_rng(0))
    assert policy.parents("B")["A",] > 0.99
    assert world.means[world.problem.index(policy.recommend().arm)] == pytest.approx(world.means.max())
    assert len(rows_of(policy)) == 800


@pytest.mark.statistical
def test_back_door_priors_pay() -> None:
    """Null: no less regret than Thompson Sampling where arms are single and nothing is hidden.

    Two of the paper's worlds, 8 paired runs each of 1500 rounds; the UCB form saves at least 4 standard errors, so a
    false pass is rarer than 1e-4; measured it is 8, so a false alarm is as rare. Seed 7.
    """
    saved: list[float] = []
    for number in (8, 24):
        world = FAMILIES["dags4-singles"].make(1500, number, np.random.SeedSequence(number))
        plain, found = (
            simulate(told(name, world, horizon=1500), world, 1500, runs=8, seed=7).regret[:, -1]
            for name in ("ts", "back-door-ucb")
        )
        saved.extend((plain - found).tolist())
    average, error = mean(np.array(saved))
    assert average > 4 * error


def test_where_it_does_not_apply() -> None:
    with pytest.raises(ProblemError, match="arms that set one variable"):
        BackDoorBandit(WORLD.problem)
    _, refused = field(lee_bareinboim_world("iv", seed=0), horizon=100, among=["back-door-ts"])
    assert "that it has no hidden common causes" in refused["back-door-ts"]
    wide = from_bif("survey", target="T", success="car", levers="R")
    with pytest.raises(ProblemError, match="4 observed variables"):
        BackDoorBandit(wide.problem)
    problem = Problem("Y", {"A": 2}, {"I": ["idle", 0, 1]}, targets={"I": "A"})
    with pytest.raises(OptionError, match="width=-1"):
        BackDoorBandit(problem, width=-1)
    with pytest.raises(OptionError, match="two bounds"):
        BackDoorBandit(problem, width=1, quantile=True)
    with pytest.raises(OptionError, match="observe=0"):
        BackDoorBandit(problem, observe=0)


def test_confounding_is_adjusted_for() -> None:
    """B follows A and Y follows A alone: P(Y | B = 1) is .8, and do(B = 1) leaves Y at .5, as the prior says."""
    world = DiscreteSCM(
        {"A": 2, "B": 2, "Y": 2},
        {
            "A": Mechanism([], [0.5, 0.5]),
            "B": Mechanism(["A"], [[0.9, 0.1], [0.1, 0.9]]),
            "Y": Mechanism(["A"], [[0.9, 0.1], [0.1, 0.9]]),
        },
        {"I_B": {"idle": {}, 0: {"B": 0}, 1: {"B": 1}}},
    )
    rows = (world.distribution({}, ["A", "B", "Y"]) * 400).round().astype(np.int64)
    assert back_door_prior(rows, 1, 1, 0b001)[0] == pytest.approx(0.5, abs=0.01)
    assert back_door_prior(rows, 1, 1, 0b000)[0] == pytest.approx(0.82, abs=0.01)
