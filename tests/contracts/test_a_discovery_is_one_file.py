"""A discovery is one file: a class that has a name is registered, and a policy that uses it is saved and loaded."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.core.data import CountTables, TableLayout
from causal_bandits.core.discovery import DISCOVERIES, Discovery, Findings
from causal_bandits.errors import OptionError


class LargeSets(Discovery):
    """Accepts every set that is large enough."""

    def __init__(self, least: int) -> None:
        self.least = least

    def discover(self, layout: TableLayout, tables: CountTables, rows: int) -> Findings:
        large = np.array([len(names) >= self.least for names in layout.names])
        return Findings(layout, rows, np.repeat(large[:, None], len(layout.problem.interventions), axis=1), "told")


@pytest.fixture
def named() -> Iterator[type[LargeSets]]:
    yield type("NamedLargeSets", (LargeSets,), {"name": "large"})
    del DISCOVERIES["large"]


def test_naming_it_is_all(named: type[LargeSets], tmp_path: Path) -> None:
    problem = cb.worlds.example_world("S3").problem
    policy = cb.CausalThompsonSampling(problem, discovery=named(2), seed=1)
    cb.simulation.play(policy, cb.worlds.example_world("S3"), 30, np.random.default_rng(2))
    policy.save(tmp_path / "policy.cb")
    loaded = cb.load_policy(tmp_path / "policy.cb")
    assert isinstance(loaded.discovery, named)
    assert loaded.discovery.least == 2
    assert {len(found.variables) for found in loaded.separating_sets()} == {2, 3, 4}
    assert loaded.ask(20) == policy.ask(20)


def test_every_discovery_of_the_room_is_registered() -> None:
    assert set(DISCOVERIES) == {"asd", "bayes", "direct", "known", "residual"}
    assert all(name == discovery.name for name, discovery in DISCOVERIES.items())


def test_a_name_is_taken_once() -> None:
    with pytest.raises(OptionError, match=r"the discovery name 'direct' is taken by .*DirectTesting"):
        type("Other", (LargeSets,), {"name": "direct"})
    assert DISCOVERIES["direct"] is cb.DirectTesting


def test_what_is_lacking_is_named() -> None:
    problem = cb.worlds.example_world("S3").problem
    undeclared: Any = type("Undeclared", (), {"discover": LargeSets.discover})()
    with pytest.raises(OptionError, match=r"expected DirectTesting"):
        cb.CausalThompsonSampling(problem, discovery=undeclared)
