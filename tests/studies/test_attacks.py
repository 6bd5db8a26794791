"""What a storage goes through in real life: interrupts, restored copies, replaced files, forks, clocks set back."""

import gc
import multiprocessing
import os
import sqlite3
import stat
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.interrupted_studies import interrupt_studies
from sqlalchemy import event

import causal_bandits as cb
from causal_bandits.errors import StorageError, StorageWarning
from causal_bandits.product.studies.storage import connections, fork_safety
from causal_bandits.product.studies.storage.store import upgrade
from causal_bandits.product.studies.storage.transaction import START, event_digest

from .cases import SHOP, fingerprint, play, rebuilt
from .edits import change


def path_of(storage: str) -> Path:
    return Path(storage.removeprefix("sqlite:///"))


def copied(storage: str, target: Path) -> Path:
    """A copy as a back-up makes it: whole, in one file, without a write-ahead log."""
    with sqlite3.connect(path_of(storage)) as connection:
        connection.execute("VACUUM INTO ?", (str(target),))
    connection.close()
    return target


# Interrupts


# An interrupt inside the driver may leave a connection that only the garbage collector can close.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupts_leave_nothing_behind(storage: str) -> None:
    found = interrupt_studies(storage, 40, seed=3, longest=0.01)
    gc.collect()
    assert found.acknowledged > 40
    assert (found.bricked, found.lost, found.doubled) == (0, 0, 0)
    assert 0 <= found.unacknowledged <= 40


# Files without a write-ahead log


def test_a_copy_gets_its_log_back(sqlite: str, tmp_path: Path) -> None:
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    play(study, 5)
    copy = copied(sqlite, tmp_path / "copy.db")
    again = cb.Study.load("s", storage=f"sqlite:///{copy}")
    assert fingerprint(again) == fingerprint(study)
    again.close()
    upgrade(f"sqlite:///{copy}")
    play(again, 2)
    with sqlite3.connect(copy) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_a_file_that_cannot_have_a_log_works_without(sqlite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_journal_mode", lambda connection: "delete")
    with pytest.warns(StorageWarning, match="cannot use a write-ahead log on this file system; it works"):
        study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    other = cb.Study.load("s", storage=sqlite)
    reader = sqlite3.connect(path_of(sqlite), isolation_level=None, check_same_thread=False)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM cb_events").fetchone()  # a reader in the way of the commit
    threading.Timer(0.3, reader.close).start()
    play(study, 3)
    play(other, 3)
    assert fingerprint(study)["seq"] == 13
    assert fingerprint(study) == fingerprint(other)


def test_busy_says_how_long_it_was_waited(sqlite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    monkeypatch.setattr(connections, "RETRY_SECONDS", 0.3)
    other = sqlite3.connect(path_of(sqlite), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match="was busy for 0 seconds; try again"):
        study.ask()
    other.execute("ROLLBACK")
    other.close()
    assert study.ask().id == 1


# Databases set back, and histories that were changed


def test_a_database_set_back_under_an_open_study(sqlite: str, tmp_path: Path) -> None:
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    play(study, 3)
    copy = copied(sqlite, tmp_path / "copy.db")
    study.ask()
    with sqlite3.connect(path_of(sqlite)) as connection:  # restored in place, as `.restore` does
        sqlite3.connect(copy).backup(connection)
    connection.close()
    for use in (study.ask, study.to_frame):
        with pytest.raises(
            StorageError, match="was rolled back: event 8 is not the one that this study has read; load"
        ):
            use()
    new = cb.Study.load("s", storage=sqlite)
    play(new, 4)  # more events than the old study has read
    with pytest.raises(StorageError, match="was rolled back"):
        study.tell(4, {"clicked": 1})
    assert fingerprint(new) == fingerprint(rebuilt(new))


def test_a_snapshot_of_another_history_is_not_used(sqlite: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("causal_bandits.product.studies.session.SNAPSHOT_EVENTS", 10)
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    copy = copied(sqlite, tmp_path / "copy.db")
    for storage, click in ((sqlite, 1), (f"sqlite:///{copy}", 0)):
        study = cb.Study.load("s", storage=storage)
        for _ in range(10):
            study.tell(study.ask().id, {"clicked": click, "cart": "some"}, reward=click)
        study.close()
    with sqlite3.connect(copy) as connection:
        (content, digest) = connection.execute("SELECT content, digest FROM cb_snapshots").fetchone()
    connection.close()
    change(sqlite, "UPDATE cb_snapshots SET content = ?, digest = ?", content, digest)
    found = cb.Study.load("s", storage=sqlite)
    assert found.to_frame()["clicked"].to_list() == [1] * 10
    assert fingerprint(found) == fingerprint(rebuilt(found))


EDITS = {
    "body": "UPDATE cb_events SET body = replace(body, '2', '3') WHERE seq = 4",
    "time": "UPDATE cb_events SET time = time + 0.001 WHERE seq = 4",
    "kind": "UPDATE cb_events SET kind = 'expired' WHERE seq = 4",
    "removed": "DELETE FROM cb_events WHERE seq = 4",
    "last removed": "DELETE FROM cb_events WHERE seq = 7",
    "moved": "UPDATE cb_events SET seq = 99 WHERE seq = 7",
    "head": "UPDATE cb_heads SET seq = 5",
    "digest": "UPDATE cb_events SET digest = x'00' WHERE seq = 4",
    "all digests": "UPDATE cb_events SET digest = 'text'",
    "description": "UPDATE cb_studies SET settings = replace(settings, 'some', 'more')",
    "created": "UPDATE cb_studies SET created = created + 1",
}


@pytest.mark.parametrize("edit", EDITS)
def test_every_edit_is_noticed(sqlite: str, edit: str) -> None:
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    play(study, 3)
    study.close()
    change(sqlite, EDITS[edit])
    for use in (cb.Study.to_frame, cb.Study.ask):
        with pytest.raises(StorageError, match=r"is corrupt: .* cannot be read; restore it from a backup"):
            use(cb.Study.load("s", storage=sqlite))


@pytest.mark.parametrize("edit", ["DELETE FROM cb_keys", "UPDATE cb_keys SET seq = 3", "UPDATE cb_keys SET key = 'x'"])
def test_lost_keys_are_missed(sqlite: str, edit: str) -> None:
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    study.ask(key="visitor")
    study.ask(key="other")
    study.close()
    change(sqlite, edit if "key = 'x'" not in edit else f"{edit} WHERE key = 'visitor'")
    with pytest.raises(StorageError, match="is corrupt: a key of a study cannot be read"):
        cb.Study.load("s", storage=sqlite).ask(key="visitor")


def rewrite(storage: str, seq: int, body: str, time: float | None = None) -> None:
    """Change an event and make all digests again, as somebody would who knows how."""
    with sqlite3.connect(path_of(storage)) as connection:
        connection.execute("UPDATE cb_events SET body = ?, time = coalesce(?, time) WHERE seq = ?", (body, time, seq))
        digest = START.digest
        rows = connection.execute("SELECT seq, kind, time, body FROM cb_events ORDER BY seq").fetchall()
        for number, kind, at, text in rows:
            digest = event_digest(digest, number, kind, at, text)
            connection.execute("UPDATE cb_events SET digest = ? WHERE seq = ?", (digest, number))
        connection.execute("UPDATE cb_heads SET digest = ?", (digest,))
    connection.close()


@pytest.mark.parametrize(
    ("seq", "body", "at"),
    [
        (4, '{"first":9,"arms":[1]}', None),
        (4, '{"first":2,"arms":[-1]}', None),
        (4, '{"first":2,"arms":[6]}', None),
        (4, '{"first":2,"arms":[true]}', None),
        (4, '{"first":2,"arms":[]}', None),
        (4, '{"first":2,"arms":[1],"among":[-1]}', None),
        (4, '{"first":2,"arms":[1]}', 1e18),
        (4, '{"first":2,"arms":[1]}', -1.0),
        (5, '{"id":1,"seen":{"clicked":1}}', None),
        (5, '{"id":9,"seen":{"clicked":1}}', None),
    ],
)
def test_events_that_cannot_be(sqlite: str, seq: int, body: str, at: float | None) -> None:
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    play(study, 2)
    study.close()
    rewrite(sqlite, seq, body, at)
    with pytest.raises(StorageError, match=f"is corrupt: event {seq} of study 's' cannot be read"):
        cb.Study.load("s", storage=sqlite).ask()


# Files replaced, deleted, cut short, shared


def test_a_file_that_is_replaced_or_gone(sqlite: str, tmp_path: Path) -> None:
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    play(study, 2)
    copied(sqlite, tmp_path / "copy.db").replace(path_of(sqlite))
    for use in (study.ask, study.to_frame):
        with pytest.raises(StorageError, match="was replaced by another file while it was open, so nothing more"):
            use()
    again = cb.Study.load("s", storage=sqlite)
    play(again, 1)
    path_of(sqlite).unlink()
    with pytest.raises(StorageError, match="was deleted while it was open"):
        again.ask()


def test_a_file_that_is_cut_short(sqlite: str) -> None:
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    play(study, 50)
    with sqlite3.connect(path_of(sqlite)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    study.ask()
    os.truncate(path_of(sqlite), 4096)
    with pytest.raises(StorageError, match="is corrupt"):  # an open study may have all that it needs in memory
        cb.Study.load("s", storage=sqlite).ask()


def test_a_file_made_smaller_by_vacuum_is_fine(sqlite: str) -> None:
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    study.import_rows({"banner": ["red"] * 20000, "clicked": [1] * 20000, "cart": ["some"] * 20000,
                       "discount": ["none"] * 20000, "purchase": [1] * 20000})  # fmt: skip
    cb.Study.create("t", SHOP, storage=sqlite, seed=1)
    other = cb.Study.load("t", storage=sqlite)
    for command in ("PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
        other.ask()
        if command == "VACUUM":
            cb.Study.delete("s", storage=sqlite)
            size = path_of(sqlite).stat().st_size
        with sqlite3.connect(path_of(sqlite), isolation_level=None) as connection:
            connection.execute(command)
        connection.close()
        other.ask()
    assert path_of(sqlite).stat().st_size < size


@pytest.mark.parametrize("name", ["file::memory:?uri=true", "file:x.db?uri=true", "x.db?mode=memory", ":memory:"])
def test_storages_in_memory_are_refused(name: str) -> None:
    with pytest.raises(StorageError, match="names no file"):
        cb.Study.create("s", SHOP, storage=f"sqlite:///{name}")


def test_new_files_are_for_their_owner(sqlite: str) -> None:
    study = cb.Study.create("s", SHOP, storage=sqlite)
    study.ask()
    for file in path_of(sqlite).parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_closed_study_is_read_where_nothing_can_be_written(sqlite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read-only mount: SQLite can make no log beside the file. (Root may write anywhere, so access is pretended.)"""
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    play(study, 5)
    before = fingerprint(study)
    study.close()
    files = list(path_of(sqlite).parent.iterdir())
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    again = cb.Study.load("s", storage=sqlite)
    assert fingerprint(again) == before
    with pytest.raises(StorageError, match="is read-only; make it writable"):
        again.ask()
    assert list(path_of(sqlite).parent.iterdir()) == files


# Forks


def _ask_in_child(study: cb.Study, answers: Any) -> None:
    answers.put(study.ask().id)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_while_another_thread_asks(storage: str) -> None:
    study = cb.Study.create("s", SHOP, storage=storage, seed=1)
    study.ask()
    stop = threading.Event()
    errors: list[BaseException] = []

    def keep_asking() -> None:
        try:
            while not stop.is_set():
                study.ask()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=keep_asking) for _ in range(2)]
    for thread in threads:
        thread.start()
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12 on: forks with threads are risky
            children = [context.Process(target=_ask_in_child, args=(study, answers)) for _ in range(5)]
            for child in children:
                child.start()
        for child in children:
            child.join(60)
        assert [child.exitcode for child in children] == [0] * 5
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not errors
    assert len({answers.get(timeout=10) for _ in children}) == 5
    assert fingerprint(study) == fingerprint(rebuilt(study))


def test_a_fork_waits_for_threads_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_safety, "FORK_SECONDS", 10.0)
    order: list[str] = []
    entered = threading.Event()

    def work() -> None:
        entered.set()
        time.sleep(0.2)
        order.append("done")

    thread = threading.Thread(target=lambda: fork_safety.inside(work))
    thread.start()
    entered.wait()
    fork_safety._before()
    order.append("forked")
    fork_safety._in_parent()
    thread.join()
    assert order == ["done", "forked"]


# Clocks


def clocked(study: cb.Study) -> Callable[[float], None]:
    times = [1_700_000_000.0]
    study._session.clock = lambda: times[0]

    def at(seconds: float) -> None:
        times[0] = 1_700_000_000.0 + seconds

    return at


def test_expiry_with_a_clock_that_is_set_back(storage: str) -> None:
    study = cb.Study.create("s", SHOP, storage=storage, seed=1, expire_after=100)
    at = clocked(study)
    at(1e6)
    study.ask()  # stamped in the future
    at(0)
    study.ask()
    at(50)
    study.ask()
    at(120)
    study.ask()  # decision 1 was asked for at 0 or before, as the event after it says; so was 2
    assert study.to_frame()["status"].to_list() == ["expired", "expired", "open", "open"]
    at(-1e6)
    study.ask()
    assert study.to_frame()["status"].to_list() == ["expired", "expired", "open", "open", "open"]
    assert fingerprint(study) == fingerprint(rebuilt(study))
    at(-1e6 + 200)
    assert study.expire(100) == [3, 4, 5]


def test_absurd_clocks_are_refused(sqlite: str) -> None:
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    for now in (1e18, -5.0, float("nan")):
        study._session.clock = lambda now=now: now  # type: ignore[misc]
        with pytest.raises(StorageError, match="the system clock reads"):
            study.ask()
    study._session.clock = time.time
    assert study.ask().id == 1


# PostgreSQL


@pytest.fixture
def served(request: pytest.FixtureRequest) -> str:
    from .conftest import new_schema

    return new_schema(request.getfixturevalue("postgres"))


def test_serializable_servers_are_told_what_is_needed(served: str) -> None:
    address = f"{served}%20-cdefault_transaction_isolation%3Dserializable"
    study = cb.Study.create("s", SHOP, storage=address, seed=1)
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            mine = cb.Study.load("s", storage=address)
            for _ in range(10):
                mine.ask()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(study.to_frame()) == 40


def test_serialization_failures_are_tried_again(served: str) -> None:
    study = cb.Study.create("s", SHOP, storage=served, seed=1)
    study.ask()
    fails = iter([True, True, False])

    def fail(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        if statement.startswith("INSERT INTO cb_events") and next(fails):
            cursor.execute("DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$")

    event.listen(study._session.store.connections.engine, "before_cursor_execute", fail)
    assert study.ask().id == 2
    assert next(fails, "used up") == "used up"
    assert len(study.to_frame()) == 2


def test_a_held_row_lock_ends_in_a_sentence(served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    monkeypatch.setattr(connections, "RETRY_SECONDS", 0.5)
    study = cb.Study.create("s", SHOP, storage=served, seed=1)
    with psycopg.connect(served) as other:
        other.execute("SELECT * FROM cb_studies FOR UPDATE")
        with pytest.raises(StorageError, match="was busy for 0 seconds; try again"):
            study.ask()
        other.rollback()
        assert study.ask().id == 1


def test_a_study_goes_on_after_the_server_cut_its_connections(served: str, postgres: str) -> None:
    import psycopg

    study = cb.Study.create("s", SHOP, storage=served, seed=1)
    play(study, 2)
    with psycopg.connect(postgres, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    play(study, 2)
    assert len(study.to_frame()) == 4


# Large imports


def test_a_large_import_leaves_a_snapshot(sqlite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causal_bandits.product.studies.session.SNAPSHOT_ROWS", 500)
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    rng = np.random.default_rng(0)
    study.import_rows({"banner": rng.choice(["red", "blue"], 600), "discount": ["none"] * 600,
                       "clicked": rng.integers(2, size=600), "cart": ["some"] * 600,
                       "purchase": rng.integers(2, size=600)})  # fmt: skip
    with sqlite3.connect(path_of(sqlite)) as connection:
        assert connection.execute("SELECT seq FROM cb_snapshots").fetchall() == [(2,)]
    connection.close()
    assert fingerprint(cb.Study.load("s", storage=sqlite)) == fingerprint(rebuilt(study))
