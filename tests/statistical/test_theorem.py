"""Theorem 3.1 and sec. 3.2 by simulation, in worlds whose distributions are known exactly.

Data sets have fixed numbers of rows per arm (`experiments/theorem.py`): no step of drawing them assumes that S
separates.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.stats import norm

from causal_bandits.core.estimators import sharing_variance
from causal_bandits.core.graphs import MixedGraph, dag_classes, separates, separating_sets
from causal_bandits.research.experiments.theorem import (
    Seen,
    decomposed_variance,
    draw_tables,
    errors_of,
    see,
    shared_estimates,
)
from causal_bandits.research.worlds import DiscreteSCM, example_world, paper_world, perfect
from causal_bandits.research.worlds.mechanisms import Mechanism
from tests.reference.sharing import expected_estimate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DATA_SETS = 20_000
COMPARISONS = 1000
FALSE_ALARM = 1e-4
BOUND = float(norm.isf(FALSE_ALARM / COMPARISONS / 2))
"""In standard errors: 5.3, for all comparisons of `test_theorem` together (Bonferroni)."""


class Case(NamedTuple):
    """A world seen through S."""

    name: str
    seen: Seen


def look(world: DiscreteSCM, S: Iterable[str], not_separated: Iterable[str] = (), name: str = "") -> Case:
    names = tuple(S)
    return Case(f"{name} {{{', '.join(names)}}}", see(world, names, not_separated))


def graph_of(world: DiscreteSCM) -> MixedGraph:
    return world.graph.with_context(dict(world.problem.targets))


def true_sets(world: DiscreteSCM) -> list[tuple[str, ...]]:
    return separating_sets(graph_of(world), world.problem.intervention_names, "Y")


def random_paper_cases(number: int, seed: int) -> list[Case]:
    """Random classes of 4-node DAGs, each with a random one of its separating sets."""
    rng = np.random.default_rng(seed)
    classes = dag_classes(["A", "B", "C", "Y"], "Y")
    cases = []
    for place in rng.choice(len(classes), number, replace=False):
        world = paper_world(classes[place].graph, seed=rng)
        sets = true_sets(world)
        cases.append(look(world, sets[rng.integers(len(sets))], name=f"class {place}"))
    return cases


def confounded_case() -> Case:
    """B causes Y and A, which share a hidden cause, as do B and C: {B} separates, {A, B} does not."""
    graph = MixedGraph(["A", "B", "C", "Y"], directed=[("B", "Y"), ("B", "A")], bidirected=[("A", "Y"), ("B", "C")])
    world = paper_world(graph, seed=5)
    assert ("B",) in true_sets(world)
    assert ("A", "B") not in true_sets(world)
    return look(world, ["B"], name="confounded")


def partial_case() -> Case:
    """B separates I_A and I_B, but not I_C."""
    world = paper_world(MixedGraph(["A", "B", "C", "Y"], directed=[("A", "B"), ("B", "Y"), ("C", "Y")]), seed=6)
    assert separates(graph_of(world), ["B", "I_C"], ["I_A", "I_B"], "Y")
    assert not separates(graph_of(world), ["B"], ["I_C"], "Y")
    return look(world, ["B"], not_separated=["I_C"], name="partial")


Best = Literal["S2", "AB", "S3"]
BESTS: tuple[Best, ...] = ("S2", "AB", "S3")
SETS = {"AB": ("A", "B"), "S2": ("S2",), "S3": ("S3",)}
CASES = [
    *random_paper_cases(8, seed=1),
    confounded_case(),
    partial_case(),
    *(look(example_world(best), S, name=f"example {best}") for best in BESTS for S in SETS.values()),
]


def in_standard_errors(samples: Floats, expected: Floats | float) -> Floats:
    """How far the mean over data sets is from what is expected; rounding alone (1e-15) is no distance."""
    error = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    distance: Floats = (samples.mean(axis=0) - expected) / (error + 1e-12)
    return distance


def reward_given(joint: Floats) -> Floats:
    """E[Y | S] of arms that share, once it is certain that they agree where both may see s."""
    chance = joint.sum(axis=2)
    given = np.divide(joint[:, :, 1], chance, out=np.full(chance.shape, np.nan), where=chance > 1e-12)
    pooled: Floats = joint[:, :, 1].sum(axis=0) / np.maximum(chance.sum(axis=0), 1e-300)
    assert_allclose(given, np.where(np.isnan(given), np.nan, pooled), rtol=0, atol=1e-12)
    return np.minimum(pooled, 1.0)


def decomposition(seen: Seen, rows: Sequence[int]) -> Floats:
    """`sharing_variance` of every arm, within its group."""
    variance = np.empty(len(rows))
    for group in range(int(seen.groups.max()) + 1):
        members = np.flatnonzero(seen.groups == group)
        joint = seen.joint[members]
        for place, arm in enumerate(members.tolist()):
            found = sharing_variance(joint.sum(axis=2), reward_given(joint), np.array(rows)[members], place)
            assert found.own == pytest.approx(seen.means[arm] * (1 - seen.means[arm]) / rows[arm], abs=1e-12)
            variance[arm] = found.shared
    return variance


def test_bonferroni_covers_all_comparisons() -> None:
    assert sum(3 * len(case.seen.joint) for case in CASES) <= COMPARISONS


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=[pytest.mark.slow] if number % 3 else [])
        for number, case in enumerate(CASES)
    ],
)
def test_theorem(case: Case) -> None:
    """Null, for every arm: E[eq. 2] is the arm's mean; its variance is that of the decomposition, and at most the
    sample mean's.

    Standard errors come from 20,000 data sets with 2 to 8 rows per arm: of the mean, and of the mean squared distances
    from the true mean (paired between the two estimators). Two-sided (the inequality one-sided) at 5.3 standard errors:
    false-alarm rate 1e-4 over all arms of all cases. Seed 2 for the rows, 3 for the data sets.
    """
    seen = case.seen
    rows = np.random.default_rng(2).integers(2, 9, size=len(seen.joint)).tolist()
    shared, own = errors_of(seen, rows, DATA_SETS, np.random.default_rng(3))
    squared = shared**2
    assert np.abs(in_standard_errors(shared, 0)).max() < BOUND
    assert np.abs(in_standard_errors(squared, decomposition(seen, rows))).max() < BOUND
    assert in_standard_errors(squared - own**2, 0).max() < BOUND
    assert_allclose(decomposed_variance(seen, rows), decomposition(seen, rows), rtol=1e-12)


def squared_errors(
    world: DiscreteSCM, sets: dict[str, tuple[str, ...]], rows: Sequence[int], seed: int
) -> dict[str, Floats]:
    """Squared distance of eq. 2 from the true mean through several sets, on the same data sets."""
    observed = world.problem.observed_names
    joint = np.array([world.distribution(arm, [*observed, "Y"]) for arm in world.problem.arms])
    tables = draw_tables(joint, rows, DATA_SETS, np.random.default_rng(seed))
    together = np.zeros(len(rows), dtype=np.int64)
    found = {}
    for name, S in sets.items():
        gone = tuple(2 + place for place, variable in enumerate(observed) if variable not in S)
        marginal = tables.sum(axis=gone).reshape(DATA_SETS, len(rows), -1, 2)
        found[name] = (shared_estimates(marginal, together) - world.means) ** 2
    return found


@pytest.mark.parametrize("best", BESTS)
def test_the_best_set_depends_on_the_mechanisms(best: Best) -> None:
    """Sec. 3.2: of the three separating sets of one graph, each is strictly the best in some world.

    Null: another set has at most the variance of the named one. Standard error of the paired difference of squared
    distances, 20,000 data sets of 6 and 10 rows. Rejected at 5 standard errors for both arms and both other sets: the
    null survives by chance 3e-7 at its edge, and the true differences are many standard errors beyond. Seed 4.
    """
    world, rows = example_world(best), [6, 10]
    assert set(SETS.values()) <= set(true_sets(world))
    squared = squared_errors(world, SETS, rows, seed=4)
    exact = {name: decomposition(see(world, S), rows) for name, S in SETS.items()}
    for other in set(BESTS) - {best}:
        assert in_standard_errors(squared[other] - squared[best], 0).min() > 5
        assert (exact[other] > exact[best]).all()


def test_where_arms_do_not_differ_the_empty_set_is_best() -> None:
    """paper-notes 2.13: in the paper's example A xor B = 1 always, so nothing is lost by pooling all rows.

    Null: one of the three sets has at most the variance of the empty set. Rejected at 5 standard errors of the paired
    difference, 20,000 data sets of 6 and 10 rows; false-alarm rate at the null's edge 3e-7. Seed 4.
    """
    world, rows = example_world("S2"), [6, 10]
    assert world.means[0] == pytest.approx(world.means[1], abs=1e-12)
    squared = squared_errors(world, {**SETS, "empty": ()}, rows, seed=4)
    empty = decomposition(see(world, ()), rows)
    assert_allclose(empty, world.means * (1 - world.means) / 16, rtol=1e-12)
    for name, S in SETS.items():
        assert in_standard_errors(squared[name] - squared["empty"], 0).min() > 5
        assert (decomposition(see(world, S), rows) > empty).all()


def fork(*, hidden: bool) -> DiscreteSCM:
    """A -> Y with a fair coin that also moves Y, and A too if it is hidden between them."""
    first = Mechanism(["U"], lambda u: [0.8, 0.2] if u else [0.2, 0.8]) if hidden else Mechanism([], [0.5, 0.5])
    return DiscreteSCM(
        variables={"A": 2, "Y": 2},
        mechanisms={"A": first, "Y": Mechanism(["A", "U"], lambda a, u: [0.5, 0.5] if a == u else [0.9, 0.1])},
        interventions={"I_A": perfect("A")},
        noise={"U": [0.5, 0.5]},
    )


@pytest.mark.parametrize("S", [("A",), ()])
def test_a_set_that_does_not_separate_is_biased(S: tuple[str, ...]) -> None:
    """Null: E[eq. 2] is `expected_estimate`, computed from P(S, Y | arm) without any separation.

    Two-sided over three arms at 4.5 standard errors of the mean of 20,000 data sets: false-alarm rate 2e-5. That the
    estimator were unbiased is rejected at 20 standard errors, so Theorem 3.1 does rest on separation. Seed 5.
    """
    world, rows = fork(hidden=True), [6, 4, 5]
    assert S not in true_sets(world)
    seen = see(world, S)
    expected = np.array([expected_estimate(seen.joint, rows, arm) for arm in range(3)])
    tables = draw_tables(seen.joint, rows, DATA_SETS, np.random.default_rng(5))
    simulated = shared_estimates(tables, seen.groups)
    assert np.abs(in_standard_errors(simulated, expected)).max() < 4.5
    assert np.abs(in_standard_errors(simulated, world.means)).max() > 20


def test_the_expectation_without_separation_is_the_mean_with_it() -> None:
    """The same closed form shows no bias once the coin no longer moves A: then {A} separates."""
    world, rows = fork(hidden=False), [6, 4, 5]
    assert ("A",) in true_sets(world)
    joint = see(world, ["A"]).joint
    assert_allclose([expected_estimate(joint, rows, arm) for arm in range(3)], world.means, rtol=1e-12)
