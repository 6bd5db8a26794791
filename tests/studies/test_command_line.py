"""The study and analyze commands, in this process; one real process shows that errors end well."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import causal_bandits as cb
from causal_bandits.errors import CausalBanditsError, StorageError

from .cases import SHOP, fingerprint, play
from .conftest import Run, new_schema


@pytest.mark.parametrize(
    ("given", "commands"),
    [(None, ("show", "sets", "health", "guardrails", "audit")), ("now", ("audit",))],
)
def test_a_look_at_a_study_runs_interpreted_unless_the_environment_says_how(
    run: Run, monkeypatch: pytest.MonkeyPatch, given: str | None, commands: tuple[str, ...]
) -> None:
    """Loading numba takes longer than most commands that read a study."""
    run("study", "create", "shop", "--problem", "problem.json")
    seen, load = [], cb.Study.load

    def loaded(name: str, *, storage: str) -> cb.Study:
        seen.append(os.environ.get("CAUSAL_BANDITS_COMPILE"))
        return load(name, storage=storage)

    monkeypatch.setattr(cb.Study, "load", loaded)
    if given is None:
        monkeypatch.delenv("CAUSAL_BANDITS_COMPILE")
    else:
        monkeypatch.setenv("CAUSAL_BANDITS_COMPILE", given)
    for command in commands:
        run("study", command, "shop")
    assert seen == [given or "never"] * len(commands)
    run("study", "publish", "shop")
    assert seen[-1] == os.environ.get("CAUSAL_BANDITS_COMPILE") == given


def test_a_study_from_the_shell(run: Run, tmp_path: Path) -> None:
    made = run("study", "create", "shop", "--problem", "problem.json", "--seed", 1, "--json")
    assert (made["name"], made["policy"], made["seed"]) == ("shop", "safe", 1)
    assert run("study", "list", "--json")[0]["name"] == "shop"
    assert "shop: safe" in run("study", "list")
    first, second = run("study", "ask", "shop", "-n", 2, "--key", "k", "--json")
    assert run("study", "ask", "shop", "-n", 2, "--key", "k", "--json") == [first, second]
    run("study", "tell", "shop", 1, "-m", "clicked=1", "-m", "cart=")
    run("study", "tell", "shop", 1, "--reward", 1)
    only = run("study", "ask", "shop", "--arm", "banner=red,discount=10%", "--json")
    assert only[0]["arm"] == {"banner": "red", "discount": "10%"}
    run("study", "abandon", "shop", 3)
    assert run("study", "ask", "shop", "-n", 2, "--key", "k").splitlines() == [
        f"{one['id']}\tbanner={one['arm']['banner']}, discount={one['arm']['discount']}" for one in (first, second)
    ]
    pl.DataFrame({"id": [2], "clicked": [0], "cart": ["full"], "purchase": [1]}).write_csv(tmp_path / "told.csv")
    assert run("study", "tell", "shop", "--file", "told.csv", "--json") == {"told": 1}
    log = pl.DataFrame(
        [{**arm, "clicked": 1, "cart": "some", "purchase": n % 2} for n, arm in enumerate(SHOP.arms * 5)]
    )
    log.write_parquet(tmp_path / "log.parquet")
    assert run("study", "import", "shop", "log.parquet", "--key", "x", "--json") == {"imported": 30}
    assert run("study", "import", "shop", "log.parquet", "--key", "x", "--json") == {"imported": 0}
    again = "0 rows imported: key 'x' was used for the same rows before"
    assert again in run("study", "import", "shop", "log.parquet", "--key", "x")
    log.drop("banner", "discount").write_csv(tmp_path / "seen.csv")
    assert run("study", "import", "shop", "seen.csv", "--observational", "--json") == {"imported": 30}
    assert run("study", "import", "shop", "seen.csv", "--arm", "banner=blue", "--json") == {"imported": 30}
    about = run("study", "show", "shop", "--json")
    assert about["decisions"] == {"all": 3, "told": 2, "open": 0, "abandoned": 1, "expired": 0, "excluded": 0}
    assert about["rows"] == 92
    assert about["missing"] == {"cart": 1}
    shown = run("study", "show", "shop")
    for word in ("Arms, the best first", "Separating sets", "leads and is the best", "cart is missing in 1 row"):
        assert word in shown
    run("study", "finish", "shop")
    finished = run("study", "show", "shop")
    assert "Finished on" in finished
    assert "The winner is banner=" in finished
    assert "leads" not in finished
    assert run("study", "advice", "shop").startswith("finished: since ")
    run("study", "report", "shop", "--out", "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    run("study", "export", "shop", "--out", "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet")["status"].to_list() == ["told", "told", "abandoned"]


BAD = [
    (["study", "show", "nothing"], "there is no study 'nothing'"),
    (["study", "tell", "shop", 9, "--reward", 1], "decision 9 is not known"),
    (["study", "tell", "shop", 1, "--reward", "lots"], "'purchase' is 'lots'; expected a number"),
    (["study", "tell", "shop", 1, "-m", "clicked"], "'clicked' is not of the form variable=value"),
    (["study", "tell", "shop", 1, "-m", "cart=huge"], "'huge' is not a level of 'cart'"),
    (["study", "tell", "shop"], "tell needs a decision id"),
    (["study", "tell", "shop", "--file", "told.csv", "--reward", 1], "drop --mediator, --metric and --reward"),
    (["study", "tell", "shop", "--file", "told.csv", "-m", "clicked=1"], "drop --mediator, --metric and --reward"),
    (["study", "tell", "shop", 1, "--reward", "yes"], "'purchase' is 'yes'; expected a number"),
    (["study", "tell", "shop", 1], "no values for decision 1; pass mediators or a reward, or final=True"),
    (
        ["study", "tell", "shop", 1, "--final"],
        "has no reward 'purchase' yet; record the reward before final=True, or with it",
    ),
    (["study", "ask", "shop", "--key", "\udcff"], "is not valid Unicode"),
    (["study", "export", "shop", "--out", "d.xlsx"], r"'d\.xlsx' ends in '\.xlsx'; .* \.csv, \.tsv or \.parquet"),
    (["study", "export", "shop", "--out", "d"], r"'d' ends in ''; .* \.csv"),
    (["study", "delete", "shop"], "and all its decisions; pass --yes to confirm"),
    (["study", "delete", "other", "--yes"], "there is no study 'other'"),
    (
        ["study", "create", "other", "--problem", "problem.json", "--expire-after", "inf"],
        "expire_after='inf'; expected seconds above 0",
    ),
    (["study", "create", "other", "--problem", "listed.json"], r"observed=\[1\]; expected \{name: levels\}"),
    (["study", "tell", "shop", "--file", "nothing.csv"], "there is no file 'nothing.csv'"),
    (["study", "create", "shop", "--problem", "problem.json", "--seed", 2], "with another seed"),
    (["study", "create", "other", "--problem", "nothing.json"], "cannot read the problem"),
    (["study", "create", "other", "--problem", "bad.json"], "is not JSON"),
    (["study", "create", "other", "--problem", "list.json"], "is not an object"),
    (["study", "create", "other", "--problem", "problem.json", "--options", "{"], "options is not JSON"),
    (["study", "ask", "shop", "--arm", "banner=green"], "'green' is not a level of 'banner'"),
    (["study", "ask", "shop", "--storage", "studies.db"], "is not a URL"),
    (
        ["study", "import", "shop", "told.csv"],
        r"the table has no column 'banner'; .*; or name the arm \(.* --arm\) when",
    ),
    (
        ["study", "import", "shop", "log.csv", "--observational", "--key", "k"],
        "key 'k' was used to import 1 other rows",
    ),
    (["study", "import", "shop", "told.csv", "--arm", "banner=red", "--observational"], "cannot be combined"),
    (["study", "report", "shop", "--out", "/dev/null/x.html"], "cannot write"),
    (["analyze", "told.csv", "--target", "y", "--interventions", "i"], "has no column 'y'"),
    (["analyze", "nothing.csv", "--target", "y", "--interventions", "i"], "there is no file"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input_is_one_sentence_and_stores_nothing(
    run: Run, tmp_path: Path, arguments: list[object], message: str
) -> None:
    run("study", "create", "shop", "--problem", "problem.json", "--seed", 1)
    run("study", "ask", "shop")
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "listed.json").write_text('{"target": "y", "observed": [1], "interventions": {"i": 2}}')
    (tmp_path / "told.csv").write_text("id,clicked\n1,1\n")
    log = tmp_path / "log.csv"
    log.write_text("clicked,cart,purchase\n1,some,1\n")
    run("study", "import", "shop", log, "--observational", "--key", "k")
    log.write_text("clicked,cart,purchase\n1,some,0\n")
    before = run("study", "show", "shop", "--json")
    with pytest.raises(CausalBanditsError, match=message):
        run(*arguments)
    assert run("study", "show", "shop", "--json") == before
    assert [row["name"] for row in run("study", "list", "--json")] == ["shop"]


def test_rewards_by_their_words_and_deleting(run: Run) -> None:
    run("study", "create", "shop", "--problem", "problem.json", "--seed", 1)
    run("study", "ask", "shop", "-n", 2)
    run("study", "tell", "shop", 1, "--reward", "True", "--final")
    run("study", "tell", "shop", 2, "-m", "purchase=false", "--final")
    run("study", "export", "shop", "--out", "out.tsv")
    assert pl.read_csv("out.tsv", separator="\t")["purchase"].to_list() == [1, 0]
    assert run("study", "delete", "shop", "--yes", "--json") == {"name": "shop"}
    assert run("study", "list", "--json") == []


def test_a_real_process_ends_with_one_line(tmp_path: Path) -> None:
    command = [
        str(Path(sys.executable).parent / "causal-bandits"),
        "study",
        "show",
        "x",
        "--storage",
        f"sqlite:///{tmp_path}/no.db",
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith("Error: storage")
    assert ended.stderr.count("\n") == 1


def test_analyze(run: Run, tmp_path: Path) -> None:
    arguments = ["analyze", "example", "--target", "purchase", "--interventions", "banner, discount"]
    shown = run(*arguments, "--html", "page.html")
    for word in ("Inferred from the table", "{cart}", "own rows say", "Recommended: banner=red, discount=10%;"):
        assert word in shown
    assert "Evidence as rows came in" in (tmp_path / "page.html").read_text()
    found = run(*arguments, "--json", "--drop", "seconds", "--max-size", 1)
    assert [each["variables"] for each in found["sets"]] == [[], ["clicked"], ["cart"]]


def test_a_word_is_a_level_where_the_problem_says_so(run: Run, tmp_path: Path) -> None:
    problem = {"target": "y", "observed": {"m": ["NA", 1, 2], "n": 2}, "interventions": {"banner": ["None", 10]}}
    (tmp_path / "words.json").write_text(json.dumps(problem))
    run("study", "create", "words", "--problem", "words.json", "--seed", 1)
    (tmp_path / "log.csv").write_text("banner,m,n,y\nNone,NA,NA,1\n10,1,0,0\n10,2,1,1\n")
    assert run("study", "import", "words", "log.csv", "--json") == {"imported": 3}
    assert run("study", "show", "words", "--json")["missing"] == {"n": 1}
    run("study", "ask", "words", "-n", 2)
    (tmp_path / "told.csv").write_text("id,m,n,y\n1,NA,1,NA\n2,,0,1\n")
    assert run("study", "tell", "words", "--file", "told.csv", "--json") == {"told": 2}
    assert run("study", "show", "words", "--json")["missing"] == {"m": 1, "n": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,1,1\n2,1,x\n", "row 2: 'purchase' is 'x'; expected a number"),
        ("1,1,1\nx,1,1\n", "row 2: 'id' is 'x'; expected a number"),
    ],
)
def test_the_cell_that_is_wrong_is_blamed(run: Run, tmp_path: Path, text: str, message: str) -> None:
    run("study", "create", "shop", "--problem", "problem.json", "--seed", 1)
    run("study", "ask", "shop", "-n", 2)
    (tmp_path / "told.csv").write_text("id,clicked,purchase\n" + text)
    with pytest.raises(CausalBanditsError, match=message):
        run("study", "tell", "shop", "--file", "told.csv")


def test_columns_whose_names_hold_commas(run: Run, tmp_path: Path) -> None:
    rows = "1,2,a,0\n0,3,b,1\n1,3,b,0\n0,2,a,1\n" * 5
    (tmp_path / "prices.csv").write_text('"price, EUR","price, USD",L,y\n' + rows)
    arguments = ["analyze", "prices.csv", "--target", "y", "--interventions", "L", "--json"]
    assert run(*arguments, "--observed", '"price, EUR"')["observed"] == ["price, EUR"]
    assert run(*arguments, "--drop", '"price, EUR"')["observed"] == ["price, USD"]
    for role in ("--observed", "--drop"):
        with pytest.raises(CausalBanditsError, match=f"{role[2:]} names 'y', which is the target"):
            run(*arguments, role, "y")


def test_names_that_look_like_markup(run: Run, tmp_path: Path) -> None:
    problem = {"target": "y", "observed": {"[bold]m[/]": 2}, "interventions": {"L": [":smile:", "[low]", "[/]"]}}
    (tmp_path / "odd.json").write_text(json.dumps(problem))
    run("study", "create", "[/] shop", "--problem", "odd.json", "--seed", 1)
    shown = run("study", "show", "[/] shop")
    for text in ("[/] shop: safe", "L=[low]", "L=[/]", "{[bold]m[/]}", "not tested yet"):
        assert text in shown
    assert "rejected" not in shown
    run("study", "report", "[/] shop", "--out", "page.html")
    assert "<td>rejected</td>" not in (tmp_path / "page.html").read_text()
    (tmp_path / "odd.csv").write_text("L,[bold]m[/],y\n" + "[low],1,1\n:smile:,0,0\n[/],1,0\n[low],0,1\n" * 9)
    shown = run("analyze", "odd.csv", "--target", "y", "--interventions", "L", "--html", "[bold]x.html")
    for text in ("[bold]m[/]: 2 levels", "L=[/]", ":smile:", "Report: [bold]x.html"):
        assert text in shown


def test_backups(run: Run, tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/cli.db"
    study = cb.Study.create("s", SHOP, storage=storage, seed=1)
    play(study, 5)
    made = run("storage", "backup", storage, "copy.db", "--json")
    assert made["bytes"] == (tmp_path / "copy.db").stat().st_size
    copied = cb.Study.load("s", storage=f"sqlite:///{tmp_path}/copy.db")
    assert fingerprint(copied) == fingerprint(study)
    assert copied.ask().arm == study.ask().arm
    with pytest.raises(StorageError, match=r"copy.db' exists already; name a new file"):
        run("storage", "backup", storage, "copy.db")
    with pytest.raises(StorageError, match="does not exist; create a study first"):
        run("storage", "backup", f"sqlite:///{tmp_path}/none.db", "other.db")
    assert not (tmp_path / "other.db").exists()


def test_backups_of_a_server(run: Run, postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = new_schema(postgres)
    cb.Study.create("s", SHOP, storage=place, seed=1).ask()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StorageError, match="is PostgreSQL and pg_dump was not found; install PostgreSQL's client"):
        run("storage", "backup", place, "copy.dump")
    program = tmp_path / "pg_dump"
    program.write_text(
        '#!/bin/sh\nfor each in "$@"; do case $each in --file=*) echo copied > "${each#--file=}";; esac; done\n'
    )
    program.chmod(0o700)
    run("storage", "backup", place, "copy.dump")
    assert (tmp_path / "copy.dump").read_text() == "copied\n"
    program.write_text("#!/bin/sh\necho no such server >&2\nexit 1\n")
    with pytest.raises(StorageError, match="cannot be copied: no such server"):
        run("storage", "backup", place, "other.dump")
