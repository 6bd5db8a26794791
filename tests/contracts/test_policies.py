"""What every policy in the registry must do."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from causal_bandits import load_policy
from causal_bandits.errors import CausalBanditsError
from causal_bandits.policies import POLICIES, Policy
from tests.policies.cases import full_state, rows_of

from .kinds import kind_of

BAD = [(name, *bad) for name in POLICIES for bad in kind_of(name).bad]
every_policy = pytest.mark.parametrize("name", POLICIES)


def fresh(name: str, seed: int = 7) -> Policy[Any]:
    return POLICIES[name](kind_of(name).problem, seed=seed)


@every_policy
def test_name(name: str) -> None:
    assert fresh(name).name == name


@every_policy
def test_ask_gives_arms_of_the_problem(name: str) -> None:
    policy, arms = fresh(name), kind_of(name).problem.arms
    assert policy.ask() in arms
    assert len(policy.ask(6)) == 6
    assert set(policy.ask(500)) == set(arms)  # nothing is known: all are played


@every_policy
def test_told_rows_are_counted(name: str) -> None:
    policy, kind = fresh(name), kind_of(name)
    table = kind.table(60, 9)
    for arm, seen in rows_of(kind.problem, table):
        policy.ask()
        policy.tell(arm, seen)
    policy.tell_many(table)
    assert policy.rows == 120
    assert sum(estimate.own_rows for estimate in policy.estimates()) == 120
    assert policy.history.to_frame().height == 120


@every_policy
def test_it_learns(name: str) -> None:
    policy, kind = fresh(name), kind_of(name)
    for arm in kind.problem.arms:
        policy.tell_many(kind.rows(arm == kind.best), arm=arm)
    assert policy.recommend().arm == kind.best
    assert policy.recommend().probability_best > 0.99
    assert policy.ask(50).count(kind.best) == 50


@every_policy
def test_estimates_are_ordered(name: str) -> None:
    policy, kind = fresh(name), kind_of(name)
    policy.tell_many(kind.table(60, 9))
    assert [estimate.arm for estimate in policy.estimates()] == list(kind.problem.arms)
    for estimate in policy.estimates():
        assert -np.inf < estimate.low < estimate.mean < estimate.high < np.inf
        if not kind.problem.reward_is_real:
            assert estimate.low >= 0
            assert estimate.high <= 1


@pytest.mark.parametrize(("name", "arm", "seen", "error"), BAD)
def test_a_bad_tell_changes_nothing(name: str, arm: Any, seen: Any, error: type[Exception]) -> None:
    policy = fresh(name)
    policy.tell_many(kind_of(name).table(60, 9))
    policy.ask()
    before = full_state(policy)
    with pytest.raises(error) as caught:
        policy.tell(arm, seen)
    assert isinstance(caught.value, CausalBanditsError)
    assert full_state(policy) == before


@every_policy
def test_save_and_load(name: str, tmp_path: Path) -> None:
    policy = fresh(name)
    policy.tell_many(kind_of(name).table(60, 9))
    policy.ask()
    policy.save(tmp_path / "policy")
    loaded = load_policy(tmp_path / "policy")
    assert type(loaded) is type(policy)
    assert full_state(loaded) == full_state(policy)
    assert loaded.ask(30) == policy.ask(30)


@every_policy
def test_seeds(name: str) -> None:
    assert fresh(name, 1).ask(40) == fresh(name, 1).ask(40)
    assert fresh(name, 1).ask(40) != fresh(name, 2).ask(40)


PROGRAM = """
import sys
from causal_bandits.policies import POLICIES
from tests.contracts.kinds import kind_of
kind = kind_of(sys.argv[1])
policy = POLICIES[sys.argv[1]](kind.problem, seed=3)
policy.tell_many(kind.table(80, 1))
print(policy.ask(60), policy.recommend(), [str(found) for found in policy.separating_sets()])
"""


@every_policy
def test_same_arms_in_every_process(name: str) -> None:
    """Strings hash differently in each process; no order may hang on it."""
    said = set()
    for salt in ("1", "2"):
        command = [sys.executable, "-c", PROGRAM, name]
        environment = {**os.environ, "PYTHONHASHSEED": salt}
        said.add(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    assert len(said) == 1
