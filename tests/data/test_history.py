import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causal_bandits import History, Problem
from causal_bandits.core.data import Rows, TableLayout
from causal_bandits.errors import (
    CausalBanditsError,
    ObservationError,
    UnknownArmError,
    UnknownLevelError,
    UnknownVariableError,
)
from tests.problem.strategies import problems

PROBLEM = Problem("Y", {"A": ["low", "high"], "B": 3}, {"I_A": ["idle", 0, 1], "J": 2})
GOOD: list[dict[str, Any]] = [
    {"I_A": "idle", "J": 0, "A": "low", "B": 2, "Y": 0},
    {"I_A": 1, "J": 1, "A": "high", "B": 0, "Y": 1},
    {"I_A": 0, "J": 1, "A": "high", "B": 1, "Y": 1},
]


def columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def same(one: Rows, other: Rows) -> None:
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype


TABLES: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "list of dicts": list,
    "tuple of dicts": tuple,
    "dict of lists": columns,
    "dict of arrays": lambda rows: {name: np.array(column, dtype=object) for name, column in columns(rows).items()},
    "dict of series": lambda rows: {name: pd.Series(column) for name, column in columns(rows).items()},
    "pandas": lambda rows: pd.DataFrame(rows, index=range(7, 7 + len(rows))),
    "pandas, nullable": lambda rows: pd.DataFrame(rows).convert_dtypes(),
    "polars": lambda rows: pl.DataFrame(columns(rows), strict=False),  # makes text of 'idle', 0, 1
    "polars objects": lambda rows: pl.DataFrame(
        {name: pl.Series(name, column, dtype=pl.Object) for name, column in columns(rows).items()}
    ),
}


@pytest.mark.parametrize("kind", TABLES)
def test_every_kind_of_table_gives_the_same_rows(kind: str) -> None:
    rows = History(PROBLEM).encode_many(TABLES[kind](GOOD))
    assert rows.arms.tolist() == [PROBLEM.index({"I_A": row["I_A"], "J": row["J"]}) for row in GOOD]
    assert rows.codes.tolist() == [[0, 2], [1, 0], [1, 1]]
    assert rows.rewards.tolist() == [0, 1, 1]
    same(rows, History(PROBLEM).encode_many(GOOD))


def test_one_by_one_equals_many() -> None:
    one, many = History(PROBLEM), History(PROBLEM)
    for row in GOOD:
        arm = {name: row[name] for name in PROBLEM.intervention_names}
        one.extend(one.encode(arm, {name: row[name] for name in ("A", "B", "Y")}))
    many.extend(many.encode_many(GOOD))
    same(one.rows, many.rows)
    assert len(one) == len(many) == 3
    np.testing.assert_array_equal(one.tables().counts, many.tables().counts)


def test_other_columns_and_their_order_do_not_matter() -> None:
    frame = pd.DataFrame(GOOD)[["Y", "B", "A", "J", "I_A"]].assign(when="yesterday", note=None)
    same(History(PROBLEM).encode_many(frame), History(PROBLEM).encode_many(GOOD))


def test_observational_rows_belong_to_the_idle_arm() -> None:
    frame = pl.DataFrame(GOOD, strict=False).drop("I_A", "J")
    assert History(PROBLEM).encode_many(frame, arm={}).arms.tolist() == [0, 0, 0]
    assert History(PROBLEM).encode_many(frame, arm=PROBLEM.arm(A=1)).arms.tolist() == [4, 4, 4]


def test_no_rows_are_rows_too() -> None:
    history = History(PROBLEM)
    history.extend(history.encode_many(pl.DataFrame(GOOD, strict=False).clear()))
    assert len(history) == 0
    assert history.to_frame().columns == ["I_A", "J", "A", "B", "Y"]


def test_many_rows_make_room_for_themselves() -> None:
    history = History(PROBLEM)
    for _ in range(50):
        history.extend(history.encode_many(GOOD))
    assert len(history) == 150
    same(history.rows, history.encode_many(GOOD * 50))


@pytest.mark.parametrize("value", [1, 1.0, True, np.int8(1), np.True_, np.float32(1)])
def test_values_equal_to_a_level_are_that_level(value: Any) -> None:
    row = History(PROBLEM).encode({"J": value}, {"A": "low", "B": value, "Y": value})
    assert (row.arms[0], row.codes.tolist(), row.rewards[0]) == (1, [[0, 1]], 1)


BAD_VALUES: list[tuple[str, Any, type[CausalBanditsError], str]] = [
    ("A", "purple", UnknownLevelError, "'purple' is not a level of 'A'; expected one of 'low', 'high'"),
    ("B", 3, UnknownLevelError, "3 is not a level of 'B'"),
    ("B", -1, UnknownLevelError, "-1 is not a level of 'B'"),
    ("B", 0.5, UnknownLevelError, "0.5 is not a level of 'B'"),
    ("B", [0], ObservationError, r"'B' is \[0\], a list; expected one value"),
    ("A", None, ObservationError, "'A' is None; every observed variable needs a level"),
    ("B", math.nan, ObservationError, "'B' is nan"),
    ("B", np.float32("nan"), ObservationError, "'B' is .*nan"),
    ("B", pd.NA, ObservationError, "'B' is <NA>"),
    ("B", pd.NaT, ObservationError, "'B' is NaT"),
    ("Y", 2, ObservationError, "reward 'Y' is 2; expected 0 or 1"),
    ("Y", 0.5, ObservationError, "reward 'Y' is 0.5"),
    ("Y", "1", ObservationError, "reward 'Y' is '1'"),
    ("Y", [1], ObservationError, r"'Y' is \[1\], a list; expected one value"),
    ("Y", None, ObservationError, "reward 'Y' is None; every row needs 0 or 1"),
    ("Y", math.nan, ObservationError, "reward 'Y' is nan; every row"),
    ("Y", pd.NA, ObservationError, "reward 'Y' is <NA>; every row"),
]


@pytest.mark.parametrize(("name", "value", "error", "message"), BAD_VALUES)
def test_bad_value_in_one_row(name: str, value: Any, error: type[CausalBanditsError], message: str) -> None:
    with pytest.raises(error, match=message):
        History(PROBLEM).encode(PROBLEM.arm(), {"A": "low", "B": 0, "Y": 1, name: value})


@pytest.mark.parametrize(("name", "value", "error", "message"), BAD_VALUES)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_bad_value_in_a_table_names_the_row(
    name: str, value: Any, error: type[CausalBanditsError], message: str, place: int
) -> None:
    rows = [dict(row) for row in GOOD]
    rows[place][name] = value
    with pytest.raises(error, match=f"^row {place + 1}: .*{message}"):
        History(PROBLEM).encode_many(rows)


@pytest.mark.parametrize(
    ("lever", "value", "error", "message"),
    [
        ("J", 2, UnknownLevelError, "2 is not a level of 'J'"),
        ("J", None, UnknownLevelError, "None is not a level of 'J'"),
        ("I_A", pd.NA, UnknownLevelError, "<NA> is not a level of 'I_A'"),
        ("I_A", 0, UnknownArmError, "A=0, J=0 is not one of the 2 arms"),
    ],
)
def test_bad_arm_in_a_table_names_the_row(lever: str, value: Any, error: type[Exception], message: str) -> None:
    problem = Problem("Y", {"A": 2}, {"I_A": ["idle", 0, 1], "J": 2}, arms=[{}, {"J": 1}])
    rows = [{"I_A": "idle", "J": 0, "A": 1, "Y": 1}, {"I_A": "idle", "J": 0, "A": 1, "Y": 1, lever: value}]
    with pytest.raises(error, match=f"^row 2: {message}"):
        History(problem).encode_many(rows)


@pytest.mark.parametrize(
    ("observation", "error", "message"),
    [
        ({"A": "low", "B": 0}, ObservationError, "the row has no reward 'Y'"),
        ({"A": "low", "Y": 0}, ObservationError, "the row has no value for 'B'"),
        ({"A": "low", "B": 0, "Y": 0, "C": 1}, UnknownVariableError, "'C' is not an observed variable"),
        ([1, 2], ObservationError, r"\[1, 2\] is not a mapping"),
        (None, ObservationError, "None is not a mapping"),
    ],
)
def test_bad_observations(observation: Any, error: type[CausalBanditsError], message: str) -> None:
    with pytest.raises(error, match=message):
        History(PROBLEM).encode(PROBLEM.arm(), observation)


@pytest.mark.parametrize("missing", ["I_A", "J", "A", "B", "Y"])
@pytest.mark.parametrize("kind", ["pandas", "polars", "dict of lists", "list of dicts"])
def test_table_without_a_needed_column(missing: str, kind: str) -> None:
    rows = [{name: value for name, value in row.items() if name != missing} for row in GOOD]
    with pytest.raises(ObservationError, match=f"the table has no column '{missing}'; it has '"):
        History(PROBLEM).encode_many(TABLES[kind](rows))


def test_lever_columns_may_be_replaced_by_arm_and_the_message_says_so() -> None:
    with pytest.raises(ObservationError, match=r"or name the arm \(arm="):
        History(PROBLEM).encode_many({"A": ["low"], "B": [0], "Y": [1]})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (3, "a int is not a table"),
        ("rows.csv", "a str is not a table"),
        (np.zeros((2, 2)), "a ndarray is not a table"),
        (pl.DataFrame(GOOD, strict=False).lazy(), "a LazyFrame is not a table.*in memory"),
        ([1, 2], "a list of rows must hold mappings"),
        ({"A": ["low"], "B": [0, 1], "Y": [1]}, "the columns have different lengths: {'A': 1, 'B': 2, 'Y': 1}"),
        ({"A": "low", "B": 0, "Y": 1}, "column 'A' is 'low'; expected a list of values"),
        ({"B": 0, "A": "low", "Y": 1}, "column 'B' is 0; expected a list of values"),
        (pd.DataFrame([["low", 0, 0, 1]], columns=["A", "B", "B", "Y"]), "names a column twice: .*'B'"),
        (pd.DataFrame([["low", 0, 1]]), "the table has no column 'A'; it has 0, 1, 2"),
        ({}, "the table has no column 'A'; it has none"),
    ],
)
def test_what_is_not_a_table(table: Any, message: str) -> None:
    with pytest.raises(ObservationError, match=message):
        History(PROBLEM).encode_many(table, arm={})


def test_missing_key_in_one_dict_of_a_list_is_a_missing_value() -> None:
    with pytest.raises(ObservationError, match="row 2: reward 'Y' is None"):
        History(PROBLEM).encode_many([GOOD[0], {**{k: v for k, v in GOOD[1].items() if k != "Y"}}])


@given(place=st.integers(0, 9), column=st.sampled_from(["I_A", "J", "A", "B", "Y"]))
def test_a_bad_row_anywhere_changes_nothing(place: int, column: str) -> None:
    history = History(PROBLEM)
    history.extend(history.encode_many(GOOD))
    before = history.rows
    rows = [dict(GOOD[number % 3]) for number in range(10)]
    rows[place][column] = "nonsense"
    with pytest.raises(CausalBanditsError, match=f"row {place + 1}: .*'nonsense'"):
        history.encode_many(rows)
    same(history.rows, before)


def test_rows_are_copies() -> None:
    history = History(PROBLEM)
    history.extend(history.encode_many(GOOD))
    history.rows.codes[:] = 9
    assert history.rows.codes.max() == 2


@given(problems(), st.data())
def test_round_trip_through_a_frame(problem: Problem, data: st.DataObject) -> None:
    row = {v.name: st.floats(-9, 9) if v.bins else st.sampled_from(v.levels) for v in problem.observed}
    seen = data.draw(
        st.lists(
            st.tuples(st.sampled_from(problem.arms), st.fixed_dictionaries({**row, "Y": st.booleans()})), max_size=9
        )
    )
    history = History(problem)
    for arm, observation in seen:
        history.extend(history.encode(arm, observation))
    same(history.encode_many(history.to_frame()), history.rows)


def test_frame_holds_levels_and_values_not_codes() -> None:
    history = History(PROBLEM)
    history.extend(history.encode_many(GOOD))
    assert history.to_frame().rows() == [("idle", 0, "low", 2, 0), ("1", 1, "high", 0, 1), ("0", 1, "high", 1, 1)]


def test_tables_of_a_history_have_the_size_asked_for() -> None:
    history = History(PROBLEM)
    history.extend(history.encode_many(GOOD))
    assert len(history.tables(1).cells) == len(TableLayout.of(PROBLEM, 1).names) == 3
    assert history.tables().table(0).sum() == 3
