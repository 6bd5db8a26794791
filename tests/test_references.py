"""States enter compiled code as one pointer."""

import sys
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core.errors import TypingError

from causal_bandits.core.compiled import Floats, by_reference, compiled, interpreted


@by_reference
class Inner(NamedTuple):
    values: Floats
    scale: float


@by_reference
class Outer(NamedTuple):
    inner: Inner
    label: int
    grid: Floats
    flag: bool


@compiled
def scaled(inner: Inner, place: int) -> float:
    return float(inner.values[place] * inner.scale)


@compiled
def total(state: Outer) -> float:
    """Read every field, pass a part on, write into an array."""
    found = 0.0
    for place in range(len(state.inner.values)):
        found += scaled(state.inner, place)
    state.grid[0, state.label] = found
    return found if state.flag else -found


@compiled
def refusing(state: Outer) -> float:
    if state.flag:
        raise ValueError("refused")
    return state.inner.scale


@compiled
def returned(state: Outer) -> Inner:
    return state.inner


def example(flag: bool = True) -> Outer:
    return Outer(Inner(np.array([1.0, 2.5, 4.0]), 3.0), 1, np.zeros((2, 2)), flag)


@pytest.mark.parametrize("flag", [True, False])
def test_compiled_and_interpreted_read_and_write_the_same(flag: bool) -> None:
    ours, slow = example(flag), example(flag)
    assert total(ours) == interpreted(total)(slow) == (22.5 if flag else -22.5)
    np.testing.assert_array_equal(ours.grid, slow.grid)


def test_arrays_are_given_back_when_the_call_ends_and_when_it_raises() -> None:
    state = example()
    arrays = (state.inner.values, state.grid)
    total(state)
    before = [sys.getrefcount(each) for each in arrays]
    for _ in range(50):
        total(state)
        with pytest.raises(ValueError, match="refused"):
            refusing(state)
    assert [sys.getrefcount(each) for each in arrays] == before


def test_arrays_of_another_type_are_another_signature() -> None:
    single = example()._replace(inner=Inner(np.array([1, 2], dtype=np.int64), 2.0))
    assert total(single) == 6.0


def test_a_field_that_is_not_there_is_refused() -> None:
    @compiled
    def wrong(state: Any) -> float:
        return float(state.nothing)

    with pytest.raises(TypingError, match="nothing"):
        wrong(example())


def test_a_state_does_not_come_back_to_python() -> None:
    with pytest.raises(Exception, match="cannot convert native Reference"):
        returned(example())
