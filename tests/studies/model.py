"""A simple model of a study in memory, and random sequences of calls that compare the two.

Some studies have a reward window. The model closes windows as time passes, and every read of the study must, too.
"""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import causal_bandits as cb
from causal_bandits.errors import (
    CausalBanditsError,
    ConflictError,
    DecisionClosedError,
    ObservationError,
    OptionError,
)

from .cases import SHOP, fingerprint, rebuilt

COUNTED = cb.Problem(
    SHOP.target,
    {variable.name: variable.levels for variable in SHOP.observed},
    {lever.name: lever.levels for lever in SHOP.interventions},
    reward="count",
)
"""The same with purchases counted: another policy, another kind of table."""
NAMES = [*SHOP.observed_names, SHOP.target]
VALUES: dict[str, Any] = {
    "clicked": st.sampled_from([0, 1, None]),
    "cart": st.sampled_from(["empty", "some", "full", None]),
    "purchase": st.sampled_from([0, 1]),
}
MEDIATORS = {name: VALUES[name] for name in SHOP.observed_names}
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
        self.asked: list[float] = []
        self.now = 1000.0

    def begin(self, problem: cb.Problem, **options: Any) -> None:
        """Two handles on a new study."""
        self.window = options.get("reward_window")
        self._open([cb.Study.create("s", problem, storage=self.storage, **options) for _ in "ab"])
        self.turn = 0

    def _open(self, studies: list[cb.Study]) -> None:
        self.studies = studies
        for study in studies:
            study._session.clock = lambda: self.now

    @rule(seconds=st.sampled_from([1.0, 3.0, 6.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.written()

    def is_closed(self, place: int) -> bool:
        """Whether the reward window of a decision has closed."""
        return self.window is not None and self.asked[place] <= self.now - self.window

    def as_it_would_be(self, place: int) -> tuple[dict[str, Any], str]:
        """What is known of a decision, and its status, once closed windows count."""
        known, status = self.told[place], self.status[place]
        if status == "open" and known and self.is_closed(place):
            return {SHOP.target: 0, **known}, "told"
        return known, status

    def written(self) -> None:
        """Time has passed, or something was written: windows that have closed count."""
        for place in range(len(self.arms)):
            self.told[place], self.status[place] = self.as_it_would_be(place)

    @property
    def study(self) -> cb.Study:
        """Two handles take turns, like two processes."""
        self.turn += 1
        return self.studies[self.turn % 2]

    @rule(n=st.integers(1, 4))
    def ask(self, n: int) -> None:
        self.now += 2.0
        made = self.study.ask(n)
        assert [decision.id for decision in made] == list(range(len(self.arms) + 1, len(self.arms) + n + 1))
        assert not self.gone & {decision.arm for decision in made}
        self._remember(made)

    @rule(seen=st.fixed_dictionaries(MEDIATORS, optional={"purchase": st.sampled_from([0, 1])}))
    def serve(self, seen: dict[str, Any]) -> None:
        """One whose mediators are known at once."""
        self.now += 1.0
        study = self.study
        made = study.ask(1)
        self._remember(made)
        study.tell(made[0].id, seen)
        self.told[-1] = dict(seen)
        self.status[-1] = "told" if SHOP.target in seen and self.window is None else "open"

    @precondition(lambda self: any(map(self.waits, range(len(self.arms)))))
    @rule(data=st.data(), reward=st.sampled_from([0, 1]))
    def reward(self, data: st.DataObject, reward: int) -> None:
        """The reward of one that waits for it."""
        place = data.draw(st.sampled_from([place for place in range(len(self.arms)) if self.waits(place)]))
        self._tell(place, {SHOP.target: reward})

    def waits(self, place: int) -> bool:
        """Whether the mediators of an open decision are known."""
        return self.status[place] == "open" and all(name in self.told[place] for name in SHOP.observed_names)

    def _remember(self, made: Any) -> None:
        self.written()
        self.asked += [self.now] * len(made)
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
        self._tell(data.draw(st.integers(0, len(self.arms) - 1)), part)

    def _tell(self, place: int, part: dict[str, Any]) -> None:
        known, status = self.as_it_would_be(place)
        too_late = self.is_closed(place) and part.get(SHOP.target, 0) != 0 and known.get(SHOP.target, 0) == 0
        if status in ("abandoned", "expired") or too_late:
            with pytest.raises(DecisionClosedError, match="it takes no more outcomes" if not too_late else None):
                self.study.tell(place + 1, part)
        elif any(name in known and known[name] != value for name, value in part.items()):
            with pytest.raises(ConflictError):
                self.study.tell(place + 1, part)
        else:
            self.study.tell(place + 1, part)
            self.told[place] = {**({SHOP.target: 0} if self.is_closed(place) else {}), **known, **part}
            if SHOP.target in self.told[place] and (self.window is None or self.is_closed(place)):
                self.status[place] = "told"
            self.written()

    @precondition(lambda self: self.arms)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        """Nothing more will come: what is not known is missing, and the reward counts whatever its window."""
        place = data.draw(st.integers(0, len(self.arms) - 1))
        known, status = self.as_it_would_be(place)
        if status in ("abandoned", "expired"):
            with pytest.raises(DecisionClosedError):
                self.study.tell(place + 1, final=True)
        elif SHOP.target not in known:
            with pytest.raises(ObservationError, match="has no reward 'purchase' yet"):
                self.study.tell(place + 1, final=True)
        else:
            self.study.tell(place + 1, final=True)
            self.told[place], self.status[place] = dict.fromkeys(SHOP.observed_names) | known, "told"
            self.written()

    @precondition(lambda self: any(self.told))
    @rule(data=st.data())
    def tell_again(self, data: st.DataObject) -> None:
        place = data.draw(st.sampled_from([p for p, known in enumerate(self.told) if known]))
        if self.status[place] in ("open", "told"):
            self.study.tell(place + 1, self.told[place])
            self.written()

    @rule(older_than=st.sampled_from([2.0, 8.0]))
    def expire(self, older_than: float) -> None:
        """What waits for its window with its reward does not expire."""
        late = [
            place
            for place in range(len(self.arms))
            if self.status[place] == "open"
            and self.asked[place] <= self.now - older_than
            and (self.window is None or SHOP.target not in self.told[place])
        ]
        assert list(self.study.expire(older_than)) == [place + 1 for place in late]
        for place in late:
            self.status[place] = "expired"

    @rule(part=st.sampled_from([{"cart": "huge"}, {"purchase": -3}, {"nothing": 1}]))
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
            if self.status[place] == "open":
                self.status[place] = "abandoned"

    @rule(arm=st.sampled_from(SHOP.arms))
    def retire(self, arm: cb.Arm) -> None:
        if self.gone | {arm} == set(SHOP.arms):
            with pytest.raises(OptionError):
                self.study.retire(arm)
        else:
            self.study.retire(arm)
            self.gone.add(arm)
            self.level()

    def level(self) -> None:
        """All handles know what was written; transactional studies always do."""

    @property
    def is_level(self) -> bool:
        """Whether what was written can be seen."""
        return hasattr(self, "studies")

    @rule()
    def restart(self) -> None:
        for study in self.studies:
            study.close()
        self._open([cb.Study.load("s", storage=self.storage) for _ in range(2)])

    @invariant()
    def frame_says_what_the_model_says(self) -> None:
        if not self.is_level:
            return
        rows = self.study.to_frame().to_dicts()
        assert [row["status"] for row in rows] == self.status
        assert [{name: row[name] for name in SHOP.intervention_names} for row in rows] == self.arms
        gone = ("abandoned", "expired")
        told = [{} if status in gone else known for known, status in zip(self.told, self.status, strict=True)]
        assert [{n: row[n] for n in NAMES} for row in rows] == [{n: known.get(n) for n in NAMES} for known in told]

    @invariant()
    def what_waits_counts_already(self) -> None:
        if not self.is_level:
            return
        waits = [place for place in range(len(self.arms)) if self.waits(place)]
        numbers, rows = self.study._session.read(lambda state: (set(state.pending), len(state.policy.history.pending)))
        assert numbers == {place + 1 for place in waits}
        assert rows == len(waits)

    def teardown(self) -> None:
        if hasattr(self, "studies"):
            self.level()
            one, other = self.studies
            assert fingerprint(one) == fingerprint(other) == fingerprint(rebuilt(one))
            assert sum(estimate.own_rows for estimate in one.estimates()) == self.status.count("told")
            for study in self.studies:
                study.close()
        self.folder.cleanup()
