"""Results of a simulation: a table, with standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.markup import number, titled_table
from ...core.problem import Problem
from ...errors import MissingExtraError, OptionError
from ...libraries import pl

RUNS_OF_Q95, RUNS_OF_Q99 = 20, 100
"""With fewer runs a quantile is beyond the largest run."""


class Tails(NamedTuple):
    """How bad the worst runs are: quantiles of regret at the end, and how often it is large."""

    median: float
    q95: float
    q99: float | None
    """None with fewer than 100 runs."""
    cvar95: float
    """Mean of the worst 5% of the runs."""
    over: float
    """Share of the runs with more than twice a reference, such as the median of Thompson sampling."""
    over_se: float


def tail_exponent(regret: NDArray[np.float64], share: float = 0.05) -> tuple[float, float]:
    """a in P(R > x) ~ x^-a, from the largest `share` of the runs, and its standard error (Hill 1975).

    >>> round(tail_exponent(1 / (1 - (np.arange(20_000) + 0.5) / 20_000))[0], 1)
    1.0
    """
    largest = np.sort(regret)[-max(10, round(share * len(regret))) :]
    logs = np.log(largest[1:] / largest[0])
    exponent = 1 / max(float(logs.mean()), 1e-12)
    return exponent, exponent / float(np.sqrt(len(logs)))


def tails_of(regret: NDArray[np.float64], reference: float | None = None) -> Tails:
    """Tails of the regret of runs; `reference` is the regret of which twice is large, their own median by default.

    >>> tails_of(np.arange(1.0, 101.0))._replace(over_se=0)
    Tails(median=50.5, q95=95.05, q99=99.01, cvar95=98.0, over=0.0, over_se=0)
    """
    if len(regret) < RUNS_OF_Q95:
        raise OptionError(
            f"{len(regret)} runs; a 95% quantile needs at least {RUNS_OF_Q95}, a 99% quantile {RUNS_OF_Q99}"
        )
    worst = np.sort(regret)[-max(1, round(0.05 * len(regret))) :]
    median = float(np.median(regret))
    over = float((regret > 2 * (median if reference is None else reference)).mean())
    return Tails(
        median=median,
        q95=round(float(np.quantile(regret, 0.95)), 12),
        q99=round(float(np.quantile(regret, 0.99)), 12) if len(regret) >= RUNS_OF_Q99 else None,
        cvar95=float(worst.mean()),
        over=over,
        over_se=float(np.sqrt(over * (1 - over) / len(regret))),
    )


@dataclass(frozen=True, repr=False)
class Simulation:
    """Regret of all runs at the checkpoints; arms and rewards of every round where they were kept."""

    problem: Problem
    checkpoints: NDArray[np.int64]
    regret: NDArray[np.float64]
    """(runs, checkpoints): cumulative pseudo-regret."""
    realized_regret: NDArray[np.float64]
    arms: NDArray[np.int64] | None = None
    """(runs, rounds), with `keep_arms=True`."""
    by_segment: NDArray[np.float64] | None = None
    """(segments, runs, checkpoints): the part of the regret in each segment, if the problem has segments."""

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.regret)

    def to_frame(self) -> pl.DataFrame:
        """One row per run and checkpoint: run, t, regret, realized_regret."""
        runs, points = self.regret.shape
        return pl.DataFrame(
            {
                "run": np.repeat(np.arange(runs), points),
                "t": np.tile(self.checkpoints, runs),
                "regret": self.regret.ravel(),
                "realized_regret": self.realized_regret.ravel(),
            }
        )

    def to_pandas(self) -> Any:
        """The table as a pandas frame."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("pandas is not installed; get it with: pip install pandas") from None
        return pd.DataFrame(self.to_frame().to_dict(as_series=False))

    def summary(self) -> pl.DataFrame:
        """Per checkpoint: mean regret over runs and its standard error."""
        spread = self.regret.std(axis=0, ddof=1) if self.runs > 1 else np.full(len(self.checkpoints), np.nan)
        return pl.DataFrame(
            {"t": self.checkpoints, "mean": self.regret.mean(axis=0), "se": spread / np.sqrt(self.runs)}
        )

    def tails(self, reference: float | None = None) -> Tails:
        """How bad the worst runs are at the end: median, 95% and 99% quantile, mean of the worst 5% of the runs.

        Args:
            reference: Regret of which twice is large, such as `tails().median` of Thompson sampling in the same world;
                the median of these runs by default.

        >>> import causal_bandits as cb
        >>> played = cb.simulate(cb.ThompsonSampling, cb.worlds.hillstrom_world(), 200, runs=40, seed=1)
        >>> played.tails().q99 is None, played.tails().q95 <= played.tails().cvar95
        (True, True)
        """
        return tails_of(self.regret[:, -1], reference)

    def segments(self) -> pl.DataFrame:
        """Per segment: its part of the regret at the end, averaged over runs, and the standard error."""
        shown = [",".join(f"{n}={level}" for n, level in each.items()) for each in self.problem.segment_settings]
        last = self.regret[None, :, -1] if self.by_segment is None else self.by_segment[:, :, -1]
        spread = last.std(axis=1, ddof=1) if self.runs > 1 else np.full(len(last), np.nan)
        return pl.DataFrame({"segment": shown, "regret": last.mean(axis=1), "se": spread / np.sqrt(self.runs)})

    def plot(self, axes: Any = None, *, name: str | None = None) -> Any:
        """Draw the mean regret on matplotlib axes, new ones by default, and return them; `name` is for the legend."""
        from ...reporting.plots import plot_simulation

        return plot_simulation(self, axes, name=name)

    def __repr__(self) -> str:
        last = self.summary().tail(1).to_dicts()
        if not last:
            return f"Simulation({self.runs} runs of 0 rounds)"
        error = f" ± {last[0]['se']:.2f}" if self.runs > 1 else ""
        return f"Simulation({self.runs} runs, regret {last[0]['mean']:.2f}{error} at t = {last[0]['t']})"

    def _repr_html_(self) -> str:
        found = self.summary().rows()
        shown = found if len(found) <= 10 else [found[round(place * (len(found) - 1) / 9)] for place in range(10)]
        rows = [(f"{t:,}", number(mean), number(None if np.isnan(se) else se)) for t, mean, se in shown]
        return titled_table(repr(self), ("t", "regret", "standard error"), rows, numeric=(0, 1, 2))
