"""What every policy in the registry must do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from causal_bandits import load_policy
from causal_bandits.errors import CausalBanditsError, ObservationError, UnknownArmError, UnknownLevelError
from causal_bandits.policies import POLICIES, DiscretePolicy
from tests.policies.cases import NINE_ARMS, full_state, random_table, rows_of

TABLE = random_table(NINE_ARMS, 50, 9)
GOOD = {"A": 1, "B": 0, "C": 1, "Y": 1}

DISCRETE = [name for name, policy in POLICIES.items() if issubclass(policy, DiscretePolicy)]
pytestmark = pytest.mark.parametrize("name", DISCRETE)


def fresh(name: str, seed: int = 7) -> DiscretePolicy:
    policy = POLICIES[name](NINE_ARMS, seed=seed)
    assert isinstance(policy, DiscretePolicy)
    return policy


def test_name(name: str) -> None:
    assert fresh(name).name == name


def test_ask_gives_arms_of_the_problem(name: str) -> None:
    policy = fresh(name)
    assert policy.ask() in NINE_ARMS.arms
    assert len(policy.ask(6)) == 6
    assert set(policy.ask(500)) == set(NINE_ARMS.arms)  # nothing is known: all are played


def test_told_rows_are_counted(name: str) -> None:
    policy = fresh(name)
    for arm, seen in rows_of(NINE_ARMS, TABLE):
        policy.ask()
        policy.tell(arm, seen)
    policy.tell_many(TABLE)
    assert policy.rows == 100
    assert sum(estimate.own_rows for estimate in policy.estimates()) == 100
    assert policy.history.to_frame().height == 100


def test_it_learns(name: str) -> None:
    policy = fresh(name)
    good = NINE_ARMS.arm(I_A=1)
    for arm in NINE_ARMS.arms:
        policy.tell_many([{"A": i % 2, "B": i % 3 % 2, "C": 0, "Y": int(arm == good)} for i in range(60)], arm=arm)
    assert policy.recommend().arm == good
    assert policy.recommend().probability_best > 0.99
    assert policy.ask(50).count(good) == 50


def test_estimates_are_ordered(name: str) -> None:
    policy = fresh(name)
    policy.tell_many(TABLE)
    assert [estimate.arm for estimate in policy.estimates()] == list(NINE_ARMS.arms)
    for estimate in policy.estimates():
        assert 0 <= estimate.low < estimate.mean < estimate.high <= 1


@pytest.mark.parametrize(
    ("arm", "seen", "error"),
    [
        ({"I_A": "sideways"}, GOOD, UnknownLevelError),
        ({"I_Z": 1}, GOOD, LookupError),
        ("do()", GOOD, UnknownArmError),
        ({}, GOOD | {"A": 5}, UnknownLevelError),
        ({}, GOOD | {"A": None}, ObservationError),
        ({}, GOOD | {"A": float("nan")}, ObservationError),
        ({}, GOOD | {"Y": float("nan")}, ObservationError),
        ({}, GOOD | {"Y": 2}, ObservationError),
        ({}, {"A": 1, "B": 0, "C": 1}, ObservationError),
        ({}, {"A": 1, "B": 0, "Y": 1}, ObservationError),
        ({}, GOOD | {"D": 1}, LookupError),
        ({}, [1, 0, 1, 1], ObservationError),
    ],
)
def test_a_bad_tell_changes_nothing(name: str, arm: object, seen: object, error: type[Exception]) -> None:
    policy = fresh(name)
    policy.tell_many(TABLE)
    policy.ask()
    before = full_state(policy)
    with pytest.raises(error) as caught:
        policy.tell(arm, seen)  # type: ignore[arg-type]
    assert isinstance(caught.value, CausalBanditsError)
    assert full_state(policy) == before


def test_save_and_load(name: str, tmp_path: Path) -> None:
    policy = fresh(name)
    policy.tell_many(TABLE)
    policy.ask()
    policy.save(tmp_path / "policy")
    loaded = load_policy(tmp_path / "policy")
    assert type(loaded) is type(policy)
    assert full_state(loaded) == full_state(policy)
    assert loaded.ask(30) == policy.ask(30)


def test_seeds(name: str) -> None:
    assert fresh(name, 1).ask(40) == fresh(name, 1).ask(40)
    assert fresh(name, 1).ask(40) != fresh(name, 2).ask(40)


PROGRAM = """
import sys
from causal_bandits.policies import POLICIES
from tests.policies.cases import NINE_ARMS, random_table
policy = POLICIES[sys.argv[1]](NINE_ARMS, seed=3)
policy.tell_many(random_table(NINE_ARMS, 80, 1))
print(policy.ask(60), policy.recommend(), [str(s) for s in getattr(policy, "separating_sets", list)()])
"""


def test_same_arms_in_every_process(name: str) -> None:
    """Strings hash differently in each process; no order may hang on it."""
    said = set()
    for salt in ("1", "2"):
        command = [sys.executable, "-c", PROGRAM, name]
        environment = {**os.environ, "PYTHONHASHSEED": salt}
        said.add(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    assert len(said) == 1
