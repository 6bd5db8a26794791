"""The facade every policy shares: ask, tell, recommend, estimates, separating sets, save and load."""

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ..data import History, Rows, SubsetLayout
from ..discovery import Findings, SeparatingSet, next_refresh
from ..errors import ObservationError, OptionError, SaveFileError, whole_number
from ..problem import Arm, Level, Problem, check_problem
from ..seeds import Seed, generator
from .estimates import Estimates, Recommendation, enough_draws
from .protocol import choose_many, compared, count_wins
from .saving import Saved, pack_findings, read, unpack_findings, unpack_generator, unpack_into, unpack_rows, write
from .tiers import Tier

State = TypeVar("State")


class Policy(ABC, Generic[State]):
    """A learner over sufficient statistics; `discovery` finds the sets it shares through, if it shares at all.

    A subclass holds a state and says how it is made, fed, and asked. Rules are compiled functions of the state.
    """

    name: str
    layout: SubsetLayout
    discovery: Any = None
    tier: Tier
    """What it is told, as the tier in which it is fairly compared."""
    hints: str = "nothing"
    """What it is given besides the problem, in words for a table."""
    needs: ClassVar[tuple[str, ...]] = ()
    """The options that hold this knowledge; `simulate.told` fills them from a world."""
    simple_regret: ClassVar[bool] = False
    """Made to find the best arm at the end, not to earn on the way: explores, then commits."""
    fewest_rows = 0
    """An arm with fewer rows of its own is not recommended."""
    numbers: ClassVar[type] = int
    """What its compiled rules learn from: level numbers, or real values; a rollout needs a world that draws such."""
    counts_missing = False
    """Whether it can count a row in which an observed variable has no value."""

    compares: ClassVar[str] = "its draw from the posterior"
    """What `indices` holds of an arm, in words."""
    without_comparing: ClassVar[str] = "arms were not compared yet: the policy tries all of them first"
    """Why `indices` may hold nothing, in words."""

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Check the problem before any constructor reads it."""
        if arguments or options:  # neither where a policy is copied
            check_problem(arguments[0] if arguments else options.get("problem"))
        return super().__new__(cls)

    def __init__(self, problem: Problem, seed: Seed) -> None:
        self.problem = problem
        self.layout = self._make_layout(problem)
        self.history = History(problem)
        self.rng = generator(seed)
        self.findings: Findings | None = None
        self.allowed: NDArray[np.bool_] = np.ones(len(problem.arms), dtype=np.bool_)
        """Which arms may be asked for and recommended; `restrict` changes it."""
        self._due = 0
        self._prior: int | None = None
        self._state = self._empty()

    # What a subclass says

    @abstractmethod
    def _make_layout(self, problem: Problem) -> Any:
        """The sets that are looked at, of a problem that was checked."""

    @abstractmethod
    def _empty(self) -> State:
        """A state that has seen nothing and shares nothing."""

    @abstractmethod
    def _count(self, rows: Rows) -> None:
        """Count rows in the state."""

    @abstractmethod
    def _share(self, findings: Findings) -> State:
        """The state with the sets that were found."""

    @abstractmethod
    def _statistics(self) -> Any:
        """What the discovery reads."""

    def _choose(self, state: State, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Arms, by number."""
        return choose_many(state, rng, count)

    @abstractmethod
    def _estimate(self, state: State, level: float) -> Estimates:
        """What the state says of every arm."""

    def _wins(self, state: State, rng: np.random.Generator, draws: int) -> NDArray[np.int64]:
        """How often each arm is the best in draws from the posterior."""
        return count_wins(state, rng, draws, len(self.problem.arms))

    def _among(self, state: State, allowed: NDArray[np.bool_]) -> State:
        """The state that chooses among some arms only."""
        if not allowed.all():
            raise OptionError(f"policy {self.name!r} cannot be restricted to some arms; use another one")
        return state

    def _indices(self, state: State, rng: np.random.Generator) -> NDArray[np.float64] | None:
        """What `_choose` compares with the same random numbers: NaN for arms not compared; None if not one per arm."""
        return compared(state, rng)

    def _rows_seen(self) -> NDArray[np.int64]:
        """For each set how many rows have a value for all its variables."""
        return np.full(len(self.layout.names), self.rows)

    def _check(self, rows: Rows) -> None:
        """Refuse rows that this policy cannot count."""
        if not self.counts_missing and np.any(rows.codes < 0):
            raise ObservationError(f"a value is missing; policy {self.name!r} needs whole rows")

    def _sums(self) -> dict[str, NDArray[Any]]:
        """Running sums that cannot be made afresh to the last bit; they go into the save file."""
        return {}

    @property
    def rows(self) -> int:
        """How many rows were told."""
        return len(self.history)

    # Acting

    @overload
    def ask(self) -> Arm: ...
    @overload
    def ask(self, n: int) -> list[Arm]: ...
    def ask(self, n: int | None = None) -> Arm | list[Arm]:
        """The next arm to pull, or `n` of them for a batch."""
        count = 1 if n is None else whole_number("n", n, 1)
        arms = [self.problem.arms[arm] for arm in self._choose(self.ready(), self.rng, count)]
        return arms[0] if n is None else arms

    def choose(
        self, count: int, rng: np.random.Generator, *, among: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """Arms by number, like `ask`, with the caller's random numbers and among some of the allowed arms only."""
        state = self.ready()
        return self._choose(state if among is None else self._among(state, self.allowed & among), rng, count)

    def frequencies(
        self, draws: int, rng: np.random.Generator, *, among: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """How often each arm is chosen in many draws from the state as it is; changes nothing."""
        state = self._view()
        chosen = self._choose(state if among is None else self._among(state, self.allowed & among), rng, draws)
        return np.bincount(chosen, minlength=len(self.problem.arms)) / draws

    def indices(self, rng: np.random.Generator, *, among: NDArray[np.bool_] | None = None) -> Any:
        """What the next `choose` with the same random numbers compares: NaN for arms not compared, None if unknown."""
        state = self.ready()
        return self._indices(state if among is None else self._among(state, self.allowed & among), rng)

    def restrict(self, arms: Iterable[Arm | Mapping[str, Level]] | None) -> None:
        """From now on ask for and recommend these arms only (None: all); the others still tell what they know."""
        allowed = np.ones(len(self.problem.arms), dtype=np.bool_)
        if arms is not None:
            allowed[:] = False
            allowed[[self.problem.index(arm) for arm in arms]] = True
        if not allowed.any():
            raise OptionError("restrict() got no arm; at least one must be left to choose")
        self.allowed = allowed

    def ready(self) -> State:
        """The state that chooses the next arm, after discovery if it is due."""
        if self.rows >= self._due:
            self.findings = self._discover()
            if self.findings is not None:
                self._state = self._share(self.findings)
            if self._prior is None:
                self._prior = self.rows
            self._due = self._refresh_after(self._prior)
        return self._among(self._state, self.allowed)

    def _refresh_after(self, prior: int) -> int:
        """Rows told before the first arm was asked for are prior data, not rounds: the 25 % rule counts rounds.

        A dear discovery also waits for one percent more rows, prior ones included.
        """
        due = prior + next_refresh(self.rows - prior)
        return max(due, math.ceil(self.rows * 1.01)) if self._discovery_is_dear() else due

    def _discovery_is_dear(self) -> bool:
        """Whether a discovery takes so long that a row or two more are not worth it."""
        return False

    @property
    def rolls_out(self) -> bool:
        """Whether `ready` gives the state that learns, so that a rollout may play on with it."""
        return True

    def reserve(self, count: int) -> None:
        """Make room for rows that a rollout will count."""

    @property
    def rounds_to_refresh(self) -> int:
        """How many rows may come before discovery runs again."""
        return max(self._due - self.rows, 0)

    def _discover(self) -> Findings | None:
        """Separating sets from the statistics; None for a policy that shares nothing."""
        if self.discovery is None:
            return None
        if isinstance(self.discovery, type) or not hasattr(self.discovery, "discover"):
            raise OptionError(
                f"discovery={self.discovery!r}; expected DirectTesting(), ASD(), ResidualTesting() or KnownSets([...])"
            )
        found: Findings = self.discovery.discover(self.layout, self._statistics(), self.rows)
        return replace(found, seen=self._rows_seen()) if self.history.has_missing else found

    # Learning

    def tell(self, arm: Arm | Mapping[str, Level], observation: Mapping[str, Any], *, missing: bool = False) -> None:
        """Count one row: the arm, every observed variable, and the reward.

        With `missing` an observed variable may be None, NaN or not named: the row then counts for the sets without it.
        """
        self.learn(self.history.encode(arm, observation, missing=missing))

    def tell_many(self, frame: Any, *, arm: Arm | Mapping[str, Level] | None = None, missing: bool = False) -> None:
        """Count the rows of a table: all of them, or none when one is bad.

        The table has a column per intervention variable, or `arm` says which arm made all rows
        (`arm={}` for observational rows).
        """
        self.learn(self.history.encode_many(frame, arm, missing=missing))

    def learn(self, rows: Rows) -> None:
        """Count rows that `history.encode` or `encode_many` coded."""
        self._check(rows)
        if self.history.extend(rows):  # cut points were learnt: every row is coded anew
            self._recount()
        else:
            self._count(rows)

    def remember(self, rows: Rows) -> None:
        """Store rows that a rollout has already counted in the state."""
        self.history.extend(rows)

    def _recount(self) -> None:
        self._state = self._empty()
        self._count(self.history.rows)
        if self.findings is not None:
            self._state = self._share(self.findings)

    # Reading: never changes which arms come next

    def _view(self) -> State:
        """The state with the sets that the next `ask` would use."""
        findings = self._discover() if self.rows >= self._due else None
        return self._among(self._state if findings is None else self._share(findings), self.allowed)

    def recommend(self, *, draws: int | None = None) -> Recommendation:
        """The arm with the highest posterior mean, and how probable it is to be the best.

        The probability p is a share of `draws` from the posterior, with standard error sqrt(p (1 - p) / draws). Unless
        given, they are 4000, and with more than 250 arms fewer, but at least 200.
        """
        draws, state = enough_draws(draws, len(self.problem.arms)), self._view()
        known = [
            estimate
            for estimate, allowed in zip(self._estimate(state, 0.95), self.allowed, strict=True)
            if allowed and estimate.own_rows >= self.fewest_rows
        ]
        best = max(known, key=lambda estimate: estimate.mean)
        wins = self._wins(state, np.random.default_rng(self.rows), draws)
        return Recommendation(best.arm, best.mean, float(wins[self.problem.index(best.arm)] / draws))

    def estimates(self, *, level: float = 0.95) -> Estimates:
        """Per arm: mean, interval, the set it was learnt through, own rows, effective rows."""
        if not isinstance(level, int | float) or not 0 < level < 1:
            raise OptionError(f"estimates(level={level!r}): expected a number between 0 and 1")
        return self._estimate(self._view(), level)

    def separating_sets(self, *, rejected: bool = False) -> list[SeparatingSet]:
        """The sets in use with their evidence; with `rejected` all sets that were looked at."""
        findings = self.findings if self.rows < self._due and self.findings is not None else self._discover()
        found = [] if findings is None else findings.sets
        return [each for each in found if each.accepted or rejected]

    # Keeping

    def options(self) -> dict[str, Any]:
        """The options of this policy as plain values for JSON."""
        return {}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one plain file; `load` goes on with exactly the same future arms."""
        write(Path(path), self.pack())

    def pack(self) -> Saved:
        """All that is known as a plain header and arrays."""
        header: dict[str, Any] = {
            "policy": self.name,
            "problem": self.problem.to_dict(),
            "options": self.options(),
            "rng": self.rng.bit_generator.state,
            "due": self._due,
            "prior": self._prior,
        }
        if not self.allowed.all():
            header["allowed"] = self.allowed.tolist()
        arrays = {**self.history.packed, **self._sums(), **pack_findings(self.findings)}
        return Saved(header, arrays)

    @classmethod
    def from_options(cls, problem: Problem, options: dict[str, Any]) -> Self:
        """A fresh policy from what `options` gave."""
        return cls(problem, **options)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """A policy from the file that `save` wrote."""
        saved = read(Path(path))
        if saved.header.get("policy") != cls.name:
            raise SaveFileError(f"{str(path)!r} holds a {saved.header.get('policy')!r} policy, not {cls.name!r}")
        return cls.restore(saved)

    @classmethod
    def restore(cls, saved: Saved) -> Self:
        """A policy from a save file's content."""
        with saved.checked():
            policy = cls.from_options(Problem.from_dict(saved.header["problem"]), saved.header["options"])
            policy.rng = unpack_generator(saved.header["rng"])
            policy.history.extend(unpack_rows(policy.problem, saved.arrays))
            policy._due = whole_number("due", saved.header["due"], 0)
            prior = saved.header.get("prior", 0)
            policy._prior = None if prior is None else whole_number("prior", prior, 0)
            if policy._due > policy._refresh_after(min(policy._prior or 0, policy.rows)):
                raise ValueError(f"its next discovery is at {policy._due} rows")
            if "allowed" in saved.header:
                policy.restrict(
                    [arm for arm, yes in zip(policy.problem.arms, saved.header["allowed"], strict=True) if yes]
                )
            policy.findings = unpack_findings(policy.layout, saved.arrays)
            policy._recount()
            for name, array in policy._sums().items():
                unpack_into(array, saved.arrays[name])
        return policy
