"""What guardrails and the check of outcomes promise, measured."""

import numpy as np

import causal_bandits as cb
from causal_bandits.independence.limits import log_evidence
from causal_bandits.studies.health import FALSE_ALARMS, looks, share_of_look, uneven
from tests.studies.cases import Unstored

LIMIT = -np.log(0.05)


def ever_excluded(values: np.ndarray, limit: float, ends: tuple[float, float]) -> float:
    """The share of arms that are excluded at any row, looked at after every one."""
    found = np.zeros(len(values), dtype=bool)
    total, squares = values.cumsum(axis=1), (values**2).cumsum(axis=1)
    for row in range(values.shape[1]):
        n = np.full(len(values), row + 1.0)
        found |= log_evidence(n, total[:, row], squares[:, row], limit=limit, above=True, ends=ends) >= LIMIT
    return float(found.mean())


def test_an_arm_that_keeps_its_guardrail_is_rarely_excluded_however_often_one_looks() -> None:
    """Null: arms exactly at the limit are excluded in at most 5 % of studies of 1000 rows, looked at after every row.

    1000 arms: the standard error at 5 % is 0.7 %, alarm beyond 4: false-alarm rate 3e-5. Real values are tested with
    normal ones, where the bound holds approximately. Seed 5.
    """
    rng = np.random.default_rng(5)
    for limit in (0.02, 0.3):
        assert ever_excluded((rng.random((1000, 1000)) < limit) * 1.0, limit, (0.0, 1.0)) < 0.05 + 4 * 0.007
    assert ever_excluded(rng.normal(3.0, 2.0, (1000, 1000)), 3.0, (-np.inf, np.inf)) < 0.05 + 4 * 0.007


def test_a_violating_arm_is_soon_no_longer_played_and_the_others_are() -> None:
    """The best arm has 15 % refunds where 5 % are allowed; the others have 2.5 %, so one in twenty may be excluded.

    16 studies of 300 decisions. Null: the share of the violating arm in the last quarter is at most 5 %, and so is that
    of the others that are excluded (48 arms: standard error 3.1 %, alarm beyond 4). Seeds 0 to 15.
    """
    problem = cb.Problem("Y", {"refund": 2}, {"I": ["none", "a", "b", "c"]})
    late, wrong = [], 0
    for seed in range(16):
        study, rng = Unstored(problem, seed=seed, guardrails={"refund": ("<=", 0.05)}), np.random.default_rng(seed)
        for number in range(1, 301):
            (arm,) = study.ask()
            refund = int(rng.random() < (0.15 if arm == 2 else 0.025))
            study.tell(number, {"refund": refund, "Y": int(rng.random() < (0.2, 0.3, 0.6, 0.1)[arm])})
        late.append(np.mean(study.state.decisions.column("arm")[225:] == 2))
        wrong += int(study.state.guards.broken(study.state.policy)[0, [0, 1, 3]].sum())
    assert np.mean(late) <= 0.05 + 4 * np.std(late) / np.sqrt(16)
    assert wrong <= 48 * (0.05 + 4 * 0.031)


def test_outcomes_are_rarely_called_uneven_in_vain() -> None:
    """Null: with outcomes lost alike in all arms at most 1 % of studies of 2300 decisions alarm at any of six looks.

    Traffic moves to one arm and more outcomes are late towards each look. 600 studies: standard error 0.41 %, alarm
    beyond 4: false-alarm rate 1e-4 or so. With a tenth of the outcomes of one arm lost, most studies do alarm. Seed 6.
    """
    rng, alarms, heard = np.random.default_rng(6), 0, 0
    for _ in range(600):
        favour = np.linspace(0.25, 0.8, 2300)
        arms = np.where(rng.random(2300) < favour, 0, rng.integers(1, 4, 2300))
        lost, broken = rng.random(2300) < 0.1, (rng.random(2300) < 0.1) & (arms == 0)
        delay = rng.exponential(60, 2300)
        low, worse = 1.0, 1.0
        for number, look in enumerate(looks(2300)):
            late = np.arange(look) + delay[:look] > look
            for one, gone in enumerate((lost[:look] | late, lost[:look] | late | broken[:look])):
                p = uneven(arms[:look], gone * 1.0, 4)[1] / share_of_look(number)
                low, worse = (min(low, p), worse) if one == 0 else (low, min(worse, p))
        alarms += low <= FALSE_ALARMS
        heard += worse <= FALSE_ALARMS
    assert alarms <= 600 * (0.01 + 4 * 0.0041)
    assert heard >= 300
