"""The wind tunnel: needs causalchamber, which is optional."""

import importlib.util
import sys

import numpy as np
import pytest

from causal_bandits.errors import MissingExtraError, OptionError
from causal_bandits.research.worlds import wind_tunnel_world


def test_without_the_package_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("causalchamber", "causalchamber.simulators", "causalchamber.simulators.wt"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"pip install .\.\[chamber\]"):
        wind_tunnel_world()


def test_physics_and_means(capsys: pytest.CaptureFixture[str]) -> None:
    """Intake alone makes the highest pressure; speeds are proportional to loads; a seed gives the same rows."""
    if importlib.util.find_spec("causalchamber") is None:  # importing it greets
        pytest.skip("causalchamber is not installed")
    world = wind_tunnel_world(rows=50, seed=0)
    assert len(world.problem.arms) == 18
    assert capsys.readouterr().out == ""
    best = world.problem.arms[int(world.means.argmax())]
    assert (best["load_in"], best["load_out"]) == (1.0, 0.1)
    assert world.means[world.problem.index({"load_in": 0.5, "load_out": 0.5})] == pytest.approx(0, abs=3)
    rows = [world.pull({"load_in": 0.5}, np.random.default_rng(seed)) for seed in range(30)]
    assert np.mean([float(row["rpm_in"]) for row in rows]) == pytest.approx(1500, rel=0.05)
    assert np.array_equal(world.means, wind_tunnel_world(rows=50, seed=0).means)
    with pytest.raises(OptionError, match="rows=1"):
        wind_tunnel_world(rows=1)
