import copy
import itertools
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causal_bandits import Arm, Problem, bins
from causal_bandits.core.problem import Levels
from causal_bandits.errors import (
    CausalBanditsError,
    ProblemError,
    UnknownArmError,
    UnknownLevelError,
    UnknownVariableError,
)

from .strategies import problems

PROBLEM = Problem("Y", {"A": 2, "B": ["low", "high"]}, {"I_A": ["idle", 0, 1], "I_C": ["idle", 0, 1]})


def test_arms_are_the_product_with_the_idle_arm_first() -> None:
    assert [dict(arm) for arm in PROBLEM.arms] == [
        {"I_A": a, "I_C": c} for a, c in itertools.product(["idle", 0, 1], repeat=2)
    ]
    assert [PROBLEM.index(arm) for arm in PROBLEM.arms] == list(range(9))


def test_listed_arms_keep_their_order_and_unnamed_levers_are_idle() -> None:
    problem = Problem("Y", {}, {"I": 3, "J": ["off", "on"]}, arms=[{"J": "on"}, {"I": 2}, {}])
    assert [repr(arm) for arm in problem.arms] == ["do(J=on)", "do(I=2)", "do()"]
    assert problem.index({}) == 2
    with pytest.raises(UnknownArmError, match="I=1, J=on is not one of the 3 arms"):
        problem.arm(I=1, J="on")


def test_arms_are_found_by_short_name_mapping_and_keyword() -> None:
    assert PROBLEM.arm(A=1) == PROBLEM.arm(I_A=1) == PROBLEM.arm({"A": 1}) == {"I_A": 1, "I_C": "idle"}
    assert PROBLEM.arm({"A": 1}, C=0) == {"I_A": 1, "I_C": 0}
    assert PROBLEM.index({"A": 1, "C": 0}) == PROBLEM.index(PROBLEM.arm(A=1, C=0)) == 7
    assert PROBLEM.intervention("A").name == "I_A"


def test_a_lever_called_by_its_full_name_wins_over_the_short_name() -> None:
    problem = Problem("Y", {}, {"A": 2, "I_A": 2})
    assert problem.arm(A=1) == {"A": 1, "I_A": 0}


def test_arms_print_as_what_they_do() -> None:
    assert repr(PROBLEM.arm(A=1, C=0)) == "do(A=1, C=0)"
    assert str(PROBLEM.arm()) == "do()"
    assert PROBLEM.arm(C=0).active == {"I_C": 0}


def test_idle_by_name_by_short_name_and_by_default() -> None:
    problem = Problem("Y", {}, {"I_A": [0, 1], "J": ["on", "off"], "K": 2}, idle={"A": 1, "J": "off"})
    assert problem.idle_settings == {"I_A": 1, "J": "off", "K": 0}
    assert repr(problem.arm(K=1)) == "do(K=1)"
    assert repr(problem.arm(I_A=0)) == "do(A=0)"


def test_arms_do_not_change() -> None:
    arm = PROBLEM.arm(A=1)
    with pytest.raises(AttributeError, match="arms are immutable"):
        arm._settings = {}
    with pytest.raises(AttributeError, match="arms are immutable"):
        arm.color = "red"
    with pytest.raises(TypeError):
        arm["I_A"] = 0  # type: ignore[index]
    arm.active["I_A"] = 0
    assert arm == {"I_A": 1, "I_C": "idle"}


def test_arms_keep_no_hold_of_what_they_were_made_from() -> None:
    settings = {"I": 1}
    arm = Arm(settings, {"I": 0})
    settings["I"] = 0
    assert repr(arm) == "do(I=1)"


def test_arms_are_equal_to_their_mapping_and_hash_alike() -> None:
    arm, twin = PROBLEM.arm(A=1), Problem("Y", {}, {"I_C": ["idle", 0], "I_A": [0, 1, "idle"]}).arm(A=1, C="idle")
    assert arm == twin == {"I_C": "idle", "I_A": 1}
    assert {"I_A": 1, "I_C": "idle"} == arm != {"I_A": 1}
    assert hash(arm) == hash(twin)
    assert {arm: "seen"}[twin] == "seen"


def test_problems_do_not_change() -> None:
    with pytest.raises(AttributeError):
        PROBLEM.target = "Z"  # type: ignore[misc]
    description = PROBLEM.to_dict()
    description["idle"]["I_A"] = 1
    assert PROBLEM.arm() == {"I_A": "idle", "I_C": "idle"}
    binned = Problem("Y", {"A": bins([0.0])}, {"I": 2})
    binned.to_dict()["observed"]["A"]["after"] = 3
    assert binned == Problem("Y", {"A": bins([0.0])}, {"I": 2})


@given(problems())
def test_round_trip_through_json(problem: Problem) -> None:
    back = Problem.from_dict(json.loads(json.dumps(problem.to_dict())))
    assert back == problem
    assert hash(back) == hash(problem)
    assert [dict(arm) for arm in back.arms] == [dict(arm) for arm in problem.arms]
    assert repr(back.arms) == repr(problem.arms)


@given(problems(), st.sampled_from([lambda p: pickle.loads(pickle.dumps(p)), copy.deepcopy, copy.copy]))
def test_copies_and_pickles(problem: Problem, clone: Callable[[Problem], Problem]) -> None:
    problem.index(problem.arms[-1])  # fills the caches, which travel along
    back = clone(problem)
    assert back == problem
    assert [back.index(arm) for arm in problem.arms] == list(range(len(problem.arms)))
    assert repr(back.arms) == repr(problem.arms)


@given(problems())
def test_arm_codes(problem: Problem) -> None:
    assert problem.arm_codes.shape == (len(problem.arms), len(problem.interventions))
    for arm, codes in zip(problem.arms, problem.arm_codes, strict=True):
        assert [v.levels[c] for v, c in zip(problem.interventions, codes, strict=True)] == list(arm.values())


@given(problems(), st.data())
def test_arm_groups_are_the_joint_settings(problem: Problem, data: st.DataObject) -> None:
    names = data.draw(st.sets(st.sampled_from(problem.intervention_names)))
    groups = problem.arm_groups(names)
    settings = [tuple(arm[name] for name in sorted(names)) for arm in problem.arms]
    for (one, mine), (other, theirs) in itertools.combinations(zip(settings, groups, strict=True), 2):
        assert (one == other) == (mine == theirs)
    assert sorted(set(groups)) == list(range(len(set(settings))))
    columns = [place for place, name in enumerate(problem.intervention_names) if name in names]
    ordered = np.unique(problem.arm_codes[:, columns], axis=0, return_inverse=True)[1]
    assert not names or groups.tolist() == ordered.reshape(-1).tolist()


def test_arm_groups_of_more_combinations_than_can_be_numbered() -> None:
    levers: dict[str, Levels] = {f"I{number}": 8 for number in range(40)}
    arms = [{}, {"I0": 1}, {"I0": 1, "I39": 2}, {"I39": 2}, {"I0": 7, "I20": 3}]
    problem = Problem("Y", {}, levers, arms=arms)
    assert problem.arm_groups(levers).tolist() == [0, 2, 3, 1, 4]
    assert problem.arm_groups([name for name in levers if name != "I0"]).tolist() == [0, 0, 1, 1, 2]


@given(problems())
def test_equal_problems_have_one_hash(problem: Problem) -> None:
    again = Problem.from_dict(problem.to_dict())
    assert again == problem
    assert hash(again) == hash(problem)


def test_arm_groups_by_short_name_and_of_unknown_levers() -> None:
    assert PROBLEM.arm_groups(["A"]).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    with pytest.raises(UnknownVariableError, match="'banner' is not a lever"):
        PROBLEM.arm_groups(["banner"])


def test_targets() -> None:
    problem = Problem("Y", {"A": 2, "B": 2}, {"I_A": 2, "J": 2, "K": 2}, targets={"A": "A", "J": ["B", "Y"]})
    assert problem.targets == (("I_A", ("A",)), ("J", ("B", "Y")))


def test_repr() -> None:
    assert repr(PROBLEM) == "Problem(target='Y', observed=['A', 'B'], interventions=['I_A', 'I_C'], 9 arms)"


def make(**changes: Any) -> Problem:
    return Problem(**{"target": "Y", "observed": {"A": 2}, "interventions": {"I": 2, "J": 2}, **changes})


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"target": "I"}, ProblemError, "target 'I' is also a lever"),
        ({"target": "A"}, ProblemError, "target 'A' is also listed as observed"),
        ({"target": ""}, ProblemError, "target '' is not a non-empty string"),
        ({"target": None}, ProblemError, "target None is not"),
        ({"observed": {"J": 2}}, ProblemError, "'J' names both an observed variable and a lever"),
        ({"observed": {"A": 1}}, ProblemError, r"'A' has 1 level\(s\)"),
        ({"observed": ["A"]}, ProblemError, r"observed=\['A'\]; expected \{name: levels\}"),
        ({"interventions": "I"}, ProblemError, r"interventions='I'; expected \{name: levels\}"),
        ({"interventions": {}}, ProblemError, "at least one lever"),
        ({"interventions": {"I": ["on", "on"]}}, ProblemError, "'I' names a level twice"),
        ({"interventions": {"I": bins([0.5])}}, ProblemError, "bins.* and float are for observed variables"),
        ({"interventions": {7: 2}}, ProblemError, "variable name 7 is not"),
        ({"arms": []}, ProblemError, r"0 arm\(s\) listed"),
        ({"arms": [{"I": 1}]}, ProblemError, r"1 arm\(s\) listed"),
        ({"arms": [{"I": 1}, {}, {"I": 1, "J": 0}]}, ProblemError, "I=1, J=0 is listed twice"),
        ({"arms": [{"L": 1}, {}]}, UnknownVariableError, "'L' is not a lever.*'I', 'J'"),
        ({"arms": [{"I": 5}, {}]}, UnknownLevelError, "5 is not a level of 'I'"),
        ({"arms": [3, {}]}, UnknownArmError, "3 is not an arm"),
        ({"idle": {"L": 0}}, UnknownVariableError, "'L' is not a lever"),
        ({"idle": {"I": "off"}}, UnknownLevelError, "'off' is not a level of 'I'"),
        ({"targets": {"L": "A"}}, UnknownVariableError, "'L' is not a lever"),
        ({"targets": {"I": "B"}}, UnknownVariableError, "'I' cannot act on 'B'; expected some of 'A', 'Y'"),
    ],
)
def test_bad_problems(changes: dict[str, Any], error: type[CausalBanditsError], message: str) -> None:
    with pytest.raises(error, match=message):
        make(**changes)


@pytest.mark.parametrize(
    ("arm", "error", "message"),
    [
        ({"L": 1}, UnknownVariableError, "'L' is not a lever; expected one of 'I', 'J'"),
        ({"I": 2}, UnknownLevelError, "2 is not a level of 'I'; expected one of 0, 1"),
        ({"I": None}, UnknownLevelError, "None is not a level of 'I'"),
        ({"I": 1, "J": 1}, UnknownArmError, r"I=1, J=1 is not one of the 2 arms"),
        (1, UnknownArmError, "1 is not an arm; expected an arm from ask"),
        ("do()", UnknownArmError, "'do.*' is not an arm"),
    ],
)
def test_bad_arms(arm: Any, error: type[CausalBanditsError], message: str) -> None:
    with pytest.raises(error, match=message):
        make(arms=[{}, {"I": 1}]).index(arm)


@pytest.mark.parametrize("key", ["target", "observed", "interventions"])
def test_descriptions_that_lack_something(key: str) -> None:
    description = {name: value for name, value in PROBLEM.to_dict().items() if name != key}
    with pytest.raises(ProblemError, match=f"has no '{key}'"):
        Problem.from_dict(description)


def test_hand_written_description_needs_only_three_keys() -> None:
    text = '{"target": "Y", "observed": {"A": 2, "B": {"quantiles": 3}}, "interventions": {"I": ["off", "on"]}}'
    assert Problem.from_dict(json.loads(text)) == Problem("Y", {"A": 2, "B": bins(quantiles=3)}, {"I": ["off", "on"]})


def described(**changes: Any) -> dict[str, Any]:
    return {"target": "Y", "observed": {"A": 2}, "interventions": {"I": 2}, **changes}


@pytest.mark.parametrize("word", ["real", "float"])
def test_a_description_may_say_real_or_float(word: str) -> None:
    problem = Problem.from_dict(described(reward=word, observed={"A": word}))
    assert problem == Problem("Y", {"A": float}, {"I": 2}, reward=float)
    assert not Problem.from_dict(described(reward="binary")).reward_is_real


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ([1], r"the description is \[1\]; expected an object with 'target'"),
        (described(reward="banana"), "reward='banana'; expected .*'binary' .*'real'"),
        (described(reward=None), "reward=None"),
        (described(observed={"secs": "number"}), "levels of 'secs' are 'number'; .* or 'real'"),
        (described(observed={"secs": {"cut": [1]}}), "variable 'secs' has 'cut', .* some of 'cuts', 'quantiles'"),
        (described(rewards="real"), "has 'rewards', which is not known; expected some of 'target', .*'reward'"),
        (described(observed=[1]), r"observed=\[1\]; expected \{name: levels\}"),
        (described(interventions=[1]), r"interventions=\[1\]; expected \{name: levels\}"),
        (described(interventions={"I": {"cuts": [1, 2]}}), "levels of 'I' are {'cuts'"),
        (described(targets=["A"]), r"targets=\['A'\]; expected \{lever: observed variables\}"),
        (described(targets={"I": 5}), "targets of 'I' are 5; expected a variable"),
    ],
)
def test_what_a_description_may_not_say(description: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        Problem.from_dict(description)


def test_too_many_arms_are_refused_before_they_are_made() -> None:
    levers = {f"I{place}": 3 for place in range(20)}
    text = r"make 3,486,784,401 arms, which take about 2,597.9 GiB .*; list those .* arms=\[...\], or use fewer levels"
    with pytest.raises(ProblemError, match=text):
        Problem("Y", {"A": 2}, levers)
    assert len(Problem("Y", {"A": 2}, levers, arms=[{}, {"I0": 1}]).arms) == 2
