"""What is shipped: the wheel holds the typed package alone, and works from where it is installed."""

import subprocess
import sys
import zipfile
from pathlib import Path

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
from causal_bandits.estimators.posterior import beta_moments  # quick to compile
print(beta_moments(0.0, 0.0)[0], sum(beta_moments.stats.cache_misses.values()))
"""


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
    assert python("-c", PROGRAM, target, env=place | {"NUMBA_DISABLE_JIT": "1"}).startswith("do(")
    assert python("-c", COMPILED, env=place) == "0.5 1\n"
    assert list((tmp_path / "cache").rglob("*.nbc"))
