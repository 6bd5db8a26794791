"""Funnels as real experiments have them: low rates, small lifts, levers that nudge, hidden intent; at random by seed.

A visitor passes two to four stages, each with two or three ordered levels; a stage is 0 where the one before it is 0,
and so is the reward. The levers nudge the log-odds of moving on. What is drawn, and from which ranges:

    stages                       2, 3 or 4; a stage has three levels with probability 1/3, else two
    rates of moving on           their product is the control's rate, shares of its logarithm Dirichlet(2, ..., 2)
    level of the stage before    + 0.3 to 1.2 log-odds of moving on per level; with probability 1/2 the reward listens
                                 to one more stage as well, again + 0.3 to 1.2
    hidden intent                none, some, much with probabilities .5, .3, .2; + 0.3 to 1.0 log-odds per level, drawn
                                 for every stage and the reward
    levers                       each acts on one or two stages, with N(0, 1) for every level, times one number for all
    direct effect                N(0, 1) for every level times 0.2 to 0.8, on the reward itself, times the same number
    lift                         that number makes the best arm 10 to 50% better than the control
"""

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from ...core.compiled import Floats, Ints
from ...core.problem import Level, Problem
from ...core.seeds import Seed, generator
from ...errors import OptionError
from .discrete_scm import DiscreteSCM
from .mechanisms import Effect, Mechanism, Nudge, nudged
from .world import StructurelessWorld

Kind = Literal["mediated", "direct", "intent", "intent-direct", "none", "noise"]

RATES = (0.005, 0.02, 0.08, 0.3)
LEVERS: dict[int, tuple[tuple[int, ...], ...]] = {
    3: ((3,),),
    6: ((6,), (3, 2)),
    12: ((4, 3), (3, 2, 2)),
    30: ((6, 5), (5, 3, 2)),
    81: ((9, 9), (3, 3, 3, 3)),
}
"""Numbers of arms, and the levels of the levers that make them."""
LIFT = (0.1, 0.5)
STAGES = ("click", "time", "cart", "checkout")
INTENT = (0.5, 0.3, 0.2)
LARGEST = 4.0
"""Nudges beyond this many log-odds are not tried; the world is drawn again."""


class Funnel(NamedTuple):
    """The control: who has which intent, and the tables of stages and reward."""

    intent: Floats
    """(intents,)."""
    stages: list[Floats]
    """Each (intents, levels of the stage before, levels)."""
    early: int | None
    """The stage that the reward listens to besides the last."""
    reward: Floats
    """(intents, levels of the early stage or 1, levels of the last stage, 2)."""


def practice_world(
    kind: Kind, *, rate: float | None = None, arms: int | None = None, seed: Seed = None
) -> DiscreteSCM | StructurelessWorld:
    """A funnel with all constants drawn from stated ranges (see the module); deterministic by its seed.

    - ``mediated``: levers act on stages alone, so the stages that the reward listens to separate.
    - ``direct``: levers act on the reward too; nothing separates.
    - ``intent``, ``intent-direct``: the same with a hidden intent behind every stage and the reward; nothing separates.
    - ``none``: stages as in ``mediated``, but the reward depends on the arm alone: effects of levers, and a share
      uniform(0, 1) of the variance that belongs to the single arm.
    - ``noise``: ``mediated`` with three more columns that have no effect, one of which the first lever moves.

    Args:
        kind: How levers reach the reward, as above.
        rate: The control's reward rate, up to 0.5; by default one of .005, .02, .08 and .3.
        arms: Number of arms: 3, 6, 12, 30 or 81; by default one of these.
        seed: Seed or Generator of all constants.

    >>> world = practice_world("intent", rate=0.02, arms=6, seed=1)
    >>> len(world.problem.arms), round(float(world.means[0]), 6)
    (6, 0.02)
    """
    if kind not in get_args(Kind):
        raise OptionError(f"kind={kind!r}; expected one of {', '.join(get_args(Kind))}")
    rng = generator(seed)
    rate = float(rng.choice(RATES)) if rate is None else rate
    arms = int(rng.choice(list(LEVERS))) if arms is None else arms
    if arms not in LEVERS or not 0 < rate <= 0.5:
        raise OptionError(f"arms={arms!r}, rate={rate!r}; expected 3, 6, 12, 30 or 81 arms and a rate up to 0.5")
    drawn = draw_practice(kind, rate, arms, rng)
    assert drawn is not None
    funnel, shifts, means = drawn
    world = _scm(funnel, shifts, kind == "noise", rng)
    return world if means is None else StructurelessWorld(world, means)


class Practice(NamedTuple):
    """What is drawn of a world."""

    funnel: Funnel
    shifts: list[Floats]
    """Of each lever: (levels, stages + 1), in log-odds."""
    means: Floats | None
    """(arms,): of a reward that depends on the arm alone."""

    def law(self) -> Floats:
        """(arms, levels of each stage, 2): P(stages, reward | arm)."""
        law = funnel_law(self.funnel, _arm_shifts(self.shifts))
        if self.means is None:
            return law
        means = self.means.reshape(-1, *(1,) * (law.ndim - 2))
        stages = law.sum(axis=-1)
        return np.stack([stages * (1 - means), stages * means], axis=-1)


def draw_practice(
    kind: Kind, rate: float, arms: int, rng: np.random.Generator, wanted: Problem | None = None
) -> Practice | None:
    """Draw until the best arm can have the lift; None for another problem than the one that is wanted."""
    while True:
        funnel = _draw_funnel(rate, kind.startswith("intent"), rng)
        levels = LEVERS[arms][rng.integers(len(LEVERS[arms]))]
        shifts = [_draw_shifts(size, len(funnel.stages), kind.endswith("direct"), rng) for size in levels]
        if wanted is not None and not _has_problem(funnel, shifts, wanted):
            return None
        lift = rng.uniform(*LIFT)
        scale = scale_of_lift(funnel, _arm_shifts(shifts), rate, lift)
        means = _separate_means(levels, rate, lift, rng) if scale is not None and kind == "none" else None
        if scale is not None and (means is not None or kind != "none"):
            return Practice(funnel, [scale * shift for shift in shifts], means)


def _has_problem(funnel: Funnel, shifts: list[Floats], wanted: Problem) -> bool:
    """Whether stages, their levels and what each lever acts on are those of a problem."""
    names = (*STAGES[: len(funnel.stages)], "purchase")
    targets = [tuple(name for name, by in zip(names, shift.T, strict=True) if by.any()) for shift in shifts]
    sizes = [variable.size for variable in wanted.observed]
    return sizes == [stage.shape[-1] for stage in funnel.stages] and targets == [acted for _, acted in wanted.targets]


def _draw_funnel(rate: float, intent: bool, rng: np.random.Generator) -> Funnel:
    """Stages whose rates of moving on multiply to the rate of the reward."""
    chances = np.array(INTENT) if intent else np.ones(1)
    count = int(rng.integers(2, 5))
    moving = rate ** rng.dirichlet(np.full(count + 1, 2.0))
    joint = chances.copy()  # of the intent and the stages so far
    stages: list[Floats] = []
    for place in range(count):
        levels = 3 if rng.random() < 1 / 3 else 2
        reached = joint.reshape(len(chances), -1, joint.shape[-1] if place else 1).sum(axis=1)
        lean = _lean(reached.shape, rng)
        stages.append(stage_table(reached, lean, place > 0, levels, rng.uniform(0.5, 1.5), moving[place]))
        joint = with_stage(joint, stages[-1])
    early = int(rng.integers(count - 1)) if rng.random() < 0.5 else None
    reached = before_reward(joint, early)
    lean = _lean((len(chances), reached.shape[2]), rng)[:, None, :]
    lean = lean + rng.uniform(0.3, 1.2) * np.arange(reached.shape[1])[:, None]
    return Funnel(chances, stages, early, stage_table(reached, lean, True, 2, 0.0, moving[-1]))


def _lean(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """(intents, levels of the stage before): the log-odds of moving on, but for a constant."""
    intents, levels = shape
    lean: Floats = rng.uniform(0.3, 1.0) * np.arange(intents)[:, None] + rng.uniform(0.3, 1.2) * np.arange(levels)
    return lean


def stage_table(reached: Floats, lean: Floats, gated: bool, levels: int, spacing: float, rate: float) -> Floats:
    """P(level | parents), where a share `rate` of those who were not at 0 before move on; `reached` weighs parents."""
    passed = np.ones(reached.shape)
    if gated:
        passed[..., 0] = 0.0
    weight = reached * passed / (reached * passed).sum()
    if np.count_nonzero(weight) == 1:  # the solution, without a search
        constant = math.log(rate / (1 - rate)) - float(lean[weight > 0][0])
    else:
        missing = lambda constant: float((weight * _logistic(lean + constant)).sum()) - rate  # noqa: E731
        constant = solve(missing, -30.0, 30.0) or 0.0
    above = [passed * _logistic(lean + constant - spacing * place) for place in range(levels - 1)]
    edges = np.stack([np.ones_like(weight), *above, np.zeros_like(weight)], axis=-1)
    table: Floats = -np.diff(edges, axis=-1)
    return table


def with_stage(joint: Floats, stage: Floats) -> Floats:
    """Joint probabilities (intent, stages so far) with one more stage, whose parents are the intent and the last."""
    if joint.ndim == 1:
        return np.asarray(joint[:, None] * stage[:, 0])
    middle = (1,) * (joint.ndim - 2)
    return np.asarray(joint[..., None] * stage.reshape(stage.shape[0], *middle, *stage.shape[1:]))


def before_reward(joint: Floats, early: int | None) -> Floats:
    """(intents, levels of the early stage or 1, levels of the last stage)."""
    rest = tuple(axis for axis in range(1, joint.ndim - 1) if early is None or axis != early + 1)
    kept = joint.sum(axis=rest)
    return np.asarray(kept.reshape(kept.shape[0], -1, kept.shape[-1]))


def _logistic(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


def solve(function: Callable[[float], float], low: float, high: float) -> float | None:
    """Where a function that is negative at `low` is 0; None if it is still negative at `high`."""
    from scipy import optimize  # takes a while to import, and only worlds of practice need it

    return float(optimize.brentq(function, low, high, xtol=1e-13, rtol=1e-12)) if function(high) > 0 else None


def _draw_shifts(levels: int, stages: int, direct: bool, rng: np.random.Generator) -> Floats:
    """(levels, stages + 1): what each level of a lever adds, before scaling; the last column is the reward's."""
    shifts = np.zeros((levels, stages + 1))
    for place in rng.choice(stages, size=int(rng.integers(1, 3)), replace=False):
        shifts[1:, place] = rng.normal(size=levels - 1)
    if direct:
        shifts[1:, -1] = rng.uniform(0.2, 0.8) * rng.normal(size=levels - 1)
    return shifts


def _arm_shifts(shifts: list[Floats]) -> Floats:
    """(arms, stages + 1): the sums over levers, arms in the order of their product."""
    total = np.zeros((1, shifts[0].shape[1]))
    for each in shifts:
        total = (total[:, None] + each[None]).reshape(-1, each.shape[1])
    return total


def funnel_law(funnel: Funnel, shifts: Floats) -> Floats:
    """(arms, levels of each stage, 2): P(stages, reward | arm), given the shifts of arms, (arms, stages + 1)."""
    arms, intents = len(shifts), len(funnel.intent)
    by = shifts[:, :, None, None, None]
    joint = np.tile(funnel.intent, arms)
    for place, stage in enumerate(funnel.stages):
        joint = with_stage(joint, nudged(stage, by[:, place]).reshape(-1, *stage.shape[1:]))
    joint = joint.reshape(len(joint), *(joint.shape[1:] or (1,)))
    reward = nudged(funnel.reward, by[:, -1, None])
    shape = [1] * (joint.ndim - 2) + list(funnel.reward.shape[2:])
    if funnel.early is not None:
        shape[funnel.early] = funnel.reward.shape[1]
    law = joint[..., None] * reward.reshape(-1, *shape)
    return np.asarray(law.reshape(arms, intents, *law.shape[1:]).sum(axis=1))


def funnel_rate(funnel: Funnel, shift: Floats) -> float:
    """The reward rate of an arm."""
    return float(funnel_law(funnel, shift[None])[..., 1].sum())


def scale_of_lift(funnel: Funnel, arms: Floats, rate: float, lift: float) -> float | None:
    """What the shifts of arms, (arms, stages + 1), are multiplied by so that the best arm has this lift."""
    shifts = np.unique(arms, axis=0)

    def too_much(scale: float) -> float:
        rates = funnel_law(funnel, scale * shifts)[..., 1].reshape(len(shifts), -1).sum(axis=1)
        return float(rates.max()) / rate - 1 - lift

    return solve(too_much, 0.0, LARGEST)


def _scm(funnel: Funnel, shifts: list[Floats], noise: bool, rng: np.random.Generator) -> DiscreteSCM:
    hidden = len(funnel.intent) > 1
    names = STAGES[: len(funnel.stages)]
    targets = (*names, "purchase")
    mechanisms = funnel_mechanisms(funnel, targets)
    variables = {name: stage.shape[-1] for name, stage in zip(names, funnel.stages, strict=True)}
    levers: dict[str, dict[Level, Effect]] = {}
    for number, shift in enumerate(shifts, 1):
        rows = [zip(targets, row, strict=True) for row in shift]
        levers[f"lever{number}"] = {
            level: {name: Nudge(by) for name, by in row if by} for level, row in enumerate(rows)
        }
    if noise:
        for name, size in (("noise1", 2), ("noise2", 3), ("noise3", 2)):
            variables[name] = size
            mechanisms[name] = Mechanism([], rng.dirichlet(np.full(size, 4.0)))
        for level, by in enumerate(rng.normal(size=len(shifts[0]) - 1), 1):
            levers["lever1"][level] = {**levers["lever1"][level], "noise3": Nudge(by)}
    chances = {"intent": funnel.intent.tolist()} if hidden else None
    return DiscreteSCM({**variables, "purchase": 2}, mechanisms, levers, target="purchase", noise=chances)


def funnel_mechanisms(funnel: Funnel, names: Sequence[str]) -> dict[str, Mechanism]:
    """The mechanisms of the stages and the reward, by their names in this order."""
    mechanisms, intent = {}, ["intent"] if len(funnel.intent) > 1 else []
    for place, (name, table) in enumerate(zip(names, [*funnel.stages, funnel.reward], strict=True)):
        early = [] if funnel.early is None or place < len(funnel.stages) else [names[funnel.early]]
        shape = [size for size in table.shape[:-1] if size > 1] + [table.shape[-1]]  # without parents that are none
        mechanisms[name] = Mechanism([*intent, *early, *names[max(place - 1, 0) : place]], table.reshape(shape))
    return mechanisms


def _separate_means(levels: Sequence[int], rate: float, lift: float, rng: np.random.Generator) -> Floats | None:
    """Means by arm alone: log-odds from lever effects and from the arm itself, the share of each at random."""
    codes: Ints = np.indices(levels).reshape(len(levels), -1).T
    effects = sum(
        np.append(0.0, rng.normal(size=codes[:, lever].max()))[codes[:, lever]] for lever in range(codes.shape[1])
    )
    share = rng.random()
    own = rng.normal(size=len(codes)) * math.sqrt(codes.shape[1])
    shift = math.sqrt(1 - share) * np.asarray(effects) + math.sqrt(share) * own
    shift -= shift[0]
    base = math.log(rate / (1 - rate))
    scale = solve(lambda scale: float(_logistic(base + scale * shift).max()) / rate - 1 - lift, 0.0, LARGEST)
    return None if scale is None else _logistic(base + scale * shift)
