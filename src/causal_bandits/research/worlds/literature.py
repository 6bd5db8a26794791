"""Worlds of the literature: Bilodeau et al., Lee and Bareinboim, Lattimore's parallel bandit, and soft levers."""

import math
from typing import Literal

import numpy as np

from ...core.graphs import MixedGraph
from ...core.problem import Level
from ...core.seeds import Seed, generator
from ...core.validation import validated
from ...errors import OptionError, brief, whole_number
from .discrete_scm import DiscreteSCM
from .mechanisms import Effect, Mechanism, perfect

# The two worlds of Bilodeau, Wang and Roy (2022): one in which sharing through Z helps, one in which it misleads


Case = Literal["benign", "worst"]


@validated
def bilodeau_world(case: Case = "benign", *, horizon: int, arms: int = 20) -> DiscreteSCM:
    """One lever with `arms` values, one observed bit Z, and a reward (their sec. 6).

    - ``benign``: P(Z = 1) is .0005 for the first arm, else .9995; P(Y = 1) = .5 + (1 - Z) sqrt(arms ln T / T).
    - ``worst``: P(Z = 1) = 6/8 for the first half of the arms, 7/8 for the rest; P(Y = 1 | Z = 1) = 5.5/6 for the first
      half, 1/6 for the rest, and one minus that given Z = 0. The arm acts on the reward too, so nothing separates.

    Args:
        case: ``"benign"`` or ``"worst"``.
        horizon: Number of rounds T, from which the benign gap follows.
        arms: Number of values of the lever.

    >>> bilodeau_world("worst", horizon=2000).means.round(3).tolist()[9:11]
    [0.708, 0.25]
    """
    horizon, arms = whole_number("horizon", horizon, 2), whole_number("arms", arms, 2, 10_000)
    gap = math.sqrt(arms * math.log(horizon) / horizon)
    if case == "benign" and gap > 0.5:
        raise OptionError(f"horizon={horizon} gives a reward probability above 1; use a longer horizon for {arms} arms")
    effects: dict[Level, Effect] = {}
    for arm in range(arms):
        if case == "benign":
            effects[arm] = {"Z": _coin(0.0005 if arm == 0 else 0.9995)}
        else:
            first = arm < arms // 2
            one = 5.5 / 6 if first else 1 / 6
            effects[arm] = {
                "Z": _coin(6 / 8 if first else 7 / 8),
                "Y": Mechanism(["Z"], [[one, 1 - one], [1 - one, one]]),
            }
    high = 0.5 + gap if case == "benign" else 0.5  # in the worst case every arm brings its own mechanism
    reward = Mechanism(["Z"], [[1 - high, high], [0.5, 0.5]])
    return DiscreteSCM({"Z": 2, "Y": 2}, {"Z": _coin(0.5), "Y": reward}, {"I": effects})


def _coin(chance: float) -> Mechanism:
    return Mechanism([], [1 - chance, chance])


# Worlds over the graphs of Lee and Bareinboim (2018): intervening on everything is not always best


Diagram = Literal["iv", "front-door", "xyzwst"]

DIAGRAMS: dict[str, MixedGraph] = {
    "iv": MixedGraph(["Z", "X", "Y"], [("Z", "X"), ("X", "Y")], [("X", "Y")]),
    "front-door": MixedGraph(["X", "Z", "Y"], [("X", "Z"), ("Z", "Y")], [("X", "Y")]),
    "xyzwst": MixedGraph(
        ["S", "T", "Z", "X", "W", "Y"],
        [("Z", "X"), ("X", "Y"), ("W", "Y"), ("S", "W"), ("T", "X"), ("T", "Y")],
        [("X", "W"), ("Z", "Y")],
    ),
}


SHARPNESS = 0.3
"""Parameter of the Dirichlet that the rows of tables are drawn from; the smaller, the closer to deterministic."""


@validated
def lee_bareinboim_world(diagram: Diagram = "iv", *, seed: Seed = None) -> DiscreteSCM:
    """Binary variables with random mechanisms over one of their graphs, perfect interventions on all but Y.

    Every bidirected edge is a separate coin; a mechanism is nearly deterministic, as in the worlds that separate the
    intervention sets. Deviation: the paper fixes one world per graph; here the seed draws it.

    Args:
        diagram: Name of the graph, a key of `DIAGRAMS`.
        seed: Seed or Generator of the mechanisms.

    >>> lee_bareinboim_world("iv", seed=0).graph
    MixedGraph(Z -> X, X -> Y, X <-> Y)
    """
    graph, rng = DIAGRAMS[diagram], generator(seed)
    coins = {f"U({a},{b})": (a, b) for a, b in graph.bidirected}
    mechanisms = {}
    for name in graph.nodes:
        parents = [*graph.parents(name), *(coin for coin, ends in coins.items() if name in ends)]
        mechanisms[name] = Mechanism(parents, rng.dirichlet([SHARPNESS] * 2, size=(2,) * len(parents)))
    return DiscreteSCM(
        variables=dict.fromkeys(graph.nodes, 2),
        mechanisms=mechanisms,
        interventions={f"I_{name}": perfect(name) for name in graph.nodes if name != "Y"},
        noise={coin: rng.dirichlet([2, 2]).tolist() for coin in coins},
    )


# The parallel bandit of Lattimore, Lattimore and Reid (2016): many independent causes, one of which matters


@validated
def parallel_world(variables: int = 10, *, rare: int = 2, chance: float = 0.05, gap: float = 0.3) -> DiscreteSCM:
    """X1, ..., Xn independent, arms do() and do(Xi = x); the first `rare` are 1 with probability `chance`, others 1/2.

    P(Y = 1) = 1/2 + gap where X1 = 1, else 1/2 - gap q / (1 - q) with q = P(X1 = 1), so that do() has mean 1/2
    (their sec. 5). The best arm is do(X1 = 1).

    Args:
        variables: Number of causes, up to 20.
        rare: How many of them are rarely 1.
        chance: P(X = 1) of the rare ones, up to 0.5.
        gap: How much more than 1/2 the best arm's mean is, up to 0.5.

    >>> parallel_world(4).means.round(3).tolist()[:3]
    [0.5, 0.484, 0.8]
    """
    count, few = whole_number("variables", variables, 1, 20), whole_number("rare", rare, 0)
    if few > count or not 0 < chance <= 0.5 or not 0 < gap <= 0.5:
        raise OptionError(
            f"rare={few}, chance={brief(chance)}, gap={brief(gap)}; "
            f"expected at most {count}, and numbers above 0 up to 0.5"
        )
    names = [f"X{number}" for number in range(1, count + 1)]
    ones = {name: chance if number < few else 0.5 for number, name in enumerate(names)}
    low = 0.5 - gap * ones["X1"] / (1 - ones["X1"])
    mechanisms = {name: Mechanism([], [1 - one, one]) for name, one in ones.items()}
    mechanisms["Y"] = Mechanism(["X1"], [[1 - low, low], [0.5 - gap, 0.5 + gap]])
    return DiscreteSCM(
        dict.fromkeys([*names, "Y"], 2),
        mechanisms,
        {f"I_{name}": perfect(name) for name in names},
        arms=[{}, *({f"I_{name}": level} for name in names for level in (0, 1))],
    )


# Soft levers in a small random world: every table at random, and two levers that change tables


def soft_world(*, seed: Seed = None) -> DiscreteSCM:
    """A -> B, A -> C, {A, B, C} -> Y, all binary; two levers of three levels give A and B other tables: 9 arms.

    All probabilities are uniform(0, 1). {A, B, C} separates; P(S | arm) must be learned, since no lever sets anything.

    Args:
        seed: Seed or Generator of the probabilities.

    >>> soft_world(seed=0).problem.arms[4]
    do(A=1, B=1)
    """
    rng = generator(seed)
    parents: dict[str, list[str]] = {"A": [], "B": ["A"], "C": ["A"], "Y": ["A", "B", "C"]}
    mechanisms = {name: _random(of, rng) for name, of in parents.items()}
    levers: dict[str, dict[Level, Effect]] = {
        f"I_{name}": {0: {}, 1: {name: _random(parents[name], rng)}, 2: {name: _random(parents[name], rng)}}
        for name in ("A", "B")
    }
    return DiscreteSCM(dict.fromkeys(parents, 2), mechanisms, levers)


def _random(parents: list[str], rng: np.random.Generator) -> Mechanism:
    ones = rng.random((2,) * len(parents))
    return Mechanism(parents, np.stack([1 - ones, ones], axis=-1))
