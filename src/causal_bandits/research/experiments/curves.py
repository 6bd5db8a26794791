"""Experiments whose result is a curve over rounds: methods played in panels of worlds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from ...core.seeds import stream
from ...errors import OptionError
from ...libraries import pl
from ...reporting.summaries import Summary
from ..simulation import observe
from .base import Chunk, Experiment, Scale
from .claims import Claim
from .measures import REGRET, Measure, Playing
from .methods import Method, Panel
from .summary import summarise_curves

RUNS_PER_CHUNK = 10
"""Small enough that stopping costs seconds."""


@dataclass(frozen=True)
class Curves(Experiment):
    """Every method in every panel; the key of a line is the method's with the panel's suffix."""

    methods: tuple[Method, ...]
    panels: tuple[Panel, ...]
    baseline: str = ""
    oracle: str = ""
    """The key of the oracle: regret is also shown as a multiple of its regret."""
    chunk_runs: int = RUNS_PER_CHUNK
    measure: Measure = REGRET
    weights: Callable[[], Sequence[float]] | None = None
    claims: tuple[Claim, ...] = ()
    by_tier: bool = False
    """Whether tables and figures are ordered by what methods know."""
    identity: tuple[str, ...] = ()
    """Distinguishes policies and worlds given by a user, which may share names."""

    def describe(self) -> list[Any]:
        """Methods and panels by name: what they do is fixed by the release."""
        panels = [[p.suffix, p.worlds, p.observational, p.stream, *p.without, *_lateness(p)] for p in self.panels]
        return [[method.key for method in self.methods], panels, self.identity]

    def played(self, panel: Panel) -> tuple[Method, ...]:
        """The methods of a panel."""
        return tuple(method for method in self.methods if method.key not in panel.without)

    def line_keys(self) -> list[str]:
        """Of all lines."""
        return [
            f"{method.key}{panel.suffix}{suffix}"
            for panel in self.panels
            for method in self.played(panel)
            for suffix in self.measure.lines
        ]

    def can_weigh(self) -> bool:
        """Whether its worlds are classes of graphs that can be weighed."""
        return self.weights is not None

    def rows(self, size: Scale) -> int:
        """One per line, world, run and checkpoint."""
        points = sum(len(line.points(size.horizon)) for line in self.measure.lines.values())
        return sum(size.worlds(panel.worlds) * size.runs * len(self.played(panel)) * points for panel in self.panels)

    def chunks(self, size: Scale, seed: int) -> list[Chunk]:
        """A world of a panel with some of its runs."""
        return [
            Chunk(f"{panel.suffix or 'all'}-{number:03d}-{first:04d}", work)
            for panel in self.panels
            for number in range(size.worlds(panel.worlds))
            for first in range(0, size.runs, self.chunk_runs)
            for work in [self._work(panel, number, range(first, min(first + self.chunk_runs, size.runs)), size, seed)]
        ]

    def _work(self, panel: Panel, number: int, runs: range, size: Scale, seed: int) -> Callable[[], pl.DataFrame]:
        bare = replace(panel, title="", worlds=1, world=panel.maker(number), without=())
        return partial(play_runs, self.measure, self.played(panel), bare, number, runs, size, seed)

    def summarise(self, rows: pl.DataFrame, size: Scale, seed: int, *, weighted: bool) -> Summary:
        """Means, standard errors and paired ratios of every line, and the differences that the claims depend on."""
        if weighted and self.weights is None:
            raise OptionError(f"{self.name} has no classes of graphs to weigh; leave out --weighted")
        made = {**self.heading(size, seed), **summarise_curves(self, rows, size, weighted=weighted)}
        return cast(Summary, made)


def _lateness(panel: Panel) -> tuple[str, ...]:
    """Distinguishes panels with late rewards."""
    late = panel.delay_share or panel.delay
    return () if late is None or late == 0 else (f"late {late!r}",)


def play_runs(
    measure: Measure,
    methods: tuple[Method, ...],
    panel: Panel,
    number: int,
    runs: range,
    size: Scale,
    seed: int,
) -> pl.DataFrame:
    """Play all methods in the same worlds with the same streams: one row per line, run and checkpoint.

    A run's numbers depend on the seed, the world's number and the run's number alone.
    """
    points = {suffix: shown.points(size.horizon) for suffix, shown in measure.lines.items()}
    make = panel.maker(number)
    frames = []
    for run in runs:
        root = stream(seed, *panel.stream, number, run)
        of_world, of_draws, of_policy, of_observations = root.spawn(4)
        world = make(number, of_world)
        for method in methods:
            if method.slow and size.slow_runs is not None and run >= size.slow_runs:
                continue
            policy = method.policy(world)(world.problem, seed=np.random.default_rng(of_policy))
            observe(policy, world, panel.observational, np.random.default_rng(of_observations))
            late = panel.waits(size.horizon)
            how = Playing(method.batches if late is None else late, method.whole_rows)
            taken = measure.take(policy, world, size.horizon, np.random.default_rng(of_draws), how)
            for suffix, reading in taken.items():
                rows = pl.DataFrame({"t": points[suffix], measure.column: reading.values}).select(
                    pl.lit(f"{method.key}{panel.suffix}{suffix}").alias("series"),
                    pl.lit(number, dtype=pl.Int32).alias("world"),
                    pl.lit(run, dtype=pl.Int32).alias("run"),
                    "t",
                    measure.column,
                )
                per = measure.per
                frames.append(rows if per is None else rows.with_columns(pl.lit(reading.of).alias(per)))
    return pl.concat(frames)
