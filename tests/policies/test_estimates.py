"""What a policy says about its arms."""

import numpy as np
import pytest
from scipy import stats

from causal_bandits import CausalThompsonSampling, DirectTesting, KnownSets, ThompsonSampling
from causal_bandits.core.policies.estimates import LIFT_COLUMNS
from tests.policies.cases import CASES, FOUR_ARMS, NINE_ARMS, Case, random_table
from tests.reference import algorithm1


def test_untouched_arms_know_the_prior() -> None:
    for estimate in ThompsonSampling(FOUR_ARMS).estimates():
        assert (estimate.mean, estimate.own_rows, estimate.through) == (0.5, 0, None)
        assert estimate.effective_rows == pytest.approx(0)
        assert (estimate.low, estimate.high) == pytest.approx(
            (0.025, 0.975), abs=0.01
        )  # 4,000 draws: 4 standard errors


def test_an_untouched_arm_learns_from_others_through_a_set() -> None:
    policy = CausalThompsonSampling(FOUR_ARMS, discovery=KnownSets([["A"]]))
    policy.tell_many({"A": [0, 1] * 30, "B": ["low"] * 60, "Y": [0, 1] * 30}, arm={})
    idle, untouched = policy.estimates()[0], policy.estimates()[3]
    assert untouched.own_rows == 0
    assert untouched.through == ("A",)
    assert 0 < untouched.effective_rows < idle.effective_rows


def test_nothing_shared_is_own_rows_only() -> None:
    """Effective rows equal own rows, the interval is that of the Beta, up to 5 standard errors of 4,000 draws."""
    table = random_table(NINE_ARMS, 90, 4)
    rejecting = DirectTesting(alpha=1 - 1e-12, require_evidence=True)
    for policy in (ThompsonSampling(NINE_ARMS), CausalThompsonSampling(NINE_ARMS, discovery=rejecting)):
        policy.tell_many(table)
        for number, estimate in enumerate(policy.estimates(level=0.9)):
            rows = policy.history.rows
            own = rows.rewards[rows.arms == number]
            posterior = stats.beta(1 + own.sum(), 1 + len(own) - own.sum())
            assert estimate.own_rows == len(own)
            assert estimate.through is None
            assert estimate.effective_rows == pytest.approx(len(own), abs=1e-9)
            assert estimate.mean == pytest.approx(posterior.mean())
            low, high = posterior.interval(0.9)
            assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=0.05 * (high - low))


@pytest.mark.parametrize("case", CASES[1:])
def test_through_a_set(case: Case) -> None:
    """The set of lowest variance, its mean, and as many effective rows as give a Beta of that variance."""
    policy = CausalThompsonSampling(case.problem, discovery=case.discovery, seed=0)
    policy.tell_many(case.table)
    data = algorithm1.Data.of(case.problem, case.table)
    for arm, estimate in zip(case.problem.arm_codes, policy.estimates(), strict=True):
        own = data.rewards[(data.interventions == arm).all(axis=1)]
        lowest: tuple[float, tuple[str, ...] | None] = (algorithm1.beta_variance(own.sum(), (1 - own).sum()), None)
        for variables, separated in case.told.items():
            counts = algorithm1.shared_counts(data, case.problem, arm, variables, separated)
            lowest = min(lowest, (algorithm1.exact_variance(*counts), variables))
        assert estimate.through == lowest[1]
        size = estimate.effective_rows + 2
        assert estimate.mean * (1 - estimate.mean) / (size + 1) == pytest.approx(lowest[0])


@pytest.mark.parametrize("case", CASES[1:])
def test_interval_through_a_set_covers(case: Case) -> None:
    """The 95% interval is that of a Beta with the posterior's moments: an approximation through a set.

    Over 20000 reference draws per arm, whose standard error is 0.0015, coverage lies between 0.935 and 0.965:
    1.5 points for the approximation, or ten standard errors: false alarms are left out of account. Seed 31.
    """
    policy = CausalThompsonSampling(case.problem, discovery=case.discovery, seed=0)
    policy.tell_many(case.table)
    data = algorithm1.Data.of(case.problem, case.table)
    rng = np.random.default_rng(31)
    for arm, estimate in zip(case.problem.arm_codes, policy.estimates(), strict=True):
        if estimate.through is None:
            continue
        separated = case.told[estimate.through]
        counts = algorithm1.shared_counts(data, case.problem, arm, estimate.through, separated)
        draws = algorithm1.shared_samples(*counts, (20_000,), rng)
        assert 0.935 < np.mean((estimate.low < draws) & (draws < estimate.high)) < 0.965


@pytest.mark.parametrize("case", CASES[1:])
def test_recommendation(case: Case) -> None:
    """Null: the probability of being best is the frequency with which the reference, given exact variances, chooses it.

    20000 draws on both sides: the standard error of the difference is sqrt(2 p (1 - p) / n), at most 0.005.
    4.5 of them may pass: false-alarm rate 7e-6 per case. Seeds: the number of rows (ours), 32 (reference).
    """
    policy = CausalThompsonSampling(case.problem, discovery=case.discovery, seed=0)
    policy.tell_many(case.table)
    best = policy.recommend()
    estimates = policy.estimates()
    assert best.arm == max(estimates, key=lambda estimate: estimate.mean).arm
    assert best.mean == max(estimate.mean for estimate in estimates)
    theirs = algorithm1.causal_thompson_sampling(
        algorithm1.Data.of(case.problem, case.table),
        case.problem,
        [(variables, tuple(separated)) for variables, separated in case.told.items()],
        np.random.default_rng(32),
        choices=20_000,
        n_mc=1,
        variance=algorithm1.exact_variance,
    )
    p = float(np.mean(theirs == case.problem.index(best.arm)))
    assert 0 <= best.probability_best <= 1
    assert abs(best.probability_best - p) < 4.5 * np.sqrt(2 * p * (1 - p) / 20_000)


def test_table() -> None:
    policy = CausalThompsonSampling(FOUR_ARMS, discovery=CASES[2].discovery, seed=0)
    policy.tell_many(CASES[2].table)
    frame = policy.estimates().to_frame()
    shared = ["arm", "mean", "low", "high", "through", "own_rows", "effective_rows", "used_rows"]
    own = ["own_mean", "own_low", "own_high", "status", "pending_rows", "pending_effective"]
    assert frame.columns == [*shared, *own, "is_control", *LIFT_COLUMNS]
    assert frame["arm"].to_list() == ["A=0, B=idle", "A=0, B=on", "A=1, B=idle", "A=1, B=on"]
    assert frame["is_control"].to_list() == [True, False, False, False]
    assert frame["own_rows"].sum() == CASES[2].rows
    assert set(frame["through"].to_list()) <= {None, "{A}", "{A, B}"}
    assert "A=1, B=idle" in repr(policy.estimates())


def test_separating_sets_show_their_evidence() -> None:
    policy = CausalThompsonSampling(FOUR_ARMS, discovery=DirectTesting(), seed=0)
    policy.tell_many(random_table(FOUR_ARMS, 400, 6))
    everything = policy.separating_sets(rejected=True)
    assert [found.variables for found in everything] == [(), ("A",), ("B",), ("A", "B")]
    assert [found for found in everything if found.accepted] == policy.separating_sets()
    for found in everything:
        assert found.evidence.rows == 400
        for (lever,), result in found.evidence.tests.items():
            assert (result.p_value > 0.05) == (lever in found.separated)
