"""Many processes, killed processes, cut logs, full disks. Longer runs: `python -m benchmarks.reliability`."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from benchmarks.reliability import (
    check_complete,
    copies_cut_short,
    create,
    hammer,
    kill_server,
    kill_writers,
    many_tasks,
    many_threads,
    sound,
)
from sqlalchemy import event

import causal_bandits as cb
from causal_bandits.errors import OptionError, StorageError, UnknownStudyError, UnreadableStudyError
from causal_bandits.product.studies.storage import schema
from causal_bandits.product.studies.storage.store import upgrade
from causal_bandits.product.studies.storage.transaction import START, Head, event_digest
from tests.studies.edits import change

from .cases import SHOP, fingerprint, play, rebuilt


def test_many_processes_at_once(storage: str) -> None:
    hammer(storage, processes=4, rounds=50)
    check_complete(storage, 200)
    study = cb.Study.load("s", storage=storage)
    assert fingerprint(study) == fingerprint(rebuilt(study))  # the serial replay of the events


@pytest.mark.parametrize("many", [many_threads, many_tasks])
def test_many_threads_and_tasks_share_a_study(storage: str, many: Callable[[str, int, int], int]) -> None:
    check_complete(storage, many(storage, 6, 5))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill")
def test_killed_writers_lose_nothing_that_was_promised(sqlite: str, tmp_path: Path) -> None:
    found = kill_writers(sqlite, 12, tmp_path / "journal", seed=1)
    assert found.acknowledged > 0
    assert (found.lost, found.doubled) == (0, 0)
    assert 0 <= found.unacknowledged <= 12  # a kill between commit and answer
    assert sound(sqlite)
    study = cb.Study.load("s", storage=sqlite)
    assert fingerprint(study) == fingerprint(rebuilt(study))


def test_a_killed_server_loses_nothing_that_was_promised(postgres: str, tmp_path: Path) -> None:
    found = kill_server(2, tmp_path / "journal", writers=2)
    assert found.acknowledged > 0
    assert (found.lost, found.doubled) == (0, 0)


def test_a_log_cut_short_loses_the_last_transaction_or_nothing(sqlite: str, tmp_path: Path) -> None:
    study = create(sqlite)
    study.ask(5)
    before = fingerprint(study)["seq"]
    study.tell_many([{"id": number, "a": 1, "b": 0, "y": 1} for number in range(1, 6)])  # five events, all or none
    after = fingerprint(study)["seq"]
    with copies_cut_short(sqlite, tmp_path) as cut:
        for missing in range(1, 65):
            left = cb.Study.load("s", storage=cut(missing))
            assert fingerprint(left)["seq"] in (before, after)
            left.close()
            assert sound(cut(missing))


def limit_pages(study: cb.Study, pages: int) -> None:
    """As on a disk that has no room for more."""
    engine = study._session.store.connections.engine
    study.close()

    def connect(connection: Any, _record: object) -> None:
        connection.execute(f"PRAGMA max_page_count={pages}")

    event.listen(engine, "connect", connect)


def test_a_full_disk_stores_nothing_half(sqlite: str) -> None:
    study = create(sqlite)
    study.ask()
    limit_pages(study, 12)
    done, said = 0, ""
    while not said:
        try:
            study.ask(20)
            done += 1
        except StorageError as error:
            said = str(error)
    assert "is on a full disk; nothing was stored" in said
    room = cb.Study.load("s", storage=sqlite)
    assert len(room.to_frame()) == 1 + 20 * done
    assert room.ask().id == 2 + 20 * done


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 512 KB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root can make a small file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def many(study: cb.Study) -> None:
    for _ in range(100):
        study.ask(100)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs tmpfs")
@pytest.mark.parametrize("is_clean", [True, False])
def test_a_full_disk_can_be_read(small_disk: Path, is_clean: bool) -> None:
    """Where SQLite cannot make the files beside the database, and where it cannot put its log into it."""
    storage = f"sqlite:///{small_disk}/studies.db"
    study = create(storage)
    study.ask(3)
    if is_clean:
        study.close()
    with (small_disk / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(4096))
    again = cb.Study.load("s", storage=storage)
    assert len(again.to_frame()) == 3
    assert [info.name for info in cb.Study.list(storage=storage)] == ["s"]
    with pytest.raises(StorageError, match="is on a full disk; nothing was stored; free disk space"):
        many(again)
    assert len(again.to_frame()) == len(cb.Study.load("s", storage=storage).to_frame())
    again.close()
    study.close()
    (small_disk / "filler").unlink()
    room = cb.Study.load("s", storage=storage)
    assert room.ask().id > 3
    room.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs tmpfs")
def test_a_read_only_file_system_can_be_read(small_disk: Path) -> None:
    """With the log of a process that was killed, and without."""
    storage = f"sqlite:///{small_disk}/studies.db"
    create(storage).close()
    killed = "import os, causal_bandits as cb; s = cb.Study.load('s', storage=os.environ['IN']); s.ask(3); os._exit(9)"
    environment = {**os.environ, "IN": storage}
    assert subprocess.run([sys.executable, "-c", killed], env=environment, check=False).returncode == 9
    assert (small_disk / "studies.db-wal").stat().st_size > 0
    for count in (3, 4):
        subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
        study = cb.Study.load("s", storage=storage)
        assert len(study.to_frame()) == count
        with pytest.raises(StorageError, match="is read-only; make it writable"):
            study.ask()
        study.close()
        subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
        again = cb.Study.load("s", storage=storage)
        again.ask()
        again.close()


def test_a_read_only_database(sqlite: str) -> None:
    study = create(sqlite)
    study.ask()
    engine = study._session.store.connections.engine
    study.close()
    event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA query_only=ON"))
    assert len(study.to_frame()) == 1
    with pytest.raises(StorageError, match="is read-only; make it writable"):
        study.ask()
    assert len(study.to_frame()) == 1


BAD = [
    ("studies.db", "'studies.db' is not a URL; for a file write 'sqlite:///studies.db'"),
    (7, "storage is of type int; expected a URL"),
    ("mysql://host/x", "expected sqlite or postgresql"),
    ("sqlite://", "names no file"),
    ("sqlite:////nowhere/at/all.db", "cannot be opened; check that its folder exists"),
    ("postgresql://someone:secret@127.0.0.1:1/x", "cannot be reached; check that the server runs"),
    ("postgresql://someone:secret@127.0.0.1:abc/x", "has a port that is not a number; write"),
    ("sqlite+foo:///x.db", "'sqlite:///x.db' names a driver; write 'sqlite:///FILE'"),
    ("sqlite+aiosqlite:///x.db", "names a driver"),
    ("sqlite://host/x.db", "names no file on this machine"),
    ("sqlite:///a\0b.db", "names no file on this machine"),
    ("sqlite:///x.db?timeout=abc", "is not a URL that can be used"),
    ("sqlite:///x.db?mode=ro", "a file takes no options but timeout=SECONDS"),
]


@pytest.mark.parametrize(("storage", "message"), BAD)
def test_storages_that_cannot_be_used(
    storage: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match=message) as caught:
        cb.Study.create("s", SHOP, storage=storage)
    assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_no_storage(tmp_path: Path, sqlite: str) -> None:
    with pytest.raises(StorageError, match="does not exist; create a study first"):
        cb.Study.load("s", storage=sqlite)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "text.db").write_text("not a database, but long enough to be looked at as one" * 9)
    with pytest.raises(StorageError, match="is not an SQLite database"):
        cb.Study.create("s", SHOP, storage=f"sqlite:///{tmp_path}/text.db")
    sqlite3.connect(tmp_path / "other.db").close()
    with pytest.raises(StorageError, match="holds no studies"):
        cb.Study.load("s", storage=f"sqlite:///{tmp_path}/other.db")


def test_a_newer_schema_is_refused(storage: str) -> None:
    study = cb.Study.create("s", SHOP, storage=storage)
    with study._session.store.connections.engine.begin() as connection:
        connection.execute(schema.schema.update(), {"version": schema.VERSION + 1})
    newer = f"was written by a newer version .schema {schema.VERSION + 1}, .*; upgrade causal-bandits"
    for use in (partial(cb.Study.load, "s"), partial(cb.Study.create, "t", SHOP), cb.Study.list):
        with pytest.raises(StorageError, match=newer):
            use(storage=storage)
    with pytest.raises(StorageError, match=newer):
        upgrade(storage)


def test_what_a_newer_version_wrote_is_not_called_damaged(sqlite: str) -> None:
    """The schema is the same, and the digests fit: only the meaning is unknown here."""
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    study.ask()
    cb.Study.create("t", SHOP, storage=sqlite, seed=1)
    study.close()
    new_kind = ("UPDATE cb_events SET kind = 'merged' WHERE seq = 2",)
    settings = json.dumps({**study._session.settings.to_dict(), "later": 1}, separators=(",", ":"))
    new_setting = ("UPDATE cb_studies SET settings = ? WHERE id = 1", settings)
    for edits in ([new_kind], [new_setting, ("UPDATE cb_events SET body = ? WHERE study = 1 AND seq = 1", settings)]):
        for edit in edits:
            change(sqlite, *edit)
        chained(sqlite)
        with pytest.raises(StorageError, match=r"study 's' in storage .* was written by a newer version; upgrade"):
            cb.Study.load("s", storage=sqlite).to_frame()
    first, second = cb.Study.list(storage=sqlite)
    assert "was written by a newer version" in str(first.error)
    assert second.error is None


def chained(storage: str) -> None:
    """Compute the digests of study 1 again."""
    with sqlite3.connect(storage.removeprefix("sqlite:///")) as connection:
        head = START
        rows = connection.execute("SELECT seq, kind, time, body FROM cb_events WHERE study = 1 ORDER BY seq").fetchall()
        for row in rows:
            head = Head(row[0], event_digest(head.digest, *row))
            connection.execute("UPDATE cb_events SET digest = ? WHERE study = 1 AND seq = ?", (head.digest, row[0]))
        connection.execute("UPDATE cb_heads SET digest = ? WHERE study = 1", (head.digest,))
    connection.close()


@pytest.mark.parametrize("version", [0, -1, "old"])
def test_a_schema_that_no_release_wrote(sqlite: str, version: Any) -> None:
    cb.Study.create("s", SHOP, storage=sqlite).close()
    change(sqlite, "UPDATE cb_schema SET version = ?", version)
    for use in (cb.Study.load, partial(cb.Study.create, problem=SHOP)):
        with pytest.raises(StorageError, match=f"has schema version {version!r}, which no release wrote; restore it"):
            use("s", storage=sqlite)


TEXTS = [
    "",
    "{",
    "[1]",
    "7",
    "{}",
    '{"id": 99, "seen": {"x": 1, "y": 2, "z": 3}}',
    '{"id": 1, "seen": {"cart": "huge", "x": 1, "y": 2}}',
    b"\xff",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_damaged_event_is_named(sqlite: str, text: str | bytes) -> None:
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    study.tell(study.ask().id, {"clicked": 1})
    change(sqlite, "UPDATE cb_events SET body = ? WHERE seq = 3", text)
    again = cb.Study.load("s", storage=sqlite)
    for use in (again.ask, again.to_frame):
        with pytest.raises(
            StorageError, match=r"is corrupt: event 3 of .*study.* cannot be read; restore it from a backup"
        ):
            use()


@pytest.mark.parametrize("text", [*TEXTS[:5], '{"policy": "ts"}', None])
def test_a_damaged_description_is_named(sqlite: str, text: str | None) -> None:
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    if text is None:
        text = json.dumps({**study._session.settings.to_dict(), "policy": "unheard-of"})
    change(sqlite, "UPDATE cb_studies SET settings = ?", text)
    sentence = "is corrupt: the description of study 's' cannot be read; restore"
    for use in (partial(cb.Study.load, "s"), partial(cb.Study.create, "s", SHOP)):
        with pytest.raises(UnreadableStudyError, match=sentence):
            use(storage=sqlite)
    (info,) = cb.Study.list(storage=sqlite)
    assert sentence in str(info.error)


def test_text_that_cannot_be_stored(storage: str) -> None:
    study = cb.Study.create("s", SHOP, storage=storage, seed=1)
    before = fingerprint(study)
    with pytest.raises(OptionError, match=r"the text .* is not valid Unicode and cannot be stored"):
        study.ask(key="\udcff")
    with pytest.raises(OptionError, match="is not valid Unicode"):
        cb.Study.load("\udcff", storage=storage)
    with pytest.raises(OptionError, match="is not valid Unicode"):
        cb.Study.create("t", cb.Problem("y", {"a": 2}, {"i": ["\ud800", "b"]}), storage=storage)
    assert fingerprint(study) == before


def test_opening_changes_nothing(sqlite: str) -> None:
    """Neither a database with this schema, nor one that has to be upgraded."""
    study = cb.Study.create("s", SHOP, storage=sqlite)
    play(study, 3)
    study.close()
    path = Path(sqlite.removeprefix("sqlite:///"))
    before = path.read_bytes()
    with cb.Study.load("s", storage=sqlite) as again:
        again.describe()
    assert path.read_bytes() == before
    assert upgrade(sqlite) == (schema.VERSION, schema.VERSION)
    assert path.read_bytes() == before


def test_an_older_schema_is_refused(sqlite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cb.Study.create("s", SHOP, storage=sqlite).close()
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    for use in (partial(cb.Study.load, "s"), partial(cb.Study.create, "t", SHOP), cb.Study.list):
        with pytest.raises(StorageError, match=r"was written by an older version .* storage upgrade"):
            use(storage=sqlite)


def test_a_migration_is_one_step(sqlite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study = cb.Study.create("s", SHOP, storage=sqlite)
    play(study, 3)
    study.close()
    new = schema.VERSION + 1
    monkeypatch.setattr(schema, "VERSION", new)

    def fails(connection: Any) -> None:
        connection.exec_driver_sql("DELETE FROM cb_events")
        raise StorageError("no room")

    monkeypatch.setitem(schema.STEPS, new - 1, fails)
    with pytest.raises(StorageError, match="no room"):
        upgrade(sqlite)
    monkeypatch.setitem(
        schema.STEPS, new - 1, lambda connection: connection.exec_driver_sql("CREATE TABLE more (x INTEGER)")
    )
    assert upgrade(sqlite) == (new - 1, new)
    assert len(cb.Study.load("s", storage=sqlite).to_frame()) == 3
    with sqlite3.connect(sqlite.removeprefix("sqlite:///")) as connection:
        assert connection.execute("SELECT version FROM cb_schema").fetchall() == [(new,)]
    connection.close()


def test_a_damaged_snapshot_is_no_loss(sqlite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causal_bandits.product.studies.session.SNAPSHOT_EVENTS", 10)
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    play(study, 20)
    with study._session.store.connections.engine.begin() as connection:
        assert connection.execute(schema.snapshots.update(), {"content": b"rubbish"}).rowcount >= 1
    assert fingerprint(cb.Study.load("s", storage=sqlite)) == fingerprint(study)


def test_deleting_and_creating_again_starts_afresh(storage: str) -> None:
    old = cb.Study.create("s", SHOP, storage=storage, seed=1)
    play(old, 3)
    cb.Study.delete("s", storage=storage)
    new = cb.Study.create("s", SHOP, storage=storage, seed=1)
    assert new.ask().id == 1
    with pytest.raises(UnknownStudyError):
        old.tell(1, {"clicked": 1})
    with pytest.raises(UnknownStudyError):
        old.to_frame()
