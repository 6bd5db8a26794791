"""Tables on a terminal: what a user wrote is printed as it is, and names are whole at any usual width."""

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from causal_bandits.reporting.sheets import Sheet, arms_sheet, sets_sheet
from causal_bandits.reporting.terminal import TerminalTable, fitted


def on_terminal(sheet: Sheet, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(TerminalTable(sheet))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def arm(name: str, through: list[str]) -> Any:
    numbers = {"mean": -0.352, "low": -0.31, "high": 0.396}
    return {
        "lever_label": name,
        "segment": {},
        "status": "active",
        "is_control": False,
        "through": through,
        "through_share": 0.5,
        **numbers,
        **{f"own_{key}": value for key, value in numbers.items()},
        "own_rows": 12345,
        "borrowed_rows": 9,
        "pending_rows": 0,
    }


@pytest.mark.parametrize("width", [80, 120])
def test_names_of_arms_are_not_cut(width: int) -> None:
    names = [f"do(banner=blue-{n}, discount={n}0%)" for n in range(3)]
    shown = on_terminal(arms_sheet([arm(name, ["clicked", "cart"]) for name in names]), width)
    assert "…" not in shown
    for word in (*" ".join(names).split(), "borrowed", "12,345", "0.396)", "{clicked,"):
        assert word in shown
    assert max(map(len, shown.splitlines())) <= width


@pytest.mark.parametrize("width", [40, 80])
def test_a_word_that_is_wider_than_its_column_is_folded(width: int) -> None:
    shown = on_terminal(arms_sheet([arm("do(L=" + "abcdefgh" * 12 + ")", ["m"])]), width)
    first = "".join(line[1:].split(" ")[0] for line in shown.splitlines()[5:])
    assert "do(L=" + "abcdefgh" * 12 + ")" in first


def test_what_looks_like_markup_is_printed_as_it_is() -> None:
    odd = "do(L=[low], [/]=:smile:, [bold]x[/]=\\\\)"
    assert odd in on_terminal(arms_sheet([arm(odd, ["[bold]cart[/]"])]), 200)
    assert "{[bold]cart[/]}" in on_terminal(arms_sheet([arm(odd, ["[bold]cart[/]"])]), 200)


@pytest.mark.parametrize(
    ("rows", "accepted", "word"), [(0, False, "not tested yet"), (9, False, "rejected"), (0, True, "accepted")]
)
def test_a_set_without_rows_is_not_rejected(rows: int, accepted: bool, word: str) -> None:
    evidence = {"rows": rows, "probability": None, "words": "tests"}
    found: Any = {"variables": ["cart"], "separated": [], "accepted": accepted, "evidence": evidence, "drift": None}
    assert word in on_terminal(sets_sheet([found]), 100)


widths = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=8)


@given(widths, st.integers(1, 200))
def test_columns_fit_and_none_is_wider_than_it_needs(sizes: list[tuple[int, int]], room: int) -> None:
    """Words are whole if all of them fit; everything is on one line if that fits."""
    whole, words = [max(each) for each in sizes], [min(each) for each in sizes]
    found = fitted(whole, words, room)
    assert all(wide <= most for wide, most in zip(found, whole, strict=True))
    if sum(words) <= room:
        assert sum(found) <= room
        assert all(wide >= least for wide, least in zip(found, words, strict=True))
    if sum(whole) <= room:
        assert found == whole
