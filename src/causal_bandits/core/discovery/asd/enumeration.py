"""The enumeration engine: exact minimum losses over all graphs as matrix-vector products."""

from collections.abc import Sequence

import numpy as np

from ....errors import OptionError
from ...compiled import Bools, Floats, compiled
from .graph_space import Answer, Background, Graphs, Query, has_edge
from .separation import SeparationTable, closure


@compiled
def _violated(held: Bools, weights: Floats, constant: Floats) -> Floats:
    """constant - held' weights; statement by statement, so that the inner loop is one vector operation."""
    losses = np.empty((held.shape[1], weights.shape[1]))
    loss = np.empty(held.shape[1])
    for instance in range(weights.shape[1]):
        loss[:] = constant[instance]
        for column in range(held.shape[0]):
            weight = weights[column, instance]
            for row in range(held.shape[1]):
                loss[row] -= weight * held[column, row]
        losses[:, instance] = loss
    return losses


class Enumeration:
    """Losses of all graphs that the background knowledge allows.

    The loss of a graph is the weight of the statements it violates: sum max(w, 0) - sum w * separated.
    """

    def __init__(self, table: SeparationTable, background: Background, targets: tuple[int, ...]) -> None:
        self.table = table
        self.targets = targets
        self.allowed = np.flatnonzero(background.allows(table.graphs))
        if not len(self.allowed):
            raise OptionError("no graph satisfies the forbidden and required edges; relax one of them")
        rows = np.unique(table.rows[self.allowed])
        self.held = np.ascontiguousarray(table.truth[rows].T)
        """(columns, rows): which statements hold where."""
        place = np.full(int(table.rows.max()) + 1, -1)
        place[rows] = np.arange(len(rows))
        self.rows = place[table.rows[self.allowed]]
        """For each allowed graph its row."""
        self._known: dict[Query, Bools] = {}

    def losses(self, weights: Floats) -> Floats:
        """The loss of each distinct row; a matrix of weights (statements, instances) gives one column per instance."""
        instances = weights.reshape(len(weights), -1)
        summed = np.zeros((len(self.held), instances.shape[1]))
        np.add.at(summed, self.table.columns, instances)
        losses = _violated(self.held, summed, np.maximum(instances, 0).sum(axis=0))
        return losses.reshape(-1, *weights.shape[1:])

    def confidence(self, losses: Floats, queries: Sequence[Query]) -> Floats:
        """Per query: minimum loss without the feature minus minimum loss with it; infinite if one cannot be."""
        per_graph = None
        found = np.empty((len(queries), *losses.shape[1:]))
        for place, query in enumerate(queries):
            if query.kind == "separated":
                holds = self._separations(query)
                found[place] = _least(losses, ~holds) - _least(losses, holds)
            else:
                per_graph = losses[self.rows] if per_graph is None else per_graph
                holds = self._feature(query)
                found[place] = _least(per_graph, ~holds) - _least(per_graph, holds)
        return found

    def _separations(self, query: Query) -> Bools:
        """Which rows fulfill a statement; found once, since a bandit asks the same questions all along."""
        if query not in self._known:
            statement = self.table.statements.find(query.a, query.b, query.given)
            self._known[query] = self.held[self.table.columns[statement]]
        return self._known[query]

    def _feature(self, query: Query) -> Bools:
        """Which allowed graphs have a feature that is not a separation."""
        graphs = Graphs(self.table.graphs.parents[self.allowed], self.table.graphs.spouses[self.allowed])
        if query.kind == "ancestor":
            return (closure(graphs.parents)[:, query.b] >> query.a & 1).astype(np.bool_)
        return has_edge(graphs, (query.a, query.b, query.kind == "confounded"))

    def answer(self, weights: Floats, queries: Sequence[Query], *, best: int = 1) -> Answer:
        """Exact minimum loss, confidences, and the `best` graphs with the lowest losses."""
        losses = self.losses(weights)
        confidence = self.confidence(losses, queries)
        order = np.argsort(losses[self.rows], kind="stable")[:best] if best else np.empty(0, dtype=np.int64)
        chosen = self.allowed[order]
        graphs = Graphs(self.table.graphs.parents[chosen], self.table.graphs.spouses[chosen])
        return Answer(float(losses.min()), confidence, graphs, losses[self.rows[order]], self.targets, True)


def _least(losses: Floats, where: Bools) -> Floats:
    least: Floats = losses[where].min(axis=0, initial=np.inf)
    return least
