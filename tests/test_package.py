"""What is shipped: the wheel holds the typed package alone, and works from where it is installed."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from causal_bandits import __version__

ROOT = Path(__file__).parent.parent
PROGRAM = """
import pathlib, sys, causal_bandits as cb
assert pathlib.Path(cb.__file__).is_relative_to(sys.argv[1]), cb.__file__
problem = cb.Problem("Y", {"A": 2}, {"I": 2})
policy = cb.CausalThompsonSampling(problem, seed=0)
policy.tell(policy.ask(), {"A": 1, "Y": 1})
print(policy.recommend().arm)
"""
COMPILED = """
from causal_bandits.core.estimators.posterior import beta_moments  # quick to compile
print(beta_moments(0.0, 0.0)[0])
"""


@pytest.mark.slow
def test_the_wheel_installs_and_works(tmp_path: Path) -> None:
    """A policy as plain Python, which is quick to start, and one compiled function, kept where it should be."""

    def python(*arguments: object, **options: object) -> str:
        command = [sys.executable, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, **options)  # type: ignore[call-overload]
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    python("-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("causal_bandits-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "causal_bandits/py.typed" in names
    assert all(name.startswith("causal_bandits") for name in names)
    assert not any(name.endswith((".nbi", ".nbc", ".pyc")) for name in names)
    target = tmp_path / "installed"
    python("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", target, wheel)
    place = {"PYTHONPATH": str(target), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert python("-c", PROGRAM, target, env=place | {"CAUSAL_BANDITS_COMPILE": "never"}).startswith("do(")
    assert python("-c", COMPILED, env=place | {"CAUSAL_BANDITS_COMPILE": "now"}) == "0.5\n"
    assert list((tmp_path / "cache").rglob("*.nbc"))


@pytest.mark.parametrize(
    ("file", "line"), [("CITATION.cff", r"^version: (\S+)$"), ("CHANGELOG.md", r"^## (\d+\.\d+\.\d+)\b")]
)
def test_the_version_has_one_home(file: str, line: str) -> None:
    """It is in `causal_bandits/__init__.py`, from which the build reads it; what must repeat it says the same."""
    said = re.search(line, (ROOT / file).read_text(), re.MULTILINE)
    assert said is not None
    assert said[1] == __version__
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"] == ["version"]


def test_every_python_that_is_promised_is_tested() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    promised = [line.removeprefix("Programming Language :: Python :: ") for line in listed if ":: Python ::" in line]
    workflow = (ROOT / ".github/workflows/test.yml").read_text()
    matrix = re.search(r"^ +python: \[(.*)\]$", workflow, re.MULTILINE)
    assert matrix is not None
    assert re.findall(r"[\d.]+", matrix[1]) == promised


def test_hooks_format_as_the_checks_do() -> None:
    """The hook's release of ruff is the one that `make check` runs."""
    pinned = re.search(r"^ruff==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    hook = re.search(r"ruff-pre-commit\n +rev: v(\S+)$", (ROOT / ".pre-commit-config.yaml").read_text(), re.MULTILINE)
    assert pinned is not None
    assert hook is not None
    assert hook[1] == pinned[1]


def test_help_lists_every_target() -> None:
    """One line for each target that is not a file."""
    makefile = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony is not None
    listed = re.findall(r"^([a-z-]+):.*## \S", makefile, re.MULTILINE)
    assert sorted(listed) == sorted(phony[1].split())


def test_every_test_that_the_makefile_names_exists() -> None:
    named = re.findall(r"\btests/[\w/.-]+", (ROOT / "Makefile").read_text())
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists()] == []
