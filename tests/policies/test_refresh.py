"""Discovery runs when the 25% rule says so, however the policy is played."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from causal_bandits import CausalThompsonSampling, DirectTesting, MixedGraph, observe
from causal_bandits.core.data import CountTables, TableLayout
from causal_bandits.core.discovery import Discovery, Findings
from causal_bandits.core.policies.schedule import after
from causal_bandits.research.simulation import play
from causal_bandits.research.worlds import paper_world

WORLD = paper_world(MixedGraph(["A", "B", "Y"], directed=[("A", "B"), ("B", "Y")]), seed=4)


class Spy(Discovery):
    """Direct testing that writes down when it was called."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def discover(self, layout: TableLayout, tables: CountTables, rows: int) -> Findings:
        self.calls.append(rows)
        return DirectTesting().discover(layout, tables, rows)

    def to_dict(self) -> dict[str, Any]:
        return {"name": "spy"}


def due_before(horizon: int) -> list[int]:
    rows, due = 0, []
    while rows < horizon:
        due.append(rows)
        rows = after(rows)
    return due


@pytest.mark.parametrize("compiled", [True, False])
def test_discovery_runs_at_the_rounds_of_the_rule(compiled: bool) -> None:
    spy = Spy()
    policy = CausalThompsonSampling(WORLD.problem, discovery=spy, seed=0)
    spy.calls.clear()  # one look at empty tables refuses impossible sets early
    play(policy, WORLD, 300, np.random.default_rng(0), compiled=compiled)
    assert spy.calls == due_before(300)
    assert spy.calls[:9] == [0, 1, 2, 3, 4, 5, 7, 9, 12]


def test_a_batch_of_rows_is_followed_by_one_discovery() -> None:
    spy = Spy()
    policy = CausalThompsonSampling(WORLD.problem, discovery=spy, seed=0)
    policy.ask()
    spy.calls.clear()
    rows = WORLD.sample({}, 100, np.random.default_rng(0))
    policy.tell_many({"A": rows.codes[:, 0], "B": rows.codes[:, 1], "Y": rows.rewards}, arm={})
    policy.ask(5)
    policy.ask()
    assert spy.calls == [100]
    assert policy.rounds_to_refresh == 25


def test_prior_data_do_not_count_as_rounds() -> None:
    """After 1000 observations the game is as young as without them: discovery runs as often."""
    spy = Spy()
    policy = CausalThompsonSampling(WORLD.problem, discovery=spy, seed=0)
    observe(policy, WORLD, 1000, np.random.default_rng(1))
    spy.calls.clear()
    play(policy, WORLD, 50, np.random.default_rng(0))
    assert spy.calls == [1000 + rounds for rounds in due_before(50)]


def test_a_loaded_policy_remembers_what_was_prior(tmp_path: Path) -> None:
    policy = CausalThompsonSampling(WORLD.problem, seed=0)
    observe(policy, WORLD, 1000, np.random.default_rng(1))
    play(policy, WORLD, 10, np.random.default_rng(0))
    policy.save(tmp_path / "policy.npz")
    loaded = CausalThompsonSampling.load(tmp_path / "policy.npz")
    for each in (policy, loaded):
        play(each, WORLD, 30, np.random.default_rng(5))
    assert loaded.rounds_to_refresh == policy.rounds_to_refresh < 20
    assert (loaded.history.rows.arms == policy.history.rows.arms).all()


def test_parts_of_a_run_refresh_like_the_whole() -> None:
    whole, parts = Spy(), Spy()
    one, other = (CausalThompsonSampling(WORLD.problem, discovery=spy, seed=0) for spy in (whole, parts))
    play(one, WORLD, 200, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    for horizon in (1, 9, 90, 0, 100):
        play(other, WORLD, horizon, rng)
    assert whole.calls == parts.calls
    assert one.ask(20) == other.ask(20)
