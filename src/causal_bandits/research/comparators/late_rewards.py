"""Two policies for rewards that come late: delay-corrected Thompson sampling, and Impatient Bandits."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...core.compiled import Bools, Floats, Ints, by_reference, compiled
from ...core.data import Rows
from ...core.discovery.tiers import Tier
from ...core.estimators.linear_algebra import cholesky, forward
from ...core.policies.posterior import Posterior, Source, sampler_of
from ...core.policies.protocol import expect, forget, indices, learn, record_reward
from ...core.problem import Problem
from ...core.seeds import Seed
from ...errors import OptionError
from .base import RewardsAlone, WithoutSets, numbers_told
from .counts import drawn

# Delay-corrected Thompson sampling


@drawn
@by_reference
class CorrectedState(NamedTuple):
    """Rewards of each arm, its pending rows, and how many rows of 0 these are worth."""

    rewards: Floats
    """(arms, 2): zeros and ones."""
    waiting: Floats
    """(arms,): pending rows."""
    weight: Floats
    """(arms,): the sum of their weights."""
    allowed: Bools


@learn.of(CorrectedState)
@compiled
def count_reward(state: CorrectedState, arm: int, codes: Ints, reward: int) -> None:
    """Count one reward."""
    state.rewards[arm, reward] += 1


@expect.of(CorrectedState)
@compiled
def count_pending(state: CorrectedState, arm: int, codes: Ints) -> None:
    """A row that has just been told has no weight yet."""
    state.waiting[arm] += 1


@forget.of(CorrectedState)
@compiled
def drop_pending(state: CorrectedState, arm: int, codes: Ints) -> None:
    """Take back one pending row: of the arm's average weight, until weights are computed again."""
    state.weight[arm] *= (state.waiting[arm] - 1) / state.waiting[arm]
    state.waiting[arm] -= 1


@record_reward.of(CorrectedState)
@compiled
def count_late_reward(state: CorrectedState, arm: int, codes: Ints, reward: int) -> None:
    """A pending row has its reward."""
    drop_pending(state, arm, codes)
    state.rewards[arm, reward] += 1


@indices.of(CorrectedState)
@compiled
def draw_corrected(state: CorrectedState, rng: np.random.Generator) -> Floats:
    """A draw from Beta(1 + ones, 1 + zeros + weight of pending rows) of every allowed arm."""
    means = np.full(len(state.allowed), np.nan)
    for arm in range(len(means)):
        if state.allowed[arm]:
            means[arm] = rng.beta(1.0 + state.rewards[arm, 1], 1.0 + state.rewards[arm, 0] + state.weight[arm])
    return means


def delay_law(waits: Ints, ages: Ints) -> tuple[Ints, Floats]:
    """The delays that occurred, in order, and F at each: rows that were told `ages` ago got their reward after `waits`.

    A row is seen only if its delay is at most its age. The product-limit estimate for such data (Lagakos, Barraj and
    De Gruttola 1988) is F(d) = prod over delays k > d of (1 - n_k / r_k): n_k rows have delay k, and r_k have a delay
    of at most k and an age of at least k. One is added to r_k, since a single row cannot say that no delay is shorter.

    >>> delay_law(np.array([2, 5, 5]), np.array([9, 9, 4 + 9]))[1].tolist()
    [0.5, 1.0]
    """
    points, counts = np.unique(waits, return_counts=True)
    exposed = np.searchsorted(np.sort(waits), points, side="right") - np.searchsorted(np.sort(ages), points)
    factors = 1 - counts / (exposed + 1)
    return points, np.append(np.cumprod(factors[:0:-1])[::-1], 1.0)[: len(points)]


def law_at(law: tuple[Ints, Floats], ages: Ints) -> Floats:
    """F at some ages; 0 where no delay was seen yet."""
    points, values = law
    return np.append(0.0, values)[np.searchsorted(points, ages, side="right")]


def pending_weights(ones: tuple[Ints, Floats], zeros: tuple[Ints, Floats], ages: Ints) -> Floats:
    """What a pending row counts for as a row of 0, given the delay laws of rewards of 1 and of 0.

    It is still pending with probability (1 - F0) - p (F1 - F0), which is proportional to 1 - w p with
    w = 1 - (1 - F1) / (1 - F0): F1 where a 0 is never reported, and 0 where both are reported alike.
    """
    later, never = 1 - law_at(ones, ages), 1 - law_at(zeros, ages)
    weights: Floats = np.clip(1 - np.divide(later, never, out=np.ones(len(ages)), where=never > 0), 0.0, 1.0)
    return weights


class DelayCorrectedThompson(RewardsAlone[CorrectedState]):
    """Thompson sampling in which a row that has waited long without a reward counts as part of a row of 0.

    A row that was given at t_i counts F(t - t_i), where F is the law of the delays of conversions; a conversion counts
    as soon as it is known (Vernade, Cappé and Perchet, *Stochastic Bandit Models for Delayed Conversions*, 2017; Wang,
    Carranza, Jiang and others, *Adaptive Experimentation with Delayed Binary Feedback*, 2022). Mediators are ignored.

    Deviation: F is not known but estimated, and rewards of 0 are reported as well, with another delay (see
    `pending_weights`). Weights are computed again when rows have grown by 10%.
    """

    name = "delay-corrected-ts"
    growth = 0.1
    plays_highest = True
    uses_pending = True
    rolls_out_late = True

    def __init__(self, problem: Problem, *, seed: Seed = None) -> None:
        self._times = np.zeros((0, 3), dtype=np.int64)
        super().__init__(problem, seed)

    def _empty(self) -> CorrectedState:
        arms = len(self.problem.arms)
        return CorrectedState(np.zeros((arms, 2)), np.zeros(arms), np.zeros(arms), np.ones(arms, dtype=np.bool_))

    # Delays, in rows told

    @property
    def times(self) -> Ints:
        """(rows that ever waited, 3): when told, when the reward came (0: not yet), and the reward."""
        made = self.history.pending.made
        if len(self._times) < made:
            grown = np.zeros((max(64, 2 * made), 3), dtype=np.int64)
            grown[: len(self._times)] = self._times
            self._times = grown
        return self._times[:made]

    @property
    def clock(self) -> int:
        """How many rows were told."""
        return self.rows + len(self.history.pending)

    def note_times(self, numbers: Ints, told: ArrayLike | None, came: ArrayLike = 0, rewards: ArrayLike = 0) -> None:
        """Record when pending rows were reported (None: recorded already) and when their rewards came."""
        if told is not None:
            self.times[numbers, 0] = told
        self.times[numbers, 1], self.times[numbers, 2] = came, rewards

    def expect(self, rows: Rows) -> Ints:
        """Count coded rows whose rewards are pending; gives their numbers."""
        numbers = super().expect(rows)
        self.note_times(numbers, self.clock)
        return numbers

    def complete(self, numbers: Iterable[int], rewards: Iterable[Any]) -> None:
        """Count the rewards of pending rows; they were checked before."""
        which, values = list(numbers), list(rewards)
        super().complete(which, values)
        came = [self.problem.reward.number(value) for value in values]
        self.note_times(np.array(which, dtype=np.int64), None, self.clock, came)

    def _weights(self) -> Floats:
        """(arms,): the weights of all pending rows."""
        times, waiting = self.times, self.history.pending
        come = times[times[:, 1] > 0]
        laws = []
        for reward in (1, 0):
            of = come[come[:, 2] == reward]
            laws.append(delay_law(of[:, 1] - of[:, 0], self.clock - of[:, 0]))
        weights = pending_weights(laws[0], laws[1], self.clock - times[waiting.numbers, 0])
        return np.bincount(waiting.all.arms, weights, minlength=len(self.problem.arms)).astype(np.float64)

    def _refresh(self) -> None:
        self._state.weight[:] = self._weights()

    def _recount(self) -> None:
        super()._recount()
        self._refresh()

    def _latest(self) -> CorrectedState:
        return self._state._replace(weight=self._weights()) if self.schedule.is_due(self.progress) else self._state

    def _fit(self, *, pending: bool) -> CorrectedState:
        state = self._latest()
        return state if pending else state._replace(weight=np.zeros_like(state.weight))

    def _posterior(self, state: CorrectedState) -> Posterior:
        ones, zeros = 1 + state.rewards[:, 1], 1 + state.rewards[:, 0] + state.weight
        means = ones / (ones + zeros)
        variances = means * (1 - means) / (ones + zeros + 1)
        return self._beta_posterior(state, means, variances, state.rewards.sum(axis=1).astype(np.int64))

    def _sums(self) -> dict[str, Any]:
        return {"weight": self._state.weight, "times": self.times}


# Impatient Bandits


@drawn
@by_reference
class TraceState(NamedTuple):
    """Sums of the traces of complete and of pending rows, the prior of an arm's mean trace, and what follows."""

    rows: Floats
    """(arms, 2): complete and pending rows."""
    sums: Floats
    """(arms, 2, outcomes): sums of their traces; the last outcome is the reward."""
    first: Ints
    """(variables + 1,): the first outcome of every observed variable."""
    mean: Floats
    """(outcomes,): of past arms."""
    covariance: Floats
    """(outcomes, outcomes): between past arms."""
    noise: Floats
    """(outcomes, outcomes): between the rows of an arm."""
    posterior: Floats
    """(arms, 2): mean and standard deviation of the last coordinate of an arm's mean trace."""
    allowed: Bools


@compiled
def condition(mean: Floats, covariance: Floats, noise: Floats, rows: float, average: Floats, size: int) -> None:
    """Update N(mean, covariance) in place by the average of the first `size` outcomes of some rows.

    m + Sigma_k (Sigma_kk + V_kk / n)^-1 (average - m_k), and the covariance accordingly.
    """
    total = len(mean)
    root, column = np.empty((size, size)), np.empty(size)
    gain, residual = np.empty((total, size)), np.empty(size)
    for row in range(size):
        column[row] = average[row] - mean[row]
        for other in range(size):
            root[row, other] = covariance[row, other] + noise[row, other] / rows
    cholesky(root)
    forward(root, column, residual)
    for row in range(total):
        for other in range(size):
            column[other] = covariance[row, other]
        forward(root, column, gain[row])
    for row in range(total):
        for place in range(size):
            mean[row] += gain[row, place] * residual[place]
            for other in range(total):
                covariance[row, other] -= gain[row, place] * gain[other, place]


@compiled
def update(state: TraceState, arm: int) -> None:
    """The posterior of an arm from its pending rows, which have all outcomes but the last, and its complete rows."""
    mean, covariance, outcomes = state.mean.copy(), state.covariance.copy(), len(state.mean)
    for kind in range(1, -1, -1):
        rows = state.rows[arm, kind]
        if rows > 0 and outcomes > kind:
            condition(mean, covariance, state.noise, rows, state.sums[arm, kind] / rows, outcomes - kind)
    state.posterior[arm, 0] = mean[outcomes - 1]
    state.posterior[arm, 1] = np.sqrt(max(covariance[outcomes - 1, outcomes - 1], 0.0))


@compiled
def add_trace(state: TraceState, arm: int, kind: int, codes: Ints, reward: float, sign: float) -> None:
    """Add a row to the sums, or take it out; an observed variable has one outcome per level: whether it is reached."""
    state.rows[arm, kind] += sign
    for variable in range(len(codes)):
        for outcome in range(state.first[variable], state.first[variable] + codes[variable]):
            state.sums[arm, kind, outcome] += sign
    state.sums[arm, kind, len(state.mean) - 1] += sign * reward


@learn.of(TraceState)
@compiled
def learn_trace(state: TraceState, arm: int, codes: Ints, reward: int) -> None:
    """Count a complete row."""
    add_trace(state, arm, 0, codes, reward, 1.0)
    update(state, arm)


@expect.of(TraceState)
@compiled
def expect_trace(state: TraceState, arm: int, codes: Ints) -> None:
    """Count a row whose reward is pending."""
    add_trace(state, arm, 1, codes, 0.0, 1.0)
    update(state, arm)


@forget.of(TraceState)
@compiled
def forget_trace(state: TraceState, arm: int, codes: Ints) -> None:
    """Take back a pending row."""
    add_trace(state, arm, 1, codes, 0.0, -1.0)
    update(state, arm)


@record_reward.of(TraceState)
@compiled
def record_trace(state: TraceState, arm: int, codes: Ints, reward: int) -> None:
    """A pending row is complete."""
    add_trace(state, arm, 1, codes, 0.0, -1.0)
    learn_trace(state, arm, codes, reward)


@indices.of(TraceState)
@compiled
def draw_traces(state: TraceState, rng: np.random.Generator) -> Floats:
    """A draw of the last coordinate of every allowed arm's mean trace."""
    means = np.full(len(state.allowed), np.nan)
    for arm in range(len(means)):
        if state.allowed[arm]:
            means[arm] = state.posterior[arm, 0] + state.posterior[arm, 1] * rng.standard_normal()
    return means


class ImpatientBandit(WithoutSets[TraceState]):
    """Thompson sampling on the reward, the last outcome of a row, predicted from the outcomes that are known early.

    The mean trace of an arm is N(m, Sigma) and a row's is N(mean trace, V); m, Sigma and V are those of past arms
    (McDonald and others, *Impatient Bandits: Optimizing Recommendations for the Long-Term Without Delay*, 2023). What
    pending rows say of the first outcomes moves the last one to the extent that the two were related in past arms.

    Deviation: outcomes come in two steps, all mediators and then the reward, and are 0 or 1: whether a mediator reaches
    each of its levels. Where a world says what past arms were like, these are its own arms: the best past there can be.

    Args:
        past_means: (past arms, outcomes): mean traces. The outcomes are, for each mediator in order and each of its
            levels but the first, whether it is at that level or beyond, and last the reward.
        noise: (outcomes, outcomes): the covariance of a row's trace within an arm.
    """

    name = "impatient"
    tier = Tier.PARENTS
    needs = ("past_means", "noise")
    hints = "the mean outcomes of past arms, and their noise"
    plays_highest = True
    uses_pending = True
    rolls_out_late = True

    def __init__(self, problem: Problem, *, past_means: ArrayLike, noise: ArrayLike, seed: Seed = None) -> None:
        self.past_means, self.noise = numbers_told("past_means", past_means), numbers_told("noise", noise)
        self._first = np.cumsum([0, *(variable.size - 1 for variable in problem.observed)], dtype=np.int64)
        outcomes = int(self._first[-1]) + 1
        for name, array, shape in (
            ("past_means", self.past_means, (max(len(self.past_means), 2), outcomes)),
            ("noise", self.noise, (outcomes, outcomes)),
        ):
            if array.shape != shape or not np.all(np.isfinite(array)):
                raise OptionError(
                    f"{name} has shape {array.shape}; expected finite numbers of shape {shape}: {outcomes} outcomes, "
                    "one for each level of a mediator but its first, and the reward"
                )
        super().__init__(problem, seed)

    def _empty(self) -> TraceState:
        arms, outcomes = len(self.problem.arms), len(self.noise)
        mean, covariance = self.past_means.mean(axis=0), np.atleast_2d(np.cov(self.past_means.T))
        posterior = np.tile([mean[-1], np.sqrt(max(covariance[-1, -1], 0.0))], (arms, 1))
        sums, anything = np.zeros((arms, 2, outcomes)), np.ones(arms, dtype=np.bool_)
        noise = self.noise + 1e-9 * np.eye(outcomes)
        return TraceState(np.zeros((arms, 2)), sums, self._first, mean, covariance, noise, posterior, anything)

    def _fit(self, *, pending: bool) -> TraceState:
        if pending:
            return self._state
        state = self._empty()
        state.rows[:, 0], state.sums[:, 0] = self._state.rows[:, 0], self._state.sums[:, 0]
        for arm in range(len(state.rows)):
            update(state, arm)
        return state

    def _posterior(self, state: TraceState) -> Posterior:
        means, sd = state.posterior.T.copy()
        own = state.rows[:, 0].astype(np.int64).tolist()
        effective = (self.noise[-1, -1] / np.maximum(sd, 1e-12) ** 2).tolist()

        sources = [Source(rows, size) for rows, size in zip(own, effective, strict=True)]
        sample = sampler_of(state, len(means))
        return Posterior(self.rows, np.clip(means, 0.0, 1.0), sources, lambda rng, n: np.clip(sample(rng, n), 0.0, 1.0))
