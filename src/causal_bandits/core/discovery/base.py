"""The interface of a discovery, and its result."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import OptionError, brief
from ..compiled import Ints
from ..data import ArmMoments, CountTables, DesignLayout, SubsetLayout, TableLayout
from ..independence.drift import Drift
from ..markup import braces, printable, titled_table
from ..problem import Problem
from ..validation import is_number
from .grounds import Evidence, Grounds, pick
from .tiers import Tier


@dataclass(frozen=True, repr=False)
class SeparatingSet:
    """A set S, the levers I' it separates from the reward (none: rejected), and why."""

    variables: tuple[str, ...]
    separated: tuple[str, ...]
    evidence: Evidence
    drift: Drift | None = None
    """Whether it still holds, if watched (in studies)."""

    @property
    def accepted(self) -> bool:
        """Whether it is used: it was found to separate something, or has a weight."""
        return bool(self.separated)

    def __str__(self) -> str:
        if self.evidence.probability is not None:
            return f"{braces(self.variables)} {self.evidence.words}"
        return f"{braces(self.variables)} separates {', '.join(self.separated) or 'nothing'}"

    def __repr__(self) -> str:
        return printable(f"SeparatingSet({self})")

    def _repr_html_(self) -> str:
        return SeparatingSets([self])._repr_html_()


class SeparatingSets(list[SeparatingSet]):
    """A list of sets, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        rows = [
            (
                braces(found.variables),
                ", ".join(found.separated) or "–",
                found.evidence.words,
                f"{found.evidence.rows:,}",
            )
            for found in self
        ]
        return titled_table(f"{len(self)} sets", ("set", "separates", "evidence", "rows"), rows, numeric=(3,))


@dataclass(frozen=True, repr=False)
class Findings:
    """All sets that were tested, as arrays; `sets` returns them as objects."""

    layout: SubsetLayout
    rows: int
    separated: NDArray[np.bool_]
    """(sets, levers): what each set separates from the reward."""
    grounds: Grounds
    """Why."""
    seen: NDArray[np.int64] | None = None
    """(sets,): how many rows have a value for every variable of the set, where some lack one."""

    def __repr__(self) -> str:
        return f"Findings({len(self.used)} of {len(self.separated)} sets accepted, {self.rows:,} rows)"

    @property
    def used(self) -> Ints:
        """The sets that separate something, by number."""
        return np.flatnonzero(self.separated.any(axis=1))

    @property
    def probability(self) -> NDArray[np.float64] | None:
        """(sets,): how probable it is that each set separates what it was accepted for; None if unknown."""
        return self.grounds.probability(self.separated)

    @property
    def sets(self) -> SeparatingSets:
        """Accepted and rejected sets, smaller ones first."""
        levers = self.layout.problem.intervention_names
        found = SeparatingSets()
        for index, variables in enumerate(self.layout.names):
            separated = tuple(name for name, yes in zip(levers, self.separated[index], strict=True) if yes)
            rows = self.rows if self.seen is None else int(self.seen[index])
            found.append(SeparatingSet(variables, separated, self.grounds.evidence(index, rows, levers)))
        return found

    def merged(self, parts: Sequence["Findings"], which: Ints) -> "Findings":
        """Each set from the part that `which` says."""
        separated = pick([part.separated for part in parts], which)
        return replace(self, separated=separated, grounds=self.grounds.merged([part.grounds for part in parts], which))


class _Declares(Protocol):
    @property
    def tier(self) -> Tier:
        """The tier of its knowledge."""

    def hints(self, problem: Problem, /) -> str:
        """What it is given besides the problem."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the name in the registry, and the options."""


class Discovery(_Declares, Protocol):
    """A way to find separating sets from counts; `Declared` has the rest."""

    def discover(self, layout: TableLayout, tables: CountTables, rows: int, /) -> Findings:
        """Test every set that has a table."""


class RealDiscovery(_Declares, Protocol):
    """A way to find separating sets from moments, where the reward is a real number; `Declared` has the rest."""

    def discover(self, layout: DesignLayout, moments: ArmMoments, rows: int, /) -> Findings:
        """Test every set of the layout."""


def check_discovery(discovery: object) -> None:
    """Validate `discovery`.

    Args:
        discovery: The discovery that a policy was given.
    """
    if isinstance(discovery, type) or not hasattr(discovery, "discover"):
        raise OptionError(
            f"discovery={brief(discovery)}; expected DirectTesting(), ASD(), ResidualTesting() or KnownSets([...])"
        )
    lacking = [name for name in ("tier", "hints", "to_dict") if not hasattr(discovery, name)]
    if lacking:
        raise OptionError(
            f"discovery={brief(discovery)} does not declare {lacking[0]!r}; "
            f"make {type(discovery).__name__} a subclass of causal_bandits.discovery.Declared"
        )


def check_alpha(alpha: object, such: float) -> None:
    """Validate `alpha`.

    Args:
        alpha: The significance level, a number between 0 and 1.
        such: Level that the message names as an example.
    """
    if not is_number(alpha) or not 0 < float(alpha) < 1:  # type: ignore[arg-type]
        raise OptionError(f"alpha={brief(alpha)}; expected a level between 0 and 1, such as {such}")
