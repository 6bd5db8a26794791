"""Candidate sets: the subsets of the observed variables, in a fixed order."""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

from ...errors import OptionError, ProblemError, UnknownVariableError, brief, listing, whole_number
from ..problem import Problem

LIMIT_BYTES = 4 * 2**30


@dataclass(frozen=True)
class SubsetLayout(ABC):
    """All subsets of the observed variables with at most `max_size` members, smaller ones first."""

    problem: Problem
    max_size: int
    holds: ClassVar[str]
    """What is kept of every arm, in a word."""

    @classmethod
    def sized(cls, problem: Problem, max_size: int | None) -> Self:
        """With all sets up to a size, or without one, as many as stay small."""
        observed = len(problem.observed)
        found = cls(problem, 0 if max_size is None else min(whole_number("max_size", max_size, 0), observed))
        if found.nbytes > LIMIT_BYTES:
            taken = f"the {cls.holds} of {len(problem.arms)} arms with all sets up to {found.max_size} variables"
            raise ProblemError(f"{taken} take {_gib(found.nbytes)}; {cls._advice(problem)}")
        for size in range(1, observed + 1) if max_size is None else ():
            larger = cls(problem, size)
            if not larger.is_small:
                break
            found = larger
        return found

    @classmethod
    def _advice(cls, problem: Problem) -> str:
        """A max_size that fits, for the error message about one that is too large."""
        fitting = [size for size in range(len(problem.observed) + 1) if cls(problem, size).nbytes <= LIMIT_BYTES]
        if not fitting:
            return "list fewer arms with arms=[...], or observe fewer variables"
        return (
            f"lower max_size ({fitting[-1]} takes {_gib(cls(problem, fitting[-1]).nbytes)}), observe fewer levels, or "
            "list the arms that can be pulled with arms=[...]"
        )

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Memory needed for the sets, known before it is allocated."""

    @property
    @abstractmethod
    def is_small(self) -> bool:
        """Whether it stays fast."""

    @property
    def count(self) -> int:
        """How many sets there are, without listing them."""
        return sum(math.comb(len(self.problem.observed), size) for size in range(self.max_size + 1))

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """The positions of each set's variables, by size and then by order."""
        places = range(len(self.problem.observed))
        sizes = range(self.max_size + 1)
        return tuple(itertools.chain.from_iterable(itertools.combinations(places, size) for size in sizes))

    @cached_property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """The variables of each set."""
        observed = self.problem.observed_names
        return tuple(tuple(observed[index] for index in members) for members in self.members)

    def find(self, names: Iterable[str]) -> int:
        """The position of a set."""
        wanted = frozenset((names,) if isinstance(names, str) else names)
        unknown = sorted(wanted - set(self.problem.observed_names))
        if unknown:
            known = listing(self.problem.observed_names)
            raise UnknownVariableError(f"{brief(unknown[0])} is not an observed variable; expected some of {known}")
        if len(wanted) > self.max_size:
            raise OptionError(f"{sorted(wanted)} has more than max_size={self.max_size} variables; raise max_size")
        return self._places[wanted]

    @cached_property
    def _places(self) -> dict[frozenset[str], int]:
        return {frozenset(names): index for index, names in enumerate(self.names)}


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
