"""Hypothesis strategies for counts and chances."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@st.composite
def count_tables(draw: st.DrawFn) -> Counts:
    """N(I = arm, S = s, Y = y), with empty cells and arms without rows."""
    shape = (draw(st.integers(1, 4)), draw(st.integers(1, 4)), 2)
    return draw(hnp.arrays(np.int64, shape, elements=st.integers(0, 9)))


def groups_of(arms: int) -> st.SearchStrategy[Counts]:
    """Which arms may share, numbered from 0 without gaps."""
    numbers = hnp.arrays(np.int64, arms, elements=st.integers(0, arms - 1))
    return numbers.map(lambda group: np.unique(group, return_inverse=True)[1].astype(np.int64))


def shares(arms: int, cells: int) -> st.SearchStrategy[Floats]:
    """P(S | arm) for several arms; some values of S may be impossible."""
    weights = hnp.arrays(np.int64, (arms, cells), elements=st.integers(0, 5))
    return weights.filter(lambda w: bool(w.any(axis=1).all())).map(lambda w: w / w.sum(axis=1, keepdims=True))


def rewards(cells: int) -> st.SearchStrategy[Floats]:
    """E[Y | S], sometimes 0 or 1."""
    return hnp.arrays(np.float64, cells, elements=st.integers(0, 8).map(lambda eighths: eighths / 8))
