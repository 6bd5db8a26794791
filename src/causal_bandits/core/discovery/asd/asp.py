"""The ASP engine: the same losses by search (clingo), for problems whose graphs are too many to list.

Rules live in `encoding.lp`; here are facts going in and models coming out. clingo minimizes 32-bit whole numbers, so
the search sees weights rounded to a millionth of a nat, or coarser where they add up to more than 2147 nats. Reported
losses and confidences are those of the graphs found, without rounding.
"""

import time
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np

from ....errors import OptionError, missing_extra
from ...compiled import Floats
from .graph_space import Answer, Background, Graphs, Query, Space
from .separation import separations
from .statements import Statements, all_statements

FINEST = 1_000_000
"""Steps per nat, as long as the weights add up to a number that clingo can hold."""
LARGEST = 2**31 - 1


Atoms = frozenset[str]
"""What a model says: the edges, and which of the queried atoms are true."""


class Asp:
    """Branch and bound over all graphs; `time_limit` (seconds) makes it anytime."""

    def __init__(
        self, space: Space, background: Background, *, free: Sequence[int] = (), time_limit: float | None = None
    ) -> None:
        try:
            import clingo
        except ImportError:
            raise missing_extra("clingo", "asd") from None
        self.clingo: Any = clingo
        self.space = space
        self.background = background
        self.free = tuple(free)
        self.time_limit = time_limit
        self.statements = all_statements(space.system, space.contexts)
        self.rules = resources.files(__package__).joinpath("encoding.lp").read_text()

    def answer(self, weights: Floats, queries: Sequence[Query]) -> Answer:
        """Minimum loss, one graph that has it, and confidences; `proven` says whether the search was finished.

        Half of the time limit is for the best graph, the rest is shared by the queries; a query that gets no answer in
        its time has the confidence 0.
        """
        search = _Search(self, weights, queries)
        best = search.minimise(None, 0.5 if queries else 1.0)
        if best is None and search.proven:
            raise OptionError("no graph satisfies the forbidden and required edges; relax one of them")
        if best is None:
            raise OptionError(f"no graph was found within time_limit={self.time_limit} s; give it more time")
        found = [
            self._confidence(search, query, best, weights, 1 / (len(queries) - place))
            for place, query in enumerate(queries)
        ]
        graph, targets = self._graph(best)
        loss = self.loss(graph, targets, weights)
        return Answer(loss, np.array(found), graph, np.array([loss]), targets, search.proven)

    def _confidence(self, search: "_Search", query: Query, best: Atoms, weights: Floats, share: float) -> float:
        """One side of a feature is the optimum itself, so only the other side is searched."""
        holds = (_atom(query) in best) != (query.kind == "separated")
        other = search.minimise((query, not holds), share)
        if other is None and not search.finished:
            return 0.0
        losses = [np.inf if atoms is None else self.loss(*self._graph(atoms), weights) for atoms in (best, other)]
        return float(losses[1] - losses[0] if holds else losses[0] - losses[1])

    def loss(self, graph: Graphs, targets: tuple[int, ...], weights: Floats) -> float:
        """The exact loss of one graph."""
        masks = np.array(targets, dtype=np.int64)
        packed = separations(graph, masks, self.statements, not self.space.acyclic)
        holds = np.unpackbits(packed[0], bitorder="little", count=len(weights))
        return float(np.maximum(weights, 0).sum() - holds @ weights)

    def _graph(self, atoms: Atoms) -> tuple[Graphs, tuple[int, ...]]:
        system = self.space.system
        parents = np.zeros((1, system), dtype=np.uint8)
        spouses = np.zeros((1, system), dtype=np.uint8)
        targets = [0] * self.space.contexts
        for a in range(system + self.space.contexts):
            for b in range(system):
                if f"edge({a},{b})" in atoms:
                    if a < system:
                        parents[0, b] |= 1 << a
                    else:
                        targets[a - system] |= 1 << b
                if a < b and f"confounded({a},{b})" in atoms:
                    spouses[0, a] |= 1 << b
                    spouses[0, b] |= 1 << a
        return Graphs(parents, spouses), tuple(targets)

    def facts(self, statements: Statements, weights: Floats, queries: Sequence[Query]) -> str:
        """The problem as facts for the rules."""
        system, nodes = self.space.system, self.space.system + self.space.contexts
        lines = [f"system({node})." for node in range(system)] + [f"context({node})." for node in range(system, nodes)]
        for context, mask in enumerate(self.space.targets):
            if context in self.free:
                lines.append(f"free({system + context}).")
            else:
                lines += [f"target({system + context},{node})." for node in range(system) if mask >> node & 1]
        sets = {int(mask) for mask in statements.given} | {query.given for query in queries}
        lines += [f"member({node},{mask})." for mask in sorted(sets) for node in range(nodes) if mask >> node & 1]
        steps = min(FINEST, LARGEST / max(float(np.abs(weights).sum()) + 1, 1))
        for x, y, given, weight in zip(*statements, weights, strict=True):
            size = int(abs(weight) * steps)
            if size:
                lines.append(f"statement({x},{y},{given},{'independent' if weight > 0 else 'dependent'},{size}).")
        lines += [f"query({q.a},{q.b},{q.given})." for q in queries if q.kind == "separated"]
        for word, edges in (("forbid", self.background.forbidden), ("require", self.background.required)):
            lines += [f"{word}{'_confounded' if both else ''}({a},{b})." for a, b, both in edges]
        lines.append("acyclic." if self.space.acyclic else "sigma.")
        if self.space.sufficient:
            lines.append("sufficient.")
        return "\n".join(lines)


def _atom(query: Query) -> str:
    if query.kind == "separated":
        return f"connected({query.a},{query.b},{query.given})"
    return f"{query.kind}({query.a},{query.b})"


class _Search:
    """One grounded program, minimized several times under assumptions, within one time limit."""

    def __init__(self, engine: Asp, weights: Floats, queries: Sequence[Query]) -> None:
        self.clingo = engine.clingo
        self.end = None if engine.time_limit is None else time.monotonic() + engine.time_limit
        self.proven = True
        """Whether every search so far was finished."""
        self.finished = True
        """Whether the last one was."""
        self.wanted = {_atom(query): self.clingo.parse_term(_atom(query)) for query in queries}
        self.control = self.clingo.Control(["--opt-strategy=bb", "--warn=none"])
        self.control.add("base", [], engine.rules)
        self.control.add("base", [], engine.facts(engine.statements, weights, queries))
        self.control.ground([("base", [])])

    def minimise(self, assumption: tuple[Query, bool] | None, share: float) -> Atoms | None:
        """The atoms of a model of lowest cost, within a share of the time left; None when there is no model."""
        assumptions = []
        if assumption is not None:
            query, holds = assumption
            assumptions = [(self.wanted[_atom(query)], holds != (query.kind == "separated"))]
        best: list[Atoms] = []

        def keep(model: Any) -> None:
            asked = (text for text, symbol in self.wanted.items() if model.contains(symbol))
            best[:] = [frozenset((*map(str, model.symbols(shown=True)), *asked))]

        with self.control.solve(assumptions=assumptions, on_model=keep, async_=True) as handle:
            left = None if self.end is None else max(self.end - time.monotonic(), 0) * share
            self.finished = handle.wait(left)
            if self.finished:
                handle.get()
            else:
                handle.cancel()
                self.proven = False
        return best[0] if best else None
