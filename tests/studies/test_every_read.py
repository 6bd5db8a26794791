"""Every public read of `Study`, `RemoteStudy`, `Client` and `Policy` answers, for every kind of reward.

Reads are found by introspection: whatever is public and not listed as a write below is called, so a new read is covered
as soon as it exists. One that needs arguments gets them from `STUDY_ARGUMENTS` or `POLICY_ARGUMENTS`.
"""

import inspect
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.core.policies import Policy
from causal_bandits.core.policies.presets import policy_class
from causal_bandits.product.service import RemoteStudy
from tests.contracts.kinds import fresh, kind_of, policies
from tests.policies.cases import full_state
from tests.service.servers import Applications

from .conftest import new_schema
from .kinds import Served

REWARDS: dict[str, Any] = {
    "binary": bool,
    "count": "count",
    "revenue": "revenue",
    "levels": {"levels": ["bad", "good", "great"], "values": [0, 40, 100]},
    "real": float,
}
PHONE = {"device": "phone"}
STUDY_WRITES = {
    *("ask", "tell", "tell_many", "abandon", "expire", "import_rows", "close", "create", "delete"),
    *("annotate", "correct", "exclude", "include", "finish"),
    *("add_arm", "add_level", "allow", "allow_level", "forbid", "forbid_level", "retire", "retire_level"),
}
POLICY_WRITES = {
    *("ask", "choose", "ready", "tell", "tell_many", "drop", "restrict", "learn", "expect", "complete", "forget"),
    *("fill", "remember", "make_room", "reserve", "load", "from_options"),
}
Call = dict[str, Any]


def problem_of(kind: str) -> cb.Problem:
    return cb.Problem(
        "earned",
        {"clicked": 2, "cart": ["empty", "some", "full"]},
        {"banner": ["none", "red", "blue"]},
        segments={"device": ["phone", "desktop"]},
        reward=REWARDS[kind],
    )


def reward_of(kind: str, rng: np.random.Generator, clicked: int) -> Any:
    """Rewards that are no index of an array with two places, unless they are 0 or 1."""
    amount = int(rng.integers(2, 2000)) if rng.random() < 0.3 + 0.4 * clicked else 0
    return {
        "binary": min(amount, 1),
        "count": amount,
        "revenue": amount + 0.25 if amount else 0.0,
        "levels": ["bad", "good", "great"][amount % 3],
        "real": 10.0 * amount - 500.5,
    }[kind]


def observation(kind: str, number: int) -> Call:
    rng = np.random.default_rng(number)
    clicked = int(rng.random() < 0.4)
    seen = {"clicked": clicked, "cart": ["empty", "some", "full"][int(rng.integers(3))]}
    return {**seen, "earned": reward_of(kind, rng, clicked)}


def fill(study: Any, kind: str, rows: int) -> None:
    """Whole rows, rows that wait for a mediator or for their reward, and decisions of which nothing is known."""
    for place, device in enumerate(("phone", "desktop")):
        # In high-throughput mode a key decides which arm; without one it would be a random key.
        made = study.ask(rows // 2, segment={"device": device}, key=f"many {device}")
        study.tell_many([{"id": each.id, **observation(kind, each.id)} for each in made])
        for each in made[::8]:
            study.tell(each, {"complaint": each.id % 9 == 0})
        first, second, third, _ = study.ask(4, segment={"device": device}, key=f"few {device}")
        study.tell(first, {"clicked": 1, "cart": "some"})
        study.tell(second, {"clicked": 1}, reward=observation(kind, second.id)["earned"])
        study.tell(third, {"cart": None}, reward=observation(kind, third.id)["earned"], final=True)
        study.abandon(study.ask(segment={"device": device}, key="none")) if place else None
    study.publish()


def reads_of(subject: Any, writes: set[str]) -> list[str]:
    """The public names of a class that are no writes; also the writes must exist, or the list is out of date."""
    names = [name for name, _ in inspect.getmembers(type(subject)) if not name.startswith("_")]
    assert not writes - {*names, *dir(cb.Study)}
    return [name for name in names if name not in writes]


def answer_of(subject: Any, name: str, call: Call) -> Any:
    found = getattr(subject, name)
    found = found(**call) if callable(found) and not isinstance(found, type) else found
    _ = str(found), repr(found)
    for way in ("_repr_html_", "to_frame"):
        if hasattr(type(found), way):
            getattr(found, way)()
    return found


def study_arguments(study: Any, folder: Path) -> dict[str, list[Call]]:
    arm = study.problem.arms[0].lever_arm
    levers = dict.fromkeys(each.lever_arm for each in study.problem.arms)
    even = dict.fromkeys(levers, 1 / len(levers))
    last = study.to_frame()["id"].max()
    in_phone: list[Call] = [{}, {"segment": PHONE}]
    return {
        "advice": [*in_phone, {"margin": Decimal("0.1"), "confidence": Decimal("0.8")}],
        "changes": [{}, {"after": 2, "limit": 3}],
        "decision": [{"decision": each} for each in (1, last)],
        "decisions": [{}, {"after": 5, "limit": 10}],
        "describe": [{}, {"history": True}],
        "effects": [{}, {"level": Decimal("0.5")}],
        "estimates": [*in_phone, {"level": Decimal("0.5")}],
        "evaluate": [{"policy": arm}, {"policy": even, "method": "direct", "draws": 3}],
        "explain": [{"decision": each} for each in (1, last)],
        "list": [] if isinstance(study, RemoteStudy) else [{"storage": study._session.store}],
        "load": [] if isinstance(study, RemoteStudy) else [{"name": study.name, "storage": study._session.store}],
        "propensity": [{"decision": last}],
        "recommend": [*in_phone, {"margin": 0.1}],
        "report": [{"path": folder / "report.html"}],
        "separating_sets": [{}, {"rejected": True}],
    }


def check_study(study: Any, folder: Path) -> None:
    table = study_arguments(study, folder)
    before = study.newest
    for name in reads_of(study, STUDY_WRITES):
        for call in table.get(name, [{}]):
            answer_of(study, name, call)
    assert study.newest == before  # reads add no events


RULES: dict[str, Any] = {
    "metrics": {"complaint": bool},
    "guardrails": {"complaint": ("<=", 0.5), "clicked": ("<=", 0.9)},
    "control_share": 0.1,
}


ELSEWHERE = ("postgresql high-throughput", "client")


@pytest.fixture(params=["sqlite", *(pytest.param(each, marks=pytest.mark.slow) for each in ELSEWHERE)])
def create(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Makes studies of one kind; high-throughput ones publish only when they are told to."""
    made: list[Any] = []

    def work(problem: cb.Problem, **options: Any) -> Any:
        if request.param == "client":
            server: Applications = request.getfixturevalue("server")
            client = Served(server, f"sqlite:///{tmp_path}/client.db")
            made.append(client.create("s", problem, seed=1, **options))
            assert [each.name for each in client.list()] == ["s"]
            assert client.load("s").name == "s"
        elif request.param == "sqlite":
            made.append(cb.Study.create("s", problem, storage=f"sqlite:///{tmp_path}/s.db", seed=1, **options))
        else:
            place = new_schema(request.getfixturevalue("postgres"))
            fast: Call = {"mode": "high-throughput", "publish_rows": 1_000_000, "publish_seconds": 1000.0}
            made.append(cb.Study.create("s", problem, storage=place, seed=1, **fast, **options))
        return made[-1]

    yield work
    for study in made:
        study.close()


@pytest.mark.parametrize("kind", REWARDS)
def test_every_read_of_a_study_answers(create: Callable[..., Any], kind: str, tmp_path: Path) -> None:
    study = create(problem_of(kind), **RULES)
    fill(study, kind, 240)
    check_study(study, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["paper", "ts"])
@pytest.mark.parametrize("kind", REWARDS)
def test_every_read_of_other_policies_answers(
    create: Callable[..., Any], kind: str, policy: str, tmp_path: Path
) -> None:
    study = create(problem_of(kind), policy=policy, **RULES)
    fill(study, kind, 240)
    check_study(study, tmp_path)


@pytest.mark.parametrize("create", ELSEWHERE, indirect=True)
def test_every_read_of_a_study_elsewhere_answers(create: Callable[..., Any], tmp_path: Path) -> None:
    """One kind of reward; `make test-slow` has all."""
    study = create(problem_of("count"), **RULES)
    fill(study, "count", 60)
    check_study(study, tmp_path)


def test_real_mediators(create: Callable[..., Any], tmp_path: Path) -> None:
    study = create(cb.Problem("y", {"heat": float, "open": 2}, {"feed": 3}, reward=float))
    rng = np.random.default_rng(1)
    for each in study.ask(240):
        heat = float(each.arm["feed"]) + rng.normal()
        study.tell(each, {"heat": heat, "open": int(rng.random() < 0.5)}, reward=heat + rng.normal())
    study.tell(study.ask(), {"heat": 1.0})
    study.tell(study.ask(), {"heat": 1.0}, reward=2.0)
    study.publish()
    table = {
        name: [{k: v for k, v in call.items() if k != "segment"} for call in calls]
        for name, calls in study_arguments(study, tmp_path).items()
    }
    for name in reads_of(study, STUDY_WRITES):
        for call in table.get(name, [{}]):
            answer_of(study, name, call)


# Policies


def policy_arguments(policy: Policy[Any], folder: Path) -> dict[str, list[Call]]:
    best: Any = policy.recommend()
    best = best[0] if policy.problem.segments else best
    segment = {"segment": best.segment} if policy.problem.segments else {}
    control = policy.problem.arms[0]
    compares: list[Call] = [{}, {"level": Decimal("0.5"), "control": control}] if policy.can_compare else []
    return {
        "advice": [{}, segment],
        "effects": compares,
        "estimates": [{}, {"level": Decimal("0.5"), **segment}],
        "frequencies": [{"draws": 5, "rng": np.random.default_rng(1)}] if not segment else [],
        "indices": [{"rng": np.random.default_rng(1)}] if not segment else [],
        "recommend": [{}, segment],
        "save": [{"path": folder / "saved"}],
        "separating_sets": [{}, {"rejected": True}],
    }


def check_policy(policy: Policy[Any], folder: Path) -> None:
    before = full_state(policy)
    table = policy_arguments(policy, folder)
    for name in reads_of(policy, POLICY_WRITES):
        for call in table.get(name, [{}]):
            answer_of(policy, name, call)
    assert full_state(policy) == before


@pytest.mark.parametrize("kind", REWARDS)
def test_every_read_of_a_policy_answers(kind: str, tmp_path: Path) -> None:
    problem = problem_of(kind)
    policy = policy_class("safe", problem)(problem, seed=1)
    for number in range(120):
        policy.tell(policy.ask(segment=PHONE), observation(kind, number))
    seen = observation(kind, 1)
    policy.tell(policy.ask(segment=PHONE), {"clicked": 1, "cart": "some"})
    policy.tell(policy.ask(segment=PHONE), {"clicked": 1, "earned": seen["earned"]}, missing=True)
    check_policy(policy, tmp_path)


@pytest.mark.slow
@policies()
def test_every_read_of_every_policy_answers(name: str, tmp_path: Path) -> None:
    policy = fresh(name)
    policy.tell_many(kind_of(name).table(90, 3))
    policy.ask(20)
    check_policy(policy, tmp_path)
