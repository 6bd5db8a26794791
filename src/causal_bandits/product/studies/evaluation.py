"""Off-policy evaluation: what another policy would have earned on the recorded decisions.

An arm is all that decides a reward here, so a policy that plays arm a with probability pi(a) earns sum_a pi(a) mu(a).

`doubly-robust` estimates what the policy would have earned on average over the recorded times. Every decision t with an
outcome gives a score

    G_t = sum_a pi(a) m_t(a) + pi(a_t) / e_t(a_t) (y_t - m_t(a_t)),

with e_t the propensities at that decision, and m_t(a) the mean of the arm's rows that had been counted before it,
shrunk to the mean of all arms. G_t is unbiased given the past whatever m_t is. Decisions that carry little information
weigh little: h_t = (sum_a pi(a)^2 / e_t(a))^(-1/2), which makes the weighted mean asymptotically normal though the arms
were chosen adaptively (Hadad, Hirshberg, Zhan, Wager and Athey 2021). The normal approximation is poor where a few
rewards make up most of the sum. With n the effective number of decisions by their weights h_t pi(a_t) / e_t(a_t), and
d_t = |y_t - median reward|, the method is rejected unless n (mean d_t)^2 / (mean d_t^2) is at least 20. Where most
rewards are 0 this is the effective number of the others.

`direct` assumes that arms do not change, and needs no propensities: it is the posterior of sum_a pi(a) mu(a) from each
arm's own decisions. The arms' means have a common prior whose center and spread are learned from all of them, by
averaging over a grid of both. With a uniform prior for every arm, many arms with few rewards each would add up to a
bias. A posterior does not depend on how the arms were chosen.

`direct` is the default. The policy to evaluate is often chosen from the decisions that it is then evaluated on: the arm
that won, or the study's own policy as it is now. A posterior needs no correction for that, while the doubly robust
estimate of such a policy is too high (compare Dawid 1994, "Selection paradoxes of Bayesian inference"): its scores are
unbiased for a policy that was fixed before. How often the intervals cover: `python -m benchmarks.evaluation`, and
docs/results/studies.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ...core.compiled import Floats, Ints
from ...core.estimators import beta_interval
from ...core.estimators.intervals import gamma_interval
from ...core.markup import between, counted, titled_table
from ...core.markup import number as shown
from ...core.policies import Policy
from ...core.policies.arms import arm_numbers
from ...core.problem import Arm, Problem, RewardKind
from ...errors import ObservationError, OptionError, brief
from ...libraries import special
from .arm_patterns import asked_among
from .deciding import frequencies, open_arms
from .decision_log import asks_replayed
from .session import Session

Method = Literal["doubly-robust", "direct"]
NOTES: dict[Method, str] = {
    "direct": "assumes that arms do not change",
    "doubly-robust": "for a policy that was not chosen by looking at these decisions",
}
LEAST_WORTH = 20
"""Effective number of rewards below which intervals of `doubly-robust` cover too rarely."""
POOLED_ROWS = 50
"""Rows of the mean of all arms that an arm's own mean is shrunk by, in the scores of `doubly-robust`."""
CENTERS = np.linspace(-3.0, 3.0, 61)
"""Of the arms' common prior: on the logarithmic scale, relative to the mean of all rows."""
SPREADS, WIDE = np.geomspace(0.02, 2.0, 25), 0.5
"""Of the arms' common prior: its standard deviation, relative to its center, or to that of a row of numbers; and the
scale of the half-Cauchy prior that it has."""


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The estimated mean reward of a policy, with its interval and the data behind it."""

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
    method: Method = "direct"

    @property
    def note(self) -> str:
        """What the interval assumes."""
        return NOTES[self.method]

    def __repr__(self) -> str:
        return f"Evaluation({self})"

    def __str__(self) -> str:
        return (
            f"mean {shown(self.mean, beside=(self.low, self.high))} ({between(self.low, self.high, self.mean)}), "
            f"{self.method}, "
            f"from {counted(self.decisions, 'decision')}, worth {self.effective_decisions:,.0f}; "
            f"the study itself earned {shown(self.recorded_mean)}"
        ) + f" ({self.note})"

    def _repr_html_(self) -> str:
        columns = ("mean", "interval", "the study earned", "decisions", "worth", "method")
        row = (
            shown(self.mean, beside=(self.low, self.high)),
            between(self.low, self.high, self.mean),
            shown(self.recorded_mean),
            *(f"{self.decisions:,}", f"{self.effective_decisions:,.0f}", self.method),
        )
        title = f"What the policy would have earned on the recorded decisions ({self.note})"
        return titled_table(title, columns, [row], numeric=range(5))


@dataclass(frozen=True)
class Record:
    """The decisions with an outcome, in the order they were asked for."""

    arms: Ints
    rewards: Floats
    propensities: Floats
    """(decisions, arms)."""
    means: Floats
    """(decisions, arms): what the arms had earned before."""


class TooFewError(ObservationError):
    """The recorded decisions say too little about a policy for the doubly robust estimate."""


def target_probabilities(problem: Problem, policy: object, seed: int) -> Floats:
    """The arms of the policy to evaluate: an arm, a mapping arm -> probability, or a policy in its current state.

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
                raise OptionError(f"the probability of {arm.label} is {brief(chance)}; expected a number from 0 to 1")
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


def check_played(problem: Problem, arms: Ints, target: Floats) -> None:
    """Reject a policy that plays an arm without a recorded outcome: nothing is known about it."""
    rows = np.bincount(arms, minlength=len(target))
    never = np.flatnonzero((target > 0) & (rows == 0))
    if len(never):
        more = f" and {len(never) - 1} more arms of this policy" if len(never) > 1 else ""
        raise ObservationError(
            f"{problem.arms[never[0]].label}{more} never had an outcome in this study, so the policy cannot be "
            "evaluated; choose arms that were played"
        )


def doubly_robust_mean(record: Record, target: Floats, level: float, kind: RewardKind = "binary") -> Evaluation:
    """The doubly robust estimate; with segments `target` has a row for every decision, (decisions, arms).

    The interval is that of the Beta (a reward of 0 or 1) or Gamma (counts and revenue) with the same mean and variance,
    otherwise of the normal distribution.
    """
    row = np.arange(len(record.arms))
    used = record.propensities[row, record.arms]
    if target.ndim == 1:
        expected, wanted = record.means @ target, target[record.arms]
    else:
        expected, wanted = (record.means * target).sum(axis=1), target[row, record.arms]
    corrections = wanted / used * (record.rewards - record.means[row, record.arms])
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where(target > 0, target**2 / record.propensities, 0.0).sum(axis=1)
    weights = 1 / np.sqrt(spread)
    effective = _effective_number(weights * wanted / used)
    worth = effective * _effective_number(np.abs(record.rewards - np.median(record.rewards))) / len(row)
    mean = float(np.average(expected + corrections, weights=weights)) if weights.any() else 0.0
    inside = {"binary": 0 < mean < 1, "count": mean > 0, "revenue": mean > 0}.get(kind, True)
    if worth < LEAST_WORTH or not inside:
        raise TooFewError(
            f"weighted by their propensities the recorded rewards are worth {worth:.0f} for this policy, and the "
            f"doubly robust estimate needs {LEAST_WORTH}; use method='direct', which assumes that arms do not change"
        )
    error = float(np.sqrt(weights**2 @ (expected + corrections - mean) ** 2) / weights.sum())
    recorded = float(record.rewards.mean())
    return Evaluation(
        mean, *_interval(mean, error, level, kind), error, len(row), effective, recorded, method="doubly-robust"
    )


def _effective_number(sizes: Floats) -> float:
    """How many equal numbers vary as much as these do (Kish 1965).

    >>> _effective_number(np.array([2.0, 2.0, 2.0, 0.0]))
    3.0
    """
    squares = float(sizes @ sizes)
    return float(sizes.sum()) ** 2 / squares if squares > 0 else 0.0


def _interval(mean: float, error: float, level: float, kind: RewardKind) -> tuple[float, float]:
    if error > 0 and kind == "binary":
        low, high = beta_interval(mean, error**2, level)
        return low, high
    if error > 0 and kind in ("count", "revenue"):
        return gamma_interval(mean, error**2, level)
    reach = float(special.ndtri((1 + level) / 2)) * error
    return mean - reach, mean + reach


class _Pooled(NamedTuple):
    """Posteriors of the arms' means, one for each center and spread of their common prior."""

    log_weights: Floats
    """(priors,)."""
    means: Floats
    """(priors, arms)."""
    variances: Floats
    """(priors, arms)."""
    common: Floats
    """(priors, arms): standard deviations of a part of the error that all arms have in common."""


def direct_mean(record: Record, target: Floats, level: float, kind: RewardKind = "binary") -> Evaluation:
    """The posterior of the policy's mean from each arm's own decisions, with a common prior of all arms' means."""
    arms = len(target)
    rows = np.bincount(record.arms, minlength=arms)
    sums = np.bincount(record.arms, weights=record.rewards, minlength=arms).astype(np.float64)
    squares = np.bincount(record.arms, weights=record.rewards**2, minlength=arms)
    scatter = float((squares - sums**2 / np.maximum(rows, 1)).sum())
    played = rows > 0
    freedom = int(rows.sum() - played.sum())
    if kind != "binary" and (freedom < 1 or scatter <= 0):
        raise ObservationError("the rewards of every arm are all equal so far; nothing can be estimated yet")
    shares, own_rows, own_sums = target[played], rows[played], sums[played]
    if kind == "binary":
        found = _beta_pooled(own_rows, own_sums)
    elif kind in ("count", "revenue"):
        found = _gamma_pooled(own_rows, own_sums, scatter / float(sums.sum()))
    else:
        found = _normal_pooled(own_rows, own_sums, scatter / freedom)
    weights = np.exp(found.log_weights - found.log_weights.max())
    weights /= weights.sum()
    means = found.means @ shares
    variances = found.variances @ shares**2 + (found.common @ shares) ** 2
    mean = float(weights @ means)
    error = float(weights @ (variances + (means - mean) ** 2)) ** 0.5
    used = float(rows[target > 0].sum())
    recorded = float(record.rewards.mean())
    return Evaluation(mean, *_interval(mean, error, level, kind), error, len(record.arms), used, recorded)


def _priors() -> tuple[Floats, Floats]:
    """(priors, 1) each: every center with every spread."""
    center, spread = (each.ravel()[:, None] for each in np.meshgrid(CENTERS, SPREADS))
    return center, spread


def _log_prior(spread: Floats) -> Floats:
    """A half-Cauchy prior (Gelman 2006), on a grid that is even in the logarithm."""
    found: Floats = np.log(spread) - np.log1p((spread / WIDE) ** 2)
    return found.ravel()


def _beta_pooled(rows: Ints, sums: Floats) -> _Pooled:
    """A chance has a Beta prior, whose center has Jeffreys' prior."""
    rate = (sums.sum() + 0.5) / (rows.sum() + 1)
    center, spread = _priors()
    mean = 1 / (1 + (1 - rate) / rate * np.exp(-center))
    size = np.maximum((1 - mean) / mean / spread**2 - 1, 0.001)
    ones, zeros = sums + mean * size, rows - sums + (1 - mean) * size
    weights = (special.betaln(ones, zeros) - special.betaln(mean * size, (1 - mean) * size)).sum(axis=1)
    means = ones / (ones + zeros)
    variances = means * (1 - means) / (ones + zeros + 1)
    weights = weights + 0.5 * np.log(mean * (1 - mean)).ravel() + _log_prior(spread)
    return _Pooled(weights, means, variances, np.zeros_like(means))


def _gamma_pooled(rows: Ints, sums: Floats, unit: float) -> _Pooled:
    """A mean has a Gamma prior, and the variance of a reward is `unit` times its mean: a Poisson number of units."""
    rate, events, exposure = sums.sum() / rows.sum(), sums / unit, rows / unit
    center, spread = _priors()
    shape = 1 / spread**2
    inverse = shape / (rate * np.exp(center))
    more, total = events + shape, exposure + inverse
    gammas = special.gammaln(more) - special.gammaln(shape)
    weights = (gammas + shape * np.log(inverse) - more * np.log(total)).sum(axis=1)
    weights = weights + 0.5 * center.ravel() + _log_prior(spread)
    return _Pooled(weights, more / total, more / total**2, np.zeros_like(total))


def _normal_pooled(rows: Ints, sums: Floats, variance: float) -> _Pooled:
    """A mean has a normal prior with a flat center, and rewards of every arm have the same variance."""
    noise, own = variance / rows, sums / rows
    between = variance * SPREADS[:, None] ** 2
    precision = 1 / (noise + between)
    total = precision.sum(axis=1, keepdims=True)
    center = (precision * own).sum(axis=1, keepdims=True) / total
    weights = 0.5 * (np.log(precision) - precision * (own - center) ** 2).sum(axis=1) - 0.5 * np.log(total.ravel())
    pull = noise * precision
    return _Pooled(weights + _log_prior(SPREADS), own + pull * (center - own), between * pull, pull / np.sqrt(total))


def pooled_means(sums: Floats, rows: Floats) -> Floats:
    """(..., arms): means of arms, each shrunk to the mean of all of them by `POOLED_ROWS` rows."""
    overall = sums.sum(axis=-1, keepdims=True) / np.maximum(rows.sum(axis=-1, keepdims=True), 1)
    found: Floats = (sums + POOLED_ROWS * overall) / (rows + POOLED_ROWS)
    return found


def evaluate(session: Session, policy: Any, *, method: Method, level: float, draws: int) -> Evaluation:
    """Collect the recorded decisions, and estimate from them."""
    if not isinstance(method, str) or method not in get_args(Method):
        raise OptionError(f"method={brief(method)}; expected one of {', '.join(get_args(Method))}")
    problem, rows, arms, rewards = session.read(
        lambda state: (
            state.problem,
            state.decisions.column("row").astype(np.int64),
            state.decisions.column("arm").astype(np.int64),
            state.policy.history.packed["rewards"].astype(np.float64),
        )
    )
    target = target_probabilities(problem, policy, session.settings.seed)
    reported = np.flatnonzero(rows >= 0)
    if len(reported) < 2:
        raise ObservationError("fewer than two decisions have outcomes; evaluate after more outcomes")
    chosen, earned = arms[reported], rewards[rows[reported]]
    segments = problem.arm_segments[chosen]
    shares = np.bincount(segments, minlength=len(problem.segment_settings)) / len(reported)
    overall = target * shares[problem.arm_segments]
    check_played(problem, chosen, overall)
    if method == "doubly-robust":
        if problem.segments:
            target = np.where(problem.arm_segments == segments[:, None], target, 0.0)
        record = Record(chosen, earned, *_looked_back(session, reported, len(problem.arms), draws))
        return doubly_robust_mean(record, target, level, problem.reward.kind)
    nothing = np.empty((0, len(problem.arms)))
    return direct_mean(Record(chosen, earned, nothing, nothing), overall, level, problem.reward.kind)


def _looked_back(session: Session, reported: Ints, arms: int, draws: int) -> tuple[Floats, Floats]:
    """The propensities at each decision with an outcome, and the arms' means before it, from the recorded events."""
    chances, means = np.zeros((len(reported), arms)), np.zeros((len(reported), arms))
    sums, counts, known = np.zeros(arms), np.zeros(arms), 0
    for then, ask in asks_replayed(session):
        here = slice(*np.searchsorted(reported, (ask.first - 1, ask.first - 1 + len(ask.arms))))
        if here.start == here.stop:
            continue
        if then.policy.rows > known:
            packed = then.policy.history.packed
            np.add.at(sums, packed["arms"][known:], packed["rewards"][known:])
            np.add.at(counts, packed["arms"][known:], 1)
            known = then.policy.rows
        rng, among = np.random.default_rng((session.settings.seed, ask.first)), asked_among(then.problem, ask.about)
        found, possible = frequencies(then, draws, rng, among, len(ask.arms)), open_arms(then, among)
        # Half a draw more for every arm that was possible, so that no weight is infinite; exact shares need none.
        more = 0.0 if then.policy.exact_shares else 0.5
        chances[here, : len(found)] = (found * draws + more * possible) / (draws + more * possible.sum())
        means[here] = pooled_means(sums, counts)
    return chances, means
