"""Telling: whole rows, and rows whose reward comes later.

A row whose reward is pending counts for P(S | arm) at once where a policy can use that (`uses_pending`), and for
E[Y | S] when its reward comes; other policies learn the whole row then.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data import Rows
from ..errors import ObservationError, OptionError, brief, flag, listing
from ..markup import printable
from ..problem import Arm, Level
from .keeping import Kept

Settable = Arm | Mapping[str, Level]


@dataclass(frozen=True, repr=False)
class Pending:
    """A row that was told without its reward; pass it to `tell` with the reward, or to `drop`.

    Args:
        number: Counts up from 0 in each policy; the same after saving and loading.
        arm: The arm that was played.
    """

    number: int
    arm: Arm

    def __repr__(self) -> str:
        return printable(f"Pending({self.number}, {self.arm})")


class Telling(Kept):
    """What a policy is told."""

    uses_pending: bool = False
    """Whether a row counts before its reward is known; otherwise it waits, and the whole row counts then."""
    rolls_out_late: ClassVar[bool] = False
    """Whether a rollout may count late rewards: nothing happens between two rows of the same round."""

    @property
    def needed(self) -> tuple[str, ...]:
        """The observed variables without which it cannot count a row."""
        return self.problem.observed_names

    @abstractmethod
    def _count(self, rows: Rows) -> None:
        """Count rows in the state."""

    def make_room(self) -> None:
        """Make room in the state for pending rows, which a rollout may count."""

    @abstractmethod
    def _expect(self, rows: Rows) -> None:
        """Count rows whose rewards are pending."""

    @abstractmethod
    def _complete(self, rows: Rows) -> None:
        """Count the rewards of rows that were pending."""

    @abstractmethod
    def _forget(self, rows: Rows) -> None:
        """Take back pending rows that will get no reward."""

    def _fill(self, before: Rows, after: Rows) -> None:
        """Count values that came after their row was counted; the history has them already."""
        self._recount()

    def _check(self, rows: Rows) -> None:
        """Refuse rows that this policy cannot count."""
        places = [place for place, name in enumerate(self.problem.observed_names) if name in self.needed]
        if np.any(rows.codes[:, places] < 0):
            raise ObservationError(
                f"a value is missing; policy {self.name!r} needs a value of each of {listing(self.needed)} in every row"
            )

    @property
    def rows(self) -> int:
        """How many rows have their reward."""
        return len(self.history)

    @property
    def progress(self) -> int:
        """What says when discovery is due: rows, and where pending rows count, rewards that came late besides."""
        return self.rows + self.waiting.made if self.uses_pending else self.rows

    def tell(
        self,
        arm: Settable | Pending,
        observation: Mapping[str, Any] | None = None,
        *,
        reward: Any = None,
        missing: bool = False,
    ) -> Pending | None:
        """Count one row: the arm, every observed variable, and the reward, among the observation or by name.

        Without a reward the row is pending: what it gives is told again with the reward when that is known.
        With `missing` an observed variable may be None, NaN or not named: the row then counts for the sets without it.
        """
        if isinstance(arm, Pending):
            if observation is not None:
                raise ObservationError(f"{arm} has its observation already; pass its reward alone, as reward=...")
            self.complete([self._number(arm)], [self.history.value(self.problem.target, reward)])
            return None
        seen = {} if observation is None else observation
        target = self.problem.target
        if isinstance(seen, Mapping) and reward is not None:
            if target in seen:
                raise ObservationError(f"the reward {target!r} is both in the observation and given as reward=")
            seen = {**seen, target: reward}
        if not isinstance(seen, Mapping) or target in seen:
            self.learn(self.history.encode(arm, seen, missing=missing))
            return None
        rows = self.history.encode_pending(arm, seen, missing=flag("missing", missing))
        return Pending(int(self.expect(rows)[0]), self.problem.arms[int(rows.arms[0])])

    def tell_many(self, frame: Any, *, arm: Settable | None = None, missing: bool = False) -> None:
        """Count the rows of a table: all of them, or none when one is bad.

        The table has a column per lever, or `arm` says which arm made all rows
        (`arm={}` for observational rows).
        """
        self.learn(self.history.encode_many(frame, arm, missing=missing))

    def drop(self, row: Pending) -> None:
        """Close a pending row that will never get its reward: it no longer counts for anything."""
        self.forget([self._number(row)])

    def pending(self) -> list[Pending]:
        """The rows that wait for their reward, the first told first."""
        arms = self.problem.arms
        both = zip(self.waiting.numbers.tolist(), self.waiting.all.arms.tolist(), strict=True)
        return [Pending(number, arms[arm]) for number, arm in both]

    def _number(self, row: Pending) -> int:
        """Validate a pending row."""
        if not isinstance(row, Pending):
            raise OptionError(f"{brief(row)} is not a pending row; expected what tell() gave without a reward")
        if type(row.number) is not int or not self.waiting.has(row.number):
            raise ObservationError(
                f"{row} does not wait for a reward; it has one already, was closed, or belongs to another policy"
            )
        return row.number

    # Coded rows

    def learn(self, rows: Rows) -> None:
        """Count rows that `history.encode` or `encode_many` coded."""
        self._check(rows)
        if self.history.extend(rows):
            self._code_anew()
        else:
            self._count(rows)

    def fill(self, row: int, after: Rows) -> None:
        """Count values that were missing in a row of the history; `after` is that row with them."""
        before = self.history.since(row, row + 1)
        if self.history.fill(row, after):
            self._code_anew()
        else:
            self._fill(before, after)

    def expect(self, rows: Rows) -> NDArray[np.int64]:
        """Count coded rows whose rewards are pending; gives their numbers."""
        self._check(rows)
        numbers = self.waiting.add(rows)
        self._expect(rows)
        return numbers

    def complete(self, numbers: Iterable[int], rewards: Iterable[Any]) -> None:
        """Count the rewards of pending rows, as they were told and checked."""
        rows = self.waiting.take(np.array(list(numbers), dtype=np.int64))
        counted = [self.problem.reward.number(reward) for reward in rewards]
        rows = rows._replace(rewards=np.array(counted, dtype=rows.rewards.dtype))
        if self.history.extend(rows):
            self._code_anew()
        else:
            self._complete(rows)

    def forget(self, numbers: Iterable[int]) -> None:
        """Take back pending rows."""
        self._forget(self.waiting.take(np.array(list(numbers), dtype=np.int64)))

    def remember(self, rows: Rows) -> None:
        """Store rows that a rollout has already counted in the state."""
        self.history.extend(rows)

    def _code_anew(self) -> None:
        """Cut points were learnt: every row has new level numbers."""
        self.waiting.recode(self.history.coded_anew(self.waiting.all))
        self._recount()
