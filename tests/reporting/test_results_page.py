"""The report in a real browser, at the width of a desk and of a phone, light and dark."""

import json
import re
from html import escape
from pathlib import Path
from typing import Any

import pytest

from causal_bandits.reporting.results_page import Section, page_of, rendered
from causal_bandits.research.experiments import judge
from causal_bandits.research.experiments.figure_files import again, read_summaries, write_report
from causal_bandits.research.experiments.store import ResultsFolder
from tests.browser import look_at

RESULTS = Path(__file__).parents[2] / "docs/results"
SHOWN = ("fig2a", "fig4", "theorem", "example", "readings")
"""One of every kind; drawing takes long."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report over committed summaries of the paper-scale run: every kind of figure, long tables too."""
    root = ResultsFolder(tmp_path_factory.mktemp("report") / "results")
    manifest = json.loads((RESULTS / "manifest.json").read_text())
    for figure in reversed(SHOWN):
        (root.path / figure).mkdir()
        (root.path / figure / "summary.json").write_text((RESULTS / f"{figure}.json").read_text())
        root.record(figure, manifest["figures"][figure])
    return write_report(root, (), pytest.fail)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_the_report_in_a_browser(report: Path, tmp_path: Path, width: int, dark: bool) -> None:
    found, console = look_at(report, width, tmp_path / "look", dark=dark)
    assert console == []
    assert found["errors"] == []
    assert found["width"] == width
    assert found["scroll"] <= width, "the page scrolls sideways"
    assert len(found["images"]) == len(SHOWN)
    assert all(natural > 0 and shown > 0.7 * min(width, 1000) for natural, shown in found["images"])
    assert found["text"] > 5000
    shade = [int(part) for part in re.findall(r"\d+", found["dark"])[:3]]
    assert max(shade) < 60 if dark else min(shade) > 200


def test_the_report_needs_nothing_from_elsewhere(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    assert not re.findall(r"""(?:src|srcset|href)=['"](?!data:|#)""", text)
    assert "@import" not in text


def test_every_section_says_what_the_issue_of_a_figure_is(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    for summary in read_summaries(report.parent, pytest.fail):
        section = text[text.index(f'<section id="{summary["figure"]}"') :]
        section = section[: section.index("</section>")]
        assert summary["question"] in section
        assert "±" in section
        assert "holds" in section or "does not hold" in section or "inconclusive" in section
        assert "Again: <code>causal-bandits reproduce" in section
        assert "of one core" in section
        if "series" in summary:
            assert "<th>given</th>" in section
            assert all(f"<td>{escape(found['label'])}</td>" in section for found in summary["series"].values())


def test_the_order_is_the_papers(report: Path) -> None:
    found = [summary["figure"] for summary in read_summaries(report.parent, pytest.fail)]
    assert found == list(SHOWN)


def test_text_is_escaped() -> None:
    summary: Any = json.loads((RESULTS / "example.json").read_text())
    summary["title"] = summary["question"] = "<script>alert(1)</script>"
    page = page_of("<b>", "<i>", [rendered(Section(summary, judge(summary), {"again": "<u>"}))])
    for bad in ("<script>", "<i>", "<u>"):
        assert bad not in page


def test_the_command_that_makes_a_figure_again() -> None:
    options = {"scale": "quick", "seed": 3, "runs": None, "weighted": True}
    assert again("fig2a", {"options": options}) == "causal-bandits reproduce fig2a --scale quick --seed 3 --weighted"
    assert again("fig2a", {"options": {**options, "runs": 5, "weighted": False}}).endswith("--seed 3 --runs 5")
    assert again("mine", {"options": options}) == ""
    assert again("fig2a", {}) == ""
