"""Studies as tables."""

from typing import Any

import numpy as np
import polars as pl

from .decisions import microseconds
from .state import StudyState


def decisions_frame(state: StudyState) -> pl.DataFrame:
    """One row per decision: id, status, times, levers, observed variables, reward; empty where nothing was told."""
    decisions, problem = state.decisions, state.problem
    arms, rows = decisions.column("arm"), decisions.column("row")
    told = np.flatnonzero(rows >= 0)
    columns: dict[str, Any] = {
        "id": np.arange(1, len(decisions) + 1),
        "status": pl.Series([decisions.status(number) for number in range(1, len(decisions) + 1)], dtype=pl.String),
        "asked": _times(decisions.column("asked")),
        "done": _times(decisions.column("done")),
    }
    for place, lever in enumerate(problem.interventions):
        named = any(isinstance(level, str) for level in lever.levels)
        levels = [str(level) if named else level for level in lever.levels]
        codes = problem.arm_codes[arms, place] if len(arms) else []
        columns[lever.name] = pl.Series([levels[code] for code in codes], strict=False)
    history = state.policy.history.to_frame()
    at = pl.Series(np.where(rows >= 0, rows, 0)[told] if len(told) else [], dtype=pl.Int64)
    seen = history[at.to_list()].select([*problem.observed_names, problem.target])
    seen = seen.with_columns(pl.Series("id", told + 1, dtype=pl.Int64))
    parts = [{"id": number, **part} for number, part in state.parts.items()]
    if parts:
        columns_seen = {name: [part.get(name) for part in parts] for name in seen.columns}
        seen = pl.concat([seen, pl.DataFrame(columns_seen, schema=seen.schema, strict=False)])
    frame = pl.DataFrame(columns).with_columns(pl.col("id").cast(pl.Int64))
    return frame.join(seen, on="id", how="left", maintain_order="left")


def _times(seconds: Any) -> pl.Series:
    micro = pl.Series(microseconds(seconds), dtype=pl.Float64).fill_nan(None)
    return micro.cast(pl.Int64).cast(pl.Datetime("us", "UTC"))
