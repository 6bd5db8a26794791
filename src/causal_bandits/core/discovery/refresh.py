"""The 25% rule: when discovery runs again (appendix C.1)."""

import math

GROWTH = 0.25


def next_refresh(rows: int, growth: float = GROWTH) -> int:
    """The number of rows at which discovery is due again: 25% more than at its last run, or `growth`.

    Between two runs the list of accepted sets is kept; counts are never frozen.

    Args:
        rows: Number of rows at the last run.
        growth: Share of new rows to wait for.

    >>> [next_refresh(rows) for rows in (0, 1, 2, 4, 8, 1000)]
    [1, 2, 3, 5, 10, 1250]
    """
    return max(rows + 1, math.ceil(rows * (1 + growth)))
