"""What an arm sets: perfect interventions read from the problem, and knowledge of graphs as plain values."""

import numpy as np

from ...core.compiled import Ints
from ...core.graphs import MixedGraph
from ...core.problem import Problem
from ...errors import GraphError, OptionError, ProblemError, listing


def settings_of(problem: Problem, who: str) -> Ints:
    """(arms, observed variables): the level number that an arm sets, -1 where it leaves the variable alone.

    >>> problem = Problem("Y", {"A": 2, "B": 2}, {"I_A": ["idle", 0, 1]}, targets={"I_A": "A"})
    >>> settings_of(problem, "a rule").tolist()
    [[-1, -1], [0, -1], [1, -1]]
    """
    settings = np.full((len(problem.arms), len(problem.observed)), -1)
    targets = dict(problem.targets)
    for lever in problem.interventions:
        acted_on = targets.get(lever.name, ())
        if len(acted_on) != 1 or acted_on[0] == problem.target:
            raise ProblemError(
                f"{who} needs to know which one variable {lever.name!r} sets, and has {list(acted_on)}; "
                "say so with Problem(..., targets={...}), or use a policy that only sees rewards"
            )
        place = problem.observed_names.index(acted_on[0])
        variable = problem.observed[place]
        for number, arm in enumerate(problem.arms):
            level = arm.active.get(lever.name)
            if level is None:
                continue
            if level not in variable.codes:
                raise ProblemError(
                    f"{who} needs levers that set their variable: {lever.name!r} has a value {level!r}, which is not "
                    f"a level of {variable.name!r}; those are {listing(variable.levels)}"
                )
            if settings[number, place] >= 0:
                raise ProblemError(f"{arm} sets {variable.name!r} twice; {who} needs one lever per variable")
            settings[number, place] = variable.code(level)
    return settings


def set_by(problem: Problem, settings: Ints) -> list[frozenset[str]]:
    """The variables that each arm sets."""
    names = np.array(problem.observed_names, dtype=object)
    return [frozenset(names[row >= 0].tolist()) for row in settings]


def atomic_arms(problem: Problem, settings: Ints, who: str) -> int:
    """Where the idle arm is among arms that set one variable each at most; an error for others."""
    sizes = (settings >= 0).sum(axis=1)
    if sizes.max() > 1 or np.count_nonzero(sizes == 0) != 1:
        raise ProblemError(
            f"{who} plays do() and arms that set one variable; the problem has {problem.arms[int(sizes.argmax())]}, so "
            "list the arms: Problem(..., arms=[...]), or use a policy for all arms"
        )
    return int(np.flatnonzero(sizes == 0)[0])


def checked_graph(problem: Problem, graph: object) -> MixedGraph:
    """A graph over the observed variables and the target."""
    if not isinstance(graph, MixedGraph):
        raise OptionError(f"graph is a {type(graph).__name__}; expected causal_bandits.MixedGraph(...)")
    missing = [name for name in (*problem.observed_names, problem.target) if name not in graph.nodes]
    if missing:
        raise GraphError(f"the graph has no node {listing(missing)}; it needs all observed variables and the target")
    return graph
