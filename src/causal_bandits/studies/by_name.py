"""Studies by name: create, load, list and delete them."""

import contextlib
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, Self, Unpack

from ..errors import ProblemError, StorageError, StudyExistsError, UnknownStudyError, UnreadableStudyError
from ..policies import Policy
from ..problem import Problem
from .changing_arms import ChangingArms
from .consistency import check_engine
from .decision_table import check_names
from .decisions import checked_time, moment
from .session import Session, settings_of
from .settings import NOT_ASKED, Settings, checked_name, make_settings
from .storage import Store, StudyRow, UnreadableRow, engine_of, opened
from .wishes import Wishes


class StudyInfo(NamedTuple):
    """A study in a list; one that cannot be read has a name and an error alone."""

    name: str
    created: datetime | None
    policy: str | None
    target: str | None
    error: str | None = None
    """Why it cannot be read: it is damaged, or was written by a newer version."""


class StudiesByName(ChangingArms):
    """What is done with studies of a storage."""

    @classmethod
    def create(
        cls,
        name: str,
        problem: Problem,
        *,
        storage: str | Store,
        policy: str | Policy[Any] | None = None,
        options: dict[str, Any] | None = None,
        seed: int | None = None,
        **wishes: Unpack[Wishes],
    ) -> Self:
        """Create a study; the same call again returns the existing one.

        Args:
            name: Name of the study.
            problem: What is played.
            storage: Database URL: sqlite:///FILE or postgresql://..., or an open store.
            policy: Preset ("safe" by default, or "paper"), policy name, or a new policy without rows.
            options: Options of a policy given by name.
            seed: Seed of its decisions; random by default.
            expire_after: Time after which the next ask closes an open decision, in seconds or as "14d", "36h", "90m" or
                "45s"; until then late outcomes count.
            reward_window: Time in which a reward must come, written in the same way. Rewards count when the window of
                their decision has closed, and one that did not come is 0; without a window they count as they come.
            control: The arm that lifts are over; the idle arm by default.
            control_share: The share of decisions that the control gets, no more and no less.
            shares: Arm -> (least, greatest) share of decisions; an arm may be written "lever=value,...".
            min_share: The least share of every other arm.
            max_share: The greatest share of every other arm.
            guardrails: Observed variable, metric or reward -> ("<=" or ">=", limit), on its mean under each arm; for
                the share of one level "cart=empty". An arm that breaks one is not asked for.
            guardrail_confidence: An arm that keeps a guardrail is excluded with a probability of at most 1 less this,
                over the whole study; 0.95 by default.
            metrics: Further metrics to tell, for guardrails alone: name -> bool (0 or 1) or float.
            cost: Lever -> {level: cost}, or arm -> cost, in units of the reward; the study maximises reward less cost.
            reward_value: What a reward of 1 is worth in the unit of the costs, where they have another; 1 by default.
            consistency: "strict" (the default), or "served" for many decisions per second on PostgreSQL: decided from
                snapshots in memory (docs/service.md says what each mode promises).
            publish_rows: A served study publishes a snapshot after so many decisions and outcomes; by default when
                there are 1 % more than at the last one, and after 1000 at most.
            publish_seconds: Or when the oldest of them has waited for so long; 1 by default.
        """
        checked_name(name)
        settings = make_settings(problem, policy, options=options, seed=seed, wishes=wishes)
        check_engine(settings.consistency, *engine_of(storage))
        cls._check_names(name, problem, storage)
        return cls._stored(name, settings, storage, same_seed=seed is not None)

    @classmethod
    def _stored(cls, name: str, settings: Settings, storage: str | Store, *, same_seed: bool) -> Self:
        """The study with these settings, new or there already."""
        store = opened(storage, create=True)
        row, is_new = store.add(name, checked_time(time.time()), settings.to_dict())
        other = settings_of(store, row).difference(settings, ignore=NOT_ASKED if same_seed else (*NOT_ASKED, "seed"))
        if not is_new and other is not None:
            store.close()
            raise StudyExistsError(
                f"study {name!r} is already in storage {store.place}, with another {other}; "
                "load it, delete it (Study.delete, `study delete`), or use another name"
            )
        return cls(Session(store, row), is_new=is_new)

    @classmethod
    def _check_names(cls, name: str, problem: Problem, storage: str | Store) -> None:
        """A new study has no variable called like a column of its table; one that is there is opened as it is."""
        try:
            check_names(problem)
        except ProblemError:
            with contextlib.suppress(UnknownStudyError, StorageError):
                opened(storage).find(name)
                return
            raise

    @classmethod
    def load(cls, name: str, *, storage: str | Store) -> Self:
        """Open an existing study."""
        store = opened(storage)
        return cls(Session(store, store.find(checked_name(name))))

    @classmethod
    def list(cls, *, storage: str | Store) -> Sequence[StudyInfo]:
        """List the studies in a database, the oldest first, also those that cannot be read."""
        store = opened(storage)
        return [_listed(store, row) for row in store.all()]

    @classmethod
    def delete(cls, name: str, *, storage: str | Store) -> None:
        """Delete a study and all its decisions permanently."""
        opened(storage).delete(checked_name(name))


def _listed(store: Store, row: StudyRow | UnreadableRow) -> StudyInfo:
    try:
        if isinstance(row, UnreadableRow):
            raise row.error
        settings = settings_of(store, row)
    except UnreadableStudyError as error:
        return StudyInfo(row.name, None, None, None, str(error))
    return StudyInfo(row.name, moment(row.created), settings.policy, settings.problem["target"])
