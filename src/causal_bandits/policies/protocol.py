"""The protocol of a rule: a state, and what is done with it. Asking, telling and rollouts need nothing else.

A state is a NamedTuple that holds arrays; `choose` and `learn` are compiled functions of it, registered by its type.
"""

from typing import Any

import numpy as np

from ..compiled import Floats, Ints, compiled, put
from ..dispatch import Operation, entry, generic

TIE = 1e-12
"""Means that differ by less than this share of themselves are the same."""
BEST, CLOSE, LOSS = range(3)


@Operation
def choose(state: Any, rng: np.random.Generator) -> int:
    """The next arm.

    Args:
        state: State of the policy.
        rng: Generator of the policy's draws.
    """
    raise NotImplementedError


@Operation
def learn(state: Any, arm: int, seen: Any, reward: float) -> None:
    """Count one row: what was seen of the observed variables, and the reward.

    Args:
        state: State of the policy, which is changed in place.
        arm: Number of the arm.
        seen: Codes or values of the observed variables.
        reward: The reward.
    """
    raise NotImplementedError


@Operation
def indices(state: Any, rng: np.random.Generator) -> Floats:
    """What `choose` compares, from the same random numbers; NaN for arms that it does not compare.

    Args:
        state: State of the policy.
        rng: Generator of the policy's draws.
    """
    raise NotImplementedError


@Operation
def look(state: Any, rng: np.random.Generator) -> Any:
    """What many draws from the same posterior have in common, worked out once."""
    raise NotImplementedError


@generic
def look_at_nothing(state: Any, rng: np.random.Generator) -> int:
    """`look` of a state whose draws have nothing in common."""
    return 0


@Operation
def believed(state: Any, seen: Any, rng: np.random.Generator) -> Floats:
    """One draw of every arm's mean from the posterior, NaN for arms not allowed; `seen` is what `look` gave."""
    raise NotImplementedError


@Operation
def expect(state: Any, arm: int, seen: Any) -> None:
    """Count a row whose reward is pending, for what it says without one; a state that cannot learns it later.

    Args:
        state: State of the policy, which is changed in place.
        arm: Number of the arm.
        seen: Codes or values of the observed variables.
    """
    raise NotImplementedError


@Operation
def settle(state: Any, arm: int, seen: Any, reward: float) -> None:
    """Count the reward of a row that was expected.

    Args:
        state: State of the policy, which is changed in place.
        arm: Number of the arm.
        seen: Codes or values of the observed variables.
        reward: The reward.
    """
    raise NotImplementedError


@Operation
def forget(state: Any, arm: int, seen: Any) -> None:
    """Take back a row that was expected and gets no reward.

    Args:
        state: State of the policy, which is changed in place.
        arm: Number of the arm.
        seen: Codes or values of the observed variables.
    """
    raise NotImplementedError


@expect.otherwise
@forget.otherwise
@generic
def wait(state: Any, arm: int, seen: Any) -> None:
    """`expect` and `forget` of a state that learns nothing without a reward."""


@settle.otherwise
@generic
def learn_at_last(state: Any, arm: int, seen: Any, reward: float) -> None:
    """`settle` of such a state: the whole row is new."""
    learn(state, arm, seen, reward)


@entry
def expect_many(state: Any, arms: Ints, seen: Any) -> None:
    """Count many rows whose rewards are pending."""
    for row in range(len(arms)):
        expect(state, arms[row], seen[row])


@entry
def settle_many(state: Any, arms: Ints, seen: Any, rewards: Any) -> None:
    """Count the rewards of many rows that were expected."""
    for row in range(len(arms)):
        settle(state, arms[row], seen[row], rewards[row])


@entry
def forget_many(state: Any, arms: Ints, seen: Any) -> None:
    """Take back many rows that were expected."""
    for row in range(len(arms)):
        forget(state, arms[row], seen[row])


@entry
def choose_many(state: Any, rng: np.random.Generator, count: int) -> Ints:
    """Several arms from the same state, as for a batch of users that arrive together."""
    arms = np.empty(count, dtype=np.int64)
    for place in range(count):
        arms[place] = choose(state, rng)
    return arms


@compiled
def highest_net(values: Floats, cost: Floats, rng: np.random.Generator) -> int:
    """The arm with the highest value less its cost, ties drawn; -1 where no arm has a value."""
    best, most, ties = -1, -np.inf, 0
    for arm in range(len(values)):
        net = values[arm] - cost[arm]
        if net > most or (best < 0 and not np.isnan(net)):
            best, most, ties = arm, net, 1
        elif net == most:
            ties += 1
            if rng.random() * ties < 1:
                best = arm
    return best


@entry
def choose_net_many(state: Any, rng: np.random.Generator, count: int, cost: Floats) -> Ints:
    """The same by what `choose` compares less the cost of each arm; where nothing is compared, what `choose` says."""
    arms = np.empty(count, dtype=np.int64)
    for place in range(count):
        best = highest_net(indices(state, rng), cost, rng)
        arms[place] = best if best >= 0 else choose(state, rng)
    return arms


@entry
def learn_many(state: Any, arms: Ints, seen: Any, rewards: Any) -> None:
    """Count many rows, one after the other."""
    for row in range(len(arms)):
        learn(state, arms[row], seen[row], rewards[row])


@entry
def compared(state: Any, rng: np.random.Generator) -> Floats:
    """`indices`, for Python."""
    return indices(state, rng)


@compiled
def add_standings(means: Floats, margin: float, rng: np.random.Generator, standings: Floats) -> None:
    """Count one draw of all means: which arm is the best (ties are drawn), which are close, and what each loses."""
    best, most, ties = 0, -np.inf, 0
    for arm in range(len(means)):
        if means[arm] > most + TIE * abs(most) or (ties == 0 and not np.isnan(means[arm])):
            best, most, ties = arm, means[arm], 1
        elif means[arm] >= most - TIE * abs(most):
            ties += 1
            if rng.random() * ties < 1:
                best = arm
    standings[best, BEST] += 1
    for arm in range(len(means)):
        if not np.isnan(means[arm]):
            standings[arm, CLOSE] += means[arm] >= most - margin
            standings[arm, LOSS] += max(most - means[arm], 0.0)


@entry
def standings(
    state: Any, rng: np.random.Generator, draws: int, arms: int, margin: float, cost: Floats, kept: Floats
) -> Floats:
    """(arms, 3), sums over posterior draws: is the best, is within `margin` of the best, what it loses to it.

    Arms are compared by their means less their `cost`. As many draws as `kept`, (draws, arms), has room for stay there.
    """
    seen = look(state, rng)
    found = np.zeros((arms, 3))
    for draw in range(draws):
        means = believed(state, seen, rng) - cost
        if draw < len(kept):
            put(kept[draw], means)
        add_standings(means, margin, rng, found)
    return found
