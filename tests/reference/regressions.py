"""The Bayes factor of one regression against one for each level, from raw rows."""

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, stats

Floats = NDArray[np.float64]


def by_contrasts(values: Floats, levels: NDArray[np.int64]) -> float:
    """From raw rows: what is left of Y when the common regression is projected out is multivariate t in either model.

    Flat common coefficients are the same as conditioning on that (Harville 1974); df near 0 is the flat log sigma.
    """
    design = np.column_stack([np.ones(len(values)), values[:, :-1]])
    covariance = np.eye(len(values))
    for level in np.unique(levels):
        own = np.ix_(levels == level, levels == level)
        rows = design[levels == level]
        projection = rows @ np.linalg.pinv(rows, rcond=1e-9)
        covariance[own] += len(rows) / np.linalg.matrix_rank(rows, tol=1e-7) * projection
    basis = linalg.null_space(design.T)
    if not basis.shape[1]:
        return 0.0
    left = basis.T @ values[:, -1]
    same, own_regressions = (
        stats.multivariate_t(shape=basis.T @ matrix @ basis, df=1e-9).logpdf(left)
        for matrix in (np.eye(len(values)), covariance)
    )
    return float(same - own_regressions)
