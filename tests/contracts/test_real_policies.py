"""What every policy for real-valued rewards in the registry must do."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from causal_bandits import load_policy
from causal_bandits.errors import CausalBanditsError, ObservationError, UnknownArmError, UnknownLevelError
from causal_bandits.policies import POLICIES, RealPolicy
from tests.policies.cases import rows_of
from tests.policies.test_real import SIX, full_state, table_of

TABLE = table_of(60, 9)
GOOD = {"A": 0.5, "B": "low", "C": -1.5, "Y": 2.5}

REAL = [name for name, policy in POLICIES.items() if issubclass(policy, RealPolicy)]
pytestmark = pytest.mark.parametrize("name", REAL)


def fresh(name: str, seed: int = 7) -> RealPolicy:
    policy = POLICIES[name](SIX, seed=seed)
    assert isinstance(policy, RealPolicy)
    return policy


def test_name(name: str) -> None:
    assert fresh(name).name == name


def test_ask_gives_arms_of_the_problem(name: str) -> None:
    policy = fresh(name)
    assert policy.ask() in SIX.arms
    assert len(policy.ask(6)) == 6
    assert set(policy.ask(500)) == set(SIX.arms)  # nothing is known: all are played


def test_told_rows_are_counted(name: str) -> None:
    policy = fresh(name)
    for arm, seen in rows_of(SIX, TABLE):
        policy.ask()
        policy.tell(arm, seen)
    policy.tell_many(TABLE)
    assert policy.rows == 120
    assert sum(estimate.own_rows for estimate in policy.estimates()) == 120
    assert policy.history.to_frame().height == 120


def test_it_learns(name: str) -> None:
    """The best arm is ten standard deviations ahead."""
    policy = fresh(name)
    good = SIX.arm(I=1)
    rng = np.random.default_rng(3)
    for arm in SIX.arms:
        noise = rng.normal(size=(60, 3)).tolist()
        rows = [{"A": a, "B": "low", "C": c, "Y": y + 10 * (arm == good)} for a, c, y in noise]
        policy.tell_many(rows, arm=arm)
    assert policy.recommend().arm == good
    assert policy.recommend().probability_best > 0.99
    assert policy.ask(50).count(good) == 50


def test_estimates_are_ordered(name: str) -> None:
    policy = fresh(name)
    policy.tell_many(TABLE)
    assert [estimate.arm for estimate in policy.estimates()] == list(SIX.arms)
    for estimate in policy.estimates():
        assert -np.inf < estimate.low < estimate.mean < estimate.high < np.inf
        assert estimate.effective_rows > 0


@pytest.mark.parametrize(
    ("arm", "seen", "error"),
    [
        ({"I": "sideways"}, GOOD, UnknownLevelError),
        ({"I_Z": 1}, GOOD, LookupError),
        ("do()", GOOD, UnknownArmError),
        ({}, GOOD | {"B": 5}, UnknownLevelError),
        ({}, GOOD | {"A": None}, ObservationError),
        ({}, GOOD | {"A": float("nan")}, ObservationError),
        ({}, GOOD | {"A": "half"}, ObservationError),
        ({}, GOOD | {"Y": float("nan")}, ObservationError),
        ({}, GOOD | {"Y": float("inf")}, ObservationError),
        ({}, {"A": 1.0, "B": "low", "C": 1.0}, ObservationError),
        ({}, {"A": 1.0, "B": "low", "Y": 1.0}, ObservationError),
        ({}, GOOD | {"D": 1}, LookupError),
        ({}, [1.0, "low", 1.0, 1.0], ObservationError),
    ],
)
def test_a_bad_tell_changes_nothing(name: str, arm: Any, seen: Any, error: type[Exception]) -> None:
    policy = fresh(name)
    policy.tell_many(TABLE)
    policy.ask()
    before = full_state(policy)
    with pytest.raises(error) as caught:
        policy.tell(arm, seen)
    assert isinstance(caught.value, CausalBanditsError)
    assert full_state(policy) == before


def test_save_and_load(name: str, tmp_path: Path) -> None:
    policy = fresh(name)
    policy.tell_many(TABLE)
    policy.ask()
    policy.save(tmp_path / "policy")
    loaded = load_policy(tmp_path / "policy")
    assert isinstance(loaded, RealPolicy)
    assert type(loaded) is type(policy)
    assert full_state(loaded) == full_state(policy)
    assert loaded.ask(30) == policy.ask(30)


def test_seeds(name: str) -> None:
    assert fresh(name, 1).ask(40) == fresh(name, 1).ask(40)
    assert fresh(name, 1).ask(40) != fresh(name, 2).ask(40)


PROGRAM = """
import sys
from causal_bandits.policies import POLICIES
from tests.policies.test_real import SIX, table_of
policy = POLICIES[sys.argv[1]](SIX, seed=3)
policy.tell_many(table_of(80, 1))
print(policy.ask(60), policy.recommend(), [str(s) for s in policy.separating_sets()])
"""


def test_same_arms_in_every_process(name: str) -> None:
    """Strings hash differently in each process; no order may hang on it."""
    said = set()
    for salt in ("1", "2"):
        command = [sys.executable, "-c", PROGRAM, name]
        environment = {**os.environ, "PYTHONHASHSEED": salt}
        said.add(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    assert len(said) == 1
