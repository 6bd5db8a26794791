"""Further metrics of decisions: told like observed variables, at any time, and used by guardrails alone."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.compiled import Floats
from ...core.problem import Problem
from ...core.validation import is_number
from ...errors import ConflictError, ObservationError, OptionError, ProblemError, brief

KINDS = {bool: "binary", float: "real", "binary": "binary", "bool": "binary", "real": "real", "float": "real"}
LARGEST = 1e100
OWN = ("id", "key", "status", "excluded", "asked", "done")


EXPECTED = "bool (0 or 1), float (a number) or (lowest, highest)"


def read_metrics(problem: Problem, given: object) -> dict[str, Any]:
    """Metrics that a caller declares: name -> "binary", "real" or [lowest, highest]."""
    if not isinstance(given, Mapping):
        raise OptionError(f"metrics={brief(given)}; expected {{name: {EXPECTED}}}")
    taken = {*problem.observed_names, *problem.intervention_names, problem.target, *OWN}
    found: dict[str, Any] = {}
    for name, kind in given.items():
        if not isinstance(name, str) or not name.strip():
            raise ProblemError(f"metric {brief(name)}: expected a name, a non-empty string")
        if name in taken:
            other = "a column of the decision table" if name in OWN else "a variable"
            raise ProblemError(f"metric {name!r} has the same name as {other}; rename the metric")
        if isinstance(kind, str | type) and kind in KINDS:
            found[name] = KINDS[kind]
        elif (
            isinstance(kind, list | tuple)
            and len(kind) == 2
            and all(map(is_number, kind))
            and -LARGEST <= kind[0] < kind[1] <= LARGEST
        ):
            found[name] = [float(kind[0]), float(kind[1])]
        else:
            given_kind = f"has type {kind.__name__}" if isinstance(kind, type) else f"is {brief(kind)}"
            raise OptionError(f"metric {name!r} {given_kind}; expected {EXPECTED}")
    return found


class Metrics:
    """What was told of each decision, a column per metric; NaN if nothing was."""

    def __init__(self, kinds: Mapping[str, Any]) -> None:
        self.kinds = dict(kinds)
        self._columns: dict[str, Floats] = {name: np.empty(0) for name in kinds}

    def column(self, name: str, decisions: int) -> Floats:
        """One metric of all decisions."""
        return self._long_enough(name, decisions)[:decisions]

    def of(self, number: int) -> dict[str, float]:
        """What was told of one decision."""
        values = {name: float(self._long_enough(name, number)[number - 1]) for name in self.kinds}
        return {name: value for name, value in values.items() if not math.isnan(value)}

    def taken_from(
        self, number: int, said: dict[str, Any], told: Mapping[str, float], earlier: Mapping[str, Any]
    ) -> dict[str, float]:
        """Take the further metrics out of what was said of a decision; returns what is new beside `told`, checked."""
        news = {}
        for name in [name for name in said if name in self.kinds]:
            value = self.value(name, said.pop(name))
            known = told.get(name, math.nan)
            if value is None or known == value or value in earlier.get(name, ()):
                continue
            if not math.isnan(known):
                raise ConflictError(
                    f"decision {number}: {name!r} was told to be {known:g}, now {value:g}; "
                    "correct() changes recorded values"
                )
            news[name] = value
        return news

    def value(self, name: str, given: Any) -> float | None:
        """The value of a metric from what a caller gives; None if there is none. Checked."""
        if given is None or (isinstance(given, float) and math.isnan(given)):
            return None
        try:
            value = float(given) if is_number(given) or isinstance(given, str | bool | np.bool_) else math.nan
        except ValueError:
            value = math.nan
        if self.kinds[name] == "binary" and value not in (0.0, 1.0):
            raise ObservationError(f"{name!r} is {brief(given)}; expected 0 or 1")
        if not abs(value) <= LARGEST:
            raise ObservationError(f"{name!r} is {brief(given)}; expected a finite number")
        kind = self.kinds[name]
        if not isinstance(kind, str) and not kind[0] <= value <= kind[1]:
            low, high = kind
            raise ObservationError(f"{name!r} is {brief(given)}; expected its declared range, {low:g} to {high:g}")
        return value

    def put(self, number: int, values: Mapping[str, float]) -> None:
        """Record what an event says."""
        for name, value in values.items():
            self._long_enough(name, number)[number - 1] = value

    def _long_enough(self, name: str, length: int) -> Floats:
        column = self._columns[name]
        if len(column) < length:
            more = np.full(max(length, 2 * len(column)) - len(column), np.nan)
            column = self._columns[name] = np.concatenate([column, more])
        return column

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Plain arrays for a snapshot."""
        return {f"metric_{place}": column for place, column in enumerate(self._columns.values())}

    def fill(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Read back what `arrays` gave."""
        for place, name in enumerate(self._columns):
            self._columns[name] = arrays[f"metric_{place}"].astype(np.float64)
