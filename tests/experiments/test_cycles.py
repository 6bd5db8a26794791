"""The figure with cycles: its worlds, and ASD that allows cycles, by name and in the loop."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import causal_bandits as cb
from causal_bandits.core.discovery import ASD
from causal_bandits.core.graphs import MixedGraph
from causal_bandits.core.policies import CausalThompsonSampling
from causal_bandits.errors import WorldError
from causal_bandits.research.experiments import FAMILIES, Scale, compare_field, judge
from causal_bandits.research.experiments.cycles import CYCLES, KNOWN, NONE, SETS
from causal_bandits.research.experiments.families import single_interventions
from causal_bandits.research.experiments.methods import true_pairs
from causal_bandits.research.simulation import play, told
from causal_bandits.research.worlds import DiscreteSCM, cyclic_world

LOOP = cyclic_world(MixedGraph(["A", "B", "Y"], [("A", "B"), ("B", "A"), ("B", "Y")]), seed=1)
"""Over three variables: the table of all graphs is made in no time."""


@pytest.mark.parametrize(("suffix", "name"), list({**SETS, **NONE}.items()))
def test_worlds_are_what_their_family_says(suffix: str, name: str) -> None:
    for number in range(5):
        world = FAMILIES[name].make(number, np.random.SeedSequence(number))
        assert isinstance(world, DiscreteSCM)
        above = set(world.graph.ancestors("Y"))
        assert any(len(part) > 1 and set(part) <= above for part in world.graph.strongly_connected_components())
        assert bool(world.graph.bidirected) == ("hidden" in suffix)
        assert bool(world.separating_sets()) == (suffix in SETS)
        assert len(world.problem.arms) == 27


def test_single_interventions_keep_the_equilibrium() -> None:
    few = single_interventions(LOOP)
    for arm in few.problem.arms:
        assert few.means[few.problem.index(arm)] == pytest.approx(LOOP.means[LOOP.problem.index(dict(arm))])


def test_asd_that_allows_cycles_finds_the_cycle_and_the_sets() -> None:
    """From 3,000 rows of each of nine arms; ASD that rules cycles out cannot draw it."""
    rng, history = np.random.default_rng(0), cb.History(LOOP.problem)
    for arm in LOOP.problem.arms:
        history.extend(LOOP.sample(arm, 3000, rng))
    found = cb.discover(history, ASD(acyclic=False))
    accepted = [each.accepted for each in found.sets]
    assert accepted == true_pairs(LOOP, [each.variables for each in found.sets]).all(axis=1).tolist()
    assert found.graph.subgraph(["A", "B", "Y"]) == LOOP.graph
    assert found.graphs[0][1] < cb.discover(history, ASD()).graphs[0][1] - 50, "in nats"


def test_it_is_played_by_name() -> None:
    """The name in comparisons is the policy with the option, arm by arm."""
    runs = [
        play(factory(LOOP.problem, seed=0), LOOP, 200, np.random.default_rng(1)).arms
        for factory in (
            told("causal-ts-asd-cyclic", LOOP, horizon=200),
            lambda problem, seed: CausalThompsonSampling(problem, discovery=ASD(acyclic=False), seed=seed),
        )
    ]
    assert np.array_equal(runs[0], runs[1])


def test_it_is_compared_where_there_are_cycles(tmp_path: Path) -> None:
    family = FAMILIES["cyclic4"]._replace(worlds=1, make=lambda _number, _seed: LOOP)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(FAMILIES, "cyclic4", family)
        [found] = compare_field(["causal-ts-asd-cyclic", "safe"], ["cyclic4"], horizon=60, runs=2, jobs=1, out=tmp_path)
    assert {"ts", "safe", "causal-ts-asd-cyclic"} <= set(found.summary["series"])
    assert "causal-ts-asd-cyclic" in FAMILIES["dags4"].too_slow


def test_who_needs_what_a_cycle_lacks_says_so() -> None:
    with pytest.raises(WorldError, match="no hidden common causes and no cycles, which 'graph-posterior' needs"):
        told("graph-posterior", LOOP, horizon=100)
    with pytest.raises(WorldError, match="a separating set can only be given in a world that has one"):
        KNOWN.policy(cyclic_world(MixedGraph(["A", "Y"], [("A", "Y"), ("Y", "A")]), seed=0))


def test_every_claim_has_its_numbers() -> None:
    """Without ASD, whose tables over four variables take seconds: contrasts of the others are worked out."""
    methods = tuple(method for method in CYCLES.methods if not method.slow)
    keys = {f"{method.key}{panel.suffix}" for panel in CYCLES.panels for method in CYCLES.played(panel)}
    used = {term.key for claim in CYCLES.claims for contrast in claim.contrasts for term in contrast.terms}
    assert used <= keys
    claims = tuple(
        claim._replace(contrasts=kept)
        for claim in CYCLES.claims
        if (kept := tuple(c for c in claim.contrasts if not any("asd" in term.key for term in c.terms)))
    )
    few = replace(CYCLES, methods=methods, claims=claims)
    size = Scale(100, 1, share=0.05)
    rows = pl.concat([chunk.work() for chunk in few.chunks(size, 0)])
    verdicts = judge(few.summarise(rows, size, 0, weighted=False))
    assert len(verdicts) == len(claims) == 5
