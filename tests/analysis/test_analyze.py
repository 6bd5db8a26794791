"""A table analysed: what is inferred, what is said, what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import causal_bandits as cb
from causal_bandits.analysis import infer
from causal_bandits.data.table_files import read_table, write_table
from causal_bandits.errors import CausalBanditsError, OptionError, TableFileError
from causal_bandits.reporting import analysis_page

LEVERS = ["banner", "discount"]


def example() -> dict[str, Any]:
    return cb.analyze("example", target="purchase", interventions=LEVERS).to_dict()


def test_the_example_says_what_was_simulated() -> None:
    """{cart} separates both levers; red with discount is the best arm; sharing makes every interval narrower."""
    found = example()
    assert ["cart"] in [each["variables"] for each in found["accepted"] if each["separated"] == LEVERS]
    assert len(found["sets"]) == 8
    assert all(len(each["tests"]) == 2 for each in found["sets"])
    assert found["recommendation"]["settings"] == {"banner": "red", "discount": "10%"}
    assert all(arm["width"] < arm["without_sharing"]["width"] for arm in found["arms"])
    assert found["missing"] == {"clicked": 73}
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_what_it_finds_is_what_the_parts_find() -> None:
    """The twin: a history, the tests and the estimators called one by one."""
    analysis = cb.analyze("example", target="purchase", interventions=LEVERS, observed=["cart"])
    table = analysis.inferred.table
    policy = cb.CausalThompsonSampling(analysis.inferred.problem, seed=5)
    policy.tell_many(table)
    assert analysis.policy.estimates().to_frame().equals(policy.estimates().to_frame())
    plain = cb.ThompsonSampling(analysis.inferred.problem, seed=5)
    plain.tell_many(table)
    widths = {str(e.arm): e.high - e.low for e in plain.estimates()}
    assert {arm["arm"]: arm["without_sharing"]["width"] for arm in analysis.to_dict()["arms"]} == widths


def test_a_gaussian_table() -> None:
    rng = np.random.default_rng(3)
    i = rng.integers(3, size=600)
    a = i + rng.normal(size=600)
    table = pl.DataFrame({"dose": i, "a": a, "noise": rng.normal(size=600), "y": 2 * a + rng.normal(size=600)})
    found = cb.analyze(table, target="y", interventions="dose")
    assert found.inferred.kind == "gaussian"
    assert found.recommendation.arm == {"dose": 2}
    assert ("a",) in {each.variables for each in found.policy.separating_sets()}
    assert "a: a real number" in found.inferred.notes
    assert "Gaussian" in found.inferred.notes[0]
    page = analysis_page(found.to_dict())
    assert "do(dose=2)" in page
    forced = cb.analyze(
        table.with_columns(pl.lit(1).alias("one"), (pl.col("y") > 0).cast(int)),
        target="y",
        interventions="dose",
        kind="gaussian",
    )
    assert forced.inferred.kind == "gaussian"
    assert "one: always 1, left out" in forced.inferred.notes


def test_kinds_of_columns() -> None:
    rows = 60
    table = pl.DataFrame(
        {
            "lever": ["control", "treatment"] * 30,
            "level": [True, False] * 30,
            "few": [1, 2, 3] * 20,
            "real": np.linspace(0, 1, rows),
            "name": [f"visitor {row}" for row in range(rows)],
            "empty": [None] * rows,
            "words": [f"word {row % 25}" for row in range(rows)],
            "gap": [None, "a", "b"] * 20,
            "y": [0, 1, 1, None, 0, 1] * 10,
        }
    )
    found = infer(table, "y", ["lever"])
    assert found.problem.to_dict()["observed"] == {
        "level": [False, True],
        "few": [1, 2, 3],
        "real": found.problem.to_dict()["observed"]["real"],
        "gap": ["a", "b"],
    }
    assert len(found.problem.observed[2].bins.cuts or ()) == 3  # type: ignore[union-attr]
    said = "\n".join(found.notes)
    for note in (
        "10 of 60 rows lack",
        "name: a different value in every row",
        "empty: empty, left out",
        "words: 25 values",
        "idle is 'control' (by its name)",
        "gap: 2 levels, 'a', 'b', missing in",
    ):
        assert note in said
    assert found.table.height == 50


def csv(folder: Path, text: str, name: str = "data.csv") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


BAD = [
    ("", "cannot be read as a table"),
    ("i,y\n", "has no rows"),
    ("i,a\n1,2\n", "has no column 'y'; it has 'i', 'a'"),
    ("a,y\n1,1\n", "has no column 'i'"),
    ("i,y\n1,1\n1,0\n", "there is only one arm"),
    ("i,y\n1,1\n2,1\n", "is 1 in every row"),
    ("i,y\n1,yes\n2,no\n", "target 'y' is text"),
    ("i,y\n1,1\n2,no\n", r"target 'y' mixes numbers and text \('no' in row 2\)"),
    ("i,y\n1,\n,1\n", "no row has both"),
    ("i,i,y\n1,2,3\n", "names the column 'i' twice"),
    (
        "i,a,y\n" + "".join(f"{r % 2},{r if r != 7 else 'oops'},{r % 2}\n" for r in range(40)),
        r"column 'a' mixes numbers and text \('oops' in row 8\)",
    ),
    ("i,y\n" + "".join(f"{r},{r % 2}\n" for r in range(40)), "intervention 'i' has 40 values"),
    ("i,y\n1,1\n2,0,3\n", "cannot be read as a table"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_bad_tables_get_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TableFileError, match=message):
        cb.analyze(csv(tmp_path, text), target="y", interventions=["i"])


def test_other_doors(tmp_path: Path) -> None:
    with pytest.raises(TableFileError, match="there is no file"):
        cb.analyze(tmp_path / "nothing.csv", target="y", interventions=["i"])
    with pytest.raises(TableFileError, match=r"expected \.csv, \.tsv or \.parquet"):
        cb.analyze(csv(tmp_path, "x", "data.xlsx"), target="y", interventions=["i"])
    good = csv(tmp_path, "i,a,y\n0,1,1\n1,0,0\n0,1,0\n1,1,1\n")
    doors: list[dict[str, Any]] = [
        {"interventions": []},
        {"interventions": ["y"]},
        {"interventions": ["i"], "kind": "odd"},
        {"interventions": ["i"], "ignore": ["z"]},
        {"interventions": ["i"], "max_size": -1},
    ]
    for options in doors:
        with pytest.raises(CausalBanditsError):
            cb.analyze(good, target="y", **options)
    with pytest.raises(TableFileError, match="kind=discrete needs 0 and 1"):
        cb.analyze({"i": [0, 1], "y": [0.5, 2.0]}, target="y", interventions=["i"], kind="discrete")
    with pytest.raises(OptionError, match="is not a table"):
        cb.analyze(object(), target="y", interventions=["i"])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_are_read_as_they_were_written(tmp_path: Path, ending: str) -> None:
    table = pl.DataFrame({"i": ["a", "b"], "n": [1, None], "y": [0.5, 2.0]})
    write_table(table, tmp_path / f"t.{ending}")
    assert read_table(tmp_path / f"t.{ending}").equals(table)
    (tmp_path / "t.tsv").write_text("i\ty\na\t1\n")
    assert read_table(tmp_path / "t.tsv").rows() == [("a", 1)]
