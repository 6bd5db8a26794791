"""The promise of advice: however often one looks, a wrong claim is rarer than stated; and it does stop."""

import numpy as np
import pytest
from benchmarks.stopping import claims, decisions_to_stop, is_wrong, played

import causal_bandits as cb

pytestmark = pytest.mark.statistical


@pytest.mark.parametrize(
    ("policy", "kind"), [("uniform", "0/1 at 30%"), ("97:3", "revenue, lognormal"), ("97:3", "counts")]
)
def test_wrong_claims_are_rarer_than_stated(policy: str, kind: str) -> None:
    """Null: at most 5% of A/A studies with three arms prove anything false at any of 40 looks.

    80 studies: the standard error at 5% is 2.4%, so more than 11 wrong ones (14%) have a probability under 1e-3.
    Seeds 0 to 79. `python -m benchmarks.stopping false` has 400 studies of every kind and policy.
    """
    wrong = sum(is_wrong(claims(played(policy, kind, np.ones(3), 4000, seed)[0]), np.ones(3)) for seed in range(80))
    assert wrong <= 11


def test_wrong_claims_are_rare_when_arms_are_chosen_by_what_was_seen() -> None:
    """The same with top-two Thompson Sampling, where arms depend on rewards: 60 studies, so more than 10 wrong ones
    have a probability under 1e-3 at 5%. Seeds 0 to 59.
    """
    wrong = sum(
        is_wrong(claims(played("best-arm", "0/1 at 30%", np.ones(2), 1500, seed)[0]), np.ones(2)) for seed in range(60)
    )
    assert wrong <= 10


def test_a_false_rule_would_be_found() -> None:
    """The measurement can fail: stopping at the first p < .05 is wrong in far more than 5% of A/A studies."""
    wrong = 0
    for seed in range(100):
        rows = played("uniform", "0/1 at 30%", np.ones(2), 2000, seed)[0].rows
        ahead = np.cumsum(np.where(rows.arms == 0, rows.rewards, -rows.rewards))[99::100]
        wrong += bool((np.abs(ahead) > 1.96 * np.sqrt(0.3 * np.arange(100, 2001, 100))).any())
    assert wrong > 10


@pytest.mark.slow
def test_top_two_stops_no_later_than_uniform_play() -> None:
    """Null: a tenth sooner. One arm of six is best, the others differ from it by 10 to 20 points: 6 paired studies.

    A difference of the sums has a standard error of .14, so a sum above 1.35 times that of uniform play is a false
    alarm in 7 of 10,000 cases. Seeds 0 to 5.
    """
    base = cb.DiscreteSCM(
        {"seen": 2, "Y": 2},
        {"seen": cb.worlds.Mechanism([], [0.7, 0.3]), "Y": cb.worlds.Mechanism([], [0.5, 0.5])},
        {"lever": {level: {} for level in range(6)}},
    )
    world = cb.StructurelessWorld(base, [0.2, 0.25, 0.2, 0.3, 0.3, 0.4])
    spent = {name: sum(decisions_to_stop(name, world, seed) for seed in range(6)) for name in ("uniform", "best-arm")}
    assert spent["best-arm"] < 1.35 * spent["uniform"]


def test_a_better_arm_with_a_small_share_is_not_called_worse() -> None:
    """Null: at most 5% of studies call an arm worse that is 20% better and gets 3% of the rows.

    60 studies of revenue: the standard error at 5% is 2.8%, so more than 10 have a probability under 1e-3.
    Seeds 0 to 59.
    """
    lifts = np.array([1.0, 1.2])
    found = [claims(played("97:3", "revenue, lognormal", lifts, 4000, seed)[0]) for seed in range(60)]
    assert sum(is_wrong(each, lifts) for each in found) <= 10
