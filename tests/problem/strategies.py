"""Hypothesis strategies for problems and logged rows."""

from typing import Any

from hypothesis import strategies as st

from causal_bandits import Problem, bins
from causal_bandits.core.problem import Bins, Level, Levels

LEVELS = st.one_of(
    st.text(max_size=3), st.integers(-5, 5), st.floats(allow_nan=False, allow_infinity=False), st.booleans()
)


def level_lists() -> st.SearchStrategy[list[Level]]:
    return st.lists(LEVELS, min_size=2, max_size=4, unique_by=(lambda level: level, str))


def declared_bins() -> st.SearchStrategy[Bins]:
    cuts = st.lists(st.floats(-9, 9), min_size=1, max_size=3, unique=True).map(sorted).map(bins)
    learnt = st.builds(lambda count, after: bins(quantiles=count, after=after), st.integers(2, 4), st.integers(4, 200))
    return cuts | learnt


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Any problem there can be, with odd levels, bins, explicit arms, idle values and targets."""
    observed: dict[str, Levels] = {}
    for name in ["A", "B", "C"][: draw(st.integers(0, 3))]:
        observed[name] = draw(st.one_of(st.integers(2, 4), level_lists(), declared_bins()))
    levers = {name: draw(level_lists()) for name in ["I_A", "J", "K"][: draw(st.integers(1, 3))]}
    whole = Problem("Y", observed, levers)
    listed = draw(st.none() | st.lists(st.sampled_from(whole.arms), min_size=2, unique=True))
    idle = {name: draw(st.sampled_from(levels)) for name, levels in levers.items() if draw(st.booleans())}
    targets = {name: draw(st.sets(st.sampled_from([*observed, "Y"]))) for name in levers if draw(st.booleans())}
    return Problem("Y", observed, levers, arms=listed, idle=idle, targets=targets)


@st.composite
def logs(draw: st.DrawFn) -> tuple[Problem, list[dict[str, Any]]]:
    """A small problem with two to four levels per variable, and rows that fit it."""
    sizes = draw(st.lists(st.integers(2, 4), min_size=0, max_size=3))
    levers = draw(st.lists(st.integers(2, 3), min_size=1, max_size=2))
    names = dict(zip("ABC", sizes, strict=False))
    lever_names = dict(zip(("I", "J"), levers, strict=False))
    columns = {name: st.integers(0, size - 1) for name, size in (names | lever_names | {"Y": 2}).items()}
    return Problem("Y", names, lever_names), draw(st.lists(st.fixed_dictionaries(columns), max_size=30))


@st.composite
def gappy_logs(draw: st.DrawFn) -> tuple[Problem, list[dict[str, Any]]]:
    """Up to three levers, some of whose combinations are arms, few of them pulled; values may be missing (None)."""
    observed = {name: draw(st.integers(2, 3)) for name in ["A", "B", "C"][: draw(st.integers(0, 3))]}
    levers = {name: draw(st.integers(2, 3)) for name in ["I", "J", "K"][: draw(st.integers(1, 3))]}
    whole = Problem("Y", observed, levers)
    listed = draw(st.none() | st.lists(st.sampled_from(whole.arms), min_size=2, unique=True))
    problem = Problem("Y", observed, levers, arms=listed)
    pulled = draw(st.lists(st.sampled_from(problem.arms), min_size=1, max_size=4, unique=True))
    columns = {name: st.none() | st.integers(0, size - 1) for name, size in observed.items()}
    seen = st.fixed_dictionaries({**columns, "Y": st.integers(0, 1)})
    rows = draw(st.lists(st.tuples(st.sampled_from(pulled), seen), max_size=40))
    return problem, [{**arm, **row} for arm, row in rows]
