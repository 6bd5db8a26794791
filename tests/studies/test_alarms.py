"""Alarms: every check has a code, and what is raised reaches a webhook at least once, whatever the receiver does."""

import contextlib
import hashlib
import hmac
import http.server
import json
import logging
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.errors import OptionError
from causal_bandits.product.options import AlarmOptions
from causal_bandits.product.studies import CODES, Monitor, Store, webhooks
from causal_bandits.product.studies.health import HOUR, Check, health_of
from causal_bandits.product.studies.monitor import IDLE_SECONDS, MOST_SECONDS
from causal_bandits.product.studies.storage import alarm_queue
from causal_bandits.product.studies.webhooks import DeliveryError, Webhook, body_of, check_private, post, read_secret

from .cases import SHOP, Unstored
from .conftest import Run

TWO = cb.Problem("Y", {"A": 2}, {"I": ["none", "a"]})
SECRET = b"0123456789abcdef0123456789abcdef"


# What is raised


def check(study: Unstored, code: str, now: float | None = None) -> Any:
    assert code in CODES
    return next(each for each in health_of(study.state, now) if each.code == code)


def test_outcomes_that_stop_are_noticed_once_they_are_overdue() -> None:
    """Half of the decisions have an outcome after a second, then none: 50 in a row have a chance of 1e-15. Seed 1."""
    study, rng = Unstored(TWO, seed=1), np.random.default_rng(1)
    for number in range(1, 301):
        study.ask()
        if rng.random() < 0.5:
            study.tell(number, {"A": 0, "Y": 1})
    study.ask(100)
    assert not check(study, "outcomes-stopped").raised
    now = float(study.state.seq)
    assert not check(study, "outcomes-stopped", now + 590).raised  # they are not overdue yet
    found = check(study, "outcomes-stopped", now + 610)
    assert found.raised
    assert found.level == "alarm"
    assert "check whatever reports outcomes" in found.says
    assert not check(Unstored(TWO), "outcomes-stopped").raised


def asked_at(times: Any) -> Unstored:
    study = Unstored(TWO, seed=1)
    study.ask(len(times))
    study.state.decisions.column("since")[:] = times
    return study


def test_a_burst_of_traffic_is_an_alarm_for_a_day_and_so_is_a_silence() -> None:
    steady = np.arange(400) * HOUR / 10
    burst = np.concatenate([steady, steady[-1] + np.linspace(1, 300, 80)])
    assert not check(asked_at(steady), "traffic-shift").raised
    found = check(asked_at(burst), "traffic-shift")
    assert found.raised
    assert "decisions in one hour, and never more than 10 in an hour before" in found.says
    later = np.concatenate([burst, burst[-1] + np.arange(1, 300) * HOUR / 10])
    assert not check(asked_at(later), "traffic-shift").raised
    study = asked_at(steady)
    assert not check(study, "traffic-shift", steady[-1] + 0.9 * HOUR).raised
    assert "no decision for 2.0 hours" in check(study, "traffic-shift", steady[-1] + 2 * HOUR).says
    assert "too little traffic" in check(asked_at(steady[:150]), "traffic-shift").says


def test_a_mediator_that_is_always_missing_is_named_though_no_row_waits_for_it() -> None:
    study = Unstored(cb.Problem("Y", {"A": 2, "B": 2}, {"I": ["none", "a"]}), policy="safe")
    for number in range(1, 41):
        study.ask()
        study.tell(number, {"A": 1, "B": None, "Y": number % 2})
    found = check(study, "missing-mediators")
    assert found.alarm
    assert found.about == ("B",)
    assert "0 of 40 rows with a reward wait for 'B', which was never reported" in found.says
    assert study.state.policy.rows == 40


def test_news_is_a_notice_and_no_alarm(sqlite: str) -> None:
    study = cb.Study.create("s", TWO, storage=sqlite, seed=1, reward_window=60)
    study._session.clock = lambda: clock
    clock = 1e9
    for each in study.ask(400):
        study.tell(each.id, {"A": 0}, reward=int(each.arm["I"] == "a"))
    assert not {"windows-closed", "stop-advised"} & {each.code for each in study.health().raised}
    clock += 61
    found = study.health()
    assert {each.code for each in found.raised if each.level == "notice"} == {"windows-closed", "stop-advised"}
    assert not {each.code for each in found.alarms} & {"windows-closed", "stop-advised"}
    (stop,) = [each for each in found if each.code == "stop-advised"]
    assert stop.about == (study.recommend().arm.label,)
    assert stop.says in [each["says"] for each in study.describe()["health"]]  # where it is advised once for all
    assert "notice windows-closed: the reward windows of 400 of 400 decisions have closed" in str(found)


# Receivers


class Receiver:
    """A server that gets messages and behaves as told."""

    def __init__(self) -> None:
        self.behavior = "confirm"
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.confirmed: list[dict[str, Any]] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._server: http.server.ThreadingHTTPServer | None = None
        self.release = threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?team=growth"

    def up(self) -> None:
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body, behavior = self.rfile.read(int(self.headers["Content-Length"])), receiver.behavior
                receiver.got.append((dict(self.headers), body))
                if behavior == "hang":
                    receiver.release.wait(20)
                    return
                if behavior == "fail":
                    return  # the connection is closed without an answer
                if behavior == "confirm":  # before the sender can go on
                    receiver.confirmed.append(json.loads(body))
                self.send_response(200 if behavior == "confirm" else 500)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def down(self) -> None:
        self.release.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    made.up()
    yield made
    made.down()


class Clock:
    """A clock that is moved by the test."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def monitor_of(storage: str, clock: Clock, **options: Any) -> Monitor:
    """A monitor with nothing kept from before, as after a restart."""
    store = Store(storage, create=False)
    made = AlarmOptions(allow_private_webhooks=True, **options)
    return Monitor(lambda: store, lambda name, work: work(cb.Study.load(name, storage=store)), made, clock=clock)


def ill(storage: str, name: str = "shop", **options: Any) -> cb.Study:
    """A study of which a mediator is never reported."""
    study = cb.Study.create(name, TWO, storage=storage, seed=1, **options)
    study.tell_many([{"id": each.id, "Y": each.id % 2} for each in study.ask(60)])
    return study


@pytest.mark.parametrize("behavior", ["fail", "hang", "500", "down"])
def test_each_alarm_is_delivered_though_the_receiver_does_not_work_for_an_hour(
    storage: str, receiver: Receiver, behavior: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every round is by a new monitor, as if the process were killed and started again in between."""
    monkeypatch.setattr(webhooks, "SECONDS", 0.05)
    clock = Clock()
    ill(storage, webhook=receiver.address, allow_private_webhook=True)
    receiver.behavior = behavior
    if behavior == "down":
        receiver.down()
    attempts, ended = 0, clock.now + 3600
    while clock.now < ended:
        monitor = monitor_of(storage, clock)
        monitor.check_all()
        assert monitor.deliver() == 0
        assert monitor.waiting() == 1
        attempts += 1
        clock.now += 240
    assert receiver.confirmed == []
    assert behavior == "down" or 4 <= len(receiver.got) <= 12  # it backs off
    receiver.behavior = "confirm"
    monkeypatch.setattr(webhooks, "SECONDS", 10.0)
    if behavior == "down":
        receiver.up()
    clock.now += MOST_SECONDS
    monitor = monitor_of(storage, clock)
    assert monitor.deliver() == 1
    assert monitor.waiting() == 0
    (message,) = receiver.confirmed
    assert (message["study"], message["code"], message["level"]) == ("shop", "missing-mediators", "alarm")
    assert message["about"] == ["A"]
    assert message["times"] == 1
    assert message["raised"] == message["first_raised"] == "2023-11-14T22:13:20+00:00"
    clock.now += MOST_SECONDS
    assert monitor.deliver() == 0
    assert len(receiver.confirmed) == 1


def test_an_address_that_hangs_delays_no_other(
    sqlite: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "SECONDS", 1.0)
    hung = Receiver()
    hung.up()
    hung.behavior = "hang"
    for number in range(3):
        ill(sqlite, f"hung{number}", webhook=hung.address, allow_private_webhook=True)
    ill(sqlite, "fine", webhook=receiver.address, allow_private_webhook=True)
    monitor = monitor_of(sqlite, Clock())
    assert monitor.check_all() == 4
    assert monitor.deliver() == 1
    assert [each["study"] for each in receiver.confirmed] == ["fine"]
    assert len(hung.got) == 1  # one attempt for an address that fails, not one for each of its messages
    hung.down()


def test_a_message_is_signed_and_goes_to_the_study_and_to_the_server(
    sqlite: str, receiver: Receiver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "secret").write_bytes(SECRET + b"\n")
    ill(sqlite, webhook=receiver.address, allow_private_webhook=True)
    clock = Clock()
    options = {"webhook": receiver.address, "webhook_secret_file": str(tmp_path / "secret")}
    monitor = monitor_of(sqlite, clock, **options)
    with caplog.at_level(logging.INFO, "causal_bandits.alarms"):
        assert monitor.check_all() == 1
    assert "study 'shop': Rows wait for a mediator [missing-mediators]: 60 of 60 rows" in caplog.text
    assert monitor.deliver() == 2
    for headers, body in receiver.got:
        time = headers["X-Causal-Bandits-Time"]
        expected = hmac.new(SECRET, time.encode() + b"." + body, hashlib.sha256).hexdigest()
        assert headers["X-Causal-Bandits-Signature"] == f"sha256={expected}"
        assert abs(float(time) - clock.now) < 1
    assert len({each["id"] for each in receiver.confirmed}) == 1
    assert receiver.address not in caplog.text


def test_an_alarm_is_said_once_and_again_when_there_is_more_or_after_a_day(sqlite: str, receiver: Receiver) -> None:
    study = cb.Study.create("s", SHOP, storage=sqlite, seed=1)
    clock = Clock()
    monitor = monitor_of(sqlite, clock, webhook=receiver.address)
    made = study.ask(90)
    study.tell_many([{"id": each.id, "clicked": 1, "purchase": each.id % 2} for each in made[:30]])
    assert monitor.check_all() == 1
    assert [(each.code, each.cleared) for each in study.alarms()] == [("missing-mediators", None)]
    clock.now += 61
    assert monitor.check_all() == 0  # nothing happened
    study.tell_many([{"id": each.id, "clicked": 1, "purchase": each.id % 2} for each in made[30:60]])
    assert monitor.check_all() == 0  # it is known
    clock.now += 61
    study.tell_many([{"id": each.id, "purchase": each.id % 2} for each in made[60:]])
    assert monitor.check_all() == 1  # another variable
    assert monitor.deliver() == 1
    assert receiver.confirmed[0]["times"] == 2
    assert receiver.confirmed[0]["about"] == ["cart", "clicked"]
    clock.now += 61
    study.tell_many([{"id": each.id, "clicked": 1, "cart": "some"} for each in made])
    assert monitor.check_all() == 0
    (over,) = study.alarms()
    assert over.cleared is not None
    for seconds, new in ((IDLE_SECONDS, 0), (2 * 86_400, 1)):
        clock.now += seconds
        number = study._session.row.id
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(alarm_queue, "claim_check", lambda *_: True)
            raised = [Check("missing-mediators", True, "again", about=("cart",))]
            found, _ = alarm_queue.record(study._session.store, number, clock.now, raised, ["server"])
            assert len(found) == new
            alarm_queue.record(study._session.store, number, clock.now, [], ["server"])


def test_monitors_of_several_processes_share_the_work(storage: str, receiver: Receiver) -> None:
    clock = Clock()
    for number in range(3):
        ill(storage, f"s{number}", webhook=receiver.address, allow_private_webhook=True)
    monitors = [monitor_of(storage, clock) for _ in range(3)]
    new: list[int] = []
    threads = [threading.Thread(target=lambda each=each: new.append(each.check_all())) for each in monitors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(new) == 3
    threads = [threading.Thread(target=each.deliver) for each in monitors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each["study"] for each in receiver.confirmed) == ["s0", "s1", "s2"]


def test_a_study_that_is_deleted_takes_its_messages_along(sqlite: str, receiver: Receiver) -> None:
    ill(sqlite, webhook=receiver.address, allow_private_webhook=True)
    monitor = monitor_of(sqlite, Clock())
    monitor.check_all()
    assert monitor.waiting() == 1
    cb.Study.delete("shop", storage=sqlite)
    assert (monitor.waiting(), monitor.deliver()) == (0, 0)


def test_the_command_checks_and_delivers_once(run: Run, receiver: Receiver, tmp_path: Path) -> None:
    ill(f"sqlite:///{tmp_path}/cli.db")
    given = ("--webhook", receiver.address, "--webhook-format", "slack", "--allow-private-webhooks", "--json")
    assert run("alarms", *given) == {"new": 1, "delivered": 1, "waiting": 0}
    assert run("alarms", *given) == {"new": 0, "delivered": 0, "waiting": 0}
    (message,) = receiver.confirmed
    assert [*message] == ["text"]
    assert "*Rows wait for a mediator* in study *shop*" in message["text"]


# Addresses


def test_what_is_posted_to_slack_mentions_nobody() -> None:
    alarm = {"level": "alarm", "cleared": None, "title": "T", "study": "<!channel>", "says": "a&b", "code": "c"}
    text = json.loads(body_of("slack", {**alarm, "raised": "2026-01-01"}))["text"]
    assert "<" not in text
    assert "&lt;!channel&gt;" in text
    assert "a&amp;b" in text


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("ftp://example.com/x", "expected an address such as https://example.com/alarms, http or https"),
        ("file:///etc/passwd", "http or https"),
        ("example.com", "http or https"),
        ("https://", "http or https"),
        ("https://example.com:99999/", "http or https"),
        ("https://example.com/a b", "http or https"),
        ("https://me:word@example.com/", "has a user or password in its address"),
        ("$HOME", "expected a variable whose name begins with $CAUSAL_BANDITS_"),
        ("http://127.0.0.1/", "127.0.0.1, which is this machine or in a private network"),
        ("http://localhost:9/", "localhost, which is"),
        ("http://10.1.2.3/", "private network"),
        ("http://169.254.169.254/latest/", "private network"),
        ("http://[::1]/", "private network"),
        ("http://[::ffff:10.0.0.1]/", "private network"),
        ("http://2130706433/", "private network"),
        ("http://0x7f.1/", "private network"),
    ],
)
def test_addresses_that_are_refused(address: str, words: str, sqlite: str) -> None:
    with pytest.raises(OptionError) as caught:
        cb.Study.create("s", TWO, storage=sqlite, webhook=address)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "word@" not in str(caught.value)
    assert not Path(sqlite.removeprefix("sqlite:///")).exists()


def test_a_name_that_leads_to_this_machine_is_refused_when_it_is_looked_up(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"http://hook.example.com:{receiver.port}/"
    found = socket.getaddrinfo("127.0.0.1", receiver.port, type=socket.SOCK_STREAM)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    check_private("webhook", address, allowed=False)
    with pytest.raises(DeliveryError, match=r"hook\.example\.com leads to 127\.0\.0\.1, which is this machine"):
        post(Webhook(address), b"{}", 0.0)
    assert receiver.got == []
    post(Webhook(address, private=True), b"{}", 0.0)
    assert len(receiver.got) == 1
    assert receiver.got[0][0]["Host"] == f"hook.example.com:{receiver.port}"


def test_an_address_in_a_variable_is_read_when_a_message_is_sent(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = Webhook("$CAUSAL_BANDITS_HOOK", private=True)
    with pytest.raises(DeliveryError, match="CAUSAL_BANDITS_HOOK holds no http or https address"):
        post(webhook, b"{}", 0.0)
    monkeypatch.setenv("CAUSAL_BANDITS_HOOK", receiver.address)
    post(webhook, b"{}", 0.0)
    assert webhook.shown == "$CAUSAL_BANDITS_HOOK"


def test_addresses_are_not_shown_in_full_and_options_need_each_other(sqlite: str, tmp_path: Path) -> None:
    study = cb.Study.create("s", TWO, storage=sqlite, webhook="https://hooks.example.com/services/T0/B0/very-secret")
    assert study.settings.rules["webhook"] == "https://hooks.example.com/..."
    assert "very-secret" not in json.dumps(study.describe(history=True))
    with pytest.raises(OptionError, match="webhook_format requires webhook="):
        cb.Study.create("t", TWO, storage=sqlite, webhook_format="slack")
    (tmp_path / "short").write_text("short")
    with pytest.raises(OptionError, match="has 5 bytes; expected at least 16"):
        read_secret(str(tmp_path / "short"))
    with pytest.raises(OptionError, match="cannot read the webhook secret"):
        read_secret(str(tmp_path / "absent"))
    with contextlib.suppress(DeliveryError):
        assert read_secret(None) is None
