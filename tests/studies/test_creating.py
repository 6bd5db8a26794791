"""What a study is made of: problems, policies with their options, names."""

import json
from typing import Any

import pytest

import causal_bandits as cb
from causal_bandits.core.policies import POLICIES
from causal_bandits.errors import OptionError, ProblemError, StorageError
from tests.contracts.kinds import KNOWLEDGE, kind_of
from tests.messages import Golden

from .cases import SHOP, fingerprint


@pytest.mark.parametrize("name", KNOWLEDGE)
def test_options_of_a_policy_by_name(sqlite: str, name: str) -> None:
    problem, options = kind_of(name).problem, KNOWLEDGE[name]
    made: Any = POLICIES[name]
    policy = made(problem, **options, seed=0)
    by_object = cb.Study.create("object", problem, storage=sqlite, policy=policy, seed=1)
    by_name = cb.Study.create("name", problem, storage=sqlite, policy=name, options=options, seed=1)
    cb.Study.create("name", problem, storage=sqlite, policy=name, options=options, seed=1)  # the one that is there
    plain = json.loads(json.dumps(by_object._session.settings.options))
    by_json = cb.Study.create("json", problem, storage=sqlite, policy=name, options=plain, seed=1)
    assert by_object._session.settings == by_name._session.settings == by_json._session.settings
    assert by_object.ask(3)[2].arm == by_name.ask(3)[2].arm
    assert fingerprint(by_object) == fingerprint(by_name)


def test_a_discovery_is_an_option_too(sqlite: str) -> None:
    options = {"discovery": cb.KnownSets([["cart"]])}
    study = cb.Study.create("s", SHOP, storage=sqlite, policy="paper", options=options)
    assert study._session.settings.options["discovery"] == cb.KnownSets([["cart"]]).to_dict()


BAD: list[tuple[str | None, Any, str]] = [
    ("ucb-small", {}, "'horizon'"),
    ("hac-ucb", {"horizon": 9}, "'separating'"),
    ("ucb-small", {"horizon": 9, "width": 1}, "'width'"),
    ("ucb-small", {"horizon": 9, "problem": 1}, "'problem'"),
    (None, {"alpha": 1}, "'alpha'"),
    ("ts", {"alpha": 1}, "'alpha'"),
    (None, [1], r"options=\[1\]"),
    ("pomis-ts", {"graph": 3}, "'pomis-ts'"),
]


@pytest.mark.parametrize(("policy", "options", "named"), BAD)
def test_bad_options(sqlite: str, policy: str | None, options: Any, named: str, golden: Golden) -> None:
    with pytest.raises(OptionError, match=named) as raised:
        cb.Study.create("s", SHOP, storage=sqlite, policy=policy, options=options)
    golden(raised.value)


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 0, "3 weeks"])
def test_bad_times_to_expire(sqlite: str, seconds: Any) -> None:
    with pytest.raises(OptionError, match=f"expire_after={seconds!r}; expected seconds above 0, or a duration"):
        cb.Study.create("s", SHOP, storage=sqlite, expire_after=seconds)


def test_a_decision_has_one_time(sqlite: str) -> None:
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    times = [1.7e9 + place / 7 for place in range(40)] + [0.0000005, 0.0000015, 1.7e9 + 0.9999999]
    clock = iter(times)
    study._session.clock = lambda: next(clock)
    made = [study.ask() for _ in times]
    assert study.to_frame()["asked"].to_list() == [decision.time for decision in made]


@pytest.mark.parametrize("name", ["id", "status", "asked", "done"])
@pytest.mark.parametrize("role", ["target", "observed", "lever"])
def test_variables_called_like_columns(sqlite: str, name: str, role: str) -> None:
    target, observed, lever = (name if role == each else each for each in ("target", "observed", "lever"))
    problem = cb.Problem(target, {observed: 2}, {lever: 2})
    with pytest.raises(
        ProblemError, match=f"'{name}' cannot be a variable of a study, .* columns id, key, status, .* rename"
    ):
        cb.Study.create("s", problem, storage=sqlite)
    with pytest.raises(StorageError, match="does not exist"):
        cb.Study.load("s", storage=sqlite)


def test_an_unknown_option_is_refused_and_nothing_is_stored(sqlite: str) -> None:
    create: Any = cb.Study.create
    with pytest.raises(OptionError, match=r"'contrl' \(did you mean 'control'\?\); .*'publish_seconds'"):
        create("s", SHOP, storage=sqlite, contrl={"banner": "red"})
    with pytest.raises(cb.errors.CausalBanditsError):
        cb.Study.load("s", storage=sqlite)
