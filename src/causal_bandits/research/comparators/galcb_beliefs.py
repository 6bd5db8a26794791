"""What the equations of GA-LCB say of arms, for estimates and recommendations: draws of them all, and errors."""

import math

import numpy as np

from ...core.compiled import Floats, compiled
from ...core.estimators.linear_algebra import lower_root
from ...core.policies.protocol import prepare, sample_means
from .galcb_rules import LinearState, mean_at, spread_at


@compiled
def residual_variance(state: LinearState, equation: int) -> float:
    """Of what the parents leave of a variable, in the rows of one equation."""
    model, scatter, slopes = state.model, state.pooled.scatter[equation], state.model.slopes[equation]
    variable = model.variable[equation]
    size, parents = model.sizes[variable], model.parents[variable]
    left = scatter[variable, variable]
    for one in range(size):
        left -= 2 * slopes[one] * scatter[parents[one], variable]
        for other in range(size):
            left += slopes[one] * scatter[parents[one], parents[other]] * slopes[other]
    return float(max(left, 0.0) / max(state.pooled.counts[equation] - size - 1, 1))


@prepare.of(LinearState)
@compiled
def prepare_equations(state: LinearState, rng: np.random.Generator) -> Floats:
    """(equations, variables, variables): roots of the covariance of the slopes; last, the error of the mean."""
    model = state.model
    roots = np.zeros(model.inverse.shape)
    for equation in range(len(model.variable)):
        size = model.sizes[model.variable[equation]]
        sigma = math.sqrt(residual_variance(state, equation))
        root = lower_root(model.inverse[equation, :size, :size], 0.0)
        for one in range(size):
            for other in range(size):
                roots[equation, one, other] = sigma * root[one, other]
        roots[equation, -1, -1] = sigma / math.sqrt(state.pooled.counts[equation])
    return roots


@sample_means.of(LinearState)
@compiled
def draw_linear_means(state: LinearState, prepared: Floats, rng: np.random.Generator) -> Floats:
    """One draw of every equation, normal around its estimate, and what follows for the arms that are left."""
    model = state.model
    slopes, shifts = model.slopes.copy(), np.empty(len(model.variable))
    for equation in range(len(shifts)):
        size = model.sizes[model.variable[equation]]
        shifts[equation] = prepared[equation, -1, -1] * rng.standard_normal()
        for other in range(size):
            noise = rng.standard_normal()
            for one in range(other, size):
                slopes[equation, one] += prepared[equation, one, other] * noise
    found, means = np.full(len(state.means), np.nan), np.zeros(len(model.order))
    for arm in range(len(found)):
        if state.counts.allowed[arm]:
            for variable in model.order:
                equation = model.equations[arm, variable]
                means[variable] = shifts[equation] + mean_at(state, equation, means, slopes[equation])
            found[arm] = means[-1]
    return found


@compiled
def means_and_variances(state: LinearState) -> Floats:
    """(arms, 2): the reward's mean under every arm, and its variance to first order.

    That is the sum over variables of the variance of what their equation says, times the square of what it adds to
    the reward.
    """
    model, found = state.model, np.zeros((len(state.means), 2))
    residuals = np.empty(len(model.variable))
    for equation in range(len(residuals)):
        residuals[equation] = residual_variance(state, equation)
    means = np.zeros(len(model.order))
    for arm in range(len(found)):
        for variable in model.order:
            equation = model.equations[arm, variable]
            means[variable] = mean_at(state, equation, means, model.slopes[equation])
        found[arm, 0] = means[-1]
        adds = np.zeros(len(means))
        adds[-1] = 1.0
        for variable in model.order[::-1]:
            equation = model.equations[arm, variable]
            found[arm, 1] += adds[variable] ** 2 * residuals[equation] * spread_at(state, equation, means)
            for place in range(model.sizes[variable]):
                adds[model.parents[variable, place]] += adds[variable] * model.slopes[equation, place]
    return found
