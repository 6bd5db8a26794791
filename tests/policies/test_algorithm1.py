"""Arms are chosen with the probabilities of the literal Algorithm 1."""

import numpy as np
import pytest

from causal_bandits import CausalThompsonSampling, ThompsonSampling
from causal_bandits.core.compiled import interpreted
from causal_bandits.core.policies import DiscretePolicy
from causal_bandits.core.policies import rules as compiled_rules
from tests.policies.cases import CASES, FOUR_ARMS, Case
from tests.policies.g_tests import FALSE_ALARM, Ints, g_test
from tests.reference import algorithm1


def chosen(policy: DiscretePolicy, case: Case, draws: int) -> Ints:
    if case.rows:
        policy.tell_many(case.table)
    return np.array([case.problem.index(arm) for arm in policy.ask(draws)])


@pytest.mark.parametrize(
    "case", [CASES[2], *(pytest.param(case, marks=pytest.mark.slow) for case in (*CASES[:2], *CASES[3:]))]
)
def test_monte_carlo_option(case: Case) -> None:
    """Null: with variances from 10 samples, ours and the reference choose each arm equally often.

    Two-sample G test, 12000 choices each; standard error of a difference of frequencies at most 0.0065.
    So few samples make the choice of the set itself random, and the index correlated with it: a rule that draws the
    index afresh is seen. False-alarm rate 1e-4 per case; seeds 11 (ours), 12 (reference).
    """
    policy = CausalThompsonSampling(case.problem, discovery=case.discovery, seed=11, variance="monte-carlo", samples=10)
    data = algorithm1.Data.of(case.problem, case.table)
    theirs = algorithm1.causal_thompson_sampling(
        data, case.problem, _pairs(case), np.random.default_rng(12), choices=12_000, n_mc=10
    )
    assert g_test(chosen(policy, case, 12_000), theirs, len(case.problem.arms)) > FALSE_ALARM


@pytest.mark.slow
def test_monte_carlo_option_with_the_papers_200_samples() -> None:
    """Null: as above with 200 samples. 2500 choices each, standard error at most 0.014; rate 1e-4; seeds 13, 14."""
    case = CASES[2]
    policy = CausalThompsonSampling(case.problem, discovery=case.discovery, seed=13, variance="monte-carlo")
    assert policy.samples == 200
    data = algorithm1.Data.of(case.problem, case.table)
    theirs = algorithm1.causal_thompson_sampling(
        data, case.problem, _pairs(case), np.random.default_rng(14), choices=2500
    )
    assert g_test(chosen(policy, case, 2500), theirs, len(case.problem.arms)) > FALSE_ALARM


@pytest.mark.parametrize("case", CASES)
def test_closed_form(case: Case) -> None:
    """Null: ours and the reference given exact variances choose each arm equally often.

    Two-sample G test, 100000 choices each; standard error of a difference of frequencies at most 0.0022.
    False-alarm rate 1e-4 per case; seeds 15 (ours), 16 (reference).
    """
    policy = CausalThompsonSampling(case.problem, discovery=case.discovery, seed=15)
    data = algorithm1.Data.of(case.problem, case.table)
    theirs = algorithm1.causal_thompson_sampling(
        data,
        case.problem,
        _pairs(case),
        np.random.default_rng(16),
        choices=100_000,
        n_mc=1,
        variance=algorithm1.exact_variance,
    )
    assert g_test(chosen(policy, case, 100_000), theirs, len(case.problem.arms)) > FALSE_ALARM


@pytest.mark.parametrize("case", CASES)
def test_naive_thompson_sampling(case: Case) -> None:
    """Null: ours and the reference without sets choose each arm equally often.

    Two-sample G test, 100000 choices each; standard error at most 0.0022. False-alarm rate 1e-4 per case;
    seeds 17 (ours), 18 (reference).
    """
    data = algorithm1.Data.of(case.problem, case.table)
    theirs = algorithm1.thompson_sampling(data, case.problem, np.random.default_rng(18), choices=100_000)
    ours = chosen(ThompsonSampling(case.problem, seed=17), case, 100_000)
    assert g_test(ours, theirs, len(case.problem.arms)) > FALSE_ALARM


@pytest.mark.parametrize("case", CASES[1:])
def test_the_test_would_notice(case: Case) -> None:
    """The same test with the same numbers tells causal from naive Thompson Sampling on every history but the empty."""
    causal = chosen(CausalThompsonSampling(case.problem, discovery=case.discovery, seed=15), case, 100_000)
    naive = chosen(ThompsonSampling(case.problem, seed=17), case, 100_000)
    assert g_test(causal, naive, len(case.problem.arms)) < 1e-8


@pytest.mark.parametrize("samples", [0, 7])
def test_compiled_equals_interpreted(samples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = CausalThompsonSampling(FOUR_ARMS, discovery=CASES[2].discovery, seed=1)
    policy.tell_many(CASES[2].table)
    state = policy.ready()._replace(samples=samples)
    fast = [compiled_rules.choose_by_sets(state, np.random.default_rng(seed)) for seed in range(50)]
    for name in RULES:
        monkeypatch.setattr(compiled_rules, name, interpreted(getattr(compiled_rules, name)))
    slow = [interpreted(compiled_rules.choose_by_sets)(state, np.random.default_rng(seed)) for seed in range(50)]
    assert fast == slow


RULES = (
    *("best_sets", "drawn_through", "drawn_indices", "_choose_by_samples"),
    *("own_moments", "draw_own", "draw_shared"),
)


def _pairs(case: Case) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [(variables, tuple(separated)) for variables, separated in case.told.items()]
