"""`causal-bandits alarms`: check studies and deliver alarms without a server."""

from collections.abc import Callable
from typing import Any, TypeVar

from ..core.markup import counted
from ..product.options import AlarmOptions
from .deferred import studies
from .options import takes
from .root import app
from .study import DEFAULT_STORAGE, AsJson, Storage, report

T = TypeVar("T")


@app.command("alarms")
@takes(AlarmOptions, environment=True)
def alarms_command(storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False, **options: Any) -> None:
    """Check all studies once, and log and post new alarms.

    Run it from cron if you do not run a server. Studies that were checked less than --check-seconds ago, by this
    command or by a server, are skipped.

    Every option is also an environment variable (CAUSAL_BANDITS_WEBHOOK for --webhook).
    """
    store = studies.Store(storage, create=False)

    def look(name: str, work: Callable[["studies.Study"], T]) -> T:
        return work(studies.Study.load(name, storage=store))

    monitor = studies.Monitor(lambda: store, look, AlarmOptions(**options))
    new, delivered = monitor.check_all(), monitor.deliver()
    waiting = monitor.waiting()
    words = f"{counted(new, 'new alarm')}, {counted(delivered, 'message')} delivered, {waiting} waiting for a webhook"
    report(as_json, {"new": new, "delivered": delivered, "waiting": waiting}, words)
