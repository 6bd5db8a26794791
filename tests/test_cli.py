"""The command line as a user meets it: real processes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [str(Path(sys.executable).parent / "causal-bandits")]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False)


def test_version_and_help() -> None:
    assert run("--version").stdout.startswith("causal-bandits 0.")
    shown = run("reproduce", "--help").stdout
    assert "fig2a" in shown
    assert "--scale" in shown


def test_two_processes_and_one_write_the_same_summary(tmp_path: Path) -> None:
    ones = run("reproduce", "fig2a", "--scale", "smoke", "--jobs", 1, "--seed", 4, "--out", tmp_path / "one")
    assert ones.returncode == 0, ones.stderr
    assert "Causal TS, direct" in ones.stdout
    assert str(tmp_path / "one/fig2a/figure.png") in ones.stdout.replace("\n", "")
    two = run("reproduce", "fig2a", "--scale", "smoke", "--jobs", 2, "--seed", 4, "--out", tmp_path / "two")
    assert two.returncode == 0, two.stderr
    one_summary, two_summary = (tmp_path / f"{name}/fig2a/summary.json" for name in ("one", "two"))
    assert one_summary.read_bytes() == two_summary.read_bytes()
    assert json.loads(one_summary.read_text())["seed"] == 4


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["reproduce", "fig9"], "Error: figure 'fig9' is not known; expected one of 'fig2a', 'fig2c'"),
        (["reproduce", "fig2a", "--scale", "huge"], "Error: scale 'huge' is not known"),
        (["reproduce", "fig2a", "--out", "/dev/null/here"], "Error: cannot write to folder '/dev/null/here'"),
    ],
)
def test_an_error_is_one_line_without_traceback(arguments: list[str], expected: str) -> None:
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stderr.startswith(expected)
    assert result.stderr.count("\n") == 1
