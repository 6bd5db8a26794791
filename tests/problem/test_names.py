"""What people call variables and levels, and which level is the control."""

import pickle
from typing import Any

import pytest

from causal_bandits import Problem
from causal_bandits.core.serialization import from_json, to_json
from causal_bandits.errors import ProblemError

NAMES = {"head": "Headline", "head=social": "Social proof", "clicked": "Clicked the button", "buys": "Purchase"}
SHOP = Problem(
    "buys",
    {"clicked": 2},
    {"head": ["plain", "social"], "ship": ["free", "current"]},
    segments={"device": ["phone", "desk"]},
    names=NAMES,
    descriptions={"ship": "Who pays for shipping."},
)


def test_arms_are_named_in_full() -> None:
    arm = SHOP.arm(head="social", device="phone")
    assert arm.label == "Headline=Social proof, ship=current | device=phone"
    assert arm.lever_arm.label == "Headline=Social proof, ship=current"
    assert pickle.loads(pickle.dumps(arm)).label == arm.label
    assert from_json(type(arm), to_json(arm), SHOP).label == arm.label
    assert (SHOP.name_of("clicked"), SHOP.name_of("head", "plain")) == ("Clicked the button", "plain")


def test_names_are_kept_and_do_not_make_another_problem() -> None:
    again = Problem.from_dict(SHOP.to_dict())
    assert (again.names, again.descriptions) == (NAMES, {"ship": "Who pays for shipping."})
    grown = again.with_arm({"head": "new", "device": "phone"}, new_levels=True)
    assert grown.arms[-1].label == "Headline=new, ship=current | device=phone"
    bare = {key: value for key, value in SHOP.to_dict().items() if key not in ("names", "descriptions")}
    assert Problem.from_dict(bare) == SHOP


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ({"shop": "Shop"}, "names has 'shop'; expected a variable"),
        ({"head=loud": "Loud"}, "names has 'head=loud'; expected a variable"),
        ({"head": ""}, "names: 'head' is ''; expected a string of at most 200 characters"),
        ({"head": 7}, "names: 'head' is 7"),
        ({"head": "ship"}, "'head' and 'ship' are both called 'ship'; give them different names"),
        ({"head=plain": "A", "head=social": "A"}, "'head=plain' and 'head=social' are both called 'A'"),
        (["head"], r"names=.*; expected \{"),
    ],
)
def test_bad_names(names: Any, sentence: str) -> None:
    with pytest.raises(ProblemError, match=sentence):
        Problem.from_dict({**SHOP.to_dict(), "names": names})


@pytest.mark.parametrize(
    ("levels", "control"),
    [
        (["social", "control"], "control"),
        (["10%", "None"], "None"),
        (["new", "Current"], "Current"),
        (["default", "control"], "control"),
        (["red", "blue"], "red"),
        ([3, 0], 0),
    ],
)
def test_the_control_is_known_by_its_name(levels: list[Any], control: Any) -> None:
    assert Problem("y", {}, {"x": levels}).idle == (control,)
    assert Problem("y", {}, {"x": levels}, idle={"x": levels[0]}).idle == (levels[0],)
