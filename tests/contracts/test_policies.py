"""What every policy in the registry must do."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from causal_bandits import load_policy
from causal_bandits.core.policies import POLICIES, Tier
from causal_bandits.errors import CausalBanditsError
from tests.policies.cases import full_state, rows_of

from .kinds import (
    EXPLORERS,
    NEVER_COMPARES,
    ONE_OF_EACH_STATE,
    SOME_ARMS,
    TOP_TWO,
    fresh,
    kind_of,
    knowledge_of,
    marked,
    policies,
)

BAD = [marked(name, *bad) for name in POLICIES for bad in kind_of(name).bad]
every_policy = policies()


def test_one_policy_of_every_class_of_states_is_always_tested() -> None:
    states = {name: type(fresh(name)._state) for name in POLICIES}
    assert {states[name] for name in ONE_OF_EACH_STATE} == {*states.values()}


@every_policy
def test_name(name: str) -> None:
    assert fresh(name).name == name


@every_policy
def test_ask_gives_arms_of_the_problem(name: str) -> None:
    policy, arms = fresh(name), kind_of(name).problem.arms
    assert policy.ask() in arms
    assert len(policy.ask(6)) == 6
    if name not in SOME_ARMS:
        assert set(policy.ask(500)) == set(arms)  # nothing is known: all are played
    assert set(policy.ask(500)) <= set(arms)


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
        policy.tell_many(kind.rows(arm), arm=arm)
    assert policy.recommend().arm == kind.best
    assert policy.recommend().probability_best > 0.99
    if name not in EXPLORERS:
        assert policy.ask(50).count(kind.best) == 50
    if not policy.simple_regret and name not in TOP_TWO:
        assert policy.ask(50).count(kind.best) > 25


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
def test_a_reward_may_come_later(name: str, tmp_path: Path) -> None:
    """With all rewards in, whatever came when, there are the same rows and the same counts as of whole rows."""
    late, whole, kind = fresh(name), fresh(name), kind_of(name)
    target, waiting = kind.problem.target, []
    for arm, seen in rows_of(kind.problem, kind.table(30, 9)):
        whole.tell(arm, seen)
        row = late.tell(arm, {variable: value for variable, value in seen.items() if variable != target})
        assert row is not None
        waiting.append((row, seen[target]))
        if len(waiting) > 8:
            late.tell(waiting[0][0], reward=waiting.pop(0)[1])
    late.save(tmp_path / "policy")
    late = load_policy(tmp_path / "policy")
    assert [row for row, _ in waiting] == late.pending()
    for row, reward in waiting:
        late.tell(row, reward=reward)
    assert late.history.to_frame().equals(whole.history.to_frame())
    for one, other in zip(late.estimates(), whole.estimates(), strict=True):
        assert (one.own_rows, one.pending_rows) == (other.own_rows, 0)
        assert one.own_mean == pytest.approx(other.own_mean, nan_ok=True)


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
    assert fresh(name, 1).ask(40) != fresh(name, 2).ask(40) or len(set(fresh(name).ask(40))) == 1


@every_policy
def test_what_it_is_told(name: str) -> None:
    policy = fresh(name)
    assert Tier(policy.tier).label
    assert policy.hints
    assert policy.hints != "nothing" or not policy.needs
    assert set(policy.needs) <= set(policy.options())
    assert set(policy.needs) <= set(knowledge_of(name))


@every_policy
def test_what_is_compared_decides(name: str) -> None:
    """The arm that is chosen with the same random numbers has the highest index, wherever arms are compared.

    Where a policy draws by shares that it knows exactly, the shares are what is compared.
    """
    policy, kind, compared = fresh(name), kind_of(name), 0
    for rows in (0, 60, 60):
        if rows:
            policy.tell_many(kind.table(rows, 9))
        for seed in range(5):
            indices = policy.indices(np.random.default_rng(seed))
            [chosen] = policy.choose(1, np.random.default_rng(seed)).tolist()
            if indices is not None and not np.isnan(indices[chosen]):
                compared += 1
                if policy.exact_shares:
                    assert indices[chosen] > 0
                    np.testing.assert_array_equal(indices, policy.shares())
                else:
                    assert indices[chosen] >= np.nanmax(indices) - 1e-9
    assert (compared == 0) == (name in NEVER_COMPARES)


FINDING_SETS = ("safe", "causal-ts", "reward-ts", "hac-ucb", "pomis-ts")
"""Policies that look for sets or parents, or list arms by them."""


def said_by_all() -> str:
    """What policies ask for, recommend and found after 80 rows, a line for each."""
    lines = []
    for name in FINDING_SETS:
        policy = fresh(name, 3)
        policy.tell_many(kind_of(name).table(80, 1))
        found = [str(found) for found in policy.separating_sets()]
        lines.append(f"{name} {policy.ask(20)} {policy.recommend()} {found}")
    return "\n".join(lines)


def test_same_arms_in_every_process() -> None:
    """Strings hash differently in each process; no order may hang on it.

    Both processes are new: this one may have loaded compiled code, which rounds differently in the last bits.
    """
    command = [sys.executable, "-c", "from tests.contracts.test_policies import said_by_all; print(said_by_all())"]
    one, other = (
        subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": salt}, check=True, capture_output=True, text=True
        ).stdout
        for salt in ("1", "2")
    )
    assert len(one.splitlines()) == len(FINDING_SETS)
    assert one.splitlines() == other.splitlines()
