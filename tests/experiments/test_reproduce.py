"""Figures from start to files: the same bytes whatever the jobs or interruptions."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from causal_bandits.environments import DiscreteSCM
from causal_bandits.errors import OptionError, OutputError
from causal_bandits.experiments import EXPERIMENTS, Experiment, Scale, chunks, find_experiment, reproduce
from causal_bandits.experiments.chunks import Chunk, chunks_of, run_chunk
from causal_bandits.experiments.de_kroon import four_node_classes

KEYS = ["ts", "causal-ts-direct", "causal-ts-direct-marginal", "causal-ts-asd", "causal-ts-perfect"]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only 4 of the 64 worlds."""
    for name, experiment in EXPERIMENTS.items():
        fewer = {**vars(experiment), "worlds": 4, "weights": lambda: [1.0, 3.0, 3.0, 6.0]}
        monkeypatch.setitem(EXPERIMENTS, name, Experiment(**fewer))


def test_files_and_their_content(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    summary, folder = reproduce("fig2a", scale="smoke", jobs=1, out=tmp_path, on_done=lambda *count: seen.append(count))
    assert seen == [(done, 4) for done in range(5)]
    assert folder == tmp_path / "fig2a"
    assert {"summary.json", "runs.parquet", "figure.png", "figure.svg"} <= {path.name for path in folder.iterdir()}
    assert json.loads((folder / "summary.json").read_text()) == summary
    assert list(summary["series"]) == KEYS
    assert (summary["horizon"], summary["runs"], summary["worlds"], summary["seed"]) == (500, 1, 4, 0)
    runs = pl.read_parquet(folder / "runs.parquet")
    for key, series in summary["series"].items():
        last = runs.filter((pl.col("series") == key) & (pl.col("t") == 500))["regret"]
        assert series["mean"][-1] == pytest.approx(last.mean())
        assert len(series["t"]) == len(series["mean"]) == len(series["se"]) == 100
    assert summary["series"]["causal-ts-perfect"]["knows"] == "parents of Y"
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["fig2a"]["options"]["seed"] == 0
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_resuming_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, whole = reproduce("fig2c", scale="smoke", jobs=1, out=tmp_path / "whole")
    played: list[Chunk] = []

    def stop_after_two(chunk: Chunk) -> pl.DataFrame:
        if len(played) == 2:
            raise KeyboardInterrupt
        played.append(chunk)
        return run_chunk(chunk)

    monkeypatch.setattr(chunks, "run_chunk", stop_after_two)
    with pytest.raises(KeyboardInterrupt):
        reproduce("fig2c", scale="smoke", jobs=1, out=tmp_path / "parts")
    stored = sorted((tmp_path / "parts/fig2c/chunks").glob("*.parquet"))
    assert len(stored) == 2
    stored[0].write_bytes(stored[0].read_bytes()[:100])  # a damaged file counts as missing

    def go_on(chunk: Chunk) -> pl.DataFrame:
        played.append(chunk)
        return run_chunk(chunk)

    monkeypatch.setattr(chunks, "run_chunk", go_on)
    _, parts = reproduce("fig2c", scale="smoke", jobs=1, out=tmp_path / "parts")
    assert [chunk.world for chunk in played] == [0, 1, 0, 2, 3]
    for name in ("summary.json", "figure.svg"):
        assert (parts / name).read_bytes() == (whole / name).read_bytes()


def test_another_seed_never_uses_old_chunks(tmp_path: Path) -> None:
    first, _ = reproduce("fig2c", scale="smoke", seed=0, jobs=1, out=tmp_path)
    second, _ = reproduce("fig2c", scale="smoke", seed=1, jobs=1, out=tmp_path)
    assert first["series"]["ts"]["mean"] != second["series"]["ts"]["mean"]


def test_weights_change_the_mean_only(tmp_path: Path) -> None:
    reproduce("fig2a", scale="smoke", jobs=1, out=tmp_path)
    summary, folder = reproduce("fig2a", scale="smoke", jobs=1, out=tmp_path, weighted=True)
    runs = pl.read_parquet(folder / "runs.parquet").filter((pl.col("series") == "ts") & (pl.col("t") == 500))
    expected = sum(w * r for w, r in zip([1, 3, 3, 6], runs.sort("world")["regret"], strict=True)) / 13
    assert summary["series"]["ts"]["mean"][-1] == pytest.approx(expected)
    assert summary["weights"] == "orbit sizes"


def test_a_run_depends_on_its_own_number_alone() -> None:
    plan = find_experiment("fig2a").plan(3, Scale(50, 12))
    assert [(c.world, c.first, c.last) for c in chunks_of(plan)][:3] == [(0, 0, 10), (0, 10, 12), (1, 0, 10)]
    both = run_chunk(Chunk(plan, 2, 10, 12))
    second = run_chunk(Chunk(plan, 2, 11, 12))
    assert both.filter(pl.col("run") == 11).equals(second)


def test_worlds_are_the_64_classes() -> None:
    assert len(four_node_classes()) == 64
    assert sum(found.size for found in four_node_classes()) == 343
    world = find_experiment("fig2a").world(5, np.random.SeedSequence(0))
    assert isinstance(world, DiscreteSCM)
    assert world.graph == four_node_classes()[5].graph


def test_bad_options(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="figure 'fig9' is not known; expected one of 'fig2a'"):
        reproduce("fig9", out=tmp_path)
    with pytest.raises(OptionError, match="scale 'huge' is not known"):
        reproduce("fig2a", scale="huge", out=tmp_path)
    with pytest.raises(OptionError, match="jobs=0"):
        reproduce("fig2a", jobs=0, out=tmp_path)
    with pytest.raises(OptionError, match="seed=-1"):
        reproduce("fig2a", seed=-1, out=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write to folder"):
        reproduce("fig2a", out=tmp_path / "file" / "results")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_scales_are_documented_sizes() -> None:
    assert find_experiment("fig2a").scale("paper") == Scale(5000, 50)
