"""GA-LCB the long way: from a list of rows, with general solvers, everything made again after every row."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Lasso

Floats = NDArray[np.float64]
Row = tuple[int, tuple[float, ...]]
"""An arm, and the values of all variables, the reward last."""


class Plan(NamedTuple):
    """What is explored and told: the level of each variable's lever under every arm (0: idle), and the numbers."""

    levels: Sequence[Sequence[int]]
    effect: float
    penalty: float
    alpha: float
    horizon: int

    @property
    def idle(self) -> int:
        return next(arm for arm, levels in enumerate(self.levels) if not any(levels))


class Bounds(NamedTuple):
    """After the last row: arms that are left, the step, whether bounds decide, and means and widths of what is left."""

    left: list[int]
    step: int
    last: bool
    means: dict[int, float]
    widths: dict[int, float]


def who_moves_whom(rows: Sequence[Row], plan: Plan) -> set[tuple[int, int]]:
    def mean(arm: int, variable: int) -> float:
        return float(np.mean([values[variable] for each, values in rows if each == arm]))

    size, found = len(plan.levels[0]), set()
    for arm, levels in enumerate(plan.levels):
        if sum(map(bool, levels)) == 1:
            cause = next(place for place, level in enumerate(levels) if level)
            for effect in range(size):
                moved = abs(mean(arm, effect) - mean(plan.idle, effect)) > plan.effect / 2
                if moved and effect != cause and cause != size - 1:
                    found.add((cause, effect))
    return found


def parents_of(rows: Sequence[Row], plan: Plan) -> dict[int, list[int]]:
    """In causal order: sklearn's Lasso on standardized variables, from rows in which the variable's lever is idle."""
    size, moves = len(plan.levels[0]), who_moves_whom(rows, plan)
    movers = {cause for cause, _ in moves}

    def rank(variable: int) -> tuple[bool, int, bool, int]:
        return variable == size - 1, sum(effect == variable for _, effect in moves), variable in movers, variable

    found: dict[int, list[int]] = {}
    for variable in sorted(range(size), key=rank):
        may = sorted(each for each in found if (each, variable) in moves or each not in movers)
        values = np.array([row for arm, row in rows if plan.levels[arm][variable] == 0])
        standard = (values - values.mean(axis=0)) / values.std(axis=0)
        found[variable] = []
        if may:
            fitted = Lasso(alpha=plan.penalty, fit_intercept=False, tol=1e-12, max_iter=100_000)
            fitted.fit(standard[:, may], standard[:, variable])
            found[variable] = [each for each, weight in zip(may, fitted.coef_, strict=True) if weight != 0]
    return found


def bound(
    rows: Sequence[Row], plan: Plan, parents: dict[int, list[int]], reach: Floats, arm: int
) -> tuple[float, float]:
    """Mean and width of the reward, with an intercept that is not penalized as a column of ones."""
    means: dict[int, float] = {}
    widths: dict[int, float] = {}
    for variable, causes in parents.items():
        same = [values for other, values in rows if plan.levels[other][variable] == plan.levels[arm][variable]]
        design = np.array([[1.0, *(values[each] for each in causes)] for values in same])
        ridge = design.T @ design + np.diag([0.0, *(1.0 for _ in causes)])
        weights = np.linalg.solve(ridge, design.T @ np.array([values[variable] for values in same]))
        at = np.array([1.0, *(means[each] for each in causes)])
        means[variable] = float(at @ weights)
        widths[variable] = plan.alpha * float(np.sqrt(at @ np.linalg.solve(ridge, at)))
        if causes:
            centred = design[:, 1:] - design[:, 1:].mean(axis=0)
            least = np.linalg.eigvalsh(centred.T @ centred + np.eye(len(causes))).min()
            widths[variable] += plan.alpha * float(np.linalg.norm(reach[causes]) / np.sqrt(least))
            widths[variable] += sum(widths[each] for each in causes)
    last = len(plan.levels[0]) - 1
    return means[last], widths[last]


def play_back(rows: Sequence[Row], plan: Plan, explored: int) -> list[Bounds]:
    """What GA-LCB knows after the rows it explored, and after each further row."""
    parents = parents_of(rows[:explored], plan)
    reach = 3 * np.array([values for _, values in rows[:explored]]).std(axis=0)
    left, step, last, found = list(range(len(plan.levels))), 1, False, []
    for count in range(explored, len(rows) + 1):
        both = {arm: bound(rows[:count], plan, parents, reach, arm) for arm in left}
        means, widths = {arm: mean for arm, (mean, _) in both.items()}, {arm: width for arm, (_, width) in both.items()}
        last = last or max(widths.values()) < reach[-1] / np.sqrt(plan.horizon)
        while len(left) > 1 and max(widths[arm] for arm in left) < reach[-1] / 2**step:
            highest = max(means[arm] + widths[arm] for arm in left)
            left = [arm for arm in left if means[arm] + widths[arm] >= highest - 2 * reach[-1] / 2**step]
            step += 1
        found.append(
            Bounds(list(left), step, last, {arm: means[arm] for arm in left}, {arm: widths[arm] for arm in left})
        )
    return found
