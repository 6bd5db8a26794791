"""What every dataset is."""

from __future__ import annotations

from typing import NamedTuple

from ...libraries import pl
from ..problem import Problem


class Dataset(NamedTuple):
    """A bandit problem and its logged rows: `LoggedWorld(*dataset)` is a bandit to play."""

    problem: Problem
    frame: pl.DataFrame

    def __repr__(self) -> str:
        return f"Dataset({len(self.frame):,} rows, {self.problem.outline})"
