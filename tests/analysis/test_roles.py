"""Roles of columns are proposed with reasons, and nothing is analyzed before they are named."""

import json
import shlex
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import causal_bandits as cb
from causal_bandits.cli import analyze as command
from causal_bandits.cli import app
from causal_bandits.errors import CausalBanditsError, OptionError, TableFileError
from causal_bandits.product.analysis import infer, propose
from causal_bandits.product.analysis.columns import is_date, why_identifier


def table(rows: int = 60) -> dict[str, list[Any]]:
    """A log as a shop keeps it."""
    rng = np.random.default_rng(5)
    return {
        "orderId": [f"A-{n}" for n in range(rows)],
        "customer": [1000 + n // 2 for n in range(rows)],
        "created_at": [f"2026-01-{1 + n % 28:02} 12:00:00" for n in range(rows)],
        "variant": ["control", "new"] * (rows // 2),
        "price, EUR": [9.5, 12.5, 9.5] * (rows // 3),
        "clicked": rng.integers(2, size=rows).tolist(),
        "comment": [f"text {n % 30}" for n in range(rows)],
        "converted": rng.integers(2, size=rows).tolist(),
        "revenue": rng.random(rows).tolist(),
        "country": ["DE"] * rows,
    }


def test_a_proposal_says_what_and_why() -> None:
    found = propose(table())
    assert found.target == "converted"  # 0 and 1 before other numbers
    assert found.interventions == ["variant", "price, EUR"]
    assert found.named("observed") == ["clicked", "revenue"]
    why = {role.column: role.why for role in found.roles}
    assert why["orderId"] == "an identifier: a different value in every row"
    assert why["customer"] == "an identifier: 30 values, and called one"
    assert why["created_at"] == "dates or times"
    assert why["comment"] == "text with 30 values"
    assert why["country"] == "the same value everywhere"
    assert all(why.values())


def test_what_is_named_is_not_proposed_otherwise() -> None:
    found = propose(table(), target="revenue", interventions=["clicked"], drop=["converted"])
    assert (found.target, found.interventions) == ("revenue", ["clicked"])
    assert {role.column: role.why for role in found.roles}["converted"] == "named in --drop"
    assert "variant" in found.named("observed")


def test_without_names_that_help_it_is_called_a_guess() -> None:
    found = propose({"a": [0, 1, 2] * 9, "b": [0, 1, 1] * 9, "c": [0.5, 1.5, 2.5] * 9, "d": [1, 0, 0] * 9})
    assert (found.target, found.interventions) == ("d", ["a"])
    assert [role.why for role in found.roles if "a guess" in role.why]


def test_where_no_lever_can_be_proposed_it_must_be_named() -> None:
    found = propose({"a": ["x", "y"], "b": [0, 1]})
    assert found.interventions == []
    assert found.command("t.csv").endswith("--target b --interventions LEVER")


def test_bad_proposals() -> None:
    with pytest.raises(TableFileError, match="no column can be the reward"):
        propose({"a": ["x", "y"] * 30})
    with pytest.raises(TableFileError, match="the table has no column 'z'"):
        propose(table(), target="z")
    with pytest.raises(OptionError, match="'clicked' is dropped and also named"):
        propose(table(), target="clicked", drop=["clicked"])


@pytest.mark.parametrize(
    ("values", "is_one"),
    [
        (["2026-01-31", "2026-02-01"], True),
        (["31.01.2026", None], True),
        (["1/31/26 5:05 PM"], True),
        (["2026-01-31T12:00:00.5+01:00"], True),
        (["12:30"], True),
        (["3 Feb 2026", "Mar 4, 2026"], True),
        ([date(2026, 1, 1)], True),
        (["2026-01-31", "soon"], False),
        (["1.5", "2.5"], False),
        (["12 abc 2026"], False),
        ([20260131, 20260201], True),
        ([1_790_000_000], True),
        ([20261331], False),
        ([], False),
    ],
)
def test_dates(values: list[Any], is_one: bool) -> None:
    assert is_date(pl.Series("order_date", values)) == is_one


def test_numbers_are_dates_by_their_name_alone() -> None:
    assert not is_date(pl.Series("visits", [20260131, 20260201]))


def test_identifiers() -> None:
    many = [f"u{n}" for n in range(30)] * 2
    assert why_identifier(pl.Series("userId", many), 30)
    assert why_identifier(pl.Series("paid", many), 30) is None
    assert why_identifier(pl.Series("user_id", [1, 2] * 30), 2) is None  # few levels: two users, maybe
    mails = [f"{n}@example.org" for n in range(30)] * 2
    assert why_identifier(pl.Series("contact", mails), 30) == "30 values that look like one"
    assert why_identifier(pl.Series("id", [n + 0.5 for n in range(30)]), 30) is None


def test_dates_and_identifiers_are_left_out_of_an_analysis() -> None:
    columns = table(60)
    found = infer(pl.DataFrame(columns), "converted", ["variant"])
    assert found.problem.observed_names == ("price, EUR", "clicked", "revenue")
    said = "\n".join(found.notes)
    assert "created_at: dates or times, left out" in said
    assert "customer: 30 values, and called one, treated as an identifier and left out" in said
    few = {**columns, "created_at": ["2026-01-01", "2026-01-02"] * 30}
    named = infer(pl.DataFrame(few), "converted", ["variant"], observed=["created_at", "customer"])
    assert named.problem.observed_names == ("customer", "created_at")


def run(*arguments: str) -> Any:
    result = CliRunner().invoke(app, ["analyze", *arguments])
    if isinstance(result.exception, CausalBanditsError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout) if "--json" in arguments else result.stdout


def test_the_proposed_command_analyses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(table(120)).write_csv("my log.csv", separator=";")
    shown = run("my log.csv", "--drop", "revenue")
    assert "Nothing was analyzed" in shown
    assert "Noticed" not in shown
    line = next(line for line in shown.splitlines() if line.startswith("    causal-bandits analyze"))
    proposed = run("my log.csv", "--drop", "revenue", "--json")
    assert proposed["command"] == line.strip()
    analysed = run(*shlex.split(line)[2:], "--json")
    assert analysed["interventions"] == proposed["proposal"]["interventions"] == ["variant", "price, EUR"]
    assert analysed["observed"] == proposed["proposal"]["observed"] == ["clicked"]
    assert "cells are separated by semicolons" in analysed["inferred"]


def test_at_a_terminal_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_agreed", lambda: True)
    assert "Inferred from the table" in run("example")


def test_the_answer_comes_first_and_sets_are_few(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    columns = {f"m{n}": rng.integers(2, size=400).tolist() for n in range(5)}
    log = {"arm": ["a", "b"] * 200, **columns, "y": rng.integers(2, size=400).tolist()}
    pl.DataFrame(log).write_csv(tmp_path / "log.csv")
    arguments = [str(tmp_path / "log.csv"), "--target", "y", "--interventions", "arm"]
    shown, everything = run(*arguments), run(*arguments, "--all")
    assert shown.startswith(("Recommended: arm=", "No arm stands out yet. Recommended: arm="))
    places = [shown.index(word) for word in ("Arms, the best first", "Separating sets", "Inferred from the table")]
    assert places == sorted(places)
    assert shown.count("separates with probability") == 10
    assert "the first 10 of 31; --all shows all" in shown
    assert everything.count("separates with probability") == 31


def test_progress_is_called() -> None:
    said: list[tuple[str, int, int]] = []
    cb.analyze(
        "example",
        target="purchase",
        interventions="banner",
        progress=lambda what, done, of: said.append((what, done, of)),
    )
    assert [what for what, done, _ in said if done == 0] == ["reading", "counting rows", "testing columns"]
    assert ("counting rows", 1500, 1500) in said


def test_a_semicolon_table_with_decimal_commas_is_the_same_table(tmp_path: Path) -> None:
    log = pl.DataFrame({**table(120), "price, EUR": [9.5, 12.25, 9.5] * 40})
    log.write_csv(tmp_path / "point.csv")
    comma = log.with_columns(pl.col(pl.Float64).cast(pl.String).str.replace(".", ",", literal=True))
    comma.write_csv(tmp_path / "comma.csv", separator=";")
    found = [
        cb.analyze(tmp_path / name, target="converted", interventions=["variant", "price, EUR"]).to_dict()
        for name in ("point.csv", "comma.csv")
    ]
    assert found[0]["arms"] == found[1]["arms"]
    assert found[0]["sets"] == found[1]["sets"]
