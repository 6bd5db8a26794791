"""Discrete structural causal models with shared noise, perfect and soft interventions (sec. 2.1)."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ...core.compiled import Floats
from ...core.graphs import MixedGraph
from ...core.problem import Arm, Level, Levels, Problem, Variable
from ...core.problem.variables import declare
from ...errors import UnknownVariableError, WorldError, brief, listing
from .equilibria import Cycles, without_cycles
from .mechanisms import Effect, Factors, Mechanism, Nudge
from .world import DiscreteWorld, GraphWorld

ENUMERABLE = 10
"""Up to this many nodes going through all joint values is faster than planning."""

MOST_NODES = 52
"""The letters that einsum has for axes."""


class DiscreteSCM(GraphWorld, DiscreteWorld):
    """A discrete structural causal model with observed variables, and the arms of its levers.

    Mechanisms may form cycles. A table is then read as a structural equation: each variable has its own uniform noise,
    which selects a level by the cumulative probabilities given the levels of its parents. The observed values solve all
    equations together. `means` are exact, since every value of the noise is enumerated. With cycles, sets separate by
    sigma-separation, which `graphs.separated` then uses; d-separation is not valid there.

    Args:
        variables: Name -> number of levels or their names.
        mechanisms: Name -> `Mechanism`, one per variable.
        interventions: Lever -> value -> effect (variable -> level, `Mechanism` or nudge); the first value is the
            control's. Two levers may act on the same variable only by nudges, which add up.
        target: Name of the reward.
        noise: Exogenous variables that several mechanisms may share (confounding): name -> probabilities.
        arms: Arms that can be pulled; all combinations by default.
        cycles: How variables on a cycle get their values. ``"unique"``: from the only solution of their equations; a
            world in which some noise has none or several is rejected. ``"iterate"``: from the fixed point that
            synchronous updates reach from `start` with the noise held, one strongly connected component after the
            other, parents first; a world in which some noise never converges is rejected.
        start: Levels from which the updates of ``cycles="iterate"`` start; the first level by default.

    >>> from causal_bandits.research.worlds import perfect
    >>> scm = DiscreteSCM(
    ...     variables={"A": 2, "Y": 2}, target="Y", noise={"U": [0.5, 0.5]},
    ...     mechanisms={"A": Mechanism(["U"], lambda u: [0.8, 0.2] if u else [0.2, 0.8]),
    ...                 "Y": Mechanism(["A", "U"], lambda a, u: [0.5, 0.5] if a == u else [0.9, 0.1])},
    ...     interventions={"I_A": perfect("A")})
    >>> scm.means.round(2).tolist(), scm.graph
    ([0.18, 0.3, 0.3], MixedGraph(A -> Y, A <-> Y))
    >>> follow = [[0.8, 0.2], [0.2, 0.8]]
    >>> loop = {"A": Mechanism(["B"], follow), "B": Mechanism(["A"], follow), "Y": Mechanism(["B"], follow)}
    >>> scm = DiscreteSCM(dict.fromkeys("ABY", 2), loop, {"I_A": perfect("A")}, cycles="iterate")
    >>> scm.distribution({}, ["A", "B"]).round(2).tolist(), scm.graph
    ([[0.64, 0.04], [0.04, 0.28]], MixedGraph(A -> B, B -> A, B -> Y))
    """

    def __init__(
        self,
        variables: Mapping[str, Levels],
        mechanisms: Mapping[str, Mechanism],
        interventions: Mapping[str, Mapping[Level, Effect]],
        *,
        target: str = "Y",
        noise: Mapping[str, Sequence[float]] | None = None,
        arms: Iterable[Mapping[str, Level]] | None = None,
        cycles: Cycles = "unique",
        start: Mapping[str, Level] | None = None,
    ) -> None:
        _check_mappings(variables, mechanisms, interventions, {} if noise is None else noise)
        self.variables = {name: declare(name, levels) for name, levels in variables.items()}
        self.noise = {name: _numbers(name, chances) for name, chances in (noise or {}).items()}
        self.mechanisms = dict(mechanisms)
        _check_effects(interventions)
        self.interventions = {name: dict(effects) for name, effects in interventions.items()}
        self._check(target)
        self.cycles, self.start = cycles, self._started(cycles, start)
        problem = Problem(
            target,
            {name: variable.levels for name, variable in self.variables.items() if name != target},
            {name: list(effects) for name, effects in self.interventions.items()},
            arms=arms,
            targets={name: self._acted_on(effects) for name, effects in self.interventions.items()},
        )
        self._nodes = [declare(name, len(chances)) for name, chances in self.noise.items()]
        self._nodes += self.variables.values()
        self._places = {node.name: place for place, node in enumerate(self._nodes)}
        self._factors = Factors(self._nodes, self._places)
        self._nudges: dict[tuple[str, float], Mechanism] = {}
        for name, chances in self.noise.items():
            self._factors.number(name, Mechanism((), chances))
        self._arms = [self._factors_of(arm) for arm in problem.arms]
        self._break_cycles(problem)
        observed = np.array([self._places[name] for name in problem.observed_names], dtype=np.int64)
        sampler = self._factors.sampler(np.array(self._orders()), np.array(self._arms), observed, self._places[target])
        super().__init__(problem, sampler, np.array([self._marginal(chosen, [target])[1] for chosen in self._arms]))

    # Checking

    def _check(self, target: str) -> None:
        if not isinstance(target, str) or target not in self.variables:
            raise WorldError(f"target {brief(target)} is not among the variables {listing(self.variables)}")
        if self.variables[target].levels != (0, 1):
            raise WorldError(
                f"target {target!r} has levels {self.variables[target].levels}; expected 2, that is (0, 1)"
            )
        both = sorted(set(self.variables) & set(self.noise))
        if both:
            raise WorldError(f"{listing(both)} names both a variable and a noise; rename one")
        for name, chances in self.noise.items():
            if chances.ndim != 1 or len(chances) < 2 or np.any(chances < 0) or not np.isclose(chances.sum(), 1):
                raise WorldError(f"noise {name!r} is {chances.tolist()}; expected probabilities that sum to 1")
        missing = [name for name in self.variables if name not in self.mechanisms]
        if missing:
            raise WorldError(f"no mechanism for {listing(missing)}; every variable needs one")
        for name in self.mechanisms:
            self._known(name)
        if len(self.variables) + len(self.noise) > MOST_NODES:
            raise WorldError(
                f"{len(self.variables)} variables and {len(self.noise)} noises; at most {MOST_NODES} together"
            )

    def _started(self, cycles: object, start: Mapping[str, Level] | None) -> dict[str, Level] | None:
        """The start of updates, checked."""
        if cycles not in get_args(Cycles):
            raise WorldError(f"cycles={brief(cycles)}; expected one of {', '.join(get_args(Cycles))}")
        if start is None:
            return None
        if cycles != "iterate":
            raise WorldError("start is where updates begin; pass cycles='iterate' with it")
        if not isinstance(start, Mapping):
            raise WorldError(f"start is {brief(start)}; expected a mapping from variables to levels")
        for name, level in start.items():
            self._known(name).code(level)
        return dict(start)

    def _known(self, name: str) -> Variable:
        if name not in self.variables:
            raise UnknownVariableError(f"{name!r} is not a variable; expected one of {listing(self.variables)}")
        return self.variables[name]

    def _acted_on(self, effects: Mapping[Level, Effect]) -> list[str]:
        touched = {name for effect in effects.values() for name in effect}
        for name in sorted(touched):
            self._known(name)
        return [name for name in self.variables if name in touched]

    # Arms

    def _factors_of(self, arm: Arm) -> list[int]:
        """The number of the mechanism that sets each node under an arm."""
        chosen: dict[str, Mechanism | Level] = dict(self.mechanisms)
        set_by: dict[str, str] = {}
        nudges: dict[str, float] = {}
        for lever, value in arm.items():
            for name, effect in self.interventions[lever][value].items():
                if name in set_by and not (name in nudges and isinstance(effect, Nudge)):
                    raise WorldError(
                        f"arm {arm}: {set_by[name]!r} and {lever!r} both act on {name!r}; list the allowed arms (arms=)"
                    )
                set_by[name] = lever
                if isinstance(effect, Nudge):
                    nudges[name] = nudges.get(name, 0.0) + effect.log_odds
                    chosen[name] = self._nudged(name, nudges[name])
                else:
                    chosen[name] = effect
        return [*range(len(self.noise)), *(self._factors.number(name, chosen[name]) for name in self.variables)]

    def _nudged(self, name: str, log_odds: float) -> Mechanism:
        """A variable's own mechanism, nudged; one object for each sum of nudges."""
        if (name, log_odds) not in self._nudges:
            own, places = self.mechanisms[name], self._places
            parents = [self._nodes[places[parent]] for parent in own.parents if parent in places]
            table = own.probabilities(self.variables[name], parents)
            self._nudges[name, log_odds] = Mechanism(own.parents, Nudge(log_odds).apply(table))
        return self._nudges[name, log_odds]

    def _break_cycles(self, problem: Problem) -> None:
        """Put the law of its solution in place of every cycle of mechanisms."""
        if self._factors.graph(range(len(self._factors.tables))).is_acyclic:
            return
        codes = {name: self.variables[name].code(level) for name, level in (self.start or {}).items()}
        self._arms = without_cycles(self._factors, self.cycles, codes, problem.arms, self._arms)

    def _order(self, factors: Iterable[int]) -> list[int]:
        """The nodes, parents first."""
        return [self._places[name] for name in self._factors.graph(factors).topological_order()]

    def _orders(self) -> list[list[int]]:
        """An order of the nodes per arm: one for all where there is one."""
        used = sorted({number for chosen in self._arms for number in chosen})
        if self._factors.graph(used).is_acyclic:
            return [self._order(used)] * len(self._arms)
        return [self._order(chosen) for chosen in self._arms]

    # The truth

    @property
    def graph(self) -> MixedGraph:
        """Directed edges from parents, bidirected ones between variables that share a noise, idle or intervened on.

        The levers are left out: `graph_with_levers` has them.
        """
        parents = {name: self._parents(name) for name in self.variables}
        directed = [(parent, name) for name in self.variables for parent in self.variables if parent in parents[name]]
        bidirected = []
        for noise in self.noise:
            users = [name for name in self.variables if noise in parents[name]]
            bidirected += list(itertools.combinations(users, 2))
        return MixedGraph(list(self.variables), directed=directed, bidirected=bidirected)

    def _parents(self, name: str) -> set[str]:
        """The parents of a variable in its mechanism and in those that interventions put in its place."""
        effects = itertools.chain.from_iterable(values.values() for values in self.interventions.values())
        hows = [self.mechanisms[name], *(effect[name] for effect in effects if name in effect)]
        return {parent for how in hows if isinstance(how, Mechanism) for parent in how.parents}

    def distribution(self, arm: Arm | Mapping[str, Level], variables: Iterable[str] | None = None) -> Floats:
        """Exact P(variables | arm), one axis per variable in the order named; all variables by default."""
        names = list(self.variables) if variables is None else [self._known(name).name for name in variables]
        return self._marginal(self._arms[self.problem.index(arm)], names)

    def _marginal(self, chosen: list[int], names: list[str]) -> Floats:
        """Multiply the mechanisms and sum out the rest; in a large world einsum finds an elimination order first."""
        operands: list[Any] = []
        for node, number in enumerate(chosen):
            operands += [self._factors.tables[number], [*self._factors.parents[number], node]]
        order = "greedy" if len(self._nodes) > ENUMERABLE else False
        result: Floats = np.einsum(*operands, [self._places[name] for name in names], optimize=order)
        return result


def _numbers(name: str, chances: object) -> NDArray[np.float64]:
    try:
        found = np.asarray(chances, dtype=np.float64)
    except (ArithmeticError, MemoryError, RecursionError, TypeError, ValueError):
        raise WorldError(f"noise {brief(name)} is {brief(chances)}; expected probabilities") from None
    return found


def _check_mappings(variables: object, mechanisms: object, interventions: object, noise: object) -> None:
    given = {"variables": variables, "mechanisms": mechanisms, "interventions": interventions, "noise": noise}
    for role, mapping in given.items():
        if not isinstance(mapping, Mapping):
            raise WorldError(f"{role} is {brief(mapping)}; expected a mapping by name")


def _check_effects(interventions: Mapping[str, object]) -> None:
    for name, effects in interventions.items():
        if not isinstance(effects, Mapping) or not all(isinstance(each, Mapping) for each in effects.values()):
            raise WorldError(
                f"{name!r} is {brief(effects)}; expected a mapping such as {{'idle': {{}}, 'on': {{'A': 1}}}}"
            )
