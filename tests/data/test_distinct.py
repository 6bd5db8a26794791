"""Rows coded by distinct values are the rows coded one by one, and so are the errors."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import causal_bandits as cb
from causal_bandits.core.data import History
from causal_bandits.errors import CausalBanditsError

PROBLEM = cb.Problem(
    "y", {"m": [1, 2, "x"], "b": cb.bins([0.5]), "r": 2}, {"i": ["none", "red"], "j": 2}, arms=[{}, {"i": "red"}]
)
CELLS: dict[str, list[Any]] = {
    "m": [1, 2, None, "x", "bad"],
    "b": [0.25, 1, None, float("nan"), 1e200],
    "r": [0, 1, True, None],
    "i": ["none", "red", None, "pink"],
    "j": [0, 0, 1],
    "y": [0, 1, True, None, 2],
}
GOOD = {"m": 4, "b": 4, "r": 4, "i": 2, "j": 2, "y": 3}


def coded(frame: Any, *, missing: bool) -> Any:
    try:
        return [column.tolist() for column in History(PROBLEM).encode_many(frame, missing=missing)]
    except CausalBanditsError as error:
        return type(error), str(error)


@given(st.data(), st.booleans(), st.booleans())
def test_distinct_values_are_coded_alike(data: st.DataObject, good: bool, missing: bool) -> None:
    """The twin is the same table as a list of dicts, which is coded row by row."""
    cells = {name: st.sampled_from(values[: GOOD[name]] if good else values) for name, values in CELLS.items()}
    rows = data.draw(st.lists(st.fixed_dictionaries(cells), min_size=1, max_size=8))
    frame = pl.DataFrame(rows, strict=False, infer_schema_length=None)
    plain = frame.to_dicts()
    assert np.array_equal(repr(coded(frame, missing=missing)), repr(coded(plain, missing=missing)))


def test_a_frame_without_rows() -> None:
    frame = pl.DataFrame({name: [] for name in CELLS})
    assert coded(frame, missing=True) == coded({name: [] for name in CELLS}, missing=True)


@pytest.mark.parametrize("missing", [True, False])
def test_the_first_bad_row_is_named(missing: bool) -> None:
    frame = pl.DataFrame({"m": ["1", "bad", "worse"], "b": [0.0] * 3, "r": [0] * 3, "i": ["none"] * 3, "j": 0, "y": 1})
    assert "row 2: 'bad' is not a level of 'm'" in coded(frame, missing=missing)[1]
