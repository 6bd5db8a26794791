"""From runs to numbers: means with standard errors, and ratios to the baseline."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from .. import __version__
from ..compiled import Floats
from ..errors import OptionError
from .base import Experiment, Plan


def summarise(experiment: Experiment, plan: Plan, rows: pl.DataFrame, *, weighted: bool = False) -> dict[str, Any]:
    """The content of summary.json. Policies played the same worlds with the same streams, so ratios are paired."""
    if weighted and experiment.weights is None:
        raise OptionError(f"{experiment.name} has no classes of graphs to weigh; leave out --weighted")
    weights = np.asarray(experiment.weights() if weighted and experiment.weights else [1.0] * experiment.worlds)
    weights = weights / weights.sum()
    points = rows["t"].unique().sort().to_list()
    regret = {series.key: _cube(rows, series.key, plan, len(points)) for series in experiment.series}
    summary = {}
    for series in experiment.series:
        mean, se = stratified(regret[series.key], weights)
        baseline = series.baseline or experiment.baseline
        ratio, ratio_se = paired_ratio(regret[series.key], regret[baseline], weights)
        summary[series.key] = {
            "label": series.label,
            "knows": series.knows,
            "panel": series.panel,
            "baseline": baseline,
            "t": points,
            "mean": mean.tolist(),
            "se": se.tolist(),
            "ratio": ratio.tolist(),
            "ratio_se": ratio_se.tolist(),
        }
    return {
        "figure": experiment.name,
        "title": experiment.title,
        "question": experiment.question,
        "version": __version__,
        "seed": plan.seed,
        "horizon": plan.horizon,
        "runs": plan.runs,
        "worlds": experiment.worlds,
        "weights": "orbit sizes" if weighted else "equal",
        "series": summary,
    }


def _cube(rows: pl.DataFrame, key: str, plan: Plan, points: int) -> Floats:
    """(worlds, runs, checkpoints)."""
    values = rows.filter(pl.col("series") == key).sort("world", "run", "t")["regret"].to_numpy()
    return values.reshape(-1, plan.runs, points)


def stratified(cube: Floats, weights: Floats | Sequence[float]) -> tuple[Floats, Floats]:
    """Weighted mean over worlds of the mean over runs, and its standard error.

    The worlds are all there are, so only the spread between the runs of a world counts; with a single run per world
    that is unknown and the spread between worlds stands in for it, which is too large rather than too small.
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
