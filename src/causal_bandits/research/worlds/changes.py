"""What an intervention does to a linear equation: shift it, scale its noise, weigh its parents, or fix its variable."""

import math
from dataclasses import dataclass

from ...core.validation import is_number
from ...errors import WorldError, brief


@dataclass(frozen=True)
class Change:
    """What an intervention value does to one equation; made by `shift`, `scale`, `reweigh` and `fix`.

    Args:
        added: Number added to the equation.
        noise: Factor of the standard deviation of its noise.
        cuts: Whether the parents lose their influence.
        weights: Factor of the coefficients of the parents.
    """

    added: float = 0.0
    noise: float = 1.0
    cuts: bool = False
    weights: float = 1.0


def shift(by: float) -> Change:
    """Add a number to the equation of a variable.

    Args:
        by: Number to add.

    >>> shift(1.5)
    Change(added=1.5, noise=1.0, cuts=False, weights=1.0)
    """
    return Change(added=finite_number("shift", by))


def scale(factor: float) -> Change:
    """Multiply the standard deviation of the noise of a variable.

    Args:
        factor: Factor of the standard deviation, at least 0.

    >>> scale(2)
    Change(added=0.0, noise=2.0, cuts=False, weights=1.0)
    """
    return Change(noise=finite_number("scale", factor, least=0.0))


def reweigh(factor: float) -> Change:
    """Multiply the coefficients of all parents of a variable (a soft intervention).

    Args:
        factor: Factor of the coefficients; 0 cuts the parents off and leaves the noise.

    >>> reweigh(0.5)
    Change(added=0.0, noise=1.0, cuts=False, weights=0.5)
    """
    return Change(weights=finite_number("reweigh", factor))


def fix(value: float) -> Change:
    """Set a variable to a value, whatever its parents and its noise say (a perfect intervention).

    Args:
        value: Value to set it to.

    >>> fix(0)
    Change(added=0.0, noise=0.0, cuts=True, weights=1.0)
    """
    return Change(added=finite_number("fix", value), noise=0.0, cuts=True)


def finite_number(what: str, value: object, least: float = -math.inf) -> float:
    """A finite number, not below `least`."""
    if is_number(value) and math.isfinite(number := float(value)) and number >= least:  # type: ignore[arg-type]
        return number
    raise WorldError(f"{what} is {brief(value)}; expected a finite number" + (f" from {least:g}" if least == 0 else ""))
