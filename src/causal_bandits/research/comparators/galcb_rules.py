"""GA-LCB as compiled rules: a ridge regression per variable and lever level, bounds of arms through them, elimination.

Every variable has an equation for each level of the lever that acts on it; the rows of an equation are those of all
arms with that level. Moments are centered, so an intercept costs no penalty and the zero of a scale does not matter.
"""

import math
from typing import NamedTuple

import numpy as np

from ...core.compiled import Bools, Floats, Ints, by_reference, compiled
from ...core.data import ArmMoments, add_row
from ...core.policies.protocol import choose, indices, learn
from .counts import NOBODY, any_of, compare

KNOWN, STEP, LAST = range(3)
"""Of `LinearState.stage`: whether parents are known, the step s of the elimination, whether bounds alone decide."""
MOST_STEPS = 60


class Pulls(NamedTuple):
    """What is planned (see `counts.Counts`)."""

    allowed: Bools
    """(arms,): the arms that were not eliminated."""
    quota: Ints
    planned: Ints


@by_reference
class LinearModel(NamedTuple):
    """Equations by number: variable 0 to p - 1 are the observed ones, p is the reward."""

    equations: Ints
    """(arms, variables): the equation of each variable under an arm."""
    variable: Ints
    """(equations,): the variable that an equation is of."""
    order: Ints
    """(variables,): causes before effects, the reward last."""
    parents: Ints
    """(variables, variables): the parents of each, as many as `sizes` says."""
    sizes: Ints
    reach: Floats
    """(variables,): how far the parents of each, as a vector, come from their mean."""
    bound: Floats
    """(1,): how far the reward comes from its mean."""
    slopes: Floats
    """(equations, variables): coefficients of the parents, in their order."""
    inverse: Floats
    """(equations, variables, variables): inverse of 1 + the cross-products of the parents."""
    least: Floats
    """(equations,): the smallest eigenvalue of 1 + those cross-products."""


@by_reference
class LinearState(NamedTuple):
    """All that decides the next arm, but for the random numbers."""

    counts: Pulls
    own: ArmMoments
    """By arm."""
    pooled: ArmMoments
    """By equation."""
    model: LinearModel
    stage: Ints
    means: Floats
    """(arms,): what the equations say of the reward."""
    widths: Floats
    """(arms,): how far that may be off."""
    alpha: float
    horizon: int


@compiled
def fit_equation(state: LinearState, equation: int) -> None:
    """Ridge regression of a variable on its parents, from the rows of one equation."""
    model, scatter = state.model, state.pooled.scatter[equation]
    variable = model.variable[equation]
    size = model.sizes[variable]
    if size == 0:
        return
    parents = model.parents[variable]
    ridge = np.empty((size, size))
    for one in range(size):
        for other in range(size):
            ridge[one, other] = scatter[parents[one], parents[other]]
        ridge[one, one] += 1.0
    inverse = np.linalg.inv(ridge)
    model.least[equation] = np.linalg.eigvalsh(ridge)[0]
    for one in range(size):
        model.slopes[equation, one] = 0.0
        for other in range(size):
            model.inverse[equation, one, other] = inverse[one, other]
            model.slopes[equation, one] += inverse[one, other] * scatter[parents[other], variable]


@compiled
def spread_at(state: LinearState, equation: int, means: Floats) -> float:
    """1 / n + d' V^-1 d, with d how far the parents' means are from those of the rows of an equation."""
    model, pooled = state.model, state.pooled
    variable = model.variable[equation]
    parents = model.parents[variable]
    found = 1.0 / pooled.counts[equation]
    for one in range(model.sizes[variable]):
        away = means[parents[one]] - pooled.means[equation, parents[one]]
        for other in range(model.sizes[variable]):
            rest = means[parents[other]] - pooled.means[equation, parents[other]]
            found += away * model.inverse[equation, one, other] * rest
    return float(found)


@compiled
def mean_at(state: LinearState, equation: int, means: Floats, slopes: Floats) -> float:
    """What an equation says of its variable, given the means of the parents."""
    model, pooled = state.model, state.pooled
    variable = model.variable[equation]
    found = pooled.means[equation, variable]
    for place in range(model.sizes[variable]):
        parent = model.parents[variable, place]
        found += slopes[place] * (means[parent] - pooled.means[equation, parent])
    return float(found)


@compiled
def bound_arm(state: LinearState, arm: int) -> tuple[float, float]:
    """Mean and width of the reward under an arm: variable by variable, errors of the parents added up."""
    model = state.model
    means, widths = np.zeros(len(model.order)), np.zeros(len(model.order))
    for variable in model.order:
        equation, size = model.equations[arm, variable], model.sizes[variable]
        means[variable] = mean_at(state, equation, means, model.slopes[equation])
        widths[variable] = state.alpha * math.sqrt(spread_at(state, equation, means))
        if size > 0:
            widths[variable] += state.alpha * model.reach[variable] / math.sqrt(model.least[equation])
        for place in range(size):
            widths[variable] += widths[model.parents[variable, place]]
    return means[-1], widths[-1]


@compiled
def refine(state: LinearState) -> None:
    """Compute the bounds of the remaining arms; while all are narrower than m 2^-s, drop arms and continue with s + 1.

    An arm is dropped whose bound is below the highest one by more than 2 m 2^-s.
    """
    allowed, stage, bound = state.counts.allowed, state.stage, state.model.bound[0]
    for arm in range(len(allowed)):
        if allowed[arm]:
            state.means[arm], state.widths[arm] = bound_arm(state, arm)
    widest = 0.0
    for arm in range(len(allowed)):
        if allowed[arm]:
            widest = max(widest, state.widths[arm])
    if widest < bound / math.sqrt(state.horizon):
        stage[LAST] = 1
    while widest < bound * 2.0 ** -stage[STEP] and stage[STEP] < MOST_STEPS and allowed.sum() > 1:
        highest = -np.inf
        for arm in range(len(allowed)):
            if allowed[arm]:
                highest = max(highest, state.means[arm] + state.widths[arm])
        widest = 0.0
        for arm in range(len(allowed)):
            if allowed[arm]:
                if state.means[arm] + state.widths[arm] < highest - 2 * bound * 2.0 ** -stage[STEP]:
                    allowed[arm] = False
                else:
                    widest = max(widest, state.widths[arm])
        stage[STEP] += 1


@compiled
def fit_model(state: LinearState) -> None:
    """Fit every equation, once parents are known."""
    state.stage[KNOWN] = 1
    for equation in range(len(state.model.variable)):
        fit_equation(state, equation)
    refine(state)


@learn.of(LinearState)
@compiled
def learn_linear(state: LinearState, arm: int, values: Floats, reward: float) -> None:
    """Count one row as a world draws it, the observed variables and then the reward; fit what it changes."""
    counts, model = state.counts, state.model
    add_row(state.own, arm, values)
    for variable in range(len(model.order)):
        equation = model.equations[arm, variable]
        add_row(state.pooled, equation, values)
        if state.stage[KNOWN]:
            fit_equation(state, equation)
    if counts.quota[arm] > 0:
        counts.quota[arm] -= 1
        counts.planned[0] -= 1
    if state.stage[KNOWN]:
        refine(state)


@compiled
def bounds_decide(state: LinearState) -> bool:
    """Whether the highest bound is played: at last, or when one arm is left."""
    known = state.counts.planned[0] == 0 and state.stage[KNOWN] == 1
    return bool(known and (state.stage[LAST] == 1 or state.counts.allowed.sum() == 1))


@indices.of(LinearState)
@compiled
def linear_indices(state: LinearState, rng: np.random.Generator) -> Floats:
    """The upper bounds of the arms that are left, where these decide."""
    found = np.full(len(state.means), np.nan)
    if bounds_decide(state):
        for arm in range(len(found)):
            if state.counts.allowed[arm]:
                found[arm] = state.means[arm] + state.widths[arm]
    return found


@choose.of(LinearState)
@compiled
def choose_linear(state: LinearState, rng: np.random.Generator) -> int:
    """Planned pulls first; then any arm that is wider than m 2^-s, and at last the one with the highest bound."""
    counts = state.counts
    if counts.planned[0] > 0:
        return any_of(counts.quota, rng)
    if bounds_decide(state):
        leader = NOBODY
        for arm in range(len(state.means)):
            if counts.allowed[arm]:
                leader = compare(leader, arm, state.means[arm] + state.widths[arm], rng)
        return leader.arm
    least = state.model.bound[0] * 2.0 ** -state.stage[STEP]
    wide = np.zeros_like(counts.quota)
    for arm in range(len(wide)):
        wide[arm] = 1 if counts.allowed[arm] and state.widths[arm] >= least else 0
    return any_of(wide, rng)
