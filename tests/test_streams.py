"""The command line with full or closed outputs, other encodings, and names that a terminal would obey."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import causal_bandits as cb
from causal_bandits.core.data.table_files import neutral
from causal_bandits.core.markup import printable
from tests.command_line import exit_code

COMMAND = str(Path(sys.executable).parent / "causal-bandits")
ANALYZE = "analyze example --target purchase --interventions banner,discount"
HOSTILE = "a\x1b]0;owned\x07\x9b31m\u202e\r\nb–ü"


def shell(line: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, check=False, cwd=folder, env={**os.environ, **environment}
    )


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        (f"{COMMAND} {ANALYZE} > /dev/full", 1, "No space left on device"),
        pytest.param(f"{COMMAND} {ANALYZE} --json > /dev/full", 1, "No space left on device", marks=pytest.mark.slow),
        (f"{COMMAND} compare --list >&-", 1, "it is closed"),
        pytest.param(f"{COMMAND} {ANALYZE} 2>&- >/dev/full", 1, "", marks=pytest.mark.slow),
        pytest.param(f"{COMMAND} {ANALYZE} --json | true; exit ${{PIPESTATUS[0]}}", 1, "", marks=pytest.mark.slow),
    ],
)
def test_an_output_that_cannot_be_written(tmp_path: Path, line: str, code: int, said: str) -> None:
    result = shell(line, tmp_path)
    assert result.returncode == code
    text = result.stderr.decode()
    lines = [
        line for line in text.splitlines() if not line.endswith(("%)", " done"))
    ]  # progress, where the machine is slow
    assert len(lines) == (1 if said else 0)
    assert said in text
    assert not any(noise in text for noise in ("Traceback", "Exception ignored"))


def study_with_hostile_names(folder: Path) -> str:
    storage = f"sqlite:///{folder}/s.db"
    problem = cb.Problem("y", {HOSTILE: 2}, {"lever": ["n", HOSTILE, "=1+1"]})
    study = cb.Study.create(HOSTILE, problem, storage=storage, seed=1)
    for decision in study.ask(30):
        study.tell(decision, {HOSTILE: decision.id % 2}, reward=decision.id % 3 % 2)
    return storage


COMMANDS = """
import json, sys
from causal_bandits.cli import main
for sys.argv in json.loads(sys.argv[1]):
    try:
        main()
    except SystemExit as end:
        print("--- ended with", end.code)
"""


@pytest.mark.parametrize(
    "encoding", ["ascii", *(pytest.param(name, marks=pytest.mark.slow) for name in ("utf-8", "latin-1"))]
)
def test_names_are_shown_escaped_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    """One process for all commands, since a process takes a second to start."""
    storage = study_with_hostile_names(tmp_path)
    commands = [["list"], ["show", HOSTILE], ["list", "--json"]]
    given = json.dumps([["causal-bandits", "study", *command, "--storage", storage] for command in commands])
    program = [sys.executable, "-c", COMMANDS, given]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    shown = subprocess.run(program, capture_output=True, check=True, env=environment)
    assert shown.stderr == b""
    *texts, rest = shown.stdout.decode(encoding).split("--- ended with 0\n")
    assert (len(texts), rest) == (3, "")
    for text in texts:
        assert not any(sign in text for sign in ("\x1b", "\x07", "\x9b", "\u202e", "\r"))
    for text in texts[:2]:
        assert r"a\x1b]0;owned\x07\u009b31m\u202e\r" in text
    assert json.loads(texts[2])[0]["name"] == HOSTILE


def test_printable_leaves_ordinary_text_alone() -> None:
    assert printable("café – 日本 👩‍🔬 [x] :y:") == "café – 日本 👩‍🔬 [x] :y:"
    assert printable("a\nb\x1b", keep="\n\t") == "a\nb\\x1b"


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_safe_csv_neutralises_formulas(tmp_path: Path, cell: str) -> None:
    table = neutral(pl.DataFrame({"a": [cell, "x", None], cell: [1.5, -2.0, None]}))
    assert table.columns == ["a", f"'{cell}"]
    assert table.rows() == [(f"'{cell}", 1.5), ("x", -2.0), (None, None)]


def test_export_neutralises_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage, out = study_with_hostile_names(tmp_path), str(tmp_path / "t.csv")
    for options, expected in (([], "=1+1"), (["--safe-csv"], "'=1+1")):
        command = ["study", "export", HOSTILE, "--out", out, *options, "--storage", storage]
        assert exit_code(command, monkeypatch) == 0
        assert expected in pl.read_csv(out)["lever"].to_list()


def test_asking_does_not_import_what_only_draws() -> None:
    program = "import sys, causal_bandits.cli, causal_bandits.product.studies; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "causal_bandits.product.studies.storage.connections" in modules
    heavy = {"matplotlib", "scipy.optimize", "scipy.stats", "distributed", "networkx", "gymnasium", "pandas", "clingo"}
    assert heavy.isdisjoint(modules)
