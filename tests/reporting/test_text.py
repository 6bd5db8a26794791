"""Names in drawings have room."""

from hypothesis import given
from hypothesis import strategies as st

from causal_bandits.reporting.text import shortened


@given(st.text(max_size=60), st.integers(5, 60))
def test_shortened(name: str, most: int) -> None:
    found = shortened(name, most)
    assert len(found) <= most
    if found != name:
        start, _, end = found.rpartition("…")
        assert name.startswith(start)
        assert name.endswith(end)


def test_wide_letters_take_the_room_of_two() -> None:
    assert shortened("横幅" * 10, 44) == "横幅" * 10
    assert len(shortened("横幅" * 20, 44)) < 24
