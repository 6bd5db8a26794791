"""Karlan and Zinman's loan offers as a world: thirty counts say all that matters."""

from ...core.problem import Level, Problem
from .discrete_scm import DiscreteSCM
from .mechanisms import Effect, Mechanism
from .world import DiscreteWorld

COUNTS = {
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
    offers: dict[Level, Effect] = {}
    for discount, by_term in COUNTS.items():
        for term, (ignored, applied, took_up) in zip(("no", "yes"), by_term, strict=True):
            applies = (applied + took_up) / (ignored + applied + took_up)
            takes = took_up / (applied + took_up)
            offers[f"{discount}, {term}"] = {
                "applied": Mechanism([], [1 - applies, applies]),
                "took_up": Mechanism(["applied"], [[1.0, 0.0], [1 - takes, takes]]),
            }
    first, own = next(iter(offers.items()))
    offers[first] = {}
    mechanisms = {name: how for name, how in own.items() if isinstance(how, Mechanism)}
    single = DiscreteSCM({"applied": 2, "took_up": 2}, mechanisms, {"offer": offers}, target="took_up")
    levers = {"discount": list(COUNTS), "one_year_term": ["no", "yes"]}
    return DiscreteWorld(Problem("took_up", {"applied": 2}, levers), single.sampler, single.means)
