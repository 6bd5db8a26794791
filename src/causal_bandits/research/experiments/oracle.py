"""A Bayes oracle compared with policies that are given nothing: how much regret is due to not knowing the prior."""

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import cast

import numpy as np

from ...core.compiled import Floats, Ints
from ...core.graphs import MixedGraph
from ...core.policies import Tier
from ...core.problem import Problem
from ..simulation.bayes_oracle import BayesOracle, Draw, Particle, prior_particles
from ..simulation.many_runs import PolicyFactory
from ..simulation.one_run import World
from ..worlds import DiscreteWorld
from ..worlds.paper import coin_of, parents_and_coins, random_targets
from ..worlds.practice import Kind, draw_practice
from .base import Scale
from .claims import Claim, Contrast, below
from .curves import Curves
from .de_kroon import DIRECT, TS
from .families import FAMILIES, SIZES, confounded_graph, four_node_classes
from .methods import LOST_CONTROL, Method, Panel
from .ours import MAIN, SAFE

KEPT, FEW, MOVES = 32, 16, 20
"""Worlds that the oracle keeps, also in the copy that measures its Monte Carlo error, and moves of each of them."""
START = 16
"""Times as many worlds to start with, where they are quickly drawn: not funnels, few of which have the same problem."""
ARMS = {"practice-mediated": 3}
"""Families of several sizes: how many arms, since drawing a world with many takes long."""
PLAYED = ("dags4-singles", "confounded4-singles", "soft9", "practice-mediated")
"""Not structureless worlds: their means are uniform and independent, so Thompson sampling is their Bayes oracle."""
WORLDS = 8

# Worlds drawn as their laws alone, from the same random numbers as by the generators of `families` but about 20 times
# quicker: (arms, levels of each observed variable, 2)


def graph_law(graph: MixedGraph, wanted: Mapping[str, list[int]], held: Ints) -> Floats:
    """The law of the paper's world on a graph, by the target values of parents; `held` has the settings of arms."""
    coins = [coin_of(arc) for arc in graph.bidirected]
    nodes = [*graph.nodes, *coins]
    grid = dict(zip(nodes, np.indices((2,) * len(nodes)), strict=True))
    arms = held.reshape(*held.shape, *(1,) * len(nodes))
    law: Floats = np.full((len(held), *(2,) * len(nodes)), 0.5 ** len(coins))
    for place, name in enumerate(graph.nodes):
        parents = parents_and_coins(graph, name)
        met = [grid[parent] == value for parent, value in zip(parents, wanted[name], strict=True)]
        matches = np.sum(met, axis=0) if met else 0
        one = (1 + matches) / (2 + len(parents))
        own = np.where(grid[name] == 1, one, 1 - one)
        if place < held.shape[1]:
            own = np.where(arms[:, place] < 0, own, arms[:, place] == grid[name])
        law *= own
    return np.asarray(law.sum(axis=tuple(range(1 + len(graph.nodes), law.ndim))))


def settings_of(problem: Problem) -> Ints:
    """(arms, levers): the level that an arm sets, -1 for none."""
    codes: Ints = problem.arm_codes - 1
    return codes


def _classes(held: Ints, rng: np.random.Generator) -> Floats:
    graph = four_node_classes()[int(rng.integers(len(four_node_classes())))].graph
    return graph_law(graph, random_targets(graph, rng), held)


def _confounded(held: Ints, rng: np.random.Generator) -> Floats:
    rng.integers(FAMILIES["confounded4-singles"].worlds)
    graph = confounded_graph(rng)
    return graph_law(graph, random_targets(graph, rng), held)


def _soft(rng: np.random.Generator) -> Floats:
    rng.integers(FAMILIES["soft9"].worlds)
    a, b, c, y, *others = ([1 - ones, ones] for ones in map(rng.random, _SOFT))
    first = np.array([a, others[0], others[1]])
    second = np.array([b, others[2], others[3]])
    law: Floats = np.einsum("xi,yji,ki,lijk->xyijkl", first, second, np.array(c), np.array(y))
    return law.reshape(9, 2, 2, 2, 2)


_SOFT = ((), (2,), (2,), (2, 2, 2), (), (), (2,), (2,))
"""The shapes of the tables of A, B, C and the reward, and of the two other ones of A and of B."""


def _funnels(family: str, problem: Problem, rng: np.random.Generator) -> Floats | None:
    numbers = numbers_like(family, len(problem.arms))
    rate, arms = SIZES[numbers[int(rng.integers(len(numbers)))]]
    drawn = draw_practice(cast(Kind, family.removeprefix("practice-")), rate, arms, rng, problem)
    return None if drawn is None else drawn.law()


def quick_draw(family: str, problem: Problem) -> Draw:
    """What draws the law of a world of a family, if it has this problem."""
    if family.startswith("practice-"):
        return partial(_funnels, family, problem)
    if family == "soft9":
        return _soft
    return partial(_confounded if family == "confounded4-singles" else _classes, settings_of(problem))


@lru_cache(maxsize=64)
def numbers_like(family: str, arms: int) -> tuple[int, ...]:
    """The worlds of a family with this number of arms."""
    if family.startswith("practice-"):
        return tuple(number for number, (_, size) in enumerate(SIZES) if size == arms)
    return tuple(range(FAMILIES[family].worlds))


def draw_like(family: str, arms: int, rng: np.random.Generator) -> DiscreteWorld:
    """A world of a family with this number of arms; which one of its kinds, sizes or graphs is drawn, too."""
    numbers = numbers_like(family, arms)
    number = numbers[int(rng.integers(len(numbers)))]
    return cast(DiscreteWorld, FAMILIES[family].make(number, cast(np.random.SeedSequence, rng)))


def drawn_world(family: str, _number: int, seed: np.random.SeedSequence) -> World:
    """A world of a family that says how it was drawn."""
    world = draw_like(family, ARMS.get(family, 0), np.random.default_rng(seed))
    world.draw = quick_draw(family, world.problem)
    return world


@lru_cache(maxsize=16)
def _prior(problem: Problem, draw: Draw, count: int) -> list[Particle]:
    """Drawn once for all runs with the same problem; what they are moved by differs."""
    return prior_particles(problem, draw, count, 0)


def _oracle(kept: int, world: World) -> PolicyFactory:
    assert isinstance(world, DiscreteWorld)
    assert world.draw is not None
    is_funnel = world.problem.target == "purchase"
    start = (
        _prior(world.problem, world.draw, KEPT)[:kept] if is_funnel else _prior(world.problem, world.draw, START * kept)
    )
    return partial(BayesOracle, draw=world.draw, particles=start, kept=kept, moves=MOVES)


BAYES = Method("bayes-oracle", "Bayes oracle", "the generator of the worlds", partial(_oracle, KEPT), Tier.OBSERVED)
BAYES_FEW = Method("bayes-oracle-few", f"Bayes oracle, {FEW} worlds", BAYES.knows, partial(_oracle, FEW), Tier.OBSERVED)
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
            f"Its own Monte Carlo error: with {FEW} worlds instead of {KEPT} it does not have less regret.",
            tuple(_not_below(BAYES_FEW, family) for family in PLAYED),
        ),
    ),
)
