"""High-throughput mode: decided from snapshots in memory, appended in batches, counted by one of the workers."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from benchmarks.high_throughput import aggregator_of, kill_workers

import causal_bandits as cb
from causal_bandits.errors import (
    CausalBanditsError,
    ConflictError,
    DecisionClosedError,
    ObservationError,
    OptionError,
    StorageError,
    StudyExistsError,
    UnknownDecisionError,
    UnknownStudyError,
)
from causal_bandits.product.studies import decision_log, evaluation
from causal_bandits.product.studies.high_throughput import HighThroughputLog, aggregator
from causal_bandits.product.studies.high_throughput.batches import Batches, Call
from causal_bandits.product.studies.storage.address import read_url
from causal_bandits.product.studies.storage.append_log import TRY_LEAD, Row
from causal_bandits.product.studies.storage.connections import connections_to
from causal_bandits.product.studies.storage.transaction import dump

from .cases import PLANT, PROBLEMS, SHOP, answer, rebuilt
from .conftest import Run, new_schema

NEVER: dict[str, Any] = {"publish_rows": 1_000_000, "publish_seconds": 1000.0}
"""A test publishes by itself."""
Create = Callable[..., cb.Study]


@pytest.fixture
def place(postgres: str) -> str:
    return new_schema(postgres)


@pytest.fixture
def create(place: str) -> Iterator[Create]:
    """Makes such studies, and closes them; the same name again gives another worker of the same study."""
    made: list[cb.Study] = []

    def work(name: str = "s", problem: cb.Problem = SHOP, **options: Any) -> cb.Study:
        given = {"policy": None if problem is PLANT else "ts", "seed": 1, "mode": "high-throughput", **NEVER, **options}
        made.append(cb.Study.create(name, problem, storage=place, **given))
        return made[-1]

    yield work
    for study in made:
        study.close()


def behind(study: cb.Study) -> int:
    return study.staleness().rows


def all_derived(study: cb.Study) -> int:
    """How many decisions follow from seed, key and version; all of them must."""
    made = 0
    for then, ask in decision_log.asks_replayed(study._session):
        assert ask.chosen(then) == ask.arms
        made += len(ask.arms)
    return made


# Settings


def test_strict_studies_store_nothing_of_it(place: str) -> None:
    for options in ({}, {"mode": "transactional"}):
        study = cb.Study.create("s", SHOP, storage=place, policy="ts", seed=1, **options)  # type: ignore[arg-type]
        assert "mode" not in study._session.row.settings
        assert study.staleness() == (1, 0, 0.0)
        assert study.mode == "transactional"
        assert study.publish().rows == 0


def test_the_mode_belongs_to_the_study(create: Create, place: str) -> None:
    study = create(publish_rows=10, publish_seconds=0.5)
    stored = study._session.row.settings["rules"]
    assert stored == {"mode": "high-throughput", "publish_rows": 10, "publish_seconds": 0.5}
    assert not create(publish_rows=10, publish_seconds=0.5).is_new
    assert cb.Study.load("s", storage=place).mode == "high-throughput"
    with pytest.raises(StudyExistsError, match="with another mode"):
        cb.Study.create("s", SHOP, storage=place, policy="ts", seed=1)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"mode": "fast"}, "mode='fast'; expected one of 'transactional', 'high-throughput'"),
        ({"mode": 3}, "mode=3; expected"),
        ({"mode": ["high-throughput"]}, "expected one of 'transactional'"),
        ({"publish_rows": 10}, "publish_rows=10 needs high-throughput mode; pass mode='high-throughput' too"),
        ({"publish_seconds": 1, "mode": "transactional"}, "publish_seconds=1.0 needs high-throughput mode"),
        ({"mode": "high-throughput", "publish_rows": 0}, "publish_rows=0; expected an integer >= 1"),
        ({"mode": "high-throughput", "publish_seconds": float("nan")}, "publish_seconds=nan; expected seconds"),
        (
            {"mode": "high-throughput", "reward_window": 5},
            "reward_window=5: there are no reward windows",
        ),
        ({"mode": "high-throughput"}, "mode='high-throughput' needs PostgreSQL, and storage 'sqlite:///.*' is sqlite"),
    ],
)
def test_bad_settings_are_one_sentence_and_store_nothing(
    tmp_path: Path, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(OptionError, match=sentence) as caught:
        cb.Study.create("s", SHOP, storage=f"sqlite:///{tmp_path}/s.db", **options)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "s.db").exists()


def test_the_command_line_creates_and_shows_one(run: Run, place: str) -> None:
    fast = ("--problem", "problem.json", "--mode", "high-throughput", "--policy", "ts")
    made = run("study", "create", "s", *fast, "--storage", place)
    assert made.startswith("Study s: ts")
    [decision] = run("study", "ask", "s", "--storage", place, "--json")
    run("study", "tell", "s", decision["id"], "-m", "clicked=1", "-m", "cart=some", "--reward", 0, "--storage", place)
    assert "high-throughput: snapshot" in run("study", "show", "s", "--storage", place)
    assert run("study", "show", "s", "--storage", place, "--json")["staleness"]["version"] >= 1
    with pytest.raises(OptionError, match="needs PostgreSQL"):
        run("study", "create", "t", *fast)


# What is acknowledged is stored, and counted once


def test_rows_wait_until_they_are_counted(create: Create) -> None:
    study = create()
    for _ in range(3):
        decision = study.ask()
        study.tell(decision.id, answer(SHOP, decision))
    assert study.staleness()[:2] == (1, 6)
    assert len(study.to_frame()) == 0
    assert study.publish() == (2, 0, 0.0)
    assert study.to_frame()["status"].to_list() == ["told"] * 3
    assert study.decision(3)["outcome"] == answer(SHOP, decision)
    assert study.changes(after=1)[0].decisions == (1, 2, 3)


@pytest.mark.parametrize("kind", PROBLEMS)
def test_both_modes_learn_the_same(create: Create, place: str, kind: str) -> None:
    problem = PROBLEMS[kind]
    policy = None if problem is PLANT else "ts"
    fast = create(problem=problem)
    strict = cb.Study.create("strict", problem, storage=place, policy=policy, seed=1)
    for number in range(40):
        arm = problem.arms[number % len(problem.arms)]
        for study in (fast, strict):
            decision = study.ask(arms=[arm])
            seen = answer(problem, decision)
            if number % 5 == 0:  # in two parts, with a value that is missing
                first = problem.observed_names[0]
                study.tell(decision.id, {first: None})
                seen.pop(first)
            study.tell(decision.id, seen)
        if number % 15 == 0:
            fast.publish()
    fast.publish()

    one, other = fast.estimates(), strict.estimates()
    assert [row.own_rows for row in one] == [row.own_rows for row in other]
    np.testing.assert_allclose([row.mean for row in one], [row.mean for row in other], rtol=1e-9)
    ours, theirs = fast.to_frame(), strict.to_frame()
    assert ours.drop("asked", "done").equals(theirs.drop("asked", "done"))


def test_outcomes_in_parts_from_two_workers(create: Create) -> None:
    one, other = create(), create()
    decision = one.ask()
    one.tell(decision.id, {"clicked": 1})
    other.tell(decision.id, {"clicked": 1, "cart": "some"})
    with pytest.raises(ConflictError, match="decision 1: 'clicked' is recorded as 1, and now reported as 0"):
        other.tell(decision.id, {"clicked": 0})
    one.publish()
    with pytest.raises(ConflictError, match="'cart' is recorded as 'some', and now reported as 'full'"):
        other.tell(decision.id, {"cart": "full"}, reward=1)
    other.tell(decision.id, reward=1)
    one.tell(decision.id, {"clicked": 1, "cart": "some"}, reward=1)  # the same again
    assert behind(one) == 1
    one.publish()
    assert one.decision(1)["outcome"] == {"clicked": 1, "cart": "some", "purchase": 1}
    with pytest.raises(ObservationError, match="among the mediators, but 0 as the reward"):
        one.tell(decision.id, {"purchase": 1}, reward=0)
    with pytest.raises(UnknownDecisionError, match="decision 2 is not known; the study has made decisions 1 to 1"):
        one.tell(2, {"clicked": 1})
    for wrong in (True, "1", 0, -1, 2**70):
        with pytest.raises(UnknownDecisionError):
            one.tell(wrong, {"clicked": 1})  # type: ignore[arg-type]


def test_of_two_workers_that_contradict_each_other_one_is_refused(create: Create) -> None:
    studies = [create(), create()]
    first = studies[0].ask(30)[0].id
    said: list[list[str]] = [[], []]

    def tell(place: int) -> None:
        for number in range(first, first + 30):
            try:
                studies[place].tell(number, {"clicked": place, "cart": "some"}, reward=place)
                said[place].append("stored")
            except ConflictError:
                said[place].append("refused")

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(tell, range(2)))
    assert all({one, other} == {"stored", "refused"} for one, other in zip(*said, strict=True))
    studies[0].publish()
    rows = studies[0].to_frame()["purchase"].to_list()
    assert rows == [0 if one == "stored" else 1 for one in said[0]]


def test_a_table_is_stored_as_a_whole(create: Create) -> None:
    study = create()
    study.ask(3)
    with pytest.raises(ConflictError, match="row 3: decision 1: 'clicked' is recorded as 1, and now reported as 0"):
        study.tell_many([{"id": 1, "clicked": 1}, {"id": 2, "clicked": 0}, {"id": 1, "clicked": 0}])
    assert behind(study) == 1
    rows = [{"id": 1, "clicked": 1}, {"id": 1, "cart": "full", "purchase": 1}, {"id": 2, "purchase": 0}]
    assert study.tell_many(rows) == 3
    assert study.tell_many(rows) == 0
    assert study.tell_many([{"id": 2}], final=True) == 1
    study.publish()
    assert study.to_frame()["status"].to_list() == ["told", "told", "open"]
    with pytest.raises(UnknownDecisionError, match="row 1: decision 9 is not known"):
        study.tell_many([{"id": 9, "clicked": 1}])


def test_closed_decisions_take_no_outcome_from_any_worker(create: Create) -> None:
    one, other = create(), create()
    now = [1000.0]
    for study in (one, other):
        study._session.clock = lambda: now[0]
    one.ask(3)
    one.tell(3, {"clicked": 0, "cart": "full"}, reward=1)
    one.abandon(1)
    one.abandon(1)
    with pytest.raises(DecisionClosedError, match="decision 1 is abandoned; it takes no more outcomes"):
        other.tell(1, {"clicked": 1, "cart": "full"}, reward=1)
    with pytest.raises(DecisionClosedError, match="already has its outcome"):
        other.abandon(3)
    now[0] += 10
    assert list(other.expire(5)) == [2]
    with pytest.raises(DecisionClosedError, match="decision 2 is expired"):
        one.tell(2, {"clicked": 1})
    one.publish()
    assert one.to_frame()["status"].to_list() == ["abandoned", "expired", "told"]


def test_open_decisions_expire_by_themselves(create: Create) -> None:
    study = create(expire_after=0.2, publish_rows=1)
    study.ask()
    until = time.monotonic() + 20
    while not (frame := study.to_frame()).height or frame["status"][0] != "expired":
        assert time.monotonic() < until
        time.sleep(0.05)
        study.ask()  # something to publish


# Keys


def test_a_key_gives_one_decision_whoever_asks(create: Create) -> None:
    studies = [create(), create()]
    keys = [f"key {number}" for number in range(20)]

    def ask(place: int) -> list[tuple[int, cb.Arm]]:
        found = [studies[place % 2].ask(key=key) for key in keys]
        return [(decision.id, decision.arm) for decision in found]

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(ask, range(8)))
    assert all(each == found[0] for each in found)
    assert sorted(number for number, _ in found[0]) == [*range(1, 21)]
    studies[0].publish()
    assert ask(1) == found[0]
    assert studies[1].publish().rows == 0
    assert all_derived(studies[1]) == 20


def test_decisions_may_be_named_by_any_integer(create: Create) -> None:
    """Those of an array are looked up in the log, too."""
    study = create()
    number = np.array([study.ask().id])[0]
    study.tell(number, {"clicked": 1}, reward=1)
    with pytest.raises(ConflictError, match="decision 1: 'purchase' is recorded as 1"):
        study.tell(number, reward=0)
    for odd in (True, "1", 0, -1):
        with pytest.raises(UnknownDecisionError, match="is not known"):
            study.tell(odd, reward=1)  # type: ignore[arg-type]


def test_a_key_is_for_one_call(create: Create) -> None:
    study = create()
    study.ask(2, key="a")
    for options in ({"n": 3}, {"n": 2, "arms": [{"banner": "red"}]}):
        with pytest.raises(ConflictError, match="key 'a' was used for a different ask"):
            study.ask(key="a", **options)
    rows = [{**SHOP.arms[0], "clicked": 1, "cart": "some", "purchase": 1}]
    with pytest.raises(ConflictError, match="key 'a' was used for another call"):
        study.import_rows(rows, key="a")
    assert study.import_rows(rows, key="b") == 1
    assert study.import_rows(rows, key="b") == 0
    with pytest.raises(ConflictError, match="key 'b' was used for another call"):
        study.ask(key="b")
    for odd in ("", 3):
        with pytest.raises(OptionError, match="expected a non-empty string"):
            study.ask(key=odd)  # type: ignore[arg-type]
    long = "k" * 997 + "\N{SNOWMAN}"  # 1,000 bytes
    assert study.ask(key=long).id == study.ask(key=long).id == 3


# Deriving again


def test_every_decision_follows_from_seed_key_and_version(create: Create, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = create(seed=7), create(seed=7)
    for number in range(60):
        study = (one, other)[number % 2]
        decision = study.ask(key=f"k{number}") if number % 3 else study.ask(2, key=f"b{number}")[1]
        study.tell(decision.id, answer(SHOP, decision))
        if number % 10 == 0:
            one.publish()
        if number == 30:
            one.forbid({"banner": "red"})
    one.publish()
    decisions = len(one.to_frame())
    assert all_derived(one) == all_derived(rebuilt(other)) == decisions
    explained = one.explain(decisions)
    assert explained.arm == one.decision(decisions)["arm"]
    assert explained.rows in (
        1,
        11,
        21,
        31,
        41,
        51,
    )  # of the snapshot that decided, not of the study
    assert one.propensity(decisions) == explained.propensity
    monkeypatch.setattr(evaluation, "LEAST_WORTH", 0.1)
    robust = one.evaluate({"banner": "red"}, method="doubly-robust", draws=50)
    assert robust.decisions == one.describe()["decisions"]["told"]


def test_a_decision_that_cannot_be_derived_is_said(create: Create, monkeypatch: pytest.MonkeyPatch) -> None:
    study = create()
    decision = study.ask(5)[4]
    study.explain(decision)
    monkeypatch.setattr(decision_log, "random_of", lambda *_: np.random.default_rng(12345))
    with pytest.raises(StorageError, match="decision 5 cannot be replayed: version 1 now chooses another arm"):
        study.explain(decision)


def test_a_decision_that_is_not_counted_yet_can_be_looked_at(create: Create) -> None:
    study, other = create(), create()
    decision = study.ask()
    assert other.explain(decision).arm == decision.arm
    assert study.decision(decision)["status"] == "open"
    assert 0 < study.ask().propensity < 1
    with pytest.raises(UnknownDecisionError, match="decision 9"):
        study.explain(9)


# Rules


def test_shares_guardrails_costs_and_segments_hold(create: Create) -> None:
    rails = {"guardrails": {"clicked": ("<=", 0.5)}, "metrics": {"refund": bool}, "cost": {"discount": {"10%": 0.1}}}
    study = create(control="banner=none", control_share=0.3, **rails)
    red = SHOP.arm(banner="red")
    study.import_rows([{**arm, "clicked": int(arm == red), "cart": "some", "purchase": 1} for arm in SHOP.arms] * 60)
    made = [study.ask() for _ in range(200)]
    assert red not in {decision.arm for decision in made}
    share = np.mean([decision.arm == SHOP.arms[0] for decision in made])
    assert abs(share - 0.3) < 4 * (0.3 * 0.7 / 200) ** 0.5
    study.tell(1, {"clicked": 0, "cart": "empty"}, reward=0)
    study.tell(1, {"refund": True})
    with pytest.raises(ConflictError, match="'refund' is recorded as 1, and now reported as 0"):
        study.tell(1, {"refund": False})
    study.publish()
    assert study.to_frame()["refund"][0] == 1
    assert all_derived(study) == 200
    problem = cb.Problem("y", {"a": 2}, {"i": 2}, segments={"who": ["new", "old"]})
    parted = create("parted", problem)
    assert parted.ask(segment={"who": "old"}).segment == {"who": "old"}
    with pytest.raises(CausalBanditsError, match="segment"):
        parted.ask()
    parted.publish()
    assert all_derived(parted) == 1


def test_arms_come_and_go(create: Create) -> None:
    one, other = create(), create()
    one.ask(5)
    one.add_arm({"banner": "green"}, new_levels=True)
    green = one.ask(key="green", arms=[{"banner": "green"}])
    assert green.arm["banner"] == "green"
    one.publish()
    one.forbid({"banner": "green"})
    with pytest.raises(OptionError, match="none of the given arms can be played"):
        one.ask(arms=[{"banner": "green"}])
    other._session.read(lambda _: None)  # what its thread does several times a second
    with pytest.raises(OptionError, match="none of the given arms can be played"):
        other.ask(arms=[{"banner": "green"}])
    one.publish()
    assert all_derived(one) == 6


# The aggregator


def wait_for(condition: Callable[[], Any]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_the_aggregator_publishes_after_rows_or_seconds(create: Create) -> None:
    by_rows = create("rows", publish_rows=10)
    by_rows.ask()
    decisions = [by_rows.ask() for _ in range(9)]
    wait_for(lambda: behind(by_rows) == 0)
    by_seconds = create("seconds", publish_seconds=0.2)
    by_seconds.ask()
    wait_for(lambda: behind(by_seconds) == 0)
    assert len(decisions) == 9


def leads(study: cb.Study) -> bool:
    assert isinstance(study._log, HighThroughputLog)
    return study._log._aggregator.leads(study._session.row.id)


def test_one_aggregator_counts_for_all_studies_of_a_process(create: Create, place: str) -> None:
    before = threading.enumerate()
    studies = [create(name, publish_seconds=0.1) for name in ("s", "s", "t")]
    for study in studies:
        study.ask()
    wait_for(lambda: all(behind(study) == 0 for study in studies))
    assert all(map(leads, studies))
    assert aggregator_of(place) == os.getpid()
    assert [each.name for each in threading.enumerate() if each not in before] == ["causal-bandits-aggregator"]
    studies[0].close()
    studies[1].ask()
    wait_for(lambda: behind(studies[1]) == 0)
    assert studies[1].describe()["decisions"]["all"] == 3


def test_a_leader_that_does_not_count_does_not_stop_counting(
    create: Create, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aggregator, "STUCK_SECONDS", 0.3)
    study = create(publish_seconds=0.05)
    with psycopg.connect(place, autocommit=True) as other:
        held = other.execute(TRY_LEAD.encode(), (str(study._session.row.id),)).fetchone()
        assert held == (True,)
        study.ask()
        wait_for(lambda: behind(study) == 0)
        assert not leads(study)
    study.ask()
    wait_for(lambda: leads(study))


def test_workers_hear_of_new_versions(create: Create) -> None:
    """Neither rows nor arms are looked for: PostgreSQL notifies of both."""
    study, other = create(publish_rows=2), create(publish_rows=2)
    for each in (study, other):
        each.ask()
    wait_for(lambda: behind(other) == 0)
    version = other._session.at_hand(lambda state: state.seq)
    study.forbid({"banner": "red"})
    wait_for(lambda: other._session.at_hand(lambda state: state.seq) > version)


def test_connections_that_are_cut_are_replaced(create: Create, postgres: str) -> None:
    study = create(publish_seconds=0.1)
    study.ask()
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    assert study.ask().id == 2
    study.tell(1, {"clicked": 1, "cart": "some"}, reward=1)
    wait_for(lambda: behind(study) == 0)


def test_a_closed_study_is_not_watched_although_closing_expired_decisions(create: Create) -> None:
    study = create(expire_after=0.01)
    study.ask()
    time.sleep(0.02)
    study.close()
    assert not aggregator.aggregator_for(study._session.store.connections)._watched
    assert study.to_frame()["status"].to_list() == ["expired"]


def test_a_connection_that_is_in_use_when_the_others_are_closed_is_closed_on_return(place: str) -> None:
    connections, used = connections_to(read_url(place)), []

    def work(connection: Any) -> None:
        used.append(connection.connection.dbapi_connection)
        connections.close()

    connections.run(work)
    assert used[0].closed


def test_a_row_that_was_edited_in_the_database_is_set_aside(create: Create, place: str) -> None:
    study = create()
    study.ask(2)
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute('UPDATE cb_log_rows SET body = \'{"version": 1, "key": "k", "arms": [99]}\'')
    study.publish()
    assert behind(study) == 0
    assert [check.code for check in study.health().alarms] == ["unread-rows"]


def test_a_deleted_study_is_gone_with_its_log(create: Create, place: str) -> None:
    study, other = create(), create("other")
    study.ask()
    other.ask()
    cb.Study.delete("s", storage=place)
    with pytest.raises(UnknownStudyError, match="it was deleted while open"):
        study.ask()
    with psycopg.connect(place, autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM cb_log_rows").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM cb_log_ends").fetchone() == (1,)
    assert other.ask().id == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_is_a_worker_of_its_own(create: Create) -> None:
    study = create(publish_seconds=0.1)
    study.ask()
    child = os.fork()
    if child == 0:
        try:
            study.tell(study.ask().id, {"clicked": 1, "cart": "some"}, reward=1)
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert study.ask().id == 3
    study.publish()
    assert study.to_frame()["status"].to_list() == ["open", "told", "open"]


# Batches


def number_call(number: int) -> Call:
    return Call(lambda _: ([], number))


def test_calls_that_come_meanwhile_are_stored_together() -> None:
    sizes: list[int] = []

    def store(calls: Any) -> None:
        sizes.append(len(calls))
        time.sleep(0.005)
        for call in calls:
            _, call.result = call.rows(None)
            if call.result % 7 == 0:
                call.error = OptionError("seven")

    batches = Batches(store)

    def submit(number: int) -> int | None:
        try:
            return int(batches.submit(number_call(number)))
        except OptionError:
            return None

    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(submit, range(300)))
    assert found == [None if number % 7 == 0 else number for number in range(300)]
    assert sum(sizes) == 300
    assert max(sizes) > 1


def test_an_interrupt_ends_its_batch_and_no_other() -> None:
    begun, go = threading.Event(), threading.Event()

    def store(calls: Any) -> None:
        if calls[0].rows(None)[1] == 0:
            begun.set()
            go.wait()
            raise KeyboardInterrupt
        for call in calls:
            _, call.result = call.rows(None)

    batches = Batches(store)
    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(batches.submit, number_call(0))
        begun.wait()
        others = [threads.submit(batches.submit, number_call(number)) for number in (1, 2)]
        while len(batches._waiting) < 2:
            time.sleep(0.001)
        go.set()
        assert [other.result() for other in others] == [1, 2]
        assert isinstance(first.exception(), KeyboardInterrupt)


def test_a_caller_that_is_interrupted_while_it_waits_holds_up_nobody() -> None:
    begun, go = threading.Event(), threading.Event()

    def store(calls: Any) -> None:
        if calls[0].rows(None)[1] == 0:
            begun.set()
            go.wait()
        for call in calls:
            _, call.result = call.rows(None)

    class Interrupted(threading.Condition):
        """Interrupts one of the threads that wait, when it is woken."""

        def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
            found = super().wait_for(predicate, timeout)
            if threading.current_thread().name == "interrupted":
                raise KeyboardInterrupt
            return found

    batches = Batches(store)
    batches._turn = Interrupted()
    caught: list[BaseException] = []

    def interrupted() -> None:
        try:
            batches.submit(number_call(1))
        except KeyboardInterrupt as error:
            caught.append(error)

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(batches.submit, number_call(0))
        begun.wait()
        other = threading.Thread(target=interrupted, name="interrupted")
        other.start()
        while len(batches._waiting) < 1:
            time.sleep(0.001)
        third = threads.submit(batches.submit, number_call(2))
        while len(batches._waiting) < 2:
            time.sleep(0.001)
        go.set()
        assert (first.result(), third.result(timeout=60)) == (0, 2)
        other.join()
        assert len(caught) == 1
    assert batches.submit(number_call(3)) == 3


# Kills


def check_kills(storage: str, kills: int, workers: int, folder: Path) -> None:
    found = kill_workers(storage, kills, folder / "journal", seed=1, workers=workers)
    assert found.acknowledged > 0
    assert found.of_aggregators > 0
    assert (found.lost, found.doubled, found.underivable) == (0, 0, 0)


def test_killed_workers_and_aggregators_lose_nothing(place: str, tmp_path: Path) -> None:
    check_kills(place, 4, 2, tmp_path)


@pytest.mark.slow
def test_a_hundred_kills_lose_nothing(place: str, tmp_path: Path) -> None:
    check_kills(place, 100, 3, tmp_path)


# Over HTTP


def test_a_server_serves_it(server: Any, place: str) -> None:
    import urllib.request

    address = server.serve(place)
    client = cb.Client(address)
    study = client.create("<s>", SHOP, policy="ts", seed=1, mode="high-throughput", **NEVER)
    assert not client.create("<s>", SHOP, policy="ts", seed=1, mode="high-throughput", **NEVER).is_new
    assert study.mode == "high-throughput"
    decision = study.ask(key="k")
    assert study.ask(key="k").id == decision.id
    study.tell(decision.id, answer(SHOP, decision))
    behind = study.staleness()
    assert (behind.version, behind.rows) == (1, 2)
    assert study.describe()["staleness"]["rows"] == 2
    with urllib.request.urlopen(f"{address}/metrics") as found:
        text = found.read().decode()
    assert 'causal_bandits_snapshot_behind_rows{study="<s>",' in text
    with urllib.request.urlopen(f"{address}/studies/%3Cs%3E") as found:
        assert "2 rows" in found.read().decode()
    assert study.publish().rows == 0
    assert study.explain(decision.id).arm == decision.arm
    with urllib.request.urlopen(f"{address}/studies/%3Cs%3E") as found:
        assert "up to date" in found.read().decode()
    with pytest.raises(OptionError, match="mode='fast'"):
        client.create("t", SHOP, mode="fast")
    settings = json.loads(urllib.request.urlopen(f"{address}/api/v1/studies/%3Cs%3E/settings").read())
    assert settings["mode"] == "high-throughput"
    assert (settings["rules"]["publish_rows"], settings["rules"]["publish_seconds"]) == (1_000_000, 1000.0)


# Rows that cannot be counted


def test_an_absurd_clock_is_refused_and_nothing_is_stored(create: Create) -> None:
    study = create()
    right = study._session.clock
    for now in (1e300, -1.0, float("nan")):
        study._session.clock = lambda now=now: now  # type: ignore[misc]
        with pytest.raises(StorageError, match=r"the system clock reads .* seconds since 1970; correct it"):
            study.ask()
    study._session.clock = right
    study.tell(study.ask(), {"clicked": 1, "cart": "some"}, reward=1)
    study.publish()
    assert study.describe()["rows"] == 1


def appended(study: cb.Study, *rows: Row, asks: int = 0) -> None:
    assert isinstance(study._log, HighThroughputLog)
    study._log._rows.append(rows, asks, None)


def test_a_row_that_cannot_be_counted_is_set_aside(create: Create, caplog: pytest.LogCaptureFixture) -> None:
    study = create()
    study.ask(3)
    ask = dump({"version": 1, "key": "broken", "arms": [2, 99]})  # decisions 4 and 5
    appended(study, Row(0, "asked", 1, 0, b"1", 1e300, ask), asks=2)
    appended(study, Row(0, "told", 3, 1, None, 5.0, dump({"id": 3, "seen": {"clicked": "sideways", "purchase": 1}})))
    appended(study, Row(0, "expired", 999, 1, None, 5.0, dump({"ids": [999]})))
    study.tell(study.ask(), {"clicked": 1, "cart": "some"}, reward=1)
    study.tell(1, {"clicked": 0, "cart": "empty"}, reward=0)
    assert study.publish().rows == 0
    assert study.describe()["rows"] == 2
    assert study.to_frame()["status"].to_list() == ["told", "open", "open", "abandoned", "abandoned", "told"]
    check = next(each for each in study.health() if each.code == "unread-rows")
    assert check.alarm
    assert "3 rows of the log could not be counted and were set aside" in check.says
    assert "The first is row 2, of decision 4: ValueError" in check.says
    assert [record.levelname for record in caplog.records] == ["ERROR"] * 3
    assert "row 2 of its log (decision 4) cannot be counted and is set aside" in caplog.text
    with pytest.raises(UnknownDecisionError, match="decision 4 could not be counted and was set aside"):
        study.explain(4)
    assert study.explain(6).id == 6
    assert all_derived(study) == 4
    again = rebuilt(study)
    assert again.to_frame().drop("asked", "done").equals(study.to_frame().drop("asked", "done"))
    assert str(again.health()) == str(study.health())
    again.close()


def test_one_bad_row_among_many_is_found(create: Create) -> None:
    study = create()
    study.ask(200)
    study.tell_many([{"id": number, "clicked": 0, "cart": "empty", "purchase": 0} for number in range(1, 101)])
    appended(study, Row(0, "told", 150, 1, None, 5.0, dump({"id": 150, "seen": {"purchase": "much"}})))
    study.tell_many([{"id": number, "clicked": 0, "cart": "empty", "purchase": 0} for number in range(101, 141)])
    assert study.publish().rows == 0
    assert study.describe()["rows"] == 140
    assert "1 row of the log could not be counted" in str(study.health())


def test_what_the_policy_needs_cannot_be_missing(create: Create) -> None:
    study = create(policy="hac-ucb", options={"separating": ["clicked"], "horizon": 100})
    study.ask(2)
    study.tell(1, {"cart": None, "clicked": 1}, reward=1)
    with pytest.raises(ObservationError, match="decision 2: 'clicked' is missing, and the policy of this study"):
        study.tell(2, {"cart": "some", "clicked": None}, reward=1)
    with pytest.raises(ObservationError, match="decision 2: 'clicked' is missing"):
        study.tell(2, {"cart": "some"}, reward=1, final=True)
    study.publish()
    assert study.describe()["rows"] == 1
