"""The problems that policies of either kind are put to the contract with."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from causal_bandits import Arm, Problem
from causal_bandits.errors import ObservationError, UnknownArmError, UnknownLevelError
from causal_bandits.policies import POLICIES, DiscretePolicy
from tests.policies.cases import NINE_ARMS, SIX, Table, random_table, table_of

Bad = tuple[Any, Any, type[Exception]]


class Kind(NamedTuple):
    """A problem, tables for it, an observation, rows that make one arm the best, and tells that must be refused."""

    problem: Problem
    table: Callable[[int, int], Table]
    good: dict[str, Any]
    best: Arm
    rows: Callable[[bool], list[dict[str, Any]]]
    bad: list[Bad]


def _discrete_rows(is_best: bool) -> list[dict[str, Any]]:
    return [{"A": i % 2, "B": i % 3 % 2, "C": 0, "Y": int(is_best)} for i in range(60)]


def _real_rows(is_best: bool) -> list[dict[str, Any]]:
    """The best arm is ten standard deviations ahead."""
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
        ({}, {name: value for name, value in good.items() if name != "Y"}, ObservationError),
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


def kind_of(name: str) -> Kind:
    """The kind of a policy in the registry."""
    return DISCRETE if issubclass(POLICIES[name], DiscretePolicy) else REAL
