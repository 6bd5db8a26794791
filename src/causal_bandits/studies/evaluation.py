"""Off-policy evaluation: what another policy would have earned on the recorded decisions.

An arm is all that decides a reward here, so a policy that plays arm a with probability pi(a) earns sum_a pi(a) mu(a).

`direct` (the default) puts the posterior of each mu(a) from the arm's own recorded decisions there. A posterior does
not ask how the arms came to be chosen; after Thompson Sampling on two arms (means 0.4 and 0.6, 150 to 600 rounds) its
95 % intervals covered in 90 to 98 % of runs.

`weighted` needs no arm to be the same throughout: it estimates what the policy would have earned on average over the
recorded times. Every decision t with an outcome gives a doubly robust score

    G_t = sum_a pi(a) m_t(a) + pi(a_t) / e_t(a_t) (y_t - m_t(a_t)),

with e_t the propensities at that decision, and m_t(a) the mean of the arm's rows that had been counted before it, so
that G_t is unbiased given the past whatever m_t is. Decisions that carry little information weigh little:
h_t = (sum_a pi(a)^2 / e_t(a))^(-1/2), which makes the weighted mean asymptotically normal though the arms were chosen
adaptively (Hadad, Hirshberg, Zhan, Wager and Athey 2021). Where the policy plays arms that the study hardly ever played
the normal law is far: after Thompson Sampling on four arms (300 and 1000 rounds) the 95 % intervals of the worst one
covered in 74 to 78 % of runs; those of arms played less than ten times covered in 5 to 42 %, and from 40 decisions on
in 93 to 97 % (`python -m benchmarks.evaluation --runs 300`; after 4000 rounds, 100 runs: 85 % with 20 to 39 decisions,
91 to 95 % from 40 on). With fewer than 40 the method is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import ndtri

from ..compiled import Floats, Ints
from ..errors import ObservationError, OptionError, brief
from ..estimators import beta_interval
from ..policies import Policy
from ..policies.arms import arm_numbers
from ..problem import Arm, Problem
from .segments import asked_among
from .served.deriving import asks_replayed
from .session import Session
from .state import StudyState

LEAST_MATCHED = 40
"""Decisions of the policy's arms below which intervals of `weighted` cover too rarely."""


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The estimated mean reward of a policy, with its interval, and what it rests on."""

    mean: float
    low: float
    high: float
    standard_error: float
    decisions: int
    """Decisions with an outcome that were used."""
    effective_decisions: float
    """How many of them inform about the policy: the decisions of its arms, or the effective number by the weights."""
    recorded_mean: float
    """What the study itself earned on them."""

    def __repr__(self) -> str:
        return f"Evaluation({self})"

    def __str__(self) -> str:
        return (
            f"mean {self.mean:.4g} ({self.low:.4g} to {self.high:.4g}) from {self.decisions} decisions, "
            f"worth {self.effective_decisions:.0f}; the study itself earned {self.recorded_mean:.4g}"
        )


@dataclass(frozen=True)
class Record:
    """The decisions with an outcome, in the order they were asked for."""

    arms: Ints
    rewards: Floats
    propensities: Floats
    """(decisions, arms)."""
    means: Floats
    """(decisions, arms): what the arms had earned before."""


def target_probabilities(problem: Problem, policy: object, seed: int) -> Floats:
    """The arms of the policy to evaluate: an arm, a mapping arm -> probability, or a policy as it stands.

    They sum to 1 in every segment; an arm that names no segment is meant in all of them.
    """
    chances = np.zeros(len(problem.arms))
    if isinstance(policy, Policy):
        if policy.problem != problem:
            raise OptionError("the policy to evaluate is for a different problem; create it with study.problem")
        masks = [problem.arms_in(segment) for segment in problem.segment_settings] if problem.segments else [None]
        found = [policy.frequencies(2000, np.random.default_rng(seed), among=mask) for mask in masks]
        total: Floats = np.array(found).sum(axis=0)
        return total
    if isinstance(policy, Mapping) and policy and all(isinstance(arm, Arm) for arm in policy):
        for arm, chance in policy.items():
            if not isinstance(chance, int | float | np.number):
                raise OptionError(f"the probability of {arm} is {brief(chance)}; expected a number from 0 to 1")
            chances[arm_numbers(problem, arm)] += float(chance)
    elif isinstance(policy, Mapping):
        chances[arm_numbers(problem, policy)] = 1.0
    else:
        raise OptionError(
            f"cannot evaluate {brief(policy)}; expected an arm, a mapping arm -> probability, or a policy"
        )
    for number, segment in enumerate(problem.segment_settings):
        total = chances[problem.arm_segments == number].sum()
        if not (np.all(chances >= 0) and abs(total - 1) < 1e-9):
            where = f" in the segment {brief(segment)}" if segment else ""
            raise OptionError(f"the probabilities of the arms add up to {total:g}{where}; expected 1, and none below 0")
    return chances


def matched_decisions(arms: Ints, target: Floats) -> float:
    """As how many decisions of one arm the recorded ones inform about a policy: 1 / sum_a pi(a)^2 / decisions of a.

    With segments `target` has a row for every decision, and pi(a) is its mean.

    >>> matched_decisions(np.array([0, 0, 0, 0, 1]), np.array([1.0, 0.0]))
    4.0
    """
    chances = target if target.ndim == 1 else target.mean(axis=0)
    played = chances > 0
    rows = np.bincount(arms, minlength=len(chances))[played]
    return float(1 / (chances[played] ** 2 / rows).sum()) if rows.all() else 0.0


def check_matched(arms: Ints, target: Floats) -> None:
    """Refuse a policy whose arms the study has hardly played."""
    matched = matched_decisions(arms, target)
    if matched < LEAST_MATCHED:
        raise ObservationError(
            f"method='weighted' needs {LEAST_MATCHED} recorded decisions of the arms to evaluate, in the shares to be "
            f"played, and those recorded are worth {matched:.0f}; use method='direct'"
        )


def weighted_mean(record: Record, target: Floats, level: float) -> Evaluation:
    """The estimate from what was recorded; with segments `target` has a row for every decision, (decisions, arms)."""
    row = np.arange(len(record.arms))
    used = record.propensities[row, record.arms]
    if target.ndim == 1:
        expected, wanted = record.means @ target, target[record.arms]
    else:
        expected, wanted = (record.means * target).sum(axis=1), target[row, record.arms]
    scores = expected + wanted / used * (record.rewards - record.means[row, record.arms])
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where(target > 0, target**2 / record.propensities, 0.0).sum(axis=1)
    weights = 1 / np.sqrt(spread)
    total = weights.sum()
    if not total > 0:
        raise ObservationError("this policy never matches a recorded decision; its arms were never played")
    mean = float(weights @ scores / total)
    error = float(np.sqrt((weights**2) @ (scores - mean) ** 2) / total)
    reach = float(ndtri((1 + level) / 2)) * error
    worth = float(total**2 / (weights @ weights))
    earned = float(record.rewards.mean())
    return Evaluation(mean, mean - reach, mean + reach, error, len(row), worth, earned)


def direct_mean(record: Record, target: Floats, level: float, *, real: bool) -> Evaluation:
    """The estimate from each arm's own decisions; its interval is of the Beta with the same moments, or normal."""
    arms = len(target)
    rows = np.bincount(record.arms, minlength=arms)
    sums = np.bincount(record.arms, weights=record.rewards, minlength=arms)
    played = target > 0
    if real and np.any(rows[played] < 2):
        raise ObservationError(
            "an arm of this policy has fewer than two recorded decisions; nothing can be estimated yet"
        )
    if real:
        squares = np.bincount(record.arms, weights=record.rewards**2, minlength=arms)
        means = np.where(played, sums / np.maximum(rows, 1), 0.0)
        variances = np.maximum(squares / np.maximum(rows, 1) - means**2, 0.0) / np.maximum(rows - 1, 1)
    else:
        means = (sums + 1) / (rows + 2)
        variances = means * (1 - means) / (rows + 3)
    mean, variance = float(target @ means), float(target**2 @ np.where(played, variances, 0.0))
    tail = (1 - level) / 2
    if real:
        low, high = mean + float(ndtri(tail)) * variance**0.5, mean - float(ndtri(tail)) * variance**0.5
    else:
        low, high, _ = beta_interval(mean, variance, level)
    used = int(rows[played].sum())
    return Evaluation(mean, low, high, variance**0.5, len(record.arms), float(used), float(record.rewards.mean()))


class _Watcher:
    """Collects, while the events are replayed, the propensities and the arms' means at every decision."""

    def __init__(self, arms: int, draws: int, seed: int) -> None:
        self.arms, self.draws, self.seed = arms, draws, seed
        self.chances: dict[int, Floats] = {}
        self.means: dict[int, Floats] = {}
        self._sums, self._counts = np.zeros(arms), np.zeros(arms)
        self._counted = 0

    def look(self, then: StudyState, body: Mapping[str, Any], numbers: range, mark: int) -> None:
        """At the state that decided, with the random numbers of `mark`; `body` says among which arms."""
        self._catch_up(then)
        rng = np.random.default_rng((self.seed, mark))
        among = asked_among(then.problem, body)
        found, mask = then.frequencies(self.draws, rng, among, len(numbers)), then.open_arms(among)
        possible = then.policy.allowed if mask is None else then.policy.allowed & mask
        # Half a draw more for every arm that was possible, so that no weight is infinite; exact shares need none.
        more = 0.0 if then.policy.exact_shares else 0.5
        smoothed = np.zeros(self.arms)
        smoothed[: len(found)] = (found * self.draws + more * possible) / (self.draws + more * possible.sum())
        overall = self._sums.sum() / max(self._counts.sum(), 1)
        means = np.where(self._counts > 0, self._sums / np.maximum(self._counts, 1), overall)
        for number in numbers:
            self.chances[number] = smoothed
            self.means[number] = means

    def _catch_up(self, then: StudyState) -> None:
        if then.policy.rows > self._counted:
            packed = then.policy.history.packed
            arms, rewards = packed["arms"][self._counted :], packed["rewards"][self._counted :]
            np.add.at(self._sums, arms, rewards)
            np.add.at(self._counts, arms, 1)
            self._counted = then.policy.rows


Method = Literal["direct", "weighted"]


def _recorded(state: StudyState) -> tuple[Problem, Ints, Ints, Floats]:
    """The problem, each decision's row and arm, and the rewards of all rows."""
    rows, arms = (state.decisions.column(name).astype(np.int64) for name in ("row", "arm"))
    return state.problem, rows, arms, state.policy.history.packed["rewards"].astype(np.float64)


def evaluate(session: Session, policy: Any, *, method: Method, level: float, draws: int) -> Evaluation:
    """Collect the recorded decisions, and estimate from them."""
    if not isinstance(method, str) or method not in get_args(Method):
        raise OptionError(f"method={brief(method)}; expected one of {', '.join(get_args(Method))}")
    problem, rows, arms, rewards = session.read(_recorded)
    target = target_probabilities(problem, policy, session.settings.seed)
    told = np.flatnonzero(rows >= 0)
    if len(told) < 2:
        raise ObservationError("fewer than two decisions have outcomes; nothing can be evaluated yet")
    segments = problem.arm_segments[arms[told]]
    if method == "direct":
        shares = np.bincount(segments, minlength=len(problem.segment_settings)) / len(told)
        target = target * shares[problem.arm_segments]
        nothing = np.empty((0, len(problem.arms)))
        record = Record(arms[told], rewards[rows[told]], nothing, nothing)
        return direct_mean(record, target, level, real=problem.reward_is_real)
    if problem.segments:
        target = np.where(problem.arm_segments == segments[:, None], target, 0.0)
    check_matched(arms[told], target)
    watcher = _Watcher(len(problem.arms), draws, session.settings.seed)
    for then, ask in asks_replayed(session):
        if ask.first <= told[-1] + 1:
            watcher.look(then, ask.about, range(ask.first, ask.first + len(ask.arms)), ask.mark)
    chances, means = (
        np.array([found[int(number) + 1] for number in told]) for found in (watcher.chances, watcher.means)
    )
    return weighted_mean(Record(arms[told], rewards[rows[told]], chances, means), target, level)
