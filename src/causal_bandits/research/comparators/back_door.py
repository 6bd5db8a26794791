"""Huang and Zhou 2023: what is observed under do() gives every arm a prior, by adjusting for its variable's parents."""

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import numpy as np

from ...core.compiled import Floats, Ints, by_reference, compiled
from ...core.discovery.tiers import TARGETS, Tier
from ...core.graphs.enumeration import MOST_NODES
from ...core.policies.base import Variant
from ...core.policies.protocol import sample_means
from ...core.problem import Problem
from ...core.seeds import Seed
from ...errors import OptionError, ProblemError, flag, whole_number
from ...libraries import special
from .base import ALL, CountingPolicy
from .counts import Counts, arm_index, counted, moments
from .graph_posterior import all_graphs
from .mixture_quantile import upper_quantile
from .settings import atomic_arms, settings_of

GROWTH = 0.1
"""By how much the rows grow from one look at the parents to the next."""


@counted
@by_reference
class MixtureState(NamedTuple):
    """Counts, and for every arm a mixture of Beta priors, one per set of parents."""

    counts: Counts
    weights: Floats
    """(arms, sets): the posterior of each set of parents."""
    ones: Floats
    """(arms, sets): the prior's pseudo-rows with reward 1."""
    zeros: Floats
    width: float
    """Standard deviations of the upper bound, times sqrt(ln t); 0: draws from the posterior are compared."""
    quantile: bool
    """The upper bound is the quantile 1 - 1 / t."""


@moments.of(MixtureState)
@compiled
def mixture_moments(state: MixtureState, arm: int) -> tuple[float, float]:
    """Mean and variance of the mixture of Beta(ones + own ones, zeros + own zeros)."""
    first, second = 0.0, 0.0
    for place in range(state.weights.shape[1]):
        a = state.ones[arm, place] + state.counts.rewards[arm, 1]
        total = a + state.zeros[arm, place] + state.counts.rewards[arm, 0]
        first += state.weights[arm, place] * a / total
        second += state.weights[arm, place] * a * (a + 1) / (total * (total + 1))
    return first, max(second - first * first, 0.0)


@compiled
def mixture_draw(state: MixtureState, arm: int, rng: np.random.Generator) -> float:
    """A set of parents by its posterior, then a mean given it."""
    chance, place = rng.random(), 0
    for each in range(state.weights.shape[1]):
        if state.weights[arm, each] > 0:
            place = each
            chance -= state.weights[arm, each]
            if chance < 0:
                break
    a = state.ones[arm, place] + state.counts.rewards[arm, 1]
    return float(rng.beta(a, state.zeros[arm, place] + state.counts.rewards[arm, 0]))


@arm_index.of(MixtureState)
@compiled
def mixture_index(state: MixtureState, arm: int, rng: np.random.Generator) -> float:
    """The quantile 1 - 1 / t, E + c sqrt(Var ln t), or a draw."""
    if state.quantile:
        own = state.counts.rewards[arm]
        ones, zeros = state.ones[arm] + own[1], state.zeros[arm] + own[0]
        return upper_quantile(1.0 / max(state.counts.rows[0], 2), state.weights[arm], ones, zeros)
    if state.width <= 0:
        return mixture_draw(state, arm, rng)
    mean, variance = mixture_moments(state, arm)
    return mean + state.width * math.sqrt(variance * math.log(max(state.counts.rows[0], 2)))


@sample_means.of(MixtureState)
@compiled
def sample_by_mixture(state: MixtureState, prepared: int, rng: np.random.Generator) -> Floats:
    """A draw of every allowed arm."""
    means = np.full(len(state.counts.allowed), np.nan)
    for arm in range(len(means)):
        if state.counts.allowed[arm]:
            means[arm] = mixture_draw(state, arm, rng)
    return means


class BackDoorBandit(CountingPolicy):
    """Bayesian back-door bandit: Thompson Sampling, UCB or Bayes-UCB with back-door priors mixed over sets of parents.

    For do(X = x) and a set Z that may be the parents of X, the rows of do() say mu = sum_z P(y | x, z) P(z) with a
    standard error se; the prior given Z is Beta(n0 mu, n0 (1 - mu)), n0 = mu (1 - mu) / se^2 - 1 clipped to [1, n + 1].
    An arm's own rewards update every one of them, and they are mixed by P(Pa(X) = Z | all rows). Thompson Sampling
    draws from the mixture; with `width` c the arm with the highest E + c sqrt(Var ln t) is played (their UCB), with
    `quantile` the one with the highest quantile 1 - 1 / t of the mixture (Bayes-UCB; Kaufmann, Cappe and Garivier 2012
    prove more with 1 - 1 / (t ln(T)^5), and advise this one, which needs no horizon).

    From Algorithm 1 of the paper as it is quoted in reviews, and from the authors' code. Deviations: the paper is given
    observational rows, here the first `observe` pulls are do(); se is that of the delta method, and probabilities are
    smoothed by one uniform pseudo-row, as in their code; parents are weighed by every graph over the variables and the
    reward with uniform Dirichlet priors (so at most 4 observed variables), when the rows have grown by 10%. Where Z
    holds the reward, X does not act on it, and mu is its mean. Not built: real rewards.

    Args:
        problem: What is played; `targets` must say which one variable each lever sets.
        observe: Pulls of do() that make the priors.
        width: Factor of the upper bound; None draws from the posterior.
        quantile: Whether to play the highest quantile 1 - 1 / t instead.
        seed: Seed or Generator of its draws.

    >>> problem = Problem("Y", {"A": 2}, {"I": ["idle", 0, 1]}, targets={"I": "A"})
    >>> policy = BackDoorBandit(problem, observe=40, seed=0)
    >>> policy.tell_many({"I": ["idle"] * 40, "A": [0, 1] * 20, "Y": [0, 1] * 20})
    >>> {name: round(chance, 2) for name, chance in policy.parents("A").items()}  # observing cannot tell which way
    {(): 0.5, ('Y',): 0.5}
    """

    name = "back-door-ts"
    tier = Tier.OBSERVED
    assumes = ("unconfounded",)
    hints = f"{TARGETS}, and that there are no hidden common causes"
    variants: ClassVar[Mapping[str, Variant]] = {
        "back-door-ucb": Variant({"width": 1.0}),
        "back-door-bayes-ucb": Variant({"quantile": True}),
    }
    compares = "its draw or bound from the mixture of back-door priors"
    _through = ALL

    def __init__(
        self,
        problem: Problem,
        *,
        observe: int = 100,
        width: float | None = None,
        quantile: bool = False,
        seed: Seed = None,
    ) -> None:
        self._sets = settings_of(problem, self.name)
        self._idle = atomic_arms(problem, self._sets, self.name)
        if len(problem.observed) >= MOST_NODES:
            raise ProblemError(
                f"{self.name} weighs every causal graph, which is possible for {MOST_NODES - 1} observed variables and "
                f"the reward; this problem has {len(problem.observed)}; use a policy without hints"
            )
        self.observe = whole_number("observe", observe, 1)
        if width is not None and not (isinstance(width, int | float) and 0 < width < math.inf):
            raise OptionError(f"width={width!r}; expected a positive number, or None to draw from the posterior")
        self.width, self.quantile = width, flag("quantile", quantile)
        if quantile and width is not None:
            raise OptionError(f"quantile=True and width={width!r} are two bounds; give one of them")
        self._sizes = [*(variable.size for variable in problem.observed), 2]
        self._options = {"observe": self.observe, "width": width, **({"quantile": True} if quantile else {})}
        super().__init__(problem, seed=seed)

    def parents(self, variable: str) -> dict[tuple[str, ...], float]:
        """The sets that may be the parents of a variable, with their posterior probabilities, the likeliest first."""
        names = (*self.problem.observed_names, self.problem.target)
        chances = parent_posterior(self._joint(self._state.counts), self._sets)[names.index(variable)]
        found = {
            tuple(name for place, name in enumerate(names) if mask >> place & 1): float(chance)
            for mask, chance in enumerate(chances)
            if chance > 0
        }
        return dict(sorted(found.items(), key=lambda each: -each[1]))

    def _joint(self, counts: Counts) -> Ints:
        """(arms, levels of every variable, 2): the rows of each arm."""
        return counts.seen.reshape(len(self._sets), *self._sizes)

    def _start(self, counts: Counts) -> MixtureState:
        shape = (len(self._sets), 2 ** len(self._sizes))
        self._observed = False
        flat = np.zeros(shape)
        flat[:, 0] = 1.0
        state = MixtureState(counts, flat, np.ones(shape), np.ones(shape), float(self.width or 0.0), self.quantile)
        pulls = np.zeros(len(self._sets), dtype=np.int64)
        pulls[self._idle] = self.observe
        return self._explore(state, pulls)

    def _plan(self, state: MixtureState) -> MixtureState:
        joint = self._joint(state.counts)
        if not self._observed:
            self._observed = True
            ones, zeros = back_door_priors(joint[self._idle], self._sets)
            state = state._replace(ones=ones, zeros=zeros)
        self._plan_at = self._counted + max(10, math.ceil(GROWTH * self._counted))
        weights, of_variable = state.weights.copy(), parent_posterior(joint, self._sets)
        for arm, place in enumerate((self._sets >= 0).argmax(axis=1)):
            if arm != self._idle:
                weights[arm] = of_variable[place]
        return state._replace(weights=weights)


def back_door_priors(rows: Ints, settings: Ints) -> tuple[Floats, Floats]:
    """(arms, sets of parents): pseudo-rows with reward 1 and 0 of every arm; do() has one of each.

    Args:
        rows: Levels of every variable and the reward: the rows of do().
        settings: (arms, variables): the level that an arm sets, -1 where none.
    """
    nodes = rows.ndim
    ones, zeros = np.ones((2, len(settings), 2**nodes))
    for arm, row in enumerate(settings):
        if (row < 0).all():
            continue
        variable = int((row >= 0).argmax())
        for mask in range(2**nodes):
            if not mask >> variable & 1:
                mean, size = back_door_prior(rows, variable, int(row[variable]), mask)
                ones[arm, mask], zeros[arm, mask] = size * mean, size * (1 - mean)
    return ones, zeros


def back_door_prior(rows: Ints, variable: int, level: int, mask: int) -> tuple[float, float]:
    """mu and n0 of do(X = x) given that the nodes in `mask` are the parents of X.

    >>> rows = np.array([[30, 10], [5, 15]])  # X by Y, no parents: mu is P(Y = 1 | X = 1)
    >>> mean, size = back_door_prior(rows, 0, 1, 0)
    >>> round(mean, 3), round(size, 1)
    (0.744, 19.5)
    """
    nodes, total = rows.ndim, rows.sum() + 1
    if mask >> (nodes - 1) & 1:  # the reward is a cause of X
        mean = float((rows[..., 1].sum() + 0.5) / total)
        return mean, float(total)
    adjusted = [place for place in range(nodes - 1) if mask >> place & 1]
    kept = [variable, *adjusted, nodes - 1]
    table = np.einsum(rows, list(range(nodes)), kept).reshape(rows.shape[variable], -1, 2).astype(np.float64)
    p = (table + 1 / table.size) / total  # x, z, y
    of_z, of_xz = p.sum(axis=(0, 2)), p[level].sum(axis=1)
    given = p[level, :, 1] / of_xz
    mean = float(given @ of_z)
    gradient = np.broadcast_to(given[None, :, None], p.shape).copy()
    gradient[level] += (np.array([0.0, 1.0]) - given[:, None]) * (of_z / of_xz)[:, None]
    variance = float((p * gradient**2).sum() - (p * gradient).sum() ** 2) / total
    return mean, float(np.clip(mean * (1 - mean) / variance - 1, 1, total)) if variance > 0 else float(total)


def parent_posterior(rows: Ints, settings: Ints) -> Floats:
    """(nodes, sets): P(parents of the node | rows), by the sum over all graphs of their posterior.

    Args:
        rows: Arms, then levels of every variable and the reward.
        settings: (arms, variables): the level that an arm sets, -1 where none.
    """
    nodes = rows.ndim - 1
    graphs = all_graphs(nodes)
    logs = np.zeros(len(graphs))
    for node in range(nodes):
        free = settings[:, node] < 0 if node < nodes - 1 else np.ones(len(settings), dtype=np.bool_)
        logs += _scores(rows[free].sum(axis=0), node)[graphs[:, node]]
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return np.array([np.bincount(graphs[:, node], weights, minlength=2**nodes) for node in range(nodes)])


def _scores(table: Ints, node: int) -> Floats:
    """(sets,): log marginal likelihood of a node given each set of parents, Dirichlet(1, ..., 1) in every cell."""
    nodes, levels = table.ndim, table.shape[node]
    found = np.zeros(2**nodes)
    for mask in range(2**nodes):
        if not mask >> node & 1:
            parents = [place for place in range(nodes) if mask >> place & 1]
            cells = np.einsum(table, list(range(nodes)), [*parents, node]).reshape(-1, levels)
            cells = cells[cells.sum(axis=1) > 0]
            each = (
                special.gammaln(levels)
                - special.gammaln(levels + cells.sum(axis=1))
                + special.gammaln(1 + cells).sum(axis=1)
            )
            found[mask] = each.sum()
    return found
