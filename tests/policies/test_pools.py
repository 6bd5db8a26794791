"""The posterior through a set: closed form, running sums and Monte Carlo agree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causal_bandits import CausalThompsonSampling, DirectTesting
from causal_bandits.core.compiled import interpreted
from causal_bandits.core.estimators import draw_shared, make_pools
from causal_bandits.core.policies.rules import learn_row
from tests.policies.cases import CASES, FOUR_ARMS, NINE_ARMS, PARTIAL, SIX_LISTED, Case, full_state, random_table
from tests.reference import algorithm1

HISTORIES = st.builds(
    Case,
    st.sampled_from([FOUR_ARMS, SIX_LISTED, NINE_ARMS]),
    st.dictionaries(
        st.sampled_from([(), ("A",), ("B",), ("A", "B")]),
        st.sampled_from([["I_A"], ["I_B"], ["I_A", "I_B"]]),
        min_size=1,
    ),
    st.integers(1, 120),
    st.integers(0, 10_000),
)


def policy_after(case: Case) -> CausalThompsonSampling:
    """Sets are told before the first row, so that all moments are running sums."""
    policy = CausalThompsonSampling(case.problem, discovery=case.discovery, seed=0)
    policy.ready()
    policy.tell_many(case.table)
    return policy


@settings(max_examples=30, derandomize=True)
@given(HISTORIES)
def test_closed_form_equals_the_reference_formula(case: Case) -> None:
    policy = policy_after(case)
    data = algorithm1.Data.of(case.problem, case.table)
    tables, pools = policy._state.tables, policy._state.pools
    for index, place in enumerate(pools.sets):
        variables = policy.layout.names[place]
        for number, arm in enumerate(case.problem.arm_codes):
            counts = algorithm1.shared_counts(data, case.problem, arm, variables, case.told[variables])
            own, ones, zeros = counts
            mean = ((own + 1) * (ones + 1) / (ones + zeros + 2)).sum() / (own + 1).sum()
            rows = own.sum() + tables.cells[place]
            assert pools.linear[index, number] / rows == pytest.approx(mean, rel=1e-10)
            assert pools.variance[index, number] == pytest.approx(algorithm1.exact_variance(*counts), rel=1e-9)


@settings(max_examples=15, derandomize=True)
@given(HISTORIES)
def test_closed_form_equals_monte_carlo(case: Case) -> None:
    """Null: 20000 draws of p . mu by numpy have the closed form's mean and variance.

    Standard errors sqrt(v / n) and sqrt((m4 - v^2) / n) from the draws. 5 of them may pass, 6e-7 two-sided; with at
    most 15 histories x 36 arms and sets x 2 moments the false-alarm rate is under 1e-3. Seed 21, examples derandomized.
    """
    policy = policy_after(case)
    data = algorithm1.Data.of(case.problem, case.table)
    tables, pools = policy._state.tables, policy._state.pools
    rng = np.random.default_rng(21)
    for index, place in enumerate(pools.sets):
        variables = policy.layout.names[place]
        for number, arm in enumerate(case.problem.arm_codes):
            counts = algorithm1.shared_counts(data, case.problem, arm, variables, case.told[variables])
            draws = algorithm1.shared_samples(*counts, (20_000,), rng)
            mean = pools.linear[index, number] / (counts[0].sum() + tables.cells[place])
            assert abs(draws.mean() - mean) < 5 * draws.std() / np.sqrt(len(draws))
            spread = np.sqrt((((draws - mean) ** 2).var()) / len(draws))
            assert abs(draws.var() - pools.variance[index, number]) < 5 * spread


@pytest.mark.slow
def test_compiled_draws_follow_the_posterior() -> None:
    """Null: `draw_shared` and numpy's draws have the same mean. 20000 each; the standard error of the difference is
    sqrt(2 v / n); 5 of them may pass: with 8 arms and sets the false-alarm rate is under 5e-6. Seeds 22, 23.
    """
    case = CASES[1]
    policy = policy_after(case)
    data = algorithm1.Data.of(case.problem, case.table)
    state = policy._state
    one, other = np.random.default_rng(22), np.random.default_rng(23)
    for index, place in enumerate(state.pools.sets):
        variables = policy.layout.names[place]
        for number, arm in enumerate(case.problem.arm_codes):
            counts = algorithm1.shared_counts(data, case.problem, arm, variables, case.told[variables])
            theirs = algorithm1.shared_samples(*counts, (20_000,), one)
            ours = np.array([draw_shared(state.tables, state.pools, index, number, other) for _ in range(20_000)])
            assert abs(ours.mean() - theirs.mean()) < 5 * np.sqrt((ours.var() + theirs.var()) / 20_000)


@pytest.mark.parametrize("told", [None, PARTIAL])
def test_running_sums_equal_sums_made_afresh(told: dict[tuple[str, ...], list[str]] | None) -> None:
    """After 5000 rows since the sets were found; the 25% rule makes them afresh long before."""
    discovery = DirectTesting() if told is None else Case(FOUR_ARMS, told, 0, 0).discovery
    policy = CausalThompsonSampling(FOUR_ARMS, discovery=discovery, seed=0)
    policy.tell_many(random_table(FOUR_ARMS, 30, 1))
    running = policy.ready().pools
    policy.tell_many(random_table(FOUR_ARMS, 5000, 2))
    assert policy.findings is not None
    afresh = make_pools(policy.findings, policy._state.tables)
    assert len(running.sets)
    for name in ("sets", "groups", "starts", "counts"):
        assert np.array_equal(getattr(running, name), getattr(afresh, name)), name
    for name in ("linear", "square", "variance"):
        np.testing.assert_allclose(getattr(running, name), getattr(afresh, name), rtol=1e-9, err_msg=name)


def test_variance_of_a_certain_reward_stays_positive() -> None:
    """Every reward 1: the variance is a small difference of large sums."""
    table = random_table(FOUR_ARMS, 20_000, 3)
    policy = CausalThompsonSampling(FOUR_ARMS, discovery=Case(FOUR_ARMS, {("A",): ["I_A", "I_B"]}, 0, 0).discovery)
    policy.ready()
    policy.tell_many(table | {"Y": [1] * 20_000})
    assert policy.findings is not None
    afresh = make_pools(policy.findings, policy._state.tables)
    assert policy._state.pools.variance.min() > 0
    np.testing.assert_allclose(policy._state.pools.variance, afresh.variance, rtol=1e-5)


def test_compiled_learn_equals_interpreted() -> None:
    one, other = policy_after(CASES[2]), policy_after(CASES[2])
    rows = one.history.rows
    for arm, codes, reward in zip(rows.arms, rows.codes, rows.rewards, strict=True):
        learn_row(one._state, arm, codes, reward)
        interpreted(learn_row)(other._state, arm, codes, reward)
    compiled, plain = full_state(one), full_state(other)
    assert {name for name in compiled if compiled[name] != plain[name]} <= {
        "pools.linear",
        "pools.square",
        "pools.variance",
    }
    np.testing.assert_allclose(one._state.pools.variance, other._state.pools.variance, rtol=1e-12)
