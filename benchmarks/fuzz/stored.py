"""Save files, stored chunks of experiments and caches that are corrupt."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import causal_bandits as cb
from causal_bandits.core.policies import POLICIES
from causal_bandits.research.experiments.engines import make_engine
from causal_bandits.research.experiments.known_experiments import find_experiments
from causal_bandits.research.experiments.store import run_experiment

from .api import DISCRETE, REAL, rows_of
from .damage import damaged_bytes, damaged_json
from .judging import Score, SilentlyDifferentError, judge


def _future(policy: Any) -> Any:
    """What a policy knows, and the arms it will ask for."""
    return (
        policy.rows,
        repr(policy.estimates()),
        repr(policy.separating_sets(rejected=True)),
        [str(a) for a in policy.ask(12)],
    )


def save_files(cases: int, rng: np.random.Generator) -> Score:
    """Files of `Policy.save`: bytes corrupt, or members that declare or hold something else."""
    score = Score()
    with tempfile.TemporaryDirectory() as name:
        originals = []
        for place, (kind, problem) in enumerate((("safe", DISCRETE), ("causal-ucb-normal", REAL), ("ucb1", DISCRETE))):
            policy = POLICIES[kind](problem, seed=1)
            policy.tell_many(rows_of(problem, 80))
            policy.ask()
            path = Path(name) / f"{place}.cb"
            policy.save(path)
            originals.append((path, _future(cb.load_policy(path))))
        for case in range(cases):
            path, expected = originals[int(rng.integers(len(originals)))]
            broken = Path(name) / "broken.cb"
            if rng.random() < 0.6:
                broken.write_bytes(damaged_bytes(path.read_bytes(), rng))
            else:
                _spoil_member(path, broken, rng)
            judge(score, f"case {case} of {path.name}", partial(_loads, broken, expected))
    return score


def _spoil_member(path: Path, broken: Path, rng: np.random.Generator) -> None:
    """The same archive, whole, with one member that is another or is gone."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(broken, "w", zipfile.ZIP_DEFLATED) as new:
        names = old.namelist()
        chosen = names[int(rng.integers(len(names)))]
        how = rng.integers(5)
        for name in names:
            content = old.read(name)
            if name == chosen and how == 0:
                continue
            if name == chosen and how == 1:
                content = content.replace(b"'shape': (", b"'shape': (999999999999, ")
            elif name == chosen and how == 2:
                content = damaged_bytes(content[:64], rng) + content[64:]
            elif name == "header.npy" and how == 3:
                start = content.index(b"{", content.index(b"\n"))
                text = damaged_json(content[start:].decode(), rng).encode()
                content = _array(text)
            new.writestr(name, content)
        if how == 4:
            new.writestr("more.npy", bytes(10**6))


def _array(text: bytes) -> bytes:
    import io

    stream = io.BytesIO()
    np.save(stream, np.frombuffer(text, dtype=np.uint8))
    return stream.getvalue()


def _loads(path: Path, expected: Any) -> None:
    if _future(cb.load_policy(path)) != expected:
        raise SilentlyDifferentError("the policy that was loaded is another one")


def chunk_files(cases: int, rng: np.random.Generator) -> Score:
    """Stored parts of an experiment: corrupt ones are run again, neighbors do not matter."""
    score = Score()
    experiment = find_experiments("example")[0]
    size = experiment.size("smoke", 20)
    with tempfile.TemporaryDirectory() as name, make_engine("local", jobs=1) as engine:
        kept = Path(name) / "kept"
        expected = run_experiment(experiment, size, 0, kept, engine).rows
        for case in range(cases):
            folder = Path(name) / str(case)
            shutil.copytree(kept, folder)
            story = _spoil_folder(folder, rng)

            def again(folder: Path = folder) -> None:
                if not run_experiment(experiment, size, 0, folder, engine).rows.equals(expected):
                    raise SilentlyDifferentError("the rows are others")

            judge(score, f"case {case}: {story}", again, seconds=10)
            shutil.rmtree(folder)
    return score


def _spoil_folder(folder: Path, rng: np.random.Generator) -> str:
    files = sorted(folder.glob("*.parquet"))
    chosen, other = (files[int(place)] for place in rng.permutation(len(files))[:2])
    how = int(rng.integers(7))
    if how <= 1:
        chosen.write_bytes(damaged_bytes(chosen.read_bytes(), rng))
    elif how == 2:
        shutil.copy(other, chosen)
    elif how == 3:
        chosen.unlink()
        chosen.mkdir()
    elif how == 4:
        chosen.unlink()
        os.mkfifo(chosen)
    elif how == 5:
        (folder / (chosen.stem.rpartition(".")[0] + ".0123456789abcdef.parquet")).write_bytes(b"foreign")
    else:
        content, name = chosen.read_bytes(), other.name.split(".")[0]
        other.unlink()
        (folder / f"{name}.{chosen.name.split('.')[1]}.parquet").write_bytes(content)
    return ["bytes", "bytes", "another's content", "a folder", "a pipe", "a neighbor", "renamed"][how]


PROGRAM = """
import json, sys
import causal_bandits as cb
from benchmarks.fuzz.api import DISCRETE, rows_of
history = cb.History(cb.Problem("y", {"m": 2}, {"x": 2}, targets={"x": ["m"]}))
rows = [{"x": n % 2, "m": n // 2% 2, "y": n // 3% 2} for n in range(40)]
history.extend(history.encode_many(rows))
found = cb.discover(history)
print(json.dumps([repr(found.edges), repr(cb.independence.g_squared([[5, 3], [2, 7]]))]))
"""


def caches(cases: int, rng: np.random.Generator) -> Score:
    """The table of graphs and the compiled code in the user's caches; a fresh process for every case."""
    score = Score()
    with tempfile.TemporaryDirectory() as name:
        kept = Path(name) / "kept"
        expected = _in_cache(kept)
        for case in range(cases):
            folder = Path(name) / str(case)
            shutil.copytree(kept, folder)
            files = sorted(path for path in folder.rglob("*") if path.is_file())
            chosen = files[int(rng.integers(len(files)))]
            chosen.write_bytes(b"" if rng.random() < 0.2 else damaged_bytes(chosen.read_bytes(), rng))
            judge(score, f"case {case}: {chosen.name}", partial(_same_in_cache, folder, expected), seconds=240)
            shutil.rmtree(folder)
    return score


def _in_cache(folder: Path) -> Any:
    folder.mkdir(parents=True, exist_ok=True)
    root = Path(__file__).parents[2]
    places = {"XDG_CACHE_HOME": str(folder / "tables"), "NUMBA_CACHE_DIR": str(folder / "compiled")}
    path = os.pathsep.join([str(root / "src"), str(root)])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **places, "PYTHONPATH": path},
    )
    if done.returncode or "Traceback" in done.stderr:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr[-300:]}")
    return json.loads(done.stdout)


def _same_in_cache(folder: Path, expected: Any) -> None:
    if _in_cache(folder) != expected:
        raise SilentlyDifferentError("another answer with a corrupt cache")
