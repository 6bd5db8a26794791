"""Which accepted sets of a large problem are used."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from causal_bandits import Problem
from causal_bandits.compiled import Bools
from causal_bandits.data import ScreenedLayout, empty_margins
from causal_bandits.discovery.screening import bytes_in_use, used_sets

LAYOUT = ScreenedLayout(Problem("Y", dict.fromkeys("ABCD", 2), {"I": 2, "J": 2, "K": 3}), 3)
MARGINS, ARMS = empty_margins(LAYOUT), len(LAYOUT.problem.arms)
SETS = [frozenset(members) for members in LAYOUT.members]
SIZES = bytes_in_use(MARGINS.cells, ARMS)


@st.composite
def verdicts(draw: st.DrawFn) -> Bools:
    """For each set and lever; few are accepted, or many."""
    chances = draw(arrays.arrays(np.float64, (LAYOUT.count, 3), elements=st.floats(0, 1)))
    return chances < draw(st.floats(0, 1))


budgets = st.integers(0, int(SIZES.sum()))


def minimal(accepted: Bools) -> Bools:
    """The sets that share something which no set within them shares."""
    found = np.zeros(len(SETS), dtype=np.bool_)
    for place, members in enumerate(SETS):
        within = [other for other, smaller in enumerate(SETS) if smaller < members]
        found[place] = np.any(accepted[place] & ~accepted[within].any(axis=0))
    return found


@given(verdicts())
def test_all_are_used_where_there_is_room(accepted: Bools) -> None:
    np.testing.assert_array_equal(used_sets(MARGINS, ARMS, accepted), accepted.any(axis=1))


@given(verdicts(), budgets)
def test_the_budget_is_kept(accepted: Bools, budget: int) -> None:
    used = used_sets(MARGINS, ARMS, accepted, budget)
    assert SIZES[used].sum() <= budget
    left = budget - SIZES[used].sum()
    assert np.all(SIZES[accepted.any(axis=1) & ~used] > left)  # no room is left for those not used
    assert not np.any(used & ~accepted.any(axis=1))


@given(verdicts(), budgets)
def test_no_minimal_set_is_lost_while_there_is_room(accepted: Bools, budget: int) -> None:
    """A set that is not minimal may come first when no single smaller one shares all that it does."""
    used = used_sets(MARGINS, ARMS, accepted, budget)
    first = np.array(
        [
            any(yes) and not any(SETS[o] < SETS[p] and np.all(accepted[o] | ~yes) for o in range(len(SETS)))
            for p, yes in enumerate(accepted)
        ]
    )
    assert np.all(first[minimal(accepted)])
    if SIZES[first].sum() <= budget:
        assert np.all(used[first])
