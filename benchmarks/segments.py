"""`python -m benchmarks.segments`: what segments gain where effects differ, and what they cost where they do not.

Funnels as in `practice_world("mediated")`, at rates of 2, 8 and 30% and with 3, 6 and 12 arms, with a segment of two
levels or more (shares Dirichlet(5, ..., 5)), which nudges every stage by N(0, 0.4) log-odds. Families:

    differ   every segment has its own lever effects: the best arm is 10 to 50% above the control in each
    same     one draw of lever effects for all segments
    label    the same, and the segment nudges nothing: it is a label

The reward listens to the stages alone, so they separate levers and segments from it. Per family the regret of three
users of the same policy: `segments` plays the problem with segments; `ignoring` does not
look at them; `separate` runs one study per segment. Regret is against the best arm of each segment, as a share of what
choosing uniformly would lose, so that every world counts alike. Ratios are of mean regrets, paired by world; standard
errors are over worlds (delta method).

`--cover` measures instead how often the stated 95% intervals of arms in segments hold the truth.
"""

import argparse
import json
import math
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import causal_bandits as cb
from causal_bandits.core.compiled import Floats, Ints
from causal_bandits.research.simulation.one_run import best_means
from causal_bandits.research.worlds import DiscreteWorld, Nudge, segmented_world
from causal_bandits.research.worlds.practice import (
    LEVERS,
    LIFT,
    Funnel,
    _arm_shifts,
    _draw_funnel,
    _draw_shifts,
    _scm,
    funnel_rate,
    scale_of_lift,
)
from causal_bandits.research.worlds.sampler import Sampler

FAMILIES = ("differ", "same", "label")
USERS = ("segments", "ignoring", "separate")
RATES = (0.02, 0.08, 0.3)
ARMS = (3, 6, 12)
NUDGED = 0.4
LOOKS = (300, 1000)
"""Coverage is measured after this many rounds, and at the end."""


class Case(NamedTuple):
    """The same funnel as each user sees it."""

    world: DiscreteWorld
    ignoring: DiscreteWorld
    separate: list[DiscreteWorld]
    shares: Floats


def draw_case(family: str, count: int, seed: int) -> Case:
    """A funnel with segments, all constants by its seed."""
    rng = np.random.default_rng([seed, FAMILIES.index(family)])
    while True:
        rate, arms = float(rng.choice(RATES)), int(rng.choice(ARMS))
        funnel = _draw_funnel(rate, False, rng)
        levels = LEVERS[arms][rng.integers(len(LEVERS[arms]))]
        nudges = rng.normal(0, 0.0 if family == "label" else NUDGED, (count, len(funnel.stages)))
        funnels = [_nudged(funnel, each) for each in nudges]
        draws = [[_draw_shifts(size, len(funnel.stages), False, rng) for size in levels] for _ in funnels]
        if family != "differ":
            draws = [draws[0]] * len(funnels)
        scales = _scales(funnels, draws, rng, common=family != "differ")
        if scales is not None:
            break
    shares = rng.dirichlet(np.full(count, 5.0))
    worlds = [
        _scm(funnel, [scale * shift for shift in shifts], False, rng)
        for funnel, shifts, scale in zip(funnels, draws, scales, strict=True)
    ]
    by_level: dict[Any, Any] = dict(enumerate(worlds))
    world: Any = segmented_world({"segment": dict(enumerate(shares))}, lambda s: by_level[s["segment"]])
    return Case(world, _ignoring(world, worlds[0].problem, shares), list(worlds), shares)


def _nudged(funnel: Funnel, log_odds: Floats) -> Funnel:
    stages = [Nudge(float(by)).apply(stage) for by, stage in zip(log_odds, funnel.stages, strict=True)]
    return funnel._replace(stages=stages)


def _scales(
    funnels: Sequence[Funnel], draws: Sequence[list[Floats]], rng: np.random.Generator, *, common: bool
) -> list[float] | None:
    """What makes the best arm 10 to 50% better than the control: in every segment, or in the first one for all."""
    found = []
    for funnel, shifts in zip(funnels[:1] if common else funnels, draws, strict=False):
        lift, control = rng.uniform(*LIFT), funnel_rate(funnel, np.zeros(len(funnel.stages) + 1))
        scale = scale_of_lift(funnel, _arm_shifts(shifts), control, lift)
        if scale is None:
            return None
        found.append(scale)
    return found * len(funnels) if common else found


def _ignoring(world: DiscreteWorld, problem: cb.Problem, shares: Floats) -> DiscreteWorld:
    """The world of somebody who does not look: the segment is a hidden root, and every table has it as a parent."""
    was, segments = world.sampler, len(shares)
    nodes, width = was.order.shape[1], was.parents.shape[1] + 1
    tables: list[tuple[list[int], list[int], int, Floats]] = [([], [], segments, np.cumsum(shares))]
    tables[0][3][-1] = 1.0
    numbers: dict[tuple[int, ...], int] = {}
    mechanism: Ints = np.zeros((len(problem.arms), nodes + 1), dtype=np.int64)
    for arm in range(len(problem.arms)):
        for node in range(nodes):
            parts = tuple(was.mechanism[arm * segments : (arm + 1) * segments, node].tolist())
            if parts not in numbers:
                numbers[parts] = len(tables)
                tables.append(_stacked(was, parts, nodes))
            mechanism[arm, node] = numbers[parts]
    order = np.concatenate([np.full((len(problem.arms), 1), nodes), was.order[::segments]], axis=1)
    parents, strides = np.full((len(tables), width), -1), np.zeros((len(tables), width), dtype=np.int64)
    for place, (names, steps, _, _) in enumerate(tables):
        parents[place, : len(names)], strides[place, : len(steps)] = names, steps
    sizes = np.array([size for _, _, size, _ in tables])
    starts = np.cumsum([0, *(len(flat) for *_, flat in tables)])[:-1]
    flat = np.concatenate([flat for *_, flat in tables])
    sampler = Sampler(order, mechanism, parents, strides, sizes, starts, flat, was.observed, was.target)
    return DiscreteWorld(problem, sampler, world.means.reshape(-1, segments) @ shares)


def _stacked(was: Sampler, parts: tuple[int, ...], node: int) -> tuple[list[int], list[int], int, Floats]:
    """The tables of one variable in all segments under each other; `node` is the segment's."""
    first = parts[0]
    names = [parent for parent in was.parents[first].tolist() if parent >= 0]
    size, ends = int(was.sizes[first]), [*was.starts.tolist(), len(was.cumulative)]
    flats = [was.cumulative[ends[part] : ends[part + 1]] for part in parts]
    assert all(np.array_equal(was.parents[part], was.parents[first]) for part in parts)
    steps = [len(flats[0]) // size, *was.strides[first].tolist()[: len(names)]]
    return [node, *names], steps, size, np.concatenate(flats)


def measure(play: Any, policy: str, horizon: int, runs: int, count: int, family: str, seed: int) -> dict[str, float]:
    """Mean regret of every user in one world, as a share of what choosing uniformly would lose; `play` has segments."""
    case = draw_case(family, count, seed)
    make = partial(cb.policies.POLICIES[policy])
    found = {
        "segments": cb.simulate(play, case.world, horizon, runs=runs, seed=seed, checkpoints=[horizon]).regret.mean()
    }
    blind = cb.simulate(make, case.ignoring, horizon, runs=runs, seed=seed, checkpoints=[horizon], keep_arms=True)
    lost = (best_means(case.world) - case.world.means).reshape(-1, len(case.shares)) @ case.shares
    assert blind.arms is not None
    found["ignoring"] = lost[blind.arms].sum(axis=1).mean()
    found["separate"] = 0.0
    for share, world in zip(case.shares, case.separate, strict=True):
        rounds = math.ceil(share * horizon)
        alone = cb.simulate(make, world, rounds, runs=runs, seed=seed, checkpoints=[rounds])
        found["separate"] += alone.regret.mean()
    return {user: float(value / (lost.mean() * horizon)) for user, value in found.items()}


def covered(play: Any, horizon: int, count: int, family: str, seed: int) -> list[float]:
    """The share of arms in segments whose 95% interval holds the truth, at each look in one run."""
    world = draw_case(family, count, seed).world
    policy, draws, found = play(world.problem, seed=seed), np.random.default_rng(seed), []
    for rows in (*LOOKS, horizon):
        cb.simulation.play(policy, world, rows - policy.rows, draws)
        told = policy.estimates()
        found.append(float(np.mean([row.low <= mean <= row.high for row, mean in zip(told, world.means, strict=True)])))
    return found


def ratio(above: Floats, below: Floats) -> tuple[float, float]:
    """Of two means over worlds, with its standard error."""
    value = above.mean() / below.mean()
    return float(value), float((above - value * below).std(ddof=1) / math.sqrt(len(above)) / below.mean())


def main() -> None:
    """Measure, and print a table."""
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("--policy", default="safe")
    read.add_argument("--worlds", type=int, default=60)
    read.add_argument("--runs", type=int, default=2)
    read.add_argument("--horizon", type=int, default=10_000)
    read.add_argument("--segments", type=int, default=2)
    read.add_argument("--jobs", type=int, default=1)
    read.add_argument("--first", type=int, default=0, help="The first world.")
    read.add_argument("--out", help="File to add a line of JSON per world to.")
    read.add_argument("--families", nargs="+", default=list(FAMILIES), choices=FAMILIES)
    read.add_argument("--cover", action="store_true", help="Measure coverage, not regret.")
    given = read.parse_args()
    play: Any = partial(cb.policies.POLICIES[given.policy])
    if given.cover:
        print_coverage(given, play)
        return
    print("| family | regret with segments | / ignoring them (se) | / separate studies (se) |\n|---|---|---|---|")
    worlds = range(given.first, given.first + given.worlds)
    with ProcessPoolExecutor(given.jobs) as pool:
        for family in given.families:
            work = partial(measure, play, given.policy, given.horizon, given.runs, given.segments, family)
            rows = []
            for world, row in zip(worlds, pool.map(work, worlds), strict=True):
                rows.append(row)
                if given.out:
                    with Path(given.out).open("a") as file:
                        file.write(json.dumps({"family": family, "world": world, **row}) + "\n")
            print(summary(family, rows), flush=True)


def print_coverage(given: argparse.Namespace, play: Any) -> None:
    """A line per family: coverage at each look, with standard errors over worlds."""
    worlds = range(given.first, given.first + given.worlds)
    print(f"| family | covered after {', '.join(map(str, LOOKS))}, {given.horizon} rounds (se) |\n|---|---|")
    with ProcessPoolExecutor(given.jobs) as pool:
        for family in given.families:
            work = partial(covered, play, given.horizon, given.segments, family)
            found = np.array(list(pool.map(work, worlds)))
            errors = found.std(axis=0, ddof=1) / math.sqrt(len(found))
            shown = [f"{mean:.3f} ({error:.3f})" for mean, error in zip(found.mean(axis=0), errors, strict=True)]
            print(f"| {family} | {' '.join(shown)} |", flush=True)


def summary(family: str, rows: Sequence[dict[str, float]]) -> str:
    """A line of the table."""
    by = {user: np.array([row[user] for row in rows]) for user in USERS}
    ignoring, separate = (ratio(by["segments"], by[user]) for user in USERS[1:])
    return (
        f"| {family} | {by['segments'].mean():.3f} | {ignoring[0]:.3f} ({ignoring[1]:.3f}) "
        f"| {separate[0]:.3f} ({separate[1]:.3f}) |"
    )


if __name__ == "__main__":
    main()
