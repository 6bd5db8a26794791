"""What all comparators share: a tally, one compiled rule, and plans that change at certain rows."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from ...compiled import Floats, Ints
from ...data import Rows, TableLayout
from ...discovery import Findings
from ...doors import are_names
from ...errors import ObservationError, OptionError, ProblemError, UnknownVariableError, brief, listing, whole_number
from ...problem import Problem
from ...seeds import Seed
from ..base import Policy
from ..estimates import ArmEstimate, Estimates, Recommendation, enough_draws
from .rules import choose_tally_many, count_tally_wins
from .tally import FALLEN, PLANNED, Tally, empty_tally, learn_tally_rows, tally_moments

NEVER = 2**62
MOST_COUNTS = 2**24
"""Arms times cells times two: 128 MB."""


class TallyPolicy(Policy[Tally]):
    """A learner that keeps a tally. A subclass names its rule and what it is told, and may plan ahead."""

    layout: TableLayout
    rule: int
    plays_all_arms: ClassVar[bool] = False
    """Whether its plan cannot do without some of the arms."""
    most_mixtures = 0
    """How many mixtures of arms its rule may come to play."""

    def __init__(
        self,
        problem: Problem,
        *,
        seed: Seed,
        numbers: Sequence[float] = (),
        through: Sequence[str] = (),
        chances: ArrayLike | None = None,
        settings: Ints | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        if isinstance(problem, Problem):
            self.layout = TableLayout.of(problem, 0)
            self._through = problem.observed_names if through == ALL else tuple(through)
            self._strides, self._cells = _strides(problem, self._through)
            none = np.empty((len(problem.arms), 0))
            self._chances = none if chances is None else checked_chances(problem, self._through, chances)
        self._numbers = np.array(numbers, dtype=np.float64)
        self._settings = np.empty((0, 0), dtype=np.int64) if settings is None else settings
        self._options = options or {}
        super().__init__(problem, seed)

    # What a subclass with a plan says

    def _start(self, tally: Tally) -> Tally:
        """The tally to begin with."""
        return tally

    def _plan(self, tally: Tally) -> Tally:
        """The tally to go on with, once the planned pulls are made."""
        return tally

    def _explore(self, tally: Tally, pulls: ArrayLike) -> Tally:
        """Plan pulls of each arm; `_plan` is asked again when they are made."""
        tally.quota[:] = pulls
        tally.flags[PLANNED] = tally.quota.sum()
        self._plan_at = self._counted + int(tally.flags[PLANNED])
        return tally

    def _explore_up_to(self, tally: Tally, rows: int) -> Tally:
        """Plan pulls until every arm has so many rows of its own."""
        return self._explore(tally, np.maximum(rows - tally.seen.sum(axis=(1, 2)), 0))

    def _settle(self, tally: Tally, allowed: ArrayLike, rule: int | None = None) -> Tally:
        """Choose among some arms from now on."""
        self._plan_at = NEVER
        tally.allowed[:] = allowed
        return tally if rule is None else tally._replace(rule=rule)

    # The tally

    def _empty(self) -> Tally:
        self._counted, self._plan_at = 0, NEVER
        arms = len(self.problem.arms)
        return self._start(
            empty_tally(
                arms,
                self._strides,
                self._cells,
                rule=self.rule,
                numbers=self._numbers,
                chances=self._chances,
                settings=self._settings,
                mixtures=self.most_mixtures,
            )
        )

    def _count(self, rows: Rows) -> None:
        done = 0
        while done < len(rows.arms):
            part = slice(done, min(len(rows.arms), done + self._plan_at - self._counted))
            learn_tally_rows(self._state, rows.arms[part], rows.codes[part], rows.rewards[part])
            done = part.stop
            self._advance(part.stop - part.start)

    def remember(self, rows: Rows) -> None:
        """Store rows that a rollout has already counted in the state, and plan on."""
        super().remember(rows)
        self._advance(len(rows.arms))

    def _advance(self, count: int) -> None:
        self._counted += count
        while self._counted >= self._plan_at:
            left = int(self._state.flags[PLANNED])
            if left:  # other arms were told in between
                self._plan_at = self._counted + left
            else:
                self._state = self._plan(self._state)

    @property
    def rounds_to_refresh(self) -> int:
        """How many rows may come before the plan changes."""
        return min(super().rounds_to_refresh, self._plan_at - self._counted)

    def recommend(self, *, draws: int | None = None) -> Recommendation:
        """The arm with the highest posterior mean of those it still plays, and how probable it is their best."""
        draws, state = enough_draws(draws, len(self.problem.arms)), self._view()
        means = np.array([tally_moments(state, arm)[0] for arm in range(len(state.allowed))])
        best = int(np.where(state.allowed, means, -np.inf).argmax())
        wins = self._wins(state, np.random.default_rng(self.rows), draws)
        return Recommendation(self.problem.arms[best], float(means[best]), float(wins[best] / draws))

    def _share(self, findings: Findings) -> Tally:
        return self._state

    def _among(self, state: Tally, allowed: NDArray[np.bool_]) -> Tally:
        if allowed.all():
            return state
        if self.plays_all_arms:
            raise OptionError(f"{self.name} plays by a plan over all arms; it cannot leave some out")
        both = state.allowed & allowed
        quota, flags = np.where(allowed, state.quota, 0), state.flags.copy()
        flags[PLANNED] = quota.sum()  # planned pulls of other arms wait until these are allowed again
        return state._replace(allowed=both if both.any() else allowed.copy(), quota=quota, flags=flags)

    def _check(self, rows: Rows) -> None:
        if np.any(rows.codes[:, self._strides > 0] < 0):
            raise ObservationError(f"{self.name} needs a value of each of {listing(self._through)} in every row")

    def _statistics(self) -> Tally:
        return self._state

    def _choose(self, state: Tally, count: int) -> NDArray[np.int64]:
        return choose_tally_many(state, self.rng, count)

    def _wins(self, state: Tally, rng: np.random.Generator, draws: int) -> NDArray[np.int64]:
        return count_tally_wins(state, rng, draws)

    def _estimate(self, state: Tally, level: float) -> Estimates:
        """Intervals are those of the Beta with the posterior's mean and variance."""
        shared = state.chances.shape[1] > 0 and not state.flags[FALLEN]
        rows = []
        for number, arm in enumerate(self.problem.arms):
            mean, variance = tally_moments(state, number)
            size = mean * (1 - mean) / variance - 1
            tail = (1 - level) / 2
            low, high = betaincinv(mean * size, (1 - mean) * size, np.array([tail, 1 - tail]))
            own = int(state.seen[number].sum())
            through = self._through if shared else None
            rows.append(ArmEstimate(arm, float(mean), float(low), float(high), through, own, float(size - 2), own))
        return Estimates(rows)

    def options(self) -> dict[str, Any]:
        """The options of this policy as plain values for JSON."""
        return self._options


ALL = ("*",)
"""In place of a set: all observed variables."""


def _strides(problem: Problem, names: tuple[str, ...]) -> tuple[Ints, int]:
    """How the cell of a row is found: the last named variable runs fastest, as in an array with an axis per name."""
    for name in names:
        if name not in problem.observed_names:
            known = listing(problem.observed_names)
            raise UnknownVariableError(f"{brief(name)} is not an observed variable; expected some of {known}")
    if len(set(names)) < len(names):
        raise OptionError(f"the set {list(names)} names a variable twice")
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


def checked_chances(problem: Problem, names: tuple[str, ...], given: ArrayLike) -> Floats:
    """P(Z | arm) as a table of shape (arms, cells); given with an axis for the arm and one per name, or flat."""
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


def plain_chances(chances: ArrayLike) -> NDArray[Any]:
    """What was told, as it goes into a save file; `checked_chances` refuses the rest."""
    try:
        return np.asarray(chances)
    except (ArithmeticError, MemoryError, RecursionError, TypeError, ValueError):
        raise OptionError(f"chances={brief(chances)}; expected an array of P(Z | arm)") from None


def numbers_told(name: str, values: Any) -> NDArray[np.float64]:
    """Numbers that a policy is told of its world."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (ArithmeticError, MemoryError, RecursionError, TypeError, ValueError):
        raise OptionError(f"{name} is {brief(values)}; expected probabilities") from None


def set_names(names: str | Iterable[str]) -> tuple[str, ...]:
    """The variables of a told set; one name may stand for itself."""
    if not isinstance(names, str) and not are_names(names):
        raise OptionError(f"separating={brief(names)}; expected a list of names")
    return (names,) if isinstance(names, str) else tuple(names)


def checked_horizon(horizon: object) -> int:
    """A number of rounds that a rule builds on."""
    return whole_number("horizon", horizon, 2)


def checked_number(name: str, value: object, *, below: float = np.inf) -> float:
    """An option that must be a positive number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < below:
        limit = "" if below == np.inf else f" below {below:g}"
        raise OptionError(f"{name}={value!r}; expected a positive number{limit}")
    return float(value)
