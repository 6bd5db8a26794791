"""The 25 % rule: when discovery runs again (appendix C.1)."""

import math

GROWTH = 0.25


def next_refresh(rows: int, growth: float = GROWTH) -> int:
    """The number of rows at which discovery is due again after it ran with `rows` of them: 25 % more, or `growth`.

    Between two runs the list of accepted sets is kept; counts are never frozen.

    >>> [next_refresh(rows) for rows in (0, 1, 2, 4, 8, 1000)]
    [1, 2, 3, 5, 10, 1250]
    """
    return max(rows + 1, math.ceil(rows * (1 + growth)))
