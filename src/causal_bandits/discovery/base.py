"""What every discovery answers with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..data import ArmMoments, CountTables, DesignLayout, SubsetLayout, TableLayout
from ..independence import IndependenceResult
from ..independence.drift import Drift

TOLD = "told"
PASSED_OVER = "passed over"


@dataclass(frozen=True)
class Evidence:
    """Why a set was accepted or rejected: the tests, and how many rows they saw.

    A key of `tests` is the tuple of intervention variables that were tested together; `confidence` is, per
    intervention variable, how sure causal discovery is of the separation, in nats; `log_bayes_factor` is how much the
    rows speak for it, in nats, and `given_others` the same with the other intervention variables held fixed. The
    source "passed over" is a set of a large problem that was accepted but is not used.
    """

    rows: int
    source: str
    tests: Mapping[tuple[str, ...], IndependenceResult] = field(default_factory=dict)
    confidence: Mapping[str, float] = field(default_factory=dict)
    log_bayes_factor: Mapping[str, float] = field(default_factory=dict)
    given_others: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class SeparatingSet:
    """A set S, the intervention variables I' it separates from the reward (none: rejected), and why."""

    variables: tuple[str, ...]
    separated: tuple[str, ...]
    evidence: Evidence
    drift: Drift | None = None
    """Whether it still holds, where that is watched (in studies)."""

    @property
    def accepted(self) -> bool:
        """Whether it separates anything."""
        return bool(self.separated)

    def __str__(self) -> str:
        shown = "{" + ", ".join(self.variables) + "}"
        if not self.separated:
            return f"{shown} separates nothing"
        return f"{shown} separates {', '.join(self.separated)}"


@dataclass(frozen=True)
class Findings:
    """All sets that were looked at, as arrays; `sets` gives them as objects to read."""

    layout: SubsetLayout
    rows: int
    source: str
    separated: NDArray[np.bool_]
    """(sets, intervention variables): what each set separates from the reward."""
    tests: tuple[tuple[str, ...], ...] = ()
    statistic: NDArray[np.float64] | None = None
    dof: NDArray[np.int64] | None = None
    p_value: NDArray[np.float64] | None = None
    confidence: NDArray[np.float64] | None = None
    """(sets, intervention variables): confidences of causal discovery."""
    seen: NDArray[np.int64] | None = None
    """(sets,): how many rows have a value for every variable of the set, where some lack one."""
    log_bayes_factor: NDArray[np.float64] | None = None
    """(sets, intervention variables): log [P(Y | S) / P(Y | S, I)]."""
    given_others: NDArray[np.float64] | None = None
    """(sets, intervention variables): the same given the other intervention variables; NaN where not worked out."""
    passed_over: NDArray[np.bool_] | None = None
    """(sets,): accepted, and yet not used: there was no room for its table."""
    alike: NDArray[np.int64] | None = None
    """(accepted sets, arms): arms with equal numbers share P(S | arm); None: each arm has its own rows."""

    @property
    def probability(self) -> NDArray[np.float64] | None:
        """(sets,): how probable it is that each set separates what it was accepted for, at even odds beforehand.

        By Bayes factors the product over the variables pooled, each by the weaker of its factors; 1 for sets that were
        told; None where tests alone speak.
        """
        nats = self.log_bayes_factor
        if nats is None:
            return np.ones(len(self.separated)) if self.source == TOLD else None
        weaker = nats if self.given_others is None else np.minimum(nats, self.given_others)
        held: NDArray[np.float64] = np.where(self.separated, expit(weaker), 1.0).prod(axis=1)
        return held

    @property
    def sets(self) -> list[SeparatingSet]:
        """Accepted and rejected sets, smaller ones first."""
        levers = self.layout.problem.intervention_names
        found = []
        for place, variables in enumerate(self.layout.names):
            separated = tuple(name for name, yes in zip(levers, self.separated[place], strict=True) if yes)
            found.append(SeparatingSet(variables, separated, self._evidence(place)))
        return found

    def _evidence(self, place: int) -> Evidence:
        rows = self.rows if self.seen is None else int(self.seen[place])
        if self.confidence is not None:
            return Evidence(rows, self.source, confidence=self._per_lever(self.confidence, place))
        if self.log_bayes_factor is not None:
            nats, given = (self._per_lever(found, place) for found in (self.log_bayes_factor, self.given_others))
            source = self.source if self.passed_over is None or not self.passed_over[place] else PASSED_OVER
            return Evidence(rows, source, log_bayes_factor=nats, given_others=given)
        if self.statistic is None or self.dof is None or self.p_value is None:
            return Evidence(rows, self.source)
        columns = zip(self.tests, self.statistic[place], self.dof[place], self.p_value[place], strict=True)
        results = {names: IndependenceResult(float(g), int(df), float(p)) for names, g, df, p in columns}
        return Evidence(rows, self.source, results)

    def _per_lever(self, found: NDArray[np.float64] | None, place: int) -> dict[str, float]:
        levers = self.layout.problem.intervention_names
        if found is None:
            return {}
        return {name: float(value) for name, value in zip(levers, found[place], strict=True) if not np.isnan(value)}


class Discovery(Protocol):
    """A way to find separating sets from counts."""

    def discover(self, layout: TableLayout, tables: CountTables, rows: int, /) -> Findings:
        """Look at every set that has a table."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the name in the registry, and the options."""


class RealDiscovery(Protocol):
    """A way to find separating sets from moments, where the reward is a real number."""

    def discover(self, layout: DesignLayout, moments: ArmMoments, rows: int, /) -> Findings:
        """Look at every set of the layout."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the name in the registry, and the options."""
