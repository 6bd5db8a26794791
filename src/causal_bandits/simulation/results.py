"""What a simulation leaves behind: a table, and how sure we are of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..drawers import drawn
from ..errors import MissingExtraError
from ..markup import number, titled_table
from ..problem import Problem


@dataclass(frozen=True, repr=False)
class Simulation:
    """Regret of all runs at the checkpoints; arms and rewards of every round where they were kept."""

    problem: Problem
    checkpoints: NDArray[np.int64]
    regret: NDArray[np.float64]
    """(runs, checkpoints): cumulative pseudo-regret."""
    realised_regret: NDArray[np.float64]
    arms: NDArray[np.int64] | None = None
    """(runs, rounds), with `keep_arms=True`."""
    by_segment: NDArray[np.float64] | None = None
    """(segments, runs, checkpoints): the part of the regret in each segment, where the problem has segments."""

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.regret)

    def to_frame(self) -> pl.DataFrame:
        """One row per run and checkpoint: run, t, regret, realised_regret."""
        runs, points = self.regret.shape
        return pl.DataFrame(
            {
                "run": np.repeat(np.arange(runs), points),
                "t": np.tile(self.checkpoints, runs),
                "regret": self.regret.ravel(),
                "realised_regret": self.realised_regret.ravel(),
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

    def segments(self) -> pl.DataFrame:
        """Per segment: its part of the regret at the end, averaged over runs, and the standard error."""
        shown = [",".join(f"{n}={level}" for n, level in each.items()) for each in self.problem.segment_settings]
        last = self.regret[None, :, -1] if self.by_segment is None else self.by_segment[:, :, -1]
        spread = last.std(axis=1, ddof=1) if self.runs > 1 else np.full(len(last), np.nan)
        return pl.DataFrame({"segment": shown, "regret": last.mean(axis=1), "se": spread / np.sqrt(self.runs)})

    def plot(self, axes: Any = None, *, name: str | None = None) -> Any:
        """Draw the mean regret on matplotlib axes, new ones by default, and return them; `name` is for the legend."""
        return drawn("simulation", self, axes, name=name)

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
