"""Experiments whose result is a table: one chunk per case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np

from ...core.seeds import stream
from ...libraries import pl
from ...reporting.summaries import ClaimRecord, Summary
from .base import Chunk, Experiment, Scale

CaseRunner = Callable[[int, Scale, np.random.SeedSequence], "pl.DataFrame"]
"""(number of the case, scale, seed) -> its rows."""


@dataclass(frozen=True)
class Cases(Experiment):
    """A number of cases, each computed by itself; claims are made from all rows."""

    cases: int
    run: CaseRunner
    claims: Callable[[pl.DataFrame], list[ClaimRecord]]

    def describe(self) -> list[Any]:
        """What is done in a case is fixed by the release."""
        return [self.cases]

    def rows(self, size: Scale) -> int:
        """A case's data sets are all held at once, with some hundred numbers each."""
        return 100 * size.runs

    def chunks(self, size: Scale, seed: int) -> list[Chunk]:
        """One per case."""
        return [
            Chunk(f"case-{number:03d}", partial(_work, self.run, number, size, seed))
            for number in range(size.worlds(self.cases))
        ]

    def summarise(self, rows: pl.DataFrame, size: Scale, seed: int, *, weighted: bool) -> Summary:
        """The rows as they are, and the differences that the claims depend on."""
        made = {**self.heading(size, seed), "rows": rows.to_dicts(), "claims": self.claims(rows)}
        return cast(Summary, made)


def _work(run: CaseRunner, number: int, size: Scale, seed: int) -> pl.DataFrame:
    return run(number, size, stream(seed, number))
