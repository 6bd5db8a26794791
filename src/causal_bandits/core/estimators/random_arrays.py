"""Functions of arrays that numba has for single numbers only: NumPy's in Python, loops where they are compiled.

Draws use up the same random numbers in the same order both ways.
"""

import math
from typing import Any

import numpy as np

from ...libraries import special
from ..compiled import Floats, loops_of

FEW = 32
"""Up to this count a product of numbers is looked up in running sums of logarithms, which is faster than Gamma."""
MANY = 128
"""Up to this count NumPy looks it up, too: SciPy takes a tenth of a second to import, and a young study needs none."""


def draw_betas(rng: np.random.Generator, a: Floats, b: Floats) -> Floats:
    """Draws of Beta distributions, in the shape of the parameters."""
    return rng.beta(a, b)


@loops_of(draw_betas)
def _draw_betas(rng: Any, a: Any, b: Any) -> Any:
    drawn = np.empty_like(a)
    for place in np.ndindex(a.shape):
        drawn[place] = rng.beta(a[place], b[place])
    return drawn


def draw_gammas(rng: np.random.Generator, shape: Floats) -> Floats:
    """Draws of Gamma distributions of scale 1, in the shape of the parameter."""
    return rng.standard_gamma(shape)


@loops_of(draw_gammas)
def _draw_gammas(rng: Any, shape: Any) -> Any:
    drawn = np.empty_like(shape)
    for place in np.ndindex(shape.shape):
        drawn[place] = rng.standard_gamma(shape[place])
    return drawn


def draw_students(rng: np.random.Generator, freedom: Floats) -> Floats:
    """Draws of Student's t with these degrees of freedom, in their shape."""
    return rng.standard_t(freedom)


@loops_of(draw_students)
def _draw_students(rng: Any, freedom: Any) -> Any:
    drawn = np.empty_like(freedom)
    for place in np.ndindex(freedom.shape):
        drawn[place] = rng.standard_t(freedom[place])
    return drawn


def log_rising(bases: Floats, counts: Floats) -> Floats:
    """(n,): the sums of log [base (base + 1) ... (base + count - 1)] over counts, (rows, columns).

    Args:
        bases: (n, columns): n bases for every column.
        counts: (rows, columns).
    """
    most = int(counts.max(initial=0.0))
    if most > MANY:
        from_gamma: Floats = special.gammaln(bases[:, None, :] + counts) - special.gammaln(bases)[:, None, :]
        return from_gamma.sum(axis=(1, 2))  # type: ignore[no-any-return]
    products = np.zeros((len(bases), most + 1, bases.shape[1]))
    np.cumsum(np.log(bases[:, None, :] + np.arange(most)[:, None]), axis=1, out=products[:, 1:])
    found: Floats = np.take_along_axis(products, counts.astype(np.int64)[None], axis=1)
    return found.sum(axis=(1, 2))  # type: ignore[no-any-return]


@loops_of(log_rising)
def _log_rising(bases: Any, counts: Any) -> Any:
    found, products = np.zeros(len(bases)), np.zeros(FEW + 1)
    for column in range(counts.shape[1]):
        most = int(counts[:, column].max())
        for place in range(len(bases)):
            base = bases[place, column]
            none = math.lgamma(base)
            for more in range(min(FEW, most)):
                products[more + 1] = products[more] + math.log(base + more)
            for row in range(len(counts)):
                count = counts[row, column]
                if count > FEW:
                    found[place] += math.lgamma(base + count) - none
                elif count > 0:
                    found[place] += products[int(count)]
    return found
