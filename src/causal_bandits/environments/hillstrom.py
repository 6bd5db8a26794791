"""Hillstrom's e-mail experiment as a world: nine counts say all that matters."""

from ..problem import Level
from .discrete_scm import DiscreteSCM
from .mechanisms import Effect, Mechanism

COUNTS = {"none": (19_044, 2_140, 122), "women's": (18_149, 3_049, 189), "men's": (17_413, 3_627, 267)}
"""Customers without a visit, with a visit alone, with a visit and a conversion, for each e-mail."""


def hillstrom_world() -> DiscreteSCM:
    """Three arms (no e-mail, women's, men's), the mediator `visit`, the reward `conversion`, 0.6 to 1.3 %.

    The frequencies in the 64,000 customers of Kevin Hillstrom's MineThatData challenge (2008) are the truth. Nobody
    converted without a visit; visitors convert at almost the same rate under all three (p = .046), so `visit` almost
    separates.

    >>> hillstrom_world().means.round(5).tolist()
    [0.00573, 0.00884, 0.01253]
    """
    effects: dict[Level, Effect] = {}
    for mail, (absent, visited, converted) in COUNTS.items():
        visit = (visited + converted) / (absent + visited + converted)
        buys = converted / (visited + converted)
        effects[mail] = {
            "visit": Mechanism([], [1 - visit, visit]),
            "conversion": Mechanism(["visit"], [[1.0, 0.0], [1 - buys, buys]]),
        }
    own = {name: how for name, how in effects["none"].items() if isinstance(how, Mechanism)}
    return DiscreteSCM({"visit": 2, "conversion": 2}, own, {"email": {**effects, "none": {}}}, target="conversion")
