"""Drift: silent while every arm stays as it is, under any play and for every kind of reward; heard when one changes."""

import math

import numpy as np
import pytest
from scipy import stats

import causal_bandits as cb
from causal_bandits.core.compiled import Floats, Ints, interpreted
from causal_bandits.core.independence import drift
from causal_bandits.core.independence.drift import find_drift, log_capital, look_rows, smoothed_ranks, stakes
from causal_bandits.product.studies.applying import apply
from causal_bandits.product.studies.deciding import choose
from causal_bandits.product.studies.decisions import Event, Kind
from causal_bandits.product.studies.drift import drift_by_variable, resolved_rows
from causal_bandits.product.studies.health import health_of
from tests.studies.cases import Unstored

KINDS = ("binary", "count", "revenue", "levels", "number")


def drawn(kind: str, rng: np.random.Generator, rows: int, level: float = 1.0) -> Floats:
    """Rewards with a mean of `level` times the usual one."""
    if kind == "binary":
        return (rng.random(rows) < 0.2 * level).astype(np.float64)
    if kind == "count":
        return rng.poisson(2 * level, rows).astype(np.float64)
    if kind == "revenue":
        return np.where(rng.random(rows) < 0.1 * level, rng.lognormal(3, 1, rows), 0.0)
    if kind == "levels":
        return rng.binomial(3, 0.5 * level, rows).astype(np.float64)
    return rng.normal(2 * level, 1.0, rows)


def greedy(rng: np.random.Generator, values: Floats) -> tuple[Ints, Floats]:
    """Rows of a policy that plays the arm with the highest mean so far, so that lucky arms continue and others stop."""
    arms, rows = values.shape
    played, total = np.zeros(arms, dtype=np.int64), np.ones(arms) * values.max()
    which, seen = np.empty(rows, dtype=np.int64), np.empty(rows)
    for row in range(rows):
        arm = int((total / (played + 1)).argmax()) if rng.random() < 0.9 else int(rng.integers(arms))
        which[row], seen[row] = arm, values[arm, played[arm]]
        played[arm] += 1
        total[arm] += seen[row]
    return which, seen


@pytest.mark.parametrize("kind", KINDS)
def test_false_alarms_under_greedy_play(kind: str) -> None:
    """Null: p-values of at most 0.2 in at most 20% of runs in which no arm changes.

    100 runs of 600 rows, 6 arms: the standard error at 20% is 4%, so more than 34 have a probability under 5e-4.
    Seed 41.
    """
    rng = np.random.default_rng(41)
    low = 0
    for run in range(100):
        which, seen = greedy(rng, np.stack([drawn(kind, rng, 600) for _ in range(6)]))
        low += find_drift(which, seen, np.full(6, 1 / 6), seed=(run,)).p_value <= 0.2
    assert low <= 34


def test_the_capital_reaches_ten_in_at_most_a_tenth_of_the_streams() -> None:
    """Null: P(capital ever reaches 10) <= 10% for uniform p-values, and likewise 2 and 50%.

    1000 streams of 1000 rows: standard errors 0.95% and 1.6%, so more than 130 or 550 have probabilities under 2e-3.
    Seed 42.
    """
    rng = np.random.default_rng(42)
    highest = np.array([log_capital(rng.random(1000))[1].max() for _ in range(1000)])
    assert np.sum(highest >= math.log(10)) <= 130
    assert np.sum(highest >= math.log(2)) <= 550


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_of_half_is_found(kind: str) -> None:
    """Null: at least 80% of steps up by 50% after 3,000 rows are found within 3,000 more.

    30 runs: a power of 80% gives fewer than 17 with probability 1e-3. Seed 43.
    """
    rng = np.random.default_rng(43)
    found = 0
    for run in range(30):
        values = np.concatenate([drawn(kind, rng, 3000), drawn(kind, rng, 3000, 1.5)])
        result = find_drift(np.zeros(6000, dtype=np.int64), values, np.ones(1), seed=(run,))
        found += result.alarm and result.row > 3000
    assert found >= 17


def test_bets_are_fair_and_stakes_add_up_to_one() -> None:
    split = drift.SPLITS[drift.SPLIT_OF]
    np.testing.assert_allclose(split * np.exp(drift.BELOW) + (1 - split) * np.exp(drift.ABOVE), 1.0)
    assert 0.99 < stakes(100_000).sum() < 1
    assert look_rows(15).size == 0
    assert look_rows(100_000).max() == 98_904


def slow_capital(p: Floats) -> list[float]:
    """The capital bet by bet and row by row."""
    rows = look_rows(len(p))
    staked, found = stakes(len(rows)), []
    for look, end in enumerate(rows):
        total = 1 - staked[: look + 1].sum()
        for begun in range(look + 1):
            for which, below, above in zip(drift.SPLIT_OF, drift.BELOW, drift.ABOVE, strict=True):
                pays = np.where(p[rows[begun] : end] < drift.SPLITS[which], below, above)
                total += staked[begun] / len(drift.SPLIT_OF) * np.exp(pays.sum())
        found.append(math.log(total))
    return found


def test_capital_equals_that_of_every_bet() -> None:
    p = np.random.default_rng(44).beta(0.7, 1.3, 40)
    np.testing.assert_allclose(log_capital(p)[1], slow_capital(p), rtol=1e-9, atol=1e-9)


def test_ranks_are_those_of_a_plain_count() -> None:
    rng = np.random.default_rng(38)
    values, noise = rng.integers(6, size=200).astype(np.float64), rng.random(200)
    slow = [
        (np.sum(values[:row] > values[row]) + noise[row] * (np.sum(values[:row] == values[row]) + 1)) / (row + 1)
        for row in range(200)
    ]
    np.testing.assert_allclose(smoothed_ranks(values, noise), slow, rtol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_are_uniform_and_independent(kind: str) -> None:
    """Null: p-values are uniform, and so are those that follow a small one. Kolmogorov and Smirnov at 1e-4; seed 34."""
    rng = np.random.default_rng(34)
    p = smoothed_ranks(drawn(kind, rng, 3000), rng.random(3000))
    for values in (p, p[1:][p[:-1] < 0.2]):
        assert stats.kstest(values, "uniform").pvalue > 1e-4


def test_compiled_equals_interpreted() -> None:
    rng = np.random.default_rng(36)
    numbers, noise = rng.normal(size=200), rng.random(200)
    np.testing.assert_array_equal(smoothed_ranks(numbers, noise), interpreted(smoothed_ranks)(numbers, noise))


def test_nothing_seen_is_no_alarm_and_missing_values_are_left_out() -> None:
    nothing = np.empty(0, dtype=np.int64)
    found = find_drift(nothing, np.empty(0), np.ones(1), seed=(0,))
    assert (found.alarm, found.row, found.p_value) == (False, 0, 1.0)
    values = np.repeat([0.0, 1.0], 500)
    streams = np.zeros(1000, dtype=np.int64)
    whole = find_drift(streams, values, np.ones(1), seed=(0,))
    gaps = np.full(2000, np.nan)
    gaps[::2] = values
    gone = find_drift(np.zeros(2000, dtype=np.int64), gaps, np.ones(1), seed=(0,))
    assert whole.alarm
    assert gone.alarm
    assert gone.row > 1000


MEDIATED = cb.Problem("Y", {"A": 2, "T": cb.bins([0.0, 1.0])}, {"I": ["none", "a"]}, reward="count")


def played(seed: int, *, moves: str | None, rows: int = 1200) -> Unstored:
    """A study in which one variable has another level from half-way on."""
    study, rng = Unstored(MEDIATED, seed=seed), np.random.default_rng(seed)
    for number in range(1, rows + 1):
        study.ask()
        level = {name: 2.0 if name == moves and number > rows // 2 else 1.0 for name in ("A", "T", "Y")}
        seen = {
            "A": int(rng.random() < 0.3 * level["A"]),
            "T": float(rng.normal(level["T"])),
            "Y": int(rng.poisson(2 * level["Y"])),
        }
        study.tell(number, seen)
    return study


@pytest.mark.parametrize("moves", ["A", "T", "Y"])
def test_a_variable_that_changes_is_named(moves: str) -> None:
    """The change is of more than 20 standard errors of the arm's mean, so chance plays no part. Seed 5."""
    (check,) = health_of(played(5, moves=moves).state).alarms
    assert check.code == ("reward-drift" if moves == "Y" else "mediator-shift")
    assert check.about == (moves,)
    assert f"'{moves}' of " in check.says
    assert "has changed" in check.says


def test_ties_are_broken_by_the_seed_of_the_study() -> None:
    one = played(5, moves=None, rows=200)
    other = Unstored(MEDIATED, seed=6)
    other.state._policy = one.state.policy
    other.state.decisions = one.state.decisions
    assert health_of(one.state).ok
    assert drift_by_variable(one.state) == drift_by_variable(one.state)
    assert drift_by_variable(one.state)["Y"].evidence != drift_by_variable(other.state)["Y"].evidence


def test_a_mediator_is_looked_at_up_to_the_first_row_that_waits_for_it() -> None:
    """A value that is filled in later must not change ranks that were looked at before."""
    study, rng = Unstored(MEDIATED, seed=7), np.random.default_rng(7)
    for number in range(1, 401):
        study.ask()
        seen = {"A": int(number > 200), "T": float(rng.normal()), "Y": int(rng.poisson(2))}
        study.tell(number, {name: value for name, value in seen.items() if name != "A" or number != 150})
    waiting = drift_by_variable(study.state)
    assert not waiting["A"].alarm
    assert waiting["A"].row <= 149
    study.tell(150, {"A": 0})
    assert drift_by_variable(study.state)["A"].alarm


DAY = 86_400.0
LATE = cb.Problem("Y", {}, {"I": ["none", "a"]})


def late_zeros(seed: int, *, falls: bool = False, decisions: int = 300, days: float = 20.0) -> tuple[int, int, bool]:
    """A study whose 1s are reported within a minute and whose 0s after 2 to 9 days, or never for one in twenty.

    With `falls` the mean falls from 0.5 to 0.1 half-way. Looked at every two days; gives at how many looks there was an
    alarm, how many rows were tested at the last one, and whether the order of reports alone would have been an alarm.
    """
    study, rng = Unstored(LATE, seed=seed), np.random.default_rng((seed, 1))
    asked = np.sort(rng.random(decisions)) * days * DAY
    events: list[tuple[float, int, int]] = [(time, number, -1) for number, time in enumerate(asked.tolist(), 1)]
    for number, time in enumerate(asked.tolist(), 1):
        reward = int(rng.random() < (0.1 if falls and number > decisions // 2 else 0.5))
        if reward:
            events.append((time + 60 * rng.random(), number, 1))
        elif rng.random() > 0.05:
            events.append((time + DAY * (2 + 7 * rng.random()), number, 0))
    alarms, look = 0, 2 * DAY
    for time, number, reward in sorted(events):
        if time > look:
            alarms, look = alarms + drift_by_variable(study.state)["Y"].alarm, look + 2 * DAY
        kind: Kind = "asked" if reward < 0 else "told"
        asking = {"first": number, "arms": choose(study.state, 1, None)} if reward < 0 else {}
        body = asking or {"id": number, "seen": {"Y": reward}}
        apply(study.state, Event(study.state.seq + 1, kind, time, body))
    rows = study.state.policy.history.rows
    reported = find_drift(rows.arms, rows.rewards.astype(np.float64), np.full(2, 0.5), seed=(seed,))
    alarms += drift_by_variable(study.state)["Y"].alarm
    return alarms, len(resolved_rows(study.state)), reported.alarm


def test_rewards_reported_before_zeros_are_no_drift() -> None:
    """Null: reward and delay of an arm never change. At most 1% of studies ever raise an alarm, however delays go.

    60 studies, seeds 0 to 59: more than 3 of them have a probability of 3e-3 at a rate of 1%. In the order of reports
    most of them would.
    """
    found = [late_zeros(seed) for seed in range(60)]
    assert sum(alarms > 0 for alarms, _, _ in found) <= 3
    assert min(rows for _, rows, _ in found) > 150
    assert sum(reported for _, _, reported in found) > 30


def test_a_fall_is_found_although_zeros_are_reported_late() -> None:
    """The mean falls from 0.5 to 0.1: more than 8 standard errors of an arm with 150 rows. Seed 3."""
    assert late_zeros(3, falls=True, decisions=900)[0] > 0
