"""The posterior of all arms' means: estimates, recommendations, lifts and effects are functions of it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...errors import whole_number
from ..compiled import Bools, Floats, Ints
from ..seeds import Seed, generator
from .protocol import draw_many

Sampler = Callable[[np.random.Generator, int], Floats]
"""Joint draws of all means, (n, arms)."""
MOST_DRAWS, FEWEST_DRAWS, ARMS_DRAWN = 4000, 200, 1_000_000
"""Draws of `Posterior.draws`: fewer with many arms, so that they take a second or so at most."""
LIMIT = 10_000_000
TIE = 1e-12
"""Means that differ by less than this share of themselves are the same."""


class Source(NamedTuple):
    """The rows behind the estimate of one arm."""

    own_rows: int
    """Rows of the arm."""
    effective_rows: float
    """Own rows that would give the same posterior variance."""
    through: tuple[str, ...] | None = None
    """The set the arm learns through; None: own rows and levers only."""
    used_rows: int = -1
    """Own rows with a value for every variable of that set; -1: all own rows."""
    through_share: float = 1.0
    """Weight of that set, where a policy averages over sets."""


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """The posterior of all arms' means after some rows; later rows do not change it.

    Args:
        rows: Rows with a reward.
        means: (arms,): posterior means.
        sources: The rows behind each arm's estimate.
        sampler: Joint draws of all means, (n, arms), from a generator.

    >>> from causal_bandits import Problem, ThompsonSampling
    >>> posterior = ThompsonSampling(Problem("buys", {}, {"banner": ["none", "red"]}), seed=0).posterior()
    >>> posterior.means.tolist(), posterior.sample_means(0, 5).shape, posterior.draws.shape
    ([0.5, 0.5], (5, 2), (4000, 2))
    """

    rows: int
    means: Floats
    sources: Sequence[Source]
    sampler: Sampler

    def __repr__(self) -> str:
        return f"Posterior({len(self.means):,} arms, {self.rows:,} rows)"

    @classmethod
    def of_draws(
        cls,
        rows: int,
        sources: Sequence[Source],
        sampler: Sampler,
        size: Callable[[float, float], float],
    ) -> "Posterior":
        """A posterior whose means are those of its draws.

        `size` says how many own rows leave a mean with this mean and variance.
        """
        draws = sampler(np.random.default_rng(rows), number_of_draws(len(sources)))
        means, variances = draws.mean(axis=0), draws.var(axis=0)
        known = zip(sources, means.tolist(), variances.tolist(), strict=True)
        sized = [source._replace(effective_rows=float(size(mean, variance))) for source, mean, variance in known]
        return cls(rows, means, sized, sampler)._with_draws(draws)

    @classmethod
    def resampled(cls, rows: int, sources: Sequence[Source], means: Floats, draws: Floats) -> "Posterior":
        """A posterior known by some joint draws, (draws, arms): further ones are drawn from these."""

        def sampler(rng: np.random.Generator, n: int) -> Floats:
            return draws[rng.integers(len(draws), size=n)]

        return cls(rows, means, sources, sampler)._with_draws(draws)

    def _with_draws(self, draws: Floats) -> "Posterior":
        vars(self)["draws"] = draws
        return self

    def widened(self, by: float, lowest: float = -math.inf, highest: float = math.inf) -> "Posterior":
        """The same means with `by` times the variance; draws stay between `lowest` and `highest`."""
        if by == 1:
            return self
        draws = np.clip(self.means + math.sqrt(by) * (self.draws - self.means), lowest, highest)
        sources = [source._replace(effective_rows=source.effective_rows / by) for source in self.sources]
        return Posterior.resampled(self.rows, sources, self.means, draws)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """(low, high), each (arms,): equal-tailed intervals of the means, from `draws`; infinite without a mean."""
        low, high = np.quantile(self.draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
        unknown = np.isnan(self.means)
        return np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)

    def sample_means(self, rng: Seed, n: int) -> Floats:
        """(n, arms): joint draws of all means."""
        return self.sampler(generator(rng), whole_number("n", n, 1, LIMIT))

    @cached_property
    def draws(self) -> Floats:
        """(draws, arms): the joint draws that give intervals and probabilities; they depend on the rows alone."""
        return self.sample_means(np.random.default_rng(self.rows), number_of_draws(len(self.means)))

    @property
    def own_rows(self) -> Ints:
        """(arms,): rows of each arm."""
        return np.array([source.own_rows for source in self.sources], dtype=np.int64)


def number_of_draws(arms: int) -> int:
    """How many draws tell how probable an arm is to be the best.

    >>> [number_of_draws(arms) for arms in (27, 1000, 6561)]
    [4000, 1000, 200]
    """
    return min(MOST_DRAWS, max(FEWEST_DRAWS, ARMS_DRAWN // arms))


S = TypeVar("S")


def snapshot(state: S) -> S:
    """A copy of a state: its records and arrays, which learning changes in place."""
    if isinstance(state, np.ndarray):
        return state.copy()
    return type(state)(*map(snapshot, state)) if hasattr(state, "_fields") else state  # type: ignore[call-overload]


def sampler_of(state: Any, arms: int) -> Sampler:
    """Joint draws by the compiled rules of a state (`prepare` and `sample_means`)."""

    def sample(rng: np.random.Generator, n: int) -> Floats:
        draws = np.empty((n, arms))
        draw_many(state, rng, draws)
        return draws

    return sample


def beta_sizes(means: Floats, variances: Floats) -> Floats:
    """a + b of the Beta distributions with these means and variances."""
    sizes: Floats = means * (1 - means) / variances - 1
    return sizes


# Functions of draws, (draws, arms)


def best_of(draws: Floats, among: Bools) -> Floats:
    """(arms,): in which share of the draws each arm is the best of some; ties are shared, NaN for the other arms.

    >>> draws = np.array([[0.1, 0.3, 0.9], [0.4, 0.2, 0.9], [0.5, 0.5, 0.9]])
    >>> best_of(draws, np.array([True, True, False])).tolist()
    [0.5, 0.5, nan]
    """
    known = np.where(np.isnan(draws[:, among]), -np.inf, draws[:, among])
    most = known.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        first = known >= most - TIE * np.abs(most)
    shares: Floats = np.full(len(among), np.nan)
    shares[among] = (first / np.maximum(first.sum(axis=1, keepdims=True), 1)).mean(axis=0)
    return shares


def losses(draws: Floats, among: Bools, arm: int) -> Floats:
    """(draws,): by how much the best of some arms is ahead of one of them."""
    behind: Floats = np.maximum(np.nanmax(draws[:, among], axis=1) - draws[:, arm], 0.0)
    return behind
