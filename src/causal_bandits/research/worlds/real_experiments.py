"""Worlds with the published results of real experiments: Hillstrom's e-mails, Karlan and Zinman's loan offers."""

from collections.abc import Mapping

from ...core.problem import Level, Levels, Problem
from .discrete_scm import DiscreteSCM
from .mechanisms import Effect, Mechanism
from .reward_laws import Law, RewardSCM, fixed, log_normal
from .world import DiscreteWorld

EMAIL_COUNTS = {"none": (19_044, 2_140, 122), "women's": (18_149, 3_049, 189), "men's": (17_413, 3_627, 267)}
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
    return _two_steps("visit", "conversion", "email", EMAIL_COUNTS)


def hillstrom_spend_world() -> RewardSCM:
    """The same arms and mediator with the reward `spend`: 99.1% zeros; 0.65, 1.08 and 1.42 dollars on average.

    Visits and conversions are the frequencies of the data. An amount is log-normal with sigma 0.8, scaled per e-mail so
    that the mean spend is that of the data (113, 122 and 113 dollars per conversion); its shape is an assumption.

    >>> hillstrom_spend_world().means.round(2).tolist()
    [0.65, 1.08, 1.42]
    """
    laws: dict[Level, float | Law] = {"nothing": fixed(0.0)}
    effects: dict[Level, Effect] = {}
    for place, (mail, (absent, visited, converted)) in enumerate(EMAIL_COUNTS.items()):
        total = absent + visited + converted
        laws[mail] = log_normal(SPEND[mail] * total / converted, SIGMA)
        visit, buys = (visited + converted) / total, converted / (visited + converted)
        row = [1 - buys, *(buys if other == place else 0.0 for other in range(len(EMAIL_COUNTS)))]
        effects[mail] = {
            "visit": Mechanism([], [1 - visit, visit]),
            "spend": Mechanism(["visit"], [[1.0, 0.0, 0.0, 0.0], row]),
        }
    own = {name: how for name, how in effects["none"].items() if isinstance(how, Mechanism)}
    variables: dict[str, Levels] = {"visit": 2, "spend": list(laws)}
    levers = {"email": {**effects, "none": {}}}
    return RewardSCM(variables, own, levers, laws, reward="revenue", target="spend")


LOAN_COUNTS = {
    "0-2%": ((1811, 24, 113), (1382, 15, 114)),
    "2-12%": ((5940, 64, 404), (4358, 61, 393)),
    "12-25%": ((6915, 92, 477), (5223, 73, 417)),
    "25-40%": ((5470, 80, 444), (4031, 48, 352)),
    "above 40%": ((7843, 99, 611), (5707, 87, 530)),
}
"""Offers that nobody applied for, that led to an application only, and to a loan: by discount on the usual interest
rate, without and with the offer of a one-year term."""


def loan_world() -> DiscreteWorld:
    """Ten arms (discount and term of a mailed loan offer), the mediator `applied`, the reward `took_up`, 6 to 8%.

    The frequencies in the 53,178 offers of Karlan and Zinman (*Credit Elasticities in Less-Developed Economies*,
    American Economic Review 2008; replication data under CC BY 4.0) are the truth. Nobody takes up a loan without an
    application, and applicants do so at the same rate under all offers within noise, so `applied` separates, almost.

    >>> world = loan_world()
    >>> len(world.problem.arms), round(float(world.means.min()), 3), round(float(world.means.max()), 3)
    (10, 0.058, 0.084)
    """
    offers = {
        f"{discount}, {term}": counts
        for discount, by_term in LOAN_COUNTS.items()
        for term, counts in zip(("no", "yes"), by_term, strict=True)
    }
    single = _two_steps("applied", "took_up", "offer", offers)
    levers = {"discount": list(LOAN_COUNTS), "one_year_term": ["no", "yes"]}
    return DiscreteWorld(Problem("took_up", {"applied": 2}, levers), single.sampler, single.means)


def _two_steps(mediator: str, target: str, lever: str, counts: Mapping[str, tuple[int, int, int]]) -> DiscreteSCM:
    """The world of counts by arm, the control first: without the mediator, with it alone, with the reward too."""
    effects: dict[Level, Effect] = {}
    for arm, (absent, alone, both) in counts.items():
        first, second = (alone + both) / (absent + alone + both), both / (alone + both)
        effects[arm] = {
            mediator: Mechanism([], [1 - first, first]),
            target: Mechanism([mediator], [[1.0, 0.0], [1 - second, second]]),
        }
    control = next(iter(effects))
    own = {name: how for name, how in effects[control].items() if isinstance(how, Mechanism)}
    return DiscreteSCM({mediator: 2, target: 2}, own, {lever: {**effects, control: {}}}, target=target)
