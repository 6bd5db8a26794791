"""Hillstrom's e-mail experiment as a world: nine counts say all that matters."""

from ...core.problem import Level, Levels
from .discrete_scm import DiscreteSCM
from .mechanisms import Effect, Mechanism
from .reward_laws import Law, RewardSCM, fixed, log_normal

COUNTS = {"none": (19_044, 2_140, 122), "women's": (18_149, 3_049, 189), "men's": (17_413, 3_627, 267)}
"""Customers without a visit, with a visit alone, with a visit and a conversion, for each e-mail."""


SPEND = {"none": 0.65, "women's": 1.08, "men's": 1.42}
"""Mean spend per customer, in dollars."""
SIGMA = 0.8
"""Standard deviation of the logarithm of an amount: an assumption, the counts do not say."""


def hillstrom_world() -> DiscreteSCM:
    """Three arms (no e-mail, women's, men's), the mediator `visit`, the reward `conversion`, 0.6 to 1.3%.

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


def hillstrom_spend_world() -> RewardSCM:
    """The same arms and mediator with the reward `spend`: 99.1% zeros; 0.65, 1.08 and 1.42 dollars on average.

    Visits and conversions are the frequencies of the data. An amount is log-normal with sigma 0.8, scaled per e-mail so
    that the mean spend is that of the data (113, 122 and 113 dollars per conversion); its shape is an assumption.

    >>> hillstrom_spend_world().means.round(2).tolist()
    [0.65, 1.08, 1.42]
    """
    laws: dict[Level, float | Law] = {"nothing": fixed(0.0)}
    effects: dict[Level, Effect] = {}
    for place, (mail, (absent, visited, converted)) in enumerate(COUNTS.items()):
        total = absent + visited + converted
        laws[mail] = log_normal(SPEND[mail] * total / converted, SIGMA)
        visit, buys = (visited + converted) / total, converted / (visited + converted)
        row = [1 - buys, *(buys if other == place else 0.0 for other in range(len(COUNTS)))]
        effects[mail] = {
            "visit": Mechanism([], [1 - visit, visit]),
            "spend": Mechanism(["visit"], [[1.0, 0.0, 0.0, 0.0], row]),
        }
    own = {name: how for name, how in effects["none"].items() if isinstance(how, Mechanism)}
    variables: dict[str, Levels] = {"visit": 2, "spend": list(laws)}
    levers = {"email": {**effects, "none": {}}}
    return RewardSCM(variables, own, levers, laws, reward="revenue", target="spend")
