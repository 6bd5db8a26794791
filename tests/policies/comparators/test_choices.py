"""What is asked for, after random rows, is what the formulas made again from the rows say."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from causal_bandits import Problem
from causal_bandits.core.compiled import interpreted
from causal_bandits.core.data import Rows
from causal_bandits.core.policies import POLICIES, choose, learn
from causal_bandits.research.comparators import (
    CTS,
    CUCB,
    HACUCB,
    KLUCB,
    UCB1,
    UCBV,
    CountingPolicy,
    EpsilonGreedy,
    PomisKLUCB,
    PomisTS,
    SmallUCB,
    UCBPlus,
    UCBTuned,
)
from causal_bandits.research.comparators.perfect_interventions import settings_of
from causal_bandits.research.simulation import play
from tests.contracts.kinds import KNOWLEDGE, WORLD, world_of
from tests.policies.cases import full_state
from tests.policies.g_tests import FALSE_ALARM, g_test
from tests.reference import comparators as slow

Floats = NDArray[np.float64]
PROBLEM = WORLD.problem
SIZES = [2, 2, 2]
CHANCES = np.array([WORLD.distribution(arm, ["B", "A"]).ravel() for arm in PROBLEM.arms])
"""P(B, A | arm): an order that is not the problem's."""
TOLD: dict[str, Any] = {"separating": ["B", "A"], "chances": CHANCES, "horizon": 500}


def told_rows(policy: CountingPolicy, count: int, seed: int, arms: int) -> list[slow.Row]:
    """Random rows, told one by one or all at once."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(arms, size=count)
    codes = rng.integers(2, size=(count, 3))
    rewards = (rng.random(count) < 0.2 + 0.5 * codes[:, 0] * (1 - codes[:, 1]) + 0.02 * chosen).astype(int)
    table = {name: codes[:, place].tolist() for place, name in enumerate("ABC")} | {"Y": rewards.tolist()}
    for lever in policy.problem.interventions:
        table[lever.name] = [policy.problem.arms[arm][lever.name] for arm in chosen]
    policy.tell_many(table)
    return [(int(a), tuple(c), int(r)) for a, c, r in zip(chosen, codes.tolist(), rewards, strict=True)]


def best(values: Floats) -> set[int]:
    return set(np.flatnonzero(values >= values.max() - 1e-9).tolist())


BY_ARM: dict[str, tuple[Callable[..., CountingPolicy], Callable[[float, int, int], float]]] = {
    "ucb1": (UCB1, slow.ucb1),
    "ucb-v": (UCBV, slow.ucb_v),
    "ucb-tuned": (UCBTuned, slow.ucb_tuned),
    "kl-ucb": (KLUCB, slow.kl_ucb),
    "ucb-small": (lambda problem, seed: SmallUCB(problem, horizon=700, seed=seed), slow.small_ucb(700, 0.1)),
}


@pytest.mark.parametrize("name", BY_ARM)
@given(count=st.integers(1, 200), seed=st.integers(0, 10**6))
@settings(max_examples=30)
def test_indices_of_the_arms(name: str, count: int, seed: int) -> None:
    make, index = BY_ARM[name]
    policy = make(PROBLEM, seed=seed)
    rows = told_rows(policy, count, seed, 9)
    wanted = best(slow.by_arm(rows, 9, index))
    assert {PROBLEM.index(arm) for arm in policy.ask(60)} <= wanted


def test_ties_are_drawn() -> None:
    """Null: each of the nine untried arms comes first equally often. 2700 asks, Pearson's test, rate 1e-4, seed 5."""
    policy = UCB1(PROBLEM, seed=5)
    counts = np.bincount([PROBLEM.index(arm) for arm in policy.ask(2700)], minlength=9)
    assert float(((counts - 300) ** 2 / 300).sum()) < 31.8  # the 1 - 1e-4 quantile of chi-squared with 8 degrees


@given(count=st.integers(1, 300), seed=st.integers(0, 10**6))
@settings(max_examples=40)
def test_c_ucb(count: int, seed: int) -> None:
    policy = CUCB(PROBLEM, **TOLD, seed=seed)
    rows = told_rows(policy, count, seed, 9)
    values = slow.c_ucb(rows, CHANCES, [1, 0], SIZES, 500)
    assert {PROBLEM.index(arm) for arm in policy.ask(20)} == {min(best(values))}


@given(count=st.integers(100, 400), seed=st.integers(0, 10**6))
@settings(max_examples=40)
def test_hac_ucb_told(count: int, seed: int) -> None:
    """The test is made after every row once each arm has round(sqrt(T) / K + 1) rows, and never taken back."""
    policy = HACUCB(PROBLEM, **TOLD, seed=seed)
    rows = told_rows(policy, count, seed, 9)
    enough, fallen = round(np.sqrt(500) / 9 + 1), False
    for end in range(1, count + 1):
        explored = all(len(slow.own(rows[:end], arm)) >= enough for arm in range(9))
        u, v, passes = slow.hac_bounds(rows[:end], CHANCES, [1, 0], SIZES, 500)
        fallen = fallen or (explored and not passes)
    assert policy.fallen == fallen
    asked = {PROBLEM.index(arm) for arm in policy.ask(20)}
    if not explored:
        assert all(len(slow.own(rows, arm)) < enough for arm in asked)
    elif fallen:
        assert asked <= best(u)
    else:
        assert asked == {min(best(v))}


def test_c_ts_draws_from_the_cells() -> None:
    """Null: C-TS and a literal sampler choose each arm equally often. 8000 draws each, two-sample G test, standard
    error of a difference at most 0.008; rate 1e-4; seeds 3 and 4. Arms with equal p(z | a): the first stands for all.
    """
    policy = CTS(PROBLEM, separating=["B", "A"], chances=CHANCES, seed=3)
    rows = told_rows(policy, 40, 1, 9)
    cells = slow.cell_rewards(rows, [1, 0], SIZES)
    rng = np.random.default_rng(4)
    theta = np.column_stack([rng.beta(1 + sum(seen), 1 + len(seen) - sum(seen), size=8000) for seen in cells])
    theirs = (theta @ CHANCES.T).argmax(axis=1)
    ours = np.array([PROBLEM.index(arm) for arm in policy.ask(8000)])
    assert g_test(ours, theirs, 9) > FALSE_ALARM


def test_pomis_ts_draws_among_its_arms() -> None:
    """Null: POMIS-TS is Thompson Sampling restricted to do(A, B). As above with seeds 5 and 6."""
    policy = PomisTS(PROBLEM, graph=WORLD.graph, seed=5)
    rows = told_rows(policy, 60, 2, 9)
    arms = [number for number, arm in enumerate(PROBLEM.arms) if len(arm.active) == 2]
    assert policy.sets == [("A", "B")]
    rng = np.random.default_rng(6)
    draws = [rng.beta(1 + sum(r), 1 + len(r) - sum(r), size=8000) for r in (slow.own(rows, arm) for arm in arms)]
    theirs = np.array(arms)[np.array(draws).argmax(axis=0)]
    ours = np.array([PROBLEM.index(arm) for arm in policy.ask(8000)])
    assert g_test(ours, theirs, 9) > FALSE_ALARM


def test_pomis_kl_ucb_is_kl_ucb_among_its_arms() -> None:
    policy = PomisKLUCB(PROBLEM, graph=WORLD.graph, seed=5)
    rows = told_rows(policy, 90, 3, 9)
    values = slow.by_arm(rows, 9, slow.kl_ucb)
    values[[number for number, arm in enumerate(PROBLEM.arms) if len(arm.active) < 2]] = -np.inf
    assert {PROBLEM.index(arm) for arm in policy.ask(30)} <= best(values)


def test_epsilon_greedy_explores_with_its_probability() -> None:
    """Null: the chance of the greedy arm is 1 - e + e / 9 with e = rate 9 / t at t = 91.

    6000 asks: standard error sqrt(.09 * .91 / 6000) = 0.004; four of them, false-alarm rate 6e-5. Seed 7.
    """
    policy = EpsilonGreedy(PROBLEM, rate=1.0, seed=7)
    rows = told_rows(policy, 90, 4, 9)
    (greedy,) = best(slow.by_arm(rows, 9, lambda m, n, t: m))
    share = np.mean([PROBLEM.index(arm) == greedy for arm in policy.ask(6000)])
    assert share == pytest.approx(1 - 9 / 91 * 8 / 9, abs=0.016)


@given(count=st.integers(20, 200), seed=st.integers(0, 10**6))
@settings(max_examples=30)
def test_ucb_plus_counts_a_row_for_every_action_it_agrees_with(count: int, seed: int) -> None:
    """Actions set exactly both variables; all rows are donors."""
    policy = UCBPlus(PROBLEM, parents=2, horizon=700, seed=seed)
    rows = told_rows(policy, count, seed, 9)
    actions = [number for number, arm in enumerate(PROBLEM.arms) if len(arm.active) == 2]
    shared = slow.sharing_rewards(rows, settings_of(PROBLEM, "the test"), set(range(9)))
    values = np.full(9, -np.inf)
    for arm in actions:
        n = len(shared[arm])
        values[arm] = np.mean(shared[arm]) + np.sqrt(2 * np.log(700) / n) if n else np.inf
    assert {PROBLEM.index(arm) for arm in policy.ask(30)} <= best(values)


@pytest.mark.parametrize("name", sorted(name for name in KNOWLEDGE if issubclass(POLICIES[name], CountingPolicy)))
def test_compiled_is_interpreted(name: str) -> None:
    """The choosing and the learning function, in Python, leave the same counts and ask for the same arms."""
    world = world_of(name)
    one, two = (POLICIES[name](world.problem, seed=3, **KNOWLEDGE[name]) for _ in range(2))
    played = play(one, world, 40, np.random.default_rng(4))
    rows = one.history.rows
    for number in range(40):
        chooses, learns = (interpreted(each.implementation(type(two._state))) for each in (choose, learn))
        assert int(chooses(two._state, two.rng)) == played.arms[number]
        learns(two._state, rows.arms[number], rows.codes[number], rows.rewards[number])
        one_row: list[Any] = [column[number : number + 1] for column in rows]
        two.remember(Rows(*one_row))
    assert {**full_state(one), "due": 0} == {**full_state(two), "due": 0}


def test_relabelled_arms_and_variables_give_relabelled_answers() -> None:
    """The same rows under other names and another order of variables, levers and arms."""
    other = Problem(
        "Y",
        {"C": 2, "B": 2, "A": 2},
        {"I_B": ["idle", 1, 0], "I_A": ["idle", 0, 1]},
        targets={"I_A": "A", "I_B": "B"},
    )
    order = [PROBLEM.index(arm) for arm in other.arms]
    for make in (CUCB, HACUCB):
        one = make(PROBLEM, **TOLD, seed=0)
        two = make(other, **{**TOLD, "chances": CHANCES[order]}, seed=0)
        rows = told_rows(one, 250, 8, 9)
        for arm, (a, b, c), reward in rows:
            two.tell(dict(PROBLEM.arms[arm]), {"A": a, "B": b, "C": c, "Y": reward})
        estimates = {frozenset(each.arm.items()): each.mean for each in one.estimates()}
        for each in two.estimates():
            assert each.mean == pytest.approx(estimates[frozenset(each.arm.items())], abs=1e-12)
        assert one.ask() == two.ask()
