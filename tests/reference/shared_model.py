"""A plain NumPy twin of causal_bandits.core.estimators.model: raw rows, full covariance matrices, dense linear algebra.

For a set S of mediators, with y[a, s] the mean reward of the n[a, s] rows of arm a in the cell S = s,

    y[a, s]  = m[s] + b[s] (e[a] + v[a]) + noise of variance noise[s] / n[a, s]
    m[s] ~ N(start[s], prior[s]),   e = sum of lever effects ~ N(0, eta^2 matches),   v[a] ~ N(0, tau^2)
    index[a] = middle + level + unit (e'[a] + v'[a]) + noise of variance 1 / precision[a]

where matches[a, c] counts the levers with the same level in both arms. The rest is Gaussian conditioning.
"""

import math
from types import SimpleNamespace as Record
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.special import gammaln, logsumexp
from scipy.stats import multivariate_normal

from causal_bandits.core.estimators import model, reward_shapes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Reward(NamedTuple):
    """A kind of reward: the variance of one row at the mean m is dispersion * shape(m)."""

    kind: str
    low: float
    high: float
    seen: Floats
    dispersion: float = 1.0
    steady: float = reward_shapes.STEADIEST

    def shape(self, m: Any) -> Any:
        return {"real": 1.0, "count": m, "revenue": m}.get(self.kind, (m - self.low) * (self.high - m))

    def variance(self, m: Any) -> Any:
        return self.dispersion * self.shape(m)

    def slope(self, m: float) -> float:
        bounded: float = self.shape(m) / (self.high - self.low or 1.0)
        return {"real": math.sqrt(self.dispersion), "count": m, "revenue": m}.get(self.kind, bounded)

    @property
    def one_more(self) -> float:
        if self.kind in ("binary", "levels"):
            return 0.5 * (self.low + self.high)
        return 0.5 * float((self.seen**2).sum() / self.seen.sum() if self.kind == "revenue" and self.seen.any() else 1)

    def inside(self, m: float, rate: float) -> float:
        bounded, edge = self.kind in ("binary", "levels"), model.EDGE
        high = self.high - edge * (self.high - rate) if bounded else np.inf
        return m if self.kind == "real" else float(np.clip(m, self.low + edge * (rate - self.low), high))

    def learn(self, own: list[Floats], rate: float) -> "Reward":
        """The same with the dispersion of the rewards of each arm, and the kurtosis, which says how steady it is."""
        variance, few = self.seen.var(), reward_shapes.USUAL_ROWS * self.shape(rate)
        usual = {"levels": 1 / 3, "real": variance or 1.0}.get(self.kind, 1.0)
        if self.kind == "revenue" and variance > 0:
            usual = variance / self.seen.mean()
        several = [each for each in own if len(each) > 1]
        found = few * usual + sum(len(each) * each.var() for each in several)
        found /= few + sum((len(each) - 1) * self.shape(each.mean()) for each in several)
        kurtosis = ((self.seen - self.seen.mean()) ** 4).mean() / variance**2 if variance > 0 else 0.0
        steady = np.clip(kurtosis, reward_shapes.STEADIEST, reward_shapes.UNSTEADIEST)
        return self._replace(dispersion=min(found, 1.0) if self.kind == "levels" else found, steady=float(steady))


def read(rows: Record, cell: Ints, arms: int, cells: int, above_zero: bool, reward: Reward, rate: float) -> Record:
    """What `model.SetData` has; with `above_zero` the second half of the cells has the rewards above zero."""
    n, values, scatter, counts = np.zeros((4, arms, cells))
    for a, s in np.ndindex(arms, cells):
        found = rows.rewards[(rows.arms == a) & (cell == s)]
        told = found[~np.isnan(found)]
        n[a, s], counts[a, s] = len(told), len(told) if above_zero else len(found)
        values[a, s], scatter[a, s] = (told.mean(), len(told) * told.var()) if len(told) else (0.0, 0.0)
    zero = np.arange(cells) < (cells // 2 if above_zero else 0)
    start, prior = np.full(cells, rate), np.full(cells, reward.variance(rate))
    if above_zero:
        amounts = [rows.rewards[(rows.arms == a) & (rows.rewards > 0)] for a in range(arms)]
        amount = np.concatenate(amounts).mean() if sum(map(len, amounts)) else 2 * reward.one_more
        spread = (sum(len(x) * x.var() for x in amounts if len(x)) + amount**2) / (sum(map(len, amounts)) + 1)
        start, prior = np.where(zero, 0.0, amount), np.where(zero, 0.0, spread)
    counted = model.SATURATION * n / (model.SATURATION + n)
    total, weight = (counted * values).sum(axis=0), counted.sum(axis=0)
    mean = np.full(1, rate) if cells == 1 else np.where(zero, 0.0, (total + start) / (weight + 1))
    usual = prior if above_zero or cells == 1 else reward.variance((total + reward.one_more) / (weight + 1)) + 0 * mean
    prior = np.maximum(prior, usual)
    noise = (scatter.sum(axis=0) + reward.steady * usual) / (np.maximum(n - 1, 0).sum(axis=0) + reward.steady)
    says = (reward.kind != "binary") & ((scatter.sum(axis=0) > 0) | (reward.kind == "real"))
    noise = np.where(zero, 0.0, np.where(says, noise, usual))
    slope = np.where(zero, 0.0, [reward.slope(m) for m in mean])
    if reward.kind != "real":  # one row more in all
        values = np.where(zero, values, (values * (len(reward.seen) + 1) + reward.one_more) / (len(reward.seen) + 2))
    every = counts.sum(axis=1, keepdims=True)
    base = (counts / np.maximum(every, 1))[every[:, 0] > 0].mean(axis=0) if every.any() else np.full(cells, 1 / cells)
    shares = np.where(every > 0, counts / np.maximum(every, 1), base)
    middle, index = base @ mean, shares @ mean
    around = (counts * (mean - index[:, None]) ** 2).sum(axis=1, keepdims=True)
    before, weights = model.CONCENTRATIONS, concentration_weights(counts, base)
    variance = (around + before * (base @ (mean - middle) ** 2)) / (every + before) @ weights
    precision = every[:, 0] / (variance + 1e-7 * reward.variance(rate)) * (cells > 1)
    found = {"mean": mean, "start": start, "prior": prior, "noise": noise, "slope": slope, "index": index}
    return Record(
        rows=n, values=values, shares=shares, middle=middle, precision=precision, gain=shares @ slope, **found
    )


def concentration_weights(counts: Floats, base: Floats) -> Floats:
    """Dirichlet-multinomial evidence of every concentration."""
    average = (counts.sum() * base + 1 / len(base)) / (counts.sum() + 1)
    counts, size = counts[counts.sum(axis=1) >= 2], model.CONCENTRATIONS[:, None]
    alpha = size[:, :, None] * average
    logs = (gammaln(alpha + counts) - gammaln(alpha)).sum(axis=2)
    return weights_of((logs + gammaln(size) - gammaln(size + counts.sum(axis=1))).sum(axis=1))


def weights_of(logs: Floats) -> Floats:
    return np.exp(logs - logsumexp(logs))  # type: ignore[no-any-return]


def condition(prior: Floats, seen: Floats, noise: Floats, y: Floats) -> tuple[Floats, Floats, float]:
    """Mean and covariance of unknowns ~ N(0, prior) after y = seen @ unknowns + noise, and the log density of y."""
    total = seen @ prior @ seen.T + np.diag(noise)
    gain = np.linalg.solve(total, seen @ prior).T
    density = multivariate_normal(np.zeros(len(y)), total).logpdf(y) if len(y) else 0.0
    return gain @ y, prior - gain @ seen @ prior, float(density)


def index_given(data: Record, matches: Floats, scales: Floats, unit: float) -> tuple[Floats, Floats, float]:
    """Posterior mean and covariance of the index of all arms at (eta^2, tau^2), and the log evidence."""
    one, seen = np.eye(len(matches)), data.precision > 0
    prior = model.LEVEL * unit**2 + unit**2 * (scales[0] * matches + scales[1] * one)
    found = condition(prior, one[seen], 1 / data.precision[seen], (data.index - data.middle)[seen])
    return data.middle + found[0], found[1], found[2]


def difference_given(data: Record, matches: Floats, scales: Floats) -> tuple[Floats, Floats, Floats, float]:
    """Of mean less index of all arms: mean, covariance, (arms, 2) moments of the part without v, log evidence."""
    one = np.eye(len(matches))
    prior = block_diag(np.diag(data.prior), scales[0] * matches, scales[1] * one)  # of m - start, e and v
    a, s = np.nonzero((data.rows > 0) & (data.noise > 0))
    seen = np.hstack([np.eye(len(data.mean))[s], data.slope[s, None] * one[a], data.slope[s, None] * one[a]])
    y, noise = data.values[a, s] - data.start[s], data.noise[s] / data.rows[a, s]
    mean, covariance, evidence = condition(prior, seen, noise, y)
    shares = data.shares * (data.noise > 0)
    whole = np.hstack([shares, data.gain * one, data.gain * one])
    common = np.hstack([shares, data.gain * one, 0 * one])
    away = shares @ (data.start - data.mean)
    shared = np.stack([away + common @ mean, np.diag(common @ covariance @ common.T)], axis=1)
    return away + whole @ mean, whole @ covariance @ whole.T, shared, evidence


def fit_set(data: Record, matches: Floats, unit: float) -> Record:
    """The posterior of scales (the last: all differences are 0), and moments at their posterior means."""
    etas, taus = np.meshgrid(model.ETA**2, model.TAU**2)
    points = np.stack([np.maximum(etas, model.LEAST_EFFECT).ravel(), taus.ravel()], axis=1)
    totals = (matches.max() * etas + taus).ravel()
    weights, index = np.zeros(len(points)), (data.index, 0 * matches, 0.0)
    if len(data.mean) > 1:
        weights = weights_of(np.array([index_given(data, matches, point, unit)[2] for point in points]))
        index = index_given(data, matches, weights @ points, unit)
    away = (0.5 * np.log(weights @ totals + totals + model.LEAST_EFFECT) - np.log(model.TYPICAL)) / model.FACTOR
    prior, equal = 1 / (1 + away**2), model.EQUAL if len(data.mean) == 1 else model.SEPARATES
    chances, none = np.append((1 - equal) * prior / prior.sum(), equal), np.array([model.NOTHING, 0.0])
    scales = weights_of(np.log(chances) + [difference_given(data, matches, point)[3] for point in (*points, none)])
    means, variances = index[0], np.diag(index[1])
    shared = np.stack([means, variances], axis=1)
    for chance, point in [(scales[-1], none), (1 - scales[-1], scales[:-1] @ points / scales[:-1].sum())]:
        more, covariance, common, _ = difference_given(data, matches, point)
        means, variances = means + chance * more, variances + chance * np.diag(covariance)
        shared = shared + chance * common
    return Record(data=data, index=weights, difference=scales, means=means, variances=variances, shared=shared)


def fit_all(rows: Record, sizes: list[int], sets: list[tuple[int, ...]], levers: Ints, reward: Reward) -> Record:
    """Fit every set, the empty one first; `rows` has arms, codes of all mediators, and rewards (NaN: pending)."""
    matches = (levers[:, None] == levers).sum(axis=2) * float(levers.shape[1] > 1)  # a single lever is the arm itself
    own = [rows.rewards[(rows.arms == a) & ~np.isnan(rows.rewards)] for a in range(len(levers))]
    pooled = (reward.seen if reward.kind == "real" else np.append(reward.seen, reward.one_more)).mean()
    rate = float(np.mean([(each.sum() + 2 * pooled) / (len(each) + 2) for each in own]))
    reward = reward if reward.kind == "binary" else reward.learn(own, rate)
    fits, weights = list[Record](), list[float]()
    for above_zero in [False, True] if reward.kind == "revenue" else [False]:
        for members in sets:
            cell, cells = np.zeros(len(rows.arms), dtype=np.int64), 1
            for member in members:  # the first member counts fastest
                cell, cells = cell + cells * rows.codes[:, member], cells * sizes[member]
            cell, cells = cell + above_zero * cells * (rows.rewards > 0), cells * (1 + above_zero)
            for _ in range(1 if fits else model.PASSES):
                data = read(rows, cell, len(levers), cells, above_zero, reward, rate)
                found = fit_set(data, matches, reward.slope(rate))
                rate = rate if fits else reward.inside(found.means.mean(), rate)
            fits.append(found)
            weights.append((not above_zero or 0 < np.mean(reward.seen > 0) < 1) / found.variances.mean())
    return Record(rate=rate, weights=np.array(weights) / sum(weights), fits=fits, reward=reward)
