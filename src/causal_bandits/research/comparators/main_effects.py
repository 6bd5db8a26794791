"""Main-effects Thompson Sampling: arms learn from each other through the levels of their levers.

A hierarchical normal model, on the scale of probabilities or of log-odds:

    value of arm a  =  intercept  +  effect[lever 1, its level]  +  effect[lever 2, its level]  +  ...  +  deviation[a]
    effects ~ N(0, effect variance),   deviations ~ N(0, deviation variance),   measured value ~ N(value, 1 / precision)

The two variances are averaged over a grid, weighted by their posterior probability. Given the effects, an arm has a
Beta prior with the mean m that they predict and the deviation variance, so its probability of a reward is drawn from

    Beta(k m + rewards, k (1 - m) + rows - rewards),     k = m (1 - m) / deviation variance - 1

The effects are drawn once for all arms. Between two refits the effects stay the same and arms count their own rows.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.compiled import Bools, Floats, Ints, by_reference, compiled, interpreted
from ...core.estimators.linear_algebra import cholesky, forward, lower_root
from ...core.policies.base import Variant
from ...core.policies.posterior import Posterior, Source, beta_sizes, sampler_of, snapshot
from ...core.policies.protocol import indices, learn
from ...core.problem import Problem
from ...core.seeds import Seed
from ...errors import flag
from ...libraries import special
from .base import RewardsAlone
from .counts import drawn

Scale = Literal["linear", "logistic"]

EFFECT_SDS = np.array([0.0, 0.1, 0.3, 0.9])
DEVIATION_SDS = np.array([0.06, 0.2, 0.6, 1.6])
"""The grid of standard deviations, in units of one log-odds: p (1 - p) on the scale of probabilities."""
TYPICAL_SD, SD_FACTOR = 0.35, 1.6
"""Prior of the total standard deviation over arms: lognormal, the median and the standard deviation of the log."""
LEAST_VARIANCE = 1e-6
"""Added to variances, in squared units, so that none is 0."""
INTERCEPT_VARIANCE = 4.0
"""Prior variance of the intercept, in units."""
LEAST_PIVOT = 1e-18
"""The smallest pivot of the Cholesky factor of a covariance."""
EDGE = 0.05
"""Predicted probabilities are at least this share of the mean probability; their complements likewise."""
FEWEST_PRIOR_ROWS = 0.2
"""A Beta prior counts as at least this many rows."""
REFITS = 5
"""A refit starts from the last one; the posterior is read after this many, starting from nothing."""


@by_reference
class MainEffectsFit(NamedTuple):
    """The model as of the last refit."""

    posterior_mean: Floats
    """(arms,): posterior mean of each arm's probability."""
    prior_mean: Floats
    """(arms,): what the other arms predict for it."""
    prior_variance: Floats
    """(arms,): variance of that prediction."""
    effects: Floats
    """(1 + levels of all levers,): posterior mean of the intercept and the effects."""
    root: Floats
    """Cholesky factor of their posterior covariance."""
    mean_probability: Floats
    """(1,): mean over arms."""
    deviation: Floats
    """(1,): variance of an arm's deviation."""


@drawn
@by_reference
class MainEffectsState(NamedTuple):
    """Counts of every arm, and the fitted model."""

    columns: Ints
    """(arms, 1 + levers): which entries of `effects` add up to an arm's value; the first is the intercept."""
    rows: Floats
    rewards: Floats
    fit: MainEffectsFit
    logistic: bool
    allowed: Bools


@compiled
def to_probability(value: Any, variance: Any, mean_probability: float, logistic: bool) -> tuple[Any, Any]:
    """Mean and variance of probabilities from those on the scale of the effects (delta method)."""
    probability = 1 / (1 + np.exp(-value)) if logistic else value
    probability = np.maximum(probability, EDGE * mean_probability)
    probability = np.minimum(probability, 1 - EDGE * (1 - mean_probability))
    return probability, (probability * (1 - probability)) ** 2 * variance if logistic else variance


@compiled
def beta_posterior(mean: Any, variance: Any, rows: Any, rewards: Any) -> tuple[Any, Any]:
    """Parameters of Beta posteriors, from the means and variances of the Beta priors."""
    size = np.maximum(mean * (1 - mean) / variance - 1, FEWEST_PRIOR_ROWS)
    return size * mean + rewards, size * (1 - mean) + rows - rewards


@compiled
def normal_equations(
    values: Floats, precision: Floats, columns: Ints, size: int, deviation: float
) -> tuple[Floats, Floats, float]:
    """X'WX and X'Wy of the measured values y, and the part of their log likelihood that does not depend on effects."""
    matrix, vector, log_likelihood = np.zeros((size, size)), np.zeros(size), 0.0
    for arm in range(len(values)):
        if precision[arm] > 0:
            weight = 1 / (1 / precision[arm] + deviation)
            log_likelihood += 0.5 * math.log(weight) - 0.5 * weight * values[arm] ** 2
            for one in columns[arm]:
                vector[one] += weight * values[arm]
                for other in columns[arm]:
                    matrix[one, other] += weight
    return matrix, vector, log_likelihood


@compiled
def log_evidence(values: Floats, precision: Floats, columns: Ints, prior: Floats, deviation: Floats) -> Floats:
    """(e, d): log evidence of the prior precisions (e, effects) and the deviation variances (d,)."""
    size = prior.shape[1]
    found, solution = np.empty((len(prior), len(deviation))), np.empty(size)
    for j in range(len(deviation)):
        matrix, vector, log_likelihood = normal_equations(values, precision, columns, size, deviation[j])
        for i in range(len(prior)):
            root = matrix + np.diag(prior[i])
            cholesky(root)
            forward(root, vector, solution)
            found[i, j] = log_likelihood
            for k in range(size):
                found[i, j] += 0.5 * math.log(prior[i, k]) - math.log(root[k, k]) + 0.5 * solution[k] ** 2
    return found


def fit_effects(
    values: Floats, precision: Floats, columns: Ints, size: int, unit: float, intercept: float
) -> tuple[Floats, Floats, float]:
    """Posterior mean and covariance of intercept and effects, and the deviation variance.

    `unit` is the value of one log-odds, and `intercept` the prior variance of the intercept.
    """

    def prior_of(effect: Floats) -> Floats:
        prior = np.repeat(1 / (np.maximum(effect, LEAST_VARIANCE) * unit**2), size).reshape(-1, size)
        prior[:, 0] = 1 / intercept
        return prior

    levers = columns.shape[1] - 1
    effects, deviations = EFFECT_SDS[: None if levers else 1] ** 2, DEVIATION_SDS**2
    spread = 0.5 * np.log(levers * effects[:, None] + deviations + LEAST_VARIANCE)
    logs = log_evidence(values, precision, columns, prior_of(effects), deviations * unit**2)
    logs -= 0.5 * ((spread - math.log(TYPICAL_SD)) / SD_FACTOR) ** 2
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    deviation = float(weights.sum(axis=0) @ deviations * unit**2)
    matrix, vector, _ = normal_equations(values, precision, columns, size, deviation)
    covariance: Floats = np.linalg.inv(matrix + np.diag(prior_of(weights.sum(axis=1) @ effects)[0])).astype(np.float64)
    return covariance @ vector, covariance, deviation


def effect_columns(codes: Ints, sizes: Sequence[int], pairs: bool) -> tuple[Ints, int]:
    """(arms, terms): which effects add up to an arm's value (intercept, levels, pairs of levels); and their number.

    The effects of a single lever would be the deviations of its arms, and so would those of the pair of two levers.

    >>> effect_columns(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), [2, 2], False)[0].tolist()
    [[0, 1, 3], [0, 1, 4], [0, 2, 3], [0, 2, 4]]
    """
    columns, size = [np.zeros(len(codes), dtype=np.int64)], 1
    levers = codes.shape[1]
    for lever in range(levers if levers > 1 else 0):
        columns.append(size + codes[:, lever])
        size += sizes[lever]
    for one, other in itertools.combinations(range(levers if pairs and levers > 2 else 0), 2):
        columns.append(size + codes[:, one] * sizes[other] + codes[:, other])
        size += sizes[one] * sizes[other]
    return np.column_stack(columns), size


def measured(state: MainEffectsState) -> tuple[Floats, Floats]:
    """Values relative to that of the mean probability, and their precisions, on the scale of the effects.

    The noise of an arm is taken at a probability between its posterior and what the others predict: an arm without
    rewards would otherwise have none. Half a reward in one more row is divided among arms in proportion to their rows.
    """
    fit, more = state.fit, 1 / (state.rows.sum() + 1)
    base = float(fit.mean_probability[0])
    probability = 0.5 * (fit.posterior_mean + fit.prior_mean)
    probability = np.clip(probability, EDGE * base, 1 - EDGE * (1 - base))
    noise = probability * (1 - probability)
    mean = (state.rewards / np.maximum(state.rows, 1) + 0.5 * more) / (1 + more)
    if state.logistic:  # one Newton step from the probability
        return special.logit(probability) - special.logit(base) + (mean - probability) / noise, state.rows * noise
    return mean - base, state.rows / noise


def refit(state: MainEffectsState) -> None:
    """Fit variances and effects to all rows, in place.

    On the scale of probabilities one log-odds is worth p (1 - p), where p is the mean over arms. The effects that arms
    are chosen by are fitted with the mean over rows instead if that makes it less.
    """
    fit, rows = state.fit, state.rows.sum()
    base = np.clip(fit.posterior_mean.mean(), 0.5 / (rows + 1), 1 - 0.5 / (rows + 1))
    fit.mean_probability[0] = base
    unit, center = (1.0, special.logit(base)) if state.logistic else (base * (1 - base), base)
    values, precision = measured(state)
    columns, size, intercept = state.columns, len(fit.effects), INTERCEPT_VARIANCE * unit
    mean, covariance, deviation = fit_effects(values, precision, columns, size, unit, intercept)
    # What the other arms predict for each arm
    variance = covariance[columns[:, :, None], columns[:, None]].sum(axis=(1, 2))
    weight = precision / (1 + precision * deviation)
    rest = np.maximum(1 - weight * variance, 1e-9)
    value = center + (mean[columns].sum(axis=1) - weight * variance * values) / rest
    variance = variance / rest + deviation
    fit.prior_mean[:], fit.prior_variance[:] = interpreted(to_probability)(value, variance, base, state.logistic)
    a, b = interpreted(beta_posterior)(fit.prior_mean, fit.prior_variance, state.rows, state.rewards)
    fit.posterior_mean[:] = a / (a + b)
    played = (state.rewards.sum() + 0.5) / (rows + 1)
    if not state.logistic and played * (1 - played) < unit:
        unit = played * (1 - played)
        mean, covariance, deviation = fit_effects(values, precision, columns, size, unit, intercept)
    fit.effects[:], fit.root[:] = mean, lower_root(covariance, LEAST_PIVOT)
    fit.effects[0] += center
    fit.deviation[0] = deviation


@indices.of(MainEffectsState)
@compiled
def draw_probabilities(state: MainEffectsState, rng: np.random.Generator) -> Floats:
    """One joint draw of the probabilities of all allowed arms; NaN for the others."""
    fit, size = state.fit, len(state.fit.effects)
    effects, noise = np.empty(size), np.empty(size)
    for row in range(size):
        noise[row] = rng.standard_normal()
        effects[row] = fit.effects[row]
        for column in range(row + 1):
            effects[row] += fit.root[row, column] * noise[column]
    means = np.full(len(state.rows), np.nan)
    for arm in range(len(means)):
        if state.allowed[arm]:
            value = 0.0
            for column in state.columns[arm]:
                value += effects[column]
            mean, variance = to_probability(value, fit.deviation[0], fit.mean_probability[0], state.logistic)
            a, b = beta_posterior(mean, variance, state.rows[arm], state.rewards[arm])
            means[arm] = rng.beta(a, b)
    return means


@learn.of(MainEffectsState)
@compiled
def count_row(state: MainEffectsState, arm: int, codes: Ints, reward: int) -> None:
    """Count one row."""
    state.rows[arm] += 1
    state.rewards[arm] += reward


class MainEffectsThompson(RewardsAlone[MainEffectsState]):
    """Thompson Sampling with main effects: probability of an arm = intercept + an effect of each lever + a deviation.

    How large effects and deviations are is learned from all arms: arms share much where levers add up, and little where
    they do not. Mediators are ignored.

    With `pairs` every pair of levers has its own effect as well (Hill et al., KDD 2017). On log-odds it is the
    mixed-effect Thompson sampling of Aouali et al. (2023). Deviation: the scales of effects and deviations, which both
    papers take as given, are learned.

    Args:
        scale: Whether effects add up on the scale of probabilities (``"linear"``) or of log-odds (``"logistic"``).
        pairs: Whether pairs of levers have effects besides.

    >>> problem = Problem("purchase", {"clicked": 2}, {"banner": ["none", "red"], "discount": ["none", "10%"]})
    >>> policy = MainEffectsThompson(problem, seed=0)
    >>> for banner, purchase in [("none", 0), ("red", 1)] * 20:
    ...     policy.tell(problem.arm(banner=banner), {"clicked": 1, "purchase": purchase})
    >>> policy.estimates()[3].arm, policy.estimates()[3].mean > 0.5  # never played, but red is good
    (do(banner=red, discount=10%), True)
    """

    name = "main-effects-ts"
    growth: ClassVar[float] = 0.1
    plays_highest = True
    rolls_out_late = True

    variants: ClassVar[Mapping[str, Variant]] = {
        "mixed-effect-ts": Variant({"scale": "logistic"}),
        "pairwise-ts": Variant({"scale": "logistic", "pairs": True}),
    }

    def __init__(self, problem: Problem, *, scale: Scale = "linear", pairs: bool = False, seed: Seed = None) -> None:
        self.scale: Scale = scale
        self.pairs = flag("pairs", pairs)
        super().__init__(problem, seed)

    def _empty(self) -> MainEffectsState:
        logistic, codes = self.scale == "logistic", self.problem.arm_codes
        arms = len(codes)
        columns, size = effect_columns(codes, [lever.size for lever in self.problem.interventions], self.pairs)
        effects = np.zeros(size)
        effects[0] = 0.0 if logistic else 0.5
        fit = MainEffectsFit(
            posterior_mean=np.full(arms, 0.5),
            prior_mean=np.full(arms, 0.5),
            prior_variance=np.full(arms, 1 / 12),
            effects=effects,
            root=np.zeros((size, size)),
            mean_probability=np.array([0.5]),
            deviation=np.array([1.0 if logistic else 1 / 12]),
        )
        rows, rewards = np.zeros(arms), np.zeros(arms)
        return MainEffectsState(columns, rows, rewards, fit, logistic, np.ones(arms, dtype=np.bool_))

    def _refresh(self) -> None:
        refit(self._state)

    def _recount(self) -> None:
        super()._recount()
        refit(self._state)

    def _latest(self) -> MainEffectsState:
        if not self.schedule.is_due(self.progress):
            return self._state
        state = snapshot(self._state)
        refit(state)
        return state

    def _fit(self, *, pending: bool) -> MainEffectsState:
        state = self._empty()._replace(rows=self._state.rows, rewards=self._state.rewards)
        for _ in range(REFITS):
            refit(state)
        return state

    def _posterior(self, state: MainEffectsState) -> Posterior:
        fit = state.fit
        a, b = interpreted(beta_posterior)(fit.prior_mean, fit.prior_variance, state.rows, state.rewards)
        means = a / (a + b)
        variances = means * (1 - means) / (a + b + 1)
        sizes = beta_sizes(means, variances)
        sources = [Source(int(own), float(size)) for own, size in zip(state.rows, sizes, strict=True)]
        return Posterior(self.rows, means, sources, sampler_of(state, len(means)))

    def _sums(self) -> dict[str, NDArray[Any]]:
        return self._state.fit._asdict()
