"""One client alone: whether the event loop may do a piece of work itself.

Handing work to a thread and back takes a tenth of the time of an ask over HTTP, and is for others, who must not wait
meanwhile. Where one client asks and tells by turns there are no others, and work like the last pieces takes a moment.
"""

from collections.abc import Hashable

from .measuring import Measures

TURNS = 20
"""So many requests of one connection in a row, each of them quick."""
QUICK_SECONDS = 0.02
MOST_KINDS = 1000


class Alone:
    """Who has come lately, and what was quick."""

    def __init__(self, measures: Measures) -> None:
        self._measures = measures
        self._client: object = None
        self._turns = 0
        self._kinds: set[Hashable] = set()

    def is_now(self, client: object, kind: Hashable) -> bool:
        """Whether this client has been alone for some time, is now, and work of this kind has been quick before."""
        return kind in self._kinds and self.is_client(client)

    def is_client(self, client: object) -> bool:
        """Whether this client has been alone for some time, and is now."""
        waiting = self._measures.in_flight - self._measures.streams
        return self._turns >= TURNS and client == self._client and waiting <= 1

    def took(self, client: object, kind: Hashable, seconds: float) -> None:
        """Work was done for a client."""
        is_quick = seconds <= QUICK_SECONDS
        self._turns = self._turns + 1 if is_quick and client == self._client else int(is_quick)
        self._client = client
        if not is_quick:
            self._kinds.discard(kind)
        elif len(self._kinds) < MOST_KINDS:
            self._kinds.add(kind)
