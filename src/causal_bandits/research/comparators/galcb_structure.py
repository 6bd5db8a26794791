"""Who causes whom in a linear model, from the means under single levers and a Lasso."""

import numpy as np

from ...core.compiled import Bools, Floats, Ints
from ...core.problem import Problem
from ...errors import ProblemError, brief

TOLERANCE, MOST_SWEEPS = 1e-10, 10_000


def causal_order(moved: Bools) -> Ints:
    """An order of the variables, causes first and the reward last, from who moved whom.

    A cause that can be moved has fewer causes than its effects. Of variables with equally many, those that move
    nothing (most have no lever) come first.

    Args:
        moved: (variables, variables): whether levers on the one moved the mean of the other; the reward is the last.

    >>> causal_order(np.array([[0, 0, 1], [1, 0, 1], [0, 0, 0]], dtype=bool)).tolist()
    [1, 0, 2]
    """
    causes, moves = moved.sum(axis=0), moved.sum(axis=1) > 0
    reward = len(moved) - 1
    keys = sorted((place == reward, int(causes[place]), bool(moves[place]), place) for place in range(len(moved)))
    return np.array([place for *_, place in keys], dtype=np.int64)


def candidate_parents(moved: Bools, order: Ints) -> list[list[int]]:
    """Per variable those before it that moved it, or that moved nothing, so that nothing is known of them.

    >>> candidate_parents(np.array([[0, 0, 1], [1, 0, 1], [0, 0, 0]], dtype=bool), np.array([1, 0, 2]))
    [[1], [], [0, 1]]
    """
    before = {int(place): order[:rank] for rank, place in enumerate(order)}
    moves = moved.sum(axis=1) > 0
    return [
        sorted(int(each) for each in before[place] if moved[each, place] or not moves[each])
        for place in range(len(moved))
    ]


def lasso(products: Floats, target: Floats, penalty: float) -> Floats:
    """The b that makes b' R b / 2 - r' b + penalty |b| least, by coordinate descent.

    Args:
        products: R, (columns, columns): means of products of the columns.
        target: r, (columns,): means of products with what is regressed.
        penalty: Weight of the sum of absolute values.

    >>> lasso(np.eye(2), np.array([0.5, -0.05]), 0.1).tolist()
    [0.4, 0.0]
    """
    found = np.zeros(len(target))
    for _ in range(MOST_SWEEPS):
        most = 0.0
        for column in range(len(target)):
            rest = target[column] - products[column] @ found + products[column, column] * found[column]
            new = np.sign(rest) * (abs(rest) - penalty) / products[column, column] if abs(rest) > penalty else 0.0
            most = max(most, abs(new - found[column]))
            found[column] = new
        if most < TOLERANCE:
            break
    return found


def chosen_parents(scatter: Floats, place: int, candidates: list[int], penalty: float) -> list[int]:
    """The candidates with a coefficient in a Lasso on standardized variables; one that is constant has none."""
    spread = np.sqrt(np.diag(scatter))
    varying = [each for each in candidates if spread[each] > 0] if spread[place] > 0 else []
    correlations = scatter[np.ix_([*varying, place], [*varying, place])] / np.outer(
        spread[[*varying, place]], spread[[*varying, place]]
    )
    kept = lasso(correlations[:-1, :-1], correlations[:-1, -1], penalty) != 0
    return [each for each, used in zip(varying, kept, strict=True) if used]


def single_levers(problem: Problem, who: str) -> tuple[list[int], list[int]]:
    """The arms to explore, do() first, and the variable that each of the others acts on."""
    if problem.segments:
        raise ProblemError(f"{who} follows a plan over all arms and cannot play segments; use another policy")
    discrete = [variable.name for variable in problem.observed if not variable.is_real]
    if discrete:
        raise ProblemError(f"{who} needs real-valued variables; {brief(discrete[0])} is not, so use another policy")
    names, targets = (*problem.observed_names, problem.target), dict(problem.targets)
    taken: dict[str, str] = {}
    for lever in problem.intervention_names:
        acted_on = targets.get(lever, ())
        if len(acted_on) != 1:
            raise ProblemError(
                f"{who} needs to know which one variable {lever!r} acts on, and has {list(acted_on)}; "
                "say so with Problem(..., targets={...}), or use a policy that needs no targets"
            )
        if acted_on[0] in taken:
            raise ProblemError(
                f"{lever!r} and {taken[acted_on[0]]!r} act on {acted_on[0]!r}; {who} needs one lever per variable"
            )
        taken[acted_on[0]] = lever
    arms = [number for number, arm in enumerate(problem.arms) if not arm.active]
    places = []
    for number, arm in enumerate(problem.arms):
        if len(arm.active) == 1:
            arms.append(number)
            places.append(names.index(targets[next(iter(arm.active))][0]))
    levels = sum(len(lever.levels) - 1 for lever in problem.interventions)
    if len(arms) != levels + 1:
        raise ProblemError(
            f"{who} first pulls do() and every level of every lever alone; this problem lacks some of these arms"
        )
    return arms, places
