from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from causal_bandits.core.policies.schedule import after


@given(st.integers(0, 10**12))
def test_due_when_rows_have_grown_by_a_quarter_neither_earlier_nor_later(rows: int) -> None:
    due = after(rows)
    assert due > rows
    assert due >= rows * Fraction(5, 4)
    assert due == rows + 1 or due - 1 < rows * Fraction(5, 4)


def test_discoveries_are_few() -> None:
    rows, runs = 0, 0
    while rows < 100_000:
        rows, runs = after(rows), runs + 1
    assert runs < 60  # about ln(100000) / ln(1.25) = 52
