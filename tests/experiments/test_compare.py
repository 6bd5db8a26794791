"""Own experiments: the same table, figure, resume and engines as the paper's figures."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import causal_bandits as cb
from causal_bandits.errors import OptionError

WORLDS = [
    cb.worlds.paper_world(cb.graphs.dag_classes(["A", "B", "Y"], "Y")[number].graph, seed=number) for number in range(3)
]
POLICIES: Mapping[str, Any] = {
    "TS": cb.ThompsonSampling,
    "Causal TS": cb.CausalThompsonSampling,
    "ASD": partial(cb.CausalThompsonSampling, discovery=cb.ASD()),
}


class RoundRobin:
    """A user's own policy: each arm in turn."""

    def __init__(self, problem: cb.Problem, seed: Any) -> None:
        self.problem = problem
        self.rounds = 0

    def ask(self) -> cb.Arm:
        return self.problem.arms[self.rounds % len(self.problem.arms)]

    def tell(self, arm: cb.Arm, observation: Mapping[str, Any]) -> None:
        self.rounds += 1


def test_what_policies_were_told_stands_in_the_table() -> None:
    """By their own account; a class of one's own need not give one, nor hold the problem."""

    class First:
        def __init__(self, problem: cb.Problem, seed: Any) -> None:
            self.arm = problem.arms[0]

        def ask(self) -> cb.Arm:
            return self.arm

        def tell(self, arm: cb.Arm, observation: Mapping[str, Any]) -> None:
            pass

    world = WORLDS[0]
    policies: Mapping[str, Any] = {
        "first": First,
        "C-TS": cb.simulation.told("c-ts", world, horizon=50),
        "POMIS": cb.simulation.told("pomis-ts", world, horizon=50),
    }
    table = cb.compare(policies, [world], horizon=50, runs=1).to_frame()
    assert table["given"].to_list() == [
        "unknown",
        "a separating set Z, P(Z | a)",
        cb.comparators.PomisTS.hints,
    ]
    assert table["tier"].to_list() == [None, 3, 4]
    assert table["policy"].to_list() == ["first", "C-TS", "POMIS"]


def test_a_comparison_is_a_table(tmp_path: Path) -> None:
    found = cb.compare(POLICIES, WORLDS, horizon=100, runs=4, seed=1)
    assert found.folder is None
    table = found.to_frame()
    assert table["policy"].to_list() == ["TS", "Causal TS", "ASD"]
    assert table["given"].to_list() == ["nothing", "nothing", "intervention targets"]
    assert table["tier"].to_list() == [0, 1, 1]
    assert table["ratio"][0] == 1
    assert "Causal TS" in repr(found)
    assert "0: rewards only, 1: graph unknown" in " ".join(repr(found).split())
    assert found.runs.columns == ["series", "world", "run", "t", "regret"]
    last = found.runs.filter((pl.col("series") == "ts") & (pl.col("t") == 100))["regret"]
    assert len(last) == 12
    assert table["regret"][0] == pytest.approx(last.mean())
    found.draw(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text().startswith("<?xml")


def test_policies_play_the_same_worlds_with_the_same_numbers() -> None:
    found = cb.compare({"one": cb.ThompsonSampling, "two": cb.ThompsonSampling}, WORLDS[:1], horizon=50, runs=2)
    one, two = (found.runs.filter(pl.col("series") == key)["regret"].to_list() for key in ("one", "two"))
    assert one == two


def test_named_worlds_have_panels_of_their_own() -> None:
    found = cb.compare(POLICIES, {"first": WORLDS[0], "others": WORLDS[1:]}, horizon=30, runs=2, baseline="Causal TS")
    assert found.to_frame()["worlds"].unique(maintain_order=True).to_list() == ["first", "others"]
    assert found.summary["series"]["ts-others"]["worlds"] == 2
    assert found.summary["series"]["ts-others"]["baseline"] == "causal-ts-others"


def test_an_own_policy_and_an_own_world() -> None:
    class Coin:
        """Heads for the second arm, always."""

        def __init__(self) -> None:
            self.problem = cb.Problem("Y", {"A": 2}, {"I": 2})
            self.means = np.array([0.0, 1.0])

        def pull(self, arm: cb.Arm, rng: np.random.Generator) -> dict[str, Any]:
            return {"A": int(rng.integers(2)), "Y": int(arm["I"] == 1)}

    found = cb.compare({"robin": RoundRobin, "TS": cb.ThompsonSampling}, [Coin()], horizon=100, runs=2)
    assert found.to_frame()["regret"][0] == 50
    assert found.to_frame()["regret"][1] < 20


def test_observations_are_given_first() -> None:
    lot, none = (cb.compare(POLICIES, WORLDS[:1], horizon=40, runs=3, observational=rows) for rows in (500, 0))
    assert lot.to_frame()["regret"].to_list() != none.to_frame()["regret"].to_list()


def test_kept_results_are_used_again_and_never_mixed(tmp_path: Path) -> None:
    def chunks() -> int:
        return len(list((tmp_path / "mine/chunks").iterdir()))

    compare = partial(cb.compare, horizon=40, runs=2, out=tmp_path, name="mine")
    first = compare(POLICIES, WORLDS)
    assert first.folder == tmp_path / "mine"
    assert chunks() == 3
    assert {"report.html", "manifest.json"} <= {path.name for path in tmp_path.iterdir()}
    again = compare(POLICIES, WORLDS)
    assert chunks() == 3
    assert again.summary == first.summary
    other = {**POLICIES, "ASD": partial(cb.CausalThompsonSampling, discovery=cb.ASD(alpha=0.2))}
    compare(other, WORLDS)
    assert chunks() == 6  # another option of a policy with the same name
    compare(POLICIES, [cb.worlds.paper_world(WORLDS[0].graph, seed=9), *WORLDS[1:]])
    assert chunks() == 9  # another world with the same graph
    compare({"robin": RoundRobin, "TS": cb.ThompsonSampling}, WORLDS)
    assert chunks() == 12


@pytest.mark.slow
def test_processes_give_the_same_numbers() -> None:
    """Mechanisms of the paper's worlds are closures, which cannot be sent; their arrays can."""
    one = cb.compare(POLICIES, WORLDS, horizon=50, runs=2, seed=3)
    two = cb.compare(POLICIES, WORLDS, horizon=50, runs=2, seed=3, jobs=2)
    assert two.summary == one.summary


def test_bad_input(tmp_path: Path) -> None:
    compare: Any = partial(cb.compare, horizon=10, runs=1)
    with pytest.raises(OptionError, match="runs=0; expected an integer >= 1"):
        cb.compare(POLICIES, WORLDS, horizon=10, runs=0)
    with pytest.raises(OptionError, match="horizon=0"):
        cb.compare(POLICIES, WORLDS, horizon=0, runs=1)
    with pytest.raises(OptionError, match="expected a mapping such as"):
        compare([cb.ThompsonSampling], WORLDS)
    with pytest.raises(OptionError, match=r"policies\['TS'\]=3; expected a name, and a policy class"):
        compare({"TS": 3}, WORLDS)
    with pytest.raises(OptionError, match="expected at least one world"):
        compare(POLICIES, [])
    with pytest.raises(OptionError, match="world=3; expected a world"):
        compare(POLICIES, [3])
    with pytest.raises(OptionError, match="baseline='UCB'; expected one of the policies 'TS'"):
        compare(POLICIES, WORLDS, baseline="UCB")
    with pytest.raises(OptionError, match="expected a plain name for a folder"):
        compare(POLICIES, WORLDS, name="../up", out=tmp_path)
    with pytest.raises(OptionError, match="cannot be sent to another process"):
        compare({"TS": lambda problem, seed: cb.ThompsonSampling(problem, seed=seed)}, WORLDS, jobs=2)
    assert not list(tmp_path.iterdir())
