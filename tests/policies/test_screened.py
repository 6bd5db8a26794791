"""Large problems: a policy behind a screen plays as one with tables of all sets, where both can be had."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from causal_bandits import BayesFactors, CausalThompsonSampling, KnownSets, MixedGraph, Problem
from causal_bandits.data import ScreenedLayout, TableLayout
from causal_bandits.errors import ProblemError
from causal_bandits.simulation import play
from causal_bandits.worlds import paper_world
from tests.policies.cases import FOUR_ARMS, NINE_ARMS, random_table, rows_of

WORLD = paper_world(MixedGraph(["A", "B", "C", "Y"], [("A", "B"), ("B", "C"), ("C", "Y")]), seed=2)
LARGE = Problem("Y", {f"X{n}": 2 for n in range(30)}, {f"I{n}": 3 for n in range(8)})


@pytest.fixture
def behind_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small problems are screened as well."""

    def screened(problem: Problem, max_size: int | None, *, screens: bool) -> TableLayout:
        return ScreenedLayout.of(problem, max_size) if screens else TableLayout.of(problem, max_size)

    monkeypatch.setattr("causal_bandits.policies.discrete.layout_for", screened)


def asked(problem: Problem, reading: Any, told: bool) -> tuple[list[Any], ...]:
    """Arms, estimates and sets, in three hundred rounds with values missing and arms left out."""
    discovery = KnownSets([["A"], ["A", "B"]]) if told else BayesFactors(reading=reading)
    policy = CausalThompsonSampling(problem, discovery=discovery, seed=5)
    rng, arms = np.random.default_rng(6), []
    for number, (_, seen) in enumerate(rows_of(problem, random_table(problem, 300, 7))):
        if number in (100, 200):
            policy.restrict(problem.arms[::2] if number == 100 else None)
        arms.append(policy.ask())
        if rng.random() < 0.3:
            seen["A"] = None
        policy.tell(arms[-1], seen, missing=True)
    sets = [(s.variables, s.separated, s.evidence) for s in policy.separating_sets()]
    return arms, list(policy.estimates()), sets


CASES = [(FOUR_ARMS, "both", False), (NINE_ARMS, "both", False), (NINE_ARMS, "marginal", False), (NINE_ARMS, "", True)]


@pytest.mark.parametrize(("problem", "reading", "told"), CASES)
def test_same_arms_and_estimates(problem: Problem, reading: Any, told: bool, request: pytest.FixtureRequest) -> None:
    plain = asked(problem, reading, told)
    request.getfixturevalue("behind_a_screen")
    screened = asked(problem, reading, told)
    assert screened[:2] == plain[:2]
    for (names, levers, few), (same, also, full) in zip(screened[2], plain[2], strict=True):
        assert (names, levers, few.rows, few.log_bayes_factor) == (same, also, full.rows, full.log_bayes_factor)
        assert few.given_others == {name: full.given_others[name] for name in few.given_others}
        assert few.given_others.keys() == (set(levers) if reading == "both" else set())


@pytest.mark.parametrize("compiled", [True, False])
def test_played_the_same(compiled: bool, request: pytest.FixtureRequest) -> None:
    """In one compiled call or by ask and tell, with tables of all sets or behind a screen."""
    runs = []
    for screened in (False, True):
        if screened:
            request.getfixturevalue("behind_a_screen")
        policy = CausalThompsonSampling(WORLD.problem, discovery=BayesFactors(), seed=1)
        runs.append(play(policy, WORLD, 400, np.random.default_rng(2), compiled=compiled))
        assert isinstance(policy.layout, ScreenedLayout) == screened
    np.testing.assert_array_equal(runs[0].arms, runs[1].arms)


def grow(policy: CausalThompsonSampling, rounds: int, seed: int) -> list[Any]:
    """Rounds in which the first three variables follow their levers, and the reward the first."""
    rng, arms = np.random.default_rng(seed), []
    for _ in range(rounds):
        arm = policy.ask()
        arms.append(arm)
        seen = {name: int(rng.random() < 0.5) for name in policy.problem.observed_names}
        for place in range(3):
            seen[f"X{place}"] = int(rng.random() < 0.1 + 0.4 * int(arm[f"I{place}"]))
        policy.tell(arm, {**seen, "Y": int(rng.random() < 0.1 + 0.8 * seen["X0"])})
    return arms


def test_a_large_problem_is_saved_and_goes_on(tmp_path: Path) -> None:
    policy = CausalThompsonSampling(LARGE, discovery=BayesFactors(), seed=1)
    grow(policy, 60, 2)
    assert isinstance(policy.layout, ScreenedLayout)
    policy.save(tmp_path / "large")
    again = CausalThompsonSampling.load(tmp_path / "large")
    assert again.layout == policy.layout
    assert grow(again, 30, 3) == grow(policy, 30, 3)
    assert policy.separating_sets() == again.separating_sets()


def test_sets_that_are_not_used_say_so() -> None:
    """Without any structure all sets are accepted, for all levers, and there is room for small ones only."""
    policy = CausalThompsonSampling(LARGE, discovery=BayesFactors(), seed=1)
    rng = np.random.default_rng(3)
    table = {name: rng.integers(2, size=2000).tolist() for name in (*LARGE.observed_names, "Y")}
    table |= {name: rng.integers(3, size=2000).tolist() for name in LARGE.intervention_names}
    policy.tell_many(table)
    policy.ask()
    everything = policy.separating_sets(rejected=True)
    assert sum(len(s.variables) == 3 for s in everything if s.evidence.source == "passed over") > 4000
    assert all(s.evidence.log_bayes_factor and not s.accepted for s in everything if s.evidence.source != "weighed")
    assert [s.variables for s in policy.separating_sets()][:2] == [(), ("X0",)]
    used = sum(array.nbytes for array in (policy._state.tables.counts, *policy._state.pools))
    assert used < 17 * 2**20


def test_a_discovery_waits_for_one_percent_more_rows(tmp_path: Path) -> None:
    """The first is due at once; the 25 % rule alone would run it again after 1, 2, 3, 4, 5, 7 rounds and so on."""
    policy = CausalThompsonSampling(LARGE, discovery=BayesFactors(), seed=1)
    rng = np.random.default_rng(3)
    table = {name: rng.integers(2, size=1000).tolist() for name in (*LARGE.observed_names, "Y")}
    policy.tell_many(table, arm={})
    due = []
    for number in range(30):
        if policy.rounds_to_refresh == 0:
            due.append(number)
        grow(policy, 1, number)
    assert due == [0, 10, 21]  # 1000, 1010 and 1021 rows
    policy.save(tmp_path / "large")
    assert CausalThompsonSampling.load(tmp_path / "large").rounds_to_refresh == policy.rounds_to_refresh == 2


def test_looking_changes_nothing() -> None:
    """Estimates make tables for a look; the rounds that follow are those without the look."""
    arms = []
    for looks in (False, True):
        policy = CausalThompsonSampling(LARGE, discovery=BayesFactors(), seed=1)
        chosen = []
        for part in range(4):
            chosen += grow(policy, 10, part)
            if looks:
                policy.separating_sets()
                policy.recommend()
        arms.append(chosen)
    assert arms[0] == arms[1]


def test_a_told_set_needs_its_own_table_alone() -> None:
    told = KnownSets([["X3", "X7", "X20"]])
    policy = CausalThompsonSampling(LARGE, discovery=told, seed=1)
    policy.ask()
    assert policy._state.tables.counts.nbytes == len(LARGE.arms) * (1 + 8) * 8
    grow(policy, 20, 1)
    assert policy._state.tables.table(1).sum() == 20


def test_a_told_set_that_does_not_fit_is_refused_before_it_is_taken() -> None:
    problem = Problem("Y", {f"X{n}": 100 for n in range(3)}, {f"I{n}": 3 for n in range(8)})
    told = KnownSets([["X0", "X1", "X2"]])
    with pytest.raises(ProblemError, match=r"tables of 1 sets with 1000000 joint values take 97.8 GiB; share"):
        CausalThompsonSampling(problem, discovery=told, max_size=3)
