"""Sizes beyond reason: refused in one sentence, before anything is allocated."""

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.core.archives import MOST_BYTES
from causal_bandits.errors import CausalBanditsError, SaveFileError

PROBLEM = cb.Problem("y", {"m": 2}, {"x": ["n", "a"]})
WORLD = cb.worlds.example_world()
HUGE = 10**12

CALLS: dict[str, Callable[[], Any]] = {
    "ask": lambda: cb.ThompsonSampling(PROBLEM).ask(HUGE),
    "draws": lambda: cb.ThompsonSampling(PROBLEM).posterior().sample_means(0, HUGE),
    "quantiles": lambda: cb.bins(quantiles=HUGE, after=2 * HUGE),
    "after": lambda: cb.bins(quantiles=4, after=HUGE),
    "cuts": lambda: cb.bins(range(HUGE)),
    "observed": lambda: cb.Problem("y", {"m": HUGE}, {"x": 2}),
    "levers": lambda: cb.Problem("y", {"m": 2}, {"x": HUGE}),
    "horizon": lambda: cb.simulate(cb.ThompsonSampling, WORLD, HUGE),
    "runs": lambda: cb.simulate(cb.ThompsonSampling, WORLD, 10, runs=HUGE),
    "rounds in all": lambda: cb.simulate(cb.ThompsonSampling, WORLD, 10**6, runs=10**6),
    "jobs": lambda: cb.simulate(cb.ThompsonSampling, WORLD, 10, jobs=HUGE),
    "compared rounds": lambda: cb.compare({"a": cb.comparators.UCB1}, [WORLD], horizon=HUGE, runs=1),
    "compared runs": lambda: cb.compare({"a": cb.comparators.UCB1}, [WORLD], horizon=10, runs=HUGE),
    "samples": lambda: cb.CausalThompsonSampling(PROBLEM, variance="monte-carlo", samples=HUGE),
    "beyond 64 bits": lambda: cb.ThompsonSampling(PROBLEM).ask(10**30),
    "beyond text": lambda: cb.ThompsonSampling(PROBLEM).ask(10**5000),
    "counts": lambda: cb.independence.g_squared([[10**30, 1], [1, 1]]),
    "rows": lambda: cb.estimators.sharing_variance([[0.5, 0.5]], [0.1, 0.2], [HUGE], 0),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_size_beyond_reason_is_one_sentence(call: str) -> None:
    with pytest.raises(CausalBanditsError) as caught:
        CALLS[call]()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    policy = cb.ThompsonSampling(PROBLEM, seed=1)
    policy.tell_many([{"x": "n", "m": 0, "y": 1}] * 10)
    policy.save(tmp_path / "whole.cb")
    return tmp_path / "whole.cb"


def rewritten(saved: Path, change: Callable[[str, bytes], bytes | None], more: dict[str, bytes] | None = None) -> Path:
    path = saved.with_name("changed.cb")
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = change(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
        for name, content in (more or {}).items():
            new.writestr(name, content)
    return path


@pytest.mark.parametrize("member", ["arms.npy", "codes.npy", "rewards.npy", "header.npy"])
def test_a_shape_that_the_member_does_not_have(saved: Path, member: str) -> None:
    def grown(name: str, content: bytes) -> bytes:
        if name != member:
            return content
        found = np.load(io.BytesIO(content))
        stream = io.BytesIO()
        shape = {"descr": found.dtype.str, "fortran_order": False, "shape": (HUGE, *found.shape[1:])}
        np.lib.format.write_array_header_1_0(stream, shape)
        return bytes(stream.getvalue() + found.tobytes())

    with pytest.raises(SaveFileError, match="is corrupt or not a causal-bandits save file"):
        cb.load_policy(rewritten(saved, grown))


def test_an_archive_that_unpacks_to_gigabytes(saved: Path) -> None:
    """A member that claims more than the limit is not read; one that nobody asks for is not read at all."""
    zeros = bytes(10**6)
    bomb = rewritten(saved, lambda _, content: content, {"more.npy": zeros, "another.bin": zeros})
    assert cb.load_policy(bomb).rows == 10
    claimed = bytearray(rewritten(saved, lambda _, content: content).read_bytes())
    with zipfile.ZipFile(io.BytesIO(bytes(claimed))) as archive:
        size = archive.getinfo("rewards.npy").file_size
    entry = claimed.rindex(b"rewards.npy") - 46  # its entry in the directory at the end
    assert claimed[entry : entry + 4] == b"PK\x01\x02"
    assert int.from_bytes(claimed[entry + 24 : entry + 28], "little") == size
    claimed[entry + 24 : entry + 28] = (MOST_BYTES + 1).to_bytes(4, "little")
    saved.write_bytes(claimed)
    with pytest.raises(SaveFileError, match=f"unpacks to more than {MOST_BYTES:,} bytes"):
        cb.load_policy(saved)


def test_a_member_that_is_gone_is_noticed(saved: Path) -> None:
    with pytest.raises(SaveFileError):
        cb.load_policy(rewritten(saved, lambda name, content: None if name == "raw.npy" else content))


def test_a_device_is_no_save_file() -> None:
    with pytest.raises(SaveFileError, match="'/dev/zero' is corrupt or not a causal-bandits save file"):
        cb.load_policy("/dev/zero")


def test_files_given_on_the_command_line(tmp_path: Path) -> None:
    """One process for all of them, since a process takes a second to start."""
    good = {"target": "y", "observed": {"m": 2}, "interventions": {"x": 2}}
    files = {
        "deep.json": b"[" * 200_000 + b"]" * 200_000,
        "deeper.json": b'{"target": "y", "observed": {"m": ' + b"[" * 200_000 + b"}",
        "long.json": json.dumps(good).replace('"x": 2', '"x": ' + "9" * 5000).encode(),
        "large.json": json.dumps({**good, "observed": {"m": {"cuts": [10**400]}}}).encode(),
        "infinite.json": json.dumps({**good, "observed": {"m": [0, float("inf")]}}).encode(),
        "latin.json": '{"target": "Größe"}'.encode("latin-1"),
        "latin.csv": "x,m,y\n0,Größe,1\n".encode("latin-1"),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    commands = [["study", "create", "s", "--problem", name] for name in files if name.endswith("json")]
    commands += [["analyze", "latin.csv", "--target", "y", "--interventions", "x"]]
    commands += [["study", "create", "s", "--problem", "/dev/zero"]]
    program = "\n".join(
        (
            "import sys, json",
            "from causal_bandits.cli import main",
            "for sys.argv in json.loads(sys.argv[1]):",
            "    try: main()",
            "    except SystemExit as end: print(end.code)",
        )
    )
    given = json.dumps([["causal-bandits", *command] for command in commands])
    done = subprocess.run(
        [sys.executable, "-c", program, given], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.split() == ["2"] * len(commands)
    lines = done.stderr.splitlines()
    assert len(lines) == len(commands)
    assert all(line.startswith("Error: ") and len(line) < 400 for line in lines), lines
