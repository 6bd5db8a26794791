"""Tables and progress as people see them."""

import io
from typing import Any

import pytest
from rich.console import Console

from causal_bandits.reporting.html import sheet_table
from causal_bandits.reporting.sheets import Sheet, first_rows
from causal_bandits.reporting.summaries import Measured, Verdict
from causal_bandits.reporting.summary_sheets import claims_sheet, sheet_of
from causal_bandits.reporting.terminal import TerminalTable, progress


def line(**changes: Any) -> dict[str, Any]:
    plain = {
        "label": "TS",
        "method": "ts",
        "knows": "nothing",
        "panel": "",
        "baseline": "ts",
        "worlds": 4,
        "runs": 2,
        "t": [40, 100],
        "mean": [1234.5, 20000.4],
        "se": [0.25, 3.2],
        "ratio": [1.0, 1.0],
        "ratio_se": [0.0, 0.0],
    }
    return {**plain, **changes}


def summary(**series: dict[str, Any]) -> Any:
    return {"figure": "x", "title": "T", "measure": "regret", "horizon": 100, "series": series}


def test_a_table_of_curves() -> None:
    sheet = sheet_of(summary(ts=line(), other=line(label="Other", ratio=[0.5, 0.25], ratio_se=[0.1, 0.05])))
    assert sheet.columns == ("policy", "given", "runs", "t = 40", "relative", "t = 100", "relative")
    assert sheet.rows[0] == ("TS", "nothing", "4 x 2", "1,234.5 ± 0.2", "1", "20,000 ± 3", "1")
    assert sheet.rows[1][4] == "0.500 ± 0.100"
    assert sheet.caption.startswith("regret ± standard error over 4 worlds x 2 runs")


def test_tiers_get_a_column_where_known_and_a_single_run_has_no_error() -> None:
    told = line(tier=0, tier_label="rewards only", worlds=1, runs=1)
    sheet = sheet_of(summary(ts=told, own=line(label="Own", worlds=1, runs=1)))
    assert sheet.columns[:4] == ("policy", "tier", "given", "runs")
    assert sheet.rows[0] == ("TS", "0", "nothing", "1", "1,234.5", "1", "20,000", "1")
    assert sheet.rows[1][1] == ""
    assert sheet.caption.endswith("; tier 0: rewards only; a 95% quantile needs at least 20 runs, a 99% quantile 100")


def test_panels_get_a_column() -> None:
    sheet = sheet_of(summary(a=line(panel="small"), b=line(panel="large")))
    assert sheet.columns[0] == "worlds"
    assert [row[0] for row in sheet.rows] == ["small", "large"]


def text_of(sheet: Sheet, width: int = 140) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(TerminalTable(sheet))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 120])
def test_tiers_head_their_policies_and_no_name_is_cut(width: int) -> None:
    names = [f"a-policy-with-name-{n}" for n in range(4)]
    lines = {
        name: line(label=name, method=name, tier=n // 2, tier_label="what it is told", knows="the horizon of the game")
        for n, name in enumerate(names)
    }
    shown = text_of(sheet_of(summary(**lines) | {"by_tier": True}), width)
    order = ["0: what it is told", *names[:2], "1: what it is told", *names[2:]]
    assert sorted(order, key=shown.index) == order
    assert all(shown.count(text) == 1 for text in order)


def test_long_tables_are_cut_on_a_terminal_alone() -> None:
    sheet = Sheet("T", "", ("n" * 60,), tuple((f"[{n}]",) for n in range(100)), (0,))
    shown = text_of(first_rows(sheet, 12, rest="all are in summary.json"))
    assert "[11]" in shown
    assert "[12]" not in shown
    assert "the first 12 of 100; all are in summary.json" in shown
    assert "[99]" in sheet_table(sheet)


def test_a_claim_is_shown_with_the_difference_that_decided() -> None:
    measured = (Measured("b - a", 3.0, 1.0), Measured("c - a", -4.0, 1.0))
    shown = text_of(claims_sheet([Verdict("Fig. 0", "A is best.", "fails", measured)]))
    assert "does not hold" in shown
    assert "c - a = -4 ± 1 (-4.0 s.e.)" in shown
    assert "b - a" not in shown


def test_progress_elsewhere_is_a_line_now_and_then() -> None:
    console = Console(file=io.StringIO(), width=80)
    with progress(console) as tell:
        for done in range(201):
            tell("fig2a", done, 200)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[-1] == "fig2a: 200 of 200 done"


def test_progress_on_a_terminal_is_a_bar_per_figure_and_one_for_all() -> None:
    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    with progress(console) as tell:
        tell("fig2a", 0, 4)
        tell("fig2c", 0, 6)
        tell("fig2a", 4, 4)
        tell("fig2c", 3, 6)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "fig2a" in shown
    assert "7/10" in shown
    assert "left" in shown
