"""The pages: every block of Python runs and prints what its page says, links lead somewhere, no name is missing."""

import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import causal_bandits as cb
from causal_bandits.core.policies import POLICIES
from causal_bandits.product.service import ServiceSettings
from causal_bandits.product.service.app import create_app

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
NOTEBOOKS = sorted(DOCS.rglob("*.ipynb"))
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n+^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
MEASURED = re.compile(r"(-?\d+\.\d+) ± (\d+\.\d+)")
NUMBER = re.compile(r"\d+\.\d+")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


EXTENSIONS = DOCS / "how-to/extend.md"
FILES = [block[1] for block in BLOCK.finditer(EXTENSIONS.read_text())]


def test_an_extension_is_one_file(tmp_path: Path) -> None:
    """In a process of their own, since they register policies and discoveries."""
    command = "import runpy, sys; [runpy.run_path(path, run_name='__main__') for path in sys.argv[1:]]"
    for number, source in enumerate(FILES):
        assert len(source.splitlines()) <= 40
        (tmp_path / f"mine_{number}.py").write_text(source)
    paths = [f"mine_{number}.py" for number in range(len(FILES))]
    ended = subprocess.run(
        [sys.executable, "-c", command, *paths], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert len(paths) > 4
    assert ended.returncode == 0, ended.stderr


def _has_code(page: Path) -> bool:
    return "```python" in page.read_text() and page != EXTENSIONS


LONG = DOCS / "how-to/simulate.md"


@pytest.mark.parametrize("page", [page for page in PAGES if _has_code(page) and page != LONG], ids=name_of)
def test_code_blocks_run(
    page: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Top to bottom, each page by itself; a block of text right after a block of code is what that code prints."""
    monkeypatch.chdir(tmp_path)
    run_blocks(page.read_text(), capsys)


@pytest.mark.parametrize("runs", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_code_blocks_of_long_simulations_run(
    runs: int, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of fewer runs the words are compared alone."""
    monkeypatch.chdir(tmp_path)
    page = LONG.read_text()
    assert "runs=50" in page
    few = page.replace("runs=50", f"runs={runs}").replace("(50 runs", f"({runs} runs")
    run_blocks(few, capsys, measured=runs == 50)


def run_blocks(page: str, capsys: pytest.CaptureFixture[str], *, measured: bool = True) -> None:
    names: dict[str, object] = {"__name__": "page"}
    for block in BLOCK.finditer(page):
        code, text = block.groups()
        exec(compile(code, "page", "exec"), names)
        printed = capsys.readouterr().out
        assert "Error" not in printed
        if text is not None:
            assert_printed(printed, text, measured=measured)


def assert_printed(printed: str, text: str, *, measured: bool = True) -> None:
    """What was printed is the text of the page.

    A figure with its standard error (1.25 ± 0.10) comes from random numbers: it may differ by 4 standard errors, and
    the standard error by a factor of 2. The last digit of any other number may differ by one, since CPUs round
    differently.
    """
    for now, then in zip(MEASURED.findall(printed), MEASURED.findall(text), strict=True):
        (mean, error), (known, known_error) = map(float, now), map(float, then)
        if measured:
            assert known_error / 2 <= error <= 2 * known_error, (printed, text)
            assert abs(mean - known) <= 4 * known_error, (printed, text)
    printed, text = MEASURED.sub("#", printed), MEASURED.sub("#", text)
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", text)
    for now, then in zip(NUMBER.findall(printed), NUMBER.findall(text), strict=True):
        assert float(now) == pytest.approx(float(then), abs=1.01 * 10.0 ** -len(then.partition(".")[2]))


def test_figures_are_compared_by_their_standard_errors() -> None:
    page = "ts Simulation(50 runs, regret 50.58 ± 2.40 at t = 2000), 0.84"
    assert_printed("ts Simulation(50 runs, regret 41.99 ± 1.30 at t = 2000), 0.85", page)
    for printed in (
        "ts Simulation(50 runs, regret 40.58 ± 2.40 at t = 2000), 0.84",
        "ts Simulation(50 runs, regret 50.58 ± 4.90 at t = 2000), 0.84",
        "ts Simulation(60 runs, regret 50.58 ± 2.40 at t = 2000), 0.84",
        "ts Simulation(50 runs, regret 50.58 ± 2.40 at t = 2000), 0.86",
        "ts Simulation(50 runs, at t = 2000), 0.84",
    ):
        with pytest.raises((AssertionError, ValueError)):
            assert_printed(printed, page)


@pytest.mark.parametrize("page", sorted({*PAGES, *ROOT.glob("*.md")}), ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    notebooks = {str(each.relative_to(DOCS).with_suffix(".md")) for each in NOTEBOOKS}
    assert {str(page.relative_to(DOCS)) for page in PAGES if DOCS in page.parents} | notebooks == listed


def test_every_public_name_is_in_the_reference() -> None:
    pages = "\n".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    documented = re.findall(r"^::: causal_bandits\.([\w.]+)$", pages, re.MULTILINE)
    packages = {
        name for name in cb.__all__ if isinstance(getattr(cb, name), ModuleType)
    }  # their objects are on the pages
    assert set(cb.__all__) - packages - set(documented) == set()
    names = {name.rpartition(".")[2] for name in documented}
    assert {policy.__name__ for policy in POLICIES.values()} - names == set()
    assert len(documented) == len(set(documented))


def test_every_route_and_command_is_in_the_reference() -> None:
    tables = runpy.run_path(str(DOCS / "_extensions/interfaces.py"))["on_page_markdown"]
    http, cli = (tables((DOCS / f"reference/{page}.md").read_text()) for page in ("http", "cli"))
    with tempfile.TemporaryDirectory() as folder:
        application: Any = create_app(ServiceSettings(f"sqlite:///{folder}/studies.db"))
    served = {f"{method} {route.path}" for route in application.routes for method in route.methods - {"HEAD"}}
    assert [route for route in sorted(served) if f"`{route}`" not in http] == []
    guide = (DOCS / "how-to/service.md").read_text()
    routes = [f"{method.upper()} {path}" for path, item in application.openapi()["paths"].items() for method in item]
    assert [route for route in routes if f"`{route.replace('/api/v1/studies/{name}/', '/')}`" not in guide] == []
    for command in ("study ask", "study arms retire", "storage backup", "serve", "analyze", "reproduce", "plan"):
        assert f"| `causal-bandits {command}` |" in cli


class _Loaded(HTMLParser):
    """What a browser fetches by itself when it opens a page; a link is not among it."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and (name in ("src", "srcset") or (name == "href" and tag == "link")):
                self.addresses.append(value)


def test_the_site_loads_nothing_from_another_host(tmp_path: Path) -> None:
    # Not --quiet: it hides warnings from --strict, too.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > len(PAGES) - 2
    for page in pages:
        loaded = _Loaded()
        loaded.feed(page.read_text())
        assert [address for address in loaded.addresses if re.match(r"(\w+:)?//", address)] == []
        if page.name == "404.html":  # a server shows it at any address, so it can load nothing of the site
            assert loaded.addresses == []


def test_the_results_pages_are_what_their_files_say() -> None:
    script = runpy.run_path(str(ROOT / "scripts/make_results.py"))
    assert script["page"]() == (DOCS / "results/paper.md").read_text()
    report = runpy.run_path(str(ROOT / "scripts/make_report.py"))
    assert report["page"]() == (DOCS / "results/technical-report.md").read_text()
    field = (DOCS / "results/field-tables.md").read_text()
    assert runpy.run_path(str(ROOT / "scripts/make_field.py"))["page"](field) == field


def test_the_numbers_beyond_the_paper_are_those_of_their_file() -> None:
    series = json.loads((DOCS / "results/beyond.json").read_text())["series"]
    page = " ".join((DOCS / "results/measured.md").read_text().split())
    for key in [name for name in series if not name.startswith("ts")]:
        assert f"{series[key]['ratio'][-1]:.3f} ± {series[key]['ratio_se'][-1]:.3f}" in page, key


def test_the_numbers_of_late_rewards_are_those_of_their_file() -> None:
    series = json.loads((DOCS / "results/late.json").read_text())["series"]
    page = (DOCS / "results/rewards.md").read_text()
    for key in [name for name in series if not name.startswith("ts")]:
        assert f"{series[key]['ratio'][-1]:.2f} ± {series[key]['ratio_se'][-1]:.2f}" in page, key


def test_the_numbers_of_practice_are_those_of_their_file() -> None:
    series = json.loads((DOCS / "results/practice.json").read_text())["series"]
    for page in (DOCS / "results/index.md", DOCS / "results/measured.md"):
        text = " ".join(page.read_text().split())
        for key in [name for name in series if not name.startswith("ts")]:
            error = f"{series[key]['ratio_se'][-1]:.3f}".removeprefix("0")
            assert f"{series[key]['ratio'][-1]:.3f} ± {error}" in text, (page.name, key)
    readme = " ".join((ROOT / "README.md").read_text().split())
    ours = [series[name]["ratio"][-1] for name in series if name.startswith("safe-practice")]
    emails = series["safe-hillstrom"]
    assert f"{emails['ratio'][-1]:.2f} ± {emails['ratio_se'][-1]:.2f}".replace("± 0", "± ") in readme
    compared = " ".join((DOCS / "how-to/compare.md").read_text().split())
    paper = [series[name]["ratio"][-1] for name in series if name.startswith("causal-ts-direct-practice")]
    assert f"{min(ours):.2f} to {max(ours):.2f}" in compared
    assert f"{min(paper):.2f} to {max(paper):.2f}" in compared
    for world in ("hillstrom", "loans"):
        ratios = [series[f"{policy}-{world}"]["ratio"][-1] for policy in ("safe", "causal-ts-direct")]
        assert f"{ratios[0]:.2f} and {ratios[1]:.2f}" in compared


def test_no_page_says_what_cannot_be_done() -> None:
    """The package is on no registry, and every page stands once in the navigation."""
    texts = {name_of(page): page.read_text() for page in (*PAGES, *ROOT.glob("*.md"))}
    assert [name for name, text in texts.items() if re.search(r"pip install \S*causal-bandits", text)] == []
    listed = re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert "src/causal_bandits/_version.py" in texts["CONTRIBUTING.md"]
