"""Studies as tables."""

from typing import Any

import numpy as np
import polars as pl

from ..errors import ProblemError
from ..problem import Problem
from .decisions import microseconds
from .state import StudyState

OWN = ("id", "status", "asked", "done")
"""The columns that describe the decision itself."""


def check_names(problem: Problem) -> None:
    """Validate that no variable has the name of a column of the decision table."""
    for name in (*problem.intervention_names, *problem.observed_names, problem.target):
        if name in OWN:
            own = ", ".join(OWN)
            raise ProblemError(f"{name!r} cannot be a variable of a study, whose table has columns {own}; rename it")


def column_of(name: str) -> str:
    """The column of a variable; older studies may have variables called like a column of the decision itself."""
    return f"variable {name}" if name in OWN else name


def decisions_frame(state: StudyState) -> pl.DataFrame:
    """One row per decision: id, status, times, levers, observed variables, reward; empty where nothing was told."""
    decisions, problem = state.decisions, state.problem
    arms = decisions.column("arm")
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
        columns[column_of(lever.name)] = pl.Series([levels[code] for code in codes], strict=False)
    frame = pl.DataFrame(columns).with_columns(pl.col("id").cast(pl.Int64))
    told = frame.join(_told_frame(state), on="id", how="left", maintain_order="left")
    further = {
        name: pl.Series(state.metrics.column(name, len(decisions))).fill_nan(None) for name in state.metrics.kinds
    }
    return told.with_columns(**further)


def _told_frame(state: StudyState) -> pl.DataFrame:
    """What was told of decisions, whole or in part, with their ids."""
    rows = state.decisions.column("row")
    told = np.flatnonzero(rows >= 0)
    names = {name: column_of(name) for name in (*state.problem.observed_names, state.problem.target)}
    at: list[int] = rows[told].tolist()
    seen: pl.DataFrame = state.policy.history.to_frame()[at].select(list(names)).rename(names)
    seen = seen.with_columns(pl.Series("id", told + 1, dtype=pl.Int64))
    if not state.parts:
        return seen
    parts: dict[str, Any] = {
        column: [part.get(name) for part in state.parts.values()] for name, column in names.items()
    }
    return pl.concat([seen, pl.DataFrame({**parts, "id": list(state.parts)}, schema=seen.schema, strict=False)])


def _times(seconds: Any) -> pl.Series:
    micro = pl.Series(microseconds(seconds), dtype=pl.Float64).fill_nan(None)
    return micro.cast(pl.Int64).cast(pl.Datetime("us", "UTC"))
