"""Studies as tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ...core.files import output_folder, replacing
from ...core.problem import Problem
from ...errors import ProblemError
from ...libraries import pl
from .decisions import microseconds
from .state import StudyState

OWN = ("id", "key", "status", "excluded", "asked", "done")
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
    """One row per decision: id, status, why it is excluded, times, levers, observed variables, reward.

    A cell is empty if nothing was reported.
    """
    decisions, problem = state.decisions, state.problem
    arms = decisions.column("arm")
    columns: dict[str, Any] = {
        "id": np.arange(1, len(decisions) + 1),
        "status": pl.Series([decisions.status(number) for number in range(1, len(decisions) + 1)], dtype=pl.String),
        "excluded": pl.Series(reasons(state), dtype=pl.String),
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
    others = {**state.parts, **{number: part for number, (_, part) in state.excluded_rows.rows.items()}}
    if not others:
        return seen
    parts: dict[str, Any] = {column: [part.get(name) for part in others.values()] for name, column in names.items()}
    return pl.concat([seen, pl.DataFrame({**parts, "id": list(others)}, schema=seen.schema, strict=False)])


def reasons(state: StudyState) -> list[str | None]:
    """Why each decision is excluded; None where it is not."""
    names = [None, *(each.reason for each in state.exclusions)]
    return [names[which] for which in state.decisions.column("excluded").tolist()]


def _times(seconds: Any) -> pl.Series:
    micro = pl.Series(microseconds(seconds), dtype=pl.Float64).fill_nan(None)
    return micro.cast(pl.Int64).cast(pl.Datetime("us", "UTC"))


def export_by_day(frame: pl.DataFrame, folder: str | os.PathLike[str]) -> list[Path]:
    """Write decisions as Parquet, one folder for each day (UTC) on which they were asked for; returns the files.

    DuckDB, Spark, Polars and BigQuery read `folder/day=2026-01-31/decisions.parquet` as one table with a column `day`
    (`asked_day`, where `day` is a variable of the study). Every file takes its name in one step. Exporting again
    replaces the files, since outcomes come late; other files in the folder are left alone.

    Args:
        frame: The decisions: `study.to_frame()`, of a `Study` or of a study on a server.
        folder: Where to write; it is made unless it is there.
    """
    root, days, made = output_folder(folder), frame["asked"].dt.date(), []
    column = "asked_day" if "day" in frame.columns else "day"
    for day in days.unique().sort():
        target = output_folder(root / f"{column}={day}") / "decisions.parquet"
        with replacing(target) as path:
            frame.filter(days == day).write_parquet(path)
        made.append(target)
    return made
