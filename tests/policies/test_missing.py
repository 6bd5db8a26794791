"""Rows without some mediators count for the sets that do not contain them; the twin drops them set by set."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causal_bandits import CausalThompsonSampling, CausalUCBNormal, History, KnownSets, Problem, bins
from causal_bandits.core.data import TableLayout, count_rows, view
from causal_bandits.core.discovery import ResidualTesting
from causal_bandits.core.estimators import linear_sharing
from causal_bandits.core.estimators.regression import means_through
from causal_bandits.core.policies import CausalGaussianThompsonSampling, load_policy
from causal_bandits.errors import ObservationError, OptionError
from tests.contracts.kinds import NEEDS_ALL_VALUES, PLAYS_ALL_ARMS, fresh, kind_of, policies
from tests.policies.cases import NINE_ARMS, SIX, Table, full_state, random_table, table_of

BOTH = ["I_A", "I_B"]


def with_gaps(table: Table, names: tuple[str, ...], seed: int, share: float = 0.2) -> Table:
    rng = np.random.default_rng(seed)
    gaps = {name: [None if rng.random() < share else value for value in table[name]] for name in names}
    return {**table, **gaps}


def whole_for(table: Table, variables: tuple[str, ...]) -> Table:
    """The rows that have a value for every variable of a set; what else is missing is put in, since nobody reads it."""
    keep = [row for row in range(len(table["Y"])) if all(table[name][row] is not None for name in variables)]
    spare = {name: next(value for value in values if value is not None) for name, values in table.items()}
    return {
        name: [spare[name] if values[row] is None else values[row] for row in keep] for name, values in table.items()
    }


@settings(max_examples=25)
@given(st.integers(0, 120), st.integers(0, 10_000))
def test_counts_equal_those_of_the_whole_rows(rows: int, seed: int) -> None:
    table = with_gaps(random_table(NINE_ARMS, rows, seed), ("A", "B", "C"), seed)
    coded = History(NINE_ARMS).encode_many(table, missing=True)
    layout = TableLayout.of(NINE_ARMS)
    tables = layout.empty()
    count_rows(tables, coded.arms, coded.codes, coded.rewards)
    for place, names in enumerate(layout.names):
        if not rows:
            continue
        keep = np.all(coded.codes[:, list(layout.members[place])] >= 0, axis=1)
        twin = TableLayout.of(NINE_ARMS).empty()
        count_rows(twin, coded.arms[keep], np.maximum(coded.codes[keep], 0), coded.rewards[keep])
        np.testing.assert_array_equal(tables.table(place), twin.table(place), err_msg=str(names))


@settings(max_examples=max(3, settings().max_examples // 8))
@given(st.integers(20, 100), st.integers(0, 10_000))
def test_the_posterior_through_a_set_is_that_of_its_whole_rows(rows: int, seed: int) -> None:
    """Running sums, one row after the other, against a policy that is told the whole rows alone."""
    told: dict[tuple[str, ...], list[str]] = {("A",): BOTH, ("B", "C"): ["I_A"], ("A", "C"): BOTH}
    table = with_gaps(random_table(NINE_ARMS, rows, seed), ("A", "C"), seed + 1)
    policy = CausalThompsonSampling(NINE_ARMS, discovery=KnownSets(told), seed=0)
    policy.ready()
    policy.tell_many(table, missing=True)
    pools = policy._state.pools
    for index, place in enumerate(pools.sets):
        variables = policy.layout.names[place]
        twin = CausalThompsonSampling(NINE_ARMS, discovery=KnownSets({variables: told[variables]}), seed=0)
        whole = whole_for(table, variables)
        twin.tell_many(whole)
        theirs = twin.ready().pools
        np.testing.assert_allclose(pools.linear[index] / pools.totals[index], theirs.linear[0] / theirs.totals[0])
        np.testing.assert_allclose(pools.variance[index], theirs.variance[0], rtol=1e-9)
    assert sum(estimate.own_rows for estimate in policy.estimates()) == rows


def test_rows_seen_stand_in_the_evidence() -> None:
    table = with_gaps(random_table(NINE_ARMS, 200, 1), ("B",), 2)
    policy = CausalThompsonSampling(NINE_ARMS, seed=0)
    policy.tell_many(table, missing=True)
    has_b = sum(value is not None for value in table["B"])
    for found in policy.separating_sets(rejected=True):
        assert found.evidence.rows == (has_b if "B" in found.variables else 200)
        whole = CausalThompsonSampling(NINE_ARMS, seed=0)
        whole.tell_many(whole_for(table, found.variables))
        twin = next(s for s in whole.separating_sets(rejected=True) if s.variables == found.variables)
        assert twin.evidence.tests == found.evidence.tests
    used = {
        estimate.used_rows < estimate.own_rows
        for estimate in policy.estimates()
        if estimate.through and "B" in estimate.through
    }
    assert used <= {True}


@pytest.mark.parametrize("seed", range(4))
def test_real_means_and_tests_are_those_of_the_whole_rows(seed: int) -> None:
    table = with_gaps(table_of(150, seed), ("A", "B"), seed)
    policy = CausalGaussianThompsonSampling(SIX, seed=0, initial=0, discovery=ResidualTesting(alpha=1e-12))
    policy.tell_many(table, missing=True)
    state = policy.ready()
    found = {each.variables: each for each in policy.separating_sets(rejected=True)}
    for place, variables in enumerate(policy.layout.names):
        whole = whole_for(table, variables)
        twin = CausalGaussianThompsonSampling(SIX, seed=0, initial=0, discovery=ResidualTesting(alpha=1e-12))
        twin.tell_many(whole)
        theirs = next(each for each in twin.separating_sets(rejected=True) if each.variables == variables)
        for names, result in theirs.evidence.tests.items():
            assert found[variables].evidence.tests[names].p_value == pytest.approx(result.p_value, rel=1e-6, abs=1e-12)
        assert found[variables].evidence.rows == len(whole["Y"])
        history = History(SIX)
        history.extend(history.encode_many(table, missing=True))
        moments = view(state.rewarded, policy._view_of_set[place])
        means, variances = means_through(moments, moments, state.pools, True)
        index = [each.variables for each in policy.separating_sets()].index(variables)
        shared = np.where(np.isfinite(variances[index]), means[index], np.nan)
        np.testing.assert_allclose(shared, linear_sharing(history, variables), rtol=1e-8)


@policies(among=NEEDS_ALL_VALUES)
def test_a_policy_that_needs_all_values_refuses_gaps(name: str) -> None:
    policy = fresh(name, seed=1)
    with pytest.raises(ObservationError, match=name):
        policy.tell_many(with_gaps(kind_of(name).table(80, 3), ("A", "C"), 4), missing=True)
    assert policy.rows == 0


@policies(but=NEEDS_ALL_VALUES)
def test_one_by_one_equals_all_at_once_and_survives_saving(name: str, tmp_path: Any) -> None:
    kind = kind_of(name)
    table = with_gaps(kind.table(80, 3), ("A", "C"), 4)
    once, slowly = (fresh(name, seed=1) for _ in range(2))
    once.tell_many(table, missing=True)
    for row in range(80):
        arm = {lever: table[lever][row] for lever in kind.problem.intervention_names}
        slowly.tell(arm, {n: table[n][row] for n in (*kind.problem.observed_names, "Y")}, missing=True)
    assert full_state(once) == full_state(slowly)
    assert once.ask(20) == slowly.ask(20)
    once.save(tmp_path / "gaps")
    again = load_policy(tmp_path / "gaps")
    assert full_state(again) == full_state(once)
    assert again.ask(20) == once.ask(20)
    assert once.history.to_frame()["A"].null_count() == sum(value is None for value in table["A"])


def test_missing_numbers_that_are_cut() -> None:
    problem = Problem("Y", {"A": bins(quantiles=2, after=6), "B": bins([0.5])}, {"I": 2})
    policy = CausalThompsonSampling(problem, seed=0)
    for value in (1.0, None, 3.0, float("nan"), 2.0, 4.0):
        policy.tell({}, {"A": value, "B": value, "Y": 1}, missing=True)
    assert policy.history.cuts == {"A": [2.5], "B": [0.5]}
    assert policy.history.rows.codes[:, 0].tolist() == [0, -1, 1, -1, 0, 1]
    assert policy.history.missing == {"A": 2, "B": 2}


def test_gaps_are_refused_unless_they_are_allowed() -> None:
    policy = CausalUCBNormal(SIX, seed=0, variance="bootstrap")
    row = {"A": None, "B": "low", "C": 1.0, "Y": 1.0}
    with pytest.raises(ObservationError, match="'A' is None"):
        policy.tell({}, row)
    with pytest.raises(
        ObservationError, match="policy 'causal-ucb-normal' needs a value of each of 'A', 'B', 'C' in every row"
    ):
        policy.tell({}, row, missing=True)
    assert policy.rows == 0


@policies(among=PLAYS_ALL_ARMS)
def test_a_policy_that_plays_all_arms_cannot_be_restricted(name: str) -> None:
    policy = fresh(name, seed=1)
    policy.restrict(kind_of(name).problem.arms[1:4])
    with pytest.raises(OptionError, match=name):
        policy.ask()


@policies(but=PLAYS_ALL_ARMS)
def test_restricted_arms(name: str) -> None:
    kind = kind_of(name)
    policy = fresh(name, seed=1)
    policy.tell_many(kind.table(80, 3))
    some = kind.problem.arms[1:4]
    policy.restrict(some)
    assert set(policy.ask(300)) <= set(some)
    assert policy.recommend().arm in some
    for seed in range(20):
        indices = policy.indices(np.random.default_rng(seed))
        if indices is not None and not np.all(np.isnan(indices)):
            chosen = int(policy.choose(1, np.random.default_rng(seed))[0])
            assert chosen == int(np.nanargmax(indices))
            assert np.flatnonzero(~np.isnan(indices)).tolist() == [1, 2, 3]
    before = full_state(policy)
    assert policy.frequencies(100, np.random.default_rng(0)).sum() == pytest.approx(1)
    assert full_state(policy) == before
    policy.restrict(None)
    assert policy.allowed.all()
