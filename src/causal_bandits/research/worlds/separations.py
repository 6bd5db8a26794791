"""Which sets separate in a world that has a graph."""

from ...core.graphs import MixedGraph, separates, separating_sets
from ...core.graphs.separation import Criterion
from ...core.problem import Problem


def sets_of_graph(
    graph: MixedGraph, problem: Problem, criterion: Criterion, max_size: int | None
) -> list[tuple[str, ...]]:
    """The sets that separate all levers of a problem from its reward, the smallest first."""
    extended = graph.with_context(dict(problem.targets))
    return separating_sets(
        extended,
        problem.intervention_names,
        problem.target,
        within=problem.observed_names,
        max_size=max_size,
        criterion=criterion,
    )


def set_of_graph(graph: MixedGraph, problem: Problem) -> tuple[str, ...] | None:
    """The parents of the reward if they separate all levers from it, else the smallest set that does; or None."""
    extended = graph.with_context(dict(problem.targets))
    parents = graph.parents(problem.target)
    if separates(extended, parents, problem.intervention_names, problem.target):
        return parents
    for size in range(len(problem.observed) + 1):
        sets = sets_of_graph(graph, problem, "auto", size)
        if sets:
            return sets[0]
    return None
