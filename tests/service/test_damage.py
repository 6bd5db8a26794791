"""One corrupt study is shown as corrupt; every other one is served as before."""

import json
import sqlite3
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

import causal_bandits as cb
from causal_bandits.cli import app
from causal_bandits.errors import UnreadableStudyError
from causal_bandits.product.service.routes import operations, pages
from tests.studies.edits import change

from .calls import Caller

BODY = "UPDATE cb_events SET body = '{}' WHERE seq = ? AND study = (SELECT id FROM cb_studies WHERE name = 'broken')"


@pytest.fixture
def two(call: Caller, storage: str) -> list[str]:
    """Two studies that are open for acting and for looking, one of them about to be corrupt."""
    made = [call.create(name) for name in ("broken", "whole")]
    for shop in made:
        for _ in range(2):
            assert call("POST", f"{shop}/decisions", {}).status == 201
        assert call("GET", shop).status == 200
    return made


@pytest.mark.parametrize("event", [1, 2])
def test_the_other_studies_are_served(
    call: Caller, storage: str, two: list[str], event: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "LIST_SECONDS", 1000)  # the list looks at every study
    change(storage, BODY, event)
    broken, whole = two
    registry = call.app.state.registry
    open_ones = registry.acting.get("whole"), registry.looking.get("whole")
    registry.acting.pop("broken", None)
    registry.looking.pop("broken", None)  # as after a restart
    for method, path in (("POST", f"{broken}/decisions"), ("GET", broken), ("GET", f"{broken}/changes")):
        answered = call(method, path, *([{}] if method == "POST" else []))
        assert answered.status == 503
        assert "is corrupt" in answered.detail
        assert answered.json["error"] == "UnreadableStudyError"
    assert (registry.acting.get("whole"), registry.looking.get("whole")) == open_ones
    assert call("POST", f"{whole}/decisions", {}).status == 201
    assert call("GET", "/readyz").status == 200
    listed = {row["name"]: row for row in call("GET", "/api/v1/studies").json}
    assert [*listed] == ["broken", "whole"]
    assert listed["whole"]["error"] is None
    if event == 1:
        assert "is corrupt" in listed["broken"]["error"]
        assert listed["broken"]["policy"] is listed["broken"]["target"] is None
    page = call("GET", "/")
    assert page.status == 200
    assert "is corrupt" in page.text
    assert "/studies/broken" in page.text
    assert "/studies/whole" in page.text
    assert call("GET", "/studies/whole").status == 200
    own = call("GET", "/studies/broken")
    assert (own.status, own.text.count("is corrupt")) == (503, 1)
    made_again = {"name": "broken", "problem": cb.Problem("y", {"a": 2}, {"i": 2}).to_dict()}
    assert call("POST", "/api/v1/studies", made_again).status == (503 if event == 1 else 409)
    assert registry.acting.get("whole") is open_ones[0]
    assert call("DELETE", broken).status == 204
    assert [row["name"] for row in call("GET", "/api/v1/studies").json] == ["whole"]


def test_the_library_and_the_command_line(two: list[str], storage: str) -> None:
    change(storage, BODY, 1)
    broken, whole = cb.Study.list(storage=storage)
    assert broken.name == "broken"
    assert broken.error is not None
    assert broken.error.endswith("is corrupt: event 1 of a study cannot be read; restore it from a backup")
    assert (whole.name, whole.policy, whole.target, whole.error) == ("whole", "ts", "purchase", None)
    with pytest.raises(UnreadableStudyError, match="is corrupt"):
        cb.Study.load("broken", storage=storage)
    listed = CliRunner().invoke(app, ["study", "list", "--storage", storage])
    assert listed.exit_code == 0
    assert listed.stdout.splitlines() == [f"broken: {broken.error}", "whole: ts, target purchase"]
    as_json = json.loads(CliRunner().invoke(app, ["study", "list", "--json", "--storage", storage]).stdout)
    assert [row["error"] is None for row in as_json] == [False, True]


def test_a_damaged_page_of_the_file(call: Caller, storage: str, two: list[str], tmp_path: Path) -> None:
    """SQLite itself refuses what one study needs; the other one is on other pages."""
    call.app.state.registry.close()
    file = tmp_path / "studies.db"
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("UPDATE cb_events SET body = ? WHERE study = 1 AND seq = 1", ("x" * 20_000,))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    content = file.read_bytes()
    start = content.index(b"x" * 4092) - 4  # a page that continues the text, after the number of the next one
    assert start % 4096 == 0
    file.write_bytes(content[:start] + bytes([255] * 4) + content[start + 4 :])
    listed = cb.Study.list(storage=storage)
    assert [row.error is None for row in listed] == [False, True]
    assert call("POST", f"{two[1]}/decisions", {}).status == 201


def test_a_check_reads_every_event(two: list[str], storage: str) -> None:
    checked = CliRunner().invoke(app, ["storage", "check", storage])
    assert (checked.exit_code, checked.stdout) == (0, "broken: ok\nwhole: ok\n")
    change(storage, BODY, 2)
    checked = CliRunner().invoke(app, ["storage", "check", storage])
    assert checked.exit_code != 0
    assert "1 of 2 studies" in str(checked.exception)
    assert checked.stdout.splitlines()[1] == "whole: ok"
    assert "is corrupt: event 2" in checked.stdout.splitlines()[0]


def test_an_upgrade_of_what_is_up_to_date(two: list[str], storage: str) -> None:
    done = CliRunner().invoke(app, ["storage", "upgrade", storage])
    assert (done.exit_code, done.stdout) == (0, "schema 1 is up to date\n")
    absent = CliRunner().invoke(app, ["storage", "upgrade", "sqlite:///nowhere.db"])
    assert "does not exist" in str(absent.exception)


def test_a_storage_that_does_not_answer(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readiness checks end after a while, and take one thread in all."""
    call.create()
    registry = call.app.state.registry
    answers, asked = threading.Event(), []

    def waits() -> None:
        asked.append(1)
        answers.wait()

    monkeypatch.setattr(registry, "check_answers", waits)
    monkeypatch.setattr(operations, "READY_SECONDS", 0.05)
    for _ in range(3):
        answered = call("GET", "/readyz")
        assert answered.status == 503
        assert answered.json == {"status": "storage unavailable"}
    assert len(asked) == 1
    assert call("GET", "/healthz").status == 200
    answers.set()
    monkeypatch.setattr(operations, "READY_SECONDS", 60)
    assert call("GET", "/readyz").status == 200
