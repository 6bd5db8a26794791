"""Small problems, random tables of rows, and sets to share through: what the tests of policies start from."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from causal_bandits import Problem
from causal_bandits.core.data import view
from causal_bandits.core.discovery import KnownSets
from causal_bandits.core.estimators.regression import means_through
from causal_bandits.core.policies import Pending, Policy

Table = dict[str, list[Any]]

FOUR_ARMS = Problem("Y", {"A": 2, "B": ["low", "middle", "high"]}, {"I_A": 2, "I_B": ["idle", "on"]})
NINE_ARMS = Problem("Y", {"A": 2, "B": 2, "C": 2}, {"I_A": ["idle", 0, 1], "I_B": ["idle", 0, 1]})
SIX_LISTED = Problem(
    "Y",
    {"A": 3, "B": 2},
    {"I_A": 3, "I_B": 2, "I_C": 2},
    arms=[{}, {"I_A": 1}, {"I_A": 2}, {"I_B": 1}, {"I_A": 1, "I_C": 1}, {"I_B": 1, "I_C": 1}],
)

SIX = Problem("Y", {"A": float, "B": ["low", "middle", "high"], "C": float}, {"I": 3, "J": 2}, reward=float)

BOTH = ["I_A", "I_B"]
Told = dict[tuple[str, ...], list[str]]
FULL: Told = {(): BOTH, ("A",): BOTH, ("B",): BOTH, ("A", "B"): BOTH}
PARTIAL: Told = {("A",): ["I_A"], ("B",): ["I_B"]}
MIXED: Told = {("A",): ["I_A"], ("A", "B"): BOTH}


class Case(NamedTuple):
    """A fixed history and the sets that are told."""

    problem: Problem
    told: Told
    rows: int
    seed: int

    @property
    def table(self) -> Table:
        return random_table(self.problem, self.rows, self.seed)

    @property
    def discovery(self) -> KnownSets:
        return KnownSets(self.told)


CASES = [
    Case(FOUR_ARMS, FULL, 0, 0),
    Case(FOUR_ARMS, PARTIAL, 15, 1),
    Case(FOUR_ARMS, MIXED, 80, 2),
    Case(SIX_LISTED, PARTIAL, 40, 3),
    Case(NINE_ARMS, {("C",): ["I_B"], ("A", "B"): BOTH}, 60, 4),
]


def random_table(problem: Problem, rows: int, seed: int) -> Table:
    """Arms unevenly often; the first observed variable follows the arm, the reward follows both."""
    rng = np.random.default_rng(seed)
    arms = rng.choice(len(problem.arms), size=rows, p=rng.dirichlet(np.full(len(problem.arms), 2.0)))
    table: Table = {v.name: [problem.arms[arm][v.name] for arm in arms] for v in problem.interventions}
    shift = np.zeros(rows)
    for place, variable in enumerate(problem.observed):
        codes = rng.integers(variable.size, size=rows)
        if place == 0:
            codes = np.where(rng.random(rows) < 0.5, arms % variable.size, codes)
            shift = codes / variable.size
        table[variable.name] = [variable.levels[code] for code in codes]
    chance = 0.15 + 0.4 * shift + 0.3 * arms / len(problem.arms)
    table[problem.target] = (rng.random(rows) < chance).astype(int).tolist()
    return table


def rows_of(problem: Problem, table: Table) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The rows one by one: arm and observation."""
    seen = [*problem.observed_names, problem.target]
    return [
        ({name: table[name][row] for name in problem.intervention_names}, {name: table[name][row] for name in seen})
        for row in range(len(table[problem.target]))
    ]


def full_state(policy: Policy[Any]) -> dict[str, Any]:
    """All that a policy knows, to the bit; rows kept for a bootstrap only as far as there are rows."""
    told = {"kept_arms": policy.rows, "kept_values": policy.rows}

    def flat(name: str, part: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(part, np.ndarray):
            array = part[: told.get(name.rsplit(".", maxsplit=1)[-1], len(part))]
            yield name, (array.shape, array.tobytes())
        elif hasattr(part, "_asdict"):
            for field, value in part._asdict().items():
                yield from flat(f"{name}.{field}", value)
        else:
            yield name, part

    found = policy.findings
    plain = dict([*flat("rows", policy.history.rows), *flat("state", policy._state)])
    plain.update(flat("waiting", policy.history.pending.all))
    plain["waiting"] = (policy.history.pending.made, policy.history.pending.numbers.tolist())
    plain["findings"] = None if found is None else (found.rows, found.separated.tobytes())
    return {**plain, "rng": policy.rng.bit_generator.state, "due": policy.schedule.due}


def table_of(rows: int, seed: int, problem: Problem = SIX) -> Table:
    """Arms unevenly often, each at least thrice; the reward follows the variables, and a little the arm."""
    rng = np.random.default_rng(seed)
    arms = np.concatenate([np.tile(np.arange(6), 3), rng.choice(6, size=rows - 18, p=rng.dirichlet(np.full(6, 2.0)))])
    a, c = rng.normal(size=(2, rows)) + 0.4 * arms
    b = rng.integers(3, size=rows)
    y = a - 0.5 * c + 0.4 * b + 0.2 * arms + rng.normal(size=rows)
    table: Table = {v.name: [problem.arms[arm][v.name] for arm in arms] for v in problem.interventions}
    levels = np.array(["low", "middle", "high"])[b]
    return table | {"A": a.tolist(), "B": levels.tolist(), "C": c.tolist(), "Y": y.tolist()}


def without_reward(seen: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in seen.items() if name != "Y"}


def tell_late(policy: Policy[Any], rows: list[tuple[dict[str, Any], dict[str, Any]]], wait: int) -> list[Pending]:
    """Tell mediators at once and the reward `wait` rows later; what is left waits."""
    left: list[Pending] = []
    for place, (arm, seen) in enumerate(rows):
        policy.ask()
        row = policy.tell(arm, without_reward(seen))
        assert row is not None
        left.append(row)
        if place >= wait:
            policy.tell(left.pop(0), reward=rows[place - wait][1]["Y"])
    return left


def through_all_rows(state: Any) -> tuple[Any, Any]:
    """Means and variances of arms through every set in use, where no row lacks a value or waits for its reward."""
    moments = view(state.rewarded, 0)
    return means_through(moments, moments, state.pools, True)
