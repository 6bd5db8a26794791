"""Linear Gaussian worlds: what levers change, feedback, the model itself and random ones."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...core.compiled import Floats
from ...core.graphs import MixedGraph
from ...core.problem import Arm, Level, Problem
from ...core.seeds import generator
from ...core.validation import is_number, validated
from ...errors import UnknownVariableError, WorldError, brief, listing
from .mechanisms import IDLE
from .sampler import gaussian_sampler
from .world import ContinuousWorld, GraphWorld


@dataclass(frozen=True)
class Change:
    """What an intervention value does to one equation; made by `shift`, `scale`, `reweigh` and `fix`.

    Args:
        added: Number added to the equation.
        noise: Factor of the standard deviation of its noise.
        cuts: Whether the parents lose their influence.
        weights: Factor of the coefficients of the parents.
    """

    added: float = 0.0
    noise: float = 1.0
    cuts: bool = False
    weights: float = 1.0


def shift(by: float) -> Change:
    """Add a number to the equation of a variable.

    Args:
        by: Number to add.

    >>> shift(1.5)
    Change(added=1.5, noise=1.0, cuts=False, weights=1.0)
    """
    return Change(added=finite_number("shift", by))


def scale(factor: float) -> Change:
    """Multiply the standard deviation of the noise of a variable.

    Args:
        factor: Factor of the standard deviation, at least 0.

    >>> scale(2)
    Change(added=0.0, noise=2.0, cuts=False, weights=1.0)
    """
    return Change(noise=finite_number("scale", factor, least=0.0))


def reweigh(factor: float) -> Change:
    """Multiply the coefficients of all parents of a variable (a soft intervention).

    Args:
        factor: Factor of the coefficients; 0 cuts the parents off and leaves the noise.

    >>> reweigh(0.5)
    Change(added=0.0, noise=1.0, cuts=False, weights=0.5)
    """
    return Change(weights=finite_number("reweigh", factor))


def fix(value: float) -> Change:
    """Set a variable to a value, regardless of its parents and its noise (a perfect intervention).

    Args:
        value: Value to set it to.

    >>> fix(0)
    Change(added=0.0, noise=0.0, cuts=True, weights=1.0)
    """
    return Change(added=finite_number("fix", value), noise=0.0, cuts=True)


def finite_number(what: str, value: object, least: float = -math.inf) -> float:
    """A finite number, not below `least`."""
    if is_number(value) and math.isfinite(number := float(value)) and number >= least:  # type: ignore[arg-type]
        return number
    raise WorldError(f"{what} is {brief(value)}; expected a finite number" + (f" from {least:g}" if least == 0 else ""))


def parts_in_order(graph: MixedGraph) -> list[list[int]]:
    """The strongly connected components as node numbers, each after the components of its parents.

    >>> parts_in_order(MixedGraph(["Y", "B", "A"], [("A", "B"), ("B", "A"), ("B", "Y")]))
    [[1, 2], [0]]
    """
    place = {name: number for number, name in enumerate(graph.nodes)}
    parts = [[place[name] for name in part] for part in graph.strongly_connected_components()]
    return sorted(parts, key=lambda part: graph.masks.ancestors[part[0]].bit_count())


def converge(weights: Floats, part: list[int], values: Floats) -> None:
    """Turn what the equations of a part add by themselves into its values, in place: (I - B)^-1 of it."""
    outside = weights[part]
    outside[:, part] = 0.0
    values[part] = np.linalg.solve(np.eye(len(part)) - weights[np.ix_(part, part)], values[part] + outside @ values)


def feedback(weights: Floats, part: list[int]) -> float:
    """The spectral radius of a part: values converge if it is below 1."""
    return float(np.abs(np.linalg.eigvals(weights[np.ix_(part, part)])).max(initial=0.0))


def check_stable(weights: Floats, part: list[int], names: tuple[str, ...], arm: Arm) -> None:
    """Reject feedback that grows: a spectral radius of 1 or more."""
    radius = feedback(weights, part)
    if not radius < 1:
        raise WorldError(
            f"the feedback among {listing(names[place] for place in part)} has a spectral radius of {radius:.4g} under "
            f"{arm}, and values converge only below 1; lower the coefficients on the cycle"
        )


Pair = tuple[str, str]


def _mapping(what: str, given: Any) -> Mapping[Any, Any]:
    if not isinstance(given, Mapping):
        raise WorldError(f"{what} is {brief(given)}; expected a mapping")
    return given


class LinearGaussianSCM(GraphWorld, ContinuousWorld):
    """Every variable is a linear function of its parents plus Gaussian noise; all of them are observed.

    Coefficients may form cycles: the variables are then (I - B)^-1 (intercepts + noise), where updates with the noise
    held converge. They do if the spectral radius of B is below 1; a world with an arm in which it is not is rejected.
    Linear equations obey d-separation even with cycles (Spirtes 1995), so more sets separate than by sigma-separation.

    Args:
        coefficients: (cause, effect) -> number; 0 is no edge.
        interventions: Lever -> value -> effect (variable -> `shift`, `scale`, `reweigh` or `fix`); the first
            value is idle.
        target: Name of the reward.
        variables: Order of the variables, the target always last; by default the order of their first mention.
        intercepts: Variable -> intercept, 0 by default.
        noise: Variable -> standard deviation of its noise, 1 by default.
        correlated: Pair -> correlation of its noises (confounding); 0 is no edge.
        arms: Arms that can be pulled; all combinations by default.

    >>> from causal_bandits.research.worlds import fix, shift
    >>> scm = LinearGaussianSCM(
    ...     {("A", "B"): 0.5, ("B", "Y"): 2.0}, correlated={("A", "Y"): 0.5},
    ...     interventions={"I_A": {"idle": {}, "up": {"A": shift(1.0)}}, "I_B": {"idle": {}, "set": {"B": fix(3.0)}}})
    >>> scm.means.tolist(), scm.graph
    ([0.0, 6.0, 1.0, 6.0], MixedGraph(A -> B, B -> Y, A <-> Y))
    >>> scm.covariance({"B": "set"}).round(6).tolist()
    [[1.0, 0.0, 0.5], [0.0, 0.0, 0.0], [0.5, 0.0, 1.0]]
    """

    criterion = "d"

    def __init__(
        self,
        coefficients: Mapping[Pair, float],
        interventions: Mapping[str, Mapping[Level, Mapping[str, Change]]],
        *,
        target: str = "Y",
        variables: Sequence[str] | None = None,
        intercepts: Mapping[str, float] | None = None,
        noise: Mapping[str, float] | None = None,
        correlated: Mapping[Pair, float] | None = None,
        arms: Iterable[Mapping[str, Level]] | None = None,
    ) -> None:
        named = _named_in({"coefficients": coefficients, "correlated": {} if correlated is None else correlated})
        self.coefficients, self.correlated = dict(coefficients), dict(correlated or {})
        if variables is not None:
            named = (variables,) if isinstance(variables, str) else tuple(variables)
        if target not in named:
            raise WorldError(f"target {brief(target)} is not among the variables {listing(named)}")
        self.variables = (*(name for name in named if name != target), target)
        """The observed variables in the problem's order, then the target."""
        self._places = {name: place for place, name in enumerate(self.variables)}
        self._weights = self._effects(self.coefficients)
        self._correlations = self._symmetric(self.correlated)
        self._parts = parts_in_order(self.graph)
        self._intercepts = self._vector("intercepts", intercepts, 0.0)
        self._noise = self._vector("noise", noise, 1.0, least=0.0)
        self._noise_root = _positive_definite_root(self._correlations)
        self.interventions = self._checked(interventions)
        problem = Problem(
            target,
            dict.fromkeys(self.variables[:-1], float),
            {lever: list(effects) for lever, effects in self.interventions.items()},
            arms=arms,
            targets={lever: self._acted_on(effects) for lever, effects in self.interventions.items()},
            reward=float,
        )
        equations = [self._solved(arm) for arm in problem.arms]
        means = np.array([mean for mean, _ in equations])
        super().__init__(
            problem, gaussian_sampler(means, np.array([root for _, root in equations])), means[:, -1].copy()
        )

    # Checking

    def _place(self, name: str) -> int:
        if name not in self._places:
            raise UnknownVariableError(f"{name!r} is not a variable; expected one of {listing(self.variables)}")
        return self._places[name]

    def _effects(self, given: Mapping[Pair, float]) -> Floats:
        """(effect, cause)."""
        matrix = np.zeros((len(self.variables), len(self.variables)))
        for (cause, effect), value in given.items():
            at = self._place(effect), self._place(cause)
            matrix[at] = finite_number(f"the coefficient {brief(cause)} -> {brief(effect)}", value)
            if cause == effect:
                raise WorldError(
                    f"{brief(cause)} has a coefficient on itself; a cycle goes through two variables or more"
                )
        return matrix

    def _symmetric(self, given: Mapping[Pair, float]) -> Floats:
        matrix = np.eye(len(self.variables))
        for (one, other), value in given.items():
            at = self._place(one), self._place(other)
            rho = finite_number(f"the correlation of {one!r} and {other!r}", value)
            if one == other:
                raise WorldError(f"correlated names {one!r} with itself; name two variables")
            if (other, one) in given:
                raise WorldError(f"correlated names {one!r} and {other!r} twice, in both orders; name them once")
            matrix[at] = matrix[at[::-1]] = rho
        return matrix

    def _vector(self, what: str, given: Mapping[str, float] | None, default: float, least: float = -math.inf) -> Floats:
        vector = np.full(len(self.variables), default)
        for name, value in _mapping(what, {} if given is None else given).items():
            vector[self._place(name)] = finite_number(f"{what}[{name!r}]", value, least)
        return vector

    @cached_property
    def graph(self) -> MixedGraph:
        """Directed edges for coefficients, bidirected ones for correlations."""
        names = self.variables
        directed = [(names[cause], names[effect]) for effect, cause in np.argwhere(self._weights)]
        bidirected = [(names[one], names[other]) for one, other in np.argwhere(np.triu(self._correlations, 1))]
        return MixedGraph(names, directed, bidirected)

    def _checked(
        self, interventions: Mapping[str, Mapping[Level, Mapping[str, Change]]]
    ) -> dict[str, dict[Level, dict[str, Change]]]:
        for lever, effects in _mapping("interventions", interventions).items():
            for value, effect in _mapping(f"interventions[{lever!r}]", effects).items():
                for name, change in _mapping(f"interventions[{lever!r}][{brief(value)}]", effect).items():
                    self._place(name)
                    if not isinstance(change, Change):
                        raise WorldError(
                            f"{lever!r} does {brief(change)} to {name!r}; expected shift(), scale(), reweigh() or fix()"
                        )
        return {lever: {value: dict(effect) for value, effect in each.items()} for lever, each in interventions.items()}

    def _acted_on(self, effects: Mapping[Level, Mapping[str, Change]]) -> list[str]:
        touched = {name for effect in effects.values() for name in effect}
        return [name for name in self.variables if name in touched]

    # Arms

    def _changes(self, arm: Arm) -> dict[str, Change]:
        """What an arm does to which variable."""
        changes: dict[str, Change] = {}
        acting: dict[str, str] = {}
        for lever, value in arm.items():
            for name, change in self.interventions[lever][value].items():
                if name in changes:
                    raise WorldError(
                        f"arm {arm}: {acting[name]!r} and {lever!r} both act on {name!r}; list the allowed arms (arms=)"
                    )
                changes[name], acting[name] = change, lever
        return changes

    def _solved(self, arm: Arm) -> tuple[Floats, Floats]:
        """Mean and a root of the covariance under an arm: the equations solved for the variables, parents first.

        So a fixed variable has a variance of exactly 0, which no decomposition of the covariance would promise.
        """
        weights, intercepts, noise = self._weights.copy(), self._intercepts.copy(), self._noise.copy()
        changes = self._changes(arm)
        cut = {name for name, change in changes.items() if change.cuts}
        for name, change in changes.items():
            place = self._places[name]
            if change.cuts:
                weights[place], intercepts[place] = 0.0, 0.0
            weights[place] *= change.weights
            intercepts[place] += change.added
            noise[place] *= change.noise
        mean, root = intercepts, noise[:, None] * self._noise_root
        with np.errstate(over="ignore", invalid="ignore"):
            for part in self._parts:
                free = [place for place in part if self.variables[place] not in cut]
                check_stable(weights, free, self.variables, arm)
                converge(weights, free, mean)
                converge(weights, free, root)
            finite = np.all(np.isfinite(mean)) and np.all(np.isfinite(root @ root.T))
        if not finite:
            raise WorldError(f"the values under {arm} are too large for floating point; lower the coefficients")
        return mean, root

    # The truth

    def mean(self, arm: Arm | Mapping[str, Level]) -> Floats:
        """Exact mean of every variable (the observed ones in the problem's order, then the target) under an arm."""
        mean: Floats = self.sampler.means[self.problem.index(arm)].copy()
        return mean

    def covariance(self, arm: Arm | Mapping[str, Level]) -> Floats:
        """Exact covariance of the variables, in the same order, under an arm."""
        root = self.sampler.roots[self.problem.index(arm)]
        covariance: Floats = root @ root.T
        return covariance


def _named_in(given: Mapping[str, Mapping[Pair, float]]) -> tuple[str, ...]:
    """The variables that pairs name, in order of appearance."""
    named: dict[str, None] = {}
    for what, pairs in given.items():
        for pair in _mapping(what, pairs):
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise WorldError(f"{what} names {brief(pair)}; expected a pair of variables such as ('A', 'Y')")
            named.update(dict.fromkeys(pair))
    return tuple(named)


def _positive_definite_root(correlations: Floats) -> Floats:
    try:
        return np.linalg.cholesky(correlations).astype(np.float64)
    except np.linalg.LinAlgError:
        raise WorldError(
            "the noise correlations are inconsistent (the matrix is not positive definite); use smaller ones"
        ) from None


MOST_FEEDBACK = 0.7
"""The spectral radius that cycles are scaled down to."""


@validated
def random_linear_world(
    graph: MixedGraph, *, target: str = "Y", seed: int | np.random.SeedSequence | np.random.Generator | None = None
) -> LinearGaussianSCM:
    """A linear Gaussian world on a graph, with a shift up or down by 1 on every variable but the target.

    Coefficients are uniform in [0.5, 1.5] with a random sign, noises have standard deviation 1. Bidirected edges
    are correlations of 0.5 with random signs, all of them smaller where no matrix has these. Coefficients within a
    strongly connected component are smaller where its spectral radius would be above 0.7.

    Args:
        graph: Graph over the variables and the target.
        target: Name of the reward.
        seed: Seed or Generator of the coefficients and signs.

    >>> graph = MixedGraph(["A", "B", "Y"], directed=[("A", "B"), ("B", "Y")], bidirected=[("A", "Y")])
    >>> world = random_linear_world(graph, seed=0)
    >>> len(world.problem.arms), world.graph == graph
    (9, True)
    """
    if target not in graph.nodes:
        raise WorldError(f"target {brief(target)} is not a node of the graph; its nodes are {listing(graph.nodes)}")
    rng = generator(seed)
    sizes = rng.uniform(0.5, 1.5, size=len(graph.directed)) * rng.choice([-1.0, 1.0], size=len(graph.directed))
    sizes = _stable(graph, sizes)
    signs = rng.choice([-1.0, 1.0], size=len(graph.bidirected))
    adjacency = np.zeros((len(graph.nodes), len(graph.nodes)))
    for (one, other), sign in zip(graph.bidirected, signs, strict=True):
        at = graph.nodes.index(one), graph.nodes.index(other)
        adjacency[at] = adjacency[at[::-1]] = sign
    least = np.linalg.eigvalsh(adjacency)[0]
    rho = 0.5 if least > -1.8 else -0.9 / least  # no eigenvalue of 1 + rho * adjacency is below 0.1
    return LinearGaussianSCM(
        dict(zip(graph.directed, sizes.tolist(), strict=True)),
        {
            f"I_{name}": {IDLE: {}, "up": {name: shift(1.0)}, "down": {name: shift(-1.0)}}
            for name in graph.nodes
            if name != target
        },
        target=target,
        variables=graph.nodes,
        correlated=dict(zip(graph.bidirected, (rho * signs).tolist(), strict=True)),
    )


def _stable(graph: MixedGraph, sizes: Floats) -> Floats:
    """The coefficients, smaller where they feed back too much."""
    tails, heads = (np.array([graph.nodes.index(edge[end]) for edge in graph.directed], dtype=int) for end in (0, 1))
    weights = np.zeros((len(graph.nodes), len(graph.nodes)))
    weights[heads, tails] = sizes
    for part in parts_in_order(graph):
        inner = np.isin(tails, part) & np.isin(heads, part)
        sizes[inner] *= MOST_FEEDBACK / max(feedback(weights, part), MOST_FEEDBACK)
    return sizes
