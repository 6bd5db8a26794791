"""What others did to a results folder: a sentence, or the part is run again; never a traceback, never a hang."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import causal_bandits as cb
from causal_bandits.core.files import read_regular
from causal_bandits.errors import OutputError
from causal_bandits.research.experiments import Progress
from causal_bandits.research.experiments.base import Chunk
from causal_bandits.research.experiments.engines import Done
from causal_bandits.research.experiments.store import ChunkStore, ResultsFolder, read_json

ROWS = pl.DataFrame({"series": ["ts"] * 5, "t": range(5), "regret": [0.5] * 5})
DEEP = "[" * 100_000


def never() -> pl.DataFrame:
    raise AssertionError("a stored chunk is not run")


ONE, OTHER = Chunk("one", never), Chunk("other", never)


def as_folder(path: Path) -> None:
    path.mkdir()
    (path / "mine").write_text("of somebody")


def as_pipe(path: Path) -> None:
    os.mkfifo(path)


def as_loop(path: Path) -> None:
    path.symlink_to(path.name)


def as_dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def as_huge(path: Path) -> None:
    """Much more than memory, on paper."""
    with path.open("wb") as file:
        file.truncate(2**42)


IMPOSTORS = [as_folder, as_pipe, as_loop, as_dangling, as_huge]


@pytest.mark.parametrize("put", IMPOSTORS)
def test_only_files_are_read(tmp_path: Path, put: Callable[[Path], None]) -> None:
    put(tmp_path / "it")
    assert read_regular(tmp_path / "it", 2**30) is None
    assert read_json(tmp_path / "it") is None


@pytest.mark.parametrize("put", IMPOSTORS)
def test_something_else_in_the_place_of_a_chunk(tmp_path: Path, put: Callable[[Path], None]) -> None:
    """It is said, left alone, and the part is run again once: then the two lie side by side."""
    store = ChunkStore(tmp_path, "abc")
    store.put(ONE, Done(ROWS, 1.0))
    [path] = tmp_path.iterdir()
    path.unlink()
    put(path)
    said: list[str] = []
    store = ChunkStore(tmp_path, "abc")
    assert store.get(ONE, said.append) is None
    assert said == [f"{path} is corrupt; that part is run again"]
    assert os.path.lexists(path)
    store.put(ONE, Done(ROWS, 2.0))
    again = ChunkStore(tmp_path, "abc").get(ONE, pytest.fail)
    assert again is not None
    assert again.rows.equals(ROWS)


def test_a_chunk_that_was_renamed_is_not_taken_for_another(tmp_path: Path) -> None:
    """Nor is one of another plan."""
    for fingerprint in ("abc", "def"):
        ChunkStore(tmp_path, fingerprint).put(OTHER, Done(ROWS, 1.0))
    ChunkStore(tmp_path, "abc").put(ONE, Done(ROWS, 1.0))
    [one], [other], [foreign] = (list(tmp_path.glob(name)) for name in ("abc-one*", "abc-other*", "def-*"))
    stem = other.name.split(".")[0]
    other.unlink()
    shutil.copy(one, tmp_path / f"{stem}.{one.name.split('.')[1]}.parquet")
    shutil.copy(foreign, tmp_path / f"{stem}.{foreign.name.split('.')[1]}.parquet")
    said: list[str] = []
    plan = ChunkStore(tmp_path, "abc")
    assert plan.get(ONE, said.append) is not None
    assert plan.get(OTHER, said.append) is None
    assert len(said) == 2


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two finished comparisons."""
    out = tmp_path_factory.mktemp("finished") / "results"
    for name in ("one", "two"):
        play(out, name)
    return out


def play(out: Path, name: str = "one", progress: Progress | None = None) -> cb.experiments.Comparison:
    progress = progress or Progress(lambda *_: None, pytest.fail)
    return cb.compare(
        {"TS": cb.ThompsonSampling},
        [cb.worlds.example_world("S3")],
        horizon=10,
        runs=1,
        name=name,
        out=out,
        progress=progress,
    )


DAMAGES = {
    "not JSON": "{",
    "nested": DEEP,
    "a list": "[]",
    "no figure": "{}",
    "another's": json.dumps({"figure": "fig2a", "series": {}}),
    "empty": json.dumps({"figure": "two", "series": {}}),
    "wrong kinds": json.dumps({"figure": "two", "title": 3, "series": {"a": None}, "claims": 5}),
    "NaN": '{"figure": "two", "series": NaN}',
}


@pytest.mark.parametrize("damage", list(DAMAGES))
def test_a_damaged_neighbor_is_left_out_of_the_report(tmp_path: Path, finished: Path, damage: str) -> None:
    out = tmp_path / "results"
    shutil.copytree(finished, out)
    (out / "two/summary.json").write_text(DAMAGES[damage])
    said: list[str] = []
    play(out, "one", Progress(lambda *_: None, said.append))
    assert len(said) == 1
    assert said[0].startswith(str(out / "two/summary.json"))
    assert said[0].endswith("it is left out of the report")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert '<section id="one"' in page
    assert '<section id="two"' not in page


def test_a_neighbor_and_files_that_are_none(tmp_path: Path, finished: Path) -> None:
    out = tmp_path / "results"
    shutil.copytree(finished, out)
    for name in ("one/summary.json", "one/figure.png", "two/summary.json", "report.html"):
        (out / name).unlink()
        as_pipe(out / name)
    said: list[str] = []
    found = play(out, "one", Progress(lambda *_: None, said.append))
    assert len(said) == 1
    assert json.loads((out / "one/summary.json").read_text()) == found.summary
    (out / "one/figure.svg").unlink()
    as_folder(out / "one/figure.svg")
    with pytest.raises(OutputError, match=r"cannot write .*figure\.svg"):
        play(out, "one", Progress(lambda *_: None, said.append))


@pytest.mark.parametrize("entry", ["5", '{"two": 5}', '{"two": {"work_seconds": "long", "options": 3, "machine": []}}'])
def test_a_manifest_that_was_edited(tmp_path: Path, finished: Path, entry: str) -> None:
    out = tmp_path / "results"
    shutil.copytree(finished, out)
    (out / "manifest.json").write_text(f'{{"program": "causal-bandits", "figures": {entry}}}')
    said: list[str] = []
    play(out, "one", Progress(lambda *_: None, said.append))
    assert len(said) <= 1
    assert ResultsFolder(out).figures["one"]["options"]["seed"] == 0


@pytest.mark.parametrize("text", ["{", DEEP, "[]", "\udcff"])
def test_a_manifest_that_is_damaged(tmp_path: Path, finished: Path, text: str) -> None:
    out = tmp_path / "results"
    shutil.copytree(finished, out)
    (out / "manifest.json").write_text(text, errors="surrogateescape")
    with pytest.raises(
        OutputError, match=r'contains files that are not .* write {"program": "causal-bandits"} to its manifest'
    ):
        play(out)
    (out / "manifest.json").unlink()
    as_pipe(out / "manifest.json")
    with pytest.raises(OutputError, match="contains files that are not results"):
        play(out)


@pytest.mark.parametrize("place", ["one", "one/chunks"])
@pytest.mark.parametrize("put", [as_pipe, as_loop, as_dangling])
def test_something_else_in_the_place_of_a_folder(tmp_path: Path, put: Callable[[Path], None], place: str) -> None:
    ResultsFolder(tmp_path / "results")
    (tmp_path / "results" / place).parent.mkdir(exist_ok=True)
    put(tmp_path / "results" / place)
    with pytest.raises(OutputError, match="cannot write to folder"):
        play(tmp_path / "results")


def test_a_folder_that_goes_away_during_the_run(tmp_path: Path) -> None:
    """What was finished before stays finished."""
    out = tmp_path / "results"
    worlds = [cb.worlds.example_world("S3")] * 3

    def done(_name: str, count: int, _of: int) -> None:
        if count == 2:
            (out / "one/chunks").rename(tmp_path / "kept")
            (out / "one/chunks").write_text("a file")

    compare = {"horizon": 10, "runs": 1, "name": "one", "out": out}
    with pytest.raises(OutputError, match="cannot write"):
        cb.compare({"TS": cb.ThompsonSampling}, worlds, progress=Progress(done, pytest.fail), **compare)  # type: ignore[arg-type]
    (out / "one/chunks").unlink()
    (tmp_path / "kept").rename(out / "one/chunks")
    counts: list[int] = []
    progress = Progress(lambda _name, count, _of: counts.append(count), pytest.fail)
    cb.compare({"TS": cb.ThompsonSampling}, worlds, progress=progress, **compare)  # type: ignore[arg-type]
    assert counts == [2, 3]
