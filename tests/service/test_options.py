"""Options: one model, and everything that is derived from it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import causal_bandits as cb
from causal_bandits.errors import OptionError
from causal_bandits.product.options import StudyOptions, options_of
from causal_bandits.product.service.settings import Limits, ServerOptions, server_options
from tests.command_line import exit_code
from tests.messages import Golden
from tests.service.calls import Caller

Shell = Callable[[list[str]], str]
ROOT = Path(__file__).parent.parent.parent
PROBLEM = {"target": "purchase", "observed": {"clicked": 2}, "interventions": {"banner": ["none", "red"]}}

ONE_MORE_OPTION = """
    retry_after: Annotated[float | str | None, Option("Time between two attempts.", SECONDS)]
"""
USE_THE_OPTION = """
import json, runpy, sys
import causal_bandits as cb
from causal_bandits.cli import app
from causal_bandits.product.service import ServiceSettings, create_app
from typer.testing import CliRunner

storage = "sqlite:///s.db"
problem = cb.Problem.from_dict(json.load(open("problem.json")))
study = cb.Study.create("python", problem, storage=storage, retry_after="2h")
command = ["study", "create", "shell", "--problem", "problem.json", "--storage", storage, "--retry-after", "1m"]
made = CliRunner().invoke(app, [*command, "--json"])
print(json.dumps({
    "python": cb.Study.load("python", storage=storage).settings.rules,
    "shell": json.loads(made.output)["rules"],
    "help": CliRunner().invoke(app, ["study", "create", "--help"]).output,
    "openapi": create_app(ServiceSettings(storage)).openapi()["components"]["schemas"]["NewStudy"]["properties"],
    "docs": runpy.run_path(sys.argv[1])["study_table"](),
}))
"""

ONE_MORE_FIELD = """
    mood: str = "calm"
"""
USE_THE_FIELD = """
import json, socket, threading, time
import causal_bandits as cb
from causal_bandits.cli import app
from causal_bandits.product.service import ServiceSettings, create_app
from causal_bandits.product.service.serving import Server, configured, listen
from typer.testing import CliRunner
import urllib.request

storage = "sqlite:///s.db"
cb.Study.create("s", cb.Problem.from_dict(json.load(open("problem.json"))), storage=storage)
service = create_app(ServiceSettings(storage))
listening = listen("127.0.0.1", 0)
server = Server(configured(service))
threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True).start()
address = f"http://127.0.0.1:{listening.getsockname()[1]}"
while not server.started:
    time.sleep(0.01)
print(json.dumps({
    "shell": json.loads(CliRunner().invoke(app, ["study", "health", "s", "--storage", storage, "--json"]).output)[0],
    "http": json.loads(urllib.request.urlopen(f"{address}/api/v1/studies/s/health").read())[0],
    "openapi": service.openapi()["components"]["schemas"]["Check"]["properties"],
    "client": {"mood": cb.Client(address).load("s").health()[0].mood},
}))
server.should_exit = True
"""


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """What a command that fails says."""

    def run(arguments: list[str]) -> str:
        capsys.readouterr()
        assert exit_code(arguments, monkeypatch) == 2
        said = capsys.readouterr().err
        assert said.startswith("Error: ")
        return said.removeprefix("Error: ").rstrip("\n")

    return run


def run_changed(tmp_path: Path, module: str, after: str, more: str, script: str) -> dict[str, Any]:
    """What a script prints with a copy of the package in which one place of one module was edited."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    path = tmp_path / "src/causal_bandits" / module
    text = path.read_text()
    assert text.count(after) == 1
    path.write_text(text.replace(after, after + more))
    (tmp_path / "problem.json").write_text(json.dumps(PROBLEM))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}
    command = [sys.executable, "-c", script, str(ROOT / "docs/_extensions/options.py")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_an_option_is_one_edit(tmp_path: Path) -> None:
    """One line in the model: Python, the command line, OpenAPI, stored settings and the docs have the option."""
    last = 'has waited this long, {SECONDS_HELP} [default: 1].",\n            SECONDS,\n        ),\n    ]\n'
    found = run_changed(tmp_path, "product/options.py", last, ONE_MORE_OPTION, USE_THE_OPTION)
    assert (found["python"], found["shell"]) == ({"retry_after": 7200.0}, {"retry_after": 60.0})
    assert "--retry-after DURATION" in found["help"]
    assert found["openapi"]["retry_after"]["description"] == "Time between two attempts."
    assert "| `retry_after` | `--retry-after DURATION` | Time between two attempts. |" in found["docs"]


def test_an_answer_field_is_one_edit(tmp_path: Path) -> None:
    """One line in the class of an answer: --json, HTTP, OpenAPI and the client have the field."""
    last = "    p_value: float = math.nan\n"
    found = run_changed(tmp_path, "product/studies/health.py", last, ONE_MORE_FIELD, USE_THE_FIELD)
    assert found["openapi"]["mood"] == {"type": "string"}
    assert [found[way]["mood"] for way in ("shell", "http", "client")] == ["calm"] * 3


BAD: list[tuple[str, Any, str]] = [
    ("control_shar", 0.1, "0.1"),
    ("control_share", "much", "much"),
    ("control_share", 2.0, "2"),
    ("reward_window", "14 moons", "14 moons"),
    ("seed", -1, "-1"),
    ("mode", "fast", "fast"),
    ("publish_rows", 10, "10"),
    ("shares", ["banner"], "banner"),
    ("guardrails", ["clicked=1"], "clicked=1"),
    ("metrics", ["refund"], "refund"),
    ("policy", "greedy", "greedy"),
    ("control", "banner=blue", "banner=blue"),
    ("guardrail_confidence", 0.9, "0.9"),
]


@pytest.mark.parametrize(("name", "value", "text"), BAD, ids=[f"{name}-{text}" for name, _, text in BAD])
def test_the_same_words_from_python_the_shell_and_http(
    name: str,
    value: Any,
    text: str,
    call: Caller,
    shell: Shell,
    golden: Golden,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("problem.json").write_text(json.dumps(PROBLEM))
    create: Any = cb.Study.create
    with pytest.raises(cb.errors.CausalBanditsError) as raised:
        create("s", cb.Problem.from_dict(PROBLEM), storage="sqlite:///s.db", **{name: value})
    known = options_of(StudyOptions)
    flag = (known[name].flag if name in known else "") or f"--{name.replace('_', '-')}"
    typed = shell(["study", "create", "s", "--problem", "problem.json", flag, text])
    http = call("POST", "/api/v1/studies", {"name": "s", "problem": PROBLEM, name: value})
    assert http.status == 422
    assert http.json["error"] == type(raised.value).__name__
    golden(raised.value)
    said = str(raised.value)
    assert name in said or repr(value) in said or text in said
    if name in known:
        assert said == http.detail == typed
    else:  # the shell names flags, and a request also has a name and a problem
        for one in (said, typed.replace("--", "").replace("-", "_"), http.detail):
            assert one.startswith(
                f"unknown option '{name}' (did you mean 'control_share'?); expected one of 'after_finish', "
            )


def test_a_server_reads_flags_then_environment_then_its_file(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text('port = 1\nhost = "::1"\nhosts = ["a.example"]\nidle_seconds = "2m"\nmax_headers = 7\n')
    process, settings = server_options({"port": 2, "storage": "sqlite:///x.db"}, file)
    assert (process.port, process.host, process.workers) == (2, "::1", 1)
    assert settings.storage == "sqlite:///x.db"
    assert settings.hosts == ("[::1]", "a.example")
    assert settings.limits == Limits(idle_seconds=120.0, max_headers=7)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("prot = 1", "'prot' (did you mean 'port'?)"),
        ("port = 70000", "port=70000"),
        ("port = '1'", "port='1'"),
        ("idle_seconds = 'soon'", "idle_seconds='soon'"),
        ("access_log = 1", "access_log=1"),
        ("hosts = 'a'", "hosts='a'"),
        ("log_level = 'loud'", "log_level='loud'"),
        ("port = ", "TOML"),
    ],
)
def test_a_bad_configuration_file_is_one_sentence(tmp_path: Path, text: str, named: str) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(text)
    with pytest.raises(OptionError) as raised:
        server_options({}, file)
    assert named in str(raised.value)
    assert str(file) in str(raised.value)


def test_a_configuration_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"nothing\.toml"):
        server_options({}, tmp_path / "nothing.toml")


def test_every_server_option_is_a_flag_and_an_environment_variable(
    monkeypatch: pytest.MonkeyPatch, shell: Shell
) -> None:
    """A value from the environment that cannot be used is refused, so the variable was read."""
    for name in options_of(ServerOptions):
        if name in ("storage", "host", "token_file", "root_path", "webhook_secret_file"):
            continue  # any text will do here
        monkeypatch.setenv(f"CAUSAL_BANDITS_{name.upper()}", "*!")
        said = shell(["serve", "--storage", "sqlite:////nowhere/s.db"])
        monkeypatch.delenv(f"CAUSAL_BANDITS_{name.upper()}")
        assert any(each in said for each in ("*!", "--access-log", "--allow-private-webhooks")), (name, said)


def test_the_log_level(shell: Shell) -> None:
    assert "log_level='loud'" in shell(["--log-level", "loud", "study", "list"])
