"""Random small worlds with confounding, soft interventions and three levels, and their distribution the long way."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causal_bandits import DiscreteSCM
from causal_bandits.core.problem import Level
from causal_bandits.research.worlds import Mechanism, perfect
from causal_bandits.research.worlds.mechanisms import Effect


def random_mechanism(size: int, candidates: Mapping[str, int], rng: np.random.Generator) -> Mechanism:
    parents = [name for name in candidates if rng.random() < 0.6]
    shape = [candidates[name] for name in parents]
    return Mechanism(parents, rng.dirichlet(np.ones(size), size=shape))


def random_scm(seed: int) -> DiscreteSCM:
    """Four variables in a random order, two noises that any of them may share, a perfect and a soft intervention."""
    rng = np.random.default_rng(seed)
    sizes = {"A": 2, "B": 3, "C": int(rng.integers(2, 4)), "Y": 2}
    noise = {"U": 2, "W": 3}
    before: dict[str, int] = {}
    mechanisms, soft = {}, {}
    for name in rng.permutation(list(sizes)).tolist():
        mechanisms[name] = random_mechanism(sizes[name], {**noise, **before}, rng)
        soft[name] = random_mechanism(sizes[name], {**noise, **before}, rng)
        before[name] = sizes[name]
    lever, other = rng.permutation(["A", "B", "C"])[:2].tolist()
    switch: dict[Level, Effect] = {"off": {}, "on": {other: soft[other]}}
    return DiscreteSCM(
        variables=sizes,
        mechanisms=mechanisms,
        interventions={f"I_{lever}": perfect(lever, range(sizes[lever])), "soft": switch},
        noise={name: rng.dirichlet(np.ones(size)).tolist() for name, size in noise.items()},
    )


def enumerated(world: DiscreteSCM, arm: Mapping[str, Level]) -> NDArray[np.float64]:
    """P(V | arm) by going through every value of every noise and variable."""
    how: dict[str, Any] = dict(world.mechanisms)
    for lever, value in arm.items():
        how.update(world.interventions[lever][value])
    levels = {name: variable.levels for name, variable in world.variables.items()}
    ranges: dict[str, Any] = {**{name: range(len(p)) for name, p in world.noise.items()}, **levels}
    result = np.zeros([len(values) for values in levels.values()])
    for values in itertools.product(*ranges.values()):
        at = dict(zip(ranges, values, strict=True))
        chance = float(np.prod([p[at[name]] for name, p in world.noise.items()]))
        for name in levels:
            if isinstance(how[name], Mechanism):
                cell = tuple(ranges[parent].index(at[parent]) for parent in how[name].parents)
                chance *= float(np.asarray(how[name].table)[cell][levels[name].index(at[name])])
            else:
                chance *= at[name] == how[name]
        result[tuple(levels[name].index(at[name]) for name in levels)] += chance
    return result


def chain(length: int) -> DiscreteSCM:
    """X0 -> X1 -> ... -> Y, each copying its parent with probability 0.9."""
    names = [f"X{number}" for number in range(length - 1)] + ["Y"]
    copy = [[0.9, 0.1], [0.1, 0.9]]
    mechanisms = {name: Mechanism([parent], copy) for parent, name in itertools.pairwise(names)}
    return DiscreteSCM(
        variables=dict.fromkeys(names, 2),
        mechanisms={"X0": Mechanism([], [0.5, 0.5]), **mechanisms},
        interventions={"I": perfect("X0")},
    )
