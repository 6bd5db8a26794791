"""Whether two samples of arms are alike."""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Ints = NDArray[np.int64]


FALSE_ALARM = 1e-4


def g_test(ours: Ints, theirs: Ints, arms: int) -> float:
    """p-value of the two-sample G test; arms with fewer than 40 draws in all are taken together."""
    table = np.array([np.bincount(ours, minlength=arms), np.bincount(theirs, minlength=arms)])
    rare = table.sum(axis=0) < 40
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    return float(stats.chi2_contingency(table, correction=False, lambda_="log-likelihood").pvalue)
