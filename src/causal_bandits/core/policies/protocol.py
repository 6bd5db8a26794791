"""The operations on a state; asking, telling and rollouts need nothing else.

A state is a NamedTuple that holds arrays. Operations are compiled functions, registered by its type. Those of the model
are `learn`, `expect`, `record_reward` and `forget`, which count rows, and `prepare` and `sample_means`, which draw from
the posterior. Those of the explorer are `choose`, and `indices`, which says what `choose` compares.
"""

from typing import Any

import numpy as np

from ..compiled import Floats, Ints, Operation, compiled, put


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
def prepare(state: Any, rng: np.random.Generator) -> Any:
    """What many draws from the same posterior have in common, computed once."""
    raise NotImplementedError


@compiled
def prepare_nothing(state: Any, rng: np.random.Generator) -> int:
    """`prepare` of a state whose draws have nothing in common."""
    return 0


@Operation
def sample_means(state: Any, prepared: Any, rng: np.random.Generator) -> Floats:
    """One joint draw of all arms' means, NaN for arms not allowed; `prepared` is what `prepare` gave."""
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
def record_reward(state: Any, arm: int, seen: Any, reward: float) -> None:
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
@compiled
def wait(state: Any, arm: int, seen: Any) -> None:
    """`expect` and `forget` of a state that learns nothing without a reward."""


@record_reward.otherwise
@compiled
def learn_at_last(state: Any, arm: int, seen: Any, reward: float) -> None:
    """`record_reward` of such a state: the whole row is new."""
    learn(state, arm, seen, reward)


@compiled
def expect_many(state: Any, arms: Ints, seen: Any) -> None:
    """Count many rows whose rewards are pending."""
    for row in range(len(arms)):
        expect(state, arms[row], seen[row])


@compiled
def record_rewards(state: Any, arms: Ints, seen: Any, rewards: Any) -> None:
    """Count the rewards of many rows that were expected."""
    for row in range(len(arms)):
        record_reward(state, arms[row], seen[row], rewards[row])


@compiled
def forget_many(state: Any, arms: Ints, seen: Any) -> None:
    """Take back many rows that were expected."""
    for row in range(len(arms)):
        forget(state, arms[row], seen[row])


@compiled
def choose_many(state: Any, rng: np.random.Generator, count: int) -> Ints:
    """Several arms from the same state, as for a batch of users that arrive together."""
    arms = np.empty(count, dtype=np.int64)
    for index in range(count):
        arms[index] = choose(state, rng)
    return arms


@compiled
def highest_net(values: Floats, cost: Floats, rng: np.random.Generator) -> int:
    """The arm with the highest value less its cost, ties drawn; -1 if no arm has a value."""
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


@compiled
def choose_net_many(state: Any, rng: np.random.Generator, count: int, cost: Floats) -> Ints:
    """The same by what `choose` compares less the cost of each arm; if nothing is compared, what `choose` says."""
    arms = np.empty(count, dtype=np.int64)
    for index in range(count):
        best = highest_net(indices(state, rng), cost, rng)
        arms[index] = best if best >= 0 else choose(state, rng)
    return arms


@compiled
def learn_many(state: Any, arms: Ints, seen: Any, rewards: Any) -> None:
    """Count many rows, one after the other."""
    for row in range(len(arms)):
        learn(state, arms[row], seen[row], rewards[row])


@compiled
def compared(state: Any, rng: np.random.Generator) -> Floats:
    """`indices`, for Python."""
    return indices(state, rng)


@compiled
def draw_many(state: Any, rng: np.random.Generator, draws: Floats) -> None:
    """Fill (draws, arms) with joint draws of all means."""
    prepared = prepare(state, rng)
    for draw in range(len(draws)):
        put(draws[draw], sample_means(state, prepared, rng))
