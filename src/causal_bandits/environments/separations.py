"""Which sets separate in a world that has a graph."""

from ..graphs import MixedGraph, separating_sets
from ..graphs.separation import Criterion
from ..problem import Problem


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
