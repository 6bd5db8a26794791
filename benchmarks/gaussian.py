"""A causal round with real-valued rewards on Sachs: against a plain one, the literal Algorithm 2, and later."""

import itertools
from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
from tests.reference import algorithm2

import causal_bandits as cb

from .timing import interleaved

ROUNDS = 3000
TWO = (("Mek", "Erk"), ("Mek", "Erk", "Akt", "PKC"))
"""The full set is the most work that one set can be."""


@cache
def world() -> cb.LoggedWorld:
    """8 arms, 4 variables."""
    return cb.LoggedWorld(*cb.datasets.sachs())


def every_set() -> list[tuple[str, ...]]:
    """All 16 subsets of the observed variables."""
    names = world().problem.observed_names
    return [each for size in range(len(names) + 1) for each in itertools.combinations(names, size)]


def causal(sets: Iterable[Iterable[str]], rows: int) -> cb.CausalUCBNormal:
    """A policy with the closed-form variance that was told its sets and has played some rounds."""
    policy = cb.CausalUCBNormal(world().problem, discovery=cb.KnownSets(sets), seed=3)
    cb.simulation.play(policy, world(), rows, np.random.default_rng(4))
    return policy


def plain(rows: int) -> cb.UCBNormal:
    """A policy without sets that has played some rounds."""
    policy = cb.UCBNormal(world().problem, seed=3)
    cb.simulation.play(policy, world(), rows, np.random.default_rng(4))
    return policy


def _rounds(make: Callable[[], cb.UCBNormal | cb.CausalUCBNormal]) -> Callable[[], Callable[[], int]]:
    """Choosing, drawing a row of the data, learning; the policy is made again each time, untimed."""

    def prepare() -> Callable[[], int]:
        policy = make()

        def work() -> int:
            cb.simulation.play(policy, world(), ROUNDS, np.random.default_rng(8))
            return ROUNDS

        return work

    return prepare


def literal_round() -> Callable[[], int]:
    """One choice by the reference: 50 bootstraps, two accepted sets, 4000 rows."""
    policy = causal(TWO, 4000)
    problem = policy.problem
    data = algorithm2.Data.of(problem, policy.history.rows)
    s_set = [(variables, problem.intervention_names) for variables in TWO]

    def work() -> int:
        algorithm2.causal_ucb_normal(data, problem, s_set, np.random.default_rng(7))
        return 1

    return work


def gaussian_rounds() -> dict[str, float]:
    """Rounds of plain and Causal UCB-Normal."""
    seconds = interleaved(
        {
            "plain": _rounds(lambda: plain(1000)),
            "two sets": _rounds(lambda: causal(TWO, 1000)),
            "all sets": _rounds(lambda: causal(every_set(), 1000)),
            "two sets at 4000": _rounds(lambda: causal(TWO, 4000)),
        },
        turns=15,
    )
    literal = interleaved({"literal": literal_round}, turns=3)["literal"]
    return {
        "gaussian_round_us": seconds["two sets"] * 1e6,
        "ucb_normal_round_us": seconds["plain"] * 1e6,
        "gaussian_literal_round_ms": literal * 1e3,
        "gaussian_round_vs_plain_ratio": seconds["plain"] / seconds["two sets"],
        "gaussian_round_all_sets_vs_plain_ratio": seconds["plain"] / seconds["all sets"],
        "gaussian_round_vs_literal_ratio": literal / seconds["two sets at 4000"],
        **gaussian_growth(),
    }


def gaussian_growth() -> dict[str, float]:
    """The same number of rounds, early and late."""
    early, late = causal(TWO, 1000), causal(TWO, 100_000)
    seconds = interleaved({"1e3": _again(early, 200), "1e5": _again(late, 200)}, turns=15)
    return {"gaussian_round_growth_1e3_1e5_ratio": seconds["1e3"] / seconds["1e5"]}


def _again(policy: cb.CausalUCBNormal, rounds: int) -> Callable[[], Callable[[], int]]:
    """Rounds that continue from where the last ones ended."""
    rng = np.random.default_rng(9)

    def work() -> int:
        cb.simulation.play(policy, world(), rounds, rng)
        return rounds

    return lambda: work
