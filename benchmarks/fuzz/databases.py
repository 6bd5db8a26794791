"""Study databases that are corrupt: events edited, pages overwritten, the write-ahead log torn."""

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import causal_bandits as cb

from .api import DISCRETE, rows_of
from .damage import damaged_bytes, damaged_json
from .judging import Score, SilentlyDifferentError, judge

Damage = Callable[[Path, np.random.Generator], None]


def answers(storage: str) -> dict[str, Any]:
    """All that a study says, from a storage opened afresh."""
    with cb.Study.load("s", storage=storage) as study:
        frame = study.to_frame()
        told = frame.write_json()
        return {"seed": study.seed, "frame": told, "about": study.describe(), "rewards": frame["y"].to_list()}


class Original(NamedTuple):
    """A whole study: the folder of its files, what it says, and what it said after each of its calls."""

    folder: Path
    answers: dict[str, Any]
    earlier: list[dict[str, Any]]


def _play(storage: str, record: list[dict[str, Any]] | None) -> cb.Study:
    """A study with every kind of event; kept open, so that its log is not folded into the database."""
    study = cb.Study.create("s", DISCRETE, storage=storage, seed=1)
    rows = rows_of(DISCRETE, 60, seed=3)

    def note() -> None:
        if record is not None:
            record.append(answers(storage))

    note()
    study.import_rows(rows[:20], key="first")
    note()
    for place in range(20, 44):
        decision = study.ask(key=f"k{place}") if place % 5 == 0 else study.ask()
        note()
        if place % 7:
            study.tell(decision, {"m": rows[place]["m"], "k": rows[place]["k"]}, reward=rows[place]["y"])
        elif place % 2:
            study.tell(decision, {"m": rows[place]["m"]})
        else:
            study.abandon(decision)
        note()
    study.forbid({"x": "a"})
    note()
    study.add_arm({"x": "b"}, new_levels=True)
    note()
    study.ask(3)
    note()
    return study


def whole(folder: Path, *, with_log: bool = False) -> Original:
    """The study to damage; with its log beside it, or all in one file."""
    folder.mkdir(parents=True, exist_ok=True)
    earlier: list[dict[str, Any]] = []
    storage = f"sqlite:///{folder}/live.db"
    study = _play(storage, earlier if with_log else None)
    kept = folder / "kept"
    kept.mkdir()
    if not with_log:
        study.close()
        with contextlib.closing(sqlite3.connect(folder / "live.db")) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for name in ("live.db", "live.db-wal"):
        if (folder / name).exists() and (with_log or name == "live.db"):
            shutil.copy(folder / name, kept / name.replace("live", "s"))
    study.close()
    copied = folder / "read"
    shutil.copytree(kept, copied)  # reading may fold the log in
    return Original(kept, answers(f"sqlite:///{copied}/s.db"), earlier)


def _room(cases: int, rng: np.random.Generator, damage: Damage, *, with_log: bool = False) -> Score:
    score = Score()
    with tempfile.TemporaryDirectory() as name:
        original = whole(Path(name) / "whole", with_log=with_log)
        for case in range(cases):
            folder = Path(name) / str(case)
            shutil.copytree(original.folder, folder)
            damage(folder / "s.db", rng)
            judge(score, f"case {case}", partial(_same, original, f"sqlite:///{folder}/s.db"))
            shutil.rmtree(folder)
    return score


def _same(original: Original, storage: str) -> None:
    """The corrupt study says the same as before (or as after one of its calls, where only a log was torn)."""
    found = answers(storage)
    if found != original.answers and found not in original.earlier:
        wrong = [key for key, value in found.items() if value != original.answers[key]]
        raise SilentlyDifferentError(f"{', '.join(wrong)} differ")


def _edit(path: Path, rng: np.random.Generator) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        seqs = [row[0] for row in connection.execute("SELECT seq FROM cb_events ORDER BY seq")]
        seq = seqs[int(rng.integers(len(seqs)))]
        how = rng.integers(10)
        if how < 5:
            (body,) = connection.execute("SELECT body FROM cb_events WHERE seq = ?", (seq,)).fetchone()
            connection.execute("UPDATE cb_events SET body = ? WHERE seq = ?", (damaged_json(body, rng), seq))
        elif how == 5:
            connection.execute("DELETE FROM cb_events WHERE seq = ?", (seq,))
        elif how == 6:
            connection.execute("UPDATE cb_events SET seq = ? WHERE seq = ?", (max(seqs) + 7, seq))
        elif how == 7:
            times = [-1.0, 1e18, 9e99, float("inf"), "x", 0.0]
            connection.execute("UPDATE cb_events SET time = ? WHERE seq = ?", (times[int(rng.integers(6))], seq))
        elif how == 8:
            kinds = ["told", "asked", "created", "nonsense", "", "arms"]
            connection.execute("UPDATE cb_events SET kind = ? WHERE seq = ?", (kinds[int(rng.integers(6))], seq))
        else:
            (settings,) = connection.execute("SELECT settings FROM cb_studies").fetchone()
            connection.execute("UPDATE cb_studies SET settings = ?", (damaged_json(settings, rng),))
        connection.commit()


def _overwrite(path: Path, rng: np.random.Generator) -> None:
    path.write_bytes(damaged_bytes(path.read_bytes(), rng))


def _tear(path: Path, rng: np.random.Generator) -> None:
    _overwrite(path.with_name(path.name + "-wal"), rng)


def events(cases: int, rng: np.random.Generator) -> Score:
    """Events and settings whose text was edited, or that are gone or moved."""
    return _room(cases, rng, _edit)


def pages(cases: int, rng: np.random.Generator) -> Score:
    """Pages of the database file that were overwritten."""
    return _room(cases, rng, _overwrite)


def log(cases: int, rng: np.random.Generator) -> Score:
    """A write-ahead log that was overwritten or cut; an earlier state of the study is a right answer."""
    return _room(cases, rng, _tear, with_log=True)
