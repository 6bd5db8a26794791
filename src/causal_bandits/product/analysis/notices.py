"""Notices about columns: consequences of the reward, and noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...core.compiled import Floats, Ints
from ...core.data import Rows
from ...core.independence import permutation_test
from ...core.problem import Problem
from ...errors import brief
from ...libraries import pl

FEWEST_CASES = 10
"""A column that differs from its usual value in fewer rows may cause the reward in all of them."""
FEWEST_PER_LEVEL = 5
"""Rows for each value of a column whose values are looked at one by one."""
CHANCE = 0.001
"""A column goes with the reward by chance, unless that is less probable than this."""
FUNCTION, FEWEST_ROWS = 0.97, 50
"""A column with a dependence of this much, in at least this many rows, is a function of the reward."""
DRAWS = 199
LEVEL = 0.05


def _counted(codes: Ints, arms: Ints, rewards: Ints, levels: int) -> Ints:
    """(arms, levels, 2): rows that have a value, by arm, level and reward."""
    seen = codes >= 0
    shape = (int(arms.max()) + 1, levels, 2)
    places = np.ravel_multi_index((arms[seen], codes[seen], rewards[seen]), shape)
    return np.bincount(places, minlength=int(np.prod(shape))).reshape(shape)


def results_of_the_reward(problem: Problem, table: pl.DataFrame) -> dict[str, str]:
    """Observed columns that look like consequences of the reward, such as what was paid, and why."""
    rewards = table[problem.target]
    usual = rewards.mode().sort()[0]
    binary, common = problem.reward.kind == "binary", 2 * int((rewards == usual).sum()) >= len(rewards)
    happened = (rewards.cast(pl.Int64) == 1 if binary else rewards != usual).cast(pl.Int64)
    where = f"{problem.target} = 1" if binary else f"{problem.target} is not {brief(usual)}"
    told = problem.target if binary else f"whether {problem.target} is {brief(usual)}"
    found: dict[str, str | None] = {}
    for name in problem.observed_names:
        if binary or common:
            found[name] = _consequence(table[name], happened, where, told)
        if not binary and found.get(name) is None:
            found[name] = _function(table[name], rewards)
    return {name: why for name, why in found.items() if why is not None}


def _consequence(column: pl.Series, happened: pl.Series, where: str, told: str) -> str | None:
    """Why a column comes after the reward and not before it; None if it need not.

    `happened` is 1 in the rows with a reward; `where` says in words which they are, and `told` what it is.
    """
    without, given = column.filter(happened == 0), column.filter(happened == 1)
    known = without.drop_nulls()
    if known.n_unique() == 1 or (len(without) and not len(known)):
        usual = known[0] if len(known) else None
        others = given.drop_nulls()
        others = others if usual is None else others.filter(others != usual)
        enough = len(others) >= FEWEST_CASES or len(others) == len(given)
        if enough and _by_chance(len(column), len(given), len(others)) < CHANCE:
            return f"{_differs(others, usual)} where {where}"
    seen = column.is_not_null()
    values, known = column.filter(seen), happened.filter(seen)
    if _by_chance(len(known), int(known.sum()), int(known.sum())) < CHANCE and _parted(values, known):
        return f"always tells {told}"
    return None


def _function(column: pl.Series, rewards: pl.Series) -> str | None:
    """Why a column is a function of a reward that is a number, or the other way around; None if it is not."""
    seen = column.is_not_null()
    values, known = column.filter(seen), rewards.filter(seen).cast(pl.Float64)
    if column.dtype == pl.String:
        means = pl.DataFrame({"value": values, "reward": known}).with_columns(pl.col("reward").mean().over("value"))
        values = means["reward"]
    if len(values) < FEWEST_ROWS or values.n_unique() < 2 or known.n_unique() < 2:
        return None
    x, y = known.to_numpy(), values.cast(pl.Float64).to_numpy()
    if max(dependence(x, y), dependence(y, x)) < FUNCTION:
        return None
    return f"and {rewards.name} almost determine each other"


def dependence(x: Floats, y: Floats) -> float:
    """How nearly y is a function of x, from about 0 (independent) to 1 (Chatterjee 2021); equal x are in random order.

    >>> x = np.linspace(-1, 1, 400)
    >>> round(dependence(x, x**2), 2), round(dependence(x**2, x), 2) < 0.5
    (0.99, True)
    """
    rows = len(x)
    order = np.lexsort((np.random.default_rng(0).permutation(rows), x))
    ordered = np.sort(y)
    up, down = np.searchsorted(ordered, y, "right"), rows - np.searchsorted(ordered, y, "left")
    spread = float(2 * (down * (rows - down)).sum())
    return 1 - rows * float(np.abs(np.diff(up[order])).sum()) / spread if spread > 0 else 0.0


def _by_chance(rows: int, rewarded: int, cases: int) -> float:
    """The probability that this many rows, chosen at random, all have the reward."""
    return math.exp(_log_choices(rewarded, cases) - _log_choices(rows, cases)) if cases <= rewarded else 0.0


def _log_choices(of: int, chosen: int) -> float:
    return math.lgamma(of + 1) - math.lgamma(chosen + 1) - math.lgamma(of - chosen + 1)


def _differs(others: pl.Series, usual: object) -> str:
    if usual is None:
        return "has a value only"
    if others.dtype.is_numeric() and usual == 0 and (others > 0).all():
        return "is positive only"
    return f"is not {brief(usual)} only"


def _parted(values: pl.Series, rewards: pl.Series) -> bool:
    """Whether each value, or each side of a threshold, has one reward alone."""
    without, given = values.filter(rewards == 0), values.filter(rewards == 1)
    if values.n_unique() * FEWEST_PER_LEVEL <= len(values):
        return not set(without.unique()) & set(given.unique())
    if not values.dtype.is_numeric():
        return False
    low: Any = (without.min(), given.min())
    high: Any = (without.max(), given.max())
    return bool(high[0] < low[1] or high[1] < low[0])


def noise(problem: Problem, rows: Rows, tell: Callable[[str, int, int], None]) -> Iterator[str]:
    """Words on every observed variable that neither the levers move nor the reward goes with."""
    for place, variable in enumerate(problem.observed):
        tell("testing columns", place, len(problem.observed))
        table = _counted(rows.codes[:, place], rows.arms, rows.rewards, variable.size)
        by_levers = permutation_test(table.sum(axis=2), draws=DRAWS).p_value
        with_reward = permutation_test(table, draws=DRAWS).p_value
        if min(by_levers, with_reward) >= LEVEL:
            yield (
                f"{variable.name} looks like noise: the levers do not affect it (p = {by_levers:.2f}), and given "
                f"the arm it does not predict the reward (p = {with_reward:.2f})"
            )
