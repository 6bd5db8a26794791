"""Compiled functions are kept on disk where that can be done, and work where it cannot."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import causal_bandits

PROGRAM = """
import sys, causal_bandits
assert causal_bandits.__file__.startswith(sys.argv[1]), causal_bandits.__file__
policy = causal_bandits.ThompsonSampling(causal_bandits.Problem("Y", {"A": 2}, {"I": 2}), seed=0)
print(policy.ask())
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A copy of the package in which nothing can be cached: not even root can make a folder where a file stands."""
    target = tmp_path / "installed"
    source = Path(causal_bandits.__file__).parent
    shutil.copytree(source, target / "causal_bandits", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in {path.parent for path in target.rglob("*.py")}:
        (folder / "__pycache__").touch()
    (tmp_path / "home").touch()
    (tmp_path / "temporary").mkdir()
    return target


def play(installed: Path) -> str:
    folder = installed.parent
    dropped = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "TEMP", "TMP")
    environment = {name: value for name, value in os.environ.items() if name not in dropped}
    environment |= {"HOME": str(folder / "home"), "TMPDIR": str(folder / "temporary"), "PYTHONPATH": str(installed)}
    command = [sys.executable, "-c", PROGRAM, str(installed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_a_place_for_a_cache_a_private_temporary_folder_is_used(installed: Path) -> None:
    assert play(installed).startswith("do(")
    (cache,) = (installed.parent / "temporary").iterdir()
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert list(cache.rglob("*.nbi"))


def test_a_temporary_folder_that_others_may_write_is_not_trusted(installed: Path) -> None:
    """What is cached is run, so whoever can write there could run anything."""
    shared = installed.parent / "temporary" / f"causal-bandits-{os.getuid()}"
    shared.mkdir()
    shared.chmod(0o777)
    assert play(installed).startswith("do(")
    assert not list(shared.iterdir())
