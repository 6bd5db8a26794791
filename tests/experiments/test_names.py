"""Names are data: whatever the policies and worlds of a comparison are called, nothing is lost, obeyed or confused."""

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import causal_bandits as cb
from causal_bandits.errors import OptionError, OutputError
from causal_bandits.reporting.html import page
from causal_bandits.reporting.plots import draw_graphs
from causal_bandits.reporting.summary_plots import draw
from causal_bandits.research.experiments.base import Chunk
from causal_bandits.research.experiments.engines import Done
from causal_bandits.research.experiments.store import ChunkStore

WORLD = cb.worlds.example_world("S3")
HOSTILE = [
    "a.b",
    "../../up",
    "/etc/passwd",
    "..",
    "nul\0byte",
    "x" * 5000,
    "🙂 名前",
    r"$\frac$",
    r"\$ $x_1$ \undefined",
    "_hidden",
    "100% %s {0}",
    "two\nlines\r\n",
    "<script>alert(1)</script>",
    "[bold red]markup[/] :smile:",
    "\x1b[31mred\x07",
    "\u202eright to left",
    "trailing-",
    "-leading",
    "all",
    "",
    "con",
]


def compared(out: Path | None, **named: Any) -> cb.experiments.Comparison:
    options: dict[str, Any] = {"policies": {"TS": cb.ThompsonSampling}, "worlds": [WORLD]} | named
    return cb.compare(options["policies"], options["worlds"], horizon=12, runs=2, out=out)


@pytest.mark.slow
def test_worlds_of_any_name_are_kept_apart_and_found_again(tmp_path: Path) -> None:
    """Several in one comparison: each has chunks of its own, and the same call runs nothing again."""
    names = ["a.b", "../../up\0", "<script>[bold red]markup\x1b[31mred"]
    worlds = {name: [WORLD] for name in names}
    found = compared(tmp_path / "results", worlds=worlds)
    chunks = sorted((tmp_path / "results/comparison/chunks").iterdir())
    times = [path.stat().st_mtime_ns for path in chunks]
    assert len(chunks) == len(names)
    assert found.to_frame()["worlds"].to_list() == names
    assert found.runs["series"].n_unique() == len(names)
    again = compared(tmp_path / "results", worlds=worlds)
    assert [path.stat().st_mtime_ns for path in chunks] == times
    assert again.summary == found.summary
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results"]
    page = (tmp_path / "results/report.html").read_bytes()
    assert b"<script>" not in page
    assert not set(range(32)) - {10} & set(page)
    assert b"\\x1b[31mred" in page, "shown, not obeyed"
    assert "\x1b" not in repr(found)
    assert "[bold" in repr(found)


def test_every_name_has_a_file_of_its_own(tmp_path: Path) -> None:
    chunks = [Chunk(name, pl.DataFrame) for name in [*HOSTILE, "x" * 5001, "ALL", "A.B", "a\udcff"]]
    store = ChunkStore(tmp_path, "abc")
    for number, chunk in enumerate(chunks):
        store.put(chunk, Done(pl.DataFrame({"number": [number]}), 0.0))
    assert len({path.name.lower() for path in tmp_path.iterdir()}) == len(chunks)
    again = ChunkStore(tmp_path, "abc")
    found = [again.get(chunk, pytest.fail) for chunk in chunks]
    assert [done.rows["number"][0] for done in found if done is not None] == list(range(len(chunks)))


def test_policies_of_any_name_are_drawn_as_they_are(tmp_path: Path) -> None:
    policies = {name: cb.ThompsonSampling for name in HOSTILE if name}
    found = compared(tmp_path / "results", policies=policies)
    assert found.to_frame()["policy"].to_list() == list(policies)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for ending in ("png", "svg"):
            found.draw(tmp_path / f"figure.{ending}")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


@pytest.mark.slow
def test_a_name_that_begins_with_an_underscore_is_in_the_legend(tmp_path: Path) -> None:
    """Three panels have a legend; matplotlib leaves out labels that begin so."""
    worlds = dict.fromkeys("abc", WORLD)
    hidden, shown = (
        compared(None, policies={name: cb.ThompsonSampling}, worlds=worlds).summary for name in ("_xyz", "axyz")
    )
    for name, summary in (("hidden", hidden), ("shown", shown)):
        draw(summary, tmp_path / f"{name}.svg")
    glyphs = [(tmp_path / f"{name}.svg").read_text().count("<use ") for name in ("hidden", "shown")]
    assert glyphs[0] == glyphs[1]


def test_dollars_are_dollars(tmp_path: Path) -> None:
    """As many letters as the name has: nothing is set as a formula."""
    letters = []
    for name in ("$x_1$", "ax_1a"):
        draw(compared(None, policies={name: cb.ThompsonSampling}).summary, tmp_path / "figure.svg")
        letters.append((tmp_path / "figure.svg").read_text().count("<use "))
    assert letters[0] == letters[1]


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "a\\b", "nul\0", "x" * 300, "report.html", "manifest.json", "\n"]
)
def test_names_that_are_no_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(OptionError, match="expected a plain name for a folder"):
        cb.compare({"TS": cb.ThompsonSampling}, [WORLD], horizon=5, runs=1, name=name, out=tmp_path / "results")
    assert not list(tmp_path.iterdir())


def test_names_that_cannot_be_told_apart_are_refused_before_anything_runs() -> None:
    policies = partial(compared, None)
    with pytest.raises(OptionError, match="policy 'ts' and policy 'TS' have the same key 'ts'; rename one"):
        policies(policies={"TS": cb.ThompsonSampling, "ts": cb.ThompsonSampling})
    with pytest.raises(
        OptionError, match=r"policy 'a-b' in worlds 'c' and policy 'a' in worlds 'b-c' have the same key"
    ):
        policies(policies={"a": cb.ThompsonSampling, "a-b": cb.ThompsonSampling}, worlds={"b-c": WORLD, "c": WORLD})
    with pytest.raises(OptionError, match="worlds '1' are named twice"):
        policies(worlds={1: WORLD, "1": WORLD})
    with pytest.raises(OptionError, match=r"policy 'a\\udcff' is not valid Unicode; rename it"):
        policies(policies={"a\udcff": cb.ThompsonSampling})
    with pytest.raises(OptionError, match=r"worlds 'a\\udcff' is not valid Unicode; rename it"):
        policies(worlds={"a\udcff": WORLD})


def test_a_figure_goes_to_a_file_or_is_refused_in_a_sentence(tmp_path: Path) -> None:
    found = compared(None)
    with pytest.raises(OptionError, match=r"expected a name that ends in \.png or \.svg"):
        found.draw(tmp_path / "figure.xyz")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(OutputError, match=r"cannot write .*folder\.png"):
        found.draw(tmp_path / "folder.png")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.png"]


def test_variables_of_any_name_are_drawn(tmp_path: Path) -> None:
    """A discovered graph; and nothing in a page is a control character."""
    names = {r"$\frac$": 2, "_x\x1b[31m" + "y" * 300: 2}
    problem = cb.Problem("<b>", names, {"🙂\n": 2})
    rng = np.random.default_rng(0)
    columns = [*names, "<b>", "🙂\n"]
    history = cb.History(problem)
    history.extend(history.encode_many(pl.DataFrame({name: rng.integers(0, 2, 200) for name in columns})))
    found = cb.discover(history)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw_graphs(found, tmp_path / "graphs.svg")
    assert "\x1b" not in (tmp_path / "graphs.svg").read_text(encoding="utf-8")
    assert page("a\x1b", ["b\x00c"]).count("\\x") == 2
