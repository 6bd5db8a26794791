"""Odd values for every option of every command and of `Study.create`, one at a time."""

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import typer

import causal_bandits as cb
from causal_bandits.cli import app
from causal_bandits.product.options import StudyOptions, options_of

from .api import DISCRETE, rows_of
from .commands import run_command
from .judging import Score, judge

TEXTS = [
    *(
        "",
        " ",
        "0",
        "-1",
        "1",
        "0.5",
        "1e-300",
        "1e400",
        "nan",
        "inf",
        "-inf",
        "99999999999999999999999",
        "1000000000000",
    ),
    *(
        "é☃",
        "١",
        "\u202e",
        "a\0b",
        "\udcff",
        "a\nb",
        "x" * 100_000,
        "--json",
        "=",
        "=,=",
        "x=a",
        "14d",
        "{}",
        "[]",
        "[" * 9_000,
    ),
]
VALUES: list[Any] = [
    *TEXTS,
    *(0, -1, 1, 0.5, 1e-300, 1e300, 10**30, float("nan"), float("inf"), True, Decimal("0.1"), Decimal("NaN"), 1j),
    *(b"x", [], [1], {}, {"x": 1}, {"": ""}, {1: 2}, ("<=", 1), object(), np.array([1.0, 2.0]), np.float32(0.1)),
]
STORED = {"--storage": "sqlite:///s.db"}
COMMANDS: dict[str, dict[str, str]] = {
    "analyze": {"table": "rows.csv", "--target": "y", "--interventions": "x,z"},
    "alarms": {"--storage": "sqlite:////nowhere/s.db"},
    "compare": {"--worlds": "nowhere", "--policies": "ucb1", "--horizon": "5", "--runs": "1", "--jobs": "1"},
    "plan": {
        **{"problem": "problem.json", "--rate": "0.1", "--lift": "0.3", "--runs": "2", "--longest": "100"},
        "--figure": "out.png",
    },
    "reproduce": {"figure": "nothing"},
    "serve": {"--storage": "sqlite:////nowhere/s.db"},
    "storage upgrade": {"url": "sqlite:///s.db"},
    "storage check": {"url": "sqlite:///s.db"},
    "storage backup": {"url": "sqlite:///s.db", "to": "copy.db"},
    "study list": STORED,
    "study tell": {**STORED, "name": "s", "decision": "1", "--reward": "1"},
    "study import": {**STORED, "name": "s", "file": "rows.csv"},
    "study export": {**STORED, "name": "s", "--out": "out.csv"},
    "study report": {**STORED, "name": "s", "--out": "out.html"},
    "study abandon": {**STORED, "name": "s", "decision": "2"},
    "study create": {**STORED, "name": "t", "--problem": "problem.json", "--seed": "1"},
    "study explain": {**STORED, "name": "s", "decision": "1"},
    "study evaluate": {**STORED, "name": "s", "--arm": "x=a"},
    "study annotate": {**STORED, "name": "s", "text": "new prices"},
    "study correct": {**STORED, "name": "s", "decision": "1", "--reward": "0"},
    "study exclude": {**STORED, "name": "s", "decisions": "1", "--reason": "bots"},
    "study include": {**STORED, "name": "s", "decisions": "1"},
    "study finish": {**STORED, "name": "s", "--out": "out.html"},
    "study expire": {**STORED, "name": "s", "--older-than": "1d"},
    "study arms add-level": {**STORED, "name": "s", "lever": "x", "level": "new"},
    **{
        f"study {name}": {**STORED, "name": "s", "arm": "x=b"}
        for name in (
            *("arms retire", "arms forbid", "arms allow", "arms add"),
            *("retire", "forbid", "allow", "add-arm"),
        )
    },
    **{
        f"study {name}": {**STORED, "name": "s"}
        for name in (
            "show",
            "delete",
            "ask",
            "health",
            "guardrails",
            "effects",
            "advice",
            "recommend",
            "sets",
            "publish",
            "audit",
        )
    },
}
"""Valid arguments of every command; some end in an error whatever is added, since they would take long otherwise."""

Case = tuple[str, Callable[[], object]]


def commands_of(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command with its name."""
    for name, each in getattr(command, "commands", {}).items():
        yield from commands_of(each, (*path, name))
    if path and not hasattr(command, "commands"):
        yield " ".join(path), command


def _command_cases() -> Iterator[Case]:
    for name, command in commands_of(typer.main.get_command(app)):
        places = [each.name for each in command.params if each.param_type_name == "argument"]
        options = [each.opts[0] for each in command.params if each.param_type_name == "option" and not each.is_flag]
        for option in (*places, *options):
            for value in TEXTS:
                given = {**COMMANDS[name], option: value}
                words = [*name.split(), *(given.pop(place) for place in places if place in given)]
                words += [word for pair in given.items() for word in pair]
                yield " ".join(words)[:300], partial(run_command, words)


def _create(option: str, value: Any) -> None:
    given: dict[str, Any] = {"name": "t", "problem": DISCRETE, "storage": "sqlite:///t.db", "seed": 1, option: value}
    Path("t.db").unlink(missing_ok=True)
    with cb.Study.create(**given) as study:
        study.ask()


def _create_cases() -> Iterator[Case]:
    for option in ("name", "problem", "storage", *options_of(StudyOptions)):
        for value in VALUES:
            yield f"Study.create({option}={str(value)[:60]!r})", partial(_create, option, value)


def all_options(cases: int, rng: np.random.Generator) -> Score:
    """A random sample of all cases."""
    score = Score()
    every = [*_command_cases(), *_create_cases()]
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        for place in rng.permutation(len(every))[:cases]:
            story, work = every[place]
            if not story.startswith("Study.create"):
                _prepare(Path(name))
            judge(score, story, work, seconds=300)
    return score


def _prepare(folder: Path) -> None:
    """A small study, the table and the problem that the commands name."""
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            path.unlink()
    (folder / "problem.json").write_text(json.dumps(DISCRETE.to_dict()))
    rows = [{**row, "id": number} for number, row in enumerate(rows_of(DISCRETE, 6), start=1)]
    pl.DataFrame(rows).write_csv(folder / "rows.csv")
    with cb.Study.create("s", DISCRETE, storage="sqlite:///s.db", seed=1) as study:
        study.ask(4)
