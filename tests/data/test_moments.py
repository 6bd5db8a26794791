import numpy as np
import pytest
from numpy.typing import NDArray

from causal_bandits import History, Problem
from causal_bandits.core.compiled import interpreted
from causal_bandits.core.data import (
    ArmMoments,
    DesignLayout,
    Rows,
    add_row,
    add_rows,
    design_row,
    merge_groups,
    remove_row,
)
from causal_bandits.core.data import moments as compiled_moments
from causal_bandits.errors import ProblemError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ARMS, WIDTH = 4, 3
MIXED = Problem("Y", {"A": float, "B": ["low", "middle", "high"], "C": float, "D": 2}, {"I": 2}, reward=float)


def empty(arms: int = ARMS, width: int = WIDTH) -> ArmMoments:
    return ArmMoments(np.zeros(arms, dtype=np.int64), np.zeros((arms, width)), np.zeros((arms, width, width)))


def random_rows(seed: int, mean: float = 0.0, rows: int = 300) -> tuple[Ints, Floats]:
    """Correlated columns, variance about 1, in three of the four arms; each arm has its own mean."""
    rng = np.random.default_rng(seed)
    arms = rng.choice(ARMS - 1, size=rows, p=[0.6, 0.3, 0.1])
    mixing = np.eye(WIDTH) + 0.3 * rng.normal(size=(WIDTH, WIDTH))
    return arms, mean + 0.5 * arms[:, None] + rng.normal(size=(rows, WIDTH)) @ mixing


def counted(arms: Ints, values: Floats) -> ArmMoments:
    moments = empty(width=values.shape[1])
    add_rows(moments, arms, values)
    return moments


def of_rows(values: Floats) -> tuple[Floats, Floats]:
    """Mean and centered cross-products by numpy; a constant is taken off first, as exactly as numbers allow."""
    centre = values[0].round()
    away = values - centre
    return centre + away.mean(axis=0), len(values) * np.cov(away, rowvar=False, bias=True)


def assert_same_moments(mean: Floats, scatter: Floats, values: Floats, tolerance: float) -> None:
    expected_mean, expected = of_rows(values)
    spread = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-14, atol=1e-14)
    assert np.all(np.abs(scatter - expected) <= tolerance * np.outer(spread, spread))


@pytest.mark.parametrize(("mean", "tolerance"), [(0.0, 1e-11), (1e6, 1e-7)])
def test_rows_are_taken_back(mean: float, tolerance: float) -> None:
    """In any order; what is left are the moments of the others, and none at all where none is left."""
    arms, values = random_rows(7, mean)
    moments, order = counted(arms, values), np.random.default_rng(8).permutation(len(arms))
    for row in order[:200]:
        remove_row(moments, arms[row], values[row])
    left = order[200:]
    for arm in range(3):
        mine = values[left][arms[left] == arm]
        assert moments.counts[arm] == len(mine)
        expected_mean, expected = of_rows(mine)
        np.testing.assert_allclose(moments.means[arm], expected_mean, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(moments.scatter[arm], expected, atol=tolerance * len(values))
        np.testing.assert_array_equal(moments.scatter[arm], moments.scatter[arm].T)
    for row in left:
        remove_row(moments, arms[row], values[row])
    assert not any(part.any() for part in moments)


@pytest.mark.parametrize(("mean", "tolerance"), [(0.0, 1e-13), (1e6, 1e-9), (-1e6, 1e-9)])
@pytest.mark.parametrize("seed", range(5))
def test_sums_equal_numpy(seed: int, mean: float, tolerance: float) -> None:
    """With a mean of 1e6 and a variance of 1, deviations have ten digits, and so have their products."""
    arms, values = random_rows(seed, mean)
    moments = counted(arms, values)
    assert moments.counts.tolist() == np.bincount(arms, minlength=ARMS).tolist()
    for arm in range(ARMS - 1):
        assert_same_moments(moments.means[arm], moments.scatter[arm], values[arms == arm], tolerance)
    assert not moments.means[-1].any()
    assert not moments.scatter[-1].any()
    np.testing.assert_array_equal(moments.scatter, moments.scatter.transpose(0, 2, 1))


def test_row_by_row_equals_many() -> None:
    arms, values = random_rows(6)
    many, one = counted(arms, values), empty()
    for arm, row in zip(arms, values, strict=True):
        add_row(one, arm, row)
    for ours, theirs in zip(one, many, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_constant_has_no_spread() -> None:
    """Exactly none: 0.1 is no sum of powers of two, and 1e6 + 0.1 still less."""
    arms, values = random_rows(7)
    values[:, 0], values[:, 1] = 0.1, 1e6 + 0.1
    moments = counted(arms, values)
    assert not moments.scatter[:, :2, :2].any()
    merged = merge_groups(moments, np.zeros(ARMS, dtype=np.int64))
    assert not merged.scatter[:, :2].any()
    assert merged.means[0, :2].tolist() == [0.1, 1e6 + 0.1]


@pytest.mark.parametrize(("mean", "tolerance"), [(0.0, 1e-13), (1e6, 1e-9)])
@pytest.mark.parametrize("members", [[0], [0, 1], [0, 1, 2], [1, 2, 3], [3], []])
def test_merging_equals_all_rows_together(members: list[int], mean: float, tolerance: float) -> None:
    arms, values = random_rows(8, mean)
    moments = counted(arms, values)
    member = np.isin(np.arange(ARMS), members)
    groups = merge_groups(moments, np.where(member, 0, 1))
    rows, merged_mean, merged = groups.counts[0], groups.means[0], groups.scatter[0]
    together = values[member[arms]]
    assert rows == len(together)
    if rows:
        assert_same_moments(merged_mean, merged, together, tolerance)
        np.testing.assert_array_equal(merged, merged.T)
    else:
        assert not merged_mean.any()
        assert not merged.any()


def test_merging_groups_is_merging_each() -> None:
    arms, values = random_rows(9)
    moments = counted(arms, values)
    groups = np.array([1, 0, 1, 2])
    merged = merge_groups(moments, groups)
    for group in range(3):
        alone = merge_groups(moments, np.where(groups == group, 0, 1))
        for part, own in zip(merged, alone, strict=True):
            np.testing.assert_array_equal(part[group], own[0])


def test_the_order_of_the_arms_does_not_matter() -> None:
    """But for rounding: 1e-14 of the spread."""
    arms, values = random_rows(10)
    there = counted(arms, values)
    back = counted(ARMS - 1 - arms, values)
    one, other = (merge_groups(each, np.zeros(ARMS, dtype=np.int64)) for each in (there, back))
    np.testing.assert_allclose(one.means, other.means, atol=1e-14)
    np.testing.assert_allclose(one.scatter, other.scatter, rtol=1e-13, atol=1e-13 * one.scatter.max())


def test_compiled_equals_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    arms, values = random_rows(11, rows=60)
    compiled = counted(arms, values)
    groups = np.array([0, 1, 0, 1])
    merged = merge_groups(compiled, groups)
    for name in ("add_row", "_merge_arm", "merge_into", "mirror", "nothing_merged"):
        monkeypatch.setattr(compiled_moments, name, interpreted(getattr(compiled_moments, name)))
    slow = empty()
    interpreted(add_rows)(slow, arms, values)
    for ours, theirs in zip((*compiled, *merged), (*slow, *interpreted(merge_groups)(slow, groups)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13)


# Designs


def coded(rows: int = 40) -> tuple[DesignLayout, Rows]:
    rng = np.random.default_rng(12)
    history = History(MIXED)
    table = {
        "I": rng.integers(2, size=rows),
        "A": rng.normal(size=rows),
        "B": rng.choice(["low", "middle", "high"], size=rows),
        "C": rng.normal(size=rows),
        "D": rng.integers(2, size=rows),
        "Y": rng.normal(size=rows),
    }
    history.extend(history.encode_many({name: column.tolist() for name, column in table.items()}))
    return DesignLayout.of(MIXED), history.rows


def test_columns_of_a_design() -> None:
    """One for a real variable, one per level but the first for a discrete one, the reward last."""
    layout, rows = coded()
    design = layout.design(rows)
    assert layout.width == design.shape[1] == 6
    assert layout.spans.tolist() == [[0, 0], [1, 3], [3, 0], [4, 2]]
    b, d = rows.codes[:, 1], rows.codes[:, 3]
    expected = [rows.raw[:, 0], b == 1, b == 2, rows.raw[:, 1], d == 1, rows.rewards]
    np.testing.assert_array_equal(design, np.column_stack(expected).astype(np.float64))
    assert layout.columns[layout.find(["B", "C"])].tolist() == [1, 2, 3]
    assert layout.columns[layout.find(["D"])].tolist() == [4]
    assert len(layout.names) == 16


def test_one_row_of_a_design() -> None:
    layout, rows = coded()
    design = layout.design(rows)
    values = rows.codes.astype(np.float64)
    values[:, [0, 2]] = rows.raw
    row, slow = np.full(layout.width, np.nan), np.full(layout.width, np.nan)
    for number in range(len(values)):
        seen = np.append(values[number], rows.rewards[number])
        design_row(layout.spans, seen, row)
        interpreted(design_row)(layout.spans, seen, slow)
        np.testing.assert_array_equal(row, design[number])
        np.testing.assert_array_equal(slow, design[number])


def test_no_observed_variables_leave_the_reward() -> None:
    layout = DesignLayout.of(Problem("Y", {}, {"I": 2}, reward=float))
    assert (layout.width, layout.names, layout.spans.shape) == (1, ((),), (0, 2))


def test_the_number_of_sets_stays_small() -> None:
    """All pairs of 20 variables make 211 sets, all triples 1351, all sets of four 6196: more than 4096."""
    wide = Problem("Y", {f"X{number}": float for number in range(20)}, {"I": 2}, reward=float)
    assert DesignLayout.of(wide).max_size == 3
    assert DesignLayout.of(wide, 1).max_size == 1
    assert DesignLayout.of(MIXED, 9).max_size == 4


def test_problems_of_another_kind() -> None:
    with pytest.raises(ProblemError, match=r"reward 'Y' is 0 or 1; pass reward=float"):
        DesignLayout.of(Problem("Y", {"A": 2}, {"I": 2}))


@pytest.mark.parametrize(
    ("variables", "max_size", "words"),
    [
        (30, 30, r"6561 arms with all sets up to 30 variables take .* GiB; lower max_size \(3 takes 0.7 GiB\)"),
        (300, 1, r"6561 arms with all sets up to 1 variables take 4.5 GiB; list fewer arms with arms"),
        (300, None, r"6561 arms with all sets up to 0 variables take 4.4 GiB; list fewer arms"),
    ],
)
def test_what_does_not_fit_is_refused_before_it_is_taken(variables: int, max_size: int | None, words: str) -> None:
    levers = {f"I{n}": 3 for n in range(8)}
    problem = Problem("Y", {f"X{n}": float for n in range(variables)}, levers, reward=float)
    with pytest.raises(ProblemError, match=words):
        DesignLayout.of(problem, max_size)


def test_many_arms_have_fewer_sets_unless_told() -> None:
    """8 variables have 256 sets; a round over 243 arms x 256 sets stays fast, over 6561 x 9 as well."""
    for levers, size in ((5, 8), (8, 1)):
        problem = Problem("Y", {f"X{n}": float for n in range(8)}, {f"I{n}": 3 for n in range(levers)}, reward=float)
        assert DesignLayout.of(problem).max_size == size
        assert DesignLayout.of(problem, 2).max_size == 2
