"""Batches are the same as one by one, and reading changes nothing."""

from functools import partial

import pytest

from causal_bandits import CausalThompsonSampling, DirectTesting, Problem, ThompsonSampling, bins
from causal_bandits.errors import CausalBanditsError, OptionError
from tests.policies.cases import CASES, FOUR_ARMS, full_state, random_table, rows_of

MAKERS = {
    "ts": ThompsonSampling,
    "closed form": CausalThompsonSampling,
    "told": partial(CausalThompsonSampling, discovery=CASES[2].discovery),
    "monte carlo": partial(CausalThompsonSampling, variance="monte-carlo", samples=9),
}
TABLE = random_table(FOUR_ARMS, 60, 8)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_ask_n_is_n_asks(make: type[CausalThompsonSampling]) -> None:
    one, many = make(FOUR_ARMS, seed=3), make(FOUR_ARMS, seed=3)
    for policy in (one, many):
        policy.tell_many(TABLE)
    assert many.ask(40) == [one.ask() for _ in range(40)]
    assert full_state(one) == full_state(many)


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_tell_many_is_many_tells(make: type[CausalThompsonSampling], asked: bool) -> None:
    one, many = make(FOUR_ARMS, seed=3), make(FOUR_ARMS, seed=3)
    if asked:  # then pools exist and learn row by row
        one.ask()
        many.ask()
    many.tell_many(TABLE)
    for arm, seen in rows_of(FOUR_ARMS, TABLE):
        one.tell(arm, seen)
    assert full_state(one) == full_state(many)
    assert one.ask(30) == many.ask(30)


def test_tell_many_across_learnt_cut_points() -> None:
    problem = Problem("Y", {"A": 2, "x": bins(quantiles=3, after=20)}, {"I": 2})
    table = random_table(Problem("Y", {"A": 2}, {"I": 2}), 50, 1) | {"x": [row * 7 % 50 / 10 for row in range(50)]}
    one, many = (CausalThompsonSampling(problem, seed=3) for _ in range(2))
    for policy in (one, many):
        policy.ask()
    many.tell_many(table)
    for arm, seen in rows_of(problem, table):
        one.tell(arm, seen)
    # Moments are summed in another order when rows before the cut are coded again; counts are the same to the bit.
    for name in ("rows.codes", "state.tables.counts", "state.pools.counts", "due"):
        assert full_state(one)[name] == full_state(many)[name], name
    assert one.ask(30) == many.ask(30)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_reading_changes_nothing(make: type[CausalThompsonSampling]) -> None:
    quiet, read = make(FOUR_ARMS, seed=3), make(FOUR_ARMS, seed=3)
    for arm, seen in rows_of(FOUR_ARMS, TABLE):
        before = full_state(read)
        if read.rows:
            read.recommend()
        read.estimates().to_frame()
        if isinstance(read, CausalThompsonSampling):
            read.separating_sets(rejected=True)
        repr(read.estimates())
        assert full_state(read) == before
        assert quiet.ask() == read.ask()
        quiet.tell(arm, seen)
        read.tell(arm, seen)
    assert full_state(quiet) == full_state(read)


def test_an_arm_may_be_told_that_was_never_asked() -> None:
    policy = ThompsonSampling(FOUR_ARMS, seed=0)
    policy.tell({"I_A": 1}, {"A": 1, "B": "high", "Y": True})
    assert policy.history.to_frame().rows() == [(1, "idle", 1, "high", 1)]


BAD_TABLES = {
    "no reward": {name: TABLE[name] for name in TABLE if name != "Y"},
    "no lever": {name: TABLE[name] for name in TABLE if name != "I_B"},
    "unknown level in the last row": TABLE | {"B": [*TABLE["B"][:-1], "huge"]},
    "nan": TABLE | {"A": [*TABLE["A"][:-1], float("nan")]},
    "none": TABLE | {"Y": [*TABLE["Y"][:-1], None]},
    "reward of 2": TABLE | {"Y": [*TABLE["Y"][:-1], 2]},
    "unknown arm": TABLE | {"I_B": [*TABLE["I_B"][:-1], "off"]},
    "short column": TABLE | {"A": TABLE["A"][:-1]},
}


@pytest.mark.parametrize("table", BAD_TABLES.values(), ids=BAD_TABLES)
def test_a_bad_row_anywhere_and_nothing_is_counted(table: dict[str, list[object]]) -> None:
    policy = CausalThompsonSampling(FOUR_ARMS, seed=0)
    policy.tell_many(TABLE)
    policy.ask()
    before = full_state(policy)
    with pytest.raises(CausalBanditsError):
        policy.tell_many(table)
    assert full_state(policy) == before


def test_bad_options() -> None:
    policy = CausalThompsonSampling(FOUR_ARMS, seed=0)
    for call in (
        lambda: policy.ask(0),
        lambda: policy.ask(2.5),  # type: ignore[call-overload]
        lambda: policy.posterior().sample_means(0, 0),
        lambda: policy.estimates(level=1.0),
        lambda: CausalThompsonSampling(FOUR_ARMS, variance="exact"),  # type: ignore[arg-type]
        lambda: CausalThompsonSampling(FOUR_ARMS, samples=1),
        lambda: CausalThompsonSampling(FOUR_ARMS, max_size=-1),
        lambda: CausalThompsonSampling("not a problem"),  # type: ignore[arg-type]
        lambda: DirectTesting(alpha=1.0),
    ):
        with pytest.raises(OptionError):
            call()


def test_told_sets_that_cannot_be_are_refused_when_the_policy_is_made() -> None:
    with pytest.raises(CausalBanditsError, match="max_size"):
        CausalThompsonSampling(FOUR_ARMS, discovery=CASES[2].discovery, max_size=1)
