"""Random sequences of calls against a simple model in memory; restarts and a second process at any moment."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import causal_bandits as cb
from causal_bandits.errors import CausalBanditsError, ConflictError, DecisionClosedError, OptionError
from causal_bandits.studies import session

from .cases import SHOP, fingerprint, rebuilt

NAMES = [*SHOP.observed_names, SHOP.target]
VALUES: dict[str, Any] = {
    "clicked": st.sampled_from([0, 1, None]),
    "cart": st.sampled_from(["empty", "some", "full", None]),
    "purchase": st.sampled_from([0, 1]),
}
PARTS = st.fixed_dictionaries({}, optional=VALUES).filter(bool)


class Model(RuleBasedStateMachine):
    """What each decision should be: its arm, its status, what was told of it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.storage = f"sqlite:///{Path(self.folder.name)}/s.db"
        self.arms: list[cb.Arm] = []
        self.status: list[str] = []
        self.told: list[dict[str, Any]] = []
        self.keys: dict[str, tuple[int, int]] = {}
        self.gone: set[cb.Arm] = set()

    @initialize(seed=st.integers(0, 3))
    def create(self, seed: int) -> None:
        self.studies = [cb.Study.create("s", SHOP, storage=self.storage, seed=seed) for _ in range(2)]
        self.turn = 0

    @property
    def study(self) -> cb.Study:
        """Two handles take turns, like two processes."""
        self.turn += 1
        return self.studies[self.turn % 2]

    @rule(n=st.integers(1, 4))
    def ask(self, n: int) -> None:
        made = self.study.ask(n)
        assert [decision.id for decision in made] == list(range(len(self.arms) + 1, len(self.arms) + n + 1))
        assert not self.gone & {decision.arm for decision in made}
        self._remember(made)

    def _remember(self, made: Any) -> None:
        self.arms += [decision.arm for decision in made]
        self.status += ["open"] * len(made)
        self.told += [{} for _ in made]

    @rule(key=st.sampled_from("abc"), n=st.integers(1, 2))
    def ask_with_key(self, key: str, n: int) -> None:
        if key not in self.keys:
            self.keys[key] = (len(self.arms), n)
            self._remember(self.study.ask(n, key=key))
        first, count = self.keys[key]
        if n == count:
            made = self.study.ask(n, key=key)
            assert [decision.id for decision in made] == list(range(first + 1, first + n + 1))
            assert [decision.arm for decision in made] == self.arms[first : first + n]
        else:
            with pytest.raises(ConflictError):
                self.study.ask(n, key=key)

    @precondition(lambda self: self.arms)
    @rule(data=st.data(), part=PARTS)
    def tell(self, data: st.DataObject, part: dict[str, Any]) -> None:
        place = data.draw(st.integers(0, len(self.arms) - 1))
        known, status = self.told[place], self.status[place]
        if status == "abandoned":
            with pytest.raises(DecisionClosedError):
                self.study.tell(place + 1, part)
        elif any(name in known and known[name] != value for name, value in part.items()):
            with pytest.raises(ConflictError):
                self.study.tell(place + 1, part)
        else:
            self.study.tell(place + 1, part)
            known.update(part)
            if len(known) == len(NAMES):
                self.status[place] = "told"

    @precondition(lambda self: any(self.told))
    @rule(data=st.data())
    def tell_again(self, data: st.DataObject) -> None:
        place = data.draw(st.sampled_from([p for p, known in enumerate(self.told) if known]))
        if self.status[place] != "abandoned":
            self.study.tell(place + 1, self.told[place])

    @rule(part=st.sampled_from([{"cart": "huge"}, {"purchase": 3}, {"nothing": 1}]))
    def tell_rubbish(self, part: dict[str, Any]) -> None:
        with pytest.raises(CausalBanditsError):
            self.study.tell(1, part)

    @precondition(lambda self: self.arms)
    @rule(data=st.data())
    def abandon(self, data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(self.arms) - 1))
        if self.status[place] == "told":
            with pytest.raises(DecisionClosedError):
                self.study.abandon(place + 1)
        else:
            self.study.abandon(place + 1)
            self.status[place] = "abandoned"

    @rule(arm=st.sampled_from(SHOP.arms))
    def retire(self, arm: cb.Arm) -> None:
        if self.gone | {arm} == set(SHOP.arms):
            with pytest.raises(OptionError):
                self.study.retire(arm)
        else:
            self.study.retire(arm)
            self.gone.add(arm)

    @rule()
    def restart(self) -> None:
        for study in self.studies:
            study.close()
        self.studies = [cb.Study.load("s", storage=self.storage) for _ in range(2)]

    @invariant()
    def frame_says_what_the_model_says(self) -> None:
        if not hasattr(self, "studies"):
            return
        rows = self.study.to_frame().to_dicts()
        assert [row["status"] for row in rows] == self.status
        assert [{name: row[name] for name in SHOP.intervention_names} for row in rows] == self.arms
        told = [{} if status == "abandoned" else known for known, status in zip(self.told, self.status, strict=True)]
        assert [{n: row[n] for n in NAMES} for row in rows] == [{n: known.get(n) for n in NAMES} for known in told]

    def teardown(self) -> None:
        if hasattr(self, "studies"):
            one, other = self.studies
            assert fingerprint(one) == fingerprint(other) == fingerprint(rebuilt(one))
            assert sum(estimate.own_rows for estimate in one.estimates()) == self.status.count("told")
            for study in self.studies:
                study.close()
        self.folder.cleanup()


@pytest.fixture(autouse=True, scope="module")
def _frequent_snapshots() -> Any:
    old, session.SNAPSHOT_EVENTS = session.SNAPSHOT_EVENTS, 5
    yield
    session.SNAPSHOT_EVENTS = old


TestStudies = Model.TestCase
TestStudies.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
