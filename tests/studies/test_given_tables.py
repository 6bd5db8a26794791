"""Tables and values that a study is given: nothing is lost, nothing is made up."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import causal_bandits as cb
from causal_bandits.errors import ConflictError, ObservationError
from causal_bandits.product.studies import edits

from .cases import PLANT, SHOP, fingerprint, rebuilt

LOG = [
    {"banner": "red", "discount": "none", "clicked": 1, "cart": "some", "purchase": 1},
    {"banner": "none", "discount": "none", "clicked": 0, "cart": None, "purchase": 0},
    {"banner": "blue", "discount": "10%", "clicked": 1, "cart": "full", "purchase": 1},
]


def shop(storage: str, asked: int = 0) -> cb.Study:
    study = cb.Study.create("shop", SHOP, storage=storage, seed=1)
    if asked:
        study.ask(asked)
    return study


def cells(study: cb.Study) -> list[tuple[Any, ...]]:
    return study.to_frame().select("status", "clicked", "cart", "purchase").rows()


@pytest.mark.parametrize("chunk", [2, 20_000])
def test_a_key_stands_for_the_rows_it_imported(storage: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "IMPORT_CHUNK", chunk)
    study = shop(storage)
    assert study.import_rows(LOG, key="may") == 3
    before = fingerprint(study)
    assert study.import_rows(LOG, key="may") == 0
    assert study.import_rows(pd.DataFrame(LOG), key="may") == 0
    other = [*LOG[:2], {**LOG[2], "purchase": 0}]
    for table in (LOG[:1], LOG[:2], [*LOG, *LOG], other):
        with pytest.raises(ConflictError, match="key 'may' was used to import 3 other rows; use a new key"):
            study.import_rows(table, key="may")
    with pytest.raises(ObservationError, match="a str is not a table"):
        study.import_rows("garbage", key="may")
    study.add_arm({"banner": "green"}, new_levels=True)
    assert study.import_rows(LOG, key="may") == 0
    assert fingerprint(study) == fingerprint(rebuilt(study)) != before
    assert study.import_rows(other, key="june") == 3


SEVERAL = [pd.Series([1]), np.array([1, 2]), np.array([1]), pl.Series([1]), [1], (1,), {}, {"a": 1}, np.array([np.nan])]


@pytest.mark.parametrize("value", SEVERAL, ids=lambda value: type(value).__name__)
def test_several_values_are_not_one(sqlite: str, value: Any) -> None:
    study = shop(sqlite, asked=1)
    plant = cb.Study.create("plant", PLANT, storage=sqlite, seed=1)
    plant.ask()
    kind = type(value).__name__
    for name, one in (("clicked", study), ("purchase", study), ("temperature", plant), ("yield", plant)):
        with pytest.raises(ObservationError, match=f"{name!r} is .*, a {kind}; expected one value"):
            one.tell(1, {name: value})
    assert cells(study) == [("open", None, None, None)]
    with pytest.raises(ObservationError, match=f"row 2: 'cart' is .*, a {kind}"):
        study.import_rows([LOG[0], {**LOG[1], "cart": value}])


def test_scalars_of_array_libraries_are_values(sqlite: str) -> None:
    plant = cb.Study.create("plant", PLANT, storage=sqlite, seed=1)
    plant.ask()
    plant.tell(1, {"temperature": np.array(1.5), "valve": pd.NA}, reward=np.float32(2))
    assert plant.to_frame().select("temperature", "valve", "yield").rows() == [(1.5, None, 2.0)]


def test_what_a_row_does_not_name_is_not_told(sqlite: str) -> None:
    study = shop(sqlite, asked=3)
    told = [{"id": 1, "clicked": 1}, {"id": 2, "purchase": 1}, {"id": 3, "clicked": None, "purchase": 0}]
    assert study.tell_many(told) == 3
    assert study.tell_many([{"id": number, "cart": "some"} for number in (1, 2, 3)]) == 3
    study.tell(1, reward=0)
    study.tell(2, {"clicked": 0})
    assert cells(study) == [("told", 1, "some", 0), ("told", 0, "some", 1), ("told", None, "some", 0)]
    assert study.missing() == {"clicked": 1, "cart": 0}


TABLES = [pl.DataFrame, pd.DataFrame, lambda table: {name: pd.Series(v, index=[7, 8, 9]) for name, v in table.items()}]


@pytest.mark.parametrize("kind", TABLES)
def test_an_empty_cell_is_not_known_yet_unless_the_reward_is_there(sqlite: str, kind: Any) -> None:
    study = shop(sqlite, asked=3)
    study.tell(3, {"cart": "full"})
    table = {"id": [1, 2, 3], "clicked": [1, None, None], "cart": ["some", "some", None], "purchase": [None, 1, 0]}
    assert study.tell_many(kind(table)) == 3
    expected = [("open", 1, "some", None), ("told", None, "some", 1), ("told", None, "full", 0)]
    assert cells(study) == expected
    assert study.tell_many(kind(table)) == 0
    study.tell(1, reward=1)
    assert study.missing() == {"clicked": 2, "cart": 0}
    with pytest.raises(ConflictError, match="row 1: decision 1: 'clicked' is recorded as 1, and now reported as 0"):
        study.tell_many(kind({**table, "clicked": [0, 0, 0]}))


def test_the_last_table_says_that_it_is_the_last(sqlite: str) -> None:
    study = shop(sqlite, asked=2)
    study.tell_many(pl.DataFrame({"id": [1, 2], "purchase": [0, 1]}))
    table = pl.DataFrame({"id": [1, 2], "clicked": [1, None]})
    assert study.tell_many(table, final=True) == 2
    assert cells(study) == [("told", 1, None, 0), ("told", None, None, 1)]
