"""A Bayes oracle compared with policies that are given nothing: how much regret is due to not knowing the prior."""

from functools import lru_cache, partial
from typing import cast

import numpy as np

from ...core.policies import Tier
from ...core.problem import Problem
from ..simulation.bayes_oracle import BayesOracle, Particle, prior_particles
from ..simulation.many_runs import PolicyFactory
from ..simulation.one_run import World
from ..worlds import DiscreteWorld
from .base import Scale
from .claims import Claim, Contrast, below
from .curves import Curves
from .de_kroon import DIRECT, TS
from .families import FAMILIES
from .methods import LOST_CONTROL, Method, Panel
from .practice import MAIN, SAFE

PARTICLES, FEW, MOVES = 32, 8, 6
ARMS = {"practice-mediated": 3, "practice-none": 3}
"""Families of several sizes: how many arms, since drawing a world with many takes long."""
PLAYED = ("dags4-singles", "confounded4-singles", "structureless", "soft9", "practice-mediated", "practice-none")
WORLDS = 8


@lru_cache(maxsize=64)
def numbers_like(family: str, arms: int) -> tuple[int, ...]:
    """The worlds of a family with this number of arms."""
    made = (FAMILIES[family].make(each, np.random.SeedSequence(0)) for each in range(FAMILIES[family].worlds))
    return tuple(number for number, world in enumerate(made) if len(world.problem.arms) == arms)


def draw_like(family: str, arms: int, rng: np.random.Generator) -> DiscreteWorld:
    """A world of a family with this number of arms; which one of its kinds, sizes or graphs is drawn, too."""
    numbers = numbers_like(family, arms)
    number = numbers[int(rng.integers(len(numbers)))]
    return cast(DiscreteWorld, FAMILIES[family].make(number, cast(np.random.SeedSequence, rng)))


def drawn_world(family: str, _number: int, seed: np.random.SeedSequence) -> World:
    """A world of a family that says how it was drawn."""
    arms = ARMS.get(family) or len(FAMILIES[family].make(0, np.random.SeedSequence(0)).problem.arms)
    world = draw_like(family, arms, np.random.default_rng(seed))
    world.draw = partial(draw_like, family, arms)
    return world


@lru_cache(maxsize=16)
def _prior(problem: Problem, draw: partial[DiscreteWorld], count: int) -> list[Particle]:
    """Drawn once for all runs with the same problem; what they are moved by differs."""
    return prior_particles(problem, draw, count, 0)


def _oracle(particles: int, world: World) -> PolicyFactory:
    assert isinstance(world, DiscreteWorld)
    start = _prior(world.problem, cast("partial[DiscreteWorld]", world.draw), particles)
    return partial(BayesOracle, draw=world.draw, particles=start, moves=MOVES)


BAYES = Method(
    "bayes-oracle", "Bayes oracle", "the generator of the worlds", partial(_oracle, PARTICLES), Tier.OBSERVED
)
BAYES_FEW = Method(
    "bayes-oracle-few", f"Bayes oracle, {FEW} particles", BAYES.knows, partial(_oracle, FEW), Tier.OBSERVED
)
OTHERS = (TS, MAIN, DIRECT, SAFE)


def _not_below(other: Method, family: str) -> Contrast:
    return below(f"{BAYES.key}-{family}", f"{other.key}-{family}")._replace(expected="not negative")


ORACLE_FIGURE = Curves(
    name="oracle",
    title="A Bayes oracle: Thompson sampling that knows how worlds are drawn",
    question="How far from the best possible is a policy that is given nothing?",
    scales={"smoke": Scale(30, 1, share=0.25), "quick": Scale(1000, 1), "paper": Scale(2000, 4)},
    methods=(*OTHERS, BAYES, BAYES_FEW),
    oracle=BAYES.key,
    panels=tuple(
        Panel(f"-{family}", FAMILIES[family].title, WORLDS, partial(drawn_world, family), stream=(place,))
        for place, family in enumerate(PLAYED)
    ),
    baseline="ts",
    measure=LOST_CONTROL,
    claims=(
        Claim(
            "Oracle",
            "No policy that is given nothing has less regret than the Bayes oracle, beyond 2 standard errors.",
            tuple(_not_below(other, family) for family in PLAYED for other in OTHERS),
        ),
        Claim(
            "Oracle",
            f"Its own Monte Carlo error: with {FEW} particles instead of {PARTICLES} it does not have less regret.",
            tuple(_not_below(BAYES_FEW, family) for family in PLAYED),
        ),
    ),
)
