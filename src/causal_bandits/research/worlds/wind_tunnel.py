"""The wind tunnel of the causal chambers (Gamella, Peters and Buehlmann 2025), simulated; needs the extra `chamber`."""

import contextlib
import io
import itertools
from typing import Any

import numpy as np

from ...core.problem import Problem
from ...core.seeds import Seed, generator
from ...errors import missing_extra, whole_number
from .logged import LoggedWorld

LOADS = (0.1, 0.5, 1.0)
HATCHES = (0, 45)
FLUCTUATION = 0.03
"""Relative standard deviation of a fan's load around what its lever says."""
FAN = {"L_min": 0.1, "omega_max": 3000.0}
TUNNEL = {"S_max": 74.82, "Q_max": 186.3 / 3600, "r_0": 0.7, "beta": 0.15}
CURRENT = {"L_min": 0.1, "C_min": 0.166, "C_max": 0.27}
BAROMETER = {"barometer_error": 0.0, "barometer_precision": 2.0}
AMBIENT = 95_000.0
"""Pascals."""


def wind_tunnel_world(*, rows: int = 400, seed: Seed = None) -> LoggedWorld:
    """Two fans and a hatch: what makes the highest pressure in the tunnel? 18 arms, rewards are numbers.

    Levers are the loads of the intake and the exhaust fan and the angle of the hatch; seen are the speeds of both fans
    (rpm) and the current of the intake fan (A); the reward is the pressure above that outside (Pa). Rows are those of
    the package's simulators A1, B1 and C3; pulling an arm draws one of them. {rpm_in, rpm_out} does not separate, since
    the hatch acts on the pressure itself.

    Decided here: a fan's load fluctuates by 3% around its lever, so that speeds vary; the barometer's standard
    deviation is 2 Pa. The constants of fans and tunnel could not be checked against the paper: read the pressures as
    those of a tunnel like it. The measured data sets need a download and are not used; a frame of theirs goes into
    `LoggedWorld` as it is.

    Args:
        rows: Number of rows simulated for each arm.
        seed: Seed or Generator of fluctuations and sensor noise.
    """
    simulators, pandas = _libraries()
    rng, count = generator(seed), whole_number("rows", rows, 2, 1_000_000)
    arms = np.array(list(itertools.product(LOADS, LOADS, HATCHES))).repeat(count, axis=0)
    loads = np.clip(arms[:, :2] * (1 + FLUCTUATION * rng.standard_normal((len(arms), 2))), 0.0, 1.0)
    inputs = pandas.DataFrame(
        {"load_in": loads[:, 0], "load_out": loads[:, 1], "hatch": arms[:, 2], "pressure_ambient": AMBIENT}
    )
    tunnel = simulators.SimA1C3(**FAN, **TUNNEL, **BAROMETER, random_state=rng)
    pressure, rpm_in, rpm_out = tunnel.simulate_from_inputs(inputs)
    current = simulators.ModelB1(**CURRENT).simulate_from_inputs(pandas.DataFrame({"load": loads[:, 0]}))
    problem = Problem(
        "pressure",
        dict.fromkeys(("rpm_in", "rpm_out", "current_in"), float),
        {"load_in": LOADS, "load_out": LOADS, "hatch": HATCHES},
        reward=float,
    )
    levers = {"load_in": arms[:, 0].tolist(), "load_out": arms[:, 1].tolist(), "hatch": arms[:, 2].astype(int).tolist()}
    seen = {"rpm_in": rpm_in, "rpm_out": rpm_out, "current_in": current, "pressure": pressure - AMBIENT}
    return LoggedWorld(problem, {**levers, **{name: np.asarray(values).tolist() for name, values in seen.items()}})


def _libraries() -> tuple[Any, Any]:
    """The simulators, whose package greets on import, and pandas, which they take their inputs from."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            import causalchamber.simulators.wt as simulators
        import pandas
    except ImportError:
        raise missing_extra("causalchamber", "chamber") from None
    return simulators, pandas
