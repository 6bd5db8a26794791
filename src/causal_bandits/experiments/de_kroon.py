"""The figures of de Kroon, Belgrave and Mooij, *Causal Bandits without prior knowledge using separating sets*."""

from functools import lru_cache, partial
from typing import Literal

import numpy as np

from ..datasets import sachs
from ..discovery import ASD, DirectTesting, KnownSets
from ..environments import DiscreteSCM, DiscreteWorld, LoggedWorld, StructurelessWorld, paper_world
from ..errors import WorldError
from ..graphs.enumeration import DagClass, dag_classes
from ..policies import (
    CausalGaussianThompsonSampling,
    CausalThompsonSampling,
    CausalUCBNormal,
    GaussianThompsonSampling,
    ThompsonSampling,
    UCBNormal,
)
from ..simulate.run import World
from ..simulate.runs import PolicyFactory
from .base import Experiment, Scale, Series

NOTHING = "nothing"
TARGETS = "intervention targets"
SCALES = {"smoke": Scale(500, 1), "quick": Scale(5000, 6), "paper": Scale(5000, 50)}


@lru_cache(maxsize=1)
def four_node_classes() -> tuple[DagClass, ...]:
    """The 64 classes of 4-node DAGs in which Y has a parent, up to permuting the other nodes.

    The paper counts 234 of them; no reading of its text gives that number.
    """
    return tuple(dag_classes(["A", "B", "C", "Y"], "Y"))


def _orbit_sizes() -> list[float]:
    return [float(found.size) for found in four_node_classes()]


def _dag_world(number: int, seed: np.random.SeedSequence) -> DiscreteWorld:
    return paper_world(four_node_classes()[number].graph, seed=np.random.default_rng(seed))


def _structureless_world(number: int, seed: np.random.SeedSequence) -> DiscreteWorld:
    of_base, of_means = seed.spawn(2)
    return StructurelessWorld(_dag_world(number, of_base), seed=np.random.default_rng(of_means))


def _naive(_world: World) -> PolicyFactory:
    return ThompsonSampling


def _direct(_world: World) -> PolicyFactory:
    return partial(CausalThompsonSampling, discovery=DirectTesting(alpha=0.05))


def _direct_marginal(_world: World) -> PolicyFactory:
    return partial(CausalThompsonSampling, discovery=DirectTesting(alpha=0.05, reading="marginal"))


def _asd(_world: World) -> PolicyFactory:
    return partial(CausalThompsonSampling, discovery=ASD(alpha=0.025))


def _parents_told(world: World) -> PolicyFactory:
    if not isinstance(world, DiscreteSCM):
        raise WorldError("the parents of the reward can only be told in a world that has a graph")
    return partial(CausalThompsonSampling, discovery=KnownSets([world.graph.parents(world.problem.target)]))


TS = Series("ts", "Thompson Sampling", NOTHING, _naive)
DIRECT = Series("causal-ts-direct", "Causal TS, direct", NOTHING, _direct)
DIRECT_MARGINAL = Series("causal-ts-direct-marginal", "Causal TS, marginal", NOTHING, _direct_marginal)
ASD_JCI = Series("causal-ts-asd", "Causal TS, ASD-JCI123kt", TARGETS, _asd)
PERFECT = Series("causal-ts-perfect", "Causal TS, told", "parents of Y", _parents_told)

FIG2A = Experiment(
    name="fig2a",
    title="Figure 2(a): all DAGs over 4 binary variables, 27 arms",
    question="How much does sharing through discovered separating sets save where such sets exist?",
    worlds=64,
    world=_dag_world,
    series=(TS, DIRECT, DIRECT_MARGINAL, ASD_JCI, PERFECT),
    scales=SCALES,
    weights=_orbit_sizes,
    baseline="ts",
)

FIG2C = Experiment(
    name="fig2c",
    title="Figure 2(c): no separating set exists, 27 arms",
    question="What does it cost to look for separating sets where there are none?",
    worlds=64,
    world=_structureless_world,
    series=(TS, DIRECT, DIRECT_MARGINAL, ASD_JCI),
    scales=SCALES,
    weights=_orbit_sizes,
    baseline="ts",
)


@lru_cache(maxsize=2)
def _sachs(scale: Literal["log", "raw"]) -> LoggedWorld:
    return LoggedWorld(*sachs(scale))


def _sachs_log(_number: int, _seed: np.random.SeedSequence) -> World:
    return _sachs("log")


def _sachs_raw(_number: int, _seed: np.random.SeedSequence) -> World:
    return _sachs("raw")


def _on_sachs(policy: PolicyFactory, key: str, label: str, baseline: str) -> tuple[Series, Series]:
    """A policy on both scales of the measurements."""

    def make(_world: World) -> PolicyFactory:
        return policy

    return (
        Series(key, label, NOTHING, make, "log scale", baseline),
        Series(f"{key}-raw", f"{label}, raw", NOTHING, make, "raw scale", f"{baseline}-raw", _sachs_raw),
    )


FIG5 = Experiment(
    name="fig5",
    title="Figure 5: arms drawn from the protein data of Sachs et al. (2005), 8 arms, reward Raf",
    question="Does sharing through regressions help on real data, where no set separates exactly?",
    worlds=1,
    world=_sachs_log,
    series=(
        *_on_sachs(UCBNormal, "ucb-normal", "UCB-Normal", "ucb-normal"),
        *_on_sachs(CausalUCBNormal, "causal-ucb-normal", "Causal UCB-Normal", "ucb-normal"),
        *_on_sachs(GaussianThompsonSampling, "gaussian-ts", "Gaussian TS", "gaussian-ts"),
        *_on_sachs(CausalGaussianThompsonSampling, "causal-gaussian-ts", "Causal Gaussian TS", "gaussian-ts"),
    ),
    scales={"smoke": Scale(500, 4), "quick": Scale(5000, 60), "paper": Scale(5000, 400)},
    weights=None,
    baseline="ucb-normal",
)
