"""Methods (policies with what they are given), panels of worlds, and what is measured of a policy while it plays."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.compiled import Bools, Floats, Ints
from ...core.graphs import separated
from ...core.policies import Policy as LearntPolicy
from ...core.policies import Tier
from ...errors import OptionError, WorldError
from ..simulation import play
from ..simulation.delays import Delay
from ..simulation.many_runs import PolicyFactory, even_checkpoints
from ..simulation.one_run import Policy, World, best_means, simple_regret
from ..worlds import DiscreteSCM

WorldMaker = Callable[[int, np.random.SeedSequence], World]
"""Makes a world from its number and a seed for its random parameters."""


@dataclass(frozen=True)
class Method:
    """A policy, and what it was given about the world."""

    key: str
    label: str
    knows: str
    policy: Callable[[World], PolicyFactory]
    tier: Tier | None = None
    """In which it is fairly compared; None: a policy that does not say."""
    baseline: str = ""
    """The key of the method that this one is compared with; by default the experiment's baseline."""
    slow: bool = False
    whole_rows: bool = False
    """With late rewards: report rows only when their reward is known."""


def method_of(key: str, label: str, example: Any, policy: Callable[[World], PolicyFactory]) -> Method:
    """A method whose knowledge is read from an example of its policy; a user's class need not declare it."""
    shown = f"{label} (explore, then commit)" if getattr(example, "simple_regret", False) else label
    return Method(key, shown, getattr(example, "hints", "unknown"), policy, getattr(example, "tier", None))


def given_nothing(key: str, label: str, policy: type[LearntPolicy[Any]], **options: Any) -> Method:
    """A policy class with the same options in every world; the class says what it is given."""
    return Method(key, label, policy.hints, told_nothing(partial(policy, **options)), policy.tier)


def told_nothing(factory: PolicyFactory) -> Callable[[World], PolicyFactory]:
    """The same policy in every world."""
    return partial(_same, factory)


def _same(factory: PolicyFactory, _world: World) -> PolicyFactory:
    return factory


@dataclass(frozen=True)
class Panel:
    """Worlds that are averaged over, and how they are played in.

    Panels with the same stream play with the same random numbers, run by run, so that they can be compared in pairs.
    """

    suffix: str
    title: str
    worlds: int
    world: WorldMaker | tuple[World, ...]
    observational: int = 0
    """Rows of the idle arm given before the first round, without regret."""
    stream: tuple[int, ...] = ()
    without: tuple[str, ...] = ()
    """Methods that cannot be played here: what they must be given does not exist."""
    delay: Delay | None = None
    """After how many more rounds a reward is known; None: at once."""
    delay_share: float = 0.0
    """The same as a share of the horizon."""

    def waits(self, horizon: int) -> Delay | None:
        """The delay of a horizon."""
        return round(self.delay_share * horizon) if self.delay_share else self.delay

    def maker(self, number: int) -> WorldMaker:
        """What makes world `number`; of given worlds, that one alone is sent to where it is played."""
        return partial(_given, self.world[number]) if isinstance(self.world, tuple) else self.world


def _given(world: World, _number: int, _seed: np.random.SeedSequence) -> World:
    return world


class Reading(NamedTuple):
    """One line's values at the checkpoints; `of` is what they are a share of."""

    values: Floats
    of: float = 1.0


Take = Callable[..., dict[str, Reading]]
"""Called as take(policy, world, horizon, rng, delay=..., whole_rows=...), the last two as in `play`."""


class Shown(NamedTuple):
    """A line that a measure gives: what it is called, and at which rounds of a horizon it is read."""

    label: str
    points: Callable[[int], Ints]


class Measure(NamedTuple):
    """A quantity that is followed over the rounds, with a line per suffix in the figure."""

    name: str
    """On the axis."""
    column: str
    """In the table of runs."""
    per: str | None
    """The column that it is a share of, if it is a share."""
    lines: Mapping[str, Shown]
    """By the suffix of their keys."""
    axis: str
    """Of the rounds: linear or log."""
    take: Take
    """Plays, and gives a reading per suffix."""


def geometric_checkpoints(horizon: int) -> Ints:
    """About 40 rounds, each a fixed factor after the one before, the last at the horizon.

    >>> geometric_checkpoints(20).tolist()
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20]
    """
    steps: Ints = np.unique(np.geomspace(1, max(horizon, 1), 40).round().astype(np.int64))
    return steps[steps <= horizon]


MARKS = (0.0125, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.4, 0.5, 0.6, 0.8)
"""Shares of the horizon: rounds 250, 500, 1000, 2000, 3000, 4000 and 5000, of 20000 and of 5000."""


def marked_checkpoints(horizon: int) -> Ints:
    """Geometric checkpoints, and the rounds that claims name."""
    marks = np.round(np.array(MARKS) * horizon).astype(np.int64)
    return np.unique(np.concatenate([geometric_checkpoints(horizon), marks[marks > 0]]))


def last_round(horizon: int) -> Ints:
    """The horizon alone."""
    return np.array([horizon], dtype=np.int64)


def regret_at(
    points: Callable[[int], Ints], policy: Policy, world: World, horizon: int, rng: np.random.Generator, **late: Any
) -> dict[str, Reading]:
    """Regret at some rounds of a horizon."""
    run = play(policy, world, horizon, rng, **late)
    return {"": Reading(run.regret(world.means, best_means(world))[points(horizon) - 1])}


def _lost_control(
    policy: Policy, world: World, horizon: int, rng: np.random.Generator, **late: Any
) -> dict[str, Reading]:
    """Regret in units of what a round of the control earns, so that rates of 0.5% count as much as those of 30%."""
    control = float(world.means[world.problem.index(world.problem.arm())])
    values = regret_at(even_checkpoints, policy, world, horizon, rng, **late)[""].values
    return {"": Reading(values / control)}


def _both_regrets(
    policy: Policy, world: World, horizon: int, rng: np.random.Generator, **late: Any
) -> dict[str, Reading]:
    found = regret_at(even_checkpoints, policy, world, horizon, rng, **late)
    recommended = getattr(policy, "recommend", None)
    if recommended is None:
        raise OptionError(f"{type(policy).__name__} has no recommend(), which simple regret needs")
    return {**found, SIMPLE: Reading(np.array([simple_regret(world, recommended())]))}


def true_pairs(world: DiscreteSCM, names: list[tuple[str, ...]]) -> Bools:
    """Which levers (columns) each set (rows) separates from the reward, by the world's graph (sigma with cycles)."""
    graph, levers, target = world.graph_with_levers, world.problem.intervention_names, world.problem.target
    return np.array([[separated(graph, lever, target, given=S) for lever in levers] for S in names])


def _acceptance(
    points: Callable[[int], Ints],
    suffix: str,
    policy: Policy,
    world: World,
    horizon: int,
    rng: np.random.Generator,
    **_late: Any,
) -> dict[str, Reading]:
    """The sets and the pairs (S, lever) in use at some rounds, and regret, in the same game."""
    if not isinstance(world, DiscreteSCM):
        raise WorldError("which sets separate is known only in a world that has a graph")
    if not isinstance(policy, LearntPolicy) or policy.discovery is None:
        raise OptionError("only a policy with a discovery accepts sets")
    at, true = points(horizon), true_pairs(world, list(policy.layout.names))
    arms: list[Ints] = []
    used: NDArray[np.bool_] = np.empty((len(at), *true.shape), dtype=np.bool_)
    for place, rounds in enumerate(np.diff(at, prepend=0).tolist()):
        arms.append(play(policy, world, rounds, rng).arms)
        if policy.findings is not None:  # the sets in use in the round just played
            used[place] = policy.findings.separated
    return {
        "": Reading(np.cumsum(world.means.max() - world.means[np.concatenate(arms)])[at - 1]),
        **_rates(suffix, np.asarray(used.all(axis=2)), np.asarray(true.all(axis=1))),
        **_rates("-pair", used.reshape(len(at), -1), true.ravel()),
    }


def _rates(suffix: str, found: Bools, true: Bools) -> dict[str, Reading]:
    """How many false and how many true ones are among those found, and of how many."""
    return {
        f"{suffix}-fpr": Reading(found[:, ~true].sum(axis=1).astype(np.float64), float((~true).sum())),
        f"{suffix}-sensitivity": Reading(found[:, true].sum(axis=1).astype(np.float64), float(true.sum())),
    }


def _regret_and_acceptance(policy: Policy, world: World, *game: Any, **late: Any) -> dict[str, Reading]:
    """Regret, and the sets and pairs in use where the policy has a discovery and the world a graph."""
    if isinstance(policy, LearntPolicy) and policy.discovery is not None and isinstance(world, DiscreteSCM):
        return _acceptance(marked_checkpoints, "-set", policy, world, *game)
    return regret_at(marked_checkpoints, policy, world, *game, **late)


SIMPLE = "-simple"
REGRET = Measure(
    *("cumulative regret", "regret", None, {"": Shown("", even_checkpoints)}, "linear"),
    take=partial(regret_at, even_checkpoints),
)
BOTH_REGRETS = REGRET._replace(lines={**REGRET.lines, SIMPLE: Shown("simple regret", last_round)}, take=_both_regrets)
LOST_CONTROL = REGRET._replace(name="regret, in rounds of the control's reward", take=_lost_control)
RATES = {"-fpr": "false positives", "-sensitivity": "sensitivity"}
ACCEPTANCE = Measure(
    *("share of the sets accepted", "accepted", "sets"),
    lines={suffix: Shown(label, geometric_checkpoints) for suffix, label in RATES.items()},
    axis="log",
    take=partial(_acceptance, geometric_checkpoints, ""),
)
MARKED_REGRET = Measure(
    *("cumulative regret", "value", "of", {"": Shown("", marked_checkpoints)}, "log"),
    take=partial(regret_at, marked_checkpoints),
)
REGRET_AND_ACCEPTANCE = MARKED_REGRET._replace(
    lines={
        **MARKED_REGRET.lines,
        **{
            f"-{unit}{suffix}": Shown(f"{label}, {unit}s", marked_checkpoints)
            for unit in ("set", "pair")
            for suffix, label in RATES.items()
        },
    },
    take=_regret_and_acceptance,
)
