"""The story of one study: two processes, late and contradicting webhooks, bots, refunds, arms that come and go.

The web process asks for decisions, by the key of the visitor. The webhook process, which knows keys and no decisions,
reports what became of them. Both open the same storage. They take turns, a simulated day each, so that a seed always
tells the same story.
"""

import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

import causal_bandits as cb
from causal_bandits.core.policies import Advice
from causal_bandits.errors import ConflictError

from .simulator import PROBLEM, Visit, key_of, true_rate, visit

PATIENCE = 6
"""Days after which a visitor who has not bought is reported with a reward of 0."""
DUPLICATES, CONTRADICTIONS = 0.15, 0.05
RETURNING = 0.1
"""Of the visits of a day, by visitors of the days before."""


class Web:
    """The process that serves pages: each visitor gets a decision."""

    def __init__(self, storage: str, seed: int) -> None:
        self.study = cb.Study.load("shop", storage=storage)
        self.rng = np.random.default_rng((seed, 1))
        self.shown: dict[str, cb.Arm] = {}

    def day(self, visitors: int) -> list[tuple[Visit, dict[str, Any]]]:
        """The visits of a day, with what was shown."""
        visits = []
        for _ in range(visitors):
            if self.shown and self.rng.random() < RETURNING:
                key = str(self.rng.choice([*self.shown]))
                assert self.study.ask(key=key).arm == self.shown[key]  # who comes back sees the same page
                continue
            key = key_of(len(self.shown), self.rng)
            arm = self.study.ask(key=key).arm
            self.shown[key] = arm
            visits.append((visit(key, str(arm["banner"]), str(arm["shipping"]), self.rng), dict(arm)))
        return visits


class Webhooks:
    """The process that receives webhooks: they name the visitor, come late, twice, or say something else."""

    def __init__(self, storage: str, seed: int) -> None:
        self.study = cb.Study.load("shop", storage=storage)
        self.rng = np.random.default_rng((seed, 2))
        self.due: dict[int, list[tuple[str, Visit]]] = {}
        self.refused = 0

    def day(self, today: int, visits: list[Visit]) -> int:
        """Deliver what is due; gives the number of contradictions that were refused so far."""
        for each in visits:
            self.study.tell(key=each.key, mediators={"clicked": each.clicked, "cart": each.cart})
            in_time = each.bought and each.days < PATIENCE
            self.due.setdefault(today + (each.days if in_time else PATIENCE), []).append(("reward", each))
            if in_time and each.refunded:
                self.due.setdefault(today + each.days + 2, []).append(("refund", each))
        for kind, each in self.due.pop(today, []):
            if kind == "refund":
                self.study.correct(key=each.key, reward=0, reason="refund")
                continue
            reward = int(each.bought and each.days < PATIENCE)
            for _ in range(1 + (self.rng.random() < DUPLICATES)):
                self.study.tell(key=each.key, reward=reward)
            if self.rng.random() < CONTRADICTIONS:
                try:
                    self.study.tell(key=each.key, reward=1 - reward)
                except ConflictError:
                    self.refused += 1
        return self.refused


def _serve(make: Callable[[str, int], Any], storage: str, seed: int, calls: Connection) -> None:
    """A process: answer calls until there are no more."""
    role = make(storage, seed)
    while (arguments := calls.recv()) is not None:
        calls.send(role.day(*arguments))
    role.study.close()


class Process:
    """One of the two processes."""

    def __init__(self, make: Callable[[str, int], Any], storage: str, seed: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._calls, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(make, storage, seed, other), daemon=True)
        self._process.start()
        other.close()  # so that `recv` ends with an error when the process does

    def day(self, *arguments: Any) -> Any:
        """One day of it."""
        self._calls.send(arguments)
        return self._calls.recv()

    def end(self) -> None:
        """Let it end."""
        self._calls.send(None)
        self._process.join(60)


@dataclass
class Outcome:
    """What the study said, and the truth."""

    rows: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)
    """By arm: rows and purchases that the study counted, and those of the simulator."""
    means: list[tuple[str, float, float, float, float]] = field(default_factory=list)
    """By arm: estimate, ends of its interval, truth."""
    lifts: list[tuple[str, float, float, float]] = field(default_factory=list)
    """By arm: ends of the interval of its lift, truth."""
    winner: str = ""
    loss: float = 0.0
    """How much the winner is behind the best arm, as a share of the best."""
    excluded: int = 0
    bots_and_staff: int = 0
    corrected: int = 0
    refunds: int = 0
    refused: int = 0
    claims: int = 0
    """Arms that `advice` proved not to be the best, and a proof that one is."""
    wrong_claims: int = 0
    alarms: tuple[str, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether every arm has the rows and purchases that it should have."""
        return all(row[:2] == row[2:] for row in self.rows.values())

    @property
    def covered(self) -> list[bool]:
        """For each interval of a mean and of a lift whether it holds the truth."""
        means = [low <= truth <= high for _, _, low, high, truth in self.means]
        return means + [low <= truth <= high for _, low, high, truth in self.lifts]


def play(folder: Path, seed: int, visitors: int, days: int = 12) -> Outcome:
    """The whole story, with this many visits a day; after the last day the study waits for what is late."""
    storage = f"sqlite:///{folder}/shop-{seed}.db"
    study = cb.Study.create("shop", PROBLEM, storage=storage, seed=seed, sticky="forever", after_finish="winner")
    web, webhooks = Process(Web, storage, seed), Process(Webhooks, storage, seed)
    everyone: list[tuple[Visit, dict[str, Any]]] = []
    refused = 0
    for day in range(days + PATIENCE + 3):
        if day == days // 3:
            study.retire_level("banner", "blue")
        if day == days // 2:
            study.add_level("banner", "green")
        visits = web.day(visitors) if day < days else []
        everyone += visits
        refused = webhooks.day(day, [each for each, _ in visits])
    web.end()
    webhooks.end()
    study.exclude(key_prefix="bot-", reason="bots")
    study.exclude(key_prefix="staff-", reason="staff")
    alarms = tuple(check.code for check in study.health().alarms)
    advice = study.advice()
    assert isinstance(advice, Advice)
    study.finish(report=folder / f"shop-{seed}.html")
    assert study.ask(key="visitor-new").arm == study.recommend().arm  # from now on everyone gets the winner
    found = compared(study, everyone)
    found.refused, found.alarms = refused, alarms
    rates = {name: truth for name, *_, truth in found.means}
    best = max(rates, key=rates.__getitem__)
    found.claims = len(advice.drop) + (advice.action == "stop")
    found.wrong_claims = sum(name_of(arm) == best for arm in advice.drop)
    if advice.action == "stop" and advice.arm is not None:
        found.wrong_claims += rates[best] - rates[name_of(advice.arm)] > (0 if advice.is_best else advice.margin)
    study.close()
    return found


def compared(study: cb.Study, everyone: list[tuple[Visit, dict[str, Any]]]) -> Outcome:
    """What the study says, and the truth."""
    found = Outcome()
    humans = [(each, arm) for each, arm in everyone if each.is_human]
    kept = [each.bought and each.days < PATIENCE and not each.refunded for each, _ in humans]
    frame = study.to_frame()
    control = late_rate(true_rate("none", "paid"))
    for row in study.estimates():
        arm = dict(row.arm)
        name = name_of(row.arm)
        own = frame.filter(
            (frame["banner"] == arm["banner"])
            & (frame["shipping"] == arm["shipping"])
            & frame["excluded"].is_null()
            & frame["purchase"].is_not_null()
        )
        is_own = [shown == arm for _, shown in humans]
        purchases = sum(bought for bought, mine in zip(kept, is_own, strict=True) if mine)
        found.rows[name] = (len(own), int(own["purchase"].sum()), sum(is_own), purchases)
        truth = late_rate(true_rate(str(arm["banner"]), str(arm["shipping"])))
        found.means.append((name, row.mean, row.low, row.high, truth))
        if row.lift is not None and not row.is_control:
            found.lifts.append((name, row.lift.low, row.lift.high, truth - control))
    rates = {name: truth for name, _, _, _, truth in found.means}
    answer = study.recommend()
    found.winner = name_of(answer.arm)
    best = max(rates.values())
    found.loss = (best - rates[found.winner]) / best
    about = study.describe()
    found.excluded = sum(each["decisions"] for each in about["exclusions"] if each["reason"] in ("bots", "staff"))
    found.bots_and_staff = len(everyone) - len(humans)
    found.corrected = about["corrected"]
    found.refunds = sum(each.refunded and each.days < PATIENCE for each, _ in humans)
    return found


def name_of(arm: cb.Arm) -> str:
    """The full settings of an arm."""
    return f"banner={arm['banner']}, shipping={arm['shipping']}"


def late_rate(rate: float) -> float:
    """The share that buys in time: purchases that take too long count as none."""
    return rate * (1 - 0.6 ** (PATIENCE - 1))
