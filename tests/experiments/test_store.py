"""Stored chunks: whole or not at all, checked when read, and kept when the disk is full."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from causal_bandits.research.experiments import EXPERIMENTS, Progress, reproduce
from causal_bandits.research.experiments.base import Chunk
from causal_bandits.research.experiments.engines import Done
from causal_bandits.research.experiments.store import ChunkStore
from tests.experiments.small import SMALL_2C

ROWS = pl.DataFrame({"series": ["ts"] * 50, "t": range(50), "regret": [0.1 * t for t in range(50)]})


def never() -> pl.DataFrame:
    raise AssertionError("a stored chunk is not run")


CHUNK = Chunk("all-000-0000", never)


def keep(folder: Path) -> Path:
    ChunkStore(folder, "abc").put(CHUNK, Done(ROWS, 1.5))
    [path] = folder.iterdir()
    return path


def test_what_is_put_is_got(tmp_path: Path) -> None:
    assert ChunkStore(tmp_path, "abc").get(CHUNK, pytest.fail) is None
    keep(tmp_path)
    found = ChunkStore(tmp_path, "abc").get(CHUNK, pytest.fail)
    assert found is not None
    assert found.rows.equals(ROWS)
    assert found.seconds == 1.5
    assert ChunkStore(tmp_path, "def").get(CHUNK, pytest.fail) is None


@pytest.mark.parametrize("place", [0.0, 0.3, 0.6, 0.99, None])
def test_a_damaged_file_is_to_do_again_and_said(tmp_path: Path, place: float | None) -> None:
    path = keep(tmp_path)
    content = bytearray(path.read_bytes())
    if place is None:
        content = content[:-20]
    else:
        content[int(place * len(content))] ^= 4
    path.write_bytes(content)
    said: list[str] = []
    store = ChunkStore(tmp_path, "abc")
    assert store.get(CHUNK, said.append) is None
    assert said == [f"{path} is corrupt; that part is run again"]
    store.put(CHUNK, Done(ROWS, 2.5))
    again = ChunkStore(tmp_path, "abc").get(CHUNK, pytest.fail)
    assert again is not None
    assert again.rows.equals(ROWS)


def test_a_half_written_file_has_no_name_yet(tmp_path: Path) -> None:
    """What kill -9 leaves of a write is a hidden file that nobody takes for a chunk."""
    path = keep(tmp_path)
    path.rename(tmp_path / ".abc-all-000-0000.1234.parquet")
    assert ChunkStore(tmp_path, "abc").get(CHUNK, pytest.fail) is None


def test_a_damaged_chunk_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXPERIMENTS, "fig2c", SMALL_2C)
    [(first, folder, _)] = reproduce("fig2c", scale="quick", jobs=1, out=tmp_path)
    victim = sorted((folder / "chunks").iterdir())[1]
    victim.write_bytes(victim.read_bytes()[:200])
    said: list[str] = []
    done: list[int] = []
    progress = Progress(lambda _what, count, _of: done.append(count), said.append)
    [(second, _, _)] = reproduce("fig2c", scale="quick", jobs=1, out=tmp_path, progress=progress)
    assert second == first
    assert said == [f"{victim} is corrupt; that part is run again"]
    assert done == [0, 3, 4]


FULL_DISK = """
import resource, sys
from causal_bandits.research.experiments import EXPERIMENTS, reproduce
from tests.experiments.small import SMALL_2C
EXPERIMENTS["fig2c"] = SMALL_2C
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    reproduce("fig2c", scale="smoke", jobs=1, out=sys.argv[1])
except OutputError as error:
    sys.exit(str(error))
"""


@pytest.mark.slow
def test_a_full_disk_leaves_finished_work_intact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system refuses to let files grow beyond what chunks need, but not what the merged table needs."""
    out = tmp_path / "results"
    root = Path(__file__).parents[2]
    monkeypatch.setitem(EXPERIMENTS, "fig2c", SMALL_2C)

    def run(limit: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", FULL_DISK, str(out), str(limit)]
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)

    reproduce("fig2c", scale="smoke", jobs=1, out=tmp_path / "compiles")  # then nothing compiled is left to be stored
    small = run(4_000)
    assert small.returncode == 1
    assert "cannot write" in small.stderr
    assert "Traceback" not in small.stderr
    assert list((out / "fig2c/chunks").iterdir()) == []
    later = run(40_000)
    assert "cannot write" in later.stderr
    stored = sorted((out / "fig2c/chunks").iterdir())
    times = [path.stat().st_mtime_ns for path in stored]
    assert len(stored) == 4
    reproduce("fig2c", scale="smoke", jobs=1, out=out)
    assert [path.stat().st_mtime_ns for path in stored] == times
    assert (out / "fig2c/summary.json").exists()
