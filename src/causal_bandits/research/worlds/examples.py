"""The example of sec. 3.2 (Fig. 1): which separating set is best depends on the mechanisms, not on the graph."""

from collections.abc import Callable
from typing import Literal, get_args

from ...core.problem import Level
from ...core.validation import validated
from ...errors import OptionError, brief
from .discrete_scm import DiscreteSCM
from .mechanisms import Effect, Mechanism

Best = Literal["S2", "AB", "S3"]


@validated
def example_world(best: Best = "S2") -> DiscreteSCM:
    """I acts on A and B, then A, B -> S2 -> S3 -> Y, with mechanisms that make the named set the best.

    - ``S2``: the paper's: A = I, B = 1 - I, S2 = A xor B xor U1, S3 = S2 xor U2, Y = S3. Through {A, B} the two
      arms have nothing in common, and given S3 there is nothing left to learn.
    - ``AB``: A and B are noisy, S2 = A xor B xor U1, S3 and Y copy S2: only given {A, B} is something left to learn.
    - ``S3``: A = I, B = 1 - I, S2 is their pair, S3 = A xor U2, Y = S3 xor U3: the arms first meet in S3.

    Deviation: the paper writes I_A and I_B in the equation of S2 without defining them; read as A and B. Then
    A xor B is always 1 in its example, and the arms do not differ at all.

    Args:
        best: Name of the set to make the best: ``"S2"``, ``"AB"`` or ``"S3"``.

    >>> example_world("S3").means.round(2).tolist()
    [0.38, 0.62]
    """
    if best not in get_args(Best):
        raise OptionError(f"best={brief(best)}; expected one of {', '.join(get_args(Best))}")
    flips = {0: (0.3, 0.3), 1: (0.1, 0.3)} if best == "AB" else {0: (0.0, 0.0), 1: (0.0, 0.0)}
    if best == "S3":
        second = Mechanism(["A", "B"], lambda a, b: 2 * a + b)
        third, reward = _noisy("S2", lambda s: int(s >= 2), 0.3), _noisy("S3", int, 0.2)
    else:
        second = Mechanism(["A", "B"], lambda a, b: _flip(a ^ b, 0.3))
        third, reward = _noisy("S2", int, 0.2 if best == "S2" else 0.0), _noisy("S3", int, 0.0)
    coin = Mechanism([], [0.5, 0.5])
    effects: dict[Level, Effect] = {
        i: {"A": Mechanism([], _flip(i, a)), "B": Mechanism([], _flip(1 - i, b))} for i, (a, b) in flips.items()
    }
    return DiscreteSCM(
        variables={"A": 2, "B": 2, "S2": 4 if best == "S3" else 2, "S3": 2, "Y": 2},
        mechanisms={"A": coin, "B": coin, "S2": second, "S3": third, "Y": reward},
        interventions={"I": effects},
    )


def _flip(value: int, chance: float) -> list[float]:
    """The distribution of a bit that is `value` but for a flip."""
    return [1 - chance, chance] if value == 0 else [chance, 1 - chance]


def _noisy(parent: str, function: Callable[[int], int], chance: float) -> Mechanism:
    return Mechanism([parent], lambda value: _flip(function(value), chance))
