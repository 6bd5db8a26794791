"""The interface of an experiment: chunks of work that can run anywhere, and a summary of their rows."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from ..._version import __version__
from ...core.seeds import stream
from ...errors import OptionError, listing, whole_number
from ...libraries import pl
from ...reporting.summaries import ClaimRecord, Summary
from ..simulation.many_runs import MOST_RUNS
from ..simulation.one_run import MOST_ROUNDS


class Scale(NamedTuple):
    """How much of an experiment to run."""

    horizon: int
    runs: int
    """Runs per world (or data sets per case)."""
    slow_runs: int | None = None
    """Runs per world of methods that are slow; as many as the others unless given."""
    share: float = 1.0
    """The share of the worlds that are played, if they are a sample."""

    def worlds(self, of: int) -> int:
        """How many worlds of `of` are played."""
        return of if self.share == 1 else min(of, max(2, round(self.share * of)))


MOST_ROWS = 10**8
"""All rows of an experiment are summarized at once: these take some gigabytes."""
STORED = 2
"""How chunks are stored; those stored in another way are run again."""


def checked_scale(horizon: int, runs: int, least: int = 1) -> Scale:
    """The scale that a user asks for."""
    return Scale(whole_number("horizon", horizon, least, MOST_ROUNDS), whole_number("runs", runs, 1, MOST_RUNS))


class Chunk(NamedTuple):
    """A piece of work: a name (any text), and a function without arguments that can be sent to another process."""

    name: str
    work: Callable[[], pl.DataFrame]


@dataclass(frozen=True)
class Experiment(ABC):
    """A figure or table of a paper: its question, its sizes, how it is computed and summarized."""

    name: str
    title: str
    question: str
    scales: Mapping[str, Scale]

    @abstractmethod
    def describe(self) -> list[Any]:
        """What the numbers depend on besides scale and seed, as plain values: chunks with other values never mix."""

    @abstractmethod
    def rows(self, size: Scale) -> int:
        """The approximate number of rows of all chunks."""

    @abstractmethod
    def chunks(self, size: Scale, seed: int) -> list[Chunk]:
        """All the work, in order. A chunk's rows depend on the seed and its own index alone."""

    @abstractmethod
    def summarise(self, rows: pl.DataFrame, size: Scale, seed: int, *, weighted: bool) -> Summary:
        """The summary of all chunks' rows."""

    @property
    def can_weigh(self) -> bool:
        """Whether its worlds are classes of graphs that can be weighed."""
        return getattr(self, "weights", None) is not None

    def size(self, scale: str, runs: int | None = None) -> Scale:
        """A scale by name, with another number of runs if wanted."""
        if scale not in self.scales:
            raise OptionError(f"scale {scale!r} is not known; expected one of {listing(self.scales)}")
        size = self.scales[scale]
        if runs is None:
            return size
        return self.checked(size._replace(runs=whole_number("runs", runs, 1, MOST_RUNS), slow_runs=None))

    def checked(self, size: Scale) -> Scale:
        """The size, if its rows fit into memory."""
        if self.rows(size) > MOST_ROWS:
            raise OptionError(
                f"runs={size.runs} would give {self.rows(size):,} rows of results; expected at most {MOST_ROWS:,}; "
                "use fewer runs, policies or worlds"
            )
        return size

    def fingerprint(self, size: Scale, seed: int) -> str:
        """Identifies the chunks of this plan, so that those of another plan or release never mix."""
        text = json.dumps([self.name, self.describe(), size, seed, __version__, STORED], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def heading(self, size: Scale, seed: int) -> dict[str, Any]:
        """Fields of every summary."""
        return {
            "figure": self.name,
            "title": self.title,
            "question": self.question,
            "version": __version__,
            "seed": seed,
            "horizon": size.horizon,
            "runs": size.runs,
        }


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
        """A case's data sets are all held at once, with a few hundred numbers each."""
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
