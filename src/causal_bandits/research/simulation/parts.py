"""How many rounds a compiled call plays at once."""

import time
from collections.abc import Iterator
from typing import Any

from ...core.policies import Policy

PATIENCE = 0.5
"""Seconds of compiled rounds between two looks at signals."""


def parts_of(policy: Policy[Any], horizon: int) -> Iterator[slice]:
    """The rounds from one discovery to the next; each part is played before the next one is asked for.

    A signal (Ctrl-C) waits for the end of a part, so a part is as many rounds as take about `PATIENCE` seconds.
    """
    done, most = 0, 100
    while done < horizon:
        policy.ready()
        part = slice(done, min(horizon, done + policy.rounds_to_refresh, done + most))
        start = time.monotonic()
        yield part
        spent = max(time.monotonic() - start, 1e-9)
        most = max(1, int(min(4.0 * most, (part.stop - part.start) * PATIENCE / spent)))
        done = part.stop
