"""The two worlds of Bilodeau, Wang and Roy (2022): one in which sharing through Z helps, one in which it misleads."""

import math
from typing import Literal, get_args

from ...core.problem import Level
from ...core.validation import validated
from ...errors import OptionError, brief, whole_number
from .discrete_scm import DiscreteSCM
from .mechanisms import Effect, Mechanism

Case = Literal["benign", "worst"]


@validated
def bilodeau_world(case: Case = "benign", *, horizon: int, arms: int = 20) -> DiscreteSCM:
    """One lever with `arms` values, one observed bit Z, and a reward (their sec. 6).

    - ``benign``: P(Z = 1) is .0005 for the first arm, else .9995; P(Y = 1) = .5 + (1 - Z) sqrt(arms ln T / T).
    - ``worst``: P(Z = 1) = 6/8 for the first half of the arms, 7/8 for the rest; P(Y = 1 | Z = 1) = 5.5/6 for the first
      half, 1/6 for the rest, and one minus that given Z = 0. The arm acts on the reward too, so nothing separates.

    Args:
        case: ``"benign"`` or ``"worst"``.
        horizon: Number of rounds T, from which the benign gap follows.
        arms: Number of values of the lever.

    >>> bilodeau_world("worst", horizon=2000).means.round(3).tolist()[9:11]
    [0.708, 0.25]
    """
    if case not in get_args(Case):
        raise OptionError(f"case={brief(case)}; expected one of {', '.join(get_args(Case))}")
    horizon, arms = whole_number("horizon", horizon, 2), whole_number("arms", arms, 2, 10_000)
    gap = math.sqrt(arms * math.log(horizon) / horizon)
    if case == "benign" and gap > 0.5:
        raise OptionError(f"horizon={horizon} gives a reward probability above 1; use a longer horizon for {arms} arms")
    effects: dict[Level, Effect] = {}
    for arm in range(arms):
        if case == "benign":
            effects[arm] = {"Z": _coin(0.0005 if arm == 0 else 0.9995)}
        else:
            first = arm < arms // 2
            one = 5.5 / 6 if first else 1 / 6
            effects[arm] = {
                "Z": _coin(6 / 8 if first else 7 / 8),
                "Y": Mechanism(["Z"], [[one, 1 - one], [1 - one, one]]),
            }
    high = 0.5 + gap if case == "benign" else 0.5  # in the worst case every arm brings its own mechanism
    reward = Mechanism(["Z"], [[1 - high, high], [0.5, 0.5]])
    return DiscreteSCM({"Z": 2, "Y": 2}, {"Z": _coin(0.5), "Y": reward}, {"I": effects})


def _coin(chance: float) -> Mechanism:
    return Mechanism([], [1 - chance, chance])
