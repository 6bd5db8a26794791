"""Which of the accepted sets of a large problem get a table."""

import numpy as np

from ..compiled import Bools, Ints
from ..data import CountTables

BUDGET_BYTES = 16 * 2**20


def bytes_in_use(cells: Ints, arms: int) -> Ints:
    """What it takes to use sets: 20 bytes per cell of the table and of the pools, and 48 per arm for running sums."""
    return arms * (20 * cells + 48)


def used_sets(candidates: CountTables, arms: int, accepted: Bools, budget: int = BUDGET_BYTES) -> Bools:
    """(sets,): the accepted sets to use: all of them, or as many as fit into the budget, smaller ones first.

    `accepted` is (sets, levers). A set comes last when a set within it is used that was accepted for
    the same levers or more: whatever it shares, the smaller one shares. So a set that is minimal among
    those accepted for a lever is lost only when such sets alone do not fit.
    """
    used: Bools = np.asarray(accepted.any(axis=1))
    sizes = bytes_in_use(candidates.cells, arms)
    if sizes[used].sum() <= budget:
        return used
    places = np.flatnonzero(used)
    inside, lacks = candidates.strides[places] > 0, ~accepted[places]
    last = np.zeros(len(places), dtype=np.bool_)
    used[:] = False
    smallest = sizes[places].min()
    for turn in (False, True):
        for index in np.flatnonzero(~last | turn):
            if budget < smallest:
                break
            place = places[index]
            if last[index] != turn or sizes[place] > budget:
                continue
            used[place] = True
            budget -= sizes[place]
            if not turn:
                around = inside[:, inside[index]].all(axis=1) & (lacks | accepted[place]).all(axis=1)
                last[index + 1 :] |= around[index + 1 :]
    return used
