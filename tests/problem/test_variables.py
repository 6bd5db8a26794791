import math
from typing import Any

import numpy as np
import pytest

from causal_bandits import bins
from causal_bandits.core.problem.variables import declare
from causal_bandits.errors import OptionError, ProblemError, UnknownLevelError


@pytest.mark.parametrize(
    ("given", "levels"),
    [
        (3, (0, 1, 2)),
        (np.int64(2), (0, 1)),
        (["low", "high"], ("low", "high")),
        (np.array([0.5, 1.5]), (0.5, 1.5)),
        ([True, False], (True, False)),
        (bins([0.0, 1.0]), (0, 1, 2)),
        (bins(quantiles=4), (0, 1, 2, 3)),
    ],
)
def test_levels(given: Any, levels: tuple[object, ...]) -> None:
    variable = declare("A", given)
    assert variable.levels == levels
    assert variable.size == len(levels)
    assert [variable.code(level) for level in levels] == list(range(len(levels)))


def test_a_level_is_known_by_equal_values_and_by_its_text() -> None:
    variable = declare("A", ["idle", 0, 1])
    assert [variable.code(value) for value in ("idle", 1, 1.0, True, np.int64(1), "1")] == [0, 2, 2, 2, 2, 2]


@pytest.mark.parametrize("level", ["purple", 2, None, math.nan, [0], "01"])
def test_unknown_level_is_named_with_the_known_ones(level: object) -> None:
    with pytest.raises(UnknownLevelError) as caught:
        declare("A", ["idle", 0, 1]).code(level)
    assert str(caught.value) == f"{level!r} is not a level of 'A'; expected one of 'idle', 0, 1"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (1, r"'A' has 1 level\(s\); a variable needs at least 2"),
        (0, r"'A' has 0 level\(s\)"),
        (-3, r"'A' has 0 level\(s\)"),
        (["only"], r"'A' has 1 level\(s\)"),
        (["x", "y", "x"], r"'A' names a level twice in \['x', 'y', 'x'\]"),
        ([1, True], "'A' names a level twice"),
        ([1, "1"], "'A' names a level twice in .*also as text"),
        ([0, math.nan], "level nan of 'A' is not"),
        ([0, None], "level None of 'A' is not"),
        ([0, (1,)], r"level \(1,\) of 'A' is not"),
        ("ab", "levels of 'A' are 'ab'; give their number or a list"),
        ({"a", "b"}, "levels of 'A' are {'.', '.'}; give their number or a list"),
        (True, "levels of 'A' are True; give"),
        (2.0, "levels of 'A' are 2.0; give"),
    ],
)
def test_bad_levels(given: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        declare("A", given)


@pytest.mark.parametrize("name", ["", 3, None])
def test_bad_names(name: object) -> None:
    with pytest.raises(ProblemError, match=f"variable name {name!r} is not"):
        declare(name, 2)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((), {}, "either cut points or quantiles"),
        (([1.0],), {"quantiles": 2}, "either cut points or quantiles"),
        (([],), {}, r"bins\(\[\]\): cut points must be finite and increasing"),
        (([2.0, 1.0],), {}, r"bins\(\[2.0, 1.0\]\): cut points"),
        (([1.0, 1.0],), {}, r"bins\(\[1.0, 1.0\]\)"),
        (([math.nan],), {}, r"bins\(\[nan\]\)"),
        (([math.inf],), {}, r"bins\(\[inf\]\)"),
        ((), {"quantiles": 1}, "quantiles=1; expected an integer >= 2"),
        ((), {"quantiles": 8, "after": 7}, "after=7; expected an integer >= 8"),
    ],
)
def test_bad_bins(arguments: tuple[Any, ...], options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        bins(*arguments, **options)
