"""When discovery runs: the 25% rule over rounds (appendix C.1), and a longer wait where it is expensive."""

import math
from dataclasses import dataclass

GROWTH = 0.25
"""Between two runs the list of accepted sets is kept; counts are never frozen."""
PATIENCE = 1.01
"""An expensive discovery also waits for 1% more rows, prior ones included."""


@dataclass
class Schedule:
    """Rows that were reported before the first arm was chosen are prior data; the 25% rule counts rounds only.

    >>> schedule = Schedule()
    >>> schedule.ran(100, expensive=False)  # a table of 100 rows was reported first
    >>> schedule.due, schedule.prior
    (101, 100)
    """

    due: int = 0
    """The number of rows at which discovery runs again."""
    prior: int | None = None
    """How many rows there were when the first arm was chosen; None if none was chosen yet."""
    growth: float = GROWTH
    """Discovery runs again when the rounds have grown by this share."""

    def is_due(self, rows: int) -> bool:
        """Whether discovery runs before the next arm."""
        return rows >= self.due

    def ran(self, rows: int, *, expensive: bool) -> None:
        """Discovery was looked at with this many rows."""
        if self.prior is None:
            self.prior = rows
        self.due = after(rows, self.prior, expensive=expensive, growth=self.growth)

    def left(self, rows: int) -> int:
        """How many rows may come before it runs again."""
        return max(self.due - rows, 0)


def after(rows: int, prior: int = 0, *, expensive: bool = False, growth: float = GROWTH) -> int:
    """When discovery is due again after it ran with `rows`, of which `prior` came before the first round.

    >>> [after(rows) for rows in (0, 1, 2, 4, 8, 1000)]
    [1, 2, 3, 5, 10, 1250]
    """
    due = prior + max(rows - prior + 1, math.ceil((rows - prior) * (1 + growth)))
    return max(due, math.ceil(rows * PATIENCE)) if expensive else due
