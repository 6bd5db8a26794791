"""Families of worlds by name, for comparing policies over them, and the worlds of the paper's figures by number."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

import numpy as np

from ...core.datasets import sachs
from ...core.graphs import MixedGraph, random_dag, random_mixed_graph, separating_sets
from ...core.graphs.enumeration import DagClass, dag_classes
from ..simulation.one_run import World
from ..worlds import (
    DiscreteSCM,
    LoggedWorld,
    Nudge,
    StructurelessWorld,
    bilodeau_world,
    count_world,
    cyclic_world,
    from_bif,
    hillstrom_spend_world,
    hillstrom_world,
    lee_bareinboim_world,
    loan_world,
    ordered_world,
    paper_world,
    parallel_world,
    practice_world,
    random_linear_world,
    revenue_world,
    soft_world,
)
from ..worlds.practice import LEVERS, RATES, Kind

# The worlds of the paper's experiments, by number


@lru_cache(maxsize=1)
def four_node_classes() -> tuple[DagClass, ...]:
    """The 64 classes of 4-node DAGs in which Y has a parent, up to permuting the other nodes.

    The paper counts 234 of them; no reading of its text gives that number.
    """
    return tuple(dag_classes(["A", "B", "C", "Y"], "Y"))


def orbit_sizes() -> list[float]:
    """How many labeled graphs each class has."""
    return [float(found.size) for found in four_node_classes()]


def class_world(number: int, seed: np.random.SeedSequence) -> DiscreteSCM:
    """A world on the graph of a class, with the paper's distribution (appendix B.1)."""
    return paper_world(four_node_classes()[number].graph, seed=np.random.default_rng(seed))


def structureless_world(number: int, seed: np.random.SeedSequence) -> World:
    """The same, but the reward is replaced by one that depends on the arm alone."""
    of_base, of_means = seed.spawn(2)
    return StructurelessWorld(class_world(number, of_base), seed=np.random.default_rng(of_means))


def random_world(nodes: int, _number: int, seed: np.random.SeedSequence) -> DiscreteSCM:
    """A random graph of appendix B.2."""
    rng = np.random.default_rng(seed)
    names = [f"X{place}" for place in range(1, nodes)]
    return paper_world(random_dag([*names, "Y"], "Y", rng), seed=rng)


@lru_cache(maxsize=2)
def _sachs(scale: Literal["log", "raw"]) -> LoggedWorld:
    return LoggedWorld(*sachs(scale))


def sachs_world(scale: Literal["log", "raw"], _number: int, _seed: np.random.SeedSequence) -> World:
    """The bandit over the protein data."""
    return _sachs(scale)


# Worlds with cycles, by number: random graphs over 4 variables, confounded or not, with separating sets or without


NAMES = ("A", "B", "C", "Y")


def cyclic_graph(rng: np.random.Generator, *, confounded: bool, separable: bool) -> MixedGraph:
    """A random graph with a cycle among the causes of the reward, on which the reward may be itself.

    It is `confounded` by a hidden common cause or not, and `separable` where some set separates all levers from the
    reward (by sigma-separation).
    """
    while True:
        bidirected = 0.3 if confounded else 0.0
        graph = random_mixed_graph(NAMES, rng, p_directed=0.35, p_bidirected=bidirected, acyclic=False)
        above = set(graph.ancestors("Y"))
        parts = [part for part in graph.strongly_connected_components() if len(part) > 1 and above.issuperset(part)]
        if parts and bool(graph.bidirected) == confounded and _has_sets(graph) == separable:
            return graph


def _has_sets(graph: MixedGraph) -> bool:
    levers = {f"I_{name}": name for name in NAMES[:-1]}
    return bool(separating_sets(graph.with_context(levers), levers, "Y"))


def four_node_cycles(confounded: bool, separable: bool, _number: int, seed: np.random.SeedSequence) -> DiscreteSCM:
    """A world on such a graph, with the paper's distribution if its updates converge."""
    rng = np.random.default_rng(seed)
    return cyclic_world(cyclic_graph(rng, confounded=confounded, separable=separable), seed=rng)


# Families of worlds over published Bayesian networks: several targets and levers for each


Lever = dict[str, list[str | Nudge]]
SHIFTS: list[str | Nudge] = [Nudge(-1.0), Nudge(1.0)]


class Setting(NamedTuple):
    """One question to a network: what is the reward, what can be set, what is seen."""

    network: str
    target: str
    success: tuple[str, ...]
    levers: tuple[str, ...]
    observed: tuple[str, ...]

    def world(self, soft: bool) -> DiscreteSCM:
        """Perfect levers set each level; soft ones add or take 1 from the log odds of higher levels."""
        chosen = dict.fromkeys(self.levers, SHIFTS) if soft else self.levers
        return from_bif(self.network, target=self.target, success=self.success, levers=chosen, observed=self.observed)


CELL = ("PKC", "PKA", "Raf", "Mek", "Erk")
SETTINGS = (
    Setting("asia", "dysp", ("no",), ("smoke", "bronc"), ("asia", "tub", "smoke", "lung", "bronc", "either")),
    Setting("asia", "dysp", ("no",), ("smoke", "lung"), ("smoke", "lung", "bronc", "either")),
    Setting("asia", "dysp", ("no",), ("tub", "bronc"), ("tub", "smoke", "lung", "bronc", "either")),
    Setting("asia", "xray", ("no",), ("smoke", "tub"), ("asia", "tub", "smoke", "lung", "either")),
    Setting("survey", "T", ("train",), ("E", "R"), ("A", "S", "E", "O", "R")),
    Setting("survey", "T", ("train", "other"), ("A", "R"), ("A", "S", "E", "O", "R")),
    Setting("survey", "T", ("train", "other"), ("O", "R"), ("A", "S", "E", "O", "R")),
    Setting("survey", "O", ("self",), ("A", "E"), ("A", "S", "E")),
    Setting("sachs", "Akt", ("HIGH",), ("PKA", "Mek"), CELL),
    Setting("sachs", "Akt", ("LOW",), ("PKC", "Raf"), CELL),
    Setting("sachs", "Erk", ("HIGH",), ("PKC", "Mek"), ("PKC", "PKA", "Raf", "Mek")),
    Setting("sachs", "Jnk", ("LOW",), ("PKC", "PKA"), ("PKC", "PKA", "Raf", "P38")),
)
"""Nothing that matters is hidden: what is not observed is no common cause of what is."""

SMALL = tuple(setting for setting in SETTINGS if len(setting.observed) <= 4)
"""Those that policies over all graphs can take."""

HIDDEN = (
    Setting("asia", "dysp", ("no",), ("lung", "bronc"), ("lung", "bronc", "either")),
    Setting("asia", "dysp", ("no",), ("tub", "bronc"), ("tub", "lung", "bronc", "either")),
    Setting("survey", "T", ("train",), ("O", "R"), ("O", "R")),
    Setting("sachs", "Akt", ("LOW",), ("PKA", "Raf"), ("PKA", "Raf", "Mek", "Erk")),
    Setting("sachs", "Erk", ("HIGH",), ("Raf", "Mek"), ("PKA", "Raf", "Mek")),
)
"""A common cause is hidden: smoking, education, PKC."""


def network_world(settings: tuple[Setting, ...], soft: bool, number: int, _seed: np.random.SeedSequence) -> DiscreteSCM:
    """A world of a family; its probabilities are published, so the seed changes nothing."""
    return settings[number].world(soft)


# Families of worlds by name, for comparing policies over them


CYCLIC_ASD = ("causal-ts-asd-cyclic",)
"""For worlds with cycles, and its table of graphs takes longer to build: left out elsewhere."""


class Family(NamedTuple):
    """Worlds to average over. `make(number, seed)` makes one."""

    title: str
    worlds: int
    make: Callable[..., World]
    claimed: tuple[str, ...] | None = None
    """A set that is claimed to separate, although it does not, or only almost."""
    misleading: bool = False
    """Whether the claimed set is far from separating: a policy that is given it is no oracle then."""
    too_slow: tuple[str, ...] = CYCLIC_ASD
    """Policies that are left out unless they are asked for."""
    baseline: str = "ts"
    """The policy that the others are compared with."""
    by_horizon: bool = False
    """Whether the worlds depend on the horizon, so that `make` has that, too."""

    def maker(self, horizon: int) -> Callable[[int, np.random.SeedSequence], World]:
        """What makes its worlds for games of this many rounds."""
        return partial(self.make, horizon=horizon) if self.by_horizon else self.make


def single_interventions(world: DiscreteSCM) -> DiscreteSCM:
    """The same world with the arms do() and do(X = x) alone."""
    arms = [arm for arm in world.problem.arms if len(arm.active) <= 1]
    return DiscreteSCM(
        {name: variable.levels for name, variable in world.variables.items()},
        world.mechanisms,
        world.interventions,
        target=world.problem.target,
        noise={name: chances.tolist() for name, chances in world.noise.items()},
        arms=arms,
        cycles=world.cycles,
        start=world.start,
    )


def seeded(make: Callable[..., World], **options: Any) -> Callable[..., World]:
    """Worlds at random, all made by one function."""
    return partial(_seeded, partial(make, **options))


def _seeded(make: Callable[..., World], _number: int, seed: np.random.SeedSequence) -> World:
    return make(seed=np.random.default_rng(seed))


def always(make: Callable[..., World], **options: Any) -> Callable[..., World]:
    """The same world every time."""
    return partial(_always, partial(make, **options))


def _always(make: Callable[..., World], _number: int, _seed: np.random.SeedSequence, **options: Any) -> World:
    return make(**options)


def _singles(make: Callable[..., DiscreteSCM], number: int, seed: np.random.SeedSequence) -> World:
    return single_interventions(make(number, seed))


def confounded_graph(rng: np.random.Generator) -> MixedGraph:
    """A random graph over 4 variables with at least one hidden common cause, in which the reward has a parent."""
    while True:
        graph = random_mixed_graph(["A", "B", "C", "Y"], rng, p_directed=0.5, p_bidirected=0.3)
        if graph.parents("Y") and graph.bidirected:
            return graph


def _confounded(_number: int, seed: np.random.SeedSequence) -> DiscreteSCM:
    rng = np.random.default_rng(seed)
    return paper_world(confounded_graph(rng), seed=rng)


def _linear(_number: int, seed: np.random.SeedSequence) -> World:
    rng = np.random.default_rng(seed)
    return random_linear_world(random_dag(["A", "B", "C", "Y"], "Y", rng), seed=rng)


PRACTICE: dict[Kind, str] = {
    "mediated": "the stages separate",
    "noise": "the stages separate, with three columns of noise",
    "direct": "levers act on the reward too",
    "intent": "hidden intent",
    "intent-direct": "hidden intent, and levers act on the reward too",
    "none": "the reward depends on the arm alone",
}
SIZES = [(rate, arms) for rate in RATES for arms in LEVERS]


def _practice(kinds: tuple[Kind, ...], number: int, seed: np.random.SeedSequence) -> World:
    """Every kind with every control rate and number of arms."""
    rate, arms = SIZES[number % len(SIZES)]
    return practice_world(kinds[number // len(SIZES)], rate=rate, arms=arms, seed=np.random.default_rng(seed))


PLAIN = "reward-ts"
"""The baseline where rewards are not 0 or 1."""
SEPARATES = "the cart separates"
REWARDS: dict[str, Family] = {
    name: Family(f"{rewards}, 18 arms: {does}", 32, seeded(make, **options), baseline=PLAIN)
    for name, rewards, does, make, options in (
        ("revenue", "revenue, 97% zeros", SEPARATES, revenue_world, {}),
        ("revenue-direct", "revenue, 97% zeros", "levers act on the purchase too", revenue_world, {"direct": True}),
        ("count", "Poisson counts", SEPARATES, count_world, {}),
        ("count-direct", "Poisson counts", "levers act on the count too", count_world, {"direct": True}),
        ("count-dispersed", "negative binomial counts", SEPARATES, count_world, {"dispersed": True}),
        ("levels", "ratings with values", SEPARATES, ordered_world, {}),
        ("levels-direct", "ratings with values", "levers act on the rating too", ordered_world, {"direct": True}),
    )
}
REWARDS["hillstrom-spend"] = Family(
    "Hillstrom's e-mail experiment: spend, 3 arms", 1, always(hillstrom_spend_world), baseline=PLAIN
)

LINEAR: dict[str, Family] = {
    "linear4": Family(
        "random linear 4-node DAGs, levers that shift a mean, 27 arms", 32, _linear, baseline="gaussian-ts"
    ),
}
"""Real-valued worlds."""

ASD = ("causal-ts-asd", *CYCLIC_ASD)
"""Causal discovery with hidden common causes is quick over four variables and slow over more."""

CYCLIC: dict[str, Family] = {
    f"cyclic4{'-confounded' * confounded}{'' if separable else '-none'}": Family(
        f"random 4-node graphs with cycles{' and hidden common causes' * confounded}, 27 arms: "
        f"{'sets separate' if separable else 'no set separates'}",
        48,
        partial(four_node_cycles, confounded, separable),
        too_slow=(),
    )
    for confounded in (False, True)
    for separable in (True, False)
}

NETWORK: dict[str, Family] = {
    name: Family(f"asia, survey and sachs{words}", len(settings), partial(network_world, settings, soft), too_slow=ASD)
    for name, words, settings, soft in (
        ("networks", " with their published probabilities, 9 to 16 arms", SETTINGS, False),
        ("networks-soft", ", two soft levers: 9 arms", SETTINGS, True),
        ("networks-hidden", " with a hidden common cause, 9 to 16 arms", HIDDEN, False),
    )
}
NETWORK["networks-singles"] = Family(
    "asia, survey and sachs, at most 4 variables, do() and single interventions: 5 to 7 arms",
    len(SMALL),
    partial(_singles, partial(network_world, SMALL, False)),
    too_slow=ASD,
)

FAMILIES: dict[str, Family] = {
    "dags4": Family("all 4-node DAGs, 27 arms", 64, class_world),
    "dags4-singles": Family(
        "all 4-node DAGs, do() and single interventions: 7 arms", 64, partial(_singles, class_world)
    ),
    "dags5": Family("random 5-node DAGs, 81 arms", 32, partial(random_world, 5), too_slow=ASD),
    "dags6": Family("random 6-node DAGs, 243 arms", 16, partial(random_world, 6), too_slow=ASD),
    "confounded4": Family("random 4-node graphs with hidden common causes, 27 arms", 64, _confounded),
    "confounded4-singles": Family(
        "random 4-node graphs with hidden common causes, do() and single interventions: 7 arms",
        64,
        partial(_singles, _confounded),
    ),
    **CYCLIC,
    "structureless": Family(
        "4 nodes, no set separates (a false one is given): 27 arms",
        64,
        structureless_world,
        ("A", "B", "C"),
        misleading=True,
    ),
    "bilodeau-benign": Family(
        "Bilodeau, Wang and Roy: Z separates, 20 arms", 1, always(bilodeau_world, case="benign"), by_horizon=True
    ),
    "bilodeau-worst": Family(
        "Bilodeau, Wang and Roy: Z does not separate but is given, 20 arms",
        1,
        always(bilodeau_world, case="worst"),
        ("Z",),
        misleading=True,
        by_horizon=True,
    ),
    "parallel": Family(
        "Lattimore's parallel bandit, 5 variables", 1, always(parallel_world, variables=5), too_slow=ASD
    ),
    "iv": Family("Lee and Bareinboim: instrument", 16, seeded(lee_bareinboim_world, diagram="iv")),
    "front-door": Family("Lee and Bareinboim: front door", 16, seeded(lee_bareinboim_world, diagram="front-door")),
    "practice": Family(
        "funnels of all kinds, 0.5 to 30%, 3 to 81 arms",
        len(PRACTICE) * len(SIZES),
        partial(_practice, tuple(PRACTICE)),
        too_slow=ASD,
    ),
    **{
        f"practice-{kind}": Family(f"funnels: {words}", len(SIZES), partial(_practice, (kind,)), too_slow=ASD)
        for kind, words in PRACTICE.items()
    },
    "hillstrom": Family(
        "Hillstrom's e-mail experiment: visit almost separates, 3 arms", 1, always(hillstrom_world), ("visit",)
    ),
    "loans": Family("Karlan and Zinman's loan offers: applied separates, 10 arms", 1, always(loan_world), ("applied",)),
    **NETWORK,
    "soft9": Family("A -> B, A -> C, {A, B, C} -> Y, two soft levers, 9 arms", 32, seeded(soft_world)),
    **REWARDS,
    **LINEAR,
    "xyzwst": Family(
        "Lee and Bareinboim: X, Y, Z, W, S, T", 8, seeded(lee_bareinboim_world, diagram="xyzwst"), too_slow=ASD
    ),
}
