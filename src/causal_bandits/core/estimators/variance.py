"""How good sharing is: the variance of eq. 2 for fixed numbers of rows per arm (appendix A).

    n V[shared] = V_s[ E[Y | s] ] + (1 - alpha*) E_s[ E[Y | s] (1 - E[Y | s]) ],  s ~ P(S | arm)

The first term is the price of not knowing P(S | arm); no other arm can lower it. The second is the
price of not knowing E[Y | s]; alpha* in [0, 1) is the share of it that the other arms remove.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import OptionError, brief, whole_number
from ...libraries import special
from ..compiled import Floats, Ints


@dataclass(frozen=True)
class VarianceDecomposition:
    """The terms of the decomposition, both already divided by the arm's number of rows."""

    base: float
    noise: float
    alpha_star: float

    @property
    def shared(self) -> float:
        """Variance of the information sharing estimator."""
        return self.base + (1 - self.alpha_star) * self.noise

    @property
    def own(self) -> float:
        """Variance of the arm's sample mean."""
        return self.base + self.noise


def sharing_variance(share: ArrayLike, reward: ArrayLike, rows: ArrayLike, arm: int) -> VarianceDecomposition:
    """The exact decomposition for one arm.

    `share[a, s]` is P(S = s | arm a), `reward[s]` is E[Y | S = s], `rows[a]` the rows of each arm.

    >>> two = sharing_variance([[0.5, 0.5], [0.5, 0.5]], [0.2, 0.8], [10, 90], arm=0)
    >>> round(two.own, 4), round(two.shared, 4), round(two.alpha_star, 2)
    (0.025, 0.0107, 0.89)
    """
    p, mu, n = numbers("share", share, 2), numbers("reward", reward, 1), numbers("rows", rows, 1)
    if p.shape != (len(n), len(mu)):
        raise OptionError(f"share has shape {p.shape}; expected {len(n)} arms x {len(mu)} values of S")
    if np.any(p < -1e-9) or np.any(p > 1 + 1e-9) or np.any(mu < 0) or np.any(mu > 1):
        raise OptionError("share and reward are probabilities; expected numbers from 0 to 1")
    p = np.clip(p, 0, 1)  # a sum of probabilities may round to more than 1
    if np.any(n < 0) or np.any(n != np.floor(n)) or n.sum() > MOST_ROWS:
        raise OptionError(f"rows={brief(rows)}; expected whole numbers from 0, at most {MOST_ROWS:,} in all")
    counts, arm = n.astype(np.int64), whole_number("arm", arm, 0, len(n) - 1)
    if counts[arm] < 1:
        raise OptionError(f"arm {arm} has {counts[arm]} rows; the theorem needs at least one")
    borrowed = np.array([_expected_borrowed(p[:, cell], counts, arm) for cell in range(len(mu))])
    spread = mu * (1 - mu)
    noise = float(p[arm] @ spread)
    base = float(p[arm] @ mu**2 - (p[arm] @ mu) ** 2)
    # alpha* is 0 where it would be 0/0: Y is a function of S.
    alpha_star = float(borrowed @ spread) / noise if noise > 0 else 0.0
    return VarianceDecomposition(max(base, 0.0) / int(counts[arm]), noise / int(counts[arm]), alpha_star)


MOST_ROWS = 100_000
"""The exact sum over all counts takes the square of the rows."""


def numbers(name: str, values: object, dimensions: int) -> Floats:
    """An array of finite numbers, checked."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (ArithmeticError, MemoryError, RecursionError, TypeError, ValueError):
        raise OptionError(f"{name}={brief(values)}; expected numbers") from None
    if found.ndim != dimensions or not found.size or not np.all(np.isfinite(found)):
        raise OptionError(f"{name} has shape {found.shape}; expected {dimensions} dimension(s) of finite numbers")
    return found


def _expected_borrowed(p: Floats, rows: Ints, arm: int) -> float:
    """E[ p(s | arm) alpha(s) ]: own count times the others' over all counts, averaged over both."""
    own = _binomial(int(rows[arm]), p[arm])
    other = np.ones(1)
    for index, count in enumerate(rows):
        if index != arm and count:
            other = np.convolve(other, _binomial(int(count), p[index]))
    mine = np.arange(len(own))[:, None]
    theirs = np.arange(len(other))[None, :]
    borrowed = mine * theirs / np.maximum(mine + theirs, 1)
    return float(own @ borrowed @ other) / int(rows[arm])


def _binomial(n: int, p: float) -> Floats:
    k = np.arange(n + 1)
    log = (
        special.gammaln(n + 1)
        - special.gammaln(k + 1)
        - special.gammaln(n - k + 1)
        + special.xlogy(k, p)
        + special.xlog1py(n - k, -p)
    )
    chances: Floats = np.exp(log)
    return chances


def borrowed_share(table: NDArray[np.integer], arm: int) -> Floats:
    """alpha(s) of the data: which part of the rows with S = s came from other arms; 0 if there are none."""
    rows = table.sum(axis=2)
    total = rows.sum(axis=0)
    share: Floats = np.where(total > 0, 1 - rows[arm] / np.maximum(total, 1), 0.0)
    return share


def alpha_star_of_counts(table: NDArray[np.integer], arm: int, reward: ArrayLike) -> float:
    """alpha* given the counts themselves: at least c / (c + 1) when others have c times the arm's rows of every s."""
    mu = np.asarray(reward, dtype=np.float64)
    weight = table[arm].sum(axis=1) * mu * (1 - mu)
    total = float(weight.sum())
    return float(weight @ borrowed_share(table, arm)) / total if total > 0 else 0.0
