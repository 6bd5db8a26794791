"""The result of ASD on a table, to print, convert to a frame, or draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....libraries import pl
from ...compiled import Floats
from ...graphs import MixedGraph
from ...markup import printable
from ..base import Findings, SeparatingSet
from .graph_space import Answer, Query

ARROWS = {"edge": "->", "confounded": "<->", "ancestor": "-->"}


@dataclass(frozen=True, repr=False)
class DiscoveredGraphs:
    """Confidences in nats (positive: the data support it) and the graphs with the lowest losses.

    `edges` has keys such as "A -> B" and "A <-> Y", `ancestors` such as "A --> Y". A confidence of 0 means that
    equally good graphs disagree. `proven` is False when a time limit cut the search short.
    """

    sets: list[SeparatingSet]
    edges: dict[str, float]
    ancestors: dict[str, float]
    graphs: list[tuple[MixedGraph, float]]
    interventions: tuple[str, ...]
    proven: bool

    @classmethod
    def of(
        cls, findings: Findings, groups: Sequence[Sequence[Query]], confidence: Sequence[Floats], answer: Answer
    ) -> DiscoveredGraphs:
        """From an engine's answer to queries for edges, bidirected edges and ancestors."""
        problem = findings.layout.problem
        names = (*problem.observed_names, problem.target)
        found: list[dict[str, float]] = []
        for queries, values in zip(groups, confidence, strict=True):
            texts = [f"{names[query.a]} {ARROWS[query.kind]} {names[query.b]}" for query in queries]
            found.append(dict(zip(texts, map(float, values), strict=True)))
        contexts = dict(zip(problem.intervention_names, answer.targets, strict=True))
        graphs = [(_graph(names, contexts, answer, place), float(loss)) for place, loss in enumerate(answer.losses)]
        edges = found[0] | found[1]
        return cls(findings.sets, edges, found[2], graphs, problem.intervention_names, answer.proven)

    def __repr__(self) -> str:
        accepted = f"{sum(found.accepted for found in self.sets)} of {len(self.sets)} sets accepted"
        return printable(f"DiscoveredGraphs({len(self.graphs)} graphs, {accepted}, best {self.graph})")

    @property
    def graph(self) -> MixedGraph:
        """The best graph, with its levers."""
        return self.graphs[0][0]

    def to_frame(self) -> pl.DataFrame:
        """One row per feature: kind, feature, confidence."""
        rows = [("edge", text, value) for text, value in self.edges.items()]
        rows += [("ancestor", text, value) for text, value in self.ancestors.items()]
        for found in self.sets:
            shown = ", ".join(found.variables)
            rows += [("separates", f"{{{shown}}} {name}", v) for name, v in found.evidence.confidence.items()]
        return pl.DataFrame(rows, schema=["kind", "feature", "confidence"], orient="row")


def _graph(names: tuple[str, ...], contexts: dict[str, int], answer: Answer, place: int) -> MixedGraph:
    count = len(names)
    parents, spouses = answer.graphs.parents[place], answer.graphs.spouses[place]
    directed = [(names[a], names[b]) for b in range(count) for a in range(count) if parents[b] >> a & 1]
    bidirected = [(names[a], names[b]) for b in range(count) for a in range(b) if spouses[b] >> a & 1]
    graph = MixedGraph(names, directed, bidirected)
    targets = {lever: [names[node] for node in range(count) if mask >> node & 1] for lever, mask in contexts.items()}
    return graph.with_context(targets, confounded=True)
