"""What comparators that count share: cells of one set, estimates from them, and checks of what they are given."""

import inspect
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.compiled import Bools, Floats, Ints
from ...core.data import Rows, TableLayout
from ...core.discovery.tiers import Tier
from ...core.graphs import MixedGraph, plain_graph
from ...core.policies.base import Policy
from ...core.policies.posterior import Posterior, Source, beta_sizes, sampler_of
from ...core.policies.protocol import learn_many
from ...core.problem import Problem
from ...core.seeds import Seed
from ...core.validation import are_names
from ...errors import OptionError, ProblemError, UnknownVariableError, brief, listing
from .counts import Counts, empty_counts, moments_of_arms, own_rows

MOST_COUNTS = 2**24
"""Arms times cells times two: 128 MB."""


NEVER = 2**62
S = TypeVar("S")


class WithoutSets(Policy[S]):
    """A policy that looks at no sets; the base of those that share in other ways."""

    layout: TableLayout

    def _make_layout(self, problem: Problem) -> TableLayout:
        return TableLayout.of(problem, 0)

    def options(self) -> dict[str, Any]:
        """The options of this policy as plain values for JSON: of each parameter the attribute of that name."""
        names = [name for name in inspect.signature(type(self)).parameters if name not in ("problem", "seed")]
        found: dict[str, Any] = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if "separating" in found:
            found["separating"] = list(found["separating"])
        if "graph" in found:
            found["graph"] = plain_graph(found["graph"])
        return found

    def _beta_posterior(
        self, state: S, means: Floats, variances: Floats, own: Ints, through: tuple[str, ...] | None = None
    ) -> Posterior:
        """The posterior with the moments of Beta distributions.

        Beta(1 + ones, 1 + zeros) is that of ones + zeros rows.
        """
        sizes = beta_sizes(means, variances) - 2
        sources = [Source(rows, size, through) for rows, size in zip(own.tolist(), sizes.tolist(), strict=True)]
        return Posterior(self.rows, means, sources, sampler_of(state, len(means)))


class RewardsAlone(WithoutSets[S]):
    """A policy that ignores observed variables, so that a row counts without any."""

    tier = Tier.REWARDS

    @property
    def needed(self) -> tuple[str, ...]:
        """A row counts without any observed variable."""
        return ()

    def _fill(self, before: Rows, after: Rows) -> None:
        """Observed variables are ignored."""


class CountingPolicy(WithoutSets[Any]):
    """A learner that counts rewards. A subclass names its state and what it is given, and may plan ahead.

    A plan is some pulls that come before the rule, and what to do once they are made: a fold over the rows.
    """

    compares = "its upper confidence bound"
    plays_all_arms: ClassVar[bool] = False
    """Whether its plan cannot do without some of the arms."""
    without_comparing = "arms were not compared: this pull was planned, or drawn at random"
    separating: tuple[str, ...] = ()
    """The variables of the set Z whose cells are counted; a constructor may name some before it calls this one."""

    def __init__(self, problem: Problem, *, seed: Seed = None) -> None:
        self._strides, self._cells = _strides(problem, self.separating)
        super().__init__(problem, seed)

    # The counts

    @abstractmethod
    def _start(self, counts: Counts) -> Any:
        """The state to begin with."""

    def _plan(self, state: Any) -> Any:
        """The state to continue with, once the planned pulls are made."""
        return state

    def _explore_up_to(self, state: S, rows: int) -> S:
        """Plan pulls until every arm has this many own rows."""
        return self._explore(state, np.maximum(rows - own_rows(_counts_of(state)), 0))

    @property
    def needed(self) -> tuple[str, ...]:
        """The variables of the set whose cells are counted."""
        return self.separating

    def _fill(self, before: Rows, after: Rows) -> None:
        """Variables outside of the set only say which other arms a row is credited to."""
        if self._state.counts.donors.any():
            self._recount()

    def _shares(self, state: Any) -> bool:
        """Whether arms are estimated through the set."""
        return False

    def _posterior(self, state: Any) -> Posterior:
        means, variances = moments_of_arms(state).T
        through = self.separating if self._shares(state) else None
        return self._beta_posterior(state, means, variances, own_rows(state.counts), through)

    # What it plans with

    def _explore(self, state: S, pulls: ArrayLike) -> S:
        """Plan pulls of each arm; `_plan` is asked again when they are made."""
        counts = _counts_of(state)
        counts.quota[:] = pulls
        counts.planned[0] = counts.quota.sum()
        self._plan_at = self._counted + int(counts.planned[0])
        return state

    def _settle(self, state: S, allowed: ArrayLike) -> S:
        """Choose among some arms from now on."""
        self._plan_at = NEVER
        _counts_of(state).allowed[:] = allowed
        return state

    # The fold

    def _empty(self) -> Any:
        self._counted, self._plan_at = 0, NEVER
        return self._start(empty_counts(len(self.problem.arms), self._strides, self._cells))

    def _count(self, rows: Rows) -> None:
        done = 0
        while done < len(rows.arms):
            part = slice(done, min(len(rows.arms), done + self._plan_at - self._counted))
            learn_many(self._state, rows.arms[part], rows.codes[part], rows.rewards[part])
            done = part.stop
            self._advance(part.stop - part.start)

    def remember(self, rows: Rows) -> None:
        """Store rows that a rollout has already counted in the state, and plan on."""
        super().remember(rows)
        self._advance(len(rows.arms))

    def _advance(self, count: int) -> None:
        self._counted += count
        while self._counted >= self._plan_at:
            left = int(self._state.counts.planned[0])
            if left:  # other arms were told in between
                self._plan_at = self._counted + left
            else:
                self._state = self._plan(self._state)

    @property
    def rounds_to_refresh(self) -> int:
        """How many rows may come before the plan changes."""
        return min(super().rounds_to_refresh, self._plan_at - self._counted)

    @property
    def rolls_out(self) -> bool:
        """Its state is a copy while some arms are left out, and a rollout would change the copy only."""
        return bool(self.allowed.all())

    def _fit(self, *, pending: bool) -> Any:
        """All arms have a posterior, also those that are no longer played."""
        counts = self._state.counts
        return self._state._replace(counts=counts._replace(allowed=np.ones_like(counts.allowed)))

    def _recommendable(self, asked: Bools) -> Bools:
        """Those that it still plays."""
        return self._among(self._state, asked).counts.allowed  # type: ignore[no-any-return]

    def _among(self, state: Any, allowed: NDArray[np.bool_]) -> Any:
        if allowed.all():
            return state
        plans = type(self)._plan is not CountingPolicy._plan
        if self.plays_all_arms or (plans and self.problem.segments):
            raise OptionError(f"{self.name} follows a plan over all arms and cannot be restricted to some; use another")
        counts = state.counts
        both, quota = counts.allowed & allowed, np.where(allowed, counts.quota, 0)
        planned = np.array([quota.sum()])  # planned pulls of other arms wait until these are allowed again
        left = counts._replace(allowed=both if both.any() else allowed.copy(), quota=quota, planned=planned)
        return state._replace(counts=left)

    # Saving

    @classmethod
    def from_options(cls, problem: Problem, options: dict[str, Any]) -> Self:
        """A fresh policy from what `options` gave."""
        told = {"graph": MixedGraph(**options["graph"])} if "graph" in options else {}
        return cls(problem, **{**options, **told})


def _counts_of(state: Any) -> Counts:
    found: Counts = state.counts
    return found


def _strides(problem: Problem, names: tuple[str, ...]) -> tuple[Ints, int]:
    """How the cell of a row is found: the last named variable runs fastest, as in an array with an axis per name."""
    check_set(problem, names)
    strides = np.zeros(len(problem.observed), dtype=np.int64)
    cells = 1
    for name in reversed(names):
        place = problem.observed_names.index(name)
        strides[place] = cells
        cells *= problem.observed[place].size
    if len(problem.arms) * cells * 2 > MOST_COUNTS:
        raise ProblemError(
            f"{len(problem.arms)} arms times {cells} joint values of {list(names)} are too many to count; name fewer"
        )
    return strides, cells


def check_set(problem: Problem, names: tuple[str, ...]) -> None:
    """Validate a set of observed variables."""
    for name in names:
        if name not in problem.observed_names:
            known = listing(problem.observed_names)
            raise UnknownVariableError(f"{brief(name)} is not an observed variable; expected some of {known}")
    if len(set(names)) < len(names):
        raise OptionError(f"the set {list(names)} names a variable twice")


def checked_chances(problem: Problem, names: tuple[str, ...], given: ArrayLike) -> Floats:
    """P(Z | arm) as a table of shape (arms, cells); given with an axis for the arm and one per name, or flat."""
    check_set(problem, names)
    sizes = [problem.observed[problem.observed_names.index(name)].size for name in names]
    shape = (len(problem.arms), *sizes)
    try:
        chances = np.asarray(given, dtype=np.float64)
    except (ArithmeticError, MemoryError, RecursionError, TypeError, ValueError):
        chances = np.empty(0)
    if chances.shape not in (shape, (shape[0], int(np.prod(sizes)))):
        raise OptionError(f"chances has shape {chances.shape}; expected {shape}: P(Z | arm), an axis per variable of Z")
    flat = chances.reshape(shape[0], -1)
    if not np.all(flat >= 0) or not np.allclose(flat.sum(axis=1), 1):
        raise OptionError("chances holds rows that are not probabilities; each arm's must be at least 0 and sum to 1")
    return flat.copy()


def numbers_told(name: str, values: Any) -> NDArray[np.float64]:
    """Numbers that a policy is given of its world."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (ArithmeticError, MemoryError, RecursionError, TypeError, ValueError):
        raise OptionError(f"{name} is {brief(values)}; expected probabilities") from None


def set_names(names: str | Iterable[str]) -> tuple[str, ...]:
    """The variables of a given set; one name may stand for itself."""
    if not isinstance(names, str) and not are_names(names):
        raise OptionError(f"separating={brief(names)}; expected a list of names")
    return (names,) if isinstance(names, str) else tuple(names)


def checked_number(name: str, value: object, *, below: float = np.inf) -> float:
    """An option that must be a positive number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < below:
        limit = "" if below == np.inf else f" below {below:g}"
        raise OptionError(f"{name}={brief(value)}; expected a positive number{limit}")
    return float(value)
