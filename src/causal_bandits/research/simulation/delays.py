"""Delays: how many rounds later a reward is known."""

import contextlib
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...core.compiled import Ints, by_reference
from ...core.validation import is_number
from ...errors import OptionError, brief, whole_number

MOST = 10**9
"""Rounds; a reward that comes after the last round never comes."""


@dataclass(frozen=True)
class Geometric:
    """A random delay of 0, 1, 2, ... rounds: the reward arrives with the same probability in every round.

    Args:
        mean: Mean number of rounds.

    >>> Geometric(5).mean
    5
    """

    mean: float

    def __post_init__(self) -> None:
        if not is_number(self.mean) or not 0 <= float(self.mean) <= MOST:
            raise OptionError(f"mean={brief(self.mean)}; expected a mean delay in rounds, from 0 to {MOST:,}")


Wait = int | Geometric


@dataclass(frozen=True)
class ByOutcome:
    """A delay that depends on the reward: purchases are known early, their absence only after a time limit.

    Args:
        zero: Delay of a reward of 0.
        other: Delay of any other reward.

    >>> ByOutcome(zero=1000, other=Geometric(50))
    ByOutcome(zero=1000, other=Geometric(mean=50))
    """

    zero: Wait
    other: Wait

    def __post_init__(self) -> None:
        for name, wait in (("zero", self.zero), ("other", self.other)):
            _checked(name, wait)


Delay = Wait | ByOutcome


@by_reference
class Waits(NamedTuple):
    """For each round, how much later its reward is known if it is 0, and otherwise."""

    zero: Ints
    other: Ints


def check_delay(delay: object) -> None:
    """Validate `delay`."""
    if not isinstance(delay, ByOutcome):
        _checked("delay", delay)


def _checked(name: str, wait: object) -> None:
    if not isinstance(wait, Geometric):
        try:
            whole_number(name, wait, 0, MOST)
        except OptionError as error:
            raise OptionError(f"{error}; a delay is a number of rounds, Geometric(mean) or ByOutcome(...)") from None


def delay_in(text: str) -> Delay:
    """A delay from a command line: 500, geometric:500, or zero=2000,other=geometric:50.

    >>> delay_in("500"), delay_in("geometric:20")
    (500, Geometric(mean=20.0))
    >>> delay_in("zero=2000,other=geometric:50")
    ByOutcome(zero=2000, other=Geometric(mean=50.0))
    """
    parts = [part.strip().partition("=") for part in text.split(",")]
    if [name for name, _, _ in parts] == ["zero", "other"]:
        return ByOutcome(*(_wait_in(wait, text) for _, _, wait in parts))
    return _wait_in(text, text)


def _wait_in(part: str, whole: str) -> Wait:
    kind, colon, mean = part.strip().partition(":")
    with contextlib.suppress(ValueError):
        if colon and kind == "geometric":
            return Geometric(float(mean))
        if not colon and 0 <= int(part) <= MOST:
            return int(part)
    raise OptionError(
        f"delay {brief(whole)}; expected a number of rounds such as 500, geometric:500, or zero=2000,other=geometric:50"
    )


def delay_words(delay: Delay) -> str:
    """A delay in words.

    >>> delay_words(ByOutcome(zero=2000, other=Geometric(50)))
    'a reward of 0 after 2,000 rounds, another after 50 on average'
    """
    if isinstance(delay, ByOutcome):
        return f"a reward of 0 after {_wait_words(delay.zero)} rounds, another after {_wait_words(delay.other)}"
    if isinstance(delay, int):
        return f"after {delay:,} rounds"
    return f"after {_wait_words(delay)}, in rounds"


def _wait_words(wait: Wait) -> str:
    return f"{wait.mean:,g} on average" if isinstance(wait, Geometric) else f"{wait:,}"


def draw_waits(delay: Delay, horizon: int, rng: np.random.Generator) -> Waits:
    """The delays of all rounds; fixed ones take nothing from the Generator, so that worlds draw as without."""
    if isinstance(delay, ByOutcome):
        return Waits(_drawn(delay.zero, horizon, rng), _drawn(delay.other, horizon, rng))
    same = _drawn(delay, horizon, rng)
    return Waits(same, same)


def _drawn(wait: Wait, horizon: int, rng: np.random.Generator) -> Ints:
    if isinstance(wait, Geometric):
        own = np.random.default_rng(int(rng.integers(2**63)))
        return np.minimum(own.geometric(1 / (1 + float(wait.mean)), horizon) - 1, MOST).astype(np.int64)
    return np.full(horizon, int(wait), dtype=np.int64)
