"""What guardrails and the check of outcomes promise, measured."""

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.product.studies.guardrails import Guardrail, Guards, read_guardrails
from causal_bandits.product.studies.health import FALSE_ALARMS, looks, share_of_look, uneven
from tests.studies.cases import Unstored


@pytest.mark.parametrize(
    ("kind", "bound", "level"),
    [
        ("binary", ("<=", 0.1), 1.0),
        ("count", (">=", 2.0), 1.0),
        ("revenue", (">=", 1.0), 1.0),
        ("binary", (">=", "0.9 x control"), 0.9),
        ("revenue", ("<=", "1.1 x control"), 1.1),
    ],
)
def test_arms_at_the_limit_are_rarely_excluded(kind: str, bound: tuple[str, float | str], level: float) -> None:
    """Null: at most 5% of studies ever exclude an arm, if all arms are exactly at the limit of a guardrail.

    30 studies of 3 arms and 1,500 rows, looked at after every value: the standard error at 5% is 4%, so more than 6
    have a probability under 7e-4. Seeds 0 to 29.
    """
    problem, rows, wrong = cb.Problem("Y", {"A": 2}, {"I": ["none", "a", "b"]}), 500, 0
    ((_, _, *limits),) = read_guardrails(problem, {"m": "real"}, {"m": bound}, [0])
    policy = cb.ThompsonSampling(problem, seed=0)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        guards = Guards(
            [Guardrail("m", None, *limits)], 0.95, {"m": "binary" if kind == "binary" else "real"}, 3, control
        )
        for row in range(3 * rows):
            mean = level if row % 3 else 1.0
            value = {
                "binary": float(rng.random() < 0.1 * mean),
                "count": float(rng.poisson(2.0 * mean)),
                "revenue": float(rng.lognormal(0.0, 1.0) / 0.1648721271 if rng.random() < 0.1 * mean else 0.0),
            }[kind]
            guards.count_reported(problem, row + 1, row % 3, {"m": value}, counts=True)
        wrong += int(guards.broken(policy)[0].any())
    assert wrong <= 6


def control(_: cb.Problem) -> list[int]:
    return [0]


def test_a_violating_arm_is_soon_no_longer_played_and_the_others_are() -> None:
    """The best arm has 15% refunds where 5% are allowed; the others have 2.5%, so one in twenty may be excluded.

    16 studies of 300 decisions. Null: the share of the violating arm in the last quarter is at most 5%, and so is that
    of the others that are excluded (48 arms: standard error 3.1%, alarm beyond 4). Seeds 0 to 15.
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
    """Null: with outcomes lost alike in all arms at most 1% of studies of 2300 decisions alarm at any of six looks.

    Traffic moves to one arm and more outcomes are late towards each look. 600 studies: standard error 0.41%, alarm
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
