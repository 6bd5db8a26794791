"""Seeds: validation, and separate random streams."""

import numpy as np

from ..errors import OptionError, brief

Seed = int | np.random.SeedSequence | np.random.Generator | None


def generator(seed: Seed) -> np.random.Generator:
    """The Generator of a seed; a Generator is returned unchanged.

    >>> generator(0).random() == generator(0).random()
    True
    """
    try:
        kinds = int | np.integer | np.random.SeedSequence | np.random.Generator | np.random.BitGenerator
        if isinstance(seed, bool) or (seed is not None and not isinstance(seed, kinds)):
            raise TypeError
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise OptionError(
            f"seed={brief(seed)}; expected an integer >= 0, a numpy SeedSequence or Generator, or None"
        ) from None


def stream(seed: int, *key: int) -> np.random.SeedSequence:
    """The seed of one of many independent streams of a seed, identified by numbers.

    >>> stream(1, 2, 3).spawn_key
    (2, 3)
    """
    return np.random.SeedSequence(seed, spawn_key=key)


def check_generator(rng: object) -> None:
    """Validate the Generator that a world draws from."""
    if not isinstance(rng, np.random.Generator):
        raise OptionError(f"rng={brief(rng)}; expected a numpy Generator, such as numpy.random.default_rng(0)")
