"""Drawings inside pages: labels tell arms apart and have room."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causal_bandits.reporting.inline_svg import LETTER, LONGEST_LABEL, intervals, lines, shortened

LONG = [f"do(banner=a very long description of a banner, discount={n}0 percent off)" for n in range(1, 4)]


def labels(drawing: str) -> list[str]:
    return [unescape(text) for text in re.findall(r'<text x="[^>]*>([^<]*)', drawing)]


def first_bar(drawing: str) -> float:
    return min(float(x) for x in re.findall(r'x1="([\d.]+)"', drawing))


@pytest.mark.parametrize("names", [["do()", "do(a=1)"], ["do(banner=red, discount=10%)"], LONG])
def test_labels_differ_and_end_before_the_bars(names: list[str]) -> None:
    drawing = intervals(names, [(0.5, 0.1, 0.9)] * len(names), [None] * len(names))
    shown = labels(drawing)
    assert len(set(shown)) == len(names)
    assert max(map(len, shown)) <= LONGEST_LABEL
    assert first_bar(drawing) > 4 + LETTER * max(map(len, shown))
    for name, label in zip(names, shown, strict=True):
        assert (f"<title>{name}</title>" in drawing) == ("…" in label) == (name != label)


def test_a_long_name_in_a_legend_is_cut_and_whole_under_the_pointer() -> None:
    drawing = lines([1, 2], [("x" * 300, [0, 1])], low=0, high=1, ends=("0", "1"))
    assert labels(drawing)[-1].count("x") < 100
    assert f"<title>{'x' * 300}</title>" in drawing


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
