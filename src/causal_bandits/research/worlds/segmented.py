"""One world per segment, with segments drawn at random."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...core.compiled import Floats, Ints
from ...core.problem import Level, Problem
from ...errors import WorldError, brief
from .reward_laws import RewardSampler
from .sampler import RealSampler, Sampler
from .world import ContinuousWorld, DiscreteWorld, SimulatedWorld


def segmented_world(
    segments: Mapping[str, Mapping[Level, float]], world: Callable[[dict[str, Level]], SimulatedWorld]
) -> SimulatedWorld:
    """A world that draws a segment before each decision; the worlds of all segments have the same problem.

    Args:
        segments: Segment -> level -> its probability; several segments are drawn independently of each other.
        world: Function from a segment, such as ``{"device": "mobile"}``, to its world.

    >>> from causal_bandits.research.worlds import hillstrom_world, practice_world
    >>> found = segmented_world({"device": {"mobile": 0.7, "desktop": 0.3}}, lambda segment: practice_world(
    ...     "mediated", rate=0.02 if segment["device"] == "mobile" else 0.08, arms=3, seed=1))
    >>> found.problem.arms[:2], found.means[:2].round(6).tolist()
    ((do(| device=mobile), do(| device=desktop)), [0.02, 0.08])
    """
    if not isinstance(segments, Mapping) or not segments or not all(isinstance(s, Mapping) for s in segments.values()):
        raise WorldError(f"segments={brief(segments)}; expected segment -> level -> probability")
    if not callable(world):
        raise WorldError(f"world={brief(world)}; expected a function that gives the world of a segment")
    settings = [dict(zip(segments, each, strict=True)) for each in itertools.product(*segments.values())]
    worlds = [world(setting) for setting in settings]
    problem = _problem([_checked(each).problem for each in worlds], segments)
    means = np.stack([each.means for each in worlds], axis=1).ravel()
    kind = DiscreteWorld if isinstance(worlds[0], DiscreteWorld) else ContinuousWorld
    made = kind(problem, _merged([each.sampler for each in worlds]), means)
    made.set_segment_chances([math.prod(segments[name][level] for name, level in each.items()) for each in settings])
    return made


def _checked(world: object) -> SimulatedWorld:
    if not isinstance(world, SimulatedWorld):
        raise WorldError(f"the world of a segment is {brief(world)}; expected a world, such as practice_world(...)")
    return world


def _problem(problems: Sequence[Problem], segments: Mapping[str, Mapping[Level, float]]) -> Problem:
    described = [problem.to_dict() for problem in problems]
    targets = [each.pop("targets") for each in described]
    if any(each != described[0] for each in described):
        raise WorldError("the worlds of the segments have different problems; give them the same variables and arms")
    told = targets[0] if all(each == targets[0] for each in targets) else {}
    named = {name: list(levels) for name, levels in segments.items()}
    return Problem.from_dict({**described[0], "segments": named, "targets": told})


def _merged(samplers: Sequence[Any]) -> Any:
    """One sampler of all arms in all segments: arm by arm, and each in every segment."""
    kinds = {type(sampler) for sampler in samplers}
    if kinds == {Sampler}:
        return _merged_levels(samplers)
    if kinds == {RewardSampler} and all(np.array_equal(samplers[0].laws, each.laws) for each in samplers):
        return RewardSampler(_merged_levels([each.levels for each in samplers]), samplers[0].laws)
    if kinds == {RealSampler} and len({len(each.table) > 0 for each in samplers}) == 1:
        return _merged_rows(samplers)
    raise WorldError("the worlds of the segments draw in different ways; make them by the same function")


def _by_arm(arrays: Sequence[Any]) -> Any:
    """(segments, arms, ...) -> (arms x segments, ...)."""
    stacked = np.stack(arrays, axis=1)
    return np.ascontiguousarray(stacked.reshape(-1, *stacked.shape[2:]))


def _merged_rows(samplers: Sequence[RealSampler]) -> RealSampler:
    before = np.cumsum([0, *(len(each.table) for each in samplers)])[:-1]
    starts = _by_arm([each.starts + start for each, start in zip(samplers, before, strict=True)])
    table = np.concatenate([each.table for each in samplers])
    if not len(table):
        widest = max(each.roots.shape[2] for each in samplers)
        roots = [np.pad(each.roots, ((0, 0), (0, 0), (0, widest - each.roots.shape[2]))) for each in samplers]
        return RealSampler(_by_arm([each.means for each in samplers]), _by_arm(roots), starts * 0, starts * 0, table)
    return RealSampler(samplers[0].means, samplers[0].roots, starts, _by_arm([s.lengths for s in samplers]), table)


def _merged_levels(samplers: Sequence[Sampler]) -> Sampler:
    """Nodes are renumbered, the observed ones and the reward first; a world with fewer hidden ones gets idle ones."""
    nodes = max(each.order.shape[1] for each in samplers)
    width = max(each.parents.shape[1] for each in samplers)
    tables, cells = 1, 1  # the first mechanism is that of an idle node: one level, for sure
    orders, mechanisms, parts = [], [], []
    for each in samplers:
        known = [*each.observed.tolist(), int(each.target)]
        places = np.empty(each.order.shape[1], dtype=np.int64)
        places[[*known, *(node for node in range(len(places)) if node not in known)]] = np.arange(len(places))
        missing = nodes - len(places)
        arms = len(each.order)
        idle = np.broadcast_to(np.arange(len(places), nodes), (arms, missing))
        orders.append(np.concatenate([places[each.order], idle], axis=1))
        mechanism = np.zeros((arms, nodes), dtype=np.int64)
        mechanism[:, places] = each.mechanism + tables
        mechanisms.append(mechanism)
        parts.append(_part(each, places, width, cells))
        tables, cells = tables + len(each.sizes), cells + len(each.cumulative)
    none = np.full((1, width), -1), np.zeros((1, width), dtype=np.int64), np.ones(1, np.int64), np.zeros(1, np.int64)
    columns = zip((*none, np.ones(1)), *parts, strict=True)
    parents, strides, sizes, starts, cumulative = (np.concatenate(each) for each in columns)
    observed, target = np.arange(len(samplers[0].observed)), len(samplers[0].observed)
    order, mechanism = _by_arm(orders), _by_arm(mechanisms)
    return Sampler(order, mechanism, parents, strides, sizes, starts, cumulative, observed, target)


def _part(sampler: Sampler, places: Ints, width: int, cells: int) -> tuple[Ints, Ints, Ints, Ints, Floats]:
    """Parents, strides, sizes, starts and tables of one sampler among others."""
    more = ((0, 0), (0, width - sampler.parents.shape[1]))
    parents = np.where(sampler.parents >= 0, places[sampler.parents], -1)
    parents = np.pad(parents, more, constant_values=-1)
    return parents, np.pad(sampler.strides, more), sampler.sizes, sampler.starts + cells, sampler.cumulative
