"""The studies of a storage by name: create and list them."""

import time
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from ...errors import StudyExistsError, UnreadableStudyError
from .decisions import checked_time, moment
from .session import settings_of
from .settings import Settings, check_engine, checked_name
from .storage import Store, StudyRow, UnreadableRow, engine_of, opened


class StudyInfo(NamedTuple):
    """A study in a list; one that cannot be read has a name and an error alone."""

    name: str
    created: datetime | None
    policy: str | None
    target: str | None
    error: str | None = None
    """Why it cannot be read: it is corrupt, or was written by a newer version."""
    title: str | None = None
    """What people call it."""


def create_study(
    name: str, settings: Settings, storage: str | Store, *, same_seed: bool
) -> tuple[StudyRow, Store, bool]:
    """The study with these settings, new or there already; and whether it is new."""
    checked_name(name)
    check_engine(settings.mode, *engine_of(storage))
    store = opened(storage, create=True)
    row, is_new = store.add(name, checked_time(time.time()), settings.to_dict())
    other = settings_of(store, row).difference(settings, same_seed=same_seed)
    if not is_new and other is not None:
        store.close()
        raise StudyExistsError(
            f"study {name!r} is already in storage {store.place}, with another {other}; "
            "load it, delete it (Study.delete, `study delete`), or use another name"
        )
    return row, store, is_new


def list_studies(store: Store) -> Sequence[StudyInfo]:
    """The studies in a database, the oldest first, also those that cannot be read."""
    return [_listed(store, row) for row in store.all()]


def _listed(store: Store, row: StudyRow | UnreadableRow) -> StudyInfo:
    try:
        if isinstance(row, UnreadableRow):
            raise row.error
        settings = settings_of(store, row)
    except UnreadableStudyError as error:
        return StudyInfo(row.name, None, None, None, str(error))
    return StudyInfo(row.name, moment(row.created), settings.policy, settings.problem["target"], title=settings.title)
