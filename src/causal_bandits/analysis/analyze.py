"""Analyse a logged table: which sets separate, what each arm is worth, which one to take."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import polars as pl

from ..data.coding import is_missing
from ..data.frames import columns_of
from ..data.table_files import TableFile, read_table
from ..doors import are_names
from ..errors import OptionError, brief
from ..markup import number, printable
from ..policies import DEFAULT, Policy, Recommendation, policy_class
from ..policies.overview import arm_rows, evidence_over_time, recommendation_row, set_rows
from ..reporting.described import AnalysisDescription
from .infer import Inferred, Kind, infer
from .notices import noise, results_of_the_reward

EXAMPLE = "example"
"""Stands for the table that comes with the package, where no file has that name."""


@dataclass(frozen=True, repr=False)
class Analysis:
    """What a table says."""

    inferred: Inferred
    policy: Policy[Any]
    recommendation: Recommendation
    level: float
    notices: tuple[str, ...] = ()
    """What was noticed about columns: results of the reward, noise."""

    def __repr__(self) -> str:
        best = f"{printable(str(self.recommendation.arm))} (mean {number(self.recommendation.mean)})"
        return f"Analysis(target={self.inferred.problem.target!r}, {self.policy.rows:,} rows, best arm {best})"

    def _repr_html_(self) -> str:
        return self.policy.estimates(level=self.level).table(repr(self)) + self.policy.separating_sets()._repr_html_()

    def to_dict(self) -> AnalysisDescription:
        """Everything as plain values for JSON."""
        sets = set_rows(self.policy.separating_sets(rejected=True))
        return {
            "target": self.inferred.problem.target,
            "interventions": list(self.inferred.problem.intervention_names),
            "observed": list(self.inferred.problem.observed_names),
            "kind": self.inferred.kind,
            "rows": self.policy.rows,
            "missing": {name: count for name, count in self.policy.history.missing.items() if count},
            "inferred": self.inferred.notes,
            "notices": list(self.notices),
            "level": self.level,
            "sets": sets,
            "accepted": [found for found in sets if found["accepted"]],
            "arms": arm_rows(self.policy, self.level),
            "recommendation": recommendation_row(self.recommendation),
            "evidence_over_time": evidence_over_time(self.policy),
        }


def _table(source: Any, target: str, levers: list[str]) -> TableFile:
    if isinstance(source, str | os.PathLike):
        if str(source) == EXAMPLE and not Path(EXAMPLE).exists():
            with resources.as_file(resources.files("causal_bandits.datasets") / "checkout.csv") as path:
                return read_table(path, needed=(target, *levers), names=levers)
        return read_table(source, needed=(target, *levers), names=levers)
    if isinstance(source, pl.DataFrame):
        return TableFile(source, {})
    try:
        return TableFile(pl.DataFrame(source), {})
    except ImportError:  # polars reads text of pandas through Arrow, which need not be installed
        return TableFile(pl.DataFrame(_cells(source), strict=False), {})
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        raise OptionError(
            f"a {type(source).__name__} is not a table; expected a file name, a dataframe, or a dict of columns"
        ) from None


def _cells(source: Any) -> dict[str, list[Any]]:
    columns = columns_of(source).items()
    return {str(name): [None if is_missing(value) else value for value in column] for name, column in columns}


def analyze(
    source: Any,
    *,
    target: str,
    interventions: Sequence[str] | str,
    observed: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    kind: Kind | None = None,
    level: float = 0.95,
    max_size: int | None = None,
) -> Analysis:
    """Analyse a logged table: which sets separate, what each arm is worth, which one to take.

    Args:
        source: A CSV or Parquet file, a dataframe, or a dict of columns; "example" is the packaged table.
        target: Column of the reward: 0 and 1, or a number.
        interventions: Columns of the levers.
        observed: Columns between levers and reward; by default all others.
        ignore: Columns to leave out.
        kind: "discrete" (0 and 1), "gaussian" (any number), "count", "revenue" or "levels" (each number is a level);
            inferred from the reward by default.
        level: Level of the intervals.
        max_size: Size of the largest sets to test.

    >>> analyze("example", target="purchase", interventions=["banner", "discount"]).recommendation.arm
    do(banner=red, discount=10%)
    """
    if not isinstance(interventions, str) and not are_names(interventions):
        raise OptionError(f"interventions={brief(interventions)}; expected names of columns")
    levers = [interventions] if isinstance(interventions, str) else list(interventions)
    table, by_word = _table(source, target, levers)
    inferred = infer(table, target, levers, observed=observed, ignore=ignore, kind=kind, by_word=by_word)
    policy = _told(inferred, max_size)
    results = [] if inferred.kind != "discrete" else results_of_the_reward(inferred.problem, policy.history.rows)
    notices = [_after(name, target, kept=observed is not None) for name in results]
    if results and observed is None:
        left_out = [*([ignore] if isinstance(ignore, str) else ignore), *results]
        inferred = infer(table, target, levers, ignore=left_out, kind=kind, by_word=by_word)
        policy = _told(inferred, max_size)
    if inferred.kind == "discrete":
        notices += noise(inferred.problem, policy.history.rows)
    return Analysis(inferred, policy, policy.recommend(), level, tuple(notices))


def _told(inferred: Inferred, max_size: int | None) -> Policy[Any]:
    """The default policy with all rows of the table."""
    kind: Any = policy_class(DEFAULT, inferred.problem)
    policy: Policy[Any] = kind(inferred.problem, seed=0, **({} if max_size is None else {"max_size": max_size}))
    policy.tell_many(inferred.table, missing=True)
    return policy


def _after(name: str, target: str, *, kept: bool) -> str:
    what = f"{name} tells {target} without fail, so it looks like a result of it"
    return f"{what}; it is used because it was named" if kept else f"{what}; left out (name it in observed to keep it)"
