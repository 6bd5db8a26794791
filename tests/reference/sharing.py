"""Slow, obvious twins of causal_bandits.core.estimators: recount raw rows, walk through every possible data set."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from causal_bandits.core.problem import Level

Row = Mapping[str, Level]
"""One pull: every lever, every observed variable, and Y."""

Floats = NDArray[np.float64]


def agrees(row: Row, settings: Mapping[str, Level]) -> bool:
    return all(row[name] == level for name, level in settings.items())


def sharing(rows: Sequence[Row], arm: Mapping[str, Level], S: Iterable[str], separated: Iterable[str]) -> float:
    """Eq. 6, and eq. 2 when S separates all: sum over s of mu(s; I_NS) p(s | arm)."""
    own = [row for row in rows if agrees(row, arm)]
    I_NS = {name: level for name, level in arm.items() if name not in set(separated)}
    shared = [row for row in rows if agrees(row, I_NS)]
    if not own:
        return math.nan
    estimate = 0.0
    for s in {tuple((name, row[name]) for name in S) for row in own}:
        p = sum(agrees(row, dict(s)) for row in own) / len(own)
        rewards = [row["Y"] for row in shared if agrees(row, dict(s))]
        estimate += p * sum(reward == 1 for reward in rewards) / len(rewards)
    return estimate


def data_sets(joint: Floats, rows: Sequence[int]) -> Iterator[tuple[float, NDArray[np.int64]]]:
    """Every table (arms, cells, 2) that `rows[a]` draws from `joint[a]` = P(S, Y | arm a) can give, with its chance."""
    per_arm = [_arm_data_sets(chances, count) for chances, count in zip(joint, rows, strict=True)]
    for drawn in product(*(tables.items() for tables in per_arm)):
        table = np.array([counts for counts, _ in drawn]).reshape(joint.shape)
        yield math.prod(chance for _, chance in drawn), table


def _arm_data_sets(joint: Floats, count: int) -> dict[tuple[int, ...], float]:
    """The counts of all outcomes (s, y) of one arm, by going through every sequence of draws."""
    chances = joint.ravel().tolist()
    found: dict[tuple[int, ...], float] = defaultdict(float)
    for draws in product(range(len(chances)), repeat=count):
        chance = math.prod(chances[draw] for draw in draws)
        if chance > 0:
            found[tuple(draws.count(outcome) for outcome in range(len(chances)))] += chance
    return found


def expected_estimate(joint: Floats, rows: Sequence[int], arm: int) -> float:
    """E[eq. 2] whether or not S separates: sum over s and arms a of E[Y | s, a] E[N(s, arm) N(s, a) / N(s)] / N(arm).

    The counts of one s in different arms are independent binomials.
    """
    total = 0.0
    for cell in joint.transpose(1, 0, 2):  # (arms, 2)
        chance = cell.sum(axis=1)
        reward = np.divide(cell[:, 1], chance, out=np.zeros(len(chance)), where=chance > 0)
        for counts in product(*(range(count + 1) for count in rows)):
            if counts[arm]:
                weight = math.prod(binom.pmf(counts, rows, chance).tolist())
                total += weight * counts[arm] / rows[arm] * float(np.array(counts) @ reward) / sum(counts)
    return total
