"""The pages: every block of Python runs and prints what its page says, links lead somewhere, no name is missing."""

import json
import os
import re
import runpy
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import causal_bandits as cb
from causal_bandits.policies import POLICIES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *(page for page in sorted(DOCS.rglob("*.md")) if DOCS / "results" not in page.parents)]
NOTEBOOKS = sorted(DOCS.rglob("*.ipynb"))
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n+^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d+\.\d+")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if "```python" in page.read_text()], ids=name_of)
def test_code_blocks_run(
    page: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Top to bottom, each page by itself; a block of text right after a block of code is what that code prints.

    The last digit of a number may differ by one, since CPUs round differently.
    """
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for block in BLOCK.finditer(page.read_text()):
        code, text = block.groups()
        exec(compile(code, page.name, "exec"), names)
        printed = capsys.readouterr().out
        assert "Error" not in printed
        if text is not None:
            assert NUMBER.sub("#", printed) == NUMBER.sub("#", text)
            for now, then in zip(NUMBER.findall(printed), NUMBER.findall(text), strict=True):
                assert float(now) == pytest.approx(float(then), abs=1.01 * 10.0 ** -len(then.partition(".")[2]))


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
    rooms = {"discovery", "graphs", "policies", "worlds"}  # the objects in them are on the pages
    assert set(cb.__all__) - rooms - set(documented) == set()
    assert {f"policies.{policy.__name__}" for policy in POLICIES.values()} - set(documented) <= {
        f"policies.{name}" for name in cb.__all__
    }
    assert len(documented) == len(set(documented))


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


def test_the_results_pages_are_what_their_files_say() -> None:
    script = runpy.run_path(str(ROOT / "scripts/make_results.py"))
    assert script["page"]() == (DOCS / "results.md").read_text()
    field = (DOCS / "field.md").read_text()
    assert runpy.run_path(str(ROOT / "scripts/make_field.py"))["page"](field) == field


def test_the_numbers_beyond_the_paper_are_those_of_their_file() -> None:
    series = json.loads((DOCS / "results/beyond.json").read_text())["series"]
    page = " ".join((DOCS / "measured.md").read_text().split())
    for key in [name for name in series if not name.startswith("ts")]:
        assert f"{series[key]['ratio'][-1]:.3f} ± {series[key]['ratio_se'][-1]:.3f}" in page, key


def test_the_numbers_of_practice_are_those_of_their_file() -> None:
    series = json.loads((DOCS / "results/practice.json").read_text())["series"]
    for page in (ROOT / "README.md", DOCS / "measured.md"):
        text = " ".join(page.read_text().split())
        for key in [name for name in series if not name.startswith("ts")]:
            error = f"{series[key]['ratio_se'][-1]:.3f}".removeprefix("0")
            assert f"{series[key]['ratio'][-1]:.3f} ± {error}" in text, (page.name, key)
    compared = " ".join((DOCS / "how-to/compare.md").read_text().split())
    mails = next(name for name in series if "causal" in name and "hillstrom" in name)
    funnels = [series[name]["ratio"][-1] for name in series if "causal" in name and name != mails]
    assert f"{min(funnels):.2f} to {max(funnels):.2f}" in compared
    assert f"{series[mails]['ratio'][-1]:.2f}" in compared


def test_no_page_says_what_cannot_be_done() -> None:
    """The package is on no registry, and every page stands once in the navigation."""
    texts = {name_of(page): page.read_text() for page in (*PAGES, *ROOT.glob("*.md"))}
    assert [name for name, text in texts.items() if re.search(r"pip install \S*causal-bandits", text)] == []
    listed = re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert "src/causal_bandits/_version.py" in texts["CONTRIBUTING.md"]
