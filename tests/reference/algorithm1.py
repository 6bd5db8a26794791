"""Algorithm 1 line by line (appendix C.1), slow and obvious: every count is made again from the rows.

The one liberty: random numbers come in arrays, with the samples of line 12 as the last axis and, in front of it,
`choices` independent runs of the whole algorithm on the same data. Pure numpy; the problem only names arms and levels.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from causal_bandits import Problem

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
SeparatingSets = Sequence[tuple[tuple[str, ...], tuple[str, ...]]]
"""S_set: pairs (S, I') of names."""


class Data(NamedTuple):
    """D^N in level numbers: a row per pull, a column per variable."""

    interventions: Ints
    observed: Ints
    rewards: Ints

    @classmethod
    def of(cls, problem: Problem, table: dict[str, list[Any]]) -> "Data":
        def codes(variables: Sequence[Any]) -> Ints:
            columns = [[v.levels.index(level) for level in table[v.name]] for v in variables]
            return np.array(columns, dtype=np.int64).reshape(len(variables), len(table[problem.target])).T

        rewards = np.array(table[problem.target], dtype=np.int64)
        return cls(codes(problem.interventions), codes(problem.observed), rewards)


def beta_variance(ones: int, zeros: int) -> float:
    """V of Beta(ones + 1, zeros + 1)."""
    a, b = ones + 1, zeros + 1
    return a * b / ((a + b) ** 2 * (a + b + 1))


def exact_variance(own: Ints, ones: Ints, zeros: Ints) -> float:
    """V[p . mu] from E[p_s p_t] E[mu_s mu_t], summed over all pairs of cells."""
    a = own + 1.0
    total = a.sum()
    m = (ones + 1) / (ones + zeros + 2)
    v = m * (1 - m) / (ones + zeros + 3)
    pp = (np.outer(a, a) + np.diag(a)) / (total * (total + 1))
    return float((pp * (np.outer(m, m) + np.diag(v))).sum() - (a @ m / total) ** 2)


def count(data: Data, problem: Problem, variables: Sequence[str], where: NDArray[np.bool_]) -> Ints:
    """N(S = s) for every s in D(S), over some of the rows."""
    places = [problem.observed_names.index(name) for name in variables]
    sizes = [problem.observed[place].size for place in places]
    cells = np.zeros(int(where.sum()), dtype=np.int64)
    for place, size in zip(places, sizes, strict=True):
        cells = cells * size + data.observed[where, place]
    return np.bincount(cells, minlength=int(np.prod(sizes, dtype=np.int64)))


def shared_samples(own: Ints, ones: Ints, zeros: Ints, size: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Lines 13 to 15: draws of p . mu."""
    p = rng.dirichlet(own + 1, size=size)
    mu = rng.beta(ones + 1, zeros + 1, size=(*size, len(own)))
    samples: Floats = (p * mu).sum(axis=-1)
    return samples


def shared_counts(
    data: Data, problem: Problem, arm: Ints, variables: Sequence[str], separated: Sequence[str]
) -> tuple[Ints, Ints, Ints]:
    """N(S, I = arm), N(Y = 1, S, I_NS = arm_NS), N(Y = 0, S, I_NS = arm_NS) of lines 13 and 14."""
    not_separated = [i for i, name in enumerate(problem.intervention_names) if name not in separated]
    own = (data.interventions == arm).all(axis=1)
    pooled = (data.interventions[:, not_separated] == arm[not_separated]).all(axis=1)
    return (
        count(data, problem, variables, own),
        count(data, problem, variables, pooled & (data.rewards == 1)),
        count(data, problem, variables, pooled & (data.rewards == 0)),
    )


def causal_thompson_sampling(
    data: Data,
    problem: Problem,
    s_set: SeparatingSets,
    rng: np.random.Generator,
    *,
    choices: int = 1,
    n_mc: int = 200,
    variance: Callable[[Ints, Ints, Ints], float] | None = None,
) -> Ints:
    """The next arm (by number), `choices` times; `variance` gives exact variances in place of estimated ones."""
    index = np.empty((len(problem.arms), choices))  # line 3
    for zeta, arm in enumerate(problem.arm_codes):  # line 5
        own = (data.interventions == arm).all(axis=1)
        ones, zeros = int((data.rewards[own] == 1).sum()), int((data.rewards[own] == 0).sum())
        index[zeta] = rng.beta(ones + 1, zeros + 1, size=choices)  # lines 6 and 7
        best_var = np.full(choices, beta_variance(ones, zeros))  # line 8
        for variables, separated in s_set:  # line 9
            counts = shared_counts(data, problem, arm, variables, separated)  # line 10
            samples = shared_samples(*counts, (choices, n_mc), rng)  # lines 11 to 16
            var = samples.var(axis=1) if variance is None else np.full(choices, variance(*counts))
            better = var < best_var  # line 17
            index[zeta, better] = samples[better, 0]  # line 18
            best_var[better] = var[better]  # line 19
    best: Ints = index.argmax(axis=0)
    return best


def thompson_sampling(data: Data, problem: Problem, rng: np.random.Generator, *, choices: int = 1) -> Ints:
    """The baseline: Algorithm 1 when no set is ever found."""
    return causal_thompson_sampling(data, problem, [], rng, choices=choices)
