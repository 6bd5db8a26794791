"""Which arms are alike: drawn trees against the list of all trees, and what must come out."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causal_bandits import Problem
from causal_bandits.compiled import interpreted
from causal_bandits.data import CountTables, History, TableLayout
from causal_bandits.estimators.lever_trees import LARGEST, SPLIT, arms_alike, draw_leaves, log_evidence, sparse_prior
from causal_bandits.policies import WeighedThompsonSampling

Leaf = tuple[tuple[int, ...], ...]
LEVELS = (2, 3)
CODES = np.array(list(itertools.product(*map(range, LEVELS))))


def trees(arms: list[tuple[int, ...]], levers: tuple[int, ...]) -> Iterator[tuple[float, frozenset[Leaf]]]:
    """Every tree over some arms, as its prior probability and its leaves."""
    yield (1 - SPLIT if levers else 1.0), frozenset([tuple(arms)])
    for lever in levers:
        rest = tuple(other for other in levers if other != lever)
        parts = [[arm for arm in arms if arm[lever] == level] for level in range(LEVELS[lever])]
        for below in itertools.product(*(list(trees(part, rest)) for part in parts)):
            prior = math.prod(each[0] for each in below)
            yield SPLIT / len(levers) * prior, frozenset().union(*(each[1] for each in below))


def one_by_one(counts: np.ndarray, prior: float) -> float:
    """log P of a sequence of values, each predicted from those before it."""
    seen, found = np.full(len(counts), prior), 0.0
    for cell, count in enumerate(counts):
        for _ in range(count):
            found += math.log(seen[cell] / seen.sum())
            seen[cell] += 1
    return found


@given(st.lists(st.integers(0, 12), min_size=1, max_size=6), st.floats(0.05, 2))
def test_the_evidence_of_a_leaf_is_that_of_predicting(counts: list[int], prior: float) -> None:
    table = np.array(counts)
    assert log_evidence(table, prior) == pytest.approx(one_by_one(table, prior), abs=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_trees_are_drawn_from_their_posterior(seed: int) -> None:
    """Null: 20000 drawn partitions have the probabilities that listing all trees gives.

    A share has standard error sqrt(p (1 - p) / n); 5 of them may pass, and half a draw for rare ones. At most 60
    partitions in 3 tables: false-alarm rate under 2e-4. The tables have few rows, so that many trees are probable.
    """
    rng = np.random.default_rng(seed)
    table = rng.multinomial(3, rng.dirichlet(np.ones(2)), size=len(CODES))
    weights: dict[frozenset[Leaf], float] = {}
    for prior, leaves in trees([tuple(arm) for arm in CODES.tolist()], (0, 1)):
        of_leaves = [sum(table[np.all(arm == CODES, axis=1)][0] for arm in leaf) for leaf in leaves]
        evidence = sum(one_by_one(np.asarray(counts), 0.5) for counts in of_leaves)
        weights[leaves] = weights.get(leaves, 0.0) + prior * math.exp(evidence)
    drawn: Counter[frozenset[Leaf]] = Counter()
    draws = 20_000
    for _ in range(draws):
        leaf = draw_leaves(table, CODES, np.array(LEVELS), 0.5, rng)
        groups = [tuple(map(tuple, CODES[leaf == each].tolist())) for each in np.unique(leaf)]
        drawn[frozenset(groups)] += 1
    assert set(drawn) <= set(weights)
    for leaves, weight in weights.items():
        share = weight / sum(weights.values())
        assert abs(drawn[leaves] / draws - share) <= 5 * math.sqrt(share * (1 - share) / draws) + 0.5 / draws


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_compiled_equals_interpreted_and_order_of_cells_is_nothing(seed: int, cells: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 5, size=(len(CODES), cells))
    same = [np.random.default_rng(seed) for _ in range(3)]
    found = draw_leaves(table, CODES, np.array(LEVELS), 0.3, same[0])
    assert np.array_equal(found, interpreted(draw_leaves)(table, CODES, np.array(LEVELS), 0.3, same[1]))
    mixed = np.ascontiguousarray(table[:, rng.permutation(cells)])
    assert np.array_equal(found, draw_leaves(mixed, CODES, np.array(LEVELS), 0.3, same[2]))


def _tables(problem: Problem, rows: list[dict[str, int]]) -> tuple[TableLayout, CountTables]:
    layout = TableLayout.of(problem)
    tables = layout.empty()
    history = History(problem)
    history.extend(history.encode_many(rows))
    history.count_into(tables)
    return layout, tables


def test_a_perfect_intervention_makes_the_other_lever_irrelevant() -> None:
    """A follows I when I sets it, and J when I is idle: 3 + 2 arms that differ, not 9. 40 rows per arm, in the open."""
    problem = Problem("Y", {"A": 2}, {"I": 3, "J": 3})
    rows = []
    for i, j, row in itertools.product(range(3), range(3), range(40)):
        chance = (0.2, 0.5, 0.9)[j]
        rows.append({"I": i, "J": j, "A": i - 1 if i else int(row < 40 * chance), "Y": 0})
    layout, tables = _tables(problem, rows)
    alike = arms_alike(problem, tables, np.array([layout.find({"A"})]), len(rows))[0]
    by_arm = {(arm["I"], arm["J"]): int(number) for arm, number in zip(problem.arms, alike, strict=True)}
    assert len({by_arm[1, j] for j in range(3)}) == len({by_arm[2, j] for j in range(3)}) == 1
    assert len({by_arm[0, j] for j in range(3)}) == 3
    assert len(set(by_arm.values())) == 5


def test_the_same_rows_give_the_same_arms() -> None:
    """Looking twice changes nothing: random numbers depend on the number of rows alone."""
    problem = Problem("Y", {"A": 2, "B": 2}, {"I": 3, "J": 3})
    rng = np.random.default_rng(0)
    rows = [
        {name: int(rng.integers(size)) for name, size in zip("IJABY", (3, 3, 2, 2, 2), strict=True)} for _ in "x" * 30
    ]
    layout, tables = _tables(problem, rows)
    places = np.arange(layout.count)
    one, other = (arms_alike(problem, tables, places, 30) for _ in range(2))
    assert np.array_equal(one, other)
    assert np.all(one[0] == 0)  # the empty set has one value


def test_trees_that_are_too_large_are_not_drawn() -> None:
    problem = Problem("Y", {"A": 2}, {f"I{n}": 3 for n in range(7)})
    assert LARGEST < 4**7 * 2
    layout = TableLayout.of(problem)
    found = arms_alike(problem, layout.empty(), np.array([layout.find({"A"})]), 0)
    assert np.array_equal(found[0], np.arange(3**7))


def test_the_prior_is_two_rows_and_at_most_one_per_cell() -> None:
    assert sparse_prior(np.array([1, 2, 4, 16])).tolist() == [1, 1, 0.5, 0.125]


def test_arms_that_are_alike_are_judged_by_all_their_rows() -> None:
    """The moments of a policy's pools, from counts made anew; running sums and sums made afresh."""
    problem = Problem("Y", {"A": 2, "B": 2}, {"I": 3, "J": 3})
    rng = np.random.default_rng(4)
    policy = WeighedThompsonSampling(problem, seed=0)
    for start in (0, 400):
        for _ in range(400):
            i, j = rng.integers(3, size=2)
            a, b = int(rng.random() < (0.1, 0.5, 0.9)[i]), int(rng.integers(2))
            policy.tell({"I": int(i), "J": int(j)}, {"A": a, "B": b, "Y": int(rng.random() < 0.2 + 0.6 * a)})
        if not start:
            policy.ready()
    assert policy.findings is not None
    assert "alike" in policy._draws
    state = policy._state
    assert any(len(set(line)) < 9 for line in state.pools.alike.tolist())
    for index, place in enumerate(state.pools.places):
        table = state.tables.table(int(place)).astype(np.float64)
        groups, alike = state.pools.groups[index], state.pools.alike[index]
        prior = min(1.0, 2 / table.shape[1])
        for arm in range(9):
            p = table[alike == alike[arm]].sum(axis=(0, 2)) + prior
            ones, zeros = (table[groups == groups[arm]].sum(axis=0)[:, reward] + 1 for reward in (1, 0))
            mean, total = ones / (ones + zeros), p.sum()
            spread = mean * (1 - mean) / (ones + zeros + 1)
            square = (p**2 * spread + p * (mean**2 + spread)).sum()
            variance = (square - (p @ mean) ** 2 / total) / (total * (total + 1))
            assert state.pools.linear[index, arm] / state.pools.totals[index, arm] == pytest.approx(p @ mean / total)
            assert state.pools.variance[index, arm] == pytest.approx(variance, rel=1e-8)
