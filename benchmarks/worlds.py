"""The worlds and policies that are measured: every subset is accepted for all levers."""

import itertools
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import causal_bandits as cb
from causal_bandits.research.worlds import DiscreteWorld


@cache
def world(nodes: int = 4) -> DiscreteWorld:
    """A random DAG of the paper with perfect interventions on all but Y: 3^(nodes - 1) arms."""
    names = [*"ABCDEFG"[: nodes - 1], "Y"]
    return cb.worlds.paper_world(cb.graphs.random_dag(names, "Y", 1), seed=2)


def every_subset(nodes: int = 4) -> cb.KnownSets:
    """All subsets of the observed variables, as if an expert had named them."""
    names = world(nodes).problem.observed_names
    return cb.KnownSets([each for size in range(len(names) + 1) for each in itertools.combinations(names, size)])


def accepting() -> cb.DirectTesting:
    """Tests that are made, and never reject."""
    return cb.DirectTesting(alpha=1e-300)


@cache
def _played(nodes: int, rounds: int, tested: bool) -> bytes:
    discovery = accepting() if tested else every_subset(nodes)
    policy = cb.CausalThompsonSampling(world(nodes).problem, discovery=discovery, seed=3)
    cb.simulation.play(policy, world(nodes), rounds, np.random.default_rng(4))
    with tempfile.TemporaryDirectory() as folder:
        policy.save(Path(folder) / "policy")
        return (Path(folder) / "policy").read_bytes()


def played(nodes: int, rounds: int, *, tested: bool = False) -> cb.CausalThompsonSampling:
    """A policy that has played this many rounds, the same one each time."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "policy").write_bytes(_played(nodes, rounds, tested))
        policy = cb.CausalThompsonSampling.load(Path(folder) / "policy")
    policy.ready()
    check_worst_case(policy)
    return policy


def check_worst_case(policy: cb.CausalThompsonSampling) -> None:
    """A benchmark in which a set was rejected would flatter us."""
    if policy.findings is None or not policy.findings.separated.all():
        raise RuntimeError("not every subset is accepted; this benchmark would measure an easier case")
