"""The state of sharing by degrees, whatever the rewards are, and the sets that its arms go by.

The rule is described in `graded`, which measures rewards of 0 or 1; `cell_sharing` measures all others, and `settling`
is what both do with indices and differences that were measured.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import Bools, Floats, Ints, by_reference, compiled
from .index_parts import ALL, DIFFERENCE, INDEX, KNOWN, NOISE, OTHERS, POOLED, RATIO, SCATTER, N

SEPARATES = 0.1
"""P(a set separates) beforehand; a set that is less probable than that is not used."""
SPREAD_ROWS = 0.5
"""The variance of the index within an arm is shrunk to that of all arms by at least so many rows."""
ENOUGH = 3
"""Sets are used once there were so many rewards, and as many rows without."""
GUARD = 3.29
"""An arm stays within the 99.9 % interval of its own rows: so many standard errors."""

WITHIN, PRIOR_ROWS, SHARED, LEFT, SPREAD = range(5)
COUNTED, SUM, SQUARES, GAINED = range(4)
WAITING, WAITING_SUM, SCALED = range(3)


@by_reference
class Graded(NamedTuple):
    """Tables, own rows, and what the last refresh made of them."""

    tables: Any
    """`CountTables`, or `CellTables` where rewards are not 0 or 1."""
    own: Any
    """`MainEffects`, or `RewardEffects`."""
    indices: Floats
    """E[Y | S = s] of every cell of every set; in `CellTables` less the mean over arms, as are sums of them."""
    starts: Ints
    """(sets,): where its cells begin."""
    chosen: Ints
    """(arms,): the set that an arm goes by; 0: its own rows."""
    separates: Floats
    """(sets,): P(the set separates)."""
    means: Floats
    """(2, sets, 1 + levels): effects on the index and on the difference."""
    roots: Floats
    deviations: Floats
    """(2, sets)."""
    heard: Floats
    """(sets, arms): variance of an arm's mean index, as the other arms say."""
    moments: Floats
    """(sets, arms, 2): mean and variance of every arm's mean through every set."""
    sums: Floats
    """(arms, 4), of the chosen set: rows, their indices, squares, rewards; pending rows count in the first three."""
    parts: Floats
    """(arms, 5), of the chosen set: variance of an index within arms, its prior rows, variance from E[Y | S], the share
    that others decide, variance of a single row's difference."""
    used: Bools
    """(sets,)."""
    late: Floats
    """(arms, 3), of the chosen set: pending rows, their indices, what the difference of the others is multiplied by."""
    ahead: Floats
    """(sets, 1 + levels, 1 + levels): roots of differences as if all rewards had come; none without pending rows."""
    shifts: Floats
    """(arms,): from what its set says of an arm's mean to the average over sets; none: the set's word alone counts."""


def nothing_shared(tables: Any, own: Any, index: float) -> Graded:
    """A state that has learnt nothing from its tables, without room for pending rows; cells start from `index`."""
    sets, (arms, _), size = len(tables.cells), own.known.shape, len(own.mean)
    return Graded(
        tables,
        own,
        np.full(int(tables.cells.sum()), index),
        (np.cumsum(tables.cells) - tables.cells).astype(np.int64),
        np.zeros(arms, dtype=np.int64),
        np.zeros(sets),
        np.zeros((2, sets, size)),
        np.zeros((2, sets, size, size)),
        np.zeros((2, sets)),
        np.full((sets, arms), own.known[0, 1]),
        np.tile(own.known[0, :2], (sets, arms, 1)),
        np.zeros((arms, 4)),
        np.zeros((arms, 5)),
        np.zeros(sets, dtype=np.bool_),
        np.tile([0.0, 0.0, 1.0], (arms, 1)),
        np.zeros((0, size, size)),
        np.zeros(0),
    )


@compiled
def go_by_own(state: Graded) -> None:
    """Every arm goes by its own rows: where a refresh starts from."""
    for arm in range(len(state.chosen)):
        state.chosen[arm] = 0
        state.moments[0, arm, 0], state.moments[0, arm, 1] = state.own.known[arm, 0], state.own.known[arm, 1]
        for column in range(SCALED):
            state.late[arm, column] = 0.0
        state.late[arm, SCALED] = 1.0


@compiled
def own_bounds(rows: float, rewards: float) -> tuple[float, float]:
    """The chances that an arm's own rows allow: Wilson's score interval (1927) at GUARD standard errors."""
    if rows == 0:
        return 0.0, 1.0
    square = GUARD * GUARD
    middle = (rewards + 0.5 * square) / (rows + square)
    half = GUARD / (rows + square) * math.sqrt(rewards * (rows - rewards) / rows + 0.25 * square)
    return middle - half, middle + half


@compiled
def index_prior(state: Graded, place: int, arm: int, within: float) -> float:
    """How many rows the word of the other arms on an arm's mean index is worth."""
    return float(max(SPREAD_ROWS, within / state.heard[place, arm]))


@compiled
def go_by_set(state: Graded, arm: int, place: int, part: Floats, within: float, single: float) -> None:
    """An arm goes by a set from now on; `single` is the variance of a row where it has none."""
    n, rows = part[N], part[ALL]
    state.chosen[arm] = place
    state.sums[arm, COUNTED], state.sums[arm, SUM] = rows, rows * part[INDEX]
    state.sums[arm, SQUARES] = part[SCATTER] + rows * part[INDEX] ** 2
    state.sums[arm, GAINED] = n * (part[KNOWN] + part[DIFFERENCE] / part[RATIO])
    state.late[arm, WAITING], state.late[arm, SCALED] = rows - n, part[RATIO]
    state.late[arm, WAITING_SUM] = rows * part[INDEX] - n * part[KNOWN]
    state.parts[arm, WITHIN], state.parts[arm, SHARED] = within, part[POOLED]
    state.parts[arm, PRIOR_ROWS] = index_prior(state, place, arm, within)
    state.parts[arm, LEFT] = part[OTHERS]
    state.parts[arm, SPREAD] = part[NOISE] * n if n > 0 else single


@compiled
def mark_used(state: Graded) -> None:
    """Note which sets arms go by."""
    for place in range(len(state.used)):
        state.used[place] = False
    for arm in range(len(state.chosen)):
        state.used[state.chosen[arm]] = True


@compiled
def count_index(state: Graded, arm: int, by: float, index: float) -> None:
    """One row more or less (1 or -1) in the sums of an arm's set."""
    state.sums[arm, COUNTED] += by
    state.sums[arm, SUM] += by * index
    state.sums[arm, SQUARES] += by * index * index
