"""The base class of discoveries, and their result."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ...errors import OptionError, brief, listing
from ...libraries import special
from ..compiled import Floats, Ints
from ..data import SubsetLayout
from ..independence import IndependenceResult
from ..independence.drift import Drift
from ..markup import braces, number, printable, titled_table, weight_words
from ..problem import Problem
from ..validation import is_number
from .tiers import Tier


@dataclass(frozen=True, repr=False)
class Evidence:
    """Why a set was accepted or rejected: the tests, and how many rows they saw.

    A key of `tests` is the tuple of levers that were tested together; `confidence` is, per
    lever, how sure causal discovery is of the separation, in nats; `log_bayes_factor` is the evidence of
    the rows for it, in nats, and `given_others` the same with the other levers held fixed;
    `probability` is how probable it is that the set separates all levers, where that was learned as a number, and
    `weight` how much of the arms' estimates comes through the set then, on average over arms: 0 where it is not used.
    The weights of all sets add up to 1, less the share of arms that are estimated through no set.
    """

    rows: int
    source: str
    tests: Mapping[tuple[str, ...], IndependenceResult] = field(default_factory=dict)
    confidence: Mapping[str, float] = field(default_factory=dict)
    log_bayes_factor: Mapping[str, float] = field(default_factory=dict)
    given_others: Mapping[str, float] = field(default_factory=dict)
    probability: float | None = None
    weight: float | None = None

    @property
    def words(self) -> str:
        """The probability and weight, the p-values, the nats per lever, or else the source."""
        if self.probability is not None:
            weight = "" if self.weight is None else f", weight {weight_words(self.weight)}"
            return f"separates with probability {self.probability:.2f}{weight}"
        tests = [f"{', '.join(levers)}: p = {number(test.p_value)}" for levers, test in self.tests.items()]
        nats = {**self.confidence, **self.log_bayes_factor}
        sure = [f"{name}: {number(value, 2)} nats" for name, value in nats.items()]
        return "; ".join(tests or sure) or self.source

    def __repr__(self) -> str:
        return printable(f"Evidence({self.source}, {self.rows:,} rows, {self.words})")


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
    """All sets that were looked at, and the evidence, as arrays; `sets` returns them as objects."""

    layout: SubsetLayout
    rows: int
    separated: NDArray[np.bool_]
    """(sets, levers): what each set separates from the reward."""
    source: str
    """How the sets were found, in a word or two."""
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """The evidence by the names of `Evidence`: (sets, levers), and (sets,) for `probability` and `weight`. Tests are
    the fields of an `IndependenceResult`: (sets, tests)."""
    tests: tuple[tuple[str, ...], ...] = ()
    """The levers that were tested together, one tuple for each test."""
    seen: NDArray[np.int64] | None = None
    """(sets,): how many rows have a value for every variable of the set, where some lack one."""

    def __repr__(self) -> str:
        return f"Findings({len(self.used)} of {len(self.separated)} sets accepted, {self.rows:,} rows)"

    @property
    def used(self) -> Ints:
        """The sets that separate something, by number."""
        return np.flatnonzero(self.separated.any(axis=1))

    @property
    def probability(self) -> Floats | None:
        """(sets,): how probable it is that each set separates what it was accepted for; None if unknown.

        From Bayes factors it is the product over the levers, each by the weaker of its factors, at even prior odds.
        """
        nats = self.arrays.get("log_bayes_factor")
        if nats is None:
            return np.ones(len(self.separated)) if self.source == "told" else self.arrays.get("probability")
        weaker = np.minimum(nats, self.arrays.get("given_others", np.inf))
        held: Floats = np.where(self.separated, special.expit(weaker), 1.0).prod(axis=1)
        return held

    @property
    def sets(self) -> SeparatingSets:
        """Accepted and rejected sets, smaller ones first."""
        levers = self.layout.problem.intervention_names
        found = SeparatingSets()
        for index, variables in enumerate(self.layout.names):
            separated = tuple(name for name, yes in zip(levers, self.separated[index], strict=True) if yes)
            rows = self.rows if self.seen is None else int(self.seen[index])
            found.append(SeparatingSet(variables, separated, self._evidence(index, rows, levers)))
        return found

    def _evidence(self, index: int, rows: int, levers: tuple[str, ...]) -> Evidence:
        lines = {name: array[index].tolist() for name, array in self.arrays.items()}
        results = zip(*(lines.pop(name, []) for name in IndependenceResult._fields), strict=True)
        tests = dict(zip(self.tests, map(IndependenceResult._make, results), strict=True))
        shown: dict[str, Any] = {
            name: dict(zip(levers, line, strict=True)) if isinstance(line, list) else line
            for name, line in lines.items()
        }
        return Evidence(rows, self.source, tests, **shown)

    def merged(self, parts: Sequence["Findings"], which: Ints) -> "Findings":
        """Each set from the part that `which` says."""
        sets = np.arange(len(which))
        arrays = {name: np.stack([part.arrays[name] for part in parts])[which, sets] for name in self.arrays}
        separated = np.stack([part.separated for part in parts])[which, sets]
        return replace(self, separated=separated, arrays=arrays)


DISCOVERIES: dict[str, type["Discovery"]] = {}
"""All registered discoveries."""


class Discovery(ABC):
    """A way to find separating sets, from counts, or where the reward is a real number, from moments.

    A class with a name is registered, and save files refer to it by name.
    """

    expected: ClassVar[str] = "DirectTesting(), ASD(), ResidualTesting(), KnownSets([...])"
    """What messages name where an argument is no discovery."""
    name: ClassVar[str]
    tier: ClassVar[Tier] = Tier.OBSERVED
    """Its knowledge, as the tier in which policies that use it are compared."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Register a class that has a name."""
        super().__init_subclass__(**options)
        if "name" in vars(cls):
            before = DISCOVERIES.get(cls.name, cls)
            if (before.__module__, before.__qualname__) != (cls.__module__, cls.__qualname__):
                taken = f"{before.__module__}.{before.__qualname__}"
                raise OptionError(f"the discovery name {cls.name!r} is taken by {taken}; give this class another one")
            DISCOVERIES[cls.name] = cls

    @abstractmethod
    def discover(self, layout: Any, statistics: Any, rows: int, /) -> Findings:
        """Test every set of the layout."""

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` gave, without the name."""
        return cls(**options)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the name and the options."""
        return {"name": self.name, **vars(self)}

    def hints(self, problem: Problem) -> str:
        """What it is given besides the problem, in words for a table."""
        return "nothing"


def discovery_from_dict(data: Mapping[str, Any]) -> Discovery:
    """A discovery from what its `to_dict` gave.

    Args:
        data: Its name in `DISCOVERIES`, and its options.

    >>> discovery_from_dict({"name": "direct", "alpha": 0.01})
    DirectTesting(alpha=0.01, reading='conditional', require_evidence=False, calibration='asymptotic')
    """
    options = dict(data)
    name = options.pop("name", None)
    if name not in DISCOVERIES:
        raise OptionError(f"discovery {name!r} is not known; expected one of {listing(DISCOVERIES)}")
    return DISCOVERIES[name].from_options(options)


def check_alpha(alpha: object, such: float) -> None:
    """Validate `alpha`.

    Args:
        alpha: The significance level, a number between 0 and 1.
        such: Level that the message names as an example.
    """
    if not is_number(alpha) or not 0 < float(alpha) < 1:  # type: ignore[arg-type]
        raise OptionError(f"alpha={brief(alpha)}; expected a level between 0 and 1, such as {such}")
