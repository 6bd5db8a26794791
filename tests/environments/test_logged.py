from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from causal_bandits import Problem, bins
from causal_bandits.core.compiled import interpreted
from causal_bandits.errors import CausalBanditsError, ObservationError, UnknownArmError, UnknownLevelError, WorldError
from causal_bandits.research.worlds import LoggedWorld
from causal_bandits.research.worlds.sampler import draw_values, fill

PROBLEM = Problem(
    "Y",
    {"A": float, "mood": ["low", "high"], "B": float},
    {"I": ["off", "on"], "J": 2},
    arms=[{"I": "on"}, {}, {"J": 1}],
    reward=float,
)
SIZES = {("off", 0): 7, ("on", 0): 11, ("off", 1): 4}


def log() -> pl.DataFrame:
    """Rows in no order; the reward names the row, and B its arm."""
    rng = np.random.default_rng(0)
    settings = [setting for setting, size in SIZES.items() for _ in range(size)]
    settings = [settings[place] for place in rng.permutation(len(settings))]
    return pl.DataFrame(
        {
            "B": [10.0 * (i == "on") + j for i, j in settings],
            "Y": np.arange(len(settings), dtype=np.float64),
            "J": [j for _, j in settings],
            "comment": "ignored",
            "I": [i for i, _ in settings],
            "A": rng.normal(size=len(settings)),
            "mood": rng.choice(["low", "high"], size=len(settings)),
        }
    )


def test_means_are_the_means_of_the_rows() -> None:
    frame = log()
    world = LoggedWorld(PROBLEM, frame)
    for number, arm in enumerate(PROBLEM.arms):
        rows = frame.filter((pl.col("I") == arm["I"]) & (pl.col("J") == arm["J"]))
        assert world.means[number] == pytest.approx(float(rows["Y"].to_numpy().mean()), abs=1e-12)


def test_draws_only_the_rows_of_the_arm_uniformly() -> None:
    """Null: every row of the arm is equally likely. Pearson's chi-squared test on 1000 draws per row of the arm.

    Standard error of a row's count at most 32. Bonferroni over 3 arms: false-alarm rate 1e-4. Seed 1.
    """
    frame = log()
    world = LoggedWorld(PROBLEM, frame)
    rng = np.random.default_rng(1)
    for number, arm in enumerate(PROBLEM.arms):
        size = SIZES[str(arm["I"]), int(arm["J"])]
        rows = world.sample(arm, 1000 * size, rng)
        assert np.all(rows.arms == number)
        drawn, counts = np.unique(rows.rewards, return_counts=True)
        assert np.all(rows.raw[:, 1] == 10.0 * (arm["I"] == "on") + int(arm["J"]))
        assert len(drawn) == size
        assert stats.chisquare(counts).pvalue > 1e-4 / 3


def test_every_value_of_a_row_stays_with_it() -> None:
    frame = log()
    world = LoggedWorld(PROBLEM, frame)
    rng = np.random.default_rng(2)
    for arm in PROBLEM.arms:
        for _ in range(50):
            seen = world.pull(arm, rng)
            row = frame.row(int(seen["Y"]), named=True)
            assert seen == {name: row[name] for name in ("A", "mood", "B", "Y")}
            assert {**arm} == {name: row[name] for name in ("I", "J")}
        rows = world.sample(arm, 50, rng)
        assert rows.raw.shape == (50, 2)
        for place, reward in enumerate(rows.rewards):
            row = frame.row(int(reward), named=True)
            assert rows.raw[place].tolist() == [row["A"], row["B"]]
            assert rows.codes[place].tolist() == [0, int(row["mood"] == "high"), 0]


def test_compiled_sampler_equals_interpreted() -> None:
    world = LoggedWorld(PROBLEM, log())
    for number, arm in enumerate(PROBLEM.arms):
        rewards = world.sample(arm, 30, np.random.default_rng(3)).rewards
        many, one = np.empty((30, 4)), np.empty(4)
        interpreted(fill)(world.sampler, number, np.random.default_rng(3), many, np.empty(len(many)))
        np.testing.assert_array_equal(many[:, -1], rewards)
        rng = np.random.default_rng(3)
        for row in range(30):
            interpreted(draw_values)(world.sampler, number, rng, np.empty(0), one)
            np.testing.assert_array_equal(one, many[row])


def test_the_last_row_of_an_arm_is_drawn_and_none_after_it() -> None:
    """The largest double below 1, times any length, rounds to less than the length."""
    highest = np.nextafter(1.0, 0.0)
    for length in (1, 2, 3, 5, 7, 6564, 2**31 - 1, 2**40 + 1):
        assert int(highest * length) == length - 1


def test_any_table_will_do() -> None:
    frame = log()
    means = LoggedWorld(PROBLEM, frame).means
    for table in (pd.DataFrame(frame.to_dict(as_series=False)), frame.rows(named=True)):
        np.testing.assert_array_equal(LoggedWorld(PROBLEM, table).means, means)


def test_a_reward_of_zero_or_one_stays_one() -> None:
    problem = Problem("Y", {"A": 2}, {"I": 2})
    world = LoggedWorld(problem, {"I": [0, 0, 1], "A": [0, 1, 1], "Y": [0, 1, 1]})
    assert world.means.tolist() == [0.5, 1.0]
    pulled = world.pull({"I": 1}, np.random.default_rng(0))
    assert pulled == {"A": 1, "Y": 1}
    assert type(pulled["Y"]) is int
    assert world.sample({"I": 1}, 3, np.random.default_rng(0)).rewards.dtype == np.int64


GOOD: dict[str, list[Any]] = {
    "I": ["on", "off", "off"],
    "J": [0, 0, 1],
    "A": [1.0, 2.0, 3.0],
    "B": [1.0, 2.0, 3.0],
    "mood": ["low", "low", "high"],
    "Y": [1.0, 2.0, 3.0],
}


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"J": [0, 0, 0]},
            WorldError,
            r"the table has no row for do\(J=1\); list the arms that occur: Problem\(..., arms=\[...\]\)",
        ),
        (
            {name: [] for name in GOOD},
            WorldError,
            r"no row for do\(I=on\), do\(\), do\(J=1\); list the arms that occur",
        ),
        ({"J": [1, 0, 1]}, UnknownArmError, "row 1: I=on, J=1 is not one of the 3 arms"),
        ({"I": ["on", "off", "up"]}, UnknownLevelError, "row 3: 'up' is not a level of 'I'"),
        ({"mood": ["low", "so", "low"]}, UnknownLevelError, "row 2: 'so' is not a level of 'mood'"),
        ({"Y": [1.0, np.nan, 2.0]}, ObservationError, "row 2: 'Y' is nan; expected a finite number"),
        ({"A": [1.0, 2.0, np.inf]}, ObservationError, "row 3: 'A' is inf; expected a finite number"),
        ({"A": [1.0, None, 2.0]}, ObservationError, "row 2: 'A' is None; expected a finite number"),
        ({"A": [1.0]}, ObservationError, "different lengths"),
    ],
)
def test_tables_that_cannot_be_played(
    changes: dict[str, list[Any]], error: type[CausalBanditsError], message: str
) -> None:
    assert LoggedWorld(PROBLEM, GOOD).means.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(error, match=message):
        LoggedWorld(PROBLEM, {**GOOD, **changes})


def test_a_missing_column_and_no_table() -> None:
    with pytest.raises(ObservationError, match="no column 'B'"):
        LoggedWorld(PROBLEM, {name: column for name, column in GOOD.items() if name != "B"})
    with pytest.raises(ObservationError, match="a int is not a table"):
        LoggedWorld(PROBLEM, 3)


def test_bins_are_refused() -> None:
    problem = Problem("Y", {"A": bins([0.5])}, {"I": 2})
    with pytest.raises(WorldError, match="'A' is cut into bins; declare it as float or with its levels"):
        LoggedWorld(problem, {"I": [0, 1], "A": [0.1, 0.9], "Y": [0, 1]})
