"""Worlds made from logged tables, one of them a simulated wind tunnel."""

import contextlib
import io
import itertools
from typing import Any

import numpy as np

from ...core.data import History
from ...core.problem import Problem
from ...core.seeds import Seed, generator
from ...errors import WorldError, listing, missing_extra, whole_number
from .sampler import logged_sampler
from .world import ContinuousWorld


class LoggedWorld(ContinuousWorld):
    """A world from a logged table: pulling an arm draws one of its rows, uniformly and with replacement.

    Args:
        problem: The problem; every arm needs a row.
        frame: A dataframe, a list of dicts or a dict of columns, with a column for every lever, every observed variable
            and the reward; other columns are ignored.

    >>> problem = Problem("Y", {"A": float, "B": ["low", "high"]}, {"I": ["off", "on"]}, reward=float)
    >>> world = LoggedWorld(problem, {"I": ["off", "on", "on"], "A": [0.1, 0.2, 0.3], "B": ["low", "low", "high"],
    ...                               "Y": [1.0, 2.0, 4.0]})
    >>> world.means.tolist(), world.pull({"I": "off"}, np.random.default_rng(0))
    ([1.0, 3.0], {'A': 0.1, 'B': 'low', 'Y': 1.0})
    """

    def __init__(self, problem: Problem, frame: Any) -> None:
        rows = History(problem).encode_many(frame)
        missing = [arm for number, arm in enumerate(problem.arms) if not np.any(rows.arms == number)]
        if missing:
            raise WorldError(
                f"the table has no row for {listing(missing, 4)}; list the arms that occur: Problem(..., arms=[...])"
            )
        table = np.empty((len(rows.arms), len(problem.observed) + 1))
        table[:, :-1] = rows.codes
        table[:, [place for place, variable in enumerate(problem.observed) if variable.is_real]] = rows.raw
        table[:, -1] = rows.rewards
        means = np.array([rows.rewards[rows.arms == number].mean() for number in range(len(problem.arms))])
        super().__init__(problem, logged_sampler(rows.arms, table, len(problem.arms)), means)


# The wind tunnel of the causal chambers (Gamella, Peters and Buehlmann 2025), simulated; needs the extra `chamber`


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
    """A simulated wind tunnel with two fans and a hatch, 18 arms and real-valued rewards.

    The levers are the loads of the intake and the exhaust fan and the angle of the hatch. The speeds of both fans (rpm)
    and the current of the intake fan (A) are observed. The reward is the pressure above that outside (Pa). Rows are
    those of the package's simulators A1, B1 and C3; pulling an arm draws one of them. {rpm_in, rpm_out} does not
    separate, since the hatch acts on the pressure itself.

    Our choices: a fan's load fluctuates by 3% around its lever, so that speeds vary; the barometer's standard deviation
    is 2 Pa. The constants of the fans and the tunnel could not be checked against the paper, so read the pressures as
    those of a similar tunnel. The measured data sets need a download and are not used; `LoggedWorld` takes their
    frames.

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
