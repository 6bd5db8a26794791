"""Funnels whose reward is revenue, a count or an ordered level; all constants at random by seed.

Three levers of 3, 3 and 2 levels (18 arms) nudge who clicks and what goes into the cart, and the reward depends on the
cart. What is drawn, and from which ranges:

    click                      30 to 60% of the control's visitors
    cart                       empty, some, full; 10 to 25% of those who click put something in, 5% of the others
    nudges                     N(0, 0.7) log-odds for every level of every lever: the first acts on clicks, the
                               second on the cart, the third on both
    what follows               a log-odds of + 1.0 to 2.0 per level of the cart
    direct effect              ``direct=True``: N(0, 0.35) for every level of every lever on what follows
"""

import numpy as np

from ...core.compiled import Floats
from ...core.problem import Level, Levels
from ...core.seeds import Seed, generator
from ...errors import OptionError
from .mechanisms import Effect, Mechanism, Nudge
from .practice import _logistic, solve
from .reward_laws import Law, RewardSCM, fixed, log_normal, negative_binomial, poisson

CART = ("empty", "some", "full")
LEVERS = {"banner": 3, "discount": 3, "shipping": 2}
RATINGS = ("bad", "poor", "fair", "good", "great")
VALUES = (0.0, 1.0, 3.0, 6.0, 10.0)


def revenue_world(*, zeros: float = 0.97, direct: bool = False, seed: Seed = None) -> RewardSCM:
    """18 arms; most customers spend nothing, the others a log-normal amount: 20 on average, or 60 for one in four.

    Args:
        zeros: Share of the control's customers who spend nothing.
        direct: Whether levers act on the purchase as well, so that nothing separates.
        seed: Seed or Generator of all constants.

    >>> world = revenue_world(seed=1)
    >>> len(world.problem.arms), world.problem.observed_names, round(float(world.means[0]), 3)
    (18, ('click', 'cart'), 0.9)
    """
    if not 0.5 <= zeros < 1:
        raise OptionError(f"zeros={zeros!r}; expected a share of at least 0.5 and below 1")
    laws = {"nothing": fixed(0.0), "small": log_normal(20.0, 1.0), "large": log_normal(60.0, 1.0)}
    return _funnel(laws, "revenue", "spend", (1 - zeros, 0.25 * (1 - zeros)), direct, generator(seed))


def count_world(*, dispersed: bool = False, direct: bool = False, seed: Seed = None) -> RewardSCM:
    """18 arms; the reward counts calls: 0.2 on average for idle visitors, 1.5 for interested ones, 5 for keen ones.

    Args:
        dispersed: Whether counts vary more than Poisson ones (negative binomial with shape 1).
        direct: Whether levers act on what follows the cart as well, so that nothing separates.
        seed: Seed or Generator of all constants.

    >>> count_world(seed=1).problem.reward.kind
    'count'
    """
    means = {"idle": 0.2, "interested": 1.5, "keen": 5.0}
    laws = {name: negative_binomial(mean, 1.0) if dispersed else poisson(mean) for name, mean in means.items()}
    return _funnel(laws, "count", "calls", (0.3, 0.1), direct, generator(seed))


def ordered_world(*, direct: bool = False, seed: Seed = None) -> RewardSCM:
    """18 arms; the reward is a rating, bad, poor, fair, good or great, worth 0, 1, 3, 6 or 10.

    Args:
        direct: Whether levers act on the rating as well, so that nothing separates.
        seed: Seed or Generator of all constants.

    >>> ordered_world(seed=1).problem.reward.levels
    ('bad', 'poor', 'fair', 'good', 'great')
    """
    laws = {rating: fixed(value) for rating, value in zip(RATINGS, VALUES, strict=True)}
    reward = {"levels": list(RATINGS), "values": list(VALUES)}
    return _funnel(laws, reward, "rating", (0.7, 0.45, 0.25, 0.1), direct, generator(seed))


def _funnel(
    laws: dict[str, Law], reward: object, target: str, above: tuple[float, ...], direct: bool, rng: np.random.Generator
) -> RewardSCM:
    """`above`: the control's chances of reaching each higher level of the outcome."""
    click = rng.uniform(0.3, 0.6)
    into = np.array([0.05, rng.uniform(0.1, 0.25)])
    cart = np.stack([1 - into, 0.7 * into, 0.3 * into], axis=-1)
    control = (1 - click) * cart[0] + click * cart[1]
    lean: Floats = rng.uniform(1.0, 2.0) * np.arange(3.0)
    chain = [_reach(control, lean, chance) for chance in above]
    edges = np.stack([np.ones(3), *chain, np.zeros(3)], axis=-1)
    mechanisms = {
        "click": Mechanism([], [1 - click, click]),
        "cart": Mechanism(["click"], cart),
        target: Mechanism(["cart"], -np.diff(edges, axis=-1)),
    }
    levers: dict[str, dict[Level, Effect]] = {}
    for (name, levels), acts_on in zip(LEVERS.items(), (["click"], ["cart"], ["click", "cart"]), strict=True):
        levers[name] = {0: {}}
        for level in range(1, levels):
            nudges = {variable: Nudge(float(rng.normal(0.0, 0.7))) for variable in acts_on}
            if direct:
                nudges[target] = Nudge(float(rng.normal(0.0, 0.35)))
            levers[name][level] = nudges
    variables: dict[str, Levels] = {"click": 2, "cart": list(CART), target: list(laws)}
    rewards: dict[Level, float | Law] = dict(laws.items())
    return RewardSCM(variables, mechanisms, levers, rewards, reward=reward, target=target)


def _reach(control: Floats, lean: Floats, chance: float) -> Floats:
    """P(reaching a level | cart), with this chance over the control's carts."""
    constant = solve(lambda constant: float(control @ _logistic(lean + constant)) - chance, -30.0, 30.0)
    return _logistic(lean + (constant or 0.0))
