"""Lu, Meisami and Tewari 2021: on causal trees, halve the search for the reward's parent, then play UCB over it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ...core.compiled import Bools, Floats
from ...core.discovery.tiers import TARGETS, Tier
from ...core.graphs import MixedGraph
from ...core.policies.base import Variant
from ...core.problem import Problem
from ...core.seeds import Seed
from ...core.validation import are_names
from ...errors import GraphError, OptionError, ProblemError, brief, whole_number
from .base import ALL, CountingPolicy, checked_number, numbers_told
from .counts import Counts, own_rows
from .settings import settings_of
from .ucb import UCB1State


class LuTree(CountingPolicy):
    """CN-UCB: intervene on a central node of the forest that is left, and keep the side that holds the parent.

    The node is an ancestor of Y if some mean moves by more than gap / 2 from that of do(); then it and the branches of
    its children are kept, otherwise the branch of its parent and the other trees. A neighbor is a child if its
    distribution moves by more than eps / 2 from the told P(X). When every node left has been asked about, UCB1 plays
    the values of the last ancestor. The forest is over the variables that a lever sets.

    Every question takes `budget` rows of an arm: B = max(32 ln(8 n K / delta) / gap^2, 2 ln(8 n^2 K^2 / delta) / eps^2)
    of the paper unless told; a small number is a heuristic, and says so in `hints`.

    Decided here: the largest tree that is left comes first; where no ancestor is found, all arms are played. Not built:
    the paper's general graphs, which it searches clique by clique; a skeleton with a cycle is rejected.

    Args:
        problem: What is played; `targets` must say which one variable each lever sets.
        skeleton: Pairs of variables that are adjacent; they must form a forest.
        marginals: P(X) of every observed variable under do(): name -> probabilities of its levels.
        gap: Smallest change of the mean reward to detect; an ancestor moves it by more than gap / 2.
        eps: Smallest change of another variable's distribution to detect, in the same way.
        delta: Probability of an error that the paper's budget allows.
        budget: Rows of an arm per question; the paper's B by default.
        seed: Seed or Generator of its draws.

    >>> levers = {f"I_{name}": ["idle", 0, 1] for name in "ABCD"}
    >>> problem = Problem("Y", dict.fromkeys("ABCD", 2), levers, targets={f"I_{name}": name for name in "ABCD"},
    ...                   arms=[{}, *({f"I_{name}": level} for name in "ABCD" for level in (0, 1))])
    >>> coins = {name: [0.5, 0.5] for name in "ABCD"}
    >>> policy = LuTree(problem, skeleton=[("A", "B"), ("B", "C")], marginals=coins, budget=2, seed=0)
    >>> for _ in range(4):
    ...     policy.tell(policy.ask(), {**dict.fromkeys("ABCD", 0), "Y": 0})
    >>> policy.asking()  # after two rows of do(), the centre of the larger tree
    'B'
    """

    name = "lu-tree"
    variants: ClassVar[Mapping[str, Variant]] = {"lu-tree-100": Variant({"budget": 100})}
    tier = Tier.OBSERVED
    needs = ("skeleton", "marginals")
    hints = (
        f"{TARGETS}; the variables are a forest, told without its arrows; P(X), one parent of the reward, eps and gap"
    )
    _through = ALL

    def __init__(
        self,
        problem: Problem,
        *,
        skeleton: Iterable[Sequence[str]],
        marginals: Mapping[str, Sequence[float]],
        gap: float = 0.2,
        eps: float = 0.2,
        delta: float = 0.05,
        budget: int | None = None,
        seed: Seed = None,
    ) -> None:
        self._singles = _single_arms(problem, self.name)
        edges = (
            [checked_edge(edge) for edge in skeleton] if isinstance(skeleton, Iterable) else [checked_edge(skeleton)]
        )
        levers = {each[0] for each in self._singles if each is not None}
        self._neighbors = _forest(
            [name for place, name in enumerate(problem.observed_names) if place in levers], problem, edges
        )
        self._known = _checked_marginals(problem, marginals)
        self.gap, self.eps = checked_number("gap", gap, below=1), checked_number("eps", eps, below=1)
        delta = checked_number("delta", delta, below=1)
        n, k = len(self._neighbors), max(variable.size for variable in problem.observed)
        mean = 32 * math.log(8 * n * k / delta) / self.gap**2
        paper = math.ceil(max(mean, 2 * math.log(8 * n**2 * k**2 / delta) / self.eps**2))
        self.budget = paper if budget is None else whole_number("budget", budget, 1)
        if self.budget < paper:
            self.hints += f"; {self.budget} rows per question is a heuristic (the paper's: {paper})"
        told = {"gap": self.gap, "eps": self.eps, "delta": delta, "budget": self.budget}
        plain = {name: list(map(float, chances)) for name, chances in marginals.items()}
        self._options = {"skeleton": [list(edge) for edge in edges], "marginals": plain, **told}
        super().__init__(problem, seed=seed)

    def _start(self, counts: Counts) -> UCB1State:
        self.left: set[int] = set(self._neighbors)
        self._asked: set[int] = set()
        self._ancestor: int | None = None
        self._now: int | None = None
        return self._ask_for(UCB1State(counts), [self._singles[None]])

    def _plan(self, state: UCB1State) -> UCB1State:
        if self._now is not None:
            self._judge(state.counts, self._now)
        open_nodes = sorted(self.left - self._asked)
        if not open_nodes:
            self._now = None
            return self._settle(state, self._playable(len(state.counts.allowed)))
        self._now = min(open_nodes, key=self._order)
        self._asked.add(self._now)
        return self._ask_for(state, self._arms(self._now))

    def _order(self, node: int) -> tuple[int, int]:
        """The largest tree first, and in it the node whose largest branch is the smallest."""
        branches = [len(branch) for branch in self._branches(node).values()]
        return -sum(branches), max(branches, default=0)

    def asking(self) -> str | None:
        """The variable that the question asked now is about; none while do() is pulled, and at the end."""
        return None if self._now is None else self.problem.observed_names[self._now]

    def _judge(self, counts: Counts, node: int) -> None:
        base, children, moved = self._mean(counts, self._singles[None]), set(), 0.0
        for arm in self._arms(node):
            moved = max(moved, abs(self._mean(counts, arm) - base))
            for other in self._neighbors[node]:
                shift = np.abs(self._distribution(counts, arm, other) - self._known[other]).max()
                children |= {other} if shift > self.eps / 2 else set()
        below = {each for child, branch in self._branches(node).items() if child in children for each in branch}
        if moved > self.gap / 2:
            self._ancestor = node
            self.left = below | {node}
        else:
            self.left -= below | {node}

    def _branches(self, node: int) -> dict[int, set[int]]:
        """What is left of a node's tree beyond each of its neighbors."""
        found = {}
        for start in self._neighbors[node] & self.left:
            branch, ahead = {start}, {start}
            while ahead:
                ahead = {each for at in ahead for each in self._neighbors[at] & self.left} - branch - {node}
                branch |= ahead
            found[start] = branch
        return found

    # Rows

    def _arms(self, node: int) -> list[int]:
        return [self._singles[node, level] for level in range(self.problem.observed[node].size)]

    def _ask_for(self, state: UCB1State, arms: list[int]) -> UCB1State:
        pulls = np.zeros(len(state.counts.allowed), dtype=np.int64)
        pulls[arms] = self.budget
        return self._explore(state, np.maximum(pulls - own_rows(state.counts), 0))

    @staticmethod
    def _mean(counts: Counts, arm: int) -> float:
        return float(counts.seen[arm, :, 1].sum() / counts.seen[arm].sum())

    def _distribution(self, counts: Counts, arm: int, node: int) -> Floats:
        sizes = [variable.size for variable in self.problem.observed]
        joint = counts.seen[arm].sum(axis=1).reshape(sizes)
        found: Floats = joint.sum(axis=tuple(axis for axis in range(len(sizes)) if axis != node)) / joint.sum()
        return found

    def _playable(self, arms: int) -> Bools:
        allowed = np.full(arms, self._ancestor is None)
        if self._ancestor is not None:
            allowed[self._arms(self._ancestor)] = True
        return allowed


def _single_arms(problem: Problem, who: str) -> dict[tuple[int, int] | None, int]:
    """The arm of do(), and of every (variable, level)."""
    settings = settings_of(problem, who)
    singles: dict[tuple[int, int] | None, int] = {}
    for arm, row in enumerate(settings):
        places = np.flatnonzero(row >= 0)
        if len(places) <= 1:
            singles[(int(places[0]), int(row[places[0]])) if len(places) else None] = arm
    wanted = {
        (place, level)
        for place in np.flatnonzero((settings >= 0).any(axis=0)).tolist()
        for level in range(problem.observed[place].size)
    }
    if not {None, *wanted} <= singles.keys():
        raise ProblemError(f"{who} needs do() and every do(X = x) among the arms; use a policy that only sees rewards")
    return singles


def is_forest(joined: MixedGraph) -> bool:
    """Whether the bidirected edges of a graph have no cycle.

    >>> is_forest(MixedGraph(["A", "B", "C"], bidirected=[("A", "B")]))
    True
    """
    both = [*joined.bidirected, *((other, one) for one, other in joined.bidirected)]
    trees = MixedGraph(joined.nodes, both).strongly_connected_components()
    return len(joined.bidirected) == len(joined.nodes) - len(trees)


def _forest(names: list[str], problem: Problem, edges: list[tuple[str, ...]]) -> dict[int, set[int]]:
    """The neighbors of every variable; an error unless the edges form a forest over these variables."""
    alone = [name for edge in edges for name in edge if name in problem.observed_names and name not in names]
    if alone:
        raise GraphError(
            f"the skeleton joins {alone[0]!r}, which no lever sets, and lu-tree asks by setting; use hac-ucb, "
            "causal-ts or a policy that only sees rewards"
        )
    joined = MixedGraph(names, bidirected=edges)  # type: ignore[arg-type]  # refuses unknown names and pairs that are none
    if not is_forest(joined):
        raise GraphError(
            f"the skeleton {edges} has a cycle, and lu-tree searches forests; raps-ucb takes any graph, and ucb-plus, "
            "causal-ts and the policies that only see rewards do too"
        )
    place = problem.observed_names.index
    return {place(name): {place(other) for other in joined.spouses(name)} for name in names}


def _checked_marginals(problem: Problem, marginals: Mapping[str, Sequence[float]]) -> list[Floats]:
    known = []
    for variable in problem.observed:
        chances = numbers_told(f"marginals[{variable.name!r}]", marginals.get(variable.name, ()))
        if chances.shape != (variable.size,) or not np.isclose(chances.sum(), 1):
            raise OptionError(
                f"marginals[{variable.name!r}] is {chances.tolist()}; expected {variable.size} probabilities"
            )
        known.append(chances)
    return known


def checked_edge(edge: Any) -> tuple[str, ...]:
    """An edge of the skeleton: two names."""
    if not are_names(edge) or len(found := tuple(edge)) != 2:
        raise OptionError(f"skeleton has {brief(edge)}; expected pairs of names, such as ('A', 'B')")
    return found
