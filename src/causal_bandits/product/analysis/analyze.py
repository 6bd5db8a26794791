"""Analyze a logged table: which sets separate, what each arm is worth, which one to take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...core.data import History, Rows
from ...core.data.table_files import plain_types
from ...core.markup import number, printable
from ...core.policies import DEFAULT, Effects, Estimates, Policy, Recommendation, policy_class
from ...core.policies.arms import fitting_arms
from ...core.policies.estimates import best_first
from ...core.problem import Arm, Problem, parse_arm
from ...core.serialization import to_json
from ...core.validation import are_names
from ...errors import OptionError, brief, flag
from ...libraries import pl
from ...reporting.courses import evidence_over_time
from ...reporting.described import AnalysisDescription
from ...reporting.plots import MOST_ARMS, plot_estimates
from .assignment import Assignment, check_assignment, check_unit, design_effect, repeated_identifier
from .explained import ExplainedVariance, explained_by_mediators
from .infer import Inferred, Kind, infer
from .notices import noise, results_of_the_reward
from .sources import table_of

CHUNK = 100_000
"""Rows that are counted between two calls of `progress`."""


@dataclass(frozen=True, repr=False)
class Analysis:
    """The analysis of a table."""

    inferred: Inferred
    policy: Policy[Any]
    recommendation: Recommendation | Any
    """The arm to take; with segments `Recommendations`, one for each. None if differences are associations."""
    level: float
    notices: tuple[str, ...] = ()
    """What was noticed: how levers were assigned, results of the reward, repeated units, noise."""
    control: Arm | None = None
    """The arm that others are compared with."""
    assignment: Assignment = field(default_factory=partial(Assignment, randomized=True))
    """Whether something that was known before predicts a lever."""

    def __repr__(self) -> str:
        about = f"Analysis(target={self.inferred.problem.target!r}, {self.policy.rows:,} rows, "
        if not self.assignment.causal:
            return f"{about}associations: {printable(self.assignment.predictors[0].says)})"
        found = [f"{each.arm.label} (mean {number(each.mean)})" for each in self._recommended]
        best = f"best arm{'s' * (len(found) > 1)} {', '.join(found)}"
        return f"{about}{best})"

    @property
    def _recommended(self) -> list[Recommendation]:
        one = self.recommendation
        if one is None:
            return []
        return [one] if isinstance(one, Recommendation) else list(one)

    def _repr_html_(self) -> str:
        return self.estimates().table(repr(self)) + self.policy.separating_sets()._repr_html_()

    def estimates(self) -> Estimates:
        """Estimate every arm: mean, interval, and the lift over the control if there is one."""
        return self.policy.estimates(level=self.level, control=self.control)

    def effects(self) -> Effects:
        """Estimate what each level of a lever does compared with the control's, averaged over the other levers."""
        found = self.policy.effects(level=self.level, control=self.control)
        return found if self.assignment.causal else Effects(found, self.assignment.says)

    def explained_variance(self) -> ExplainedVariance:
        """Estimate how much of the reward's variance the mediators explain; it bounds what sharing can gain."""
        return explained_by_mediators(self.policy.history.rows, self.level)

    def plot(self, axes: Any = None, *, most: int | None = MOST_ARMS) -> Any:
        """Draw the best arms on matplotlib axes, new ones by default, and return the axes; `most=None` draws all."""
        found = self.estimates()
        return plot_estimates(found, axes, most=most, title=self.inferred.problem.target)

    def to_dict(self, *, history: bool = True) -> AnalysisDescription:
        """Everything as plain values for JSON; with `history`, also the evidence over time."""
        sets = to_json(self.policy.separating_sets(rejected=True))
        about: AnalysisDescription = {
            "target": self.inferred.problem.target,
            "interventions": [lever.name for lever in self.inferred.problem.levers],
            "observed": list(self.inferred.problem.observed_names),
            "kind": self.inferred.kind,
            "rows": self.policy.rows,
            "missing": {name: count for name, count in self.policy.history.missing.items() if count},
            "inferred": self.inferred.notes,
            "notices": list(self.notices),
            "assignment": to_json(self.assignment),
            "level": self.level,
            "sets": sets,
            "accepted": [found for found in sets if found["accepted"]],
            "arms": to_json(best_first(self.estimates())),
            "effects": to_json(self.effects().known) if self.policy.can_compare else [],
            "recommendation": None if self.inferred.problem.segments else to_json(self.recommendation),
        }
        if self.inferred.problem.segments:
            about["segments"] = list(self.inferred.problem.segments)
            about["recommendations"] = to_json(self._recommended)
        if flag("history", history):
            about["evidence_over_time"] = evidence_over_time(self.policy)
        return about


def analyze(
    source: Any,
    *,
    target: str,
    interventions: Sequence[str] | str,
    segments: Sequence[str] | str = (),
    observed: Iterable[str] | None = None,
    drop: Iterable[str] = (),
    kind: Kind | None = None,
    level: float = 0.95,
    max_size: int | None = None,
    control: Arm | Mapping[str, Any] | str | None = None,
    unit: str | None = None,
    randomized: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> Analysis:
    """Analyze a logged table: how good each arm is, which one to deploy, and which sets separate.

    Args:
        source: A file (CSV or similar, Parquet, .xlsx), a `Query`, a dataframe, or a dict of columns;
            "example" is the packaged table.
        target: Column of the reward: 0 and 1, or a number.
        interventions: Columns of the levers.
        segments: Columns known before the decision, such as the device; each segment gets a recommendation.
        observed: Columns between levers and reward; by default all others.
        drop: Columns to leave out.
        kind: "discrete" (0 and 1), "gaussian" (any number), "count", "revenue" or "levels" (each number is a level);
            inferred from the reward by default.
        level: Confidence level of intervals.
        max_size: Size of the largest sets.
        control: The arm to compare others with, as a mapping or as "lever=value,...". A lever that it does not name is
            at the level called none, off, control or similar, otherwise at its first level.
        unit: Column that identifies users, or other units, with several rows each; intervals are then by unit.
        randomized: Whether the levers were assigned at random; assignment is then not tested. Otherwise
            `recommendation` is None if a column that was known before predicts a lever.
        progress: Called with (what, parts done, all parts) during the analysis.

    >>> analyze("example", target="purchase", interventions=["banner", "discount"]).recommendation.arm
    do(banner=red, discount=10%)
    """
    levers, by_nature = _names("interventions", interventions), _names("segments", segments)
    tell = progress or (lambda *_: None)
    tell("reading", 0, 1)
    given = [*levers, *by_nature]
    table, by_word, found_out = table_of(source, needed=(target, *given), names=given)
    tell("reading", 1, 1)
    flag("randomized", randomized)
    if unit is not None:
        check_unit(table, unit, (target, *given))
    named = [drop] if isinstance(drop, str) else drop
    left_out = named if unit is None else [*(named if are_names(named) else []), unit]
    base = parse_arm(control) if isinstance(control, str) else control
    told: dict[str, Any] = {"segments": by_nature, "observed": observed, "kind": kind, "control": base}
    understood = partial(infer, table, target, levers, by_word=by_word, found_out=found_out, **told)
    inferred = understood(drop=left_out)
    whole = plain_types(table).drop_nulls([target, *given])
    results = results_of_the_reward(inferred.problem, inferred.table)
    notices = [*inferred.guesses, *(_after(name, why, kept=observed is not None) for name, why in results.items())]
    if results and observed is None:
        inferred = understood(drop=[*left_out, *results])
    rows = History(inferred.problem).encode_many(inferred.table, missing=True)
    policy = _told(inferred.problem, rows, max_size, tell)
    assignment = Assignment(randomized=True)
    if not randomized:
        after = [target, *results, *([observed] if isinstance(observed, str) else observed or [])]
        assignment = check_assignment(whole, levers, by_nature, known_after=after, left_out=named, unit=unit)
    notices = [*filter(None, [assignment.says]), *notices, *_units(policy, whole, unit, level)]
    if inferred.kind == "discrete":
        notices += noise(inferred.problem, policy.history.rows, tell)
    best = policy.recommend() if assignment.causal else None
    compared = control_of(policy.problem, base)
    explained = explained_by_mediators(policy.history.rows, level)
    if explained.is_known:
        notices.append(explained.says)
    return Analysis(inferred, policy, best, level, tuple(notices), compared, assignment)


def _units(policy: Policy[Any], table: pl.DataFrame, unit: str | None, level: float) -> list[str]:
    """Widen intervals by unit, or say that rows repeat units; the table has the rows of the policy."""
    if unit is not None:
        packed, units = policy.history.packed, table[unit].rank("dense").to_numpy().astype(np.int64)
        found = design_effect(packed["arms"], packed["rewards"].astype(np.float64), units, level)
        policy.design_effect = found
        return [
            f"intervals are by {unit} ({table[unit].n_unique():,} units): variances are {found:.1f} times those of "
            "independent rows"
        ]
    taken = {*policy.problem.intervention_names, policy.problem.target}
    repeated = repeated_identifier(table, [name for name in table.columns if name not in taken])
    if repeated is None:
        return []
    return [
        f"{repeated} has {table[repeated].n_unique():,} values in {table.height:,} rows: intervals treat rows as "
        f"independent; if it names users or the like, pass --unit {repeated}"
    ]


def control_of(problem: Problem, named: Mapping[str, Any] | None) -> Arm | None:
    """The arm that was named as the control, or the one with every lever at its first level, if there is one."""
    if named is None:
        return next((arm.lever_arm for arm in problem.arms if not arm.active), None)
    return fitting_arms(problem, named)[0].lever_arm


def _names(role: str, given: Sequence[str] | str) -> list[str]:
    if not isinstance(given, str) and not are_names(given):
        raise OptionError(f"{role}={brief(given)}; expected names of columns")
    return [given] if isinstance(given, str) else list(dict.fromkeys(given))


def _told(problem: Problem, rows: Rows, max_size: int | None, tell: Callable[[str, int, int], None]) -> Policy[Any]:
    """The default policy with all rows of the table."""
    kind: Any = policy_class(DEFAULT, problem)
    policy: Policy[Any] = kind(problem, seed=0, **({} if max_size is None else {"max_size": max_size}))
    total = len(rows.arms)
    for start in range(0, total, CHUNK):
        tell("counting rows", start, total)
        part = slice(start, start + CHUNK)
        policy.learn(Rows(rows.arms[part], rows.codes[part], rows.rewards[part], rows.raw[part]))
    tell("counting rows", total, total)
    return policy


def _after(name: str, why: str, *, kept: bool) -> str:
    what = f"{name} {why}: it looks like a result of the reward"
    return f"{what}, and is used because it was named" if kept else f"{what} and is left out; keep it with --observed"
