"""G2 and Bayes factors the plain way: stratum by stratum, from tables or from raw rows."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import lgamma
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from causal_bandits.core.independence import IndependenceResult


def g_squared(table: NDArray[np.int64]) -> IndependenceResult:
    """Test rows against columns in a table (strata, rows, columns)."""
    statistic, dof = 0.0, 0
    for stratum in table:
        seen = stratum[stratum.any(axis=1)][:, stratum.any(axis=0)]
        if seen.size:
            found = stats.chi2_contingency(seen, correction=False, lambda_="log-likelihood")
            statistic, dof = statistic + found.statistic, dof + found.dof
    return IndependenceResult(statistic, dof, float(stats.chi2.sf(statistic, dof)) if dof else 1.0)


def g_squared_of_rows(
    rows: Sequence[Mapping[str, Any]], tested: Sequence[str], given: Sequence[str], target: str = "Y"
) -> IndependenceResult:
    """Test the joint value of the tested columns against the target within each joint value of the given ones."""
    strata = sorted({tuple(row[name] for name in given) for row in rows}, key=repr)
    values = sorted({tuple(row[name] for name in tested) for row in rows}, key=repr)
    table = np.zeros((len(strata), len(values), 2), dtype=np.int64)
    for row in rows:
        stratum = strata.index(tuple(row[name] for name in given))
        table[stratum, values.index(tuple(row[name] for name in tested)), row[target]] += 1
    return g_squared(table)


def log_likelihood(rows: Iterable[tuple[Hashable, int]]) -> float:
    """log P(rewards) of rows (cell, reward), where every cell has its own probability, uniform beforehand."""
    counts: dict[Hashable, list[int]] = {}
    for cell, reward in rows:
        counts.setdefault(cell, [0, 0])[reward] += 1
    terms = ((lgamma(zeros + 1), lgamma(ones + 1), lgamma(zeros + ones + 2)) for zeros, ones in counts.values())
    return sum(zeros + ones - both for zeros, ones, both in terms)


def log_bayes_factor(rows: list[dict[str, Any]], s: Sequence[str], lever: str, given: Sequence[str]) -> float:
    """log [P(Y | S, given) / P(Y | S, given, lever)] from raw rows; a row that lacks a value of S does not count."""
    whole = [row for row in rows if all(row[name] is not None for name in s)]
    together = log_likelihood((tuple(row[name] for name in (*s, *given)), row["Y"]) for row in whole)
    return together - log_likelihood((tuple(row[name] for name in (*s, *given, lever)), row["Y"]) for row in whole)
