"""What a state knows of changes: decisions that are excluded, outcomes that were corrected, and how the study ended."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...core.compiled import Ints
from ...core.data import History

AFTER_FINISH = "asked for after the study was finished"


class Exclusion(NamedTuple):
    """Decisions that were excluded together, and why."""

    time: float
    reason: str
    filter: dict[str, Any]
    """What they have in common; empty where they were named one by one."""


class Correction(NamedTuple):
    """Values of a decision that were recorded and replaced."""

    time: float
    reason: str
    before: dict[str, Any]
    after: dict[str, Any]


class ExcludedRows:
    """Rows of excluded decisions: where each is among all rows, and its values."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[int, dict[str, Any]]] = {}
        self.batches: list[tuple[int, int]] = []
        """The batches of the history when rows were last taken out or put in, by places among all rows."""
        self.batches_known = 0
        """How many batches the history had then."""

    def places(self, counted: int) -> Ints:
        """Where each row that counts is among all rows."""
        here = np.ones(counted + len(self.rows), dtype=np.bool_)
        here[[place for place, _ in self.rows.values()]] = False
        return np.flatnonzero(here)

    def all_batches(self, history: History) -> list[tuple[int, int]]:
        """All batches, by places among all rows."""
        places = self.places(len(history))
        new = history.batches[self.batches_known :]
        return [*self.batches, *((int(places[first]), int(places[end - 1]) + 1) for first, end in new)]

    def packed(self) -> dict[str, Any]:
        """Plain values for a snapshot."""
        rows = [[number, place, part] for number, (place, part) in self.rows.items()]
        return {"rows": rows, "batches": self.batches, "batches_known": self.batches_known}

    def fill(self, packed: Mapping[str, Any]) -> None:
        """Read back what `packed` gave."""
        self.rows = {number: (place, part) for number, place, part in packed["rows"]}
        self.batches = [(first, end) for first, end in packed["batches"]]
        self.batches_known = int(packed["batches_known"])


class Finished(NamedTuple):
    """What a study was finished with."""

    time: float
    decisions: int
    """The number of decisions until then; later ones do not count."""
    left_out: int
    """Open decisions that were closed."""
    winners: list[int]
    """The arm to play from then on, by number: one, or one in each segment."""
    answer: Any
    """The JSON of `recommend`."""
    report: Any
    """The JSON of `describe` with its history."""
