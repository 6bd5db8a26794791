"""A policy is one file: a class that has a name is registered, and nothing else need be edited to play it."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import causal_bandits as cb
from causal_bandits import policies
from causal_bandits.cli.root import app
from causal_bandits.core.policies import POLICIES
from causal_bandits.errors import OptionError
from causal_bandits.research.simulation import entries
from causal_bandits.research.simulation.rollout import rollout

from . import test_playing as playing
from . import test_policies as contract
from .kinds import WORLD

SOURCE = '''
from typing import NamedTuple

from causal_bandits.core.compiled import compiled
from causal_bandits.research.comparators import CountingPolicy
from causal_bandits.core.policies import Tier
from causal_bandits.research.comparators.counts import Counts, arm_index, counted, mean_and_rows


@counted
class OptimistState(NamedTuple):
    counts: Counts
    bonus: float


@arm_index.of(OptimistState)
@compiled
def optimism(state, arm, rng):
    m, n = mean_and_rows(state.counts, arm)
    return m + state.bonus / (n + 1)


class Optimist(CountingPolicy):
    """The mean, and a bonus that falls quickly."""

    name = "optimist"
    tier = Tier.REWARDS
    needs = ("horizon",)
    hints = "the horizon"

    def __init__(self, problem, *, horizon, seed=None):
        self.horizon = horizon
        super().__init__(problem, seed=seed)

    def _start(self, counts):
        return OptimistState(counts, self.horizon**0.5)
'''


@pytest.fixture(scope="module")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The policy, from a file outside of the package."""
    path: Path = tmp_path_factory.mktemp("elsewhere") / "optimist.py"
    path.write_text(SOURCE)
    made = importlib.util.spec_from_file_location("optimist", path)
    assert made is not None
    assert made.loader is not None
    module = importlib.util.module_from_spec(made)
    sys.modules["optimist"] = module
    made.loader.exec_module(module)
    yield module
    POLICIES.unregister("optimist")
    del sys.modules["optimist"]


def test_naming_it_is_all(one_file: ModuleType) -> None:
    assert POLICIES["optimist"] is one_file.Optimist
    assert getattr(policies, "Optimist") is one_file.Optimist  # noqa: B009
    assert entries()["optimist"].needs == ("horizon",)
    assert "optimist" in CliRunner().invoke(app, ["compare", "--list"]).output
    with pytest.raises(OptionError, match=r"'optimist' is taken by optimist\.Optimist; give this class another one"):
        type("Other", (cb.comparators.UCB1,), {"name": "optimist"})


def test_it_keeps_the_contract(one_file: ModuleType, tmp_path: Path) -> None:
    for check in (
        contract.test_name,
        contract.test_ask_gives_arms_of_the_problem,
        contract.test_told_rows_are_counted,
        contract.test_it_learns,
        contract.test_estimates_are_ordered,
        contract.test_seeds,
    ):
        check("optimist")
    contract.test_save_and_load("optimist", tmp_path)
    playing.test_a_rollout_is_ask_and_tell(playing.case_of("optimist"))
    playing.test_save_and_load_in_the_middle_of_a_run(playing.case_of("optimist"), tmp_path)


def test_it_is_compared(one_file: ModuleType) -> None:
    told: dict[str, Any] = {name: cb.simulation.told(name, WORLD, horizon=60) for name in ("ts", "optimist")}
    found = cb.compare(told, [WORLD], horizon=60, runs=2, seed=1)
    assert found.to_frame()["policy"].to_list() == ["ts", "optimist"]
    assert found.to_frame()["given"].to_list()[1] == "the horizon"


def asked(study: cb.Study, rounds: range) -> list[cb.Arm]:
    """Ask, and tell what the world answers in that round."""
    arms = []
    for number in rounds:
        decision = study.ask()
        study.tell(decision.id, WORLD.pull(decision.arm, np.random.default_rng(number)))
        arms.append(decision.arm)
    return arms


def test_a_study_plays_it(one_file: ModuleType, tmp_path: Path) -> None:
    """In one go, and closed and opened again, with the same arms."""
    options: dict[str, Any] = {"policy": "optimist", "options": {"horizon": 50}, "seed": 1}
    storages = [f"sqlite:///{tmp_path}/{name}.db" for name in ("whole", "parts")]
    whole, parts = (cb.Study.create("shop", WORLD.problem, storage=each, **options) for each in storages)
    arms = asked(parts, range(12))
    assert "its upper confidence bound" in parts.explain(12).reason
    again = cb.Study.load("shop", storage=storages[1])
    assert asked(whole, range(20)) == arms + asked(again, range(12, 20))


def test_what_is_made_elsewhere_is_not_kept_with_our_own(one_file: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that cannot import the type of a state could read nothing that was kept with it."""
    monkeypatch.setenv("CAUSAL_BANDITS_COMPILE", "now")
    policy = one_file.Optimist(WORLD.problem, horizon=50, seed=0)
    cb.simulation.play(policy, WORLD, 5, np.random.default_rng(0))
    ours: Any = rollout
    assert any(one_file.OptimistState in classes for classes in ours._ready)
    assert ours.dispatcher is None or "OptimistState" not in str(ours.dispatcher.signatures)
