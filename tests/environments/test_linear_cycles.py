"""Linear worlds with cycles: against the closed form, and against updates until nothing changes."""

from collections.abc import Mapping

import numpy as np
import pytest

from causal_bandits import LinearGaussianSCM
from causal_bandits.core.compiled import Floats
from causal_bandits.core.graphs import random_mixed_graph, separating_sets
from causal_bandits.core.problem import Level
from causal_bandits.errors import WorldError
from causal_bandits.research.worlds import Change, fix, random_linear_world, scale, shift

LEVERS: dict[str, dict[Level, dict[str, Change]]] = {
    "I_A": {"idle": {}, "up": {"A": shift(1.0)}, "set": {"A": fix(2.0)}},
    "I_B": {"idle": {}, "loud": {"B": scale(2.0)}, "set": {"B": fix(-1.0)}},
}


def loop(a_to_b: float = 0.5, b_to_a: float = -0.8) -> LinearGaussianSCM:
    return LinearGaussianSCM(
        {("A", "B"): a_to_b, ("B", "A"): b_to_a, ("B", "Y"): 1.5, ("A", "Y"): 1.0},
        LEVERS,
        intercepts={"A": 1.0, "Y": 0.3},
        noise={"A": 0.7, "Y": 0.5},
        correlated={("A", "Y"): 0.4},
    )


def equations(world: LinearGaussianSCM, arm: Mapping[str, Level]) -> tuple[Floats, Floats, Floats]:
    """B, intercepts and the covariance of the noise under an arm of `loop`."""
    B = np.zeros((3, 3))
    for (cause, effect), value in world.coefficients.items():
        B["ABY".index(effect), "ABY".index(cause)] = value
    b, sd = np.array([1.0, 0.0, 0.3]), np.array([0.7, 1.0, 0.5])
    if arm.get("I_A") == "up":
        b[0] += 1
    if arm.get("I_A") == "set":
        B[0], b[0], sd[0] = 0, 2, 0
    if arm.get("I_B") == "loud":
        sd[1] *= 2
    if arm.get("I_B") == "set":
        B[1], b[1], sd[1] = 0, -1, 0
    rho = np.array([[1, 0, 0.4], [0, 1, 0], [0.4, 0, 1]])
    return B, b, sd[:, None] * rho * sd


def test_every_arm_is_the_closed_form() -> None:
    world = loop()
    assert len(world.problem.arms) == 9
    for arm in world.problem.arms:
        B, b, noise = equations(world, arm)
        inverse = np.linalg.inv(np.eye(3) - B)
        np.testing.assert_allclose(world.mean(arm), inverse @ b, atol=1e-12)
        np.testing.assert_allclose(world.covariance(arm), inverse @ noise @ inverse.T, atol=1e-12)
        assert world.means[world.problem.index(arm)] == world.mean(arm)[-1]


def test_what_is_fixed_on_a_cycle_does_not_vary_at_all() -> None:
    world = loop()
    assert world.mean({"I_A": "set"})[0] == 2.0
    assert np.all(world.covariance({"I_A": "set"})[0] == 0)
    assert np.all(world.covariance({"I_A": "set", "I_B": "set"})[:2] == 0)


def test_means_are_those_of_simulated_equilibria() -> None:
    """Null: values updated 100 times with the noise held, from random starts, have the exact mean and covariance.

    20,000 draws for each of four arms; standard error of a mean sqrt(var / n), of a (co)variance sqrt((v_ii v_jj +
    v_ij^2) / n). 4 x (3 + 9) comparisons at 4.5 standard errors alarm falsely in 0.03% of seeds. Seed 3.
    """
    world, rng, draws = loop(), np.random.default_rng(3), 20_000
    arms: list[dict[str, Level]] = [{}, {"I_A": "up", "I_B": "loud"}, {"I_A": "set"}, {"I_B": "set"}]
    for arm in arms:
        B, b, noise = equations(world, arm)
        added = b + rng.multivariate_normal(np.zeros(3), noise, size=draws)
        values = rng.normal(size=(draws, 3))
        for _ in range(100):
            values = values @ B.T + added
        mean, covariance = world.mean(arm), world.covariance(arm)
        variances = np.diag(covariance)
        spread = np.sqrt((np.outer(variances, variances) + covariance**2) / draws)
        assert np.all(np.abs(values.mean(axis=0) - mean) <= 4.5 * np.sqrt(variances / draws) + 1e-9)
        assert np.all(np.abs(np.cov(values.T) - covariance) <= 4.5 * spread + 1e-9)


def test_draws_are_of_the_exact_mean() -> None:
    """Null: drawn rewards have the exact mean; 20,000 draws, 4 standard errors: one false alarm in 16,000. Seed 4."""
    world = loop()
    rows = world.sample({}, 20_000, np.random.default_rng(4))
    assert abs(rows.rewards.mean() - world.means[0]) <= 4 * np.sqrt(world.covariance({})[-1, -1] / 20_000)


def test_random_worlds_are_stable() -> None:
    rng = np.random.default_rng(0)
    for seed in range(30):
        graph = random_mixed_graph(list("ABCY"), rng, p_directed=0.6, p_bidirected=0.2, acyclic=False)
        world = random_linear_world(graph, seed=seed)
        B = np.zeros((4, 4))
        for (cause, effect), value in world.coefficients.items():
            B["ABCY".index(effect), "ABCY".index(cause)] = value
        assert np.abs(np.linalg.eigvals(B)).max() <= 0.7 + 1e-6
        np.testing.assert_allclose(world.covariance({})[-1], _covariance(B, world)[-1], atol=1e-8)


def _covariance(B: Floats, world: LinearGaussianSCM) -> Floats:
    noise = np.eye(4)
    for (one, other), rho in world.correlated.items():
        noise["ABCY".index(one), "ABCY".index(other)] = noise["ABCY".index(other), "ABCY".index(one)] = rho
    inverse = np.linalg.inv(np.eye(4) - B)
    found: Floats = inverse @ noise @ inverse.T
    return found


def test_a_set_that_only_d_separation_finds() -> None:
    """A -> B <=> C <- Y: given {B, C}, Y does not depend on a lever on A, which sigma-separation does not promise."""
    coefficients = {("A", "B"): 1.0, ("B", "C"): 0.5, ("C", "B"): -0.6, ("Y", "C"): 1.0}
    world = LinearGaussianSCM(coefficients, {"I": {"idle": {}, "up": {"A": shift(1.0)}}}, variables=list("ABCY"))
    by_sigma = separating_sets(world.graph.with_context({"I": "A"}), "I", "Y")
    assert set(world.separating_sets()) - set(by_sigma) == {("B", "C")}
    covariance, moved = world.covariance({}), world.mean({"I": "up"}) - world.mean({})
    slopes = np.linalg.solve(covariance[1:3, 1:3], covariance[1:3, 3])
    assert moved[3] - slopes @ moved[1:3] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_feedback_that_grows_is_refused(factor: float) -> None:
    with pytest.raises(WorldError, match=rf"'A', 'B' has a spectral radius of {factor:g} under do\(\)"):
        loop(factor, factor)


def test_feedback_that_grows_under_one_arm_is_refused() -> None:
    """Two loops through A cancel: 1.44 - 1.2 = 0.24. Setting C leaves one of them."""
    coefficients = {("A", "B"): 1.2, ("B", "A"): 1.2, ("A", "C"): 1.2, ("C", "A"): -1.0, ("B", "Y"): 1.0}
    LinearGaussianSCM(coefficients, {"I": {"idle": {}, "up": {"C": shift(1.0)}}})
    with pytest.raises(WorldError, match=r"'A', 'B' has a spectral radius of 1.2 under do\(I=set\), and values"):
        LinearGaussianSCM(coefficients, {"I": {"idle": {}, "set": {"C": fix(1.0)}}})
