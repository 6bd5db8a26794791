"""report.html: made from the summaries and the manifest in a results folder, and from nothing else."""

import json
from pathlib import Path
from typing import Any

from ..files import replacing
from ..reporting import Section, report_page
from .base import Summary
from .claims import judge
from .folder import ResultsFolder
from .registry import EXPERIMENTS

TITLE = "Causal bandits without prior knowledge: what the paper claims and what we measured"
INTRODUCTION = (
    "The experiments of de Kroon, Belgrave and Mooij, Causal Bandits without prior knowledge using separating sets, "
    "run anew. Methods play the same worlds with the same random numbers, so they are compared in pairs. What each was "
    "told about the world stands next to it; methods that were told more are there to show what knowledge is worth."
)


def read_summaries(root: Path) -> list[Summary]:
    """The summaries in a results folder: the paper's figures in its order, then others by name."""
    order = {name: place for place, name in enumerate(EXPERIMENTS)}
    found = [json.loads(path.read_text()) for path in sorted(root.glob("*/summary.json"))]
    return sorted(found, key=lambda summary: order.get(summary["figure"], len(order)))


def write_report(root: ResultsFolder, title: str = TITLE, introduction: str = INTRODUCTION) -> Path:
    """Write report.html over everything in the folder."""
    made = root.figures
    sections = [
        Section(summary, judge(summary), {**made.get(name, {}), "again": again(name, made.get(name, {}))})
        for summary in read_summaries(root.path)
        for name in [summary["figure"]]
    ]
    with replacing(root.path / "report.html") as path:
        path.write_text(report_page(title, introduction, sections))
    return root.path / "report.html"


def again(figure: str, about: dict[str, Any]) -> str:
    """The command that makes a figure again."""
    options = about.get("options")
    if figure not in EXPERIMENTS or not options:
        return ""
    words = ["causal-bandits reproduce", figure, "--scale", options["scale"], "--seed", str(options["seed"])]
    if options.get("runs"):
        words += ["--runs", str(options["runs"])]
    if options.get("weighted"):
        words.append("--weighted")
    return " ".join(words)
