"""Commands that are started with a mark in their environment, so that all their descendants can be found."""

import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

MARK = "CAUSAL_BANDITS_TEST_MARK"
ROOT = Path(__file__).parents[1]
needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="descendants are found through /proc")


def marked_processes(mark: str) -> list[int]:
    """The processes that live and hold this mark; those of others may vanish or be closed to us."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"{MARK}={mark}".encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def others_here() -> list[int]:
    """The marked processes besides this one."""
    return [pid for pid in marked_processes(os.environ[MARK]) if pid != os.getpid()]


def _heed_signals() -> None:
    """What a shell starts in the background ignores Ctrl-C, and so would all that these tests start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Marked:
    """A Python command in a process group of its own."""

    def __init__(self, *words: object) -> None:
        self.mark = secrets.token_hex(8)
        self.process = subprocess.Popen(
            [sys.executable, *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, MARK: self.mark},
            start_new_session=True,
            preexec_fn=_heed_signals,  # noqa: PLW1509  # this process has no threads of its own
        )

    def wait_for(self, folder: Path, files: int) -> None:
        """Until this many files are there."""
        deadline = time.monotonic() + 120
        while not folder.exists() or sum(path.name[0] != "." for path in folder.iterdir()) < files:
            if self.process.poll() is not None:
                raise AssertionError(f"it ended before: {self.process.communicate()}")
            assert time.monotonic() < deadline, "it does not start"
            time.sleep(0.01)

    def signal_group(self, number: signal.Signals) -> None:
        """As the terminal does at Ctrl-C."""
        os.killpg(self.process.pid, number)

    def end(self) -> tuple[int, str, str]:
        """How it ended: code, output, errors."""
        try:
            output, errors = self.process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            self.clean_up()
            raise
        return self.process.returncode, output, errors

    def left(self) -> list[int]:
        """Descendants that are still there; each has some seconds to notice that its parent is gone."""
        deadline = time.monotonic() + 10
        while (found := marked_processes(self.mark)) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.clean_up()
        return found

    def clean_up(self) -> None:
        """Leave nothing of it."""
        for pid in marked_processes(self.mark):
            os.kill(pid, signal.SIGKILL)
        self.process.communicate()
