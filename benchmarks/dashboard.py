"""The page of a study with 100,000 decisions and 300 arms: `python -m benchmarks.dashboard [FOLDER]`.

A folder keeps the study, so that only the first run has to make it.
"""

import gzip
import http.client
import json
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from causal_bandits import Client, Problem, Study
from causal_bandits.product.studies.decisions import Event
from causal_bandits.product.studies.storage.transaction import Transaction

from .service import OUTCOME, Server, timed

PROBLEM = Problem(
    "purchase",
    {"clicked": 2, "cart": ["empty", "some", "full"]},
    {"headline": 5, "image": 5, "shipping": ["paid", "free", "express"], "price": ["none", "5%", "10%", "15%"]},
)
DECISIONS, STEP, DAYS = 100_000, 1000, 60


def grown(storage: str) -> None:
    """A study of sixty days by the default policy, all told; its events are written without being counted here.

    Traffic moves to the better arms, as it does in a study that decides.
    """
    study = Study.create("large", PROBLEM, storage=storage, seed=1)
    session, rng = study._session, np.random.default_rng(7)
    if session.head().seq > 1:
        return
    appeal = rng.normal(0, 0.3, len(PROBLEM.arms))
    start = session.now() - 86_400 * DAYS
    for step in range(DECISIONS // STEP):
        shares = np.exp(appeal * step / 8)
        arms = rng.choice(len(appeal), STEP, p=shares / shares.sum())
        clicked = rng.random(STEP) < 1 / (1 + np.exp(1.5 - appeal[arms]))
        full = clicked & (rng.random(STEP) < 0.4)
        bought = rng.random(STEP) < np.where(full, 0.5, np.where(clicked, 0.1, 0.01))
        head, first = session.head(), step * STEP + 1
        at = start + 86_400 * DAYS * step * STEP / DECISIONS
        events = [Event(head.seq + 1, "asked", at, {"first": first, "arms": arms.tolist()})]
        for place in range(STEP):
            cart = "full" if full[place] else "some" if clicked[place] else "empty"
            seen = {"clicked": int(clicked[place]), "cart": cart, "purchase": int(bought[place])}
            events.append(Event(head.seq + 2 + place, "told", at + place, {"id": first + place, "seen": seen}))
        session.store.write(session.row.id, partial(Transaction.add, head=head, new=events))
    study.tell(study.ask(), OUTCOME, reward=0)  # stores a snapshot, as all studies have that were asked so often
    study.close()


def pages(address: str) -> dict[str, float]:
    """How long pages take and how large they are: the first look, all charts drawn, again, and after a change."""
    connection = http.client.HTTPConnection(address.removeprefix("http://"))

    def page(path: str) -> bytes:
        connection.request("GET", f"/studies/large{path}")
        answer = connection.getresponse()
        found = answer.read()
        assert answer.status == 200, found
        return found

    study, found = Client(address).load("large"), {}
    started = time.perf_counter()
    page("")
    found["dashboard_first_ms"] = (time.perf_counter() - started) * 1e3
    while b"data-stale" in page(""):
        time.sleep(0.1)
    found["dashboard_drawn_ms"] = (time.perf_counter() - started) * 1e3
    for name, path in {"": "", "_sets": "/sets", "_funnel": "/funnel", "_decisions": "/decisions"}.items():
        found[f"dashboard{name}_ms"] = statistics.median(timed(partial(page, path)) for _ in range(10)) * 1e3
        found[f"dashboard{name}_kb"] = len(page(path)) / 1e3
    found["dashboard_zipped_kb"] = len(gzip.compress(page(""))) / 1e3
    changed = []
    for _ in range(10):
        study.tell(study.ask().id, {"clicked": 0, "cart": "empty"}, reward=0)
        changed.append(timed(partial(page, "")))
    found["dashboard_after_a_change_ms"] = statistics.median(changed) * 1e3
    found["dashboard_after_a_change_worst_ms"] = max(changed) * 1e3
    return found


def dashboard(folder: str) -> dict[str, float]:
    """All of it."""
    storage = f"sqlite:///{folder}/dashboard.db"
    grown(storage)
    server = Server(storage)
    try:
        return pages(server.address)
    finally:
        server.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        print(json.dumps(dashboard(str(Path(sys.argv[1])) if len(sys.argv) > 1 else made), indent=1))
