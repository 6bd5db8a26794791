"""ASD-JCI123kt as a discovery (sec. 4.2; Mooij, Magliacane and Claassen 2020; Hyttinen et al. 2014).

Every independence statement votes with its strength for or against a separation; the loss of a causal graph is the
weight of the votes it contradicts. How sure a feature is: the lowest loss without it minus the lowest loss with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np

from ....errors import MissingExtraError, OptionError, brief, whole_number
from ...compiled import Floats
from ...data import CountTables, History, TableLayout
from ...problem import Problem
from ...validation import check_fields
from ..base import Discovery, Findings, check_alpha
from ..tiers import TARGETS
from .asp import Asp
from .enumeration import Enumeration
from .graph_space import Answer, Background, Query, Space, split_edge
from .result import DiscoveredGraphs
from .separation import separation_table
from .statements import JointCounts, all_statements, weigh

MOST_SYSTEM = 8
MOST_NODES = 12
Engine = Literal["auto", "enumeration", "asp"]


@dataclass(frozen=True)
class ASD(Discovery):
    """Accept S when its separation of every lever from the reward has positive confidence.

    Each lever is tested given S and the other levers. For all levers together this is the same as testing them without
    the others.

    Args:
        alpha: Significance level at which a test counts as a dependence.
        engine: ``"enumeration"`` lists all graphs (up to 4 variables with the reward, 5 with `sufficient`) and needs
            every lever's targets; ``"asp"`` is answer set programming, which can take minutes per discovery;
            ``"auto"`` enumerates if possible.
        sufficient: Assume that there are no hidden confounders.
        acyclic: False allows cycles, with sigma-separation.
        partial: Also accept a set for only those levers that it separates. In our runs this was no better if sets
            exist, and wrong more often if none does.
        forbidden: Edges that the graph does not have, such as "A -> B" or "A <-> Y".
        required: Edges that it has.
        time_limit: Seconds after which ``"asp"`` returns the best graph so far.

    >>> ASD().alpha
    0.025
    """

    name: ClassVar[str] = "asd"
    alpha: float = 0.025
    engine: Engine = "auto"
    sufficient: bool = False
    acyclic: bool = True
    partial: bool = False
    forbidden: Sequence[str] = ()
    required: Sequence[str] = ()
    time_limit: float | None = None

    def __post_init__(self) -> None:
        check_alpha(self.alpha, 0.025)
        check_fields(self)
        if self.time_limit is not None and not self.time_limit > 0:
            raise OptionError(f"time_limit={brief(self.time_limit)}; expected seconds above 0, or None")
        for name in ("forbidden", "required"):
            if isinstance(getattr(self, name), str):
                raise OptionError(f"{name}={brief(getattr(self, name))}; expected a list of edges such as ['A -> B']")
            object.__setattr__(self, name, tuple(getattr(self, name)))
            for edge in getattr(self, name):
                split_edge(edge)

    def hints(self, problem: Problem) -> str:
        """It uses what every lever acts on, if known."""
        return TARGETS if problem.targets else super().hints(problem)

    def discover(self, layout: TableLayout, tables: CountTables, rows: int) -> Findings:
        """The confidence of every separation that the bandit can use."""
        answer = self._answer(layout, tables, _bandit_queries(layout), best=0)
        return self._findings(layout, rows, answer.confidence, answer.proven)

    def _findings(self, layout: TableLayout, rows: int, confidence: Floats, proven: bool) -> Findings:
        confidence = confidence.reshape(len(layout.names), -1)
        separated = confidence > 0
        if not self.partial:
            separated &= np.all(separated, axis=1, keepdims=True)
        source = "asd" if proven else "asd, time limit hit"
        return Findings(layout, rows, separated, source, {"confidence": confidence})

    def explain(self, history: History, *, best: int = 5) -> DiscoveredGraphs:
        """Causal discovery on a table by itself: separating sets, edges, ancestral relations and the best graphs."""
        if not isinstance(history, History):
            raise OptionError(f"history={brief(history)}; expected a History")
        best = whole_number("best", best, 0, 1000)
        layout = TableLayout.of(history.problem, len(history.problem.observed))
        tables = history.tables(layout.max_size)
        system = len(history.problem.observed) + 1
        pairs = [(a, b) for a in range(system) for b in range(system) if a != b]
        groups = [
            _bandit_queries(layout),
            [Query("edge", a, b) for a, b in pairs],
            [Query("confounded", a, b) for a, b in pairs if a < b and not self.sufficient],
            [Query("ancestor", a, b) for a, b in pairs],
        ]
        answer = self._answer(layout, tables, [query for group in groups for query in group], best=best)
        parts = np.split(answer.confidence, np.cumsum([len(group) for group in groups])[:-1])
        findings = self._findings(layout, len(history), parts[0], answer.proven)
        return DiscoveredGraphs.of(findings, groups[1:], parts[1:], answer)

    def _answer(self, layout: TableLayout, tables: CountTables, queries: Sequence[Query], best: int) -> Answer:
        if not isinstance(layout, TableLayout):
            raise OptionError("ASD needs discrete variables and a reward of 0 or 1; use ResidualTesting()")
        engine = _engine(self, layout.problem)
        weights = self.weights(layout, tables)
        if isinstance(engine, Enumeration):
            return engine.answer(weights, queries, best=best)
        return engine.answer(weights, queries)

    def weights(self, layout: TableLayout, tables: CountTables) -> Floats:
        """The vote of every statement, in the order of `all_statements`."""
        statements = _statements(len(layout.problem.observed) + 1, len(layout.problem.interventions))
        return weigh(statements, JointCounts.of(layout, tables), self.alpha)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        lists = {"forbidden": list(self.forbidden), "required": list(self.required)}
        return {"name": self.name, **vars(self), **lists}


_statements = lru_cache(maxsize=8)(all_statements)


def system_names(problem: Problem) -> tuple[str, ...]:
    """The system nodes in their order: observed variables, then the reward."""
    return (*problem.observed_names, problem.target)


@lru_cache(maxsize=8)
def _bandit_queries(layout: TableLayout) -> list[Query]:
    """For every set S and lever: separated from the reward given S and the others?"""
    reward = len(layout.problem.observed)
    contexts = range(reward + 1, reward + 1 + len(layout.problem.interventions))
    everyone = sum(1 << context for context in contexts)
    sets = [sum(1 << place for place in members) for members in layout.members]
    return [Query("separated", reward, c, mask | everyone & ~(1 << c)) for mask in sets for c in contexts]


@lru_cache(maxsize=16)
def _engine(asd: ASD, problem: Problem) -> Enumeration | Asp:
    names = system_names(problem)
    background = Background.read(names, tuple(asd.forbidden), tuple(asd.required))
    known = dict(problem.targets)
    free = [place for place, lever in enumerate(problem.intervention_names) if lever not in known]
    masks = tuple(sum(1 << names.index(name) for name in known.get(lever, ())) for lever in problem.intervention_names)
    if len(names) > MOST_SYSTEM or len(names) + len(masks) > MOST_NODES:
        raise OptionError(
            f"ASD over {len(names)} variables and {len(masks)} levers has too many statements (at most "
            f"{MOST_SYSTEM} variables with the reward, {MOST_NODES} with the interventions); use DirectTesting()"
        )
    space = Space(len(names), masks, asd.sufficient, asd.acyclic)
    listable = space.count is not None and not free
    if asd.engine == "asp" or (asd.engine == "auto" and not listable):
        return _asp(asd, space, background, free)
    if free:
        lever = problem.intervention_names[free[0]]
        raise OptionError(f"what {lever!r} acts on is not known; pass targets={{...}} to Problem, or use engine='asp'")
    if not listable:
        raise OptionError(f"the graphs over {len(names)} variables are too many to list; use engine='asp'")
    return Enumeration(separation_table(space), background, masks)


def _asp(asd: ASD, space: Space, background: Background, free: list[int]) -> Asp:
    try:
        return Asp(space, background, free=free, time_limit=asd.time_limit)
    except MissingExtraError as error:
        hint = "; or use engine='enumeration'" if space.count is not None and not free else ""
        if free:
            hint = "; or say what every lever acts on: Problem(..., targets={...})"
        elif space.system == 5 and not space.sufficient:
            hint = "; or use sufficient=True (no hidden confounders)"
        raise MissingExtraError(f"{error}{hint}") from None


def discover(history: History, asd: ASD | None = None, *, best: int = 5) -> DiscoveredGraphs:
    """Run causal discovery on a history, outside of a policy.

    Args:
        history: The rows.
        asd: Options of the discovery; `ASD()` by default.
        best: Number of best graphs to return.

    >>> history = History(Problem("Y", {"A": 2}, {"I": 2}, targets={"I": "A"}))
    >>> rows = [(0, 0, 0)] * 30 + [(0, 1, 1)] * 10 + [(1, 1, 1)] * 35 + [(1, 0, 0)] * 5
    >>> _ = history.extend(history.encode_many([dict(I=i, A=a, Y=y) for i, a, y in rows]))
    >>> discover(history).graph
    MixedGraph(A -> Y, I -> A)
    """
    if asd is not None and not isinstance(asd, ASD):
        raise OptionError(f"asd={brief(asd)}; expected ASD(...)")
    return (ASD() if asd is None else asd).explain(history, best=best)
