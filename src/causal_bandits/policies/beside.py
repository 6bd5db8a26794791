"""What stands beside an estimate: the arm's own rows alone, and its rows that wait for their reward."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from ..compiled import Bools
from ..data import History
from ..estimators import jeffreys_interval
from ..estimators.reward_shapes import (
    MEAN,
    RATE,
    ROWS,
    add_to_numbers,
    learn_dispersion,
    numbers_for,
    one_more,
    own_limits,
)
from .estimates import Estimates


def with_own_rows(found: Estimates, history: History, level: float, allowed: Bools) -> Estimates:
    """The same with what each arm's own rows say alone; an arm that is not allowed has that status.

    Jeffreys' interval of a chance, Student's t of a real-valued mean; of counts, revenue and levels a score interval
    with the dispersion of all arms, which zeros alone do not make certain.
    """
    rows, arms = history.rows, len(found)
    n = np.bincount(rows.arms, minlength=arms)
    total = np.bincount(rows.arms, rows.rewards, minlength=arms)
    square = np.bincount(rows.arms, np.asarray(rows.rewards, dtype=np.float64) ** 2, minlength=arms)
    kind = history.problem.reward.kind
    numbers = numbers_for(history.problem.reward)
    if kind not in ("binary", "real"):
        for reward in rows.rewards:
            add_to_numbers(numbers, reward)
        numbers[RATE] = max(numbers[MEAN], one_more(numbers) / (numbers[ROWS] + 1)) if len(rows.arms) else numbers[RATE]
        own = np.stack([n, total / np.maximum(n, 1), square - total**2 / np.maximum(n, 1)], axis=1)
        learn_dispersion(numbers, own)
    filled = []
    for number, row in enumerate(found):
        if n[number] == 0:
            filled.append(row)
            continue
        mean = float(total[number] / n[number])
        if kind == "real":
            reach = _t_reach(int(n[number]), float(square[number] - n[number] * mean * mean), level)
            low, high = mean - reach, mean + reach
        elif kind != "binary":
            far = float(ndtri((1 + level) / 2))
            low, high = own_limits(numbers, far, *own[number])
        else:
            low, high = jeffreys_interval(int(n[number]), int(total[number]), level)
        filled.append(replace(row, own_mean=mean, own_low=low, own_high=high))
    return Estimates(filled).with_status(lambda number: None if allowed[number] else "not allowed")


def with_pending_rows(found: Estimates, without: Estimates, arms: NDArray[np.int64]) -> Estimates:
    """The same with how many rows of each arm wait for their reward, and what they add to estimates without them."""
    waiting = np.bincount(arms, minlength=len(found))
    return Estimates(
        [
            replace(
                row,
                pending_rows=int(waiting[number]),
                pending_effective=max(row.effective_rows - without[number].effective_rows, 0.0),
            )
            for number, row in enumerate(found)
        ]
    )


def _t_reach(rows: int, scatter: float, level: float) -> float:
    """Half the width of Student's interval of a mean; infinite from a single row."""
    if rows < 2:
        return math.inf
    return float(stdtrit(rows - 1, (1 + level) / 2)) * math.sqrt(max(scatter, 0.0) / (rows - 1) / rows)
