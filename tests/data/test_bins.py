"""Real-valued mediators: declared and learned cut points."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causal_bandits import History, Problem, bins
from causal_bandits.errors import ObservationError


def problem_with(**observed: Any) -> Problem:
    return Problem("Y", observed, {"I": 2})


def told(problem: Problem, values: list[float], name: str = "A") -> History:
    history = History(problem)
    history.extend(history.encode_many({name: values, "Y": [0] * len(values)}, arm={}))
    return history


def test_declared_cuts_put_a_value_at_a_cut_above_it() -> None:
    history = told(problem_with(A=bins([0.5, 1.5])), [-7, math.nextafter(0.5, 0), 0.5, 1, 1.5, 1e99])
    assert history.rows.codes[:, 0].tolist() == [0, 0, 1, 1, 2, 2]
    assert history.cuts == {"A": [0.5, 1.5]}


def test_learnt_cuts_are_quantiles_of_the_first_rows_and_stay() -> None:
    problem = problem_with(B=2, A=bins(quantiles=4, after=5))
    history = History(problem)
    changes = []
    for value in [10.0, 20.0, 30.0, 40.0, 50.0, 1000.0, 20.0]:
        changes.append(history.extend(history.encode({}, {"A": value, "B": 1, "Y": 0})))
        if len(changes) < 5:
            assert history.cuts == {"A": None}
            assert not history.rows.codes[:, 1].any()  # a constant until then
    assert changes == [False] * 4 + [True] + [False] * 2
    assert history.cuts == {"A": [20.0, 30.0, 40.0]}
    assert history.rows.codes[:, 1].tolist() == [0, 1, 2, 3, 3, 3, 1]
    assert history.rows.codes[:, 0].tolist() == [1] * 7


@given(
    values=st.lists(st.integers(-3, 3).map(float) | st.floats(-5, 5), min_size=1, max_size=30),
    count=st.integers(2, 4),
    after=st.integers(4, 20),
    split=st.integers(0, 30),
)
def test_learnt_codes_do_not_depend_on_how_rows_arrive(values: list[float], count: int, after: int, split: int) -> None:
    problem = problem_with(A=bins(quantiles=count, after=after))
    at_once, parts, single = told(problem, values), told(problem, values[:split]), History(problem)
    parts.extend(parts.encode_many({"A": values[split:], "Y": [0] * len(values[split:])}, arm={}))
    for value in values:
        single.extend(single.encode({}, {"A": value, "Y": 0}))
    expected = [0] * len(values)
    if len(values) >= after:
        cuts = sorted({float(np.quantile(values[:after], k / count)) for k in range(1, count)})
        expected = [sum(value >= cut for cut in cuts) for value in values]
    for history in (at_once, parts, single):
        assert history.rows.codes[:, 0].tolist() == expected
        assert history.rows.raw[:, 0].tolist() == values


def test_ties_make_fewer_cuts_but_no_new_levels() -> None:
    history = told(problem_with(A=bins(quantiles=4, after=8)), [1.0] * 7 + [2.0, 0.0, 1.0])
    assert history.cuts == {"A": [1.0]}
    assert history.rows.codes[:, 0].tolist() == [1] * 8 + [0, 1]
    assert history.tables().table(1).shape == (2, 4, 2)


def test_two_variables_learn_at_their_own_times() -> None:
    problem = problem_with(A=bins(quantiles=2, after=2), B=bins(quantiles=2, after=3))
    history = History(problem)
    learnt = [history.extend(history.encode({}, {"A": float(n), "B": float(-n), "Y": 0})) for n in range(4)]
    assert learnt == [False, True, True, False]
    assert history.rows.codes.tolist() == [[0, 1], [1, 1], [1, 0], [1, 0]]


def test_tables_count_the_codes() -> None:
    history = told(problem_with(A=bins([0.0])), [-1, 1, 2])
    assert history.tables().table(1)[0].tolist() == [[1, 0], [2, 0]]


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, None, "tall", [1.0]])
def test_values_that_are_not_finite_numbers(value: Any) -> None:
    problem = problem_with(A=bins([0.0]))
    with pytest.raises(ObservationError, match=r"^'A' is .*; expected (a finite number|one value)"):
        History(problem).encode({}, {"A": value, "Y": 0})
    with pytest.raises(ObservationError, match=r"^row 2: 'A' is .*; expected (a finite number|one value)"):
        History(problem).encode_many([{"A": 0.5, "Y": 0}, {"A": value, "Y": 0}], arm={})
