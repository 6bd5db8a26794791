"""Margins and tables on demand: the same numbers as tables of all sets, and less memory."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causal_bandits import History, Problem
from causal_bandits.compiled import interpreted
from causal_bandits.data import (
    CountTables,
    Screen,
    ScreenedLayout,
    TableLayout,
    count_lines,
    empty_margins,
    layout_for,
    levels_of,
    margins_of,
    member_table,
)
from causal_bandits.errors import OptionError, ProblemError
from tests.problem.strategies import gappy_logs

Log = tuple[Problem, list[dict[str, Any]]]


def extend(history: History, rows: list[dict[str, Any]]) -> None:
    levers = history.problem.intervention_names
    for row in rows:
        arm = {name: row[name] for name in levers}
        seen = {name: value for name, value in row.items() if name not in levers}
        history.extend(history.encode(arm, seen, missing=True))


def screen_of(history: History) -> Screen:
    return Screen(ScreenedLayout(history.problem, len(history.problem.observed)), history)


@given(gappy_logs())
def test_margins_equal_a_naive_recount(log: Log) -> None:
    problem, rows = log
    history = History(problem)
    screen = screen_of(history)
    extend(history, rows)
    starts = levels_of(problem).starts
    for place, names in enumerate(screen.layout.names):
        sizes = [variable.size for variable in problem.observed if variable.name in names]
        for lever, first in zip(problem.interventions, starts, strict=False):
            for level, cell, reward in np.ndindex(lever.size, math.prod(sizes), 2):
                values = np.unravel_index(cell, sizes, order="F") if sizes else ()
                wanted = {**dict(zip(names, map(int, values), strict=True)), lever.name: level, "Y": reward}
                expected = sum(all(row[name] == value for name, value in wanted.items()) for row in rows)
                assert screen.margins.table(place)[first + level, cell, reward] == expected


@given(gappy_logs(), st.integers(0, 40), st.integers(0, 40))
def test_margins_kept_up_equal_margins_of_tables(log: Log, one: int, other: int) -> None:
    """Counted in up to three parts, or added up from tables of all arms."""
    problem, rows = log
    history = History(problem)
    screen = screen_of(history)
    for part in (rows[:one], rows[one : one + other], rows[one + other :]):
        extend(history, part)
        counted = screen.margins
    layout = TableLayout.of(problem, len(problem.observed))
    np.testing.assert_array_equal(counted.counts, margins_of(layout, history.tables()).counts)
    whole = [sum(all(row[name] is not None for name in names) for row in rows) for names in layout.names]
    np.testing.assert_array_equal(screen.rows_seen(), whole)


@given(gappy_logs())
def test_compiled_equals_interpreted(log: Log) -> None:
    problem, rows = log
    history = History(problem)
    extend(history, rows)
    layout, told = TableLayout.of(problem), history.rows
    fast, slow = empty_margins(layout), empty_margins(layout)
    lines = np.ascontiguousarray(levels_of(problem).of_arm[told.arms].T)
    rest = member_table(layout), lines, np.ascontiguousarray(told.codes.T), told.rewards
    count_lines(fast, *rest)
    interpreted(count_lines)(slow, *rest)
    np.testing.assert_array_equal(fast.counts, slow.counts)


def tables_of(tables: CountTables) -> dict[int, list[Any]]:
    return {int(place): tables.table(index).tolist() for index, place in enumerate(tables.sets)}


@given(gappy_logs(), st.data())
def test_tables_on_demand_equal_tables_of_all_sets(log: Log, data: st.DataObject) -> None:
    """Other sets are asked for, with rows in between or without; what was in use has learnt them or not."""
    problem, rows = log
    history = History(problem)
    screen = screen_of(history)
    done = 0
    for _ in range(3):
        new = data.draw(st.integers(0, len(rows) - done))
        extend(history, rows[done : done + new])
        done += new
        if data.draw(st.booleans(), label="in use"):
            told = history.since(done - new)
            lines = told.arms[None], np.ascontiguousarray(told.codes.T), told.rewards
            count_lines(screen.kept, member_table(screen.layout)[screen.kept.sets], *lines)
        places = data.draw(st.sets(st.integers(0, screen.layout.count - 1)))
        found = screen.tables(np.array(sorted(places), dtype=np.int64))
        everything = tables_of(history.tables())
        assert tables_of(found) == {place: everything[place] for place in sorted({0, *places})}
        assert screen.tables(found.sets) is found


def factorial(observed: int, levers: int) -> Problem:
    return Problem("Y", {f"V{n}": 2 for n in range(observed)}, {f"I{n}": 3 for n in range(levers)})


@pytest.mark.parametrize(
    ("observed", "levers", "max_size", "kind", "size"),
    [
        (4, 3, None, TableLayout, 4),  # small
        (8, 5, None, TableLayout, 8),
        (8, 8, 2, TableLayout, 2),  # small when limited
        (8, 8, None, ScreenedLayout, 6),  # a table of seven variables would have more than 2^19 cells
        (30, 8, None, ScreenedLayout, 3),  # sets of 4 would be more than 8192
        (30, 8, 4, ScreenedLayout, 4),
        (16, 5, None, ScreenedLayout, 4),  # tables of all sets would take 63 MB
        (10, 4, None, ScreenedLayout, 10),
        (30, 1, None, TableLayout, 2),  # as many levels as arms: nothing to gain
    ],
)
def test_which_problems_are_screened(observed: int, levers: int, max_size: int | None, kind: type, size: int) -> None:
    problem = factorial(observed, levers)
    layout = layout_for(problem, max_size, screens=True)
    assert (type(layout), layout.max_size) == (kind, size)
    assert type(layout_for(problem, layout.max_size, screens=True)) is kind  # as when a save file is read
    if max_size is None:
        assert type(layout_for(problem, None, screens=False)) is TableLayout


@given(gappy_logs(), st.integers(0, 3))
def test_nbytes_is_the_memory_taken(log: Log, max_size: int) -> None:
    layout = ScreenedLayout.of(log[0], max_size)
    assert layout.count == len(layout.members)
    assert layout.nbytes == empty_margins(layout).counts.nbytes + layout.empty().counts.nbytes


def test_too_much_memory_is_refused_without_trying() -> None:
    fits = r"lower max_size \(6 takes 2.4 GiB\), observe fewer levels, or list the arms"
    with pytest.raises(ProblemError, match=rf"margins of all sets up to 30 variables take .* GiB; {fits}"):
        layout_for(factorial(25, 8), 30, screens=True)


@pytest.mark.parametrize("max_size", [-1, 1.5, "2"])
def test_bad_max_size(max_size: Any) -> None:
    with pytest.raises(OptionError, match=f"max_size={max_size!r}"):
        layout_for(factorial(3, 2), max_size, screens=True)


def test_real_variables_are_refused() -> None:
    with pytest.raises(ProblemError, match="'A' is a real number"):
        layout_for(Problem("Y", {"A": float}, {"I": 3, "J": 3}), None, screens=True)
