"""Linear Gaussian structural causal models with correlated noises and shift, scale, soft and perfect interventions."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...core.compiled import Floats
from ...core.graphs import MixedGraph
from ...core.problem import Arm, Level, Problem
from ...errors import UnknownVariableError, WorldError, brief, listing
from .changes import Change, finite_number
from .continuous_world import ContinuousWorld
from .feedback import check_stable, converge, parts_in_order
from .real_sampler import gaussian_sampler
from .separations import sets_of_graph

Pair = tuple[str, str]


def _mapping(what: str, given: Any) -> Mapping[Any, Any]:
    if not isinstance(given, Mapping):
        raise WorldError(f"{what} is {brief(given)}; expected a mapping")
    return given


class LinearGaussianSCM(ContinuousWorld):
    """Every variable is a linear function of its parents plus Gaussian noise; all of them are observed.

    Coefficients may form cycles: the variables are then (I - B)^-1 (intercepts + noise), where updates with the noise
    held converge. They do if the spectral radius of B is below 1; a world with an arm in which it is not is rejected.
    Linear equations obey d-separation with cycles, too (Spirtes 1995): more sets separate than sigma-separation says.

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
        self.variables = _target_last(named, target)
        """The observed variables in the problem's order, then the target."""
        self._places = {name: place for place, name in enumerate(self.variables)}
        self._weights = self._effects(self.coefficients)
        self._correlations = self._symmetric(self.correlated)
        self.graph = self._graph()
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

    def _graph(self) -> MixedGraph:
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
                if len(part) > 1:
                    free = [place for place in part if self.variables[place] not in cut]
                    check_stable(weights, free, self.variables, arm)
                    converge(weights, free, mean)
                    converge(weights, free, root)
                else:
                    mean[part[0]] += weights[part[0]] @ mean
                    root[part[0]] += weights[part[0]] @ root
            finite = np.all(np.isfinite(mean)) and np.all(np.isfinite(root @ root.T))
        if not finite:
            raise WorldError(f"the values under {arm} are too large for floating point; lower the coefficients")
        return mean, root

    # The truth

    def mean(self, arm: Arm | Mapping[str, Level]) -> Floats:
        """Exact mean of every variable (the observed ones in the problem's order, then the target) under an arm."""
        mean: Floats = self.sampler.means[self.problem.index(arm)].copy()
        return mean

    def separating_sets(self, *, max_size: int | None = None) -> list[tuple[str, ...]]:
        """Every set of observed variables that separates all levers from the reward, the smallest first.

        By d-separation in the graph with the levers, which is valid in linear worlds with cycles, too.
        """
        return sets_of_graph(self.graph, self.problem, "d", max_size)

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


def _target_last(names: tuple[str, ...], target: str) -> tuple[str, ...]:
    if target not in names:
        raise WorldError(f"target {brief(target)} is not among the variables {listing(names)}")
    return (*(name for name in names if name != target), target)


def _positive_definite_root(correlations: Floats) -> Floats:
    try:
        return np.linalg.cholesky(correlations).astype(np.float64)
    except np.linalg.LinAlgError:
        raise WorldError(
            "the noise correlations are inconsistent (the matrix is not positive definite); use smaller ones"
        ) from None
