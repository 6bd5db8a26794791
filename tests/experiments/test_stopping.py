"""Ctrl-C, SIGTERM and kill -9: the command ends at once with a sentence, finished work stays, no process is left."""

import signal
import time
from pathlib import Path

import pytest

from tests.marked import Marked, needs_proc

pytestmark = needs_proc
SENTENCE = "Stopped. Finished work is kept; run the same command again to resume.\n"
LONG = ("-m", "causal_bandits.cli", "reproduce", "theorem", "--scale", "smoke", "--runs", 6000)


WAIT_IN = """
import sys
from pathlib import Path
from tests.experiments.waiting import wait_in
if __name__ == "__main__":
    wait_in(sys.argv[1], Path(sys.argv[2]))
"""


ENGINES = ["local", pytest.param("dask", marks=pytest.mark.slow)]
"""Both end by the same code; a cluster of Dask takes twice as long to start."""


@pytest.mark.parametrize("engine", ENGINES)
def test_an_interrupt_is_raised_when_the_children_are_gone(tmp_path: Path, engine: str) -> None:
    """Workers in the middle of a chunk that takes ten minutes; the second Ctrl-C comes while the first is heeded."""
    running = Marked("-c", WAIT_IN, engine, tmp_path)
    running.wait_for(tmp_path, 2)
    for _ in range(2):
        running.signal_group(signal.SIGINT)
    assert running.end() == (0, "interrupted with 0 left\n", "")
    assert running.left() == []


@pytest.mark.parametrize("engine", ENGINES)
def test_workers_die_with_a_parent_that_is_killed(tmp_path: Path, engine: str) -> None:
    running = Marked("-c", WAIT_IN, engine, tmp_path)
    running.wait_for(tmp_path, 2)
    running.process.kill()
    running.process.wait()
    assert running.left() == []


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_ctrl_c_twice_and_the_same_command_again(tmp_path: Path, engine: str) -> None:
    out = tmp_path / "results"
    command = (*LONG, "--out", out)
    running = Marked(*command, "--jobs", 2, "--engine", engine)
    running.wait_for(out / "theorem/chunks", 2)
    running.signal_group(signal.SIGINT)
    time.sleep(0.1)
    running.signal_group(signal.SIGINT)
    code, _, errors = running.end()
    assert (code, errors) == (130, SENTENCE)
    assert running.left() == []
    kept = {path: path.stat().st_mtime_ns for path in (out / "theorem/chunks").iterdir()}
    assert len(kept) >= 2
    assert not (out / "theorem/summary.json").exists()
    again = Marked(*command, "--jobs", 1)
    assert again.end()[0] == 0
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert (out / "theorem/summary.json").exists()
    assert again.left() == []


@pytest.mark.slow
def test_a_command_that_is_terminated(tmp_path: Path) -> None:
    running = Marked(*LONG, "--jobs", 2, "--out", tmp_path / "results")
    running.wait_for(tmp_path / "results/theorem/chunks", 1)
    running.process.terminate()
    code, _, errors = running.end()
    assert (code, errors) == (128 + signal.SIGTERM, SENTENCE)
    assert running.left() == []


SIMULATE = """
import sys
from functools import partial
import causal_bandits as cb
from tests.experiments.waiting import Sleepy
if __name__ == "__main__":
    cb.simulate(partial(Sleepy, folder=sys.argv[1]), cb.worlds.example_world("S3"), 10, runs=4, jobs=2)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_simulate_leaves_no_process_behind(tmp_path: Path, number: signal.Signals) -> None:
    running = Marked("-c", SIMULATE, tmp_path)
    running.wait_for(tmp_path, 2)
    if number == signal.SIGINT:
        running.signal_group(number)
        time.sleep(0.1)
        running.signal_group(number)
    else:
        running.process.kill()
    running.end()
    assert running.left() == []
