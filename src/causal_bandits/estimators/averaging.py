"""What all sets together say of an arm: their means, weighed by how probable and how sure each is.

One set leaves an arm the lowest variance, but others may separate as well, or in its place. To take the word of one
where several are as good is to choose among noisy answers; their average is nearer to the truth (Bayesian model
averaging, Hoeting et al. 1999), and how far they are apart is doubt that the variance of a single set does not show.
"""

import numpy as np

from ..compiled import Floats, compiled, total
from .degrees import SEPARATES, Graded, own_bounds


@compiled
def set_weights(state: Graded) -> Floats:
    """(sets,): how much the word of a set counts: P(it separates) over its mean variance; 0 if improbable."""
    sets, arms = len(state.separates), len(state.chosen)
    weights = np.zeros(sets)
    for place in range(1, sets):
        if state.separates[place] >= SEPARATES:
            variances = 0.0
            for arm in range(arms):
                variances += state.moments[place, arm, 1]
            weights[place] = state.separates[place] * arms / variances
    return weights


@compiled
def said_of_arm(state: Graded, arm: int, weights: Floats) -> tuple[float, float]:
    """The average of what sets say of an arm's mean, and how far they are apart (variance).

    An arm that goes by its own rows keeps to them; a set that own rows contradict has no say.
    """
    place = state.chosen[arm]
    start = state.moments[place, arm, 0]
    if place == 0:
        return start, 0.0
    low, high = own_bounds(state.own.own[arm, 0], state.own.own[arm, 1])
    everything, first, second = 0.0, 0.0, 0.0
    for other in range(1, len(weights)):
        mean = state.moments[other, arm, 0]
        if weights[other] > 0 and low <= mean <= high:
            away = mean - start
            everything += weights[other]
            first += weights[other] * away
            second += weights[other] * away * away
    if everything == 0:
        return start, 0.0
    shift = first / everything
    return start + shift, max(second / everything - shift * shift, 0.0)


@compiled
def set_shares(state: Graded) -> Floats:
    """(sets, arms): how much each set counts in the average for an arm; 0 for an arm that its own rows decide."""
    weights = set_weights(state)
    shares = np.zeros((len(weights), len(state.chosen)))
    for arm in range(len(state.chosen)):
        if state.chosen[arm] > 0:
            low, high = own_bounds(state.own.own[arm, 0], state.own.own[arm, 1])
            for place in range(1, len(weights)):
                if low <= state.moments[place, arm, 0] <= high:
                    shares[place, arm] = weights[place]
            whole = total(shares[:, arm])
            if whole > 0:
                shares[:, arm] /= whole
            else:
                shares[state.chosen[arm], arm] = 1.0
    return shares


@compiled
def draw_set(weights: Floats, rng: np.random.Generator) -> int:
    """A set, drawn by weight; 0 if none has any."""
    left = rng.random() * total(weights)
    for place in range(1, len(weights)):
        left -= weights[place]
        if left < 0:
            return place
    return 0


@compiled
def average_over_sets(state: Graded) -> None:
    """Fill the shifts of arms, if there is room for them."""
    if len(state.shifts):
        weights = set_weights(state)
        for arm in range(len(state.shifts)):
            state.shifts[arm] = said_of_arm(state, arm, weights)[0] - state.moments[state.chosen[arm], arm, 0]
