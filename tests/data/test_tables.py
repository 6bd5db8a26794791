import itertools
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causal_bandits import History, Problem
from causal_bandits.core.compiled import interpreted
from causal_bandits.core.data import CountTables, Rows, TableLayout, count_row, count_rows
from causal_bandits.errors import OptionError, ProblemError, UnknownVariableError
from tests.problem.strategies import logs

Log = tuple[Problem, list[dict[str, Any]]]


def encoded(problem: Problem, rows: list[dict[str, Any]]) -> Rows:
    """Rows may be none, and a list of no dicts has no columns; a dict of columns always has them."""
    names = (*problem.intervention_names, *problem.observed_names, problem.target)
    return History(problem).encode_many({name: [row[name] for row in rows] for name in names})


def counted(layout: TableLayout, rows: Rows) -> CountTables:
    tables = layout.empty()
    count_rows(tables, rows.arms, rows.codes, rows.rewards)
    return tables


@given(logs(), st.none() | st.integers(0, 4))
def test_tables_equal_a_naive_recount(log: Log, max_size: int | None) -> None:
    problem, rows = log
    layout = TableLayout.of(problem, max_size)
    tables = counted(layout, encoded(problem, rows))
    largest = len(problem.observed) if max_size is None else min(max_size, len(problem.observed))
    subsets = [s for size in range(largest + 1) for s in itertools.combinations(problem.observed_names, size)]
    assert list(layout.names) == subsets
    for place, names in enumerate(subsets):
        seen = Counter((*(row[n] for n in (*problem.intervention_names, *names)), row["Y"]) for row in rows)
        sizes = [variable.size for variable in problem.observed if variable.name in names]
        table = tables.table(place)
        assert table.shape == (len(problem.arms), np.prod(sizes, dtype=int), 2)
        for arm, cell, reward in np.ndindex(table.shape):
            values = np.unravel_index(cell, sizes, order="F") if sizes else ()
            assert table[arm, cell, reward] == seen[(*problem.arms[arm].values(), *map(int, values), reward)]


@given(logs())
def test_one_by_one_equals_all_at_once(log: Log) -> None:
    problem, rows = log
    layout = TableLayout.of(problem)
    coded = encoded(problem, rows)
    tables = layout.empty()
    for arm, codes, reward in zip(coded.arms, coded.codes, coded.rewards, strict=True):
        count_row(tables, arm, codes, reward)
    np.testing.assert_array_equal(tables.counts, counted(layout, coded).counts)


@given(logs())
def test_compiled_equals_interpreted(log: Log) -> None:
    problem, rows = log
    layout = TableLayout.of(problem)
    coded = encoded(problem, rows)
    by_row, by_rows = layout.empty(), layout.empty()
    for arm, codes, reward in zip(coded.arms, coded.codes, coded.rewards, strict=True):
        interpreted(count_row)(by_row, arm, codes, reward)
    interpreted(count_rows)(by_rows, coded.arms, coded.codes, coded.rewards)
    for tables in (by_row, by_rows):
        np.testing.assert_array_equal(tables.counts, counted(layout, coded).counts)


def readable(problem: Problem, rows: list[dict[str, Any]]) -> dict[frozenset[str], Counter[Any]]:
    """The counts of every set by names and levels, whatever the order of variables, levels and arms."""
    layout = TableLayout.of(problem)
    tables = counted(layout, encoded(problem, rows))
    found: dict[frozenset[str], Counter[Any]] = {}
    for place, members in enumerate(layout.members):
        variables = [problem.observed[member] for member in members]
        counts: Counter[Any] = Counter()
        for (arm, cell, reward), count in np.ndenumerate(tables.table(place)):
            values = np.unravel_index(cell, [v.size for v in variables], order="F") if variables else ()
            levels = frozenset((v.name, v.levels[code]) for v, code in zip(variables, values, strict=True))
            counts[problem.arms[arm], levels, reward] = int(count)
        found[frozenset(layout.names[place])] = counts
    return found


@given(logs(), st.data())
def test_order_of_variables_levels_and_arms_does_not_matter(log: Log, data: st.DataObject) -> None:
    problem, rows = log
    shuffled = Problem(
        "Y",
        {v.name: data.draw(st.permutations(v.levels)) for v in data.draw(st.permutations(problem.observed))},
        {v.name: list(v.levels) for v in problem.interventions},
        arms=data.draw(st.permutations(problem.arms)),
    )
    assert readable(shuffled, rows) == readable(problem, rows)


def binary(observed: int, arms: int = 2) -> Problem:
    return Problem("Y", {f"V{number}": 2 for number in range(observed)}, {"I": arms})


@pytest.mark.parametrize(
    ("problem", "max_size"),
    [
        (binary(20, arms=50), 3),  # size 4 would make more than 4096 sets
        (binary(3), 3),
        (binary(12), 12),  # 4096 sets are not too many
        (binary(13), 6),
        (binary(0), 0),
        (Problem("Y", {"A": 100, "B": 100, "C": 2}, {"I": 1000}), 1),  # size 2 would take 85 MB
    ],
)
def test_default_size(problem: Problem, max_size: int) -> None:
    assert TableLayout.of(problem).max_size == max_size


@given(logs(), st.integers(0, 3))
def test_nbytes_is_the_memory_taken(log: Log, max_size: int) -> None:
    layout = TableLayout.of(log[0], max_size)
    assert layout.nbytes == layout.empty().counts.nbytes


def test_memory_of_the_design_example() -> None:
    assert TableLayout.of(binary(20, arms=50)).nbytes == (1 + 20 * 2 + 190 * 4 + 1140 * 8) * 50 * 2 * 4


def test_too_much_memory_is_refused_without_trying() -> None:
    fits = r"lower max_size \(6 takes 0.6 GiB\), observe fewer levels, or list the arms"
    with pytest.raises(ProblemError, match=rf"up to 30 variables take 3068016.9 GiB; {fits}"):
        TableLayout.of(binary(30), 30)


def test_what_is_said_to_fit_fits() -> None:
    with pytest.raises(ProblemError) as refused:
        TableLayout.of(binary(25), 25)
    said = re.search(r"\((\d+) takes", str(refused.value))
    assert said is not None
    fitting = int(said[1])
    assert TableLayout.of(binary(25), fitting).max_size == fitting
    with pytest.raises(ProblemError):
        TableLayout.of(binary(25), fitting + 1)


@pytest.mark.parametrize("max_size", [-1, 1.5, "2"])
def test_bad_max_size(max_size: Any) -> None:
    with pytest.raises(OptionError, match=f"max_size={max_size!r}"):
        TableLayout.of(binary(2), max_size)


def test_find() -> None:
    layout = TableLayout.of(Problem("Y", {"A": 2, "B": 2, "cart": 2}, {"I": 2}), 2)
    for place, names in enumerate(layout.names):
        assert layout.find(reversed(names)) == place
    assert layout.names[layout.find("cart")] == ("cart",)
    with pytest.raises(
        UnknownVariableError, match="'I' is not an observed variable; expected some of 'A', 'B', 'cart'"
    ):
        layout.find(["A", "I"])
    with pytest.raises(OptionError, match=r"\['A', 'B', 'cart'\] has more than max_size=2 variables"):
        layout.find({"A", "B", "cart"})
