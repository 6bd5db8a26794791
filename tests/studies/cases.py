"""Problems for studies, and users who answer the same way whoever asks."""

from functools import partial
from typing import Any

import numpy as np

import causal_bandits as cb
from causal_bandits.product.studies import Decision
from causal_bandits.product.studies.applying import apply
from causal_bandits.product.studies.deciding import check_open, choose
from causal_bandits.product.studies.decisions import Event, Kind
from causal_bandits.product.studies.outcomes import Outcome, reports, told
from causal_bandits.product.studies.settings import make_settings
from causal_bandits.product.studies.state import StudyState
from tests.policies.cases import full_state

from .kinds import inner, reopened

SHOP = cb.Problem(
    "purchase",
    {"clicked": 2, "cart": ["empty", "some", "full"]},
    {"banner": ["none", "red", "blue"], "discount": ["none", "10%"]},
)
PLANT = cb.Problem("yield", {"temperature": float, "valve": ["open", "shut"]}, {"feed": 3}, reward=float)
PROBLEMS = {"discrete": SHOP, "real": PLANT}


def answer(problem: cb.Problem, decision: Decision) -> dict[str, Any]:
    """What a user does: depends on the arm and on the number of the decision only."""
    rng = np.random.default_rng(decision.id)
    if problem.reward_is_real:
        temperature = float(decision.arm["feed"]) + rng.normal()
        valve = "open" if rng.random() < 0.5 else "shut"
        return {"temperature": temperature, "valve": valve, "yield": temperature + rng.normal()}
    clicked = int(rng.random() < (0.5 if decision.arm["banner"] == "red" else 0.2))
    cart = ["empty", "some", "full"][int(rng.integers(1 + clicked, 3)) if clicked else int(rng.random() < 0.3)]
    return {
        "clicked": clicked,
        "cart": cart,
        "purchase": int(rng.random() < {"empty": 0.05, "some": 0.3, "full": 0.6}[cart]),
    }


def play(study: cb.Study, rounds: int) -> list[cb.Arm]:
    """Ask and tell."""
    arms = []
    for _ in range(rounds):
        decision = study.ask()
        study.tell(decision.id, answer(study.problem, decision))
        arms.append(decision.arm)
    return arms


def fingerprint(study: cb.Study) -> dict[str, Any]:
    """All that a study knows, to the bit, but for times and random numbers that were used up."""

    def known_of(state: StudyState) -> dict[str, Any]:
        known = {**full_state(state.policy), "rng": None, "seq": state.seq, "parts": repr(sorted(state.parts.items()))}
        for name in ("arm", "row", "seq"):
            known[f"decisions {name}"] = state.decisions.column(name).tobytes()
        known["late"] = repr((state.closed, state.pending))
        return {**known, "open": list(state.decisions.open), "allowed": state.policy.allowed.tolist()}

    return inner(study)._session.read_counted(known_of)


def rebuilt(study: cb.Study) -> cb.Study:
    """The same study from its events alone."""
    session = inner(study)._session
    session.store.write(session.row.id, lambda transaction: transaction.drop_snapshots())
    again: cb.Study = reopened(study)
    return again


class Unstored:
    """A study without a storage: what happens to it are events all the same."""

    def __init__(self, problem: cb.Problem, *, seed: int = 1, policy: str = "ts", **rules: Any) -> None:
        self.settings = make_settings(problem, {"policy": policy, "seed": seed, **rules})
        self.state = StudyState(self.settings)

    def add(self, kind: Kind, body: dict[str, Any]) -> None:
        """One more event; a second passes."""
        apply(self.state, Event(self.state.seq + 1, kind, float(self.state.seq), body))

    def ask(self, count: int = 1, among: list[int] | None = None) -> list[int]:
        """The arms of the next decisions."""
        check_open(self.state, among)
        arms = choose(self.state, count, among)
        body: dict[str, Any] = {"first": len(self.state.decisions) + 1, "arms": arms}
        self.add("asked", body if among is None else {**body, "among": among})
        return arms

    def tell(self, number: int, seen: dict[str, Any]) -> None:
        """The outcome of a decision."""
        state, outcome = self.state, Outcome(number, lambda _: seen)
        made = len(state.decisions)
        reporter = partial(told, final=False)
        for kind, _, body in reports(state.outcome_rules, reporter, [outcome], made, state.on_record):
            self.add(kind, body)
