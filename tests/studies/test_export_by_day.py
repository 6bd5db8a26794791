"""Decisions as Parquet, a folder for each day."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

import causal_bandits as cb
from causal_bandits.errors import OptionError, OutputError
from causal_bandits.product.studies import export_by_day

from .cases import SHOP, answer
from .conftest import Run

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp()


def days_of(storage: str, problem: cb.Problem = SHOP) -> cb.Study:
    """Three days with 5 decisions each, the last one without outcomes."""
    study = cb.Study.create("shop", problem, storage=storage, seed=1)
    now = NOON
    study._session.clock = lambda: now
    for day in range(3):
        now = NOON + 86_400 * day
        for decision in study.ask(5):
            if day < 2 and problem is SHOP:
                study.tell(decision.id, answer(problem, decision))
    return study


def test_days_together_are_the_whole_table(sqlite: str, tmp_path: Path) -> None:
    study = days_of(sqlite)
    folder = tmp_path / "out"
    files = export_by_day(study.to_frame(), folder)
    assert [str(file.relative_to(folder)) for file in files] == [
        f"day={day}/decisions.parquet" for day in ("2026-01-31", "2026-02-01", "2026-02-02")
    ]
    together = pl.read_parquet(folder / "*/*.parquet", hive_partitioning=True)
    assert together["day"].dtype == pl.Date
    assert together.drop("day").equals(study.to_frame())
    before = [file.read_bytes() for file in files]
    export_by_day(study.to_frame(), folder)
    assert [file.read_bytes() for file in files] == before
    for number in range(11, 16):
        study.tell(number, {"clicked": 1, "cart": "some", "purchase": 1})  # late outcomes change their own day alone
    (folder / "mine.txt").write_text("stays")
    export_by_day(study.to_frame(), folder)
    assert [file.read_bytes() == old for file, old in zip(files, before, strict=True)] == [True, True, False]
    assert (folder / "mine.txt").read_text() == "stays"


def test_the_column_has_another_name_where_a_variable_is_called_day(sqlite: str, tmp_path: Path) -> None:
    study = days_of(sqlite, cb.Problem("Y", {"day": 2}, {"I": ["none", "a"]}))
    (first, *_) = export_by_day(study.to_frame(), tmp_path)
    assert first.parent.name == "asked_day=2026-01-31"
    assert export_by_day(study.to_frame().clear(), tmp_path / "none") == []


def test_on_the_command_line(run: Run, tmp_path: Path) -> None:
    days_of(f"sqlite:///{tmp_path}/cli.db")
    found = run("study", "export", "shop", "--out", tmp_path / "days", "--by-day", "--json")
    assert found["decisions"] == 15
    assert len(found["files"]) == 3
    with pytest.raises(OptionError, match="--by-day writes Parquet files into a folder"):
        run("study", "export", "shop", "--out", "days.csv", "--by-day")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write to folder"):
        run("study", "export", "shop", "--out", tmp_path / "file", "--by-day")
