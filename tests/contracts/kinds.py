"""The problems that policies of either kind are put to the contract with."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pytest

from causal_bandits import Arm, DiscreteSCM, Problem
from causal_bandits.core.policies import POLICIES, Policy, RewardThompson
from causal_bandits.errors import ObservationError, UnknownArmError, UnknownLevelError
from causal_bandits.research.simulation import told
from causal_bandits.research.worlds import Mechanism, count_world, perfect
from tests.policies.cases import NINE_ARMS, SIX, Table, random_table, table_of
from tests.simulation.worlds import SCM

Bad = tuple[Any, Any, type[Exception]]

ONE_OF_EACH_STATE = {
    *("safe", "causal-ts", "main-effects-ts", "graph-posterior", "reward-ts", "causal-ucb-normal", "ucb1"),
    *("ucb-v", "ucb-tuned", "ucb-small", "kl-ucb", "epsilon-greedy", "hac-ucb", "ucb-plus"),
    *("c-ucb", "c-ts", "lattimore-parallel", "pomis-ts"),
    *("regret-balancing", "told-means", "ucb-cv", "delay-corrected-ts", "impatient"),
}
"""One policy for each class of states and rule: `make test` puts these to the contract, `make test-slow` the others."""
NEEDS_ALL_VALUES = {
    *("graph-posterior", "hac-ucb"),
    *("c-ucb", "c-ts"),
    *("regret-balancing", "ossb", "told-means", "ucb-cv", "impatient"),
}
"""Policies that take no row without some of its mediators."""
PLAYS_ALL_ARMS = {"ossb"}
"""Policies that cannot be restricted to some arms."""
NEVER_COMPARES = {
    *("best-arm", "successive-elimination", "hac-ucb"),
    "lattimore-parallel",
}
"""Policies that play by a plan, or by chance, in all of the rounds that the contract looks at."""


def policies(*, but: Iterable[str] = (), among: Iterable[str] = POLICIES) -> pytest.MarkDecorator:
    """Parametrize a test by policies; those whose class of states another one stands for are slow."""
    names = [name for name in POLICIES if name in among and name not in but]
    return pytest.mark.parametrize("name", [marked(name) for name in names])


def marked(name: str, *more: Any) -> Any:
    """A parameter that is slow where another policy stands for this one."""
    return pytest.param(name, *more, marks=() if name in ONE_OF_EACH_STATE else pytest.mark.slow)


class Kind(NamedTuple):
    """A problem, tables for it, an observation, rows that make one arm the best, and tells that must be refused."""

    problem: Problem
    table: Callable[[int, int], Table]
    good: dict[str, Any]
    best: Arm
    rows: Callable[[Arm], list[dict[str, Any]]]
    bad: list[Bad]


def _discrete_rows(arm: Arm) -> list[dict[str, Any]]:
    return [{"A": i % 2, "B": i % 3 % 2, "C": 0, "Y": int(arm == NINE_ARMS.arm(I_A=1))} for i in range(60)]


def _told_rows(arm: Arm) -> list[dict[str, Any]]:
    """What is told is true: A and B follow the arm, and the reward is 1 where A is and B is not."""
    rows = []
    for i in range(60):
        a, b = (
            place % 2 if level == "idle" else int(level) for level, place in ((arm["I_A"], i), (arm["I_B"], i // 2))
        )
        rows.append({"A": a, "B": b, "C": i // 4 % 2, "Y": int(a > b)})
    return rows


def _real_rows(arm: Arm) -> list[dict[str, Any]]:
    """The best arm is ten standard deviations ahead."""
    is_best = arm == SIX.arm(I=1)
    noise = np.random.default_rng(int(is_best)).normal(size=(60, 3)).tolist()
    return [{"A": a, "B": "low", "C": c, "Y": y + 10 * is_best} for a, c, y in noise]


def _bad(good: dict[str, Any], lever: str, own: list[Bad]) -> list[Bad]:
    nan = float("nan")
    return [
        ({lever: "sideways"}, good, UnknownLevelError),
        ({"I_Z": 1}, good, LookupError),
        ("do()", good, UnknownArmError),
        ({}, good | {"B": 5}, UnknownLevelError),
        ({}, good | {"A": None}, ObservationError),
        ({}, good | {"A": nan}, ObservationError),
        ({}, good | {"Y": nan}, ObservationError),
        ({}, {name: value for name, value in good.items() if name not in ("C", "Y")}, ObservationError),
        ({}, {name: value for name, value in good.items() if name != "C"}, ObservationError),
        ({}, good | {"D": 1}, LookupError),
        ({}, list(good.values()), ObservationError),
        *own,
    ]


BITS = {"A": 1, "B": 0, "C": 1, "Y": 1}
NUMBERS = {"A": 0.5, "B": "low", "C": -1.5, "Y": 2.5}
DISCRETE = Kind(
    NINE_ARMS,
    lambda rows, seed: random_table(NINE_ARMS, rows, seed),
    BITS,
    NINE_ARMS.arm(I_A=1),
    _discrete_rows,
    _bad(BITS, "I_A", [({}, BITS | {"Y": 2}, ObservationError)]),
)
COIN = Mechanism([], [0.5, 0.5])
WORLD = DiscreteSCM(
    {"A": 2, "B": 2, "C": 2, "Y": 2},
    {"A": COIN, "B": COIN, "C": COIN, "Y": Mechanism(["A", "B"], lambda a, b: [0.1, 0.9] if a > b else [0.7, 0.3])},
    {"I_A": perfect("A"), "I_B": perfect("B")},
)
"""A world in which everything that a policy of the told kind is told is true."""
TOLD = Kind(
    WORLD.problem,
    lambda rows, seed: random_table(WORLD.problem, rows, seed),
    BITS,
    WORLD.problem.arm(I_A=1, I_B=0),
    _told_rows,
    _bad(BITS, "I_A", [({}, BITS | {"Y": 2}, ObservationError)]),
)
SINGLES = DiscreteSCM(
    {"A": 2, "B": 2, "C": 2, "Y": 2},
    {**WORLD.mechanisms, "Y": Mechanism(["A", "B"], lambda a, b: [0.7 - 0.6 * a + 0.1 * b, 0.3 + 0.6 * a - 0.1 * b])},
    WORLD.interventions,
    arms=[{}, {"I_A": 0}, {"I_A": 1}, {"I_B": 0}, {"I_B": 1}],
)
"""The parallel bandit, for policies that play do() and one variable at a time."""
ATOMIC = TOLD._replace(
    problem=SINGLES.problem,
    table=lambda rows, seed: random_table(SINGLES.problem, rows, seed),
    best=SINGLES.problem.arm(I_A=1),
    rows=lambda arm: [{**row, "Y": row["A"]} for row in _told_rows(arm)],
)
PARENTS: dict[str, Any] = {
    "separating": ["A", "B"],
    "chances": [WORLD.distribution(arm, ["A", "B"]) for arm in WORLD.problem.arms],
}
HORIZON = {"horizon": 600}
KNOWLEDGE: dict[str, dict[str, Any]] = {
    "ucb-small": HORIZON,
    "hac-ucb": {"separating": ["A", "B"], **HORIZON},
    "regret-balancing": {"separating": ["A", "B"]},
    "ossb": {"separating": ["A", "B"]},
    "ucb-plus": {"parents": 2, **HORIZON},
    "c-ucb": {**PARENTS, **HORIZON},
    "c-ts": PARENTS,
    "ucb-cv": PARENTS,
    "told-means": {"separating": ["A", "B"], "cell_means": [0.3, 0.3, 0.9, 0.3]},
    "impatient": {
        "past_means": [[*arm, 0.3 + 0.6 * arm[0] * (1 - arm[1])] for arm in np.ndindex(2, 2, 2)],
        "noise": np.diag([0.25, 0.25, 0.25, 0.2]),
    },
    "lattimore-parallel": {"graph": SINGLES.graph, **HORIZON, "budget": 120},
    "pomis-ts": {"graph": WORLD.graph},
    "pomis-kl-ucb": {"graph": WORLD.graph},
    "graph-posterior": {},
}
"""What each policy with needs is told of its world."""
SINGLE_ARMS = {"lattimore-parallel"}
SOME_ARMS = {
    "ucb-plus",
    "c-ucb",
    "c-ts",
    "lattimore-parallel",
    "pomis-ts",
    "pomis-kl-ucb",
}
"""Policies that never play certain arms, or not at first."""
TOP_TWO = {"best-arm"}
"""Policies that play an arm they think worse in half of the rounds."""
EXPLORERS = {"epsilon-greedy", *TOP_TWO}
"""Policies that now and then play an arm they think worse."""
REAL = Kind(
    SIX,
    table_of,
    NUMBERS,
    SIX.arm(I=1),
    _real_rows,
    _bad(
        NUMBERS,
        "I",
        [
            ({}, NUMBERS | {"A": "half"}, ObservationError),
            ({}, NUMBERS | {"Y": float("inf")}, ObservationError),
        ],
    ),
)


CALLS = Problem("Y", {"A": 2, "B": 2, "C": 2}, {"I_A": ["idle", 0, 1], "I_B": ["idle", 0, 1]}, reward="count")
COUNTS = Kind(
    CALLS,
    lambda rows, seed: random_table(NINE_ARMS, rows, seed),
    BITS | {"Y": 3},
    CALLS.arm(I_A=1),
    lambda arm: [{"A": i % 2, "B": i % 3 % 2, "C": 0, "Y": 9 if arm == CALLS.arm(I_A=1) else i % 2} for i in range(60)],
    _bad(
        BITS,
        "I_A",
        [
            ({}, BITS | {"Y": -1}, ObservationError),
            ({}, BITS | {"Y": 0.5}, ObservationError),
            ({}, BITS | {"Y": "many"}, ObservationError),
        ],
    ),
)

COUNT_WORLD = count_world(seed=2)


def kind_of(name: str) -> Kind:
    """The kind of a policy in the registry."""
    if POLICIES[name] is RewardThompson:
        return COUNTS
    if POLICIES[name].numbers is float:
        return REAL
    if name in SINGLE_ARMS:
        return ATOMIC
    return TOLD if knowledge_of(name) or name in KNOWLEDGE else DISCRETE


def knowledge_of(name: str) -> dict[str, Any]:
    """What a policy is told: as above, or what its class needs and the world can say."""
    if name in KNOWLEDGE or not POLICIES[name].needs:
        return KNOWLEDGE.get(name, {})
    made: Any = told(name, WORLD, horizon=HORIZON["horizon"])
    return dict(made.keywords)


def world_of(name: str) -> Any:
    """A world in which all that a policy is told is true."""
    if POLICIES[name] is RewardThompson:
        return COUNT_WORLD
    if POLICIES[name].numbers is float:
        return SCM
    return SINGLES if name in SINGLE_ARMS else WORLD


def fresh(name: str, seed: int = 7) -> Policy[Any]:
    """A policy of the registry that has seen nothing, told what it needs."""
    policy: Policy[Any] = POLICIES[name](kind_of(name).problem, seed=seed, **knowledge_of(name))
    return policy
