"""The default policy on odd rows of every kind of reward, and that reads, files and copies change no arm."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray
from scipy import stats

from causal_bandits import Problem, SafePolicy
from causal_bandits.core.estimators import model
from causal_bandits.core.policies import safe
from causal_bandits.core.policies.explorer import mixed, play_shares

Floats = NDArray[np.float64]

RATING = {"levels": ["bad", "fair", "good"], "values": [-1.0, 0.5, 4.0]}
REWARDS: dict[str, Any] = {"binary": bool, "count": "count", "levels": RATING, "real": float, "revenue": "revenue"}
ENDS: dict[str, tuple[Any, Any]] = {
    "binary": (0, 1),
    "count": (0, 9),
    "levels": ("bad", "good"),
    "real": (-1e9, 1e9),
    "revenue": (0.0, 1e6),
}
"""A low and a high reward, where there are any the ends of the range."""
RANGES = {"binary": (0.0, 1.0), "count": (0.0, math.inf), "levels": (-1.0, 4.0), "revenue": (0.0, math.inf)}


def policy_for(kind: str, arms: list[int], a: list[int], rewards: list[Any]) -> SafePolicy:
    """A policy with four arms and one mediator, and these rows."""
    policy = SafePolicy(Problem("Y", {"A": 2}, {"I": 4}, reward=REWARDS[kind]), seed=0)
    policy.tell_many({"I": arms, "A": a, "Y": rewards})
    return policy


def assert_sane(policy: SafePolicy, kind: str) -> tuple[Floats, Floats]:
    """Draws are finite and inside the range, intervals have a width, and every arm can be played; gives intervals."""
    draws, (low, high) = policy.posterior().draws, policy.posterior().interval()
    assert np.isfinite(draws).all()
    least, most = RANGES.get(kind, (-math.inf, math.inf))
    assert least <= draws.min()
    assert draws.max() <= most
    assert (low < high).all()
    shares = policy.shares()
    assert shares.sum() == pytest.approx(1, abs=1e-9)
    assert (shares > 0).all()
    assert {arm["I"] for arm in policy.ask(50)} <= {0, 1, 2, 3}
    return low, high


@pytest.mark.parametrize("kind", REWARDS)
@pytest.mark.parametrize("end", [0, 1])
def test_all_rewards_equal(kind: str, end: int) -> None:
    """All arms are alike: every interval overlaps every other, and shares are positive."""
    policy = policy_for(kind, [0, 1, 2, 3] * 20, [0, 0, 1, 1] * 20, [ENDS[kind][end]] * 80)
    low, high = assert_sane(policy, kind)
    assert low.max() < high.min()
    if kind == "binary":  # at least half the reach of 80 equal rows under the uniform prior
        width = high if end == 0 else 1 - low
        assert (width > 0.5 * stats.beta(1, 81).ppf(0.975)).all()


ONES: dict[str, tuple[Any, Any]] = {"count": (0, 1), "levels": ("bad", "good"), "revenue": (0.0, 1.0)}


@pytest.mark.parametrize("kind", ONES)
@pytest.mark.parametrize("rewards", ["all low", "by arm"])
def test_equal_rewards_are_no_certainty(kind: str, rewards: str) -> None:
    """The upper end of an arm with low rewards alone is at least a tenth of that of rewards that are 0 or 1."""
    reward: Any = {"levels": ["bad", "good"], "values": [0, 1]} if kind == "levels" else kind
    high = {}
    for each, ends in ((bool, (0, 1)), (reward, ONES[kind])):
        policy = SafePolicy(Problem("Y", {"A": 2}, {"I": 2}, reward=each), seed=0)
        told = [ends[0], ends[0] if rewards == "all low" else ends[1]] * 50
        policy.tell_many({"I": [0, 1] * 50, "A": [0, 1, 1, 0] * 25, "Y": told})
        high[each is bool] = policy.posterior().interval()[1][0]
    assert high[False] > 0.1 * high[True]


@pytest.mark.parametrize("kind", REWARDS)
def test_no_rows(kind: str) -> None:
    """Intervals reach over most of a bounded range."""
    low, high = assert_sane(policy_for(kind, [], [], []), kind)
    if kind in ("binary", "levels"):
        least, most = RANGES[kind]
        assert (high - low > 0.8 * (most - least)).all()


@pytest.mark.parametrize("kind", REWARDS)
def test_one_row_per_arm(kind: str) -> None:
    """One high reward among three low ones: intervals are at least as wide as four rows of one arm would leave."""
    policy = policy_for(kind, [0, 1, 2, 3], [0, 1, 0, 1], [ENDS[kind][end] for end in (0, 1, 0, 0)])
    low, high = assert_sane(policy, kind)
    assert policy.posterior().means.argmax() == 1
    if kind == "binary":
        four = stats.beta(2, 4).ppf([0.025, 0.975])
        assert (high - low > 0.75 * (four[1] - four[0])).all()


@pytest.mark.parametrize("kind", REWARDS)
def test_an_arm_that_was_never_played(kind: str) -> None:
    """It is less certain than the arms that were played."""
    rewards = [ENDS[kind][end] for end in (0, 0, 1, 0, 0)] * 60
    low, high = assert_sane(policy_for(kind, [0, 1, 2] * 100, [0, 1] * 150, rewards), kind)
    assert (high[3] - low[3] > high[:3] - low[:3]).all()
    assert low[3] < low[:3].min()
    assert high[3] > high[:3].max()


@pytest.mark.parametrize("kind", REWARDS)
def test_arms_with_rewards_at_the_ends_of_the_range(kind: str) -> None:
    policy = policy_for(kind, [0, 1, 2, 3] * 50, [0, 0, 1, 1] * 50, list(ENDS[kind]) * 100)
    low, high = assert_sane(policy, kind)
    assert high[[0, 2]].max() < low[[1, 3]].min()
    if kind == "binary":
        assert (high[[0, 2]] > 0.5 * stats.beta(1, 51).ppf(0.975)).all()


@pytest.mark.parametrize("kind", REWARDS)
@pytest.mark.parametrize("mediator", ["constant", "the reward"])
def test_a_mediator_that_says_nothing_or_all(kind: str, mediator: str) -> None:
    """A third of the rewards of every arm are high: intervals hold that mean, and are no wider than own rows leave."""
    rewards = [ENDS[kind][end] for end in (0, 1, 0)] * 100
    seen = [0] * 300 if mediator == "constant" else [int(reward == ENDS[kind][1]) for reward in rewards]
    policy = policy_for(kind, [0, 1, 2, 3] * 75, seen, rewards)
    low, high = assert_sane(policy, kind)
    values = {"bad": -1.0, "good": 4.0}
    ends = [values.get(end, end) for end in ENDS[kind]]
    mean, spread = (2 * ends[0] + ends[1]) / 3, (ends[1] - ends[0]) * math.sqrt(2) / 3
    assert ((low < mean) & (mean < high)).all()
    assert (high - low < 1.3 * 2 * 1.96 * spread / math.sqrt(75)).all()
    assert (high - low > 0.5 * 2 * 1.96 * spread / math.sqrt(300)).all()


def scaled_up(policy: SafePolicy, times: float) -> None:
    """Count every row of a policy that many times."""
    counts = policy._state.counts
    counts.tables.sums[:, [0, 2]] *= times
    for name in ("rows", "m2", "m3", "m4", "above"):
        getattr(counts.stats, name)[:] *= times


@pytest.mark.parametrize("kind", REWARDS)
def test_ten_million_rows(kind: str) -> None:
    """The interval of an arm is that of its own rows, about: within 2 standard errors of their mean, and no wider."""
    rng = np.random.default_rng(1)
    arms = np.repeat(np.arange(4), 1000)
    a = (rng.random(4000) < 0.3 + 0.1 * arms).astype(int)
    level = 0.1 + 0.3 * a + 0.05 * arms
    high = rng.random(4000) < level
    rewards = [ENDS[kind][int(each)] for each in high]
    policy = policy_for(kind, arms.tolist(), a.tolist(), rewards)
    scaled_up(policy, 2500)
    own = policy._state.counts.tables.table(0)[:, 0]
    error = np.sqrt(own[:, 2] / own[:, 0] / own[:, 0])
    low, high_ends = assert_sane(policy, kind)
    assert (np.abs(policy.posterior().means - own[:, 1]) < 2 * error).all()
    assert (high_ends - low < 1.5 * 2 * 1.96 * error).all()
    assert (high_ends - low > 0.5 * 2 * 1.96 * error).all()


def test_rates_of_one_in_a_million() -> None:
    """0, 1, 2 and 9 rewards of 1 in 10^6 rows of an arm each; half of all rows have A = 1.

    An interval holds the rate of its own rows, reaches at least as far as one reward more or less among the rows of all
    arms would move it, and not further than ten times the pooled rate and the arm's own.
    """
    rewarded = np.array([0.0, 1.0, 2.0, 9.0])
    policy = policy_for("binary", [0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 1])
    tables, stats = policy._state.counts
    for arm, ones in enumerate(rewarded):
        rate = ones / 1e6
        tables.table(0)[arm, 0] = 1e6, rate, 1e6 * rate * (1 - rate)
        for cell in range(2):
            tables.table(1)[arm, cell] = 5e5, rate, 5e5 * rate * (1 - rate)
    rate = rewarded.sum() / 4e6
    stats.rows[0], stats.mean[0] = 4e6, rate
    stats.m2[0], stats.above[0] = 4e6 * rate * (1 - rate), rewarded.sum()
    low, high = assert_sane(policy, "binary")
    assert (high > rewarded / 1e6).all()
    assert (low[1:] < rewarded[1:] / 1e6).all()
    assert (high - low > 1 / 4e6).all()
    assert (high < 10 * (rate + rewarded / 1e6)).all()
    assert policy.recommend().arm["I"] == 3


def test_one_arm_that_is_allowed() -> None:
    policy = policy_for("binary", [0, 1, 2, 3], [0, 1, 0, 1], [0, 1, 0, 0])
    policy.restrict([{"I": 2}])
    assert_array_equal(policy.shares(), [0.0, 0.0, 1.0, 0.0])
    assert {arm["I"] for arm in policy.ask(20)} == {2}


# Asking, reading, saving


def row_of(kind: str, arm: Any, rng: np.random.Generator) -> dict[str, Any]:
    a = int(rng.random() < 0.3 + 0.1 * arm["I"])
    return {"A": a, "Y": ENDS[kind][int(rng.random() < 0.2 + 0.3 * a)]}


def play(policy: SafePolicy, kind: str, rounds: int, rng: np.random.Generator) -> list[int]:
    found = []
    for _ in range(rounds):
        arm = policy.ask()
        found.append(int(arm["I"]))
        policy.tell(arm, row_of(kind, arm, rng))
    return found


@pytest.mark.parametrize("kind", REWARDS)
@pytest.mark.parametrize("rounds", [7, 60])
def test_a_loaded_policy_plays_the_same_arms(kind: str, rounds: int, tmp_path: Path) -> None:
    """Saved between two fits, with a pending row: the same arms and the same posterior from then on."""
    policy = policy_for(kind, [], [], [])
    play(policy, kind, rounds, np.random.default_rng(2))
    policy.tell(policy.ask(), {"A": 1})
    policy.save(tmp_path / "policy.npz")
    loaded = SafePolicy.load(tmp_path / "policy.npz")
    assert_array_equal(loaded.shares(), policy.shares())
    assert_array_equal(loaded.posterior().draws, policy.posterior().draws)
    one, two = (play(each, kind, 80, np.random.default_rng(3)) for each in (policy, loaded))
    assert one == two
    assert_array_equal(loaded.posterior().draws, policy.posterior().draws)


@pytest.mark.parametrize("kind", REWARDS)
def test_reads_change_no_arm(kind: str) -> None:
    read, unread = policy_for(kind, [], [], []), policy_for(kind, [], [], [])
    draws = [np.random.default_rng(4) for _ in range(2)]
    for _ in range(15):
        assert play(read, kind, 6, draws[0]) == play(unread, kind, 6, draws[1])
        read.estimates(control={"I": 0})
        read.recommend()
        read.shares()
        read.effects()
        read.posterior().sample_means(0, 10)
        read.separating_sets(rejected=True)
        read.advice()


def test_the_model_is_fitted_once_per_row_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much is read; and once more when rows came."""
    policy = policy_for("binary", [0, 1, 2, 3] * 10, [0, 1] * 20, [0, 1, 1, 0] * 10)
    fits: list[int] = []
    fit = model.refit

    def counted(*state: Any) -> None:
        fits.append(policy.rows)
        fit(*state)

    monkeypatch.setattr(safe, "refit", counted)
    for _ in range(3):
        policy.estimates(control={"I": 0})
        policy.recommend()
        policy.shares()
        policy.effects()
        policy.separating_sets(rejected=True)
        policy.advice()
        policy.posterior()
    assert fits == [40]
    policy.tell({"I": 0}, {"A": 1, "Y": 1})
    policy.posterior()
    policy.estimates()
    assert fits == [40, 41]


def test_shares_and_posterior_do_not_change_with_later_rows() -> None:
    policy = policy_for("binary", [0, 1, 2, 3] * 10, [0, 1] * 20, [0, 1, 1, 0] * 10)
    policy.ask()
    shares, posterior = policy.shares(), policy.posterior()
    before, drawn = shares.copy(), posterior.sample_means(0, 20)
    for _ in range(20):
        policy.tell({"I": 3}, {"A": 1, "Y": 1})
    assert_array_equal(shares, before)
    assert_array_equal(posterior.sample_means(0, 20), drawn)
    assert (policy.shares() != before).any()


def test_a_caller_may_change_the_shares_that_it_got() -> None:
    policy = policy_for("binary", [0, 1, 2, 3] * 10, [0, 1] * 20, [0, 1, 1, 0] * 10)
    policy.ask()
    before = policy.shares().copy()
    policy.shares()[:] = 0.0
    assert_array_equal(policy.shares(), before)


@pytest.mark.parametrize("kind", REWARDS)
def test_arms_are_played_as_often_as_shares_say(kind: str) -> None:
    """Null: 4,000 arms, one by one, have the frequencies of `shares`; likelihood ratio, false alarms 1e-5; seed 0."""
    policy = policy_for(kind, [], [], [])
    play(policy, kind, 30, np.random.default_rng(5))
    shares = policy.shares()
    counts = np.bincount([int(policy.ask()["I"]) for _ in range(4000)], minlength=4)
    seen = counts > 0
    ratio = 2 * counts[seen] @ np.log(counts[seen] / (4000 * shares[seen]))
    assert stats.chi2(3).sf(ratio) > 1e-5


def test_a_batch_is_played_by_the_shares_of_a_batch() -> None:
    """Null: in a batch of 20,000 arms are nearly as frequent as in Thompson sampling; chi-square, false alarms 1e-5."""
    policy = policy_for("binary", [], [], [])
    play(policy, "binary", 30, np.random.default_rng(5))
    counts = np.bincount([int(arm["I"]) for arm in policy.ask(20_000)], minlength=4)
    expected = mixed(policy._state.sums.shares, 30.0, 20_000.0)
    assert stats.chisquare(counts, 20_000 * expected).pvalue > 1e-5


def test_an_arm_never_played_counts_as_awaited_as_far_as_it_may_be_the_best() -> None:
    """40 rows of three arms, none of the fourth: it counts as min(1, 4 P(it is the best)), beside the next decision."""
    policy = policy_for("binary", [0, 1, 2, 0] * 10, [0, 1, 0, 1] * 10, [0, 1, 0, 0] * 10)
    best = policy._latest().sums.shares[1]
    expected = mixed(policy._latest().sums.shares, 40.0, 1 + min(1.0, 4 * best[3]))
    np.testing.assert_allclose(policy.shares(), expected, rtol=1e-12)


def test_only_open_arms_that_were_never_played_count_as_awaited() -> None:
    """The arm without rows is closed, so only the decision to come is awaited."""
    policy = policy_for("binary", [0, 1, 2, 0] * 10, [0, 1, 0, 1] * 10, [0, 1, 0, 0] * 10)
    among = np.array([True, True, True, False])
    state = policy._latest()
    shares = play_shares(state.sums.draws, state.sums.weights, among, np.zeros(4))
    np.testing.assert_allclose(policy.shares(among=among), mixed(shares, 40.0, 1.0), rtol=1e-12)
