"""Elahi, Ghasemi and Kocaoglu 2024: learn as much of the graph as says which arms may be optimal, then play UCB."""

import math
from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np

from ...core.compiled import Bools, Floats
from ...core.discovery.tiers import TARGETS, Tier
from ...core.graphs import MixedGraph, muct, pomis_sets
from ...core.policies.base import Variant
from ...core.problem import Problem
from ...core.seeds import Seed, generator
from ...errors import ProblemError, whole_number
from .base import ALL, CountingPolicy, checked_number
from .counts import Counts, own_rows
from .settings import set_by, settings_of
from .ucb import UCB1State

Setting = tuple[int, ...]
"""The level that an arm sets of each variable, -1 where none."""
Pair = tuple[int, int]


class PartialDiscovery(CountingPolicy):
    """Partial discovery under latents: ancestors of the reward, arrows among them, and the hidden causes that matter.

    1. X is an ancestor of Y if some P(Y | do(x)) differs from P(Y) by more than eps / 2.
    2. For random sets W of ancestors, held at random levels: who moves whom there is a transitive closure, and the
       union of its reductions over W is the graph. Each variable is in W with probability 1 - 1 / (2 n).
    3. Hidden common causes are looked for only where they can change which arms may be optimal: with Y, and then with
       whatever the set of Y, its hidden ties and the descendants of these has grown to (MUCT). With all parents of
       the two held, X and V have one if P(V | x) differs from P(V | do(x)), where X is a cause of V, or from P(V), by
       more than gamma / 2.
    4. UCB1 plays the arms do(x) over the POMISs of what was found.

    Rows per arm and question are those of the authors' code, 8 ln(2 n k^2 / d1) / eps^2 and more (`elahi_rows`):
    thousands for arrows, tens of thousands for hidden causes. `budget` is a heuristic in their place, and says so in
    `hints`.

    The paper's text is out of our reach but for its abstract and parts of its appendix; the algorithm is from these and
    from the authors' code. Decided here: W is held at one random level each; rows of an arm are kept from one question
    to the next; of two opposite arrows the one that moves more is kept; step 3 starts from Y and repeats until the set
    is closed; where the graph found is cyclic, or nothing is an ancestor, UCB1 plays all arms.

    Args:
        problem: What is played; `targets` must say which one variable each lever sets. Variables without a lever are
            not looked at: they count as hidden.
        eps: Smallest change of a distribution by an ancestor to detect.
        gamma: Smallest difference that a hidden common cause makes.
        eta: Smallest probability of a level that is conditioned on; rarer ones are left out of step 3.
        delta: Probability of an error that the paper's number of rows allows.
        budget: Rows of an arm per question; the paper's by default.
        shuffle: Seed of the random sets; drawn from `seed` by default.
        seed: Seed or Generator of its draws.
    """

    name = "partial-discovery"
    tier = Tier.OBSERVED
    hints = f"{TARGETS}, the smallest effects eps and gamma"
    variants: ClassVar[Mapping[str, Variant]] = {"partial-discovery-50": Variant({"budget": 50})}
    _through = ALL

    def __init__(
        self,
        problem: Problem,
        *,
        eps: float = 0.2,
        gamma: float = 0.2,
        delta: float = 0.05,
        eta: float = 0.1,
        budget: int | None = None,
        shuffle: int | None = None,
        seed: Seed = None,
    ) -> None:
        settings = settings_of(problem, self.name)
        self._sizes = [variable.size for variable in problem.observed]
        self._arm_of: dict[Setting, int] = {tuple(row): number for number, row in enumerate(settings.tolist())}
        self._levers = np.flatnonzero((settings >= 0).any(axis=0)).tolist()
        if len(self._arm_of) != math.prod(self._sizes[place] + 1 for place in self._levers):
            raise ProblemError(
                f"{self.name} holds variables while it sets others, and needs every combination of its levers as an "
                "arm; this problem lacks some, so use a policy that only sees rewards"
            )
        self._of_arm = set_by(problem, settings)
        told = {"eps": eps, "gamma": gamma, "eta": eta, "delta": delta}
        checked = {name: checked_number(name, value, below=1) for name, value in told.items()}
        self.eps, self.gamma = checked["eps"], checked["gamma"]
        most = max(self._sizes[place] for place in self._levers)
        self.rows_asked = elahi_rows(len(self._levers) + 1, most, **checked)
        self.budget = None if budget is None else whole_number("budget", budget, 1)
        if self.budget is not None:
            paper, self.rows_asked = self.rows_asked, (self.budget, self.budget)
            self.hints += f"; {self.budget} rows per question is a heuristic (the paper's: {paper[0]:,} and more)"
        rng = generator(seed)
        order = int(rng.integers(2**32)) if shuffle is None else whole_number("shuffle", shuffle, 0)
        self._options = {**checked, "budget": self.budget, "shuffle": order}
        self._shuffle, self._delta, self._eta = order, checked["delta"], checked["eta"]
        super().__init__(problem, seed=rng)

    # The search, as a fold over rows

    def _start(self, counts: Counts) -> UCB1State:
        self._ancestors: list[int] | None = None
        self._arrows: dict[Pair, float] | None = None
        self._ties: dict[frozenset[int], bool] = {}
        alone = self._held({})
        first = [alone, *self._each_level(alone, self._levers)]
        return self._ask_for(UCB1State(counts), first, self.rows_asked[0])

    def _plan(self, state: UCB1State) -> UCB1State:
        counts = state.counts
        if self._ancestors is None:
            alone, reward = self._held({}), len(self._sizes)
            self._ancestors = [x for x in self._levers if self._moves(counts, alone, x, reward) > self.eps / 2]
            self._contexts = self._draw_contexts(self._ancestors)
            wanted = [arm for held in self._contexts for arm in (held, *self._each_level(held, self._free(held)))]
            return self._ask_for(state, wanted, self.rows_asked[0])
        if self._arrows is None:
            self._arrows = self._find_arrows(counts)
        else:
            self._judge_ties(counts)
        self._asked = self._open_pairs()
        if not self._asked:
            return self._settle(state, self._playable())
        wanted = [arm for x, v in self._asked for arm in self._to_compare(x, v)]
        return self._ask_for(state, wanted, self.rows_asked[1])

    def _ask_for(self, state: UCB1State, wanted: list[Setting], rows: int) -> UCB1State:
        pulls = np.zeros(len(state.counts.allowed), dtype=np.int64)
        pulls[[self._arm_of[each] for each in wanted]] = rows
        return self._explore(state, np.maximum(pulls - own_rows(state.counts), 0) * (pulls > 0))

    # Arrows

    def _draw_contexts(self, ancestors: list[int]) -> list[Setting]:
        """Random sets of ancestors, each held at random levels; a set that comes again is the same."""
        rng, n = np.random.default_rng(self._shuffle), len(self._levers) + 1
        found: dict[tuple[int, ...], Setting] = {}
        for _ in range(random_sets(n, self._delta)):
            chosen = tuple(x for x in ancestors if rng.random() < 1 - 1 / (2 * n))
            levels = {x: int(rng.integers(self._sizes[x])) for x in chosen}
            found.setdefault(chosen, self._held(levels))
        return list(found.values())

    def _find_arrows(self, counts: Counts) -> dict[Pair, float]:
        """The union over contexts of the reductions of who moves whom; of opposite arrows the stronger."""
        found: dict[Pair, float] = {}
        for held in self._contexts:
            free = self._free(held)
            moves = {(x, v): self._moves(counts, held, x, v) for x in free for v in (*free, len(self._sizes)) if x != v}
            closure = {pair: moved for pair, moved in moves.items() if moved > self.eps / 2}
            for pair in reduction(stronger(closure)):
                found[pair] = max(found.get(pair, 0.0), closure[pair])
        return stronger(found)

    def _moves(self, counts: Counts, held: Setting, x: int, v: int) -> float:
        """How far do(x) moves the distribution of v at most, with others held."""
        before = self._spread(counts, held, v)
        shifts = [np.abs(self._spread(counts, arm, v) - before).max() for arm in self._each_level(held, [x])]
        return float(max(shifts))

    # Hidden common causes

    def _open_pairs(self) -> list[Pair]:
        """The pairs with the territory of the reward that were not looked at yet; none if the graph has a cycle."""
        graph = self.graph()
        if not graph.is_acyclic:
            return []
        names = (*self.problem.observed_names, self.problem.target)
        inside, ancestors = {names.index(name) for name in muct(graph, names[-1])}, self._ancestors or []
        pairs = {frozenset((x, v)) for x in inside for v in ancestors if x != v}
        return sorted(tuple(sorted(pair)) for pair in pairs if pair not in self._ties)  # type: ignore[misc]

    def _to_compare(self, x: int, v: int) -> list[Setting]:
        held = self._parents_held(x, v)
        cause = self._cause(x, v)
        return [held, *(self._each_level(held, [cause]) if cause is not None else [])]

    def _cause(self, x: int, v: int) -> int | None:
        """Which of the two causes the other while the parents of both are held."""
        arrows = self._arrows or {}
        return x if (x, v) in arrows else v if (v, x) in arrows else None

    def _parents_held(self, x: int, v: int) -> Setting:
        parents = {tail for tail, head in self._arrows or {} if head in (x, v)} - {x, v}
        rng = np.random.default_rng((self._shuffle, x, v))
        return self._held({each: int(rng.integers(self._sizes[each])) for each in sorted(parents)})

    def _judge_ties(self, counts: Counts) -> None:
        for x, v in self._asked:
            held, cause = self._parents_held(x, v), self._cause(x, v)
            first, second = (v, x) if cause == v else (x, v)
            joint = self._pair(counts, held, first, second)
            apart = 0.0
            for level, row in enumerate(joint):
                if row.sum() >= max(1.0, self._eta * joint.sum()):
                    arm = held if cause is None else (*held[:first], level, *held[first + 1 :])
                    apart = max(apart, np.abs(row / row.sum() - self._spread(counts, arm, second)).max())
            self._ties[frozenset((x, v))] = apart > self.gamma / 2

    # Arms by what they set, and what was seen under them

    def _held(self, levels: Mapping[int, int]) -> Setting:
        return tuple(levels.get(place, -1) for place in range(len(self._sizes)))

    def _free(self, held: Setting) -> list[int]:
        return [x for x in self._ancestors or [] if held[x] < 0]

    def _each_level(self, held: Setting, variables: Iterable[int]) -> list[Setting]:
        return [(*held[:x], level, *held[x + 1 :]) for x in variables for level in range(self._sizes[x])]

    def _pair(self, counts: Counts, arm: Setting, x: int, v: int) -> Floats:
        """Joint rows of two nodes under an arm; the reward is the last node."""
        joint = counts.seen[self._arm_of[arm]].reshape(*self._sizes, 2)
        found: Floats = np.einsum(joint, list(range(joint.ndim)), [x, v]).astype(np.float64)
        return found

    def _spread(self, counts: Counts, arm: Setting, v: int) -> Floats:
        joint = counts.seen[self._arm_of[arm]].reshape(*self._sizes, 2)
        rows = joint.sum(axis=tuple(axis for axis in range(joint.ndim) if axis != v))
        found: Floats = rows / max(rows.sum(), 1)
        return found

    def graph(self) -> MixedGraph:
        """What was found so far: arrows among the ancestors of the reward, and hidden common causes that matter."""
        names = (*self.problem.observed_names, self.problem.target)
        arrows = [(names[x], names[v]) for x, v in self._arrows or {}]
        ties = [tuple(names[node] for node in sorted(pair)) for pair, hidden in self._ties.items() if hidden]
        return MixedGraph(names, arrows, ties)  # type: ignore[arg-type]

    def _playable(self) -> Bools:
        graph = self.graph()
        if not self._ancestors or not graph.is_acyclic:
            return np.ones(len(self._of_arm), dtype=np.bool_)
        manipulable = [self.problem.observed_names[place] for place in self._levers]
        wanted = {frozenset(each) for each in pomis_sets(graph, self.problem.target, manipulable=manipulable)}
        return np.array([each in wanted for each in self._of_arm])


def stronger(moves: Mapping[Pair, float]) -> dict[Pair, float]:
    """Of two opposite arrows the one that moves more.

    >>> stronger({(0, 1): 0.3, (1, 0): 0.1, (1, 2): 0.2})
    {(0, 1): 0.3, (1, 2): 0.2}
    """
    return {(x, v): moved for (x, v), moved in moves.items() if moved > moves.get((v, x), -1.0) or (v, x) not in moves}


def reduction(closure: Iterable[Pair]) -> list[Pair]:
    """Without the pairs that a third node lies between.

    >>> reduction([(0, 1), (1, 2), (0, 2)])
    [(0, 1), (1, 2)]
    """
    pairs = list(closure)
    between = {(x, v) for x, middle in pairs for other, v in pairs if middle == other}
    return [pair for pair in pairs if pair not in between]


def random_sets(n: int, delta: float) -> int:
    """8 alpha d ln n random sets for n nodes of degree up to d = n, alpha = 2 n ln(2 / delta + 2) / ln n."""
    return math.ceil(16 * n * n * math.log(2 / delta + 2))


def elahi_rows(n: int, k: int, *, eps: float, gamma: float, eta: float, delta: float) -> tuple[int, int]:
    """Rows of an arm per question about arrows, and about hidden common causes, for n nodes of k levels.

    A = 8 ln(2 n k^2 / d1) / eps^2 with d1 = delta / (4 n #sets), and C = 16 ln(2 n^2 k^2 / d3) / (eta gamma^2) +
    ln(2 n^2 k^2 / d3) / (2 eta^2) with d3 = n d1, but no fewer than A.

    >>> elahi_rows(4, 2, eps=0.2, gamma=0.2, eta=0.1, delta=0.05)
    (3220, 65197)
    """
    first = delta / (4 * n * random_sets(n, delta))
    arrows = 8 * math.log(2 * n * k**2 / first) / eps**2
    log = math.log(2 * n**2 * k**2 / (n * first))
    ties = 16 * log / (eta * gamma**2) + log / (2 * eta**2)
    return math.ceil(arrows), math.ceil(max(arrows, ties))
