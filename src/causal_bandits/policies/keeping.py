"""Keeping a policy: everything it knows as a plain header and arrays, and back."""

import os
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..data import History, SubsetLayout, WaitingRows
from ..discovery import Findings
from ..errors import SaveFileError, brief, whole_number
from ..files import file_path
from ..problem import Problem
from .saving import (
    Saved,
    pack_findings,
    read,
    unpack_findings,
    unpack_generator,
    unpack_into,
    unpack_rows,
    unpack_waiting,
    write,
)
from .schedule import Schedule, after


class Kept(ABC):
    """What can be saved and loaded: rows, random numbers, the last discovery, and what cannot be made afresh."""

    name: str
    problem: Problem
    layout: SubsetLayout
    history: History
    waiting: WaitingRows
    rng: np.random.Generator
    allowed: NDArray[np.bool_]
    findings: Findings | None
    schedule: Schedule

    def __repr__(self) -> str:
        used = "" if self.findings is None else f", {len(self.findings.used)} separating sets"
        return f"{type(self).__name__}({self.problem.outline}, {len(self.history):,} rows{used})"

    # What a policy says

    @abstractmethod
    def _recount(self) -> None:
        """Make the state anew from the rows."""

    @abstractmethod
    def restrict(self, arms: Any) -> None:
        """From now on ask for and recommend these arms only."""

    def _is_expensive(self) -> bool:
        """Whether a discovery takes so long that a row or two more are not worth it."""
        return False

    def _sums(self) -> dict[str, NDArray[Any]]:
        """Running sums that cannot be made afresh to the last bit; they go into the save file."""
        return {}

    def _check_sums(self) -> None:  # noqa: B027
        """A ValueError where sums that were read back contradict each other."""

    def options(self) -> dict[str, Any]:
        """The options of this policy as plain values for JSON."""
        return {}

    @classmethod
    def from_options(cls, problem: Problem, options: dict[str, Any]) -> Self:
        """A fresh policy from what `options` gave."""
        return cls(problem, **options)  # type: ignore[call-arg]

    # Saving and loading

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one plain file; `load` continues with exactly the same future arms."""
        write(file_path(path), self.pack())

    def pack(self) -> Saved:
        """All that is known as a plain header and arrays."""
        header: dict[str, Any] = {
            "policy": self.name,
            "problem": self.problem.to_dict(),
            "options": self.options(),
            "rng": self.rng.bit_generator.state,
            "due": self.schedule.due,
            "prior": self.schedule.prior,
        }
        if not self.allowed.all():
            header["allowed"] = self.allowed.tolist()
        if self.history.filled:
            header["filled"] = self.history.filled
        found = pack_findings(self.findings)
        if self.waiting.made:
            header["waiting"] = self.waiting.made
            found.update(self.waiting.packed())
        return Saved(header, {**self.history.packed, **self._sums(), **found})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """A policy from the file that `save` wrote."""
        saved = read(file_path(path))
        if saved.header.get("policy") != cls.name:
            raise SaveFileError(f"{str(path)!r} holds a {brief(saved.header.get('policy'))} policy, not {cls.name!r}")
        return cls.restore(saved)

    @classmethod
    def restore(cls, saved: Saved) -> Self:
        """A policy from a save file's content."""
        with saved.checked():
            policy = cls.from_options(Problem.from_dict(saved.header["problem"]), saved.header["options"])
            policy.rng = unpack_generator(saved.header["rng"])
            policy.history.extend(unpack_rows(policy.problem, saved.arrays))
            policy.history.filled = whole_number("filled", saved.header.get("filled", 0), 0)
            if "waiting" in saved.header:
                unpack_waiting(policy.waiting, policy.problem, saved)
            policy.schedule = policy._schedule_in(saved.header)
            if "allowed" in saved.header:
                arms = zip(policy.problem.arms, saved.header["allowed"], strict=True)
                policy.restrict([arm for arm, yes in arms if yes])
            policy.findings = unpack_findings(policy.layout, saved.arrays)
            policy._recount()
            for name, array in policy._sums().items():
                unpack_into(array, saved.arrays[name])
            policy._check_sums()
            if not saved.is_whole:
                raise ValueError("it was changed after it was written")
        return policy

    def _schedule_in(self, header: dict[str, Any]) -> Schedule:
        prior, rows = header.get("prior", 0), len(self.history) + self.waiting.made
        found = Schedule(
            whole_number("due", header["due"], 0),
            None if prior is None else whole_number("prior", prior, 0),
            self.schedule.growth,
        )
        latest = after(rows, min(found.prior or 0, rows), expensive=self._is_expensive(), growth=found.growth)
        if found.due > latest:
            raise ValueError(f"its next discovery is at {found.due} rows")
        return found
