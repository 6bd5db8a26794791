"""How old the published snapshot of a study is."""

from typing import NamedTuple

from ..session import Session
from ..storage import AppendLog


class Staleness(NamedTuple):
    """How far a study's snapshot is behind what was acknowledged; a strict study is never behind."""

    version: int
    """The newest event that is counted; decisions are made from it."""
    rows: int
    """Decisions and outcomes that were acknowledged since and are not counted yet."""
    seconds: float
    """How long the oldest of them has waited."""

    def __str__(self) -> str:
        if not self.rows:
            return f"snapshot {self.version} has everything"
        return f"snapshot {self.version} is {self.rows:,} rows and {self.seconds:.1f} s behind"


def staleness_of(session: Session, log: AppendLog) -> Staleness:
    """The staleness of a served study, from a few small queries."""
    seq, counted = session.read_counted(lambda state: (state.seq, state.appended))
    ends = log.ends()
    behind = max(ends.position - counted, 0)
    if not behind:
        return Staleness(seq, 0, 0.0)
    oldest = session.store.read(session.row.id, lambda transaction: log.after(transaction, counted, 1))
    return Staleness(seq, behind, max(session.clock() - oldest[0].time, 0.0) if oldest else 0.0)
