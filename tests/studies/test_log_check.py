"""Damaged write-ahead logs: what SQLite forgets without a word is missed here."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.errors import StorageError
from causal_bandits.studies.storage.log_check import _transactions_left, read_log

from .cases import SHOP, fingerprint, play


def damaged_copies(storage: str, folder: Path, seed: int, count: int) -> list[tuple[int, str]]:
    """Copies with one byte of the log changed, and where."""
    source = Path(storage.removeprefix("sqlite:///"))
    rng = np.random.default_rng(seed)
    log = Path(f"{source}-wal").read_bytes()
    made = []
    for number in range(count):
        target = folder / f"copy{number}.db"
        shutil.copy(source, target)
        place = int(rng.integers(32 if number % 4 == 0 else len(log)))
        changed = bytearray(log)
        changed[place] ^= 1 << int(rng.integers(8))
        Path(f"{target}-wal").write_bytes(changed)
        made.append((place, f"sqlite:///{target}"))
    return made


def test_a_damaged_log_is_noticed_unless_only_its_end_is_lost(sqlite: str, tmp_path: Path) -> None:
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    play(study, 20)
    whole = fingerprint(study)["seq"]
    noticed = []
    for _, copy in damaged_copies(sqlite, tmp_path, seed=5, count=16):
        try:
            with cb.Study.load("s", storage=copy) as left:
                assert fingerprint(left)["seq"] in range(whole - 2, whole + 1)
        except StorageError as error:
            noticed.append(str(error))
    assert len(noticed) > 7
    assert all("is damaged" in said or "is not an SQLite database" in said for said in noticed)


def test_logs_of_running_and_killed_writers_are_whole(sqlite: str) -> None:
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    for rounds in range(1, 4):
        play(study, rounds)
        path = Path(sqlite.removeprefix("sqlite:///"))
        log = read_log(path)
        assert log is not None
        assert log.header_is_whole
        assert _transactions_left(path, log, 0) > rounds
        assert cb.Study.load("s", storage=sqlite).to_frame().height == len(study.to_frame())


def test_the_sentence_says_what_is_lost(sqlite: str, tmp_path: Path) -> None:
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    play(study, 5)
    source = Path(sqlite.removeprefix("sqlite:///"))
    log = bytearray(Path(f"{source}-wal").read_bytes())
    log[len(log) // 2] ^= 255
    shutil.copy(source, tmp_path / "copy.db")
    (tmp_path / "copy.db-wal").write_bytes(log)
    with pytest.raises(StorageError, match=r"log is broken, and at least \d+ transactions cannot be read"):
        cb.Study.load("s", storage=f"sqlite:///{tmp_path}/copy.db")
