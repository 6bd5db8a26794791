"""Presets: which policy a name stands for."""

from pathlib import Path

import pytest

from causal_bandits import Problem, Study, preset
from causal_bandits.core.policies import POLICIES, PRESETS, policy_class
from causal_bandits.errors import OptionError
from tests.policies.cases import FOUR_ARMS, SIX


@pytest.mark.parametrize("problem", [FOUR_ARMS, SIX], ids=["binary", "real"])
@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_plays_every_kind_of_reward(name: str, problem: Problem) -> None:
    policy = preset(name, problem, seed=0)
    assert policy.ask() in problem.arms
    assert POLICIES[policy.name] is type(policy) is policy_class(name, problem)


def test_a_preset_is_no_policy_by_accident() -> None:
    """Only "safe" is both: the policy is what the preset gives unless mediators are real numbers."""
    assert set(PRESETS) & set(POLICIES) == {"safe"}


def test_studies_take_presets_by_name(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/studies.db"
    made = [Study.create(name, FOUR_ARMS, storage=storage, policy=name, seed=1).policy_name for name in PRESETS]
    assert made == ["safe", "causal-ts"]


def test_a_policy_by_its_name() -> None:
    assert type(preset("ts", FOUR_ARMS)) is POLICIES["ts"]
    with pytest.raises(OptionError, match=r"policy 'c-ts' requires 'separating', 'chances'; create it by its class"):
        preset("c-ts", FOUR_ARMS)


@pytest.mark.parametrize("name", ["fast", None])
def test_an_unknown_preset(name: str) -> None:
    for make in (preset, policy_class):
        with pytest.raises(OptionError, match=r"policy=.*expected a policy of this problem, or one of 'safe', 'paper'"):
            make(name, FOUR_ARMS)
