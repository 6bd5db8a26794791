import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from causal_bandits import MixedGraph
from causal_bandits.core.compiled import interpreted
from causal_bandits.core.graphs import random_mixed_graph, separates
from causal_bandits.core.problem import Level
from causal_bandits.errors import (
    CausalBanditsError,
    GraphError,
    OptionError,
    ProblemError,
    UnknownArmError,
    UnknownVariableError,
    WorldError,
)
from causal_bandits.research.worlds import (
    Change,
    LinearGaussianSCM,
    fix,
    random_linear_world,
    reweigh,
    scale,
    shift,
)
from causal_bandits.research.worlds.sampler import draw_values, fill

Floats = NDArray[np.float64]
NAMES = ["A", "B", "C", "Y"]
SEEDS = range(8)


class Drawn:
    """A random world on a random graph, with the numbers it was made of."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        graph = random_mixed_graph(NAMES, rng, p_directed=0.7, p_bidirected=0.3)
        self.coefficients = {edge: float(rng.normal()) for edge in graph.directed}
        self.correlated = {edge: float(rng.uniform(-0.4, 0.4)) for edge in graph.bidirected}
        self.intercepts = {name: float(rng.normal(scale=3)) for name in NAMES}
        self.noise = {name: float(rng.uniform(0.5, 2)) for name in NAMES}
        one, two, three = rng.permutation(NAMES[:3]).tolist()
        self.interventions: dict[str, dict[Level, dict[str, Change]]] = {
            "I": {"idle": {}, "up": {one: shift(float(rng.normal()))}, "loud": {one: scale(2.5)}},
            "J": {"idle": {}, "set": {two: fix(float(rng.normal()))}, "both": {two: scale(0.0), three: shift(-1.0)}},
            "K": {"idle": {}, "reward": {"Y": shift(0.5)}, "parents": {"Y": reweigh(float(rng.normal()))}},
        }
        self.world = LinearGaussianSCM(
            self.coefficients,
            self.interventions,
            variables=NAMES,
            intercepts=self.intercepts,
            noise=self.noise,
            correlated=self.correlated,
        )

    def closed_form(self, arm: Mapping[str, Level]) -> tuple[Floats, Floats]:
        """Mean and covariance from V = (I - B)^-1 (c + e), e with covariance D R D."""
        at = {name: place for place, name in enumerate(NAMES)}
        b, c, d, r = np.zeros((4, 4)), np.zeros(4), np.zeros(4), np.eye(4)
        for (cause, effect), weight in self.coefficients.items():
            b[at[effect], at[cause]] = weight
        for (one, other), rho in self.correlated.items():
            r[at[one], at[other]] = r[at[other], at[one]] = rho
        for name, place in at.items():
            c[place], d[place] = self.intercepts[name], self.noise[name]
        for lever, value in arm.items():
            for name, change in self.interventions[lever][value].items():
                place = at[name]
                if change.cuts:
                    b[place], c[place], d[place] = 0, change.added, 0
                else:
                    c[place], d[place] = c[place] + change.added, d[place] * change.noise
                    b[place] *= change.weights
        inverse = np.linalg.inv(np.eye(4) - b)
        return inverse @ c, inverse @ np.diag(d) @ r @ np.diag(d) @ inverse.T


@pytest.mark.parametrize("seed", range(30))
def test_means_and_covariances_equal_the_closed_form(seed: int) -> None:
    drawn = Drawn(seed)
    world = drawn.world
    assert len(world.problem.arms) == 27
    for number, arm in enumerate(world.problem.arms):
        mean, covariance = drawn.closed_form(arm)
        np.testing.assert_allclose(world.mean(arm), mean, atol=1e-12)
        np.testing.assert_allclose(world.covariance(arm), covariance, atol=1e-12)
        assert world.means[number] == world.mean(arm)[-1]


def test_random_worlds_cover_what_they_should() -> None:
    worlds = [Drawn(seed).world for seed in SEEDS]
    assert any(world.graph.bidirected for world in worlds)
    assert any(world.graph.children("Y") for world in worlds)


@pytest.mark.parametrize("seed", SEEDS)
def test_sampling_follows_means_and_covariances(seed: int) -> None:
    """Null: rows have the stated mean and covariance and are Gaussian. 4000 rows for each of 27 arms.

    Standard errors: sqrt(c_ii / n) of a mean, sqrt((c_ii c_jj + c_ij^2) / n) of a covariance about the known mean.
    Two-sided z-tests, 14 per arm, Bonferroni over them and the arms: false-alarm rate 1e-4 per world. Seeds 0 to 7.
    What does not vary is what it must be, but for rounding.
    """
    world = Drawn(seed).world
    rng = np.random.default_rng(seed)
    limit = stats.norm.isf(1e-4 / (14 * 27) / 2)
    for number, arm in enumerate(world.problem.arms):
        rows = world.sample(arm, 4000, rng)
        assert np.all(rows.arms == number)
        assert rows.codes.shape == (4000, 3)
        assert not rows.codes.any()
        off = np.column_stack([rows.raw, rows.rewards]) - world.mean(arm)
        c = world.covariance(arm)
        spread = np.sqrt(np.diag(c))
        assert np.all(np.abs(off.mean(axis=0)) <= limit * spread / np.sqrt(4000) + 1e-12)
        error = np.sqrt((np.outer(spread, spread) ** 2 + c**2) / 4000)
        assert np.all(np.abs(off.T @ off / 4000 - c) <= limit * error + 1e-12)


def test_rows_are_gaussian() -> None:
    """Null: the reward, standardized, is N(0, 1). Kolmogorov-Smirnov on 5000 rows per arm of one world, 27 arms.

    Standard error of the empirical distribution function at most 0.007. False-alarm rate 1e-4 (Bonferroni), seed 3.
    """
    world = Drawn(3).world
    rng = np.random.default_rng(3)
    for arm in world.problem.arms:
        standard = (world.sample(arm, 5000, rng).rewards - world.mean(arm)[-1]) / np.sqrt(world.covariance(arm)[-1, -1])
        assert stats.kstest(standard, "norm").pvalue > 1e-4 / 27


def test_what_an_intervention_does_is_not_what_seeing_tells() -> None:
    """The noises of A and Y go together, and A does nothing: cutting it loose keeps the reward, shifting it too."""
    world = LinearGaussianSCM(
        {},
        {"I_A": {"idle": {}, "set": {"A": fix(2.0)}, "up": {"A": shift(2.0)}, "loud": {"A": scale(3.0)}}},
        correlated={("A", "Y"): 0.8},
        intercepts={"Y": 1.0},
    )
    np.testing.assert_allclose(world.covariance({}), [[1.0, 0.8], [0.8, 1.0]])  # E[Y | A = a] = 1 + 0.8 a
    np.testing.assert_allclose(world.means, [1.0, 1.0, 1.0, 1.0])  # E[Y | do(A = a)] = 1
    np.testing.assert_array_equal(world.mean({"A": "set"}), [2.0, 1.0])
    np.testing.assert_allclose(world.covariance({"A": "set"}), [[0.0, 0.0], [0.0, 1.0]], atol=1e-12)
    np.testing.assert_allclose(world.covariance({"A": "up"}), [[1.0, 0.8], [0.8, 1.0]])
    np.testing.assert_allclose(world.covariance({"A": "loud"}), [[9.0, 2.4], [2.4, 1.0]])
    assert world.graph == MixedGraph(["A", "Y"], bidirected=[("A", "Y")])


def test_shift_scale_and_fix_by_hand() -> None:
    """A = 1 + e, B = 2 A + 0.5 e', Y = 3 B + e''."""
    world = LinearGaussianSCM(
        {("A", "B"): 2.0, ("B", "Y"): 3.0},
        {"I": {"idle": {}, "up": {"B": shift(1.0)}, "loud": {"B": scale(4.0)}, "set": {"B": fix(-1.0)}}},
        intercepts={"A": 1.0},
        noise={"B": 0.5},
    )
    assert world.problem.observed_names == ("A", "B")
    assert world.problem.targets == (("I", ("B",)),)
    means = np.array([world.mean(arm) for arm in world.problem.arms])
    np.testing.assert_allclose(means, [[1.0, 2.0, 6.0], [1.0, 3.0, 9.0], [1.0, 2.0, 6.0], [1.0, -1.0, -3.0]])
    np.testing.assert_allclose(world.covariance({}), [[1.0, 2.0, 6.0], [2.0, 4.25, 12.75], [6.0, 12.75, 39.25]])
    np.testing.assert_allclose(world.covariance({"I": "up"}), world.covariance({}))
    np.testing.assert_allclose(world.covariance({"I": "loud"}), [[1, 2, 6], [2, 8, 24], [6, 24, 73]])
    np.testing.assert_array_equal(world.covariance({"I": "set"}), [[1, 0, 0], [0, 0, 0], [0, 0, 1]])
    assert np.all(world.sample({"I": "set"}, 100, np.random.default_rng(0)).raw[:, 1] == -1.0)


def test_effects_may_stand_on_the_idle_value_and_on_the_reward() -> None:
    world = LinearGaussianSCM({("A", "Y"): 1.0}, {"I": {0: {"Y": shift(1.0)}, 1: {"Y": fix(5.0), "A": shift(9.0)}}})
    np.testing.assert_array_equal(world.means, [1.0, 5.0])
    assert world.problem.targets == (("I", ("A", "Y")),)


def test_order_of_the_variables() -> None:
    lever: dict[str, dict[Level, dict[str, Change]]] = {"I": {0: {}, 1: {"C": shift(1.0)}}}
    coefficients = {("C", "Y"): 1.0, ("Y", "A"): 0.5}
    world = LinearGaussianSCM(coefficients, lever, correlated={("B", "A"): 0.1})
    assert world.variables == ("C", "A", "B", "Y")
    assert world.mean({"I": 1}).tolist() == [1.0, 0.5, 0.0, 1.0]
    named = LinearGaussianSCM(coefficients, lever, variables=["Y", "D", "C", "A"])
    assert named.problem.observed_names == ("D", "C", "A")
    assert named.graph == MixedGraph(["C", "Y", "A", "D"], directed=[("C", "Y"), ("Y", "A")])


def test_zeros_are_no_edges() -> None:
    """So the second coefficient makes no cycle."""
    world = LinearGaussianSCM(
        {("A", "Y"): 1.0, ("Y", "A"): 0.0}, {"I": {0: {}, 1: {"A": shift(1.0)}}}, correlated={("A", "Y"): 0.0}
    )
    assert world.graph == MixedGraph(["A", "Y"], directed=[("A", "Y")])


@pytest.mark.parametrize("seed", [0, 1])
def test_compiled_sampler_equals_interpreted(seed: int) -> None:
    world = Drawn(seed).world
    for number, arm in enumerate(world.problem.arms):
        rows = world.sample(arm, 20, np.random.default_rng(seed))
        many, one = np.empty((20, 4)), np.empty(4)
        interpreted(fill)(world.sampler, number, np.random.default_rng(seed), many, np.empty(len(many)))
        np.testing.assert_allclose(np.column_stack([rows.raw, rows.rewards]), many, rtol=1e-14)
        rng = np.random.default_rng(seed)
        for row in range(20):
            interpreted(draw_values)(world.sampler, number, rng, np.empty(0), one)
            np.testing.assert_array_equal(one, many[row])


def test_pull_is_one_row_by_name() -> None:
    world = Drawn(0).world
    pulled = world.pull(world.problem.arms[3], np.random.default_rng(5))
    rows = world.sample(world.problem.arms[3], 1, np.random.default_rng(5))
    assert pulled == {**dict(zip("ABC", rows.raw[0].tolist(), strict=True)), "Y": rows.rewards[0]}
    assert {type(value) for value in pulled.values()} == {float}
    assert rows.rewards.dtype == np.float64


# random_linear_world


@pytest.mark.parametrize("seed", SEEDS)
def test_random_linear_world(seed: int) -> None:
    graph = random_mixed_graph(NAMES, seed, p_directed=0.6, p_bidirected=0.5)
    world = random_linear_world(graph, seed=seed)
    assert world.graph == graph
    assert len(world.problem.arms) == 27
    assert all(0.5 <= abs(weight) <= 1.5 for weight in world.coefficients.values())
    assert all(0 < abs(rho) <= 0.5 for rho in world.correlated.values())
    gap = world.mean({"A": "up", "C": "down"}) - world.mean({})
    np.testing.assert_allclose(world.mean({"A": "down", "C": "up"}) - world.mean({}), -gap)
    np.testing.assert_allclose(world.covariance({"A": "up"}), world.covariance({}))
    np.testing.assert_array_equal(random_linear_world(graph, seed=seed).means, world.means)


def test_random_linear_world_shrinks_correlations_that_do_not_fit() -> None:
    """Six neighbors of one node: 1 - 0.5 sqrt(6) < 0, whatever the signs. One neighbor is no trouble."""
    pair = random_linear_world(MixedGraph(["A", "Y"], bidirected=[("A", "Y")]), seed=0)
    np.testing.assert_array_equal(np.abs([*pair.correlated.values()]), [0.5])
    leaves = [f"X{number}" for number in range(6)]
    star = random_linear_world(MixedGraph([*leaves, "Y"], bidirected=[(leaf, "Y") for leaf in leaves]), seed=0)
    np.testing.assert_allclose(np.abs([*star.correlated.values()]), [0.9 / np.sqrt(6)] * 6)
    assert np.linalg.eigvalsh(star.covariance({}))[0] == pytest.approx(0.1)


def regression(world: LinearGaussianSCM, arm: Mapping[str, Level], chosen: list[int]) -> Floats:
    """Intercept, slopes and residual variance of the reward given some variables, exact."""
    mean, covariance = world.mean(arm), world.covariance(arm)
    slopes = np.linalg.solve(covariance[np.ix_(chosen, chosen)], covariance[chosen, -1])
    rest = covariance[-1, -1] - slopes @ covariance[chosen, -1]
    return np.array([mean[-1] - slopes @ mean[chosen], *slopes, rest])


@pytest.mark.parametrize("acyclic", [True, False])
def test_separation_in_the_graph_is_equality_of_regressions(acyclic: bool) -> None:
    """I_i and Y are d-separated by S and the other levers exactly where Y given S is the same with and without I_i.

    With cycles, too, where sigma-separation finds fewer sets.
    """
    found = {True: 0, False: 0}
    for seed in range(20):
        graph = random_mixed_graph(NAMES, seed, p_directed=0.5 if acyclic else 0.3, p_bidirected=0.2, acyclic=acyclic)
        world = random_linear_world(graph, seed=seed)
        levers = world.problem.intervention_names
        extended = world.graph.with_context(dict(world.problem.targets))
        for size, lever in itertools.product(range(4), levers):
            for chosen in itertools.combinations(range(3), size):
                others = [name for name in levers if name != lever]
                given = [*(NAMES[place] for place in chosen), *others]
                separated = separates(extended, given, lever, "Y", criterion="d")
                assert separated or not separates(extended, given, lever, "Y", criterion="sigma")
                idle, up = (regression(world, arm, list(chosen)) for arm in ({}, {lever: "up"}))
                assert np.allclose(idle, up, atol=1e-9) == separated
                found[separated] += 1
    assert min(found.values()) > 50


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (MixedGraph(["A", "B"]), "target 'Y' is not a node of the graph; its nodes are 'A', 'B'"),
        (MixedGraph(["Y"]), "at least one lever"),
    ],
)
def test_graphs_without_a_world(graph: MixedGraph, message: str) -> None:
    with pytest.raises((WorldError, ProblemError), match=message):
        random_linear_world(graph, seed=0)


# Bad input


def make(**changes: Any) -> LinearGaussianSCM:
    world: dict[str, Any] = {
        "coefficients": {("A", "B"): 1.0, ("B", "Y"): 1.0},
        "interventions": {"I_A": {"idle": {}, "up": {"A": shift(1.0)}}},
    }
    return LinearGaussianSCM(**{**world, **changes})


UP = {"idle": {}, "up": {"A": shift(1.0)}}


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"coefficients": {("A", "Y"): 1, ("Y", "A"): 1}},
            WorldError,
            r"feedback among 'A', 'Y' has a spectral radius of 1 under do\(\), and values converge only below 1; lower",
        ),
        ({"coefficients": {("A", "A"): 1, ("A", "Y"): 1}}, WorldError, "'A' has a coefficient on itself"),
        ({"coefficients": {("A", "Y"): np.nan}}, WorldError, "coefficient 'A' -> 'Y' is nan; expected a finite number"),
        ({"coefficients": {("A", "Y"): "1"}}, WorldError, "coefficient 'A' -> 'Y' is '1'; expected a finite number"),
        ({"coefficients": {"AY": 1}}, WorldError, r"coefficients names 'AY'; expected a pair .* such as \('A', 'Y'\)"),
        ({"coefficients": [("A", "Y")]}, WorldError, "coefficients is .*; expected a mapping"),
        ({"coefficients": {("A", "B"): 1e200, ("B", "Y"): 1e200}}, WorldError, r"under do\(\) are too large"),
        ({"target": "Z"}, WorldError, "target 'Z' is not among the variables 'A', 'B', 'Y'"),
        ({"variables": ["A", "Y"]}, UnknownVariableError, "'B' is not a variable; expected one of 'A', 'Y'"),
        ({"variables": ["A", "A", "B", "Y"]}, GraphError, "node names must differ"),
        ({"variables": "Y"}, UnknownVariableError, "'B' is not a variable; expected one of 'Y'"),
        ({"intercepts": {"Z": 1.0}}, UnknownVariableError, "'Z' is not a variable; expected one of 'A', 'B', 'Y'"),
        ({"intercepts": {"A": np.inf}}, WorldError, r"intercepts\['A'\] is inf; expected a finite number"),
        ({"noise": {"Z": 1.0}}, UnknownVariableError, "'Z' is not a variable"),
        ({"noise": {"A": -1.0}}, WorldError, r"noise\['A'\] is -1.0; expected a finite number from 0"),
        ({"noise": 2.0}, WorldError, "noise is 2.0; expected a mapping"),
        (
            {"correlated": {("A", "Z"): 0.5}, "variables": ["A", "B", "Y"]},
            UnknownVariableError,
            "'Z' is not a variable",
        ),
        ({"correlated": {("A", "A"): 0.5}}, WorldError, "correlated names 'A' with itself"),
        ({"correlated": {("A", "B"): 0.5, ("B", "A"): 0.5}}, WorldError, "'A' and 'B' twice, in both orders"),
        ({"correlated": {("A", "B"): 1.0}}, WorldError, "are inconsistent .*; use smaller ones"),
        ({"correlated": {("A", "B"): 0.9, ("B", "Y"): 0.9}}, WorldError, "are inconsistent"),
        (
            {"correlated": {("A", "B"): None}},
            WorldError,
            "correlation of 'A' and 'B' is None; expected a finite number",
        ),
        ({"interventions": {}}, ProblemError, "at least one lever"),
        ({"interventions": ["I"]}, WorldError, r"interventions is \['I'\]; expected a mapping"),
        ({"interventions": {"I": [0, 1]}}, WorldError, r"interventions\['I'\] is \[0, 1\]; expected a mapping"),
        (
            {"interventions": {"I": {0: {}, 1: shift(1)}}},
            WorldError,
            r"interventions\['I'\]\[1\] is .*; expected a map",
        ),
        ({"interventions": {"I": {0: {}, 1: {"A": 3.0}}}}, WorldError, r"'I' does 3.0 to 'A'; expected shift\(\), sc"),
        ({"interventions": {"I": {0: {}, 1: {"Z": fix(0)}}}}, UnknownVariableError, "'Z' is not a variable"),
        ({"interventions": {"I": {0: {}}}}, ProblemError, r"'I' has 1 level\(s\)"),
        (
            {"interventions": {"I": UP, "J": UP}},
            WorldError,
            r"arm do\(I=up, J=up\): 'I' and 'J' both act on 'A'; list the allowed arms",
        ),
    ],
)
def test_worlds_that_contradict_themselves(
    changes: dict[str, Any], error: type[CausalBanditsError], message: str
) -> None:
    with pytest.raises(error, match=message):
        make(**changes)


def test_two_levers_on_one_variable_are_fine_when_the_arms_keep_them_apart() -> None:
    world = make(interventions={"I": UP, "J": UP}, arms=[{}, {"I": "up"}, {"J": "up"}])
    np.testing.assert_array_equal(world.means, [0.0, 1.0, 1.0])


@pytest.mark.parametrize("value", [np.nan, np.inf, "1", None])
def test_bad_changes(value: Any) -> None:
    for change in (shift, scale, fix):
        with pytest.raises(WorldError, match=f"{change.__name__} is {value!r}; expected a finite number"):
            change(value)
    with pytest.raises(WorldError, match="scale is -1; expected a finite number from 0"):
        scale(-1)


def test_bad_pulls() -> None:
    world = make()
    with pytest.raises(UnknownArmError, match="3 is not an arm"):
        world.pull(3, np.random.default_rng(0))  # type: ignore[arg-type]
    with pytest.raises(UnknownVariableError, match="'J' is not a lever"):
        world.covariance({"J": 1})
    for count in (-1, 1.5, "3"):
        with pytest.raises(OptionError, match=f"count={count!r}"):
            world.sample({}, count, np.random.default_rng(0))  # type: ignore[arg-type]
    assert world.sample({}, 0, np.random.default_rng(0)).raw.shape == (0, 2)
