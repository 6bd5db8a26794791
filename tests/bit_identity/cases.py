"""What is recorded: every policy of the registry, in worlds of every kind, and options that change how it plays."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import causal_bandits as cb
from causal_bandits.policies import POLICIES, Policy
from causal_bandits.policies.real import RealPolicy
from causal_bandits.policies.safe_rewards import CellPolicy
from tests.contracts.kinds import KNOWLEDGE, SINGLES, WORLD, world_of
from tests.simulation.worlds import SACHS, SCM, mixed_sachs

Factory = Callable[..., Policy[Any]]


class Case(NamedTuple):
    """A policy in a world."""

    make: Factory
    world: Any
    told: int = 0
    """Rows of do() before the first arm."""
    saved: bool = False
    """Whether a save file of the first release is kept."""
    restricted: bool = False
    """Whether every third arm is left out after the first part."""


DAG = cb.worlds.paper_world(cb.MixedGraph([*"ABCY"], [("A", "B"), ("B", "C"), ("C", "Y")]), seed=3)
CONFOUNDED = cb.worlds.paper_world(cb.MixedGraph([*"ABY"], [("A", "B"), ("B", "Y")], [("A", "Y")]), seed=4)
STRUCTURELESS = cb.StructurelessWorld(DAG, seed=5)
LARGE = cb.worlds.paper_world(
    cb.MixedGraph([f"X{n}" for n in range(7)] + ["Y"], [*((f"X{n}", f"X{n + 1}") for n in range(6)), ("X6", "Y")]),
    seed=6,
)
SOFT = cb.DiscreteSCM(
    {"A": 3, "B": 2, "Y": 2},
    {
        "A": cb.Mechanism([], [0.5, 0.3, 0.2]),
        "B": cb.Mechanism(["A"], lambda a: [0.8 - 0.3 * a, 0.2 + 0.3 * a]),
        "Y": cb.Mechanism(["A", "B"], lambda a, b: [0.7 - 0.2 * a - 0.1 * b, 0.3 + 0.2 * a + 0.1 * b]),
    },
    {
        "nudge": {
            "idle": {},
            "weak": {"A": cb.Mechanism([], [0.2, 0.3, 0.5])},
            "strong": {"A": cb.Mechanism([], [0.0, 0.1, 0.9])},
        },
        "offer": {"idle": {}, "on": {"B": cb.Mechanism(["A"], lambda a: [0.1, 0.9])}},
    },
)


CALLS = cb.worlds.count_world(seed=2)


def as_then(name: str) -> Factory:
    """A policy with the options that it had when it was recorded: an arm's variance started from nothing, one set."""
    policy: Any = POLICIES[name]
    if name == "safe-ts":
        return partial(policy, average=False)
    return partial(policy, prior_rows=0) if getattr(policy, "thompson", False) else policy


def _registry() -> dict[str, Case]:
    """Every policy where all that it is told is true; those over moments in a linear world."""
    found = {}
    for name, policy in POLICIES.items():
        world: Any = world_of(name)
        if issubclass(policy, RealPolicy | CellPolicy):
            world = SCM if issubclass(policy, RealPolicy) else CALLS
        found[name] = Case(partial(as_then(name), **KNOWLEDGE.get(name, {})), world, saved=True)
    return found


def _elsewhere() -> dict[str, Case]:
    """The main ones in worlds of other kinds."""
    discrete: dict[str, Any] = {
        "dag": DAG,
        "confounded": CONFOUNDED,
        "structureless": STRUCTURELESS,
        "soft": SOFT,
        "bilodeau": cb.worlds.bilodeau_world(horizon=500),
        "parallel": SINGLES,
    }
    found = {}
    for kind, world in discrete.items():
        for name in ("ts", "causal-ts", "causal-ts-safe", "ucb1", "kl-ucb", "epsilon-greedy"):
            found[f"{name} in {kind}"] = Case(POLICIES[name], world)
    for kind, world in {"sachs": SACHS, "mixed": mixed_sachs()}.items():
        for name in ("ucb-normal", "causal-ucb-normal", "gaussian-ts", "causal-gaussian-ts-safe"):
            found[f"{name} in {kind}"] = Case(as_then(name), world)
    rewards: dict[str, Any] = {
        "revenue": cb.worlds.revenue_world(zeros=0.9, seed=3),
        "ratings": cb.worlds.ordered_world(direct=True, seed=4),
    }
    return found | {
        f"safe-reward-ts in {kind}": Case(POLICIES["safe-reward-ts"], each) for kind, each in rewards.items()
    }


CTS: Any = cb.CausalThompsonSampling
KNOWN = cb.KnownSets([["A"], ["A", "B"]])
PARTLY = cb.KnownSets({("A",): ["I_A"], ("A", "B"): ["I_A", "I_B"]})
CASES: dict[str, Case] = {
    **_registry(),
    **_elsewhere(),
    "marginal": Case(partial(CTS, discovery=cb.DirectTesting(0.1, reading="marginal")), DAG, saved=True),
    "joint": Case(partial(CTS, discovery=cb.DirectTesting(reading="joint", require_evidence=True)), DAG, saved=True),
    "bayes": Case(partial(CTS, discovery=cb.BayesFactors(threshold=2.0)), DAG, told=50, saved=True),
    "veto": Case(partial(CTS, discovery=cb.BayesFactors(reading="either", veto=1.0)), DAG, saved=True),
    "asd": Case(partial(CTS, discovery=cb.ASD()), CONFOUNDED, told=20, saved=True),
    "asd partial": Case(partial(CTS, discovery=cb.ASD(sufficient=True, partial=True)), WORLD, saved=True),
    "known": Case(partial(CTS, discovery=KNOWN), DAG, saved=True),
    "known in part": Case(partial(CTS, discovery=PARTLY), WORLD, saved=True),
    "safe, told sets": Case(partial(cb.policies.WeighedThompsonSampling, discovery=KNOWN), DAG, saved=True),
    "squared error": Case(partial(CTS, discovery=cb.BayesFactors(), choice="squared-error"), DAG, saved=True),
    "shared mediators": Case(partial(CTS, mediators="shared"), SOFT, saved=True),
    "monte carlo": Case(partial(CTS, variance="monte-carlo", samples=5), DAG, saved=True),
    "screened": Case(cb.policies.WeighedThompsonSampling, LARGE),
    "screened, told": Case(partial(CTS, discovery=cb.KnownSets([["X6"], ["X5", "X6"]])), LARGE),
    "bootstrap": Case(partial(cb.CausalUCBNormal, variance="bootstrap", bootstraps=10, initial=20), SCM, saved=True),
    "printed": Case(partial(cb.CausalUCBNormal, index="printed", forced_plays=True, initial=0), SCM, saved=True),
    "real, joint": Case(partial(cb.CausalUCBNormal, discovery=cb.ResidualTesting(reading="joint")), SCM, saved=True),
    "real, known": Case(partial(as_then("causal-gaussian-ts"), discovery=cb.KnownSets([["B"]])), SCM, saved=True),
    "real, conditional": Case(
        partial(as_then("causal-gaussian-ts"), discovery=cb.BayesFactors(reading="conditional")),
        SACHS,
        saved=True,
    ),
    "average over sets": Case(cb.policies.SafeThompsonSampling, DAG, saved=True),
    "gaussian prior": Case(cb.policies.GaussianThompsonSampling, SCM, saved=True),
    "causal gaussian prior": Case(cb.policies.SafeGaussianThompson, SCM, saved=True),
    "hac-ucb, told": Case(
        partial(cb.policies.HACUCB, separating=["A", "B"], chances=KNOWLEDGE["c-ts"]["chances"], horizon=600),
        WORLD,
        saved=True,
    ),
    "restricted ts": Case(cb.ThompsonSampling, DAG, restricted=True, saved=True),
    "restricted safe": Case(cb.policies.WeighedThompsonSampling, DAG, restricted=True, saved=True),
    "restricted ucb1": Case(cb.policies.UCB1, DAG, restricted=True, saved=True),
    "restricted elimination": Case(cb.policies.SuccessiveElimination, DAG, restricted=True),
    "restricted graphs": Case(cb.policies.GraphPosteriorThompson, WORLD, restricted=True),
    "restricted real": Case(cb.CausalUCBNormal, SCM, restricted=True, saved=True),
}
