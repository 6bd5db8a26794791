"""Figures whose result is curves: their chunks, and from runs to means, standard errors, ratios and claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from ...core.compiled import Floats
from ...core.seeds import stream
from ...libraries import pl
from ...reporting.summaries import Measured, Summary
from ..simulation import observe
from ..simulation.many_runs import RUNS_OF_Q95, tail_exponent, tails_of
from .base import Chunk, Experiment, Scale
from .claims import Claim, Contrast, record
from .methods import REGRET, Measure, Method, Panel, Shown

# From runs to numbers: means with standard errors, ratios to the baseline, and the differences behind claims


RUNS_OF_EXPONENT = 200
"""The exponent of a tail is that of the largest 5% of the runs, ten at least."""


class Line(NamedTuple):
    """All runs of one line: (worlds, runs, checkpoints), and what they are a share of."""

    values: Floats
    of: Floats
    weights: Floats
    stream: tuple[int, ...]
    points: list[int]


def series_of(experiment: Curves, lines: dict[str, Line]) -> dict[str, Any]:
    """What is shown of every line that was played."""
    shown = {}
    for key, (method, panel, suffix, line) in experiment.lines().items():
        if key not in lines:
            continue
        baseline = (method.baseline or experiment.baseline) + panel.suffix + suffix
        baseline = baseline if baseline in lines else ""
        shown[key] = {
            "label": method.label,
            "method": method.key,
            "knows": method.knows,
            **({} if method.tier is None else {"tier": int(method.tier), "tier_label": method.tier.label}),
            "panel": ", ".join(part for part in (panel.title, line.label) if part),
            "baseline": baseline,
            "worlds": len(lines[key].values),
            "runs": lines[key].values.shape[1],
            "t": lines[key].points,
            **_numbers(lines[key], lines.get(baseline)),
            **_of_oracle(lines[key], lines.get(f"{experiment.oracle}{panel.suffix}{suffix}")),
            **(_tails(lines[key], lines.get(baseline)) if experiment.measure.per is None else {}),
        }
    return shown


def lines_of(experiment: Curves, rows: pl.DataFrame, size: Scale, *, weighted: bool) -> dict[str, Line]:
    """All runs of every line, by its key."""
    measure, origins = experiment.measure, experiment.lines()
    lines = {}
    for (key,), found in rows.group_by("series", maintain_order=True):
        _, panel, _, shown = origins[str(key)]
        points = shown.points(size.horizon).tolist()
        ordered = found.sort("world", "run", "t")
        shape = (size.worlds(panel.worlds), -1, len(points))
        values = ordered[measure.column].to_numpy().reshape(shape)
        of = np.ones_like(values) if measure.per is None else ordered[measure.per].to_numpy().reshape(shape)
        weights = np.asarray(experiment.weights() if weighted and experiment.weights else np.ones(len(values)))
        lines[str(key)] = Line(values, of, weights / weights.sum(), panel.stream, points)
    return lines


def _numbers(line: Line, base: Line | None) -> dict[str, Any]:
    mean, se = paired_ratio(line.values, line.of, line.weights)
    numbers = {"mean": mean.tolist(), "se": se.tolist()}
    if base is not None:
        ratio, ratio_se = paired_ratio(line.values, base.values[:, : line.values.shape[1]], line.weights)
        numbers |= {"ratio": ratio.tolist(), "ratio_se": ratio_se.tolist()}
    return numbers


def _of_oracle(line: Line, oracle: Line | None) -> dict[str, Any]:
    """Regret at the end as a multiple of what a policy has that knows more, over the runs that both have."""
    if oracle is None:
        return {}
    runs = min(line.values.shape[1], oracle.values.shape[1])
    ratio, se = paired_ratio(line.values[:, :runs, -1:], oracle.values[:, :runs, -1:], line.weights)
    return {"of_oracle": float(ratio[0]), "of_oracle_se": float(se[0])}


def _tails(line: Line, base: Line | None) -> dict[str, Any]:
    """Tails of regret at the end, over all worlds and runs; large is twice the median of the baseline."""
    last = line.values[:, :, -1].ravel()
    if len(last) < RUNS_OF_Q95:
        return {}
    reference = None if base is None else float(np.median(base.values[:, :, -1]))
    found: dict[str, Any] = tails_of(last, reference)._asdict()
    if len(line.values) == 1:  # within one world: the tail itself
        levels = [0.5**power for power in range(1, 30) if 0.5**power * len(last) >= 1]
        found["survival"] = [[float(np.quantile(last, 1 - level)), level] for level in levels]
    if len(line.values) == 1 and len(last) >= RUNS_OF_EXPONENT:
        found["exponent"], found["exponent_se"] = tail_exponent(last)
    return {"tails": found}


def measure(contrast: Contrast, lines: dict[str, Line], baselines: dict[str, str], size: Scale) -> Measured:
    """A contrast's value and standard error.

    Each term is a ratio of means (to the baseline, or to what the line is a share of), which run by run moves by
    (value - ratio * base) / mean base. Terms with the same stream are added run by run, over the runs they all have;
    others are independent.
    """
    runs = min(lines[term.key].values.shape[1] for term in contrast.terms)
    difference, moves = contrast.constant, dict[tuple[int, ...], Floats]()
    for term in contrast.terms:
        line = lines[term.key]
        at = int(np.argmin(np.abs(np.asarray(line.points) - term.at * size.horizon)))
        relative = contrast.relative and bool(baselines[term.key])
        below = lines[baselines[term.key]].values if relative else line.of
        top, bottom = line.values[:, :runs, at], below[:, :runs, at]
        mean = max(float(line.weights @ bottom.mean(axis=1)), 1e-300)
        ratio = float(line.weights @ top.mean(axis=1)) / mean
        difference += term.factor * ratio
        moves[line.stream] = moves.get(line.stream, np.zeros(())) + term.factor * (top - ratio * bottom) / mean
    weights = {lines[term.key].stream: lines[term.key].weights for term in contrast.terms}
    errors = [stratified(moved[:, :, None], weights[stream])[1][0] for stream, moved in moves.items()]
    return Measured(contrast.text, difference, float(np.sqrt(np.sum(np.square(errors)))), contrast.expected)


def stratified(cube: Floats, weights: Floats | Sequence[float]) -> tuple[Floats, Floats]:
    """Weighted mean over worlds of the mean over runs, and its standard error.

    The worlds are all there are, so only the spread between the runs of a world counts; with a single run per world
    that is unknown and the spread between worlds stands in for it. That is right where the worlds are themselves a
    random sample, and too large rather than too small where they are not.
    """
    w = np.asarray(weights)
    worlds, runs, _ = cube.shape
    means = cube.mean(axis=1)
    mean: Floats = w @ means
    if runs > 1:
        variance = (w**2) @ (cube.var(axis=1, ddof=1) / runs)
    else:
        variance = (w**2).sum() * (w @ (means - mean) ** 2) * worlds / max(worlds - 1, 1)
    se: Floats = np.sqrt(variance)
    return mean, se


def paired_ratio(cube: Floats, base: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Ratio of the means and its standard error by the delta method, run by run."""
    bottom = stratified(base, weights)[0]
    safe = np.where(bottom > 0, bottom, 1.0)
    ratio: Floats = np.where(bottom > 0, stratified(cube, weights)[0] / safe, 1.0)
    se = stratified(cube - ratio * base, weights)[1] / safe
    return ratio, se


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

    def lines(self) -> dict[str, tuple[Method, Panel, str, Shown]]:
        """What each line shows, by its key: who plays where, and what of the measure."""
        return {
            f"{method.key}{panel.suffix}{suffix}": (method, panel, suffix, shown)
            for panel in self.panels
            for method in self.played(panel)
            for suffix, shown in self.measure.lines.items()
        }

    def rows(self, size: Scale) -> int:
        """One per line, world, run and checkpoint."""
        points = sum(len(line.points(size.horizon)) for line in self.measure.lines.values())
        return sum(size.worlds(panel.worlds) * size.runs * len(self.played(panel)) * points for panel in self.panels)

    def fingerprint(self, size: Scale, seed: int) -> str:
        """The number of runs is left out, so that more runs of the same plan add to those that are stored."""
        return super().fingerprint(size._replace(runs=0), seed)

    def chunks(self, size: Scale, seed: int) -> list[Chunk]:
        """A world of a panel with some of its runs, of all its methods."""
        parts = [range(at, min(at + self.chunk_runs, size.runs)) for at in range(0, size.runs, self.chunk_runs)]
        return [
            Chunk(
                f"{panel.suffix or 'all'}-{number:03d}-{runs.start:04d}-{runs.stop:04d}",
                partial(play_runs, self.measure, self.played(panel), alone, number, runs, size, seed),
            )
            for panel in self.panels
            for number in range(size.worlds(panel.worlds))
            for alone in [replace(panel, title="", worlds=1, world=panel.maker(number), without=())]
            for runs in parts
        ]

    def summarise(self, rows: pl.DataFrame, size: Scale, seed: int, *, weighted: bool) -> Summary:
        """Means, standard errors and ratios of every line, and the differences that the claims depend on.

        Methods played the same worlds with the same streams, so ratios are paired.
        """
        lines = lines_of(self, rows, size, weighted=weighted)
        shown = series_of(self, lines)
        bases = {key: shown[key]["baseline"] for key in shown}
        made = {
            **self.heading(size, seed),
            "measure": self.measure.name,
            "rounds_axis": self.measure.axis,
            "worlds": max(found["worlds"] for found in shown.values()),
            "weights": "orbit sizes" if weighted else "equal",
            **({"by_tier": True} if self.by_tier else {}),
            "series": shown,
            "claims": [
                record(claim.where, claim.text, [measure(each, lines, bases, size) for each in claim.contrasts])
                for claim in self.claims
            ],
        }
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
            late = {"delay": panel.waits(size.horizon), "whole_rows": method.whole_rows}
            taken = measure.take(policy, world, size.horizon, np.random.default_rng(of_draws), **late)
            for suffix in measure.lines:
                if suffix not in taken:
                    continue
                reading = taken[suffix]
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
