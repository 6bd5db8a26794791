"""Every policy, and every option that changes how one plays, chooses the same arms however it is driven.

All runs of a test are made by this process: the last bits of a float differ between CPUs, and an arm may depend on
them, so arms that were recorded elsewhere prove nothing.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.core.policies import POLICIES, Policy
from causal_bandits.research.simulation import play
from tests.policies.cases import full_state
from tests.simulation.worlds import SACHS, SCM

from .kinds import ONE_OF_EACH_STATE, SINGLES, WORLD, knowledge_of, world_of


class Case(NamedTuple):
    """A policy in a world."""

    make: Callable[..., Policy[Any]]
    world: Any
    observed: int = 0
    """Rows of do() before the first arm."""
    restricted: bool = False
    """Whether every third arm is left out in the second part of a run."""


def case_of(name: str) -> Case:
    """A policy of the registry in a world in which all that it is told is true."""
    return Case(partial(POLICIES[name], **knowledge_of(name)), world_of(name))


DAG = cb.worlds.paper_world(cb.MixedGraph([*"ABCY"], [("A", "B"), ("B", "C"), ("C", "Y")]), seed=3)
CONFOUNDED = cb.worlds.paper_world(cb.MixedGraph([*"ABY"], [("A", "B"), ("B", "Y")], [("A", "Y")]), seed=4)
LARGE = cb.worlds.paper_world(
    cb.MixedGraph([f"X{n}" for n in range(5)] + ["Y"], [*((f"X{n}", f"X{n + 1}") for n in range(4)), ("X4", "Y")]),
    seed=6,
)
SOFT = cb.DiscreteSCM(
    {"A": 3, "B": 2, "Y": 2},
    {
        "A": cb.worlds.Mechanism([], [0.5, 0.3, 0.2]),
        "B": cb.worlds.Mechanism(["A"], lambda a: [0.8 - 0.3 * a, 0.2 + 0.3 * a]),
        "Y": cb.worlds.Mechanism(["A", "B"], lambda a, b: [0.7 - 0.2 * a - 0.1 * b, 0.3 + 0.2 * a + 0.1 * b]),
    },
    {
        "nudge": {
            "idle": {},
            "weak": {"A": cb.worlds.Mechanism([], [0.2, 0.3, 0.5])},
            "strong": {"A": cb.worlds.Mechanism([], [0.0, 0.1, 0.9])},
        },
        "offer": {"idle": {}, "on": {"B": cb.worlds.Mechanism(["A"], lambda a: [0.1, 0.9])}},
    },
)
CTS: Any = cb.CausalThompsonSampling
GAUSSIAN: Any = cb.policies.CausalGaussianThompsonSampling
SETS = cb.KnownSets([["A"], ["A", "B"]])
SOME_LEVERS = cb.KnownSets({("A",): ["I_A"], ("A", "B"): ["I_A", "I_B"]})
REVENUE, RATINGS = cb.worlds.revenue_world(zeros=0.9, seed=3), cb.worlds.ordered_world(direct=True, seed=4)

CASES: dict[str, Case] = {
    **{name: case_of(name) for name in POLICIES},
    "safe, soft levers": Case(cb.SafePolicy, SOFT),
    "safe, large": Case(cb.SafePolicy, LARGE),
    "safe, revenue": Case(cb.SafePolicy, REVENUE),
    "safe, ratings": Case(cb.SafePolicy, RATINGS),
    "epsilon-greedy, listed arms": Case(POLICIES["epsilon-greedy"], SINGLES),
    "marginal": Case(partial(CTS, discovery=cb.DirectTesting(0.1, reading="marginal")), DAG),
    "joint": Case(partial(CTS, discovery=cb.DirectTesting(reading="joint", require_evidence=True)), DAG),
    "bayes": Case(partial(CTS, discovery=cb.BayesFactors(threshold=2.0)), DAG, observed=50),
    "veto": Case(partial(CTS, discovery=cb.BayesFactors(reading="either", veto=1.0)), DAG),
    "asd": Case(partial(CTS, discovery=cb.ASD()), CONFOUNDED, observed=20),
    "asd, partial": Case(partial(CTS, discovery=cb.ASD(sufficient=True, partial=True)), WORLD),
    "known sets": Case(partial(CTS, discovery=SETS), DAG),
    "sets for some levers": Case(partial(CTS, discovery=SOME_LEVERS), WORLD),
    "monte carlo": Case(partial(CTS, variance="monte-carlo", samples=5), DAG),
    "bootstrap": Case(partial(cb.CausalUCBNormal, variance="bootstrap", bootstraps=10, initial=20), SCM),
    "printed": Case(partial(cb.CausalUCBNormal, index="printed", forced_plays=True, initial=0), SCM),
    "real, joint": Case(partial(cb.CausalUCBNormal, discovery=cb.ResidualTesting(reading="joint")), SCM),
    "real, known sets": Case(partial(GAUSSIAN, discovery=cb.KnownSets([["B"]])), SCM),
    "real, logged": Case(partial(GAUSSIAN, discovery=cb.BayesFactors(reading="conditional")), SACHS),
    "no prior rows": Case(partial(cb.policies.SafeGaussianThompson, prior_rows=0), SCM),
    "hac-ucb, chances": Case(partial(cb.comparators.HACUCB, **knowledge_of("c-ts"), horizon=600), WORLD),
    "restricted ts": Case(cb.ThompsonSampling, DAG, restricted=True),
    "restricted safe": Case(cb.SafePolicy, DAG, restricted=True),
    "restricted ucb1": Case(cb.comparators.UCB1, DAG, restricted=True),
    "restricted elimination": Case(cb.comparators.SuccessiveElimination, DAG, restricted=True),
    "restricted graphs": Case(cb.comparators.GraphPosteriorThompson, WORLD, restricted=True),
    "restricted real": Case(cb.CausalUCBNormal, SCM, restricted=True),
    "restricted counts": Case(POLICIES["safe"], world_of("safe"), restricted=True),
}
every_case = pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=name, marks=pytest.mark.slow if name in {*POLICIES} - ONE_OF_EACH_STATE else ())
        for name, case in CASES.items()
    ],
)


def started(case: Case) -> Policy[Any]:
    policy = case.make(case.world.problem, seed=5)
    cb.observe(policy, case.world, case.observed, np.random.default_rng(8))
    return policy


def arms_of(case: Case, policy: Policy[Any], parts: list[tuple[int, bool]], seed: int = 6) -> list[int]:
    """The arms of a run in parts, compiled or not; a restricted case leaves arms out after half of all rounds."""
    rng, arms, rounds = np.random.default_rng(seed), list[int](), sum(count for count, _ in parts)
    for count, compiled in parts:
        if case.restricted and len(arms) == rounds // 2:
            policy.restrict([arm for number, arm in enumerate(policy.problem.arms) if number % 3])
        arms += play(policy, case.world, count, rng, compiled=compiled).arms.tolist()
    return arms


@every_case
def test_a_rollout_is_ask_and_tell(case: Case) -> None:
    """In one way all the time, and by turns."""
    runs = []
    for ways in ((True, True, True), (False, False, False), (False, True, False)):
        policy = started(case)
        arms = arms_of(case, policy, list(zip((50, 100, 150), ways, strict=True)))
        runs.append((arms, full_state(policy), policy.ask(20)))
    assert runs[0] == runs[1] == runs[2]


def said(policy: Policy[Any]) -> list[Any]:
    """What a policy states of its arms and sets."""
    indices = policy.indices(np.random.default_rng(7))
    return [
        policy.estimates().to_frame().to_dict(as_series=False),
        repr(policy.recommend()),
        repr(policy.separating_sets(rejected=True)[:20]),
        None if indices is None else indices.tobytes(),
        policy.frequencies(50, np.random.default_rng(8)).tolist(),
        policy.options().keys(),
    ]


@every_case
def test_save_and_load_in_the_middle_of_a_run(case: Case, tmp_path: Path) -> None:
    policy = started(case)
    arms_of(case, policy, [(65, True), (65, True)])
    policy.save(tmp_path / "policy")
    loaded = cb.load_policy(tmp_path / "policy")
    assert full_state(loaded) == full_state(policy)
    np.testing.assert_equal(said(loaded), said(policy))
    case = case._replace(restricted=False)
    assert arms_of(case, loaded, [(200, True)], seed=7) == arms_of(case, policy, [(200, True)], seed=7)
    assert full_state(loaded) == full_state(policy)
