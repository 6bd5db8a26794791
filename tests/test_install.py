"""What works without the libraries of an extra, and what is said where one is needed."""

import os
import subprocess
import sys

import pytest

BLOCK = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
import causal_bandits as cb
"""
PRACTICE = """
problem = cb.Problem("y", {"m": 2}, {"i": 2})
policy = cb.preset("safe", problem, seed=0)
for reward in (0, 1, 1):
    policy.tell(policy.ask(), {"m": reward, "y": reward})
print(policy.recommend().arm in problem.arms, len(policy.estimates().to_frame()))
try:
    cb.simulate(cb.ThompsonSampling, cb.worlds.example_world("S3"), 20).plot()
except cb.errors.MissingExtraError as error:
    print(error)
"""
LONG = """
run = cb.simulate(cb.ThompsonSampling, cb.worlds.example_world("S3"), 2000)
print(run.regret.shape)
"""
CLIENT = """
try:
    cb.Client("http://127.0.0.1:9").load("shop")
except cb.errors.StorageError as error:
    print("cannot be reached" in str(error))
"""


def run(absent: set[str], program: str) -> tuple[str, str]:
    command = [sys.executable, "-c", BLOCK.format(absent=absent) + program]
    given = os.environ | {"CAUSAL_BANDITS_COMPILE": "background"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=given)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_a_study_needs_neither_numba_nor_matplotlib() -> None:
    shown, warned = run({"numba", "llvmlite", "matplotlib"}, PRACTICE)
    first, said = shown.splitlines()
    assert first == "True 2"
    assert said == "matplotlib is not installed; in a clone of the repository run: pip install '.[plots]'"
    assert warned == ""


def test_a_long_simulation_without_numba_says_so_once() -> None:
    shown, warned = run({"numba", "llvmlite"}, LONG)
    assert shown == "(1, 100)\n"
    assert warned.count("numba is not installed") == 1


def test_the_client_needs_none_of_the_large_libraries() -> None:
    pytest.importorskip("httpx")
    assert run({"numba", "llvmlite", "matplotlib", "polars", "scipy"}, CLIENT) == ("True\n", "")


@pytest.mark.parametrize("program", ["", "cb.Problem", "cb.preset", "import causal_bandits.cli"])
def test_heavy_libraries_are_imported_when_they_are_used(program: str) -> None:
    heavy = ("numba", "scipy", "polars", "matplotlib", "sqlalchemy")
    shown, _ = run(set(), f"{program}\nprint([name for name in {heavy} if name in sys.modules])")
    assert shown == "[]\n"
