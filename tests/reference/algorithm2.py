"""Algorithm 2 line by line (appendix C.2), slow and obvious: every regression is fitted again to the rows.

Pure numpy; the problem only names arms and levels.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from causal_bandits import Problem
from causal_bandits.core.data import Rows

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
SeparatingSets = Sequence[tuple[tuple[str, ...], tuple[str, ...]]]
"""S_set: pairs (S, I') of names."""


class Data(NamedTuple):
    """D^N: level numbers of the interventions, columns of each observed variable, rewards; a row per pull."""

    interventions: Ints
    columns: dict[str, Floats]
    rewards: Floats

    @classmethod
    def of(cls, problem: Problem, rows: Rows) -> "Data":
        columns: dict[str, Floats] = {}
        numbers = iter(rows.raw.T)
        for place, variable in enumerate(problem.observed):
            if variable.is_real:
                columns[variable.name] = next(numbers)[:, None]
            else:
                columns[variable.name] = (rows.codes[:, [place]] == np.arange(1, variable.size)).astype(np.float64)
        return cls(problem.arm_codes[rows.arms], columns, rows.rewards)

    def take(self, chosen: Ints | Bools) -> "Data":
        columns = {name: column[chosen] for name, column in self.columns.items()}
        return Data(self.interventions[chosen], columns, self.rewards[chosen])


def rows_of(data: Data, arm: Ints, levers: Sequence[int] | slice = slice(None)) -> Bools:
    """Rows in which the (named) interventions are those of an arm."""
    same: Bools = (data.interventions[:, levers] == arm[levers]).all(axis=1)
    return same


def design(data: Data, variables: Sequence[str]) -> Floats:
    return np.column_stack([np.empty((len(data.rewards), 0)), *(data.columns[name] for name in variables)])


def mu_sm(data: Data, arm: Ints) -> float:
    """The sample mean."""
    return float(data.rewards[rows_of(data, arm)].mean())


def mu_is(data: Data, arm: Ints, variables: Sequence[str], not_separated: Sequence[int]) -> float:
    """The information sharing estimator: E[Y | S] by least squares where I_NS agrees, averaged over the arm's rows."""
    pool = data.take(rows_of(data, arm, not_separated))
    x = design(pool, variables)
    slopes = np.linalg.lstsq(x - x.mean(axis=0), pool.rewards - pool.rewards.mean())[0]
    own = design(data.take(rows_of(data, arm)), variables)
    return float((pool.rewards.mean() + (own - x.mean(axis=0)) @ slopes).mean())


def bootstrapped(data: Data, problem: Problem, rng: np.random.Generator) -> Data:
    """Rows drawn with replacement, as many per intervention as there were."""
    drawn = [np.flatnonzero(rows_of(data, arm)) for arm in problem.arm_codes]
    return data.take(np.concatenate([rng.choice(rows, size=len(rows)) for rows in drawn if len(rows)]))


def causal_ucb_normal(
    data: Data,
    problem: Problem,
    s_set: SeparatingSets,
    rng: np.random.Generator,
    *,
    n_b: int = 50,
    printed: bool = False,
    variance: Callable[[int, int], float] | None = None,
) -> Floats:
    """The index of every arm; the next arm has the highest. Every arm must have two rows.

    `printed` is the index as the paper has it; otherwise the variance of the mean is not divided by n once more.
    `variance`, of the number of an arm and of a set, gives exact variances in place of bootstrapped ones.
    """
    index = np.empty(len(problem.arms))  # line 3
    for zeta, arm in enumerate(problem.arm_codes):  # line 5
        own = data.rewards[rows_of(data, arm)]
        scale = np.log(len(data.rewards)) / (len(own) if printed else 1)
        best_var = own.var(ddof=1) / len(own)
        index[zeta] = mu_sm(data, arm) + 4 * np.sqrt(best_var * scale)  # lines 6 and 7
        for number, (variables, separated) in enumerate(s_set):  # line 8
            rest = [place for place, name in enumerate(problem.intervention_names) if name not in separated]  # line 9
            if variance is None:  # lines 10 to 13
                samples = [mu_is(bootstrapped(data, problem, rng), arm, variables, rest) for _ in range(n_b)]
                var = float(np.var(samples, ddof=1))
            else:
                var = variance(zeta, number)
            if var < best_var:  # line 14
                index[zeta] = mu_is(data, arm, variables, rest) + 4 * np.sqrt(var * scale)  # line 15
                best_var = var  # line 16
    return index
