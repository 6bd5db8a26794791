"""`causal-bandits serve` as a process of its own."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import IO


class Process:
    """A server that was started by the command line; `address` is where it answers."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "causal_bandits.cli", "serve", "--port", "0", *arguments]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        self.pid = self._process.pid
        line = _pipe(self._process.stdout).readline()
        assert line.startswith("Serving at "), (line, _pipe(self._process.stderr).read())
        self.address = line.split()[2]

    def kill(self) -> None:
        """As after a power failure."""
        self._process.kill()
        self._end()

    def stop(self) -> tuple[int, str]:
        """SIGTERM; gives the exit code and what was said on standard error."""
        self._process.terminate()
        return self._end()

    def _end(self) -> tuple[int, str]:
        _, said = self._process.communicate(timeout=300)
        return self._process.returncode, said

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


@contextlib.contextmanager
def serving(*arguments: str) -> Iterator[Process]:
    """A server until the end of the block."""
    process = Process(*arguments)
    try:
        yield process
    finally:
        if process.is_running:
            process.kill()
