"""The Bayes oracle: a Tape draws what NumPy draws, and its worlds are the exact posterior."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from scipy import stats

import causal_bandits as cb
from causal_bandits.errors import OptionError
from causal_bandits.research.experiments.oracle import ARMS, PLAYED, draw_like, drawn_world
from causal_bandits.research.simulation import BayesOracle, play
from causal_bandits.research.simulation.bayes_oracle import Tape, law_of, moved, prior_particles
from causal_bandits.research.worlds import DiscreteSCM, Mechanism


def bernoulli(rates: list[float]) -> DiscreteSCM:
    """Two arms and a reward alone."""
    first, second = (Mechanism([], [1 - rate, rate]) for rate in rates)
    return DiscreteSCM({"Y": 2}, {"Y": first}, {"I": {"none": {}, "on": {"Y": second}}}, target="Y")


def uniform_world(rng: np.random.Generator) -> DiscreteSCM:
    return bernoulli([float(rng.random()), float(rng.random())])


def good_or_bad(rng: np.random.Generator) -> DiscreteSCM:
    return bernoulli([0.2 + 0.4 * int(rng.integers(2)), 0.4])


DRAWS: dict[str, tuple[Callable[[np.random.Generator], float], Any]] = {
    "uniform": (lambda rng: rng.uniform(2, 5), stats.uniform(2, 3)),
    "normal": (lambda rng: rng.normal(1, 2), stats.norm(1, 2)),
    "dirichlet": (lambda rng: rng.dirichlet([2.0, 3.0])[0], stats.beta(2, 3)),
}


@pytest.mark.parametrize("kind", DRAWS)
def test_a_tape_draws_from_the_distribution_that_is_asked_for(kind: str) -> None:
    """Null: a Tape's draws have this distribution. Kolmogorov-Smirnov, 2,000 draws, false alarms 1 in 1,000, seed 1."""
    draw, law = DRAWS[kind]
    tape = Tape(np.empty(0), np.random.default_rng(1))
    assert stats.kstest([float(draw(tape)) for _ in range(2000)], law.cdf).pvalue > 0.001


def test_whole_numbers_and_orders_of_a_tape() -> None:
    """By hand: .5 of 1, 2, 3 is 2; the smallest number comes first."""
    tape = Tape(np.array([0.5, 0.9, 0.1, 0.4, 0.99]), np.random.default_rng(0))
    assert tape.integers(1, 3, endpoint=True) == 2
    assert tape.permutation(3).tolist() == [1, 2, 0]
    assert tape.choice(["a", "b"]) == "b"
    tape.poisson(3.0)
    with pytest.raises(OptionError, match="cannot record"):
        tape.check()


def test_two_possible_worlds_have_the_posterior_of_bayes_rule() -> None:
    """By hand: after 3 ones and 1 zero of the first arm the odds of .6 against .2 are (.6^3 .4) / (.2^3 .8) = 13.5."""
    problem = bernoulli([0.2, 0.4]).problem
    oracle = BayesOracle(problem, draw=good_or_bad, particles=200, seed=0)
    good = [particle.best == 0 for particle in oracle.particles]
    for reward in (1, 1, 1, 0):
        oracle.counts[0, reward] += 1
        oracle._logs += oracle._laws[:, 0, reward]
    prior = np.mean(good)
    expected = prior * 13.5 / (prior * 13.5 + 1 - prior)
    assert oracle.probability_best()[0] == pytest.approx(expected)


def test_moves_leave_the_posterior_as_it_is() -> None:
    """Uniform rates, 12 ones of 16: the posterior is Beta(13, 5). Null: so are the worlds after 25 moves each.

    Kolmogorov-Smirnov over 200 independent chains that start in the prior, false alarms 1 in 1,000, seed 2.
    """
    problem = bernoulli([0.2, 0.4]).problem
    rng = np.random.default_rng(2)
    counts = np.array([[4.0, 12.0], [0.0, 0.0]])
    worlds = prior_particles(problem, uniform_world, 200, rng)
    for _ in range(25):
        worlds = [moved(each, problem, uniform_world, counts, rng) for each in worlds]
    rates = np.exp([[each.log_law[arm, 1] for arm in (0, 1)] for each in worlds])
    assert stats.kstest(rates[:, 0], stats.beta(13, 5).cdf).pvalue > 0.001
    assert stats.kstest(rates[:, 1], "uniform").pvalue > 0.001


def test_it_plays_and_draws_worlds_again() -> None:
    world = bernoulli([0.2, 0.8])
    oracle = BayesOracle(world.problem, draw=uniform_world, particles=24, seed=3)
    run = play(oracle, world, 120, np.random.default_rng(4))
    assert oracle.refreshes > 0
    assert run.arms[-40:].mean() > 0.9


def test_an_oracle_without_a_generator_is_refused() -> None:
    problem = bernoulli([0.2, 0.4]).problem
    with pytest.raises(OptionError, match="needs the generator"):
        BayesOracle(problem, draw=cb.worlds.loan_world().draw)


def test_a_generator_of_other_worlds_is_refused() -> None:
    world = cb.worlds.random_linear_world(cb.MixedGraph(["A", "Y"], directed=[("A", "Y")]), seed=0)
    with pytest.raises(OptionError, match="expected a discrete world"):
        BayesOracle(bernoulli([0.2, 0.4]).problem, draw=lambda _: world)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("family", PLAYED)
def test_the_law_of_a_family_is_that_of_its_generator(family: str) -> None:
    """The slow twin makes the world, from the same Tape; as many numbers are read, and other numbers make another."""
    world = cast(DiscreteSCM, drawn_world(family, 0, np.random.SeedSequence(1)))
    assert world.draw is not None
    rng = np.random.default_rng(2)
    found = []
    for _ in range(3000):
        tape = Tape(np.empty(0), rng)
        slow = draw_like(family, ARMS.get(family, 0), tape)
        tape.check()
        if slow.problem == world.problem:
            again = Tape(tape.values.copy(), rng)
            law = world.draw(again)
            again.check()
            if law is None:  # the generator of funnels went on to one that fits
                continue
            assert law == pytest.approx(law_of(slow), abs=1e-12)
            assert again.used == tape.used
            found.append(slow.means.tolist())
        if len(found) == 2:
            break
    assert found[0] != found[1]


def test_where_arms_share_nothing_the_oracle_is_thompson_sampling() -> None:
    """Uniform means of each arm: its posterior is Beta(1 + ones, 1 + zeros), as that of Thompson sampling.

    Null: the probability of being best is the same. A difference of .14 is 4 standard errors of 200 particles; seed 5.
    """
    problem = bernoulli([0.2, 0.4]).problem

    def draw(rng: np.random.Generator) -> Any:
        means = rng.random(2)
        return np.stack([1 - means, means], axis=-1)

    oracle = BayesOracle(problem, draw=draw, particles=200, moves=6, seed=5)
    for row in range(60):
        oracle.tell(problem.arms[row % 2], {"Y": int(row % 5 < 2 + (row % 4 == 0))})
    rng = np.random.default_rng(6)
    rates = rng.beta(1 + oracle.counts[:, 1], 1 + oracle.counts[:, 0], (20_000, 2))
    assert oracle.refreshes > 0
    assert oracle.probability_best()[0] == pytest.approx((rates[:, 0] > rates[:, 1]).mean(), abs=0.14)
