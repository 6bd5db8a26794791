"""Alarms that reach people: every check that is raised is logged once, stored, and posted to webhooks until confirmed.

A `Monitor` looks at the studies of a storage in rounds. `causal-bandits serve` runs one beside its requests, and
`causal-bandits alarms` does one round, for whoever runs no server.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...core.serialization import to_json
from ...errors import CausalBanditsError
from ..options import AlarmOptions
from .decisions import moment
from .storage import alarm_queue
from .storage.alarm_queue import Message
from .storage.store import Store
from .study import Study
from .webhooks import DeliveryError, Webhook, body_of, check_private, post, read_secret

log = logging.getLogger("causal_bandits.alarms")

IDLE_SECONDS = 3600.0
"""How often a study without new events is checked: its windows close, and a silence is only seen as time passes."""
ROUND_SECONDS = 5.0
"""How often messages that are due are looked for."""
RETRY_SECONDS, MOST_SECONDS = 30.0, 900.0
"""The pause after the first failed attempt, doubled after each, and the longest one. Longer than an attempt takes."""
PAUSE_RATIO = 200.0
"""A check is followed by a pause this much longer, so that checks delay fewer than 1% of all decisions."""
AT_ONCE = 8
"""Addresses that are posted to at once."""


Look = Callable[[str, Callable[[Study], Any]], Any]
"""Does something with an open study, by name."""


class Monitor:
    """Finds and delivers the alarms of all studies of a storage; several may run at once, in any process."""

    def __init__(
        self,
        store: Callable[[], Store],
        look: Look,
        options: AlarmOptions,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if options.webhook is not None:
            check_private("webhook", options.webhook, allowed=options.allow_private_webhooks)
        self._store, self._look, self._options, self._clock = store, look, options, clock
        self._secret = read_secret(options.webhook_secret_file)

    # Checking

    def check_all(self, pause: Callable[[float], bool] = lambda _: False) -> int:
        """Check every study that is due; the number of alarms that are new. `pause` waits, and says when to stop."""
        count = 0
        for row in Study.list(storage=self._store()):
            if row.error is None:
                began = time.perf_counter()
                try:
                    count += self._look(row.name, self._check)
                except CausalBanditsError as error:  # deleted meanwhile, or the storage does not answer
                    log.warning("study %r could not be checked: %s", row.name, error)
                if pause(PAUSE_RATIO * (time.perf_counter() - began)):
                    break
        return count

    def _check(self, study: Study) -> int:
        now, store, number = self._clock(), self._store(), study._session.row.id
        if not alarm_queue.claim_check(store, number, now, self._options.check_seconds, IDLE_SECONDS):
            return 0
        raised = study.health().raised
        targets = [name for name in ("study", "server") if self._webhook(name, study) is not None]
        new, cleared = alarm_queue.record(store, number, now, raised, targets)
        for each in new:
            level = logging.INFO if each.level == "notice" else logging.WARNING
            log.log(level, "study %r: %s [%s]: %s", study.name, each.title, each.code, each.says)
        for each in cleared:
            log.info("study %r: over: %s [%s]", study.name, each.title, each.code)
        return len(new)

    def _webhook(self, target: str, study: Study) -> Webhook | None:
        options = self._options
        if target == "server":
            if options.webhook is None:
                return None
            return Webhook(options.webhook, options.webhook_format, options.allow_private_webhooks)
        rules = study._session.settings.rules
        if "webhook" not in rules:
            return None
        private = rules.get("allow_private_webhook", False) or options.allow_private_webhooks
        return Webhook(rules["webhook"], rules.get("webhook_format", "json"), private)

    # Delivering

    def deliver(self) -> int:
        """Post the messages that are due, to several addresses at once; the number that were confirmed.

        An address that fails gets no other message in this round, so that one that hangs delays nobody else.
        """
        by_address: dict[Webhook, list[Message]] = {}
        for message in alarm_queue.due_messages(self._store(), self._clock()):
            webhook = self._look(message.name, partial(self._webhook, message.target))
            if webhook is None:  # no longer configured
                alarm_queue.confirm(self._store(), message)
            else:
                by_address.setdefault(webhook, []).append(message)
        room, done = threading.Semaphore(AT_ONCE), list[bool]()

        def work(webhook: Webhook, messages: Sequence[Message]) -> None:
            with room:
                try:
                    for message in messages:
                        if not self._deliver(webhook, message):
                            break
                        done.append(True)
                except CausalBanditsError as error:
                    log.warning("alarms could not be delivered: %s", error)

        threads = [threading.Thread(target=work, args=each, daemon=True) for each in by_address.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return len(done)

    def _deliver(self, webhook: Webhook, message: Message) -> bool:
        store, now = self._store(), self._clock()
        pause = min(RETRY_SECONDS * 2 ** min(message.attempts, 10), MOST_SECONDS)
        claimed = alarm_queue.postpone(store, message, now + pause)
        if claimed is None:
            return True
        try:
            post(webhook, body_of(webhook.format, message_json(claimed)), now, self._secret)
        except DeliveryError as error:
            about = (message.alarm.code, message.name, webhook.shown, error, claimed.attempts, pause)
            log.warning("alarm %s of study %r was not delivered to %s: %s; attempt %d, the next in %d s", *about)
            return False
        alarm_queue.confirm(store, claimed)
        return True

    def waiting(self) -> int:
        """How many messages no webhook has confirmed yet."""
        return alarm_queue.waiting_messages(self._store())

    def run(self, stop: threading.Event) -> None:
        """Check and deliver until told to stop."""

        def pause(seconds: float) -> bool:
            until = time.monotonic() + seconds
            while (left := until - time.monotonic()) > 0 and not stop.wait(min(left, ROUND_SECONDS)):
                self.deliver()
            return stop.is_set()

        while not stop.wait(ROUND_SECONDS):
            try:
                self.check_all(pause)
                self.deliver()
            except CausalBanditsError as error:
                log.warning("alarms could not be checked: %s", error)
            except Exception:
                log.exception("alarms could not be checked")


def message_json(message: Message) -> dict[str, Any]:
    """What is posted of a message; `id` is the same in every attempt."""
    alarm = message.alarm
    return {
        **to_json(alarm),
        "id": f"{message.study}-{alarm.code}-{alarm.raised.timestamp():.3f}",
        "study": message.name,
        "first_raised": moment(message.first).isoformat(),
        "times": message.times,
        "attempt": message.attempts,
    }
