"""The command line as a user meets it: real processes where that matters, else this one, which has started already."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command_line import exit_code

COMMAND = [str(Path(sys.executable).parent / "causal-bandits")]


Here = Callable[..., tuple[object, str, str]]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Here:
    """Runs a command in this process: how it ended, and what it wrote."""

    def command(*arguments: object) -> tuple[object, str, str]:
        code = exit_code([str(each) for each in arguments], monkeypatch)
        return code, *capfd.readouterr()

    return command


@pytest.mark.parametrize("group", [(), ("study",), ("study", "arms"), ("storage",)], ids=str)
def test_lists_of_commands_are_not_cut_off(group: tuple[str, ...], here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, shown, _ = here(*group, "--help")
    _, commands, listed = shown.partition("Commands:")
    assert commands
    assert "..." not in listed


def test_version_and_help(here: Here) -> None:
    assert run("--version").stdout.startswith("causal-bandits 0.")
    _, shown, _ = here("reproduce", "--help")
    assert "fig2a" in shown
    assert "--scale" in shown


def test_a_figure_from_start_to_report(tmp_path: Path) -> None:
    out = tmp_path / "results"
    result = run("reproduce", "example", "--scale", "smoke", "--jobs", 1, "--seed", 4, "--out", out)
    assert result.returncode == 0, result.stderr
    assert "example: 3 of 3 done" in result.stdout
    assert "{S2}" in result.stdout
    assert "The claims" in result.stdout
    assert "holds" in result.stdout
    assert f"Figure: {out / 'example/figure.png'}" in result.stdout
    assert f"Report: {out / 'report.html'}" in result.stdout
    summary = json.loads((out / "example/summary.json").read_text())
    assert (summary["figure"], summary["seed"], len(summary["rows"])) == ("example", 4, 10)
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["figures"]["example"]["command"].startswith("causal-bandits reproduce example --scale smoke")
    assert "causal-bandits reproduce example --scale smoke --seed 4" in (out / "report.html").read_text()


def test_quiet_says_nothing_and_json_nothing_else(tmp_path: Path, here: Here) -> None:
    options = ("reproduce", "example", "--scale", "smoke", "--jobs", 1, "--out", tmp_path / "results")
    assert here(*options, "--quiet") == (0, "", "")
    _, shown, _ = here(*options, "--json")
    found = json.loads(shown)
    assert found["example"] == json.loads((tmp_path / "results/example/summary.json").read_text())


@pytest.mark.slow
def test_kill_9_in_the_middle_and_the_same_command_again(tmp_path: Path, here: Here) -> None:
    """Two processes killed with kill -9, then one process to the end: the bytes of an uninterrupted run."""
    options = ("reproduce", "theorem", "--scale", "smoke", "--runs", 4000, "--seed", 4)
    code, _, said = here(*options, "--jobs", 1, "--out", tmp_path / "whole")
    assert code == 0, said
    command = [*COMMAND, *map(str, options), "--jobs", "2", "--out", str(tmp_path / "parts")]
    chunks = tmp_path / "parts/theorem/chunks"
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    while not chunks.exists() or len(list(chunks.glob("*.parquet"))) < 3:
        assert process.poll() is None, "it was done before it could be killed"
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = {path: path.stat().st_mtime_ns for path in chunks.glob("*.parquet")}
    assert 3 <= len(kept) < 13
    assert not (tmp_path / "parts/theorem/summary.json").exists()
    code, _, said = here(*options, "--jobs", 1, "--out", tmp_path / "parts")
    assert code == 0, said
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    for name in ("summary.json", "figure.svg", "runs.parquet"):
        assert (tmp_path / "parts/theorem" / name).read_bytes() == (tmp_path / "whole/theorem" / name).read_bytes()


def test_compare_lists_and_compares(tmp_path: Path, here: Here) -> None:
    _, listed, _ = here("compare", "--list")
    assert "causal-ts" in listed
    assert "bilodeau-worst" in listed
    options = ("--policies", "ucb1, kl-ucb", "--worlds", "iv", "--horizon", 50, "--runs", 1, "--jobs", 1, "--delay", 9)
    code, shown, said = here("compare", *options, "--out", tmp_path / "new")
    assert code == 0, said
    assert "0: rewards only" in " ".join(shown.split())
    assert (tmp_path / "new/iv/figure.png").exists()
    assert (tmp_path / "new/report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["reproduce", "fig9"], "Error: figure 'fig9' is not known; expected one of 'fig2a', 'fig2b', 'fig2c'"),
        (["compare", "--worlds", "mars"], "Error: worlds 'mars' are not known; expected some of 'dags4'"),
        (["compare", "--delay", "soon"], "Error: delay 'soon'; expected a number of rounds such as 500, geometric:500"),
        (["compare", "--worlds", "iv", "--policies", "c-ucb"], "Error: the world does not provide a separating set"),
        (
            ["compare", "--worlds", "confounded4", "--policies", "c-ts"],
            "Error: the world does not provide a separating set",
        ),
        (
            ["compare", "--worlds", " , "],
            "Error: --worlds ' , ' is empty; see causal-bandits compare --list for the names",
        ),
        (["reproduce", "fig2a", "--runs", "0"], "Error: runs=0; expected an integer >= 1"),
        (
            ["reproduce", "fig2a", "--runs", "1000000000000"],
            "Error: runs=1000000000000; expected an integer from 1 to 1,000,000",
        ),
        (
            ["reproduce", "theorem", "--runs", "1000000000000"],
            "Error: runs=1000000000000; expected an integer from 1 to 1,000,000",
        ),
        (["reproduce", "fig2a", "--runs", "1000000"], "Error: runs=1000000 would give 32,000,000,000 rows of results"),
        (
            ["compare", "--horizon", "1000000000000"],
            "Error: horizon=1000000000000; expected an integer from 2 to 100,000,000",
        ),
        (
            ["compare", "--runs", "1000000000000"],
            "Error: runs=1000000000000; expected an integer from 1 to 1,000,000",
        ),
        (
            ["reproduce", "fig2a", "--jobs", "1000000000000"],
            "Error: jobs=1000000000000; expected an integer from 1 to",
        ),
        (["reproduce", "fig2a", "--jobs", "0"], "Error: jobs=0; expected an integer >= 1"),
        (["reproduce", "fig2a", "--seed", "-1"], "Error: seed=-1; expected an integer >= 0"),
        (["reproduce", "fig2a", "--engine", "ray"], "Error: engine 'ray' is not known; expected one of local, dask"),
        (["reproduce", "fig2a", "--out", "/usr"], "Error: folder '/usr' contains files that are not results"),
        (["reproduce", "fig2a", "--scale", "huge"], "Error: scale 'huge' is not known"),
        (["reproduce", "fig9"], "Error: figure 'fig9' is not known; expected one of 'fig2a'"),
        (["reproduce", "fig2a", "--out", "/dev/null/here"], "Error: cannot write to folder '/dev/null/here'"),
    ],
)
def test_an_error_is_one_line_without_traceback(
    arguments: list[str], expected: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exit_code(arguments, monkeypatch) == 2
    said = capfd.readouterr()
    assert said.err.startswith(expected)
    assert said.err.count("\n") == 1


def test_an_error_ends_a_process_with_its_line_alone() -> None:
    result = run("reproduce", "fig9")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: figure 'fig9' is not known")
    assert result.stderr.count("\n") == 1


def test_a_warning_is_one_line_on_standard_error() -> None:
    program = "import warnings\nfrom causal_bandits.cli import root\nroot.app = lambda **_: warnings.warn('a [b] c')\n"
    command = [sys.executable, "-c", f"{program}root.main()"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "Warning: a [b] c\n")
