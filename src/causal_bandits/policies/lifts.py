"""By how much arms are better than a control, and levels of a lever than its base, from joint draws of all means."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl

from ..compiled import Floats, Ints
from ..markup import between, text_table, titled_table
from ..markup import number as shown
from ..problem import Level, Problem
from .estimates import Estimates, Lift
from .listed import Listed


class JointDraws(NamedTuple):
    """(draws, arms) or (draws,): joint draws of means.

    Args:
        drawn: What `recommend` counts too, so that an arm's probability to be better than the only other arm is its
            probability to be the best.
        wide: The same, as wide as the intervals.
    """

    drawn: Floats
    wide: Floats

    def of(self, arms: Sequence[int] | Ints) -> "JointDraws":
        """Draws of the mean over some arms."""
        return JointDraws(self.drawn[:, arms].mean(axis=1), self.wide[:, arms].mean(axis=1))


def difference(ours: JointDraws, base: JointDraws, mean: float, base_mean: float, level: float) -> Lift:
    """How far `ours` is above `base`: draws of both, and their means.

    The interval is that of the differences of the wide draws, around the difference of the means. The relative one is
    that of the ratios; there is none where the base may be 0 or below, as far as the level goes.
    """
    tail = (1 - level) / 2
    apart, drawn = ours.wide - base.wide, ours.drawn - base.drawn
    low, high = np.quantile(apart, [tail, 1 - tail])
    moved = (mean - base_mean) - float(apart.mean())
    better = (np.count_nonzero(drawn > 0) + 0.5 * np.count_nonzero(drawn == 0)) / len(drawn)
    relative = (math.nan, math.nan, math.nan)
    if base_mean > 0 and np.quantile(base.wide, tail) > 0:
        above = base.wide > 0
        ends = np.quantile(ours.wide[above] / base.wide[above] - 1, [tail, 1 - tail])
        relative = ((mean - base_mean) / base_mean, float(ends[0]), float(ends[1]))
    return Lift(mean - base_mean, float(low) + moved, float(high) + moved, *relative, float(better))


def as_wide_as_stated(draws: Floats, found: Estimates, level: float) -> Floats:
    """The same draws, each arm's as far from their mean as its stated interval is wide, where they are narrower.

    What is stated of an arm may be wider than what arms are compared by; a lift must not claim more than both. Draws
    that are never below 0 stay so.
    """
    tail = (1 - level) / 2
    low, high = np.quantile(draws, [tail, 1 - tail], axis=0)
    stated = np.array([row.high - row.low for row in found])
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = stated / (high - low)
    factor = np.where(np.isfinite(factor), np.maximum(factor, 1.0), 1.0)
    centre = draws.mean(axis=0)
    wide: Floats = centre + (draws - centre) * factor
    return np.where(draws.min(axis=0) >= 0, np.maximum(wide, 0.0), wide)


def lift_over(
    found: Estimates, controls: Sequence[int], draws: JointDraws | None, level: float, cost: Floats | None = None
) -> Estimates:
    """The same estimates with costs, and with the lift of every arm that has a mean over its control arm.

    `controls` has one arm, or one for every segment: an arm is compared with that of its own segment.
    """
    taken = np.zeros(len(found)) if cost is None else cost
    control_in = {tuple(found[control].arm.segment.values()): control for control in controls}
    rows = []
    for number, row in enumerate(found):
        control = control_in.get(tuple(row.arm.segment.values()))
        if control is None:
            rows.append(replace(row, cost=float(taken[number])))
            continue
        base = found[control].mean - float(taken[control])
        lift, mean = None, row.mean - float(taken[number])
        if draws is not None and number != control and math.isfinite(mean) and math.isfinite(base):
            ours, theirs = draws.of([number]), draws.of([control])
            if not np.isnan(ours.drawn - theirs.drawn).any():
                lift = difference(ours, theirs, mean, base, level)
        rows.append(replace(row, lift=lift, is_control=number == control, cost=float(taken[number])))
    return Estimates(rows)


@dataclass(frozen=True)
class LevelEffect:
    """What a level of a lever does in place of its base level, the other levers being equal, averaged over them.

    Args:
        lever: The lever.
        level: Its level.
        base: The level it is compared with.
        settings: Settings of the other levers that have an arm with either level; the average is over these.
        own_rows: Rows of all arms with this level.
        mean: Mean reward at this level, averaged over those settings.
        effect: How far that is above the base level, and how sure that is.
    """

    lever: str
    level: Level
    base: Level
    settings: int
    own_rows: int
    mean: float
    effect: Lift


class Effects(Listed[LevelEffect]):
    """The effects of all levels, lever by lever."""

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
        columns = (
            "lever",
            "level",
            "instead of",
            "settings",
            "own rows",
            "mean",
            "effect",
            "interval",
            "relative",
            "better",
        )
        rows = [
            (
                *(row.lever, str(row.level), str(row.base), f"{row.settings:,}", f"{row.own_rows:,}", shown(row.mean)),
                *(shown(row.effect.absolute), between(row.effect.low, row.effect.high)),
                *(shown(row.effect.relative), shown(row.effect.probability_better)),
            )
            for row in self
        ]
        return text_table(columns, rows, range(3, len(columns)))

    def _repr_html_(self) -> str:
        rows = [
            (
                *(row.lever, str(row.level), str(row.base)),
                *(shown(row.effect.absolute), between(row.effect.low, row.effect.high)),
            )
            for row in self
        ]
        columns = ("lever", "level", "instead of", "effect", "interval")
        return titled_table("What each level does, the other levers being equal", columns, rows, numeric=(3, 4))


def effects_of_levels(
    problem: Problem, base: Mapping[str, Level], draws: JointDraws, means: Floats, own_rows: Ints, level: float
) -> Effects:
    """Every level against the base level of its lever, over the settings of the other levers that have both."""
    found = []
    for place, lever in enumerate(problem.levers):
        groups = problem.arm_groups([name for name in problem.intervention_names if name != lever.name])
        codes = problem.arm_codes[:, place]
        before = lever.code(base[lever.name])
        for code, value in enumerate(lever.levels):
            if code == before or not np.any(codes == code):
                continue
            ours, theirs = _pairs(groups, codes, code, before)
            rows = int(own_rows[codes == code].sum())
            # An arm without a mean or a draw leaves its pair out.
            drawn = draws.drawn[:, ours] - draws.drawn[:, theirs]
            known = ~np.isnan(drawn).any(axis=0) & ~np.isnan(means[ours] - means[theirs])
            ours, theirs = ours[known], theirs[known]
            if not len(ours):
                nothing = Lift(*[math.nan] * 7)
                found.append(LevelEffect(lever.name, value, lever.levels[before], 0, rows, math.nan, nothing))
                continue
            mean = float(means[ours].mean())
            apart = difference(draws.of(ours), draws.of(theirs), mean, float(means[theirs].mean()), level)
            found.append(LevelEffect(lever.name, value, lever.levels[before], len(ours), rows, mean, apart))
    return Effects(found)


def _pairs(groups: Ints, codes: Ints, code: int, before: int) -> tuple[Ints, Ints]:
    """Arms that differ in one lever alone: those with the level, and for each the one with the base level."""
    at = np.full((2, groups.max() + 1), -1, dtype=np.int64)
    for row, wanted in enumerate((code, before)):
        arms = np.flatnonzero(codes == wanted)
        at[row, groups[arms]] = arms
    both = (at >= 0).all(axis=0)
    return at[0, both], at[1, both]
