"""The shop as it really is: what banner and shipping do to clicks, carts and purchases. The study never sees this."""

from dataclasses import dataclass

import numpy as np

import causal_bandits as cb

CLICKS = {"none": 0.15, "red": 0.30, "blue": 0.10, "green": 0.40}
"""How often a visitor clicks, by banner."""
CARTS = {
    ("paid", 0): (0.85, 0.12, 0.03),
    ("paid", 1): (0.45, 0.40, 0.15),
    ("free", 0): (0.75, 0.18, 0.07),
    ("free", 1): (0.30, 0.40, 0.30),
}
"""The chances of an empty, a small and a full cart, by shipping and click."""
LEVELS = ("empty", "some", "full")
BUYS = (0.01, 0.30, 0.60)
"""How often a visitor buys, by cart."""
REFUNDED = 0.15
"""Of the purchases."""
BOTS, STAFF = 0.08, 0.02
"""Of the visitors: bots click on everything and buy nothing, staff tries out the checkout and buys."""

PROBLEM = cb.Problem(
    "purchase",
    {"clicked": 2, "cart": list(LEVELS)},
    {"banner": ["none", "red", "blue"], "shipping": ["paid", "free"]},
)


def true_rate(banner: str, shipping: str) -> float:
    """The share of human visitors that buy and keep what they bought."""
    rate = 0.0
    for clicked in (0, 1):
        click = CLICKS[banner] if clicked else 1 - CLICKS[banner]
        for place, cart in enumerate(CARTS[shipping, clicked]):
            rate += click * cart * BUYS[place]
    return rate * (1 - REFUNDED)


@dataclass(frozen=True)
class Visit:
    """What a visitor does with the page that the shop shows."""

    key: str
    clicked: int
    cart: str
    bought: int
    refunded: bool
    days: int
    """How long after the visit the purchase is reported."""

    @property
    def is_human(self) -> bool:
        """Whether this is a customer, and not a bot or staff."""
        return self.key.startswith("visitor-")


def key_of(number: int, rng: np.random.Generator) -> str:
    """The key of a new visitor, as the shop's cookie has it."""
    kind = rng.choice(["bot", "staff", "visitor"], p=[BOTS, STAFF, 1 - BOTS - STAFF])
    return f"{kind}-{number}"


def visit(key: str, banner: str, shipping: str, rng: np.random.Generator) -> Visit:
    """A visit of the page with this banner and shipping."""
    if key.startswith("bot-"):
        return Visit(key, 1, "empty", 0, False, 0)
    if key.startswith("staff-"):
        return Visit(key, 1, "full", 1, False, 0)
    clicked = int(rng.random() < CLICKS[banner])
    place = int(rng.choice(3, p=CARTS[shipping, clicked]))
    bought = int(rng.random() < BUYS[place])
    return Visit(key, clicked, LEVELS[place], bought, bool(bought and rng.random() < REFUNDED), int(rng.geometric(0.4)))
