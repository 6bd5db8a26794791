"""The parallel bandit of Lattimore, Lattimore and Reid (2016): many independent causes, one of which matters."""

from ...core.validation import validated
from ...errors import OptionError, brief, whole_number
from .discrete_scm import DiscreteSCM
from .mechanisms import Mechanism, perfect


@validated
def parallel_world(variables: int = 10, *, rare: int = 2, chance: float = 0.05, gap: float = 0.3) -> DiscreteSCM:
    """X1, ..., Xn independent, arms do() and do(Xi = x); the first `rare` are 1 with probability `chance`, others 1/2.

    P(Y = 1) = 1/2 + gap where X1 = 1, else 1/2 - gap q / (1 - q) with q = P(X1 = 1), so that do() has mean 1/2
    (their sec. 5). The best arm is do(X1 = 1).

    Args:
        variables: Number of causes, up to 20.
        rare: How many of them are rarely 1.
        chance: P(X = 1) of the rare ones, up to 0.5.
        gap: How much more than 1/2 the best arm's mean is, up to 0.5.

    >>> parallel_world(4).means.round(3).tolist()[:3]
    [0.5, 0.484, 0.8]
    """
    count, few = whole_number("variables", variables, 1, 20), whole_number("rare", rare, 0)
    if few > count or not 0 < chance <= 0.5 or not 0 < gap <= 0.5:
        raise OptionError(
            f"rare={few}, chance={brief(chance)}, gap={brief(gap)}; "
            f"expected at most {count}, and numbers above 0 up to 0.5"
        )
    names = [f"X{number}" for number in range(1, count + 1)]
    ones = {name: chance if number < few else 0.5 for number, name in enumerate(names)}
    low = 0.5 - gap * ones["X1"] / (1 - ones["X1"])
    mechanisms = {name: Mechanism([], [1 - one, one]) for name, one in ones.items()}
    mechanisms["Y"] = Mechanism(["X1"], [[1 - low, low], [0.5 - gap, 0.5 + gap]])
    return DiscreteSCM(
        dict.fromkeys([*names, "Y"], 2),
        mechanisms,
        {f"I_{name}": perfect(name) for name in names},
        arms=[{}, *({f"I_{name}": level} for name in names for level in (0, 1))],
    )
