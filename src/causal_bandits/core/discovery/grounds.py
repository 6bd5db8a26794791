"""The evidence of a discovery, as arrays over all sets: one class for each way of finding sets.

A kind says how probable its sets are, which arrays it keeps (by the names they have in save files), and what it shows
of one set. A new kind is a subclass here or elsewhere; a save file finds it by its source.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ...libraries import special
from ..compiled import Bools, Floats, Ints
from ..independence import IndependenceResult
from ..markup import evidence_words, printable, probability_words

Arrays = Mapping[str, NDArray[Any]]


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
            return probability_words(self.probability, self.weight)
        tests = ((levers, test.p_value) for levers, test in self.tests.items())
        return evidence_words(tests, {**self.confidence, **self.log_bayes_factor}, self.source)

    def __repr__(self) -> str:
        return printable(f"Evidence({self.source}, {self.rows:,} rows, {self.words})")


class Grounds(ABC):
    """Why sets were accepted or not."""

    sources: ClassVar[tuple[str, ...]]
    """The words of this kind, one or several; `source` is one of them."""
    kinds: ClassVar[dict[str, type["Grounds"]]] = {}
    """Every kind by its sources."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Grounds.kinds.update(dict.fromkeys(cls.sources, cls))

    @property
    def source(self) -> str:
        """How the sets were found, in a word or two."""
        return self.sources[0]

    @property
    def tests(self) -> tuple[tuple[str, ...], ...]:
        """The levers that were tested together, one tuple for each test."""
        return ()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What it keeps: its fields that are arrays, each with a line per set."""
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    @classmethod
    def of(cls, about: Mapping[str, Any], arrays: Arrays) -> Self:
        """Read back `arrays`; `about` has the source and the tests."""
        declared: Any = cls  # a dataclass
        needed = [each.name for each in fields(declared) if each.name in arrays or each.default is MISSING]
        return cls(**{name: arrays[name] for name in needed})

    @abstractmethod
    def evidence(self, index: int, rows: int, levers: tuple[str, ...]) -> Evidence:
        """What it shows of one set."""

    def probability(self, separated: Bools) -> Floats | None:
        """(sets,): how probable it is that each set separates what it was accepted for; None if it does not say."""
        return None

    def width(self, name: str, levers: int) -> tuple[int, ...]:
        """The shape of a set's line in an array."""
        return (levers,)

    def merged(self, parts: Sequence["Grounds"], which: Ints) -> Self:
        """Each set from the part that `which` says."""
        found = {name: pick([part.arrays()[name] for part in parts], which) for name in self.arrays()}
        return type(self).of({"source": self.source, "tests": self.tests}, found)


def pick(parts: Sequence[NDArray[Any]], which: Ints) -> NDArray[Any]:
    """Each line from the part that `which` says."""
    return np.stack(parts)[which, np.arange(len(which))]


def per_lever(line: Floats, levers: tuple[str, ...]) -> dict[str, float]:
    """The values by lever, where there are any."""
    return {name: float(value) for name, value in zip(levers, line, strict=True) if not np.isnan(value)}


@dataclass(frozen=True)
class Told(Grounds):
    """Sets that the user declared."""

    sources = ("told",)

    def probability(self, separated: Bools) -> Floats:
        """1: declared sets are not doubted."""
        return np.ones(len(separated))

    def evidence(self, index: int, rows: int, levers: tuple[str, ...]) -> Evidence:
        """Only that it was declared."""
        return Evidence(rows, self.source)


@dataclass(frozen=True)
class ByTests(Grounds):
    """Independence was not rejected."""

    sources = ("tested",)
    names: tuple[tuple[str, ...], ...]
    statistic: Floats
    """(sets, tests), as the two that follow."""
    dof: Ints
    p_value: Floats

    @property
    def tests(self) -> tuple[tuple[str, ...], ...]:
        """The levers that were tested together."""
        return self.names

    @classmethod
    def of(cls, about: Mapping[str, Any], arrays: Arrays) -> Self:
        """Read back `arrays`."""
        return cls(tuple(map(tuple, about["tests"])), arrays["statistic"], arrays["dof"], arrays["p_value"])

    def width(self, name: str, levers: int) -> tuple[int, ...]:
        """A column for each test."""
        return (len(self.names),)

    def evidence(self, index: int, rows: int, levers: tuple[str, ...]) -> Evidence:
        """Every test of the set."""
        columns = zip(self.names, self.statistic[index], self.dof[index], self.p_value[index], strict=True)
        results = {names: IndependenceResult(float(g), int(df), float(p)) for names, g, df, p in columns}
        return Evidence(rows, self.source, results)


@dataclass(frozen=True)
class Weighed(Grounds):
    """The rows support the set: Bayes factors in nats."""

    sources = ("weighed",)
    log_bayes_factor: Floats
    """(sets, levers): log [P(Y | S) / P(Y | S, I)]."""
    given_others: Floats | None = None
    """(sets, levers): the same given the other levers."""

    def probability(self, separated: Bools) -> Floats:
        """The product over the variables pooled, each by the weaker of its factors, at even prior odds."""
        nats = self.log_bayes_factor
        weaker = nats if self.given_others is None else np.minimum(nats, self.given_others)
        held: Floats = np.where(separated, special.expit(weaker), 1.0).prod(axis=1)
        return held

    def evidence(self, index: int, rows: int, levers: tuple[str, ...]) -> Evidence:
        """The factors of the set."""
        nats = per_lever(self.log_bayes_factor[index], levers)
        given = {} if self.given_others is None else per_lever(self.given_others[index], levers)
        return Evidence(rows, self.source, log_bayes_factor=nats, given_others=given)


@dataclass(frozen=True)
class Confidences(Grounds):
    """Causal discovery is sure of the separation."""

    sources = ("asd", "asd, time limit hit")
    confidence: Floats
    """(sets, levers): in nats."""
    proven: bool = True
    """False if a time limit cut the search short."""

    @property
    def source(self) -> str:
        """Whether the search came to its end."""
        return self.sources[0 if self.proven else 1]

    @classmethod
    def of(cls, about: Mapping[str, Any], arrays: Arrays) -> Self:
        """Read back `arrays`."""
        return cls(arrays["confidence"], about["source"] == cls.sources[0])

    def evidence(self, index: int, rows: int, levers: tuple[str, ...]) -> Evidence:
        """The confidence of every separation."""
        return Evidence(rows, self.source, confidence=per_lever(self.confidence[index], levers))


@dataclass(frozen=True)
class Degrees(Grounds):
    """The probability that each set separates all levers up to small differences, and its weight."""

    sources = ("learnt",)
    separates: Floats
    """(sets,)."""
    weights: Floats
    """(sets,): how much each set counts in the average over sets."""

    def width(self, name: str, levers: int) -> tuple[int, ...]:
        """One number for all levers."""
        return ()

    def probability(self, separated: Bools) -> Floats:
        """The stated probability."""
        return self.separates

    def evidence(self, index: int, rows: int, levers: tuple[str, ...]) -> Evidence:
        """The probability and the weight of the set."""
        return Evidence(rows, self.source, probability=float(self.separates[index]), weight=float(self.weights[index]))
