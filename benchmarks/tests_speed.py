"""How fast independence is tested, and that the number of rows does not matter."""

from collections.abc import Callable

import numpy as np

from causal_bandits.core.data import TableLayout, count_rows
from causal_bandits.core.independence import ArmTests, g_squared_of_arms

from .timing import interleaved
from .worlds import world

CALLS = 100


def _tester(rows: int) -> Callable[[], Callable[[], int]]:
    """Each of 3 levers given each of 8 subsets and the other two, after uniform play."""
    problem = world().problem
    rng = np.random.default_rng(1)
    tables = TableLayout.of(problem).empty()
    for arm, pulls in zip(problem.arms, rng.multinomial(rows, np.full(27, 1 / 27)), strict=True):
        drawn = world().sample(arm, int(pulls), rng)
        count_rows(tables, drawn.arms, drawn.codes, drawn.rewards)
    names = problem.intervention_names
    tests = ArmTests.of(problem, [((name,), [other for other in names if other != name]) for name in names])
    each = len(names) * len(tables.cells)

    def work() -> int:
        for _ in range(CALLS):
            g_squared_of_arms(tables, tests)
        return CALLS * each

    return lambda: work


def testing() -> dict[str, float]:
    """Tests per millisecond with a hundred, a thousand and a hundred thousand rows."""
    seconds = interleaved({"1e2": _tester(100), "1e3": _tester(1000), "1e5": _tester(100_000)}, turns=9)
    return {
        "g2_tests_per_ms": 1e-3 / seconds["1e3"],
        "g2_tests_1e2_rows_per_ms": 1e-3 / seconds["1e2"],
        "g2_tests_1e5_rows_per_ms": 1e-3 / seconds["1e5"],
    }
