"""Command lines that nobody should type, in this process."""

import contextlib
import io
import json
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import causal_bandits as cb
from causal_bandits.cli import main

from .api import DISCRETE, rows_of
from .damage import damaged_bytes, damaged_json
from .judging import Score, judge

WORDS = [
    *(
        "",
        "x",
        "s",
        "0",
        "-1",
        "1",
        "3",
        "1000000000000",
        "99999999999999999999999",
        "1e400",
        "nan",
        "inf",
        "0x10",
        "١",
    ),
    *(
        "\x1b[31m",
        "a\nb",
        "é",
        "\udcff",
        "=1",
        "--",
        "--json",
        "-h",
        "m=1",
        "k=low",
        "y=",
        "x=a",
        "x=a,z=1",
        ",,",
        "=",
        "a" * 5000,
    ),
    *("/dev/null", "/", "/nowhere/x", "rows.csv", "rows.parquet", "bad.csv", "deep.json", "problem.json", "empty.csv"),
    *("sqlite:///s.db", "sqlite:///none.db", "sqlite://", "postgresql://u:Hunter2@127.0.0.1:1/x", " sqlite:///s.db"),
    *("{}", "[]", '{"a": 1}', "[" * 3000, "NaN", '"', "{'a': 1}", '{"max_size": 1e400}', '{"samples": 1000000000000}'),
]
VALID = [
    "study create t --problem problem.json --seed 1",
    "study create u --problem problem.json --policy causal-ts --options {} --expire-after 5",
    "study list --json",
    "study show s",
    "study show s --json",
    "study ask s -n 2 --key k --arm x=a",
    "study tell s 1 -m m=1 -m k=low --reward 1",
    "study tell s --file rows.csv --final",
    "study import s rows.csv --key i",
    "study import s rows.csv --observational",
    "study export s --out out.csv --safe-csv",
    "study report s --out out.html",
    "study abandon s 2",
    "study delete s --yes",
    "analyze rows.csv --target y --interventions x,z --observed m --drop k --kind discrete --confidence 0.9 "
    "--max-size 1",
    "analyze rows.parquet --target y --interventions x --json --html out.html",
    "compare --list",
    "compare --worlds nowhere --policies ucb1 --horizon 5 --runs 1 --jobs 1 --out results",
    "reproduce nothing --scale smoke --seed 0 --jobs 1 --runs 1 --out results",
]


def _files(folder: Path, rng: np.random.Generator) -> None:
    """What the commands name; some of it bad."""
    described = json.dumps(DISCRETE.to_dict())
    (folder / "problem.json").write_text(described if rng.random() < 0.5 else damaged_json(described, rng))
    (folder / "deep.json").write_text("[" * 200_000)
    import polars as pl

    table = pl.DataFrame([{**row, "id": number} for number, row in enumerate(rows_of(DISCRETE, 6), start=1)])
    table.write_parquet(folder / "rows.parquet")
    table.write_csv(folder / "rows.csv")
    (folder / "bad.csv").write_bytes(b"x,m\xff\n\xfe,1\n")
    (folder / "empty.csv").write_bytes(b"")
    if rng.random() < 0.4:
        path = folder / ("rows.csv" if rng.random() < 0.6 else "rows.parquet")
        path.write_bytes(damaged_bytes(path.read_bytes(), rng))


def _line(rng: np.random.Generator) -> list[str]:
    """A valid command with some of its words replaced, doubled or left out."""
    words = VALID[int(rng.integers(len(VALID)))].split()
    if words[0] == "study":
        words += ["--storage", "sqlite:///s.db"]
    first = 2 if words[0] == "study" else 1
    for _ in range(int(rng.integers(0, 3))):
        place = int(rng.integers(first, len(words) + 1))
        how = rng.random()
        word = WORDS[int(rng.integers(len(WORDS)))]
        if how < 0.6 and place < len(words):
            words[place] = word
        elif how < 0.8:
            words.insert(place, word)
        else:
            del words[place : place + 1]
    return words


class _RawError(Exception):
    """A command that ended in anything but an answer or one sentence."""


def command_line(cases: int, rng: np.random.Generator) -> Score:
    """Each case in its own folder with a small study."""
    score = Score()
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            os.chdir(folder)
            for _ in range(cases):
                if not (folder / "s.db").exists() or rng.random() < 0.02:
                    for path in folder.glob("s.db*"):
                        path.unlink()
                    with cb.Study.create("s", DISCRETE, storage="sqlite:///s.db", seed=1) as study:
                        study.ask(4)
                _files(folder, rng)
                words = _line(rng)
                judge(score, " ".join(words)[:300], partial(run_command, words), seconds=60)
        finally:
            os.chdir(before)
    return score


def run_command(words: list[str]) -> None:
    """Run a command in this process; raises what it says if it fails."""
    out, errors = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    code: Any = 0
    argv, sys.argv = sys.argv, ["causal-bandits", *words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            main()
    except SystemExit as end:
        code = end.code
    finally:
        sys.argv = argv
    said, complained = _text(out), _text(errors)
    if "Hunter2" in said + complained:
        raise _RawError("a password is shown")
    if "\x1b[31m" in said + complained and "\x1b[31m" in " ".join(words):
        raise _RawError("an escape sequence is printed")
    if code:
        lines = complained.strip().splitlines()
        if len(lines) != 1 or not lines[0].startswith("Error: "):
            raise _RawError(f"exit code {code}: {complained[-200:]!r}")
        raise cb.CausalBanditsError(lines[0][:1000])


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined, no-any-return]
