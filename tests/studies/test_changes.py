"""Exclusions, corrections and the end of a study: what counts is what a replay without, or with other, rows counts."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import causal_bandits as cb
from causal_bandits.core.policies import Recommendation
from causal_bandits.core.serialization import to_json
from causal_bandits.errors import (
    CausalBanditsError,
    ConflictError,
    DecisionClosedError,
    ObservationError,
    OptionError,
    StudyFinishedError,
    UnknownDecisionError,
)
from causal_bandits.product.studies import session
from causal_bandits.product.studies.applying import apply
from causal_bandits.product.studies.decisions import Event
from causal_bandits.product.studies.state import StudyState, pack, restore

from .cases import SHOP, answer, fingerprint, play, rebuilt
from .conftest import new_schema
from .kinds import Studies, inner
from .test_every_read import REWARDS

WORTH: dict[str, list[Any]] = {
    "binary": [0, 1],
    "count": [0, 1, 7],
    "revenue": [0.0, 2.5, 90.25],
    "levels": ["bad", "good", "great"],
    "real": [-3.5, 0.0, 12.25],
}
VALUES: dict[str, list[Any]] = {"clicked": [0, 1], "cart": ["empty", "some", "full"], "seconds": [0.5, 3.0, 8.0]}


def problem_of(kind: str) -> cb.Problem:
    observed: dict[str, Any] = {"clicked": 2, "cart": VALUES["cart"], "seconds": cb.bins(quantiles=3, after=6)}
    return cb.Problem("earned", observed, {"banner": ["none", "red", "blue"]}, reward=REWARDS[kind])


# The reference: the same events, without what was excluded, and with the values that were corrected


def edited(events: list[Event], state: StudyState) -> Iterator[tuple[str, float, dict[str, Any]]]:
    """The events as they would have been."""
    gone = {number for number in range(1, len(state.decisions) + 1) if state.is_excluded(number)}
    said = {
        number: {k: v for each in made for k, v in each.after.items()} for number, made in state.corrections.items()
    }
    told: set[tuple[int, str]] = set()

    def now(number: int, values: dict[str, Any]) -> dict[str, Any]:
        told.update((number, name) for name in values)
        return {name: said.get(number, {}).get(name, value) for name, value in values.items()}

    closed = 0
    for event in events:
        body: dict[str, Any] = event.body
        if event.kind in ("corrected", "excluded", "included"):
            continue
        if event.kind == "told":
            if body["id"] in gone:
                continue
            further = {"metrics": now(body["id"], body["metrics"])} if "metrics" in body else {}
            body = {**body, "seen": now(body["id"], body["seen"]), **further}
        if event.kind == "closed":  # a reward that did not come is 0, and that may have been corrected
            for number in range(closed + 1, body["until"] + 1):
                if "earned" in said.get(number, {}) and (number, "earned") not in told and number not in gone:
                    yield "told", event.time, {"id": number, "seen": {"earned": said[number]["earned"]}}
            closed = body["until"]
        if event.kind == "counted":
            rows = []
            for kind, time, row in body["rows"]:
                number = row.get("id", row.get("ids", [0])[0])
                if number in gone or kind == "corrected":
                    continue
                values = {name: now(number, row[name]) for name in ("seen", "metrics") if name in row}
                version = {"version": 1} if kind == "asked" else {}  # versions are those of the study itself
                rows.append([kind, time, {**row, **values, **version}])
            body = {"rows": rows}
        yield event.kind, event.time, body


def replayed(study: cb.Study) -> StudyState:
    """The state from scratch."""
    found = StudyState(study._session.settings)
    state = study._session.read_counted(lambda state: state)
    for kind, time, given in edited(study._session.events(0, 10**6), state):
        body = given
        if kind == "counted":
            if not body["rows"]:
                continue
            body = {**body, "until": found.appended + len(body["rows"])}
        apply(found, Event(found.seq + 1, kind, time, body))  # type: ignore[arg-type]
    return found


def statistics(state: StudyState, kept: list[int]) -> dict[str, Any]:
    """All that is counted, as plain values, and what became of some decisions."""
    policy, history = state.policy, state.history
    state.guards.evidence(policy)  # rewards are counted when somebody looks
    counts = getattr(policy._state, "counts", None)
    tables = {} if counts is None else {f"table {name}": part for name, part in counts.tables._asdict().items()}
    if tables and not np.any(tables["table pending"]):  # allocated with the first row that waits
        del tables["table pending"]
    sums = ("rows", "mean", "m2", "m3", "m4", "above")  # the others are learned by the next fit
    stats = {} if counts is None else {f"reward {name}": getattr(counts.stats, name) for name in sums}
    waiting = history.pending.all
    order = np.lexsort((*waiting.raw.T, *waiting.codes.T, waiting.arms))
    guards = {name: part for name, part in state.guards.arrays().items() if name.endswith(("_sums", "_bets"))}
    return {
        **{f"rows {name}": part for name, part in history.rows._asdict().items()},
        **tables,
        **stats,
        **guards,
        "batches": np.array(history.batches).reshape(-1, 2) if state.settings.mode is None else np.empty(0),
        "row": state.decisions.column("row")[np.array(kept, dtype=np.int64) - 1],
        "waiting": np.column_stack([waiting.arms, waiting.codes])[order],
        "own": policy.posterior().own_rows,
        "missing": np.array([*history.missing.values()]),
        "parts": {number: part for number, part in state.parts.items() if number in kept},
        "incomplete": state.incomplete,
        "cuts": history.cuts,
    }


def assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        if isinstance(value, np.ndarray):
            assert value.shape == other[name].shape, (name, value, other[name])
            np.testing.assert_allclose(value.astype(float), other[name].astype(float), 1e-9, 1e-12, err_msg=name)
        else:
            assert value == other[name], name


class Changes(RuleBasedStateMachine):
    """Any order of calls; after each, what is counted equals a replay from scratch."""

    kind = "binary"

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.now = 1000.0

    def begin(self, storage: str, kind: str, **options: Any) -> None:
        rails: dict[str, Any] = {"clicked": ("<=", 0.9), "complaint": ("<=", 0.5), "earned": (">=", "0.5 x control")}
        if kind == "levels":
            del rails["earned"]
        self.kind = kind
        self.study = cb.Study.create(
            "s", problem_of(kind), storage=storage, metrics={"complaint": bool}, guardrails=rails, **options
        )
        self.study._session.clock = lambda: self.now

    @property
    def made(self) -> int:
        self.study.publish()
        return int(self.study._session.read_counted(lambda state: len(state.decisions)))

    def drawn(self, data: st.DataObject, name: str) -> Any:
        return data.draw(st.sampled_from(WORTH[self.kind] if name == "earned" else [*VALUES[name], None]))

    @rule(data=st.data(), count=st.integers(1, 4))
    def whole(self, data: st.DataObject, count: int) -> None:
        """Decisions whose outcome is known at once, but for its order."""
        made = self.study.ask(count)
        for each in data.draw(st.permutations(made)):
            seen = {name: self.drawn(data, name) for name in (*VALUES, "earned")}
            self.study.tell(each, {**seen, **({"complaint": each.id % 2} if each.id % 3 else {})})

    @rule(count=st.integers(1, 3))
    def ask(self, count: int) -> None:
        self.study.ask(count)

    @rule(seconds=st.sampled_from([1.0, 4.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @precondition(lambda self: self.made)
    @rule(data=st.data(), name=st.sampled_from([*VALUES, "earned"]))
    def part(self, data: st.DataObject, name: str) -> None:
        number = data.draw(st.integers(1, self.made))
        self.tried(lambda: self.study.tell(number, {name: self.drawn(data, name)}))

    @precondition(lambda self: self.made)
    @rule(data=st.data(), name=st.sampled_from([*VALUES, "earned", "complaint"]))
    def correct(self, data: st.DataObject, name: str) -> None:
        number = data.draw(st.integers(1, self.made))
        value = data.draw(st.sampled_from([0, 1])) if name == "complaint" else self.drawn(data, name)
        self.tried(lambda: self.study.correct(number, {name: value}, reason="refund"))

    @precondition(lambda self: self.made)
    @rule(data=st.data())
    def exclude(self, data: st.DataObject) -> None:
        numbers = data.draw(st.lists(st.integers(1, self.made), min_size=1, max_size=4))
        self.tried(lambda: self.study.exclude(numbers, reason="bots"))

    @rule(arm=st.sampled_from(["red", "blue"]))
    def exclude_arm(self, arm: str) -> None:
        self.tried(lambda: self.study.exclude(arm={"banner": arm}, reason="broken"))

    @rule(data=st.data())
    def include(self, data: st.DataObject) -> None:
        out = self.study._session.read_counted(lambda state: np.flatnonzero(~state.decisions.included) + 1).tolist()
        if out:
            self.study.include(data.draw(st.lists(st.sampled_from(out), min_size=1)))

    @precondition(lambda self: self.made)
    @rule(data=st.data())
    def abandon(self, data: st.DataObject) -> None:
        number = data.draw(st.integers(1, self.made))
        self.tried(lambda: self.study.abandon(number))

    def tried(self, call: Any) -> None:
        """A call that may be refused; then nothing has changed."""
        self.study.publish()
        before = fingerprint(self.study)
        try:
            call()
        except CausalBanditsError:
            if self.study._session.settings.reward_window is None:
                assert fingerprint(self.study) == before

    @invariant()
    def counted_as_if_the_rows_had_been_so(self) -> None:
        if not hasattr(self, "study"):
            return
        self.study.publish()
        found = self.study._session.read_counted(lambda state: state)
        kept = (np.flatnonzero(found.decisions.included) + 1).tolist()
        assert_same(statistics(found, kept), statistics(replayed(self.study), kept))
        assert pack(restore(found.settings, pack(found))) == pack(found)

    def teardown(self) -> None:
        if hasattr(self, "study"):
            assert fingerprint(rebuilt(self.study)) == fingerprint(self.study)
            self.study.close()
        self.folder.cleanup()


@pytest.fixture(autouse=True, scope="module")
def _frequent_snapshots() -> Any:
    old, session.SNAPSHOT_EVENTS = session.SNAPSHOT_EVENTS, 5
    yield
    session.SNAPSHOT_EVENTS = old


_servers: list[str] = []


@pytest.fixture(scope="module")
def _server(postgres: str) -> None:
    _servers.append(postgres)


def machine(name: str) -> type[Changes]:
    """The machine of a kind of reward, on SQLite, with and without a reward window."""

    class Stored(Changes):
        @initialize(window=st.sampled_from([None, 5.0]) if name != "levels" else st.none())
        def create(self, window: float | None) -> None:
            self.begin(f"sqlite:///{Path(self.folder.name)}/s.db", name, seed=1, reward_window=window)

    return Stored


class HighThroughput(Changes):
    @initialize(kind=st.sampled_from([*WORTH]))
    def create(self, kind: str) -> None:
        options = {"mode": "high-throughput", "publish_rows": 7, "publish_seconds": 1000.0}
        self.begin(new_schema(_servers[0]), kind, seed=1, **options)


FEW = settings(max_examples=3, stateful_step_count=20, deadline=None, phases=[Phase.generate])
TestBinary, TestCount, TestRevenue = (machine(name).TestCase for name in ("binary", "count", "revenue"))
TestLevels, TestReal = (machine(name).TestCase for name in ("levels", "real"))
TestHighThroughput = pytest.mark.usefixtures("_server")(HighThroughput.TestCase)
for _machine in (TestBinary, TestCount, TestRevenue, TestLevels, TestReal, TestHighThroughput):
    _machine.settings = FEW
del _machine  # pytest would collect it


# Examples, and bad input: on every storage, in every mode and over a server


def new_study(studies: Studies, **options: Any) -> cb.Study:
    return studies.create("shop", SHOP, seed=1, policy="ts", **options)


def at(study: cb.Study, seconds: float) -> None:
    """Set the clock of a study to this many seconds after 1970."""
    inner(study)._session.clock = lambda: seconds


def test_outcomes_by_key(studies: Studies) -> None:
    study = new_study(studies)
    study.ask(key="visitor-42")
    study.tell(key="visitor-42", mediators={"clicked": 1, "cart": "some"}, reward=1)
    assert study.decision(key="visitor-42")["outcome"] == {"clicked": 1, "cart": "some", "purchase": 1}
    study.ask(key="visitor-43")
    rows = [{"key": "visitor-42", "purchase": 1}, {"key": "visitor-43", "clicked": 0, "purchase": 0}]
    assert study.tell_many(rows) == 1
    with pytest.raises(ConflictError, match="correct\\(\\) to change a recorded value"):
        study.tell(key="visitor-42", reward=0)
    pair = study.ask(2, key="pair")
    before = fingerprint(study)
    for key, error, words in (
        ("nobody", UnknownDecisionError, "key 'nobody' is not known"),
        ("pair", ConflictError, f"key 'pair' has 2 decisions, the last is {pair[1].id}; name the decision"),
        ("", OptionError, "key=''"),
    ):
        for call in (study.tell, study.correct):
            with pytest.raises(error, match=words):
                call(key=key, reward=1)
        with pytest.raises(error, match=f"row 2: .*{words}"):
            study.tell_many([{"key": "visitor-43", "cart": "some"}, {"key": key, "purchase": 1}])
    with pytest.raises(OptionError, match="tell needs a decision or a key, and not both"):
        study.tell(1, key="visitor-42", reward=1)
    with pytest.raises(OptionError, match="tell needs a decision or a key, and not both"):
        study.tell(reward=1)
    assert fingerprint(study) == before


def test_how_long_a_key_keeps_its_decision(studies: Studies) -> None:
    for sticky, kept, words in (
        ("forever", [1, 1, 1], "keeps this decision forever"),
        ("1h", [1, 1, 2], "keeps this decision for 1 hour"),
        ("never", [1, 2, 3], "gets a new decision each time"),
    ):
        study = studies.create(f"s {sticky}", SHOP, seed=1, policy="ts", sticky=sticky)
        found = []
        for now in (1000.0, 4599.0, 4601.0):
            at(study, now)
            found.append(study.ask(key="visitor").id)
        assert found == kept
        if sticky == "never":
            with pytest.raises(ConflictError, match="key 'visitor' has 3 decisions, the last is 3"):
                study.tell(key="visitor", reward=1)
        else:
            study.tell(key="visitor", reward=1)
            assert study.decision(kept[-1])["outcome"] == {"purchase": 1}
        study.publish()
        assert f"key 'visitor' {words}" in str(study.explain(1))
    with pytest.raises(OptionError, match="sticky='soon'; expected 'forever', 'never' or a duration such as 30d"):
        studies.create("other", SHOP, sticky="soon")


def test_corrections_are_on_the_decision(studies: Studies) -> None:
    study = new_study(studies)
    study.ask(3)
    study.tell(1, {"clicked": 1, "cart": "some"}, reward=1)
    study.tell(2, {"clicked": 1})
    assert study.correct(1, reward=0, reason="refund")
    assert not study.correct(1, reward=0)
    study.tell(1, {"clicked": 1}, reward=1)  # the first webhook again
    study.publish()
    found = study.decision(1)
    assert found["outcome"] == {"clicked": 1, "cart": "some", "purchase": 0}
    assert [(each["reason"], each["before"], each["after"]) for each in found["corrections"]] == [
        ("refund", {"purchase": 1}, {"purchase": 0})
    ]
    assert study.describe()["corrected"] == 1
    study.correct(2, {"clicked": 0})
    before = fingerprint(study)
    for number, values, reward, error, words in (
        (3, {}, 1, ObservationError, "decision 3 has no outcome to correct; tell\\(\\) records one"),
        (2, {}, 1, ObservationError, "decision 2 has no 'purchase' on record to correct"),
        (1, {"cart": "huge"}, None, CausalBanditsError, "'huge' is not a level of 'cart'"),
        (1, {}, None, ObservationError, "no values for decision 1; pass the mediators or the reward to correct"),
        (9, {}, 1, UnknownDecisionError, "decision 9 is not known"),
    ):
        with pytest.raises(error, match=words):
            study.correct(number, values, reward=reward)
    assert fingerprint(study) == before
    study.abandon(3)
    with pytest.raises(ObservationError, match="decision 3 is abandoned and has no outcome to correct"):
        study.correct(3, reward=1)
    with pytest.raises(OptionError, match="reason=3"):
        study.correct(1, reward=1, reason=3)  # type: ignore[arg-type]
    assert study.correct(1, reward=1)  # undone
    study.publish()
    assert study.decision(1)["outcome"]["purchase"] == 1


def test_exclusions_by_what_decisions_have_in_common(studies: Studies) -> None:
    study = new_study(studies)
    for number in range(12):
        at(study, 1e9 + 86_400 * number)
        key = f"{'bot' if number % 3 == 0 else 'visitor'}-{number}"
        study.tell(study.ask(key=key).id, {"clicked": 1, "cart": "some"}, reward=number % 2)
    before = study.to_frame()
    assert list(study.exclude(key_prefix="bot-", reason="bots")) == [1, 4, 7, 10]
    assert list(study.exclude([2, 3], reason="staff")) == [2, 3]
    assert list(study.exclude(since="2001-09-16", until="2001-09-18", reason="broken release")) == [8, 9]
    frame = study.to_frame()
    assert frame["excluded"].to_list()[:4] == ["bots", "staff", "staff", "bots"]
    assert frame["purchase"].to_list() == before["purchase"].to_list()
    assert sum(row.own_rows for row in study.estimates()) == 4
    assert study.describe()["decisions"]["excluded"] == 8
    assert study.decision(9)["excluded"] == "broken release"
    found = [(each["decisions"], each["reason"]) for each in study.describe()["exclusions"]]
    assert found == [(4, "bots"), (2, "staff"), (2, "broken release")]
    state = fingerprint(study)
    refused: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: study.exclude(1, reason="x"), ConflictError, "decision 1 is excluded already \\('bots'\\)"),
        (lambda: study.exclude([5, 2], reason="x"), ConflictError, "decision 2 is excluded already"),
        (
            lambda: study.exclude(key_prefix="bot-", reason="x"),
            UnknownDecisionError,
            "every decision that matches .* is excluded already",
        ),
        (lambda: study.exclude(key_prefix="none", reason="x"), UnknownDecisionError, "no decision matches"),
        (lambda: study.exclude(99, reason="x"), UnknownDecisionError, "decision 99 is not known"),
        (lambda: study.exclude(5, reason=" "), OptionError, "say why"),
        (lambda: study.exclude(reason="x"), OptionError, "name decisions or a filter"),
        (lambda: study.exclude(5, since="2001-01-01", reason="x"), OptionError, "and not both"),
        (lambda: study.exclude(since="monday", reason="x"), OptionError, "since='monday'"),
        (lambda: study.exclude([], reason="x"), OptionError, "empty list"),
        (lambda: study.include(5), ConflictError, "decision 5 is not excluded"),
    ]
    for call, error, words in refused:
        with pytest.raises(error, match=words):
            call()
    assert fingerprint(study) == state
    study.include(key_prefix="bot-")
    study.include([2, 3, 8, 9])
    assert sum(row.own_rows for row in study.estimates()) == 12
    assert [row.kind for row in study.audit()][:2] == ["included", "included"]


@pytest.mark.parametrize("after", ["winner", "error"])
def test_a_finished_study(studies: Studies, tmp_path: Path, after: str) -> None:
    study = new_study(studies, after_finish=after)
    with pytest.raises(ObservationError, match=r"no arm has|no rows|no data"):
        study.finish()
    first = study.ask()
    study.tell(first.id, answer(SHOP, first))
    known = answer(SHOP, first)["purchase"]
    play(study, 19)
    study.ask(2, key="open")
    study.tell(21, {"clicked": 1})
    final = study.finish()
    assert isinstance(final.answer, Recommendation)
    best = final.answer.arm
    assert (final.decisions, final.rows, final.left_out) == (22, 20, 2)
    assert study.recommend() == final.answer
    assert study.finished == final
    assert str(final).endswith(f"the winner is {best.label}")
    advice, report = study.advice(), study.report_values()
    assert (advice.action, advice.arm) == ("finished", best)
    assert advice.text.startswith(f"finished: since {advice.finished}; the winner is {best.label}.")
    assert "At this rate" not in advice.text
    assert report["advice"] == study.describe()["advice"] == to_json(advice)
    assert report["finished"] == advice.finished
    with pytest.raises(ConflictError, match=r"study 'shop' was finished at .*; a study is finished once"):
        study.finish()
    for call in (
        lambda: study.correct(1, reward=1),
        lambda: study.exclude(1, reason="bots"),
        lambda: study.retire(best),
        lambda: study.tell(21, reward=1),
    ):
        with pytest.raises((StudyFinishedError, DecisionClosedError)):
            call()
    with pytest.raises(ConflictError, match=r"; the study is finished, so recorded values stay as they are$"):
        study.tell(1, reward=1 - known)
    study.tell(first.id, answer(SHOP, first))  # again, as before
    one = study.report(tmp_path / "one.html")
    if after == "error":
        with pytest.raises(StudyFinishedError, match=r"was finished at .* and makes no more decisions"):
            study.ask()
    else:
        made = [study.ask(key="open"), study.ask()]
        assert {each.arm for each in made} == {best}
        assert made[0].id == 23
        with pytest.raises(StudyFinishedError, match="is not among the given arms"):
            study.ask(arms=[arm for arm in SHOP.arms if arm != best][:1])
        study.tell(made[1], {"clicked": 1, "cart": "full"}, reward=1)
        study.publish()
        assert study.explain(made[1]).propensity == 1
        assert sum(row.own_rows for row in study.estimates()) == 20
    assert study.report(tmp_path / "other.html").read_text() == one.read_text()
    assert fingerprint(rebuilt(study)) == fingerprint(study)


def test_finish_leaves_out_open_windows(sqlite: str) -> None:
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1, reward_window="10s")
    for number in range(30):
        at(study, 1000.0 + number)
        study.tell(study.ask(), {"clicked": 1, "cart": "some"}, reward=1 if number % 3 == 0 else None)
    final = study.finish()
    assert (final.rows, final.left_out) == (20, 10)  # rewards that came early would favor those that buy
    assert "10 open decisions were left out" in str(final)


def test_finish_before_any_window_has_closed(sqlite: str) -> None:
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1, reward_window="10s")
    at(study, 1000.0)
    study.tell(study.ask(), {"clicked": 1, "cart": "some"}, reward=1)
    with pytest.raises(ObservationError, match="no reward window has closed yet, so the 1 reward on record"):
        study.finish()
    at(study, 1020.0)
    assert study.finish().rows == 1
