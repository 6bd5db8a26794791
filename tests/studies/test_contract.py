"""What a study promises, on every storage, in every mode and over a server."""

from functools import partial
from typing import Any

import polars as pl
import pytest

import causal_bandits as cb
from causal_bandits.errors import (
    ConflictError,
    DecisionClosedError,
    ObservationError,
    OptionError,
    ProblemError,
    StudyExistsError,
    UnknownArmError,
    UnknownDecisionError,
    UnknownLevelError,
    UnknownStudyError,
    UnknownVariableError,
)
from causal_bandits.product.studies import session

from .cases import PLANT, PROBLEMS, SHOP, answer, fingerprint, play, rebuilt
from .conftest import transactional
from .kinds import NewStudies, Stored, Studies, inner

every_problem = pytest.mark.parametrize("kind", PROBLEMS)


def shop(studies: Studies, **options: Any) -> cb.Study:
    return studies.create("shop", SHOP, seed=1, **options)


def test_create_load_list_delete(studies: Studies) -> None:
    study = shop(studies)
    assert studies.load("shop").seed == 1
    studies.create("plant", PLANT)
    assert [(row.name, row.policy, row.target) for row in studies.list()] == [
        ("shop", "safe", "purchase"),
        ("plant", "causal-gaussian-ts-safe", "yield"),
    ]
    studies.delete("shop")
    with pytest.raises(UnknownStudyError, match=r"there is no study 'shop' in storage .*; it has 'plant'"):
        studies.load("shop")
    with pytest.raises(UnknownStudyError, match=r"no longer in its storage|there is no study 'shop'"):
        study.ask()


ODD_TEXTS = [
    ("a\0b", "has a NUL character, which cannot be stored; remove it"),
    ("é" * 501, "has 1,002 bytes in UTF-8; expected at most 1,000"),
]


@pytest.mark.parametrize(("text", "sentence"), ODD_TEXTS)
def test_names_and_keys_that_no_storage_takes(studies: Studies, text: str, sentence: str) -> None:
    problem = cb.Problem("y", {"a": ["x\0y", "é" * 501]}, {"lever": ["p\0q", "r"]})
    study = studies.create("shop", problem, policy="ts", seed=1)
    for use in (partial(studies.create, problem=problem, policy="ts"), studies.load, studies.delete):
        with pytest.raises(OptionError, match=f"name=.* {sentence}"):
            use(text)
    for ask in (study.ask, partial(study.import_rows, [{"lever": "r", "a": "x\0y", "y": 1}])):
        with pytest.raises(OptionError, match=f"key=.* {sentence}"):
            ask(key=text)
    assert [info.name for info in studies.list()] == ["shop"]
    study.tell(study.ask(key="é" * 500).id, {"a": "x\0y"}, reward=1)  # anywhere else they are text like any other
    study.tell(study.ask(arms=[{"lever": "p\0q"}]).id, {"a": "é" * 501}, reward=0)
    assert inner(study).to_frame()["a"].to_list() == ["x\0y", "é" * 501]


def test_the_same_create_again_gives_the_same_study(studies: Studies) -> None:
    play(shop(studies), 3)
    assert len(shop(studies).to_frame()) == 3
    assert len(studies.create("shop", SHOP).to_frame()) == 3  # no seed asked for: any will do
    for other in ({"seed": 2}, {"seed": 1, "policy": "ts"}, {"seed": 1, "expire_after": 3}):
        with pytest.raises(StudyExistsError, match="is already in storage"):
            studies.create("shop", SHOP, **other)


@transactional
@every_problem
def test_a_restart_changes_nothing(studies: Studies, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "SNAPSHOT_EVENTS", 30)
    problem = PROBLEMS[kind]
    study = studies.create("s", problem, seed=5)
    play(study, 80)
    study.ask(3)
    study.tell(82, reward=1)
    loaded = studies.load("s")
    assert fingerprint(loaded) == fingerprint(study)
    again = rebuilt(study)
    assert fingerprint(again) == fingerprint(study)
    assert play(again, 20)  # one goes on, the others follow
    assert fingerprint(loaded) == fingerprint(again) == fingerprint(study)


@transactional
@every_problem
def test_the_same_calls_give_the_same_decisions(new_studies: NewStudies, sqlite: str, kind: str) -> None:
    problem = PROBLEMS[kind]
    one = new_studies().create("s", problem, seed=7)
    other = cb.Study.create("s", problem, storage=sqlite, seed=7)
    arms = play(one, 60)
    half = play(other, 30)
    other.close()
    assert half + play(cb.Study.load("s", storage=sqlite), 30) == arms
    assert fingerprint(one) == fingerprint(cb.Study.load("s", storage=sqlite))
    assert play(cb.Study.create("t", problem, storage=sqlite, seed=8), 60) != arms


def test_two_at_once_see_the_same_state(studies: Studies) -> None:
    one, other = shop(studies), shop(studies)
    for place in range(40):
        asking, telling = (one, other) if place % 2 else (other, one)
        decision = asking.ask()
        telling.tell(decision.id, answer(SHOP, decision))
    assert fingerprint(one) == fingerprint(other)


def test_asking_again_with_a_key(studies: Studies) -> None:
    study = shop(studies)
    first = study.ask(key="visitor 1")
    assert study.ask(key="visitor 1") == first
    assert studies.load("shop").ask(key="visitor 1") == first
    assert study.ask(key="visitor 2").id == 2
    pair = study.ask(2, key="pair")
    assert study.ask(2, key="pair") == pair
    with pytest.raises(ConflictError, match="key 'pair' was used for a different ask"):
        study.ask(3, key="pair")
    with pytest.raises(OptionError, match="key=''"):
        study.ask(key="")
    assert len(study.to_frame()) == 4


def test_telling_in_parts_late_and_out_of_order(studies: Studies) -> None:
    study = shop(studies)
    study.ask(3)
    study.tell(3, {"clicked": 1})
    study.tell(1, reward=1)
    study.tell(3, {"cart": "some"}, reward=0)
    study.tell(1, {"clicked": 0})
    assert study.to_frame().select("id", "status", "clicked", "cart", "purchase").rows() == [
        (1, "told", 0, None, 1),
        (2, "open", None, None, None),
        (3, "told", 1, "some", 0),
    ]
    study.tell(1, {"cart": "full"})
    assert sum(estimate.own_rows for estimate in study.estimates()) == 2


def test_telling_the_same_twice_changes_nothing(studies: Studies) -> None:
    study = shop(studies)
    study.ask(2)
    study.tell(1, {"clicked": 1})
    study.tell(2, {"clicked": 1, "cart": "some"}, reward=0)
    before = fingerprint(study)
    study.tell(1, {"clicked": 1})
    study.tell(2, {"clicked": 1, "cart": "some"}, reward=0)
    study.tell(2, {"cart": "some"})
    study.tell(2, {"clicked": "1", "purchase": False})  # the same levels, spelt otherwise
    assert fingerprint(study) == before
    for number, metrics, reward in (
        (1, {"clicked": 0}, None),
        (2, {"cart": "full"}, 0),
        (2, {}, 1),
        (2, {"cart": None}, 0),
    ):
        with pytest.raises(ConflictError, match=rf"decision {number}: .* is recorded as .*, and now reported as"):
            study.tell(number, metrics, reward=reward)
    assert fingerprint(study) == before == fingerprint(rebuilt(study))


def test_missing_mediators(studies: Studies) -> None:
    study = shop(studies)
    study.ask(3)
    study.tell(1, {"clicked": None, "cart": "some"}, reward=1)
    study.tell(2, {"cart": "full"}, reward=0)
    study.tell(2, final=True)
    with pytest.raises(ObservationError, match="decision 3 has no reward 'purchase' yet"):
        study.tell(3, final=True)
    assert study.missing() == {"clicked": 2, "cart": 0}
    rows = {found.variables: found.evidence.rows for found in study.separating_sets(rejected=True)}
    assert rows == {(): 2, ("clicked",): 0, ("cart",): 2, ("clicked", "cart"): 0}


def test_tell_many(studies: Studies) -> None:
    study = shop(studies)
    decisions = study.ask(4)
    rows = [{"id": d.id, **answer(SHOP, d)} for d in decisions]
    with pytest.raises(ObservationError, match="row 4: reward 'purchase' is 7"):
        study.tell_many([*rows[:3], {**rows[3], "purchase": 7}])
    assert study.to_frame()["status"].to_list() == ["open"] * 4
    assert study.tell_many(pl.DataFrame(rows).select("id", "clicked", "cart")) == 4
    assert study.tell_many(pl.DataFrame(rows)) == 4
    assert study.tell_many(rows) == 0
    assert study.to_frame()["status"].to_list() == ["told"] * 4
    with pytest.raises(ObservationError, match="expected id or key, and some of"):
        study.tell_many([{"clicked": 1}])


def test_decisions_are_spread_while_no_outcome_is_known(studies: Studies) -> None:
    """Null: no arm of six has a probability above a third. Of 60 decisions more than 36 for one arm: 1e-5. Seed 1."""
    study = shop(studies)
    made = [study.ask().arm for _ in range(60)]
    assert max(made.count(arm) for arm in SHOP.arms) <= 36
    assert study.propensity(60) < 1 / 3


def test_abandon_and_expire(studies: Studies) -> None:
    study = shop(studies, expire_after=100)
    now = [1000.0]
    inner(study)._session.clock = lambda: now[0]
    study.ask(3)
    study.tell(1, {"clicked": 1})
    study.abandon(1)
    study.abandon(1)
    with pytest.raises(DecisionClosedError, match="decision 1 is abandoned"):
        study.tell(1, {"cart": "some"}, reward=1)
    study.tell(2, {"clicked": 1, "cart": "some"}, reward=0)
    with pytest.raises(DecisionClosedError, match="decision 2 already has its outcome"):
        study.abandon(2)
    now[0] += 101
    if inner(study).settings.mode is None:  # in high-throughput mode whoever counts rows may have expired it already
        study.tell(3, {"clicked": 1})  # overdue, but nobody has asked since
        assert study.to_frame()["status"].to_list() == ["abandoned", "told", "open"]
    study.ask()
    assert study.to_frame()["status"].to_list() == ["abandoned", "told", "expired", "open"]
    with pytest.raises(DecisionClosedError, match="decision 3 is expired"):
        study.tell(3, {"clicked": 1})
    assert study.expire(older_than=0) == [4]
    assert fingerprint(rebuilt(study)) == fingerprint(study)


def test_arms_come_and_go(studies: Studies) -> None:
    study = shop(studies)
    play(study, 30)
    red, blue = SHOP.arm(banner="red"), SHOP.arm(banner="blue")
    study.retire(red)
    study.forbid(blue)
    assert not {red, blue} & {decision.arm for decision in study.ask(200)}
    assert study.recommend().arm not in (red, blue)
    assert study.ask(arms=[red, {"discount": "10%"}]).arm == SHOP.arm(discount="10%")
    with pytest.raises(OptionError, match="none of the given arms can be played"):
        study.ask(arms=[red])
    study.allow(blue)
    assert blue in {decision.arm for decision in study.ask(200)}
    with pytest.raises(OptionError, match="banner=red, discount=none is retired"):
        study.allow(red)
    green = study.add_arm({"banner": "green"}, new_levels=True)
    assert study.add_arm({"banner": "green"}) == green
    for again in ({"banner": "red"}, {"banner": "red", "discount": "none"}):
        with pytest.raises(
            OptionError, match="arm banner=red, discount=none already exists and is retired permanently"
        ):
            study.add_arm(again, new_levels=True)
    with pytest.raises(UnknownLevelError, match=r"\['x'\] is not a level of 'banner'"):
        study.add_arm({"banner": ["x"]})  # type: ignore[dict-item]
    with pytest.raises(ProblemError, match=r"level \['x'\] of 'banner' is not a string"):
        study.add_arm({"banner": ["x"]}, new_levels=True)  # type: ignore[dict-item]
    with pytest.raises(UnknownLevelError):
        study.add_arm({"banner": "purple"})
    made = study.ask(300)
    assert green in {decision.arm for decision in made}
    study.tell(made[-1].id, {"clicked": 1, "cart": "full"}, reward=1)
    assert study.problem.arms == (*SHOP.arms, green)
    assert fingerprint(rebuilt(study)) == fingerprint(study)
    for arm in study.problem.arms[:-1]:
        study.retire(arm)
    with pytest.raises(OptionError, match="is the last one in play"):
        study.forbid(green)


@transactional
@every_problem
def test_imports_are_prior_data(studies: Studies, kind: str) -> None:
    problem = PROBLEMS[kind]
    source = studies.create("source", problem, seed=1)
    play(source, 50)
    log = source.to_frame()
    study = studies.create("s", problem, seed=2)
    assert study.import_rows(log, key="log") == 50
    assert study.import_rows(log, key="log") == 0
    assert study.import_rows(log.head(5).drop(*problem.intervention_names), arm={}) == 5
    gaps = log.head(4).with_columns(pl.lit(None).alias(problem.observed_names[0]))
    study.import_rows(gaps)
    assert study.missing()[problem.observed_names[0]] == 4
    assert sum(estimate.own_rows for estimate in study.estimates()) == 59
    play(study, 5)
    assert fingerprint(rebuilt(study)) == fingerprint(study)
    before = fingerprint(study)
    with pytest.raises(ObservationError, match="the table has no column"):
        study.import_rows(log.drop(problem.target))
    with pytest.raises(ObservationError, match="no rows"):
        study.import_rows(log.head(0))
    assert fingerprint(study) == before


BAD: list[tuple[Any, Any, Any, type[Exception], str]] = [
    (9, {"clicked": 1}, None, UnknownDecisionError, "decision 9 is not known; the study has made decisions 1 to 1"),
    ("1", {"clicked": 1}, None, UnknownDecisionError, "decision '1' is not known"),
    (1, {"click": 1}, None, UnknownVariableError, "'click' is not an observed variable"),
    (1, {"cart": "huge"}, None, UnknownLevelError, "'huge' is not a level of 'cart'"),
    (1, {}, 2, ObservationError, "reward 'purchase' is 2; expected 0 or 1"),
    (1, {}, float("nan"), ObservationError, "reward 'purchase' is nan"),
    (1, [1], 1, ObservationError, "is not a mapping"),
    (1, None, None, ObservationError, "no values for decision"),
    (1, {"purchase": 1}, 0, ObservationError, "but 0 as the reward"),
]


@pytest.mark.parametrize(("number", "metrics", "reward", "error", "message"), BAD)
def test_a_bad_tell_changes_nothing(
    sqlite: str, number: Any, metrics: Any, reward: Any, error: type[Exception], message: str
) -> None:
    study = shop(Stored(sqlite))
    study.ask()
    before = fingerprint(study)
    with pytest.raises(error, match=message):
        study.tell(number, metrics, reward=reward)
    assert fingerprint(study) == before == fingerprint(rebuilt(study))


def test_settings_with_cuts_are_the_same_settings(sqlite: str) -> None:
    problem = cb.Problem("y", {"a": cb.bins([0.5, 1.5]), "b": cb.bins(quantiles=3, after=5)}, {"i": [0, 1.5]})
    study = cb.Study.create("s", problem, storage=sqlite, seed=1)
    for number in range(8):
        study.tell(study.ask().id, {"a": float(number), "b": None if number == 3 else number / 2}, reward=number % 2)
    assert cb.Study.create("s", problem, storage=sqlite, seed=1).problem == problem
    assert fingerprint(rebuilt(study)) == fingerprint(study)
    study.ask(arms=[{"i": 1.5}], key="k")
    study.retire({"i": 1.5})
    assert study.ask(arms=[{"i": 1.5}], key="k").id == 9  # asked before it was retired


def test_other_calls(sqlite: str) -> None:
    study = shop(Stored(sqlite))
    with pytest.raises(OptionError, match="n=0"):
        study.ask(0)
    with pytest.raises(UnknownArmError):
        study.ask(arms=["red"])  # type: ignore[list-item]
    with pytest.raises(OptionError, match="expected a list of arms"):
        study.ask(arms={"banner": "red"})  # type: ignore[dict-item]
    for options in ({"policy": "greedy"}, {"options": {"alpha": 1}}, {"options": {"seed": 1}}, {"expire_after": -1}):
        with pytest.raises(OptionError):
            cb.Study.create("other", SHOP, storage=sqlite, **options)
    with pytest.raises(OptionError, match="name=''"):
        cb.Study.create("", SHOP, storage=sqlite)
    told = cb.ThompsonSampling(SHOP)
    told.tell({}, {"clicked": 1, "cart": "some", "purchase": 1})
    with pytest.raises(OptionError, match="must be new"):
        cb.Study.create("other", SHOP, storage=sqlite, policy=told)
    assert [row.name for row in cb.Study.list(storage=sqlite)] == ["shop"]


def test_a_policy_with_options(sqlite: str) -> None:
    policy = cb.CausalThompsonSampling(SHOP, discovery=cb.KnownSets([["cart"]]), max_size=1)
    study = cb.Study.create("s", SHOP, storage=sqlite, policy=policy, seed=3)
    play(study, 10)
    assert [found.variables for found in study.separating_sets()] == [("cart",)]
    loaded = cb.Study.load("s", storage=sqlite)
    assert [found.evidence.source for found in loaded.separating_sets()] == ["told"]
