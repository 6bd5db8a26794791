"""Figures from start to files: the same bytes whatever the jobs or interruptions."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from causal_bandits.errors import OptionError, OutputError
from causal_bandits.research.experiments import EXPERIMENTS, Curves, Progress, Scale, find_experiments, reproduce
from causal_bandits.research.experiments.base import Chunk
from causal_bandits.research.experiments.de_kroon import FIG2A, FIG2B, FIG3
from causal_bandits.research.experiments.engines import Done, Engine
from causal_bandits.research.experiments.families import four_node_classes, random_world
from causal_bandits.research.worlds import DiscreteSCM
from tests.experiments.small import SMALL_2A, SMALL_2C, WEIGHTS

KEYS = ["ts", "causal-ts-direct", "causal-ts-direct-marginal", "causal-ts-asd", "causal-ts-perfect"]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only 4 of the 64 worlds."""
    monkeypatch.setitem(EXPERIMENTS, "fig2a", SMALL_2A)
    monkeypatch.setitem(EXPERIMENTS, "fig2c", SMALL_2C)


def test_files_and_their_content(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    progress = Progress(lambda *count: seen.append(count), pytest.fail)
    [(summary, folder, _)] = reproduce("fig2a", scale="smoke", jobs=1, out=tmp_path / "new", progress=progress)
    assert seen == [("fig2a", 0, 4), *(("fig2a", done, 4) for done in range(5))]
    assert folder == tmp_path / "new/fig2a"
    assert {"summary.json", "runs.parquet", "figure.png", "figure.svg"} <= {path.name for path in folder.iterdir()}
    assert json.loads((folder / "summary.json").read_text()) == summary
    assert list(summary["series"]) == KEYS
    assert (summary["horizon"], summary["runs"], summary["worlds"], summary["seed"]) == (200, 3, 4, 0)
    runs = pl.read_parquet(folder / "runs.parquet")
    for key, series in summary["series"].items():
        last = runs.filter((pl.col("series") == key) & (pl.col("t") == 200))["regret"]
        assert len(last) == 4 * series["runs"]
        assert series["mean"][-1] == pytest.approx(last.mean())
        assert len(series["t"]) == len(series["mean"]) == len(series["se"]) == 100
    assert summary["series"]["causal-ts-perfect"]["knows"] == "parents of Y"
    assert (summary["series"]["causal-ts-asd"]["runs"], summary["series"]["ts"]["runs"]) == (2, 3)
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "Fig. 2(a)" in (tmp_path / "new/report.html").read_text()


def test_the_manifest_says_how_it_was_made(tmp_path: Path) -> None:
    reproduce("fig2a", scale="quick", jobs=1, seed=3, out=tmp_path)
    reproduce("fig2c", scale="quick", jobs=1, out=tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert list(manifest["figures"]) == ["fig2a", "fig2c"]
    entry = manifest["figures"]["fig2a"]
    assert entry["options"] == {"scale": "quick", "runs": None, "seed": 3, "weighted": False}
    assert entry["libraries"]["numpy"] == np.__version__
    assert entry["work_seconds"] <= entry["seconds"]
    assert {"version", "commit", "machine", "python", "finished", "workers"} <= set(entry)


class Interrupted(Engine):
    """Stops after two chunks, as Ctrl-C does."""

    def run(self, chunks: list[Chunk]):  # type: ignore[no-untyped-def]
        for number, found in enumerate(super().run(chunks)):
            if number == 2:
                raise KeyboardInterrupt
            yield found


def test_resuming_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [(_, whole, _)] = reproduce("fig2c", scale="smoke", jobs=1, out=tmp_path / "whole")
    parts = tmp_path / "parts"
    with monkeypatch.context() as patch:
        patch.setattr(
            "causal_bandits.research.experiments.figure_files.make_engine",
            lambda *_, **__: Interrupted(None, workers=1),
        )
        with pytest.raises(KeyboardInterrupt):
            reproduce("fig2c", scale="smoke", out=parts)
    stored = sorted((parts / "fig2c/chunks").glob("*.parquet"))
    assert len(stored) == 2
    seen: list[tuple[str, int, int]] = []
    reproduce(
        "fig2c", scale="smoke", jobs=1, out=parts, progress=Progress(lambda *count: seen.append(count), pytest.fail)
    )
    assert [done for _, done, _ in seen] == [0, 2, 3, 4]
    for name in ("summary.json", "figure.svg", "runs.parquet"):
        assert (parts / "fig2c" / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.slow
def test_another_plan_never_uses_old_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def chunks() -> set[str]:
        return {path.name for path in (tmp_path / "fig2c/chunks").iterdir()}

    [(first, _, _)] = reproduce("fig2c", scale="quick", seed=0, jobs=1, out=tmp_path)
    assert len(chunks()) == 4
    [(second, _, _)] = reproduce("fig2c", scale="quick", seed=1, jobs=1, out=tmp_path)
    assert len(chunks()) == 8
    assert first["series"]["ts"]["mean"] != second["series"]["ts"]["mean"]
    reproduce("fig2c", scale="quick", runs=2, jobs=1, out=tmp_path)
    assert len(chunks()) == 12
    monkeypatch.setattr("causal_bandits.research.experiments.base.__version__", "9.9.9")
    reproduce("fig2c", scale="quick", seed=0, jobs=1, out=tmp_path)
    assert len(chunks()) == 16


def test_weights_change_the_mean_only(tmp_path: Path) -> None:
    reproduce("fig2a", scale="quick", jobs=1, out=tmp_path)
    [(summary, folder, _)] = reproduce("fig2a", scale="quick", jobs=1, out=tmp_path, weighted=True)
    assert len(list((folder / "chunks").iterdir())) == 4
    runs = pl.read_parquet(folder / "runs.parquet").filter((pl.col("series") == "ts") & (pl.col("t") == 100))
    expected = sum(w * r for w, r in zip(WEIGHTS, runs.sort("world")["regret"], strict=True)) / sum(WEIGHTS)
    assert summary["series"]["ts"]["mean"][-1] == pytest.approx(expected)
    assert summary["weights"] == "orbit sizes"


def test_a_run_depends_on_its_own_number_alone() -> None:
    chunks = SMALL_2A.chunks(Scale(50, 12), 3)
    assert [chunk.name for chunk in chunks][:3] == ["all-000-0000-0010", "all-000-0010-0012", "all-001-0000-0010"]
    both = chunks[5].work()  # runs 10 and 11 of world 2
    assert both["run"].unique().to_list() == [10, 11]
    fewer = SMALL_2A.chunks(Scale(50, 11), 3)[5].work()
    assert both.filter(pl.col("run") == 10).equals(fewer)


def test_more_runs_find_the_chunks_of_fewer() -> None:
    few, many = Scale(50, 10), Scale(50, 12)
    assert SMALL_2A.fingerprint(few, 3) == SMALL_2A.fingerprint(many, 3) != SMALL_2A.fingerprint(Scale(60, 10), 3)
    assert SMALL_2A.chunks(few, 3)[0].name == SMALL_2A.chunks(many, 3)[0].name


def test_worlds_are_the_64_classes() -> None:
    assert len(four_node_classes()) == 64
    assert sum(found.size for found in four_node_classes()) == 343
    world = FIG2A.panels[0].maker(5)(5, np.random.SeedSequence(0))
    assert isinstance(world, DiscreteSCM)
    assert world.graph == four_node_classes()[5].graph


def test_sizes_of_the_paper_scale() -> None:
    assert FIG2A.size("paper") == Scale(5000, 50, slow_runs=20)
    assert [(panel.suffix, panel.worlds) for panel in FIG2B.panels] == [
        ("-n4", 200),
        ("-n5", 200),
        ("-n6", 200),
        ("-n7", 20),
        ("-n8", 20),
    ]
    assert [panel.observational for panel in FIG3.panels] == [0, 100, 1000]
    assert len(random_world(5, 0, np.random.SeedSequence(1)).problem.arms) == 81
    paper = ["fig2a", "fig2b", "fig2c", "fig3", "fig4", "fig5", "theorem", "example", "cycles", "readings"]
    assert [experiment.name for experiment in find_experiments("all")] == paper
    assert list(EXPERIMENTS) == [*paper, "beyond", "practice", "late", "limits", "tails", "oracle"]


def test_observations_come_before_the_first_round_in_the_same_worlds() -> None:
    chunks = FIG3.chunks(Scale(20, 1), 0)
    assert len(chunks) == 3 * 64
    frames = [chunks[place].work() for place in (0, 64, 128)]
    assert [frame["series"].unique(maintain_order=True).to_list()[1] for frame in frames] == [
        "causal-ts-direct-obs0",
        "causal-ts-direct-obs100",
        "causal-ts-direct-obs1000",
    ]
    assert frames[0].filter(pl.col("series") == "ts-obs0")["regret"].to_list() != (
        frames[2].filter(pl.col("series") == "ts-obs1000")["regret"].to_list()
    )


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_every_experiment_can_be_sent_to_another_process(name: str) -> None:
    import pickle

    experiment = EXPERIMENTS[name]
    chunk = experiment.chunks(experiment.size("smoke"), 0)[0]
    assert len(pickle.dumps(chunk)) < 5000


def test_bad_options(tmp_path: Path) -> None:
    out = tmp_path / "results"
    with pytest.raises(OptionError, match="figure 'fig9' is not known; expected one of 'fig2a'"):
        reproduce("fig9", out=out)
    with pytest.raises(OptionError, match="scale 'huge' is not known"):
        reproduce("fig2a", scale="huge", out=out)
    with pytest.raises(OptionError, match="jobs=0"):
        reproduce("fig2a", jobs=0, out=out)
    with pytest.raises(OptionError, match="runs=0"):
        reproduce("fig2a", runs=0, out=out)
    with pytest.raises(OptionError, match="seed=-1"):
        reproduce("fig2a", seed=-1, out=out)
    with pytest.raises(OptionError, match="engine 'ray' is not known"):
        reproduce("fig2a", engine="ray", out=out)
    with pytest.raises(OptionError, match="add --engine dask"):
        reproduce("fig2a", scheduler="tcp://127.0.0.1:1", out=out)
    with pytest.raises(OptionError, match="fig5 has no classes of graphs to weigh"):
        reproduce("fig5", weighted=True, out=out)
    assert not out.exists()


def test_a_folder_that_belongs_to_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("chapter 1")
    with pytest.raises(OutputError, match="contains files that are not results"):
        reproduce("fig2a", out=tmp_path)
    with pytest.raises(OutputError, match="cannot write to folder"):
        reproduce("fig2a", out=tmp_path / "thesis.txt")
    with pytest.raises(OutputError, match="cannot write to folder"):
        reproduce("fig2a", out=tmp_path / "thesis.txt" / "results")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_done_is_a_frame_and_its_time() -> None:
    chunk = SMALL_2C.chunks(Scale(20, 1), 0)[0]
    with Engine(None, workers=1) as engine:
        [(same, done)] = engine.run([chunk])
    assert same is chunk
    assert isinstance(done, Done)
    assert done.seconds > 0
    assert done.rows.columns == ["series", "world", "run", "t", "regret"]


def test_the_docstring_of_an_experiment_is_its_question() -> None:
    for experiment in EXPERIMENTS.values():
        assert experiment.question.endswith("?")
        assert isinstance(experiment, Curves) == hasattr(experiment, "panels")
