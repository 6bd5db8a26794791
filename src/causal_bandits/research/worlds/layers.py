"""Layers of variables whose levers change the coefficients of their parents (Yan and Tajer 2024)."""

import itertools
import math

import numpy as np

from ...core.problem import Level
from ...core.seeds import generator
from ...core.validation import validated
from ...errors import whole_number
from .changes import Change, reweigh
from .linear_scm import LinearGaussianSCM
from .mechanisms import IDLE

MOST_LEVERS = 12
"""All combinations are arms."""


@validated
def layered_world(
    width: int = 3,
    depth: int = 2,
    *,
    seed: int | np.random.SeedSequence | np.random.Generator | None = None,
) -> LinearGaussianSCM:
    """Every variable of a layer causes all of the next, those of the last the reward; levers act on all but the first.

    A lever changes the coefficients of its variable's parents between 1 and 0.5. As the code of Yan and Tajer has it
    for two layers, they are 1 without a lever and 0.5 with one, and for the reward the other way round; with a seed it
    is drawn for every variable which of the two. Noises have the mean and the variance of a uniform one in [0, 1], as
    theirs do, and are Gaussian.

    Args:
        width: Variables in a layer.
        depth: Layers before the reward.
        seed: Seed or Generator of which coefficients are idle; without one they are as above.

    >>> world = layered_world()
    >>> len(world.problem.arms), world.problem.arms[int(world.means.argmax())], float(world.means.max())
    (16, do(Y=on), 6.5)
    """
    width, depth = whole_number("width", width, 1), whole_number("depth", depth, 1)
    whole_number("width * (depth - 1)", width * (depth - 1), 0, MOST_LEVERS - 1)
    layers = [[f"X{layer}{place}" for place in range(1, width + 1)] for layer in range(1, depth + 1)] + [["Y"]]
    variables = [name for layer in layers for name in layer]
    steered = variables[width:]
    low = {name: name == "Y" for name in steered}
    if seed is not None:
        drawn = generator(seed).random(len(steered)) < 0.5
        low = dict(zip(steered, drawn.tolist(), strict=True))
    pairs = [(cause, effect) for one, two in itertools.pairwise(layers) for cause in one for effect in two]
    return LinearGaussianSCM(
        {(cause, effect): 0.5 if low[effect] else 1.0 for cause, effect in pairs},
        {f"I_{name}": _lever(name, 2.0 if low[name] else 0.5) for name in steered},
        variables=variables,
        intercepts=dict.fromkeys(variables, 0.5),
        noise=dict.fromkeys(variables, math.sqrt(1 / 12)),
    )


def _lever(name: str, factor: float) -> dict[Level, dict[str, Change]]:
    return {IDLE: {}, "on": {name: reweigh(factor)}}
