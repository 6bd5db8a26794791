"""Shares of arms: each decision plays an arm with at least and at most a given probability.

A decision first draws one number u. Arms with a least share take the first part of the unit interval, each as long as
its share. In the rest the policy chooses, among the arms that are open then: an arm with a greatest share is open for a
part of that rest that is as long as what its share leaves it. So whatever the policy would do, arm a is played with a
probability between its least and its greatest share, and with exactly its share where the two are the same.

Parts are laid end to end around the interval, so that some arm is open everywhere (the greatest shares add up to 1 or
more). An arm that may not be played leaves its share to the others; where these may take no more, in proportion.
"""

from typing import NamedTuple

import numpy as np

from ...core.compiled import Bools, Floats, Ints

MOST_PARTS = 64
"""Open sets that probabilities are added up over; of more, this many are taken."""


class Portions(NamedTuple):
    """What shares come to among the arms that may be played."""

    floor: Floats
    """(arms,): the part of the unit interval that an arm has for itself."""
    room: Floats
    """(arms,): for how much of the rest it is open."""

    @property
    def reserved(self) -> float:
        """What arms have for themselves, together."""
        return min(float(self.floor.sum()), 1.0)

    def own(self, u: Floats) -> Ints:
        """The arm whose own part a number is in; -1 where the policy chooses."""
        ends = np.cumsum(self.floor)
        found = np.searchsorted(ends, u, side="right")
        last = int(np.flatnonzero(self.floor)[-1]) if self.floor.any() else -1
        full = self.reserved >= 1 - 1e-12
        return np.where((u < ends[-1]) | full, np.minimum(found, last), -1).astype(np.int64)

    def open_at(self, u: float) -> Bools:
        """The arms among which the policy chooses, for a number beyond all own parts."""
        at = (u - self.reserved) / max(1 - self.reserved, 1e-300)
        return self._open(min(max(at, 0.0), np.nextafter(1.0, 0.0)))

    def _open(self, at: float) -> Bools:
        always, some = self.room >= 1, (self.room > 0) & (self.room < 1)
        ends = np.cumsum(np.where(some, self.room, 0.0))
        starts = np.concatenate([[0.0], ends[:-1]])
        hit = some & (np.floor(ends - at - 1e-15) > np.floor(starts - at - 1e-15))
        found: Bools = always | hit
        if not found.any():  # parts that add up to 1 but for the last bits
            found[int(self.room.argmax())] = True
        return found

    def parts(self) -> list[tuple[float, Bools]]:
        """The sets of arms that are open together, with their part of the rest."""
        some = self.room[(self.room > 0) & (self.room < 1)]
        cuts = np.unique(np.concatenate([[0.0, 1.0], np.mod(np.cumsum(some), 1.0)]))
        if len(cuts) > MOST_PARTS + 1:
            cuts = np.linspace(0.0, 1.0, MOST_PARTS + 1)
        middles, widths = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts)
        return [(float(w), self._open(float(m))) for m, w in zip(middles, widths, strict=True) if w > 1e-12]


def portions(low: Floats, high: Floats, playable: Bools) -> Portions:
    """The parts of the arms that may be played.

    >>> found = portions(np.array([0.1, 0.0, 0.0]), np.array([0.1, 1.0, 0.45]), np.array([True, True, True]))
    >>> found.floor.tolist(), found.room.round(3).tolist()
    ([0.1, 0.0, 0.0], [0.0, 1.0, 0.5])
    """
    floor = np.where(playable, low, 0.0)
    if floor.sum() > 1:
        floor = floor / floor.sum()
    left = 1 - floor.sum()
    if left <= 1e-12:
        return Portions(floor, np.where(playable, 1.0, 0.0))
    room = np.where(playable, np.clip((high - floor) / left, 0.0, 1.0), 0.0)
    room[room > 1 - 1e-12] = 1.0
    total = room.sum()
    if total < 1 - 1e-9:
        room = room / total if total > 0 else playable / playable.sum()
    return Portions(floor, room)
