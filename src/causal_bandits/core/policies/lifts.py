"""By how much arms are better than a control, and levels of a lever than its base: functions of a posterior."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ...libraries import pl
from ..compiled import Floats, Ints
from ..markup import between, printable
from ..markup import number as shown
from ..problem import Level, Problem
from .estimates import Estimates, Lift, Tabled
from .posterior import Posterior

NOTHING = 1e-9
"""A base that may be this share of its mean may be 0: there is no ratio to it."""


def difference(ours: Floats, base: Floats, mean: float, base_mean: float, level: float) -> Lift:
    """How far `ours` is above `base`: joint draws of both, (draws,), and their posterior means.

    The intervals are quantiles of the differences and of the ratios; there is no relative one where the base may be 0
    or below at this level.
    """
    tail = (1 - level) / 2
    apart = ours - base
    low, high = np.quantile(apart, [tail, 1 - tail]).tolist()
    better = (np.count_nonzero(apart > 0) + 0.5 * np.count_nonzero(apart == 0)) / len(apart)
    relative = (math.nan, math.nan, math.nan)
    if base_mean > 0 and np.quantile(base, tail) > NOTHING * base_mean:
        above = base > NOTHING * base_mean
        ends = np.quantile(ours[above] / base[above] - 1, [tail, 1 - tail]).tolist()
        relative = ((mean - base_mean) / base_mean, ends[0], ends[1])
    return Lift(mean - base_mean, low, high, *relative, float(better))


def with_lifts(
    found: Estimates, posterior: Posterior | None, controls: Sequence[int], level: float, cost: Floats | None = None
) -> Estimates:
    """The same estimates with costs, and with the lift of every arm that has a mean over its control arm.

    `controls` has one arm, or one for every segment: an arm is compared with that of its own segment. Without a
    posterior, where there are too few rows, there are no lifts. With `cost` lifts are of means less their costs.
    """
    taken = np.zeros(len(found)) if cost is None else cost
    control_in = {tuple(found[control].arm.segment.values()): control for control in controls}
    rows = []
    for number, row in enumerate(found):
        control = control_in.get(tuple(row.arm.segment.values()))
        lift = None
        if posterior is not None and control is not None and number != control:
            lift = _lift(posterior, number, control, level, taken)
        rows.append(replace(row, lift=lift, is_control=number == control, cost=float(taken[number])))
    return Estimates(rows)


def _lift(posterior: Posterior, arm: int, control: int, level: float, cost: Floats) -> Lift | None:
    """The lift of an arm over another; None if one of them has no mean or no draws."""
    means = posterior.means - cost
    ours, base = posterior.draws[:, arm] - cost[arm], posterior.draws[:, control] - cost[control]
    if not math.isfinite(means[arm] - means[control]) or np.isnan(ours - base).any():
        return None
    return difference(ours, base, float(means[arm]), float(means[control]), level)


@dataclass(frozen=True)
class LevelEffect:
    """The effect of a level of a lever compared with its base level, averaged over settings of the other levers.

    Args:
        lever: The lever.
        level: Its level.
        base: The level that it is compared with.
        settings: Number of settings of the other levers with arms for both levels; the average is over these.
        own_rows: Rows of all arms with this level.
        mean: Mean reward at this level, averaged over those settings.
        effect: Difference from the base level, with its interval.
    """

    lever: str
    level: Level
    base: Level
    settings: int
    own_rows: int
    mean: float
    effect: Lift


class Effects(Tabled[LevelEffect]):
    """The effects of all levels, lever by lever."""

    _words = ("lever", "level", "instead of")

    note: str
    """A caveat in one sentence; empty if there is none."""

    def __new__(cls, rows: Sequence[LevelEffect], note: str = "") -> Self:
        """The rows with their caveat."""
        made = super().__new__(cls, rows)
        made.note = note
        return made

    @property
    def known(self) -> Sequence[LevelEffect]:
        """Effects that at least one pair of arms can estimate."""
        return [row for row in self if row.settings]

    def to_frame(self) -> pl.DataFrame:
        """One row per level."""
        columns = ("effect", *Lift._fields[1:])
        named = [
            {
                **{name: value for name, value in vars(row).items() if name != "effect"},
                **{"level": str(row.level), "base": str(row.base)},
                **dict(zip(columns, row.effect, strict=True)),
            }
            for row in self
        ]
        return pl.DataFrame(named, strict=False, infer_schema_length=None)

    def __repr__(self) -> str:
        return f"{printable(self.note)}\n{super().__repr__()}" if self.note else super().__repr__()

    def _title(self) -> str:
        return "\n".join(filter(None, [self.note, "What each level does, the other levers being equal"]))

    def _columns(self) -> dict[str, list[str]]:
        effects = [row.effect for row in self]
        return {
            "lever": [row.lever for row in self],
            "level": [str(row.level) for row in self],
            "instead of": [str(row.base) for row in self],
            "settings": [f"{row.settings:,}" for row in self],
            "own rows": [f"{row.own_rows:,}" for row in self],
            "mean": [shown(row.mean) for row in self],
            "effect": [shown(each.absolute, beside=(each.low, each.high)) for each in effects],
            "interval": [between(each.low, each.high, each.absolute) for each in effects],
            "relative": [shown(each.relative) for each in effects],
            "better": [shown(each.probability_better) for each in effects],
        }


def effects_of_levels(
    problem: Problem, posterior: Posterior, base: Mapping[str, Level], level: float, cost: Floats | None = None
) -> Effects:
    """Every level against the base level of its lever, over the settings of the other levers that have both."""
    taken = np.zeros(len(posterior.means)) if cost is None else cost
    draws, means, own_rows = posterior.draws - taken, posterior.means - taken, posterior.own_rows
    found = []
    for index, lever in enumerate(problem.levers):
        groups = problem.arm_groups([name for name in problem.intervention_names if name != lever.name])
        codes = problem.arm_codes[:, index]
        before = lever.code(base[lever.name])
        for code, value in enumerate(lever.levels):
            if code == before or not np.any(codes == code):
                continue
            ours, theirs = _pairs(groups, codes, code, before)
            rows = int(own_rows[codes == code].sum())
            # An arm without a mean or a draw leaves its pair out.
            apart = draws[:, ours] - draws[:, theirs]
            known = ~np.isnan(apart).any(axis=0) & ~np.isnan(means[ours] - means[theirs])
            ours, theirs = ours[known], theirs[known]
            if not len(ours):
                nothing = Lift(*[math.nan] * 7)
                found.append(LevelEffect(lever.name, value, lever.levels[before], 0, rows, math.nan, nothing))
                continue
            mean, before_it = float(means[ours].mean()), float(means[theirs].mean())
            effect = difference(draws[:, ours].mean(axis=1), draws[:, theirs].mean(axis=1), mean, before_it, level)
            found.append(LevelEffect(lever.name, value, lever.levels[before], len(ours), rows, mean, effect))
    return Effects(found)


def _pairs(groups: Ints, codes: Ints, code: int, before: int) -> tuple[Ints, Ints]:
    """Arms that differ in one lever alone: those with the level, and for each the one with the base level."""
    at = np.full((2, groups.max() + 1), -1, dtype=np.int64)
    for row, wanted in enumerate((code, before)):
        arms = np.flatnonzero(codes == wanted)
        at[row, groups[arms]] = arms
    both = (at >= 0).all(axis=0)
    return at[0, both], at[1, both]
