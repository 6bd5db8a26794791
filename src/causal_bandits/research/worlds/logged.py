"""Worlds made from logged tables."""

from typing import Any

import numpy as np

from ...core.data import History
from ...core.problem import Problem
from ...errors import WorldError, listing
from .sampler import logged_sampler
from .world import ContinuousWorld


class LoggedWorld(ContinuousWorld):
    """A world from a logged table: pulling an arm draws one of its rows, uniformly and with replacement.

    Args:
        problem: The problem; every arm needs a row.
        frame: A dataframe, a list of dicts or a dict of columns, with a column for every lever, every observed variable
            and the reward; other columns are ignored.

    >>> problem = Problem("Y", {"A": float, "B": ["low", "high"]}, {"I": ["off", "on"]}, reward=float)
    >>> world = LoggedWorld(problem, {"I": ["off", "on", "on"], "A": [0.1, 0.2, 0.3], "B": ["low", "low", "high"],
    ...                               "Y": [1.0, 2.0, 4.0]})
    >>> world.means.tolist(), world.pull({"I": "off"}, np.random.default_rng(0))
    ([1.0, 3.0], {'A': 0.1, 'B': 'low', 'Y': 1.0})
    """

    def __init__(self, problem: Problem, frame: Any) -> None:
        rows = History(problem).encode_many(frame)
        missing = [arm for number, arm in enumerate(problem.arms) if not np.any(rows.arms == number)]
        if missing:
            raise WorldError(
                f"the table has no row for {listing(missing, 4)}; list the arms that occur: Problem(..., arms=[...])"
            )
        table = np.empty((len(rows.arms), len(problem.observed) + 1))
        table[:, :-1] = rows.codes
        table[:, [place for place, variable in enumerate(problem.observed) if variable.is_real]] = rows.raw
        table[:, -1] = rows.rewards
        means = np.array([rows.rewards[rows.arms == number].mean() for number in range(len(problem.arms))])
        super().__init__(problem, logged_sampler(rows.arms, table, len(problem.arms)), means)
