"""GA-LCB (Yan and Tajer 2024): linear models with an unknown graph and levers that change equations."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ...core.compiled import Bools, Floats
from ...core.data import ArmMoments, DesignLayout, Rows
from ...core.discovery.tiers import TARGETS, Tier
from ...core.graphs import MixedGraph
from ...core.policies.arms import mechanism_numbers
from ...core.policies.base import Policy, Variant
from ...core.policies.gaussian_thompson import GaussianThompsonSampling
from ...core.policies.posterior import Posterior, Source, sampler_of
from ...core.policies.protocol import learn_many
from ...core.problem import Problem
from ...core.seeds import Seed
from ...errors import whole_number
from ...libraries import special
from .base import checked_horizon, checked_number
from .galcb_beliefs import means_and_variances
from .galcb_rules import KNOWN, LinearModel, LinearState, Pulls, fit_model
from .galcb_structure import candidate_parents, causal_order, chosen_parents, single_levers
from .planning import NEVER, PlanningPolicy

ALPHA, PENALTY, EFFECT, PULLS = 0.1, 0.1, 0.5, 500
"""What the authors' code plays with: T1 = T2 = 500 pulls, thresholds of 0.5 / 2, a Lasso of 0.1, widths of 0.1."""
REACH = 3.0
"""Standard deviations that stand for a bound of a variable."""


class LinearCausalBandit(PlanningPolicy):
    """GA-LCB: every variable is a linear function of its parents, and a lever changes the equation of one variable.

    1. do() and every level of every lever alone are pulled `pulls` times. X causes V if a lever on X moves the mean of
       V by more than `effect` / 2.
    2. From the rows in which no lever acts on V, a Lasso on the variables that may cause V keeps its parents.
    3. Ridge regressions of every variable on its parents, one for each level of its lever, give the mean of the reward
       under every arm, also of arms never pulled, and a width: at V the sum of the widths of the parents, plus
       alpha |mu|_(G^-1), plus alpha m / sqrt(smallest eigenvalue of G), with mu the means of the parents, m a bound
       of them, and G their cross-products with a penalty of 1.
    4. While no arm is wider than m / 2^s, arms whose upper bound is 2 m / 2^s below the highest are dropped and s
       grows. Any of the wider arms is pulled; once all are narrower than m / sqrt(T), the one with the highest bound.

    A lever that shifts a mean is the special case in which only the intercept of the equation differs.

    Of the paper we had the abstract and the code of the authors, which has the widths, thresholds and numbers of pulls;
    the sample sizes of its theorems, and its plots, could not be checked. Decided here, with the reason:
    Deviation: the code is given the means of all noises; here each equation has an intercept, which is learned, so that
        mu and G are around the means of the equation's rows. Its penalty is 1 for four layers (as here), m^2 for two.
    Deviation: bounds m are three standard deviations of the rows explored, as nobody tells them.
    Deviation: the Lasso is of standardized variables, since theirs fits uncentred ones; its rows are those in which no
        lever acts on the variable, where theirs has all rows.
    Deviation: a variable without a lever may have parents too, and where findings contradict each other the variable
        with fewer causes comes first (the code stops).

    Args:
        problem: What is played; all variables are real-valued, `targets` must say which one variable each lever acts
            on, the reward perhaps, and do() and every single lever must be among the arms.
        horizon: Number of rounds that will be played.
        pulls: Pulls of do() and of every level of a lever while exploring (T1).
        observe: Pulls of do() among them, if more (T2).
        effect: The smallest effect of a lever on the mean of whatever its variable causes.
        penalty: Weight of the Lasso.
        alpha: Factor of the widths.
        seed: Seed or Generator of its draws.

    >>> targets = {"I": "A", "J": "Y"}
    >>> problem = Problem("Y", {"A": float}, {"I": ["none", "on"], "J": ["none", "on"]}, targets=targets, reward=float)
    >>> policy = LinearCausalBandit(problem, horizon=100, pulls=4, seed=0)
    >>> for i, j in (("none", "none"), ("on", "none"), ("none", "on")):
    ...     for a in (0.0, 1.0, 2.0, 3.0):
    ...         moved = a + 2 * (i == "on")
    ...         policy.tell({"I": i, "J": j}, {"A": moved, "Y": moved * (2 if j == "on" else 1)})
    >>> policy.graph(), policy.recommend().arm  # never pulled
    (MixedGraph(A -> Y), do(I=on, J=on))
    """

    name = "ga-lcb"
    tier = Tier.OBSERVED
    hints = f"{TARGETS}, that equations are linear without hidden common causes, the smallest effect, the horizon"
    needs: ClassVar[tuple[str, ...]] = ("horizon",)
    assumes: ClassVar[tuple[str, ...]] = ("linear", "unconfounded")
    variants: ClassVar[Mapping[str, Variant]] = {"ga-lcb-50": Variant({"pulls": 50})}
    numbers = float
    compares = "its upper confidence bound"
    plays_all_arms = True
    fewest_rows = 2
    layout: DesignLayout

    def __init__(
        self,
        problem: Problem,
        *,
        horizon: int,
        pulls: int = PULLS,
        observe: int | None = None,
        effect: float = EFFECT,
        penalty: float = PENALTY,
        alpha: float = ALPHA,
        seed: Seed = None,
    ) -> None:
        self._horizon, self._pulls = checked_horizon(horizon), whole_number("pulls", pulls, 2)
        self._observe = self._pulls if observe is None else max(whole_number("observe", observe, 2), self._pulls)
        told = {"effect": effect, "penalty": penalty, "alpha": alpha}
        checked = {name: checked_number(name, value) for name, value in told.items()}
        self._effect, self._penalty, self._alpha = checked["effect"], checked["penalty"], checked["alpha"]
        self._told = {"horizon": self._horizon, "pulls": self._pulls, "observe": self._observe, **checked}
        if self._pulls != PULLS:
            self.hints += f"; {self._pulls} pulls of each lever is a heuristic (the authors': {PULLS})"
        self._alone, self._acted_on = single_levers(problem, self.name)
        self._before = GaussianThompsonSampling(problem)
        super().__init__(problem, seed)

    def _make_layout(self, problem: Problem) -> DesignLayout:
        return DesignLayout.of(problem, 0)

    # The plan

    def _first_state(self) -> LinearState:
        acting = mechanism_numbers(self.problem)
        levels = acting.max(axis=0) + 1
        starts = np.cumsum(levels) - levels
        arms, size, count = len(acting), len(levels), int(levels.sum())
        model = LinearModel(
            equations=acting + starts,
            variable=np.repeat(np.arange(size), levels),
            order=np.arange(size),
            parents=np.zeros((size, size), dtype=np.int64),
            sizes=np.zeros(size, dtype=np.int64),
            reach=np.zeros(size),
            bound=np.zeros(1),
            slopes=np.zeros((count, size)),
            inverse=np.zeros((count, size, size)),
            least=np.ones(count),
        )
        pulls = Pulls(np.ones(arms, dtype=np.bool_), np.zeros(arms, dtype=np.int64), np.zeros(1, dtype=np.int64))
        state = LinearState(
            pulls,
            _nothing(arms, size),
            _nothing(count, size),
            model,
            np.array([0, 1, 0]),
            np.zeros(arms),
            np.zeros(arms),
            self._alpha,
            self._horizon,
        )
        quota = np.zeros(arms, dtype=np.int64)
        quota[self._alone], quota[self._alone[0]] = self._pulls, self._observe
        return self._explore(state, quota)

    def _plan(self, state: LinearState) -> LinearState:
        """What causes what, once the single levers were pulled."""
        self._plan_at = NEVER
        model, moved = state.model, self._moved(state.own)
        model.order[:] = causal_order(moved)
        idle = model.equations[self._alone[0]]
        for place, candidates in enumerate(candidate_parents(moved, model.order)):
            scatter = state.pooled.scatter[idle[place]]
            parents = chosen_parents(scatter, place, candidates, self._penalty)
            model.sizes[place], model.parents[place, : len(parents)] = len(parents), parents
        variances = _variances(state.own)
        for place in range(len(idle)):
            model.reach[place] = REACH * math.sqrt(variances[model.parents[place, : model.sizes[place]]].sum())
        model.bound[0] = REACH * math.sqrt(variances[-1])
        fit_model(state)
        return state

    def _moved(self, own: ArmMoments) -> Bools:
        """(variables, variables): whether some level of a lever on the one moved the mean of the other."""
        found = np.zeros((own.means.shape[1], own.means.shape[1]), dtype=np.bool_)
        for arm, place in zip(self._alone[1:], self._acted_on, strict=True):
            found[place] |= np.abs(own.means[arm] - own.means[self._alone[0]]) > self._effect / 2
        np.fill_diagonal(found, val=False)
        found[-1] = False  # nothing is caused by the reward
        return found

    def _learn(self, rows: Rows, part: slice) -> None:
        learn_many(self._state, rows.arms[part], self.layout.design(rows)[part], rows.rewards[part])

    # Reading

    def graph(self) -> MixedGraph:
        """The parents that were found; none while it explores."""
        names, model = (*self.problem.observed_names, self.problem.target), self._state.model
        arrows = [
            (names[parent], names[place])
            for place in range(len(names))
            for parent in model.parents[place, : model.sizes[place]]
        ]
        return MixedGraph(names, arrows)

    def _own(self, state: LinearState) -> Any:
        """While it explores: what the rows of each arm say."""
        return self._before._empty()._replace(moments=state.own)

    def _recommendable(self, asked: Bools) -> Bools:
        return super()._recommendable(asked) if self._state.stage[KNOWN] else Policy._recommendable(self, asked)

    def _posterior(self, state: LinearState) -> Posterior:
        """While it explores Student's t from own rows, then the model's mean with its error to first order."""
        if not state.stage[KNOWN]:
            return replace(self._before._posterior(self._own(state)), rows=self.rows)
        model, names, sources = state.model, self.problem.observed_names, []
        through = tuple(names[place] for place in model.parents[-1, : model.sizes[-1]])
        means, variances = means_and_variances(state).T
        for number, variance in enumerate(variances.tolist()):
            equation, own = model.equations[number, -1], int(state.own.counts[number])
            used = int(state.pooled.counts[equation])
            single = float(state.pooled.scatter[equation, -1, -1]) / max(used - 1, 1)
            sources.append(Source(own, single / variance if variance > 0 else float(used), through, used))

        def limits(level: float) -> tuple[Floats, Floats]:
            reach = float(special.ndtri((1 + level) / 2)) * np.sqrt(variances)
            return means - reach, means + reach

        return Posterior(self.rows, means, sources, sampler_of(state, len(means)), limits)

    def options(self) -> dict[str, Any]:
        """The options of this policy as plain values for JSON."""
        return dict(self._told)


def _nothing(count: int, width: int) -> ArmMoments:
    return ArmMoments(np.zeros(count, dtype=np.int64), np.zeros((count, width)), np.zeros((count, width, width)))


def _variances(own: ArmMoments) -> Floats:
    """(variables,): over all rows."""
    rows = own.counts.sum()
    mean = own.counts @ own.means / rows
    within = np.diagonal(own.scatter, axis1=1, axis2=2).sum(axis=0)
    found: Floats = (within + own.counts @ (own.means - mean) ** 2) / rows
    return found
