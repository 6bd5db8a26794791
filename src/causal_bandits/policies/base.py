"""The facade every discrete policy shares: ask, tell, recommend, estimates, save and load."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self, overload

import numpy as np

from ..data import History, Rows, TableLayout
from ..discovery import Findings, next_refresh
from ..errors import OptionError, SaveFileError, whole_number
from ..estimators import learn_many, make_pools, no_pools
from ..problem import Arm, Level, Problem
from .estimates import Estimates, estimate_arms
from .rules import ThompsonState, choose_many, count_wins
from .saving import Saved, pack_findings, read, unpack_findings, unpack_generator, unpack_into, unpack_rows, write

Seed = int | np.random.SeedSequence | np.random.Generator | None


class Recommendation(NamedTuple):
    """The arm to deploy, its posterior mean, and the posterior probability that it is the best arm."""

    arm: Arm
    mean: float
    probability_best: float


class DiscretePolicy:
    """A Thompson sampler over counts; subclasses say how separating sets are found, if at all."""

    name: str

    def __init__(self, problem: Problem, *, seed: Seed, max_size: int | None, samples: int) -> None:
        if not isinstance(problem, Problem):
            raise OptionError(f"problem is a {type(problem).__name__}; expected causal_bandits.Problem(...)")
        self.problem = problem
        self.history = History(problem)
        self.layout = TableLayout.of(problem, max_size)
        self.rng = np.random.default_rng(seed)
        self.findings: Findings | None = None
        self._state = ThompsonState(self.layout.empty(), no_pools(len(problem.arms)), samples)
        self._due = 0

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
        arms = [self.problem.arms[arm] for arm in choose_many(self.ready(), self.rng, count)]
        return arms[0] if n is None else arms

    def ready(self) -> ThompsonState:
        """The state that chooses the next arm, after discovery if it is due."""
        if self.rows >= self._due:
            self.findings = self._discover()
            if self.findings is not None:
                self._state = self._state._replace(pools=make_pools(self.findings, self._state.tables))
            self._due = next_refresh(self.rows)
        return self._state

    @property
    def rounds_to_refresh(self) -> int:
        """How many rows may come before discovery runs again."""
        return max(self._due - self.rows, 0)

    def _discover(self) -> Findings | None:
        """Separating sets from the counts; None for a policy that shares nothing."""
        return None

    # Learning

    def tell(self, arm: Arm | Mapping[str, Level], observation: Mapping[str, Any]) -> None:
        """Count one row: the arm, every observed variable, and the reward."""
        self._learn(self.history.encode(arm, observation))

    def tell_many(self, frame: Any, *, arm: Arm | Mapping[str, Level] | None = None) -> None:
        """Count the rows of a table: all of them, or none when one is bad.

        The table has a column per intervention variable, or `arm` says which arm made all rows
        (`arm={}` for observational rows).
        """
        self._learn(self.history.encode_many(frame, arm))

    def _learn(self, rows: Rows) -> None:
        if self.history.extend(rows):  # cut points were learnt: every row is coded anew
            self._recount()
        else:
            learn_many(self._state.tables, self._state.pools, rows.arms, rows.codes, rows.rewards)

    def remember(self, rows: Rows) -> None:
        """Store rows that a rollout has already counted in the state."""
        self.history.extend(rows)

    def _recount(self) -> None:
        self._state = self._state._replace(tables=self.layout.empty())
        self.history.count_into(self._state.tables)
        if self.findings is not None:
            self._state = self._state._replace(pools=make_pools(self.findings, self._state.tables))

    # Reading: never changes which arms come next

    def _view(self) -> ThompsonState:
        """The state with the sets that the next `ask` would use."""
        if self.rows < self._due:
            return self._state
        findings = self._discover()
        if findings is None:
            return self._state
        return self._state._replace(pools=make_pools(findings, self._state.tables))

    def recommend(self, *, draws: int = 4000) -> Recommendation:
        """The arm with the highest posterior mean, and how probable it is to be the best."""
        draws = whole_number("draws", draws, 1)
        state = self._view()
        best = max(estimate_arms(state, self.layout, 0.95), key=lambda estimate: estimate.mean)
        wins = count_wins(state, np.random.default_rng(self.rows), draws)
        return Recommendation(best.arm, best.mean, float(wins[self.problem.index(best.arm)] / draws))

    def estimates(self, *, level: float = 0.95) -> Estimates:
        """Per arm: mean, interval, the set it was learnt through, own rows, effective rows."""
        if not 0 < level < 1:
            raise OptionError(f"estimates(level={level!r}): expected a number between 0 and 1")
        return estimate_arms(self._view(), self.layout, level)

    # Keeping

    def options(self) -> dict[str, Any]:
        """The options of this policy as plain values for JSON."""
        return {}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one plain file; `load` goes on with exactly the same future arms."""
        pools = self._state.pools
        header = {
            "policy": self.name,
            "problem": self.problem.to_dict(),
            "options": self.options(),
            "rng": self.rng.bit_generator.state,
            "due": self._due,
        }
        arrays = {**self.history.rows._asdict(), "linear": pools.linear, "square": pools.square}
        write(Path(path), Saved(header, {**arrays, "variance": pools.variance, **pack_findings(self.findings)}))

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
            policy._due = int(saved.header["due"])
            policy.history.extend(unpack_rows(policy.problem, saved.arrays))
            policy.findings = unpack_findings(policy.layout, saved.arrays)
            policy._recount()
            # Running sums differ in the last bits from sums made afresh, and a tie may hang on them.
            for name in ("linear", "square", "variance"):
                unpack_into(getattr(policy._state.pools, name), saved.arrays[name])
        return policy
