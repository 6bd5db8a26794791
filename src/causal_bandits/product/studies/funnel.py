"""The funnel: what levers do to mediators, mediators to the reward, and levers to the reward.

What a level of a lever does to the reward is `Study.effects`: estimated with what arms share, less costs, averaged over
the settings of the other levers. What it does to a mediator is counted: arms with the level are compared with the arms
that have the base level and are equal in all other levers (and the segment). A level of a mediator is compared with its
first one among rows of the same arm. Counted differences are averaged with the weights n1 n0 / (n1 + n0) of these pairs
(Mantel and Haenszel), so that traffic that shifts between arms distorts nothing. What a mediator does is a difference
within arms: it is the effect of the mediator unless something else moves both.
"""

from collections.abc import Iterable, Mapping
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from ...core.compiled import Floats, Ints
from ...core.problem import Level, Problem, Variable
from .answers import effects
from .state import StudyState

LEVEL = 0.95
Pairs = list[tuple[int, int]]


class Difference(NamedTuple):
    """A difference between two means, its 95% interval, and the number of rows."""

    value: float
    low: float
    high: float
    rows: int

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.low > 0 or self.high < 0


class Step(NamedTuple):
    """The effect of one level, compared with a base level, on one variable; None if no rows can be compared."""

    source: str
    level: Level
    base: Level
    target: str
    outcome: Level | None
    """The level of the mediator whose share changes; None if a mean changes."""
    effect: Difference | None


class Funnel(NamedTuple):
    """All steps."""

    levers: tuple[str, ...]
    mediators: tuple[str, ...]
    reward: str
    to_mediators: tuple[Step, ...]
    mediators_to_reward: tuple[Step, ...]
    levers_to_reward: tuple[Step, ...]


class Moments(NamedTuple):
    """Per cell: rows, mean, sum of squares around it."""

    rows: Ints
    mean: Floats
    squares: Floats


Shares = list[tuple[Level | None, Moments]]


def funnel(state: StudyState) -> Funnel:
    """The funnel of a study, from its counted rows."""
    problem, rows = state.problem, state.policy.history.packed
    base: Mapping[str, Level] = problem.arms[state.controls[0]] if state.controls else problem.idle_settings
    moved = [
        (lever, level, _arm_pairs(problem, lever, level, base[lever.name]))
        for lever in problem.levers
        for level in lever.levels
        if level != base[lever.name]
    ]
    to_reward = [
        Step(
            *(row.lever, row.level, row.base, problem.target, None),
            None
            if np.isnan(row.effect.absolute)  # no arms can be compared
            else Difference(row.effect.absolute, row.effect.low, row.effect.high, row.own_rows),
        )
        for row in (effects(state, LEVEL) if state.policy.rows and state.policy.can_compare else ())
    ]
    seen = [(mediator, *_seen(problem, index, rows)) for index, mediator in enumerate(problem.observed)]
    to_mediators = [
        Step(lever.name, level, base[lever.name], mediator.name, outcome, difference(pairs, cells))
        for mediator, shares, _ in seen
        for lever, level, pairs in moved
        for outcome, cells in shares
    ]
    within = [step for _, _, steps in seen for step in steps]
    names = (tuple(lever.name for lever in problem.levers), problem.observed_names, problem.target)
    return Funnel(*names, tuple(to_mediators), tuple(within), tuple(to_reward))


def _seen(problem: Problem, index: int, rows: dict[str, Any]) -> tuple[Shares, list[Step]]:
    """Of a mediator: the share of each level but the first (or its mean) by arm, and what it does to the reward."""
    mediator, arms, rewards, count = problem.observed[index], rows["arms"], rows["rewards"], len(problem.arms)
    if mediator.is_real:
        numbers = [where for where, variable in enumerate(problem.observed) if variable.is_number]
        values = rows["raw"][:, numbers.index(index)]
        known = ~np.isnan(values)
        slope = _slope(problem, mediator, arms[known], values[known], rewards[known])
        return [(None, moments(arms[known], values[known], count))], [slope]
    known = rows["codes"][:, index] >= 0
    codes, where = rows["codes"][known, index].astype(np.int64), arms[known].astype(np.int64)
    levels = _levels(mediator, codes)
    shares: Shares = [(level, moments(where, codes == code, count)) for code, level in enumerate(levels) if code]
    cells = moments(where * len(levels) + codes, rewards[known], count * len(levels))
    return shares, list(_within(problem, mediator.name, levels, cells))


def _levels(mediator: Variable, codes: Ints) -> list[Level]:
    """The names of the levels; those of a number cut into bins are their numbers."""
    if mediator.bins is None:
        return list(mediator.levels)
    return [f"bin {code + 1}" for code in range(max(int(codes.max(initial=0)) + 1, len(mediator.levels)))]


def _arm_pairs(problem: Problem, lever: Variable, level: Level, base: Level) -> Pairs:
    """Arms with a level, and those that differ from them in that they have the base level."""
    numbers = {arm: number for number, arm in enumerate(problem.arms)}
    rest = {_rest(arm, lever.name): number for arm, number in numbers.items() if arm[lever.name] == base}
    with_level = [(arm, number) for arm, number in numbers.items() if arm[lever.name] == level]
    return [(number, rest[_rest(arm, lever.name)]) for arm, number in with_level if _rest(arm, lever.name) in rest]


def _rest(arm: Any, lever: str) -> tuple[Level, ...]:
    return tuple(level for name, level in arm.items() if name != lever)


def moments(cells: Ints, values: Any, count: int) -> Moments:
    """Count values by cell."""
    where, given = cells.astype(np.int64), np.asarray(values, dtype=np.float64)
    rows = np.bincount(where, minlength=count)
    mean = np.bincount(where, given, count) / np.maximum(rows, 1)
    squares: Floats = np.bincount(where, (given - mean[where]) ** 2, count).astype(np.float64)
    return Moments(rows, mean, squares)


def difference(pairs: Pairs, cells: Moments) -> Difference | None:
    """The weighted mean of the differences of pairs of cells, the second from the first; spreads are pooled by side."""
    pairs = [(one, two) for one, two in pairs if cells.rows[one] and cells.rows[two]]
    if not pairs:
        return None
    ours, base = (np.array(side) for side in zip(*pairs, strict=True))
    n, m = cells.rows[ours].astype(float), cells.rows[base].astype(float)
    weights = n * m / (n + m)
    weights /= weights.sum()
    value = float(weights @ (cells.mean[ours] - cells.mean[base]))
    spreads = _spread(cells, ours), _spread(cells, base)
    error = float(np.sqrt((weights**2 * (spreads[0] / n + spreads[1] / m)).sum()))
    wide = NormalDist().inv_cdf(0.5 + LEVEL / 2) * error
    return Difference(value, value - wide, value + wide, int(n.sum() + m.sum()))


def _spread(cells: Moments, chosen: Ints) -> float:
    """The variance within some cells; with one row in each there is none, and nothing is clear."""
    free = float((cells.rows[chosen] - 1).sum())
    return float(cells.squares[chosen].sum()) / free if free > 0 else np.inf


def _within(problem: Problem, name: str, levels: list[Level], cells: Moments) -> Iterable[Step]:
    size = len(levels)
    for code, level in enumerate(levels):
        if code:
            pairs = [(arm * size + code, arm * size) for arm in range(len(problem.arms))]
            yield Step(name, level, levels[0], problem.target, None, difference(pairs, cells))


def _slope(problem: Problem, mediator: Variable, arms: Ints, values: Floats, rewards: Any) -> Step:
    """What one standard deviation (within arms) more of a real mediator goes with."""
    count = len(problem.arms)
    x, y = moments(arms, values, count), moments(arms, rewards, count)
    ours, theirs = values - x.mean[arms], np.asarray(rewards, dtype=float) - y.mean[arms]
    total, free = float(x.squares.sum()), len(values) - np.count_nonzero(x.rows) - 1
    found = None
    if total > 0 and free > 0:
        slope = float(ours @ theirs) / total
        size = np.sqrt(total / (free + 1))
        error = np.sqrt(float(((theirs - slope * ours) ** 2).sum()) / free / total) * size
        wide = NormalDist().inv_cdf(0.5 + LEVEL / 2) * error
        found = Difference(slope * size, slope * size - wide, slope * size + wide, len(values))
    return Step(mediator.name, "one standard deviation more", "its mean", problem.target, None, found)
