"""Known sets: the perfect prior of Fig. 2(a), or domain knowledge."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np

from ...errors import OptionError, brief
from ..data import ArmMoments, CountTables, SubsetLayout
from ..problem import Problem
from ..validation import are_names
from .base import Discovery, Findings
from .tiers import Tier


class KnownSets(Discovery):
    """Separating sets that you know.

    Args:
        sets: The sets, each separating all levers; or a mapping set -> the levers it separates.

    >>> KnownSets([{"clicked", "cart"}])
    KnownSets({cart, clicked})
    >>> KnownSets({("cart",): ["banner"]})
    KnownSets({cart} separates banner)
    """

    name = "known"
    tier = Tier.SEPARATING_SET

    def __init__(self, sets: Iterable[Iterable[str]] | Mapping[tuple[str, ...], Iterable[str] | None]) -> None:
        if isinstance(sets, str) or not isinstance(sets, Iterable) or getattr(sets, "ndim", 1) == 0:
            raise OptionError(f"KnownSets({brief(sets)}): expected a list of sets, such as [['A', 'B']]")
        self._sets: dict[frozenset[str], frozenset[str] | None] = {}
        given: Mapping[Any, Any] = sets if isinstance(sets, Mapping) else {}
        for variables in sets:
            if not isinstance(variables, str) and not are_names(variables):
                raise OptionError(
                    f"KnownSets: {brief(variables)} is not a set; expected a list of names, such as ['A', 'B']"
                )
            if isinstance(variables, str):
                raise OptionError(f"KnownSets: {variables!r} is not a set; expected a list of names: [[{variables!r}]]")
            told = given.get(variables) if given else None
            self._sets[frozenset(variables)] = None if told is None else _names(told)
        if not self._sets:
            raise OptionError("KnownSets([]): expected at least one set; without one, use ThompsonSampling")

    def discover(self, layout: SubsetLayout, tables: CountTables | ArmMoments, rows: int) -> Findings:
        """The declared sets, regardless of the data."""
        names = layout.problem.intervention_names
        separated = np.zeros((len(layout.names), len(names)), dtype=np.bool_)
        for variables, told in self._sets.items():
            index = layout.find(variables)
            chosen = names if told is None else [layout.problem.intervention(name).name for name in told]
            separated[index] = [name in chosen for name in names]
        return Findings(layout, rows, separated, "told")

    def hints(self, problem: Problem) -> str:
        """What it is given."""
        return "the separating sets"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        pairs = [[sorted(variables), None if told is None else sorted(told)] for variables, told in self._sets.items()]
        return {"name": self.name, "sets": pairs}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` gave, without the name."""
        return cls({tuple(variables): told for variables, told in options["sets"]})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KnownSets) and self._sets == other._sets

    def __hash__(self) -> int:
        return hash(frozenset(self._sets.items()))

    def __repr__(self) -> str:
        shown = []
        for variables, told in self._sets.items():
            text = "{" + ", ".join(sorted(variables)) + "}"
            shown.append(text if told is None else f"{text} separates {', '.join(sorted(told))}")
        return f"KnownSets({'; '.join(shown)})"


def _names(names: str | Iterable[str]) -> frozenset[str]:
    if not isinstance(names, str) and not are_names(names):
        raise OptionError(f"KnownSets: {brief(names)} are not levers; expected a list of lever names")
    return frozenset((names,) if isinstance(names, str) else names)
