"""Policies choose the same arms from the same seed interpreted and compiled, on the same machine."""

from typing import Any

import numpy as np
import pytest

from causal_bandits.core.compiled.functions import VARIABLE
from causal_bandits.core.policies import POLICIES
from causal_bandits.research.simulation import play
from tests.policies.cases import full_state

from .kinds import knowledge_of, world_of


@pytest.mark.parametrize("name", ["ts", "causal-ts", "safe", "ucb1", "main-effects-ts", "causal-gaussian-ts"])
def test_interpreted_and_compiled_arms_are_equal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rollouts, then ask and tell; the states are equal, too, but for the last bits of the default's draws."""
    world = world_of(name)
    runs: list[Any] = []
    for how in ("never", "now"):
        monkeypatch.setenv(VARIABLE, how)
        for function in _functions():
            function._ready.clear()
        policy = POLICIES[name](world.problem, seed=5, **knowledge_of(name))
        rng = np.random.default_rng(6)
        arms = [play(policy, world, 150, rng, compiled=quick).arms.tolist() for quick in (True, False)]
        runs.append((arms, full_state(policy), policy.ask(20)))
    (arms, state, asked), (same_arms, same_state, asked_too) = runs
    assert (arms, asked) == (same_arms, asked_too)
    assert name == "safe" or state == same_state


def _functions() -> list[Any]:
    from causal_bandits.core.compiled import Compiled, functions

    return [each for each in functions.known if isinstance(each, Compiled)]
