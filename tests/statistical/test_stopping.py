"""The promise of advice: however often one looks, a wrong claim is rarer than stated; and it does stop."""

import numpy as np
import pytest
from benchmarks.stopping import at_looks, decisions_to_stop, funnel, is_stop, is_wrong, played

from causal_bandits.independence.anytime import Sums

pytestmark = pytest.mark.statistical


@pytest.mark.parametrize("rates", [[0.3, 0.3], [0.3, 0.36], [0.1, 0.1, 0.1]])
def test_wrong_claims_are_rarer_than_stated(rates: list[float]) -> None:
    """Null: at most 5 % of studies make a wrong claim at any of 20 looks, played uniformly.

    300 studies: the standard error at 5 % is 1.26 %, so more than 27 wrong ones (9 %) have a probability under 1e-3.
    Seeds 0 to 299. `python -m benchmarks.stopping false` has 1,000 studies of every policy.
    """
    world = funnel(rates)
    wrong = sum(
        is_wrong(at_looks(*played("uniform", world, 2000, seed), len(rates)), world.means) for seed in range(300)
    )
    assert wrong <= 27


def test_wrong_claims_are_rare_when_arms_are_chosen_by_what_was_seen() -> None:
    """The same with top-two Thompson Sampling, where arms depend on rewards: 60 studies, so more than 10 wrong ones
    have a probability under 1e-3 at 5 %. Seeds 0 to 59.
    """
    world = funnel([0.3, 0.3])
    wrong = sum(is_wrong(at_looks(*played("best-arm", world, 1500, seed), 2), world.means) for seed in range(60))
    assert wrong <= 10


def test_a_false_rule_would_be_found() -> None:
    """The measurement can fail: stopping at the first p < .05 is wrong in far more than 5 % of A/A studies."""
    world, wrong = funnel([0.3, 0.3]), 0
    for seed in range(100):
        sums = at_looks(*played("uniform", world, 2000, seed), 2)
        means = sums.total / np.maximum(sums.rows, 1)
        spread = np.sqrt(0.21 * (1 / np.maximum(sums.rows, 1)).sum(axis=1))
        wrong += bool((np.abs(means[:, 0] - means[:, 1]) > 1.96 * spread).any())
    assert wrong > 10


def test_top_two_stops_no_later_than_uniform_play() -> None:
    """Null: a tenth sooner. One arm of six is best, the others differ from it by 10 to 20 points: 12 paired studies.

    A difference of the sums has a standard error of a tenth (seeds 0 to 19 of benchmarks/stopping.py), so a sum above
    1.25 times that of uniform play is a false alarm in 3 of 10,000 cases. Seeds 0 to 11.
    """
    world = funnel([0.2, 0.25, 0.2, 0.3, 0.3, 0.4])
    spent = {name: sum(decisions_to_stop(name, world, seed) for seed in range(12)) for name in ("uniform", "best-arm")}
    assert spent["best-arm"] < 1.25 * spent["uniform"]


def test_a_clear_difference_is_a_stop() -> None:
    assert is_stop(Sums(*np.array([[500.0, 500.0], [100.0, 250.0], [100.0, 250.0]])))
    assert not is_stop(Sums(*np.array([[50.0, 50.0], [14.0, 16.0], [14.0, 16.0]])))
