"""A causal round of ours: against the literal Algorithm 1, against itself later, and for larger problems."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from tests.reference import algorithm1

import causal_bandits as cb
from causal_bandits.core.policies import Policy
from causal_bandits.research.experiments.families import class_world, structureless_world
from causal_bandits.research.simulation.one_run import World

from .timing import interleaved
from .worlds import accepting, check_worst_case, every_subset, played, world

ROUNDS = 5000


def compiled_run() -> Callable[[], int]:
    """Rounds from the very first: choosing, the world's draw, learning, and discovery by tests at every refresh."""
    policy = cb.CausalThompsonSampling(world().problem, discovery=accepting(), seed=5)
    rng = np.random.default_rng(6)

    def work() -> int:
        cb.simulation.play(policy, world(), ROUNDS, rng)
        check_worst_case(policy)
        return ROUNDS

    return work


def largest_set_run() -> Callable[[], int]:
    """The same with the full set alone: the most random numbers a round can need (8 cells for each of 27 arms)."""
    told = cb.KnownSets([world().problem.observed_names])
    policy = cb.CausalThompsonSampling(world().problem, discovery=told, seed=5)

    def work() -> int:
        cb.simulation.play(policy, world(), ROUNDS, np.random.default_rng(6))
        return ROUNDS

    return work


def literal_round() -> Callable[[], int]:
    """One choice by the reference, 200 samples, all 8 subsets accepted, 1000 rows."""
    policy = played(4, 1000, tested=True)
    problem, rows = policy.problem, policy.history.rows
    data = algorithm1.Data(problem.arm_codes[rows.arms], rows.codes, rows.rewards)
    s_set = [(variables, problem.intervention_names) for variables in policy.layout.names]
    rng = np.random.default_rng(7)

    def work() -> int:
        algorithm1.causal_thompson_sampling(data, problem, s_set, rng)
        return 1

    return work


def against_literal() -> dict[str, float]:
    """Ours against the reference."""
    seconds = interleaved({"ours": compiled_run, "literal": literal_round})
    return {
        "causal_round_us": seconds["ours"] * 1e6,
        "literal_round_ms": seconds["literal"] * 1e3,
        "causal_round_vs_literal_ratio": seconds["literal"] / seconds["ours"],
    }


@cache
def _mixed_worlds() -> list[World]:
    """Eight worlds with sets that separate, and eight without; 27 arms each."""
    seeds = [np.random.SeedSequence(9, spawn_key=(number,)) for number in range(8)]
    kinds = (class_world, structureless_world)
    return [kind(8 * number, seed) for kind in kinds for number, seed in enumerate(seeds)]


def _whole_runs(make: Callable[..., Policy[Any]]) -> Callable[[], Callable[[], int]]:
    """Runs from the first round to T = 2000, discoveries and all, with the policy's defaults."""

    def work() -> int:
        for played_in in _mixed_worlds():
            cb.simulation.play(make(played_in.problem, seed=5), played_in, 2000, np.random.default_rng(6))
        return 2000 * len(_mixed_worlds())

    return lambda: work


def _many_arms(make: Callable[..., Policy[Any]]) -> Callable[[], Callable[[], int]]:
    """The same with 243 arms: one random DAG of six nodes."""

    def work() -> int:
        cb.simulation.play(make(world(6).problem, seed=5), world(6), 2000, np.random.default_rng(6))
        return 2000

    return lambda: work


def safe_against_paper() -> dict[str, float]:
    """What the default costs that is safe where nothing separates, beside the paper's policy; 27 and 243 arms."""
    both = {"safe": cb.SafePolicy, "paper": cb.CausalThompsonSampling}
    seconds = interleaved({name: _whole_runs(make) for name, make in both.items()})
    many = interleaved({name: _many_arms(make) for name, make in both.items()})
    return {
        "safe_round_us": seconds["safe"] * 1e6,
        "paper_round_us": seconds["paper"] * 1e6,
        "safe_round_vs_paper_ratio": seconds["paper"] / seconds["safe"],
        "safe_round_vs_paper_243_arms_ratio": many["paper"] / many["safe"],
    }


def _rounds_from(nodes: int, start: int, rounds: int) -> Callable[[], Callable[[], int]]:
    def prepare() -> Callable[[], int]:
        policy = played(nodes, start)

        def work() -> int:
            cb.simulation.play(policy, world(nodes), rounds, np.random.default_rng(8))
            return rounds

        return work

    return prepare


def _same_work_from(start: int) -> Callable[[], Callable[[], int]]:
    """Rounds that all draw through the full set, so that only the number of rows differs."""
    told = cb.KnownSets([world().problem.observed_names])
    policy = cb.CausalThompsonSampling(world().problem, discovery=told, seed=5)
    rng = np.random.default_rng(6)
    cb.simulation.play(policy, world(), start, rng)

    def work() -> int:
        cb.simulation.play(policy, world(), 200, rng)
        return 200

    return lambda: work


def growth() -> dict[str, float]:
    """The same number of rounds, early and late: with every subset (fewer draws later on), and with one set."""
    contestants = {
        "1e3": _rounds_from(4, 1000, 2000),
        "1e5": _rounds_from(4, 100_000, 2000),
        "one set at 1e3": _same_work_from(1000),
        "one set at 1e5": _same_work_from(100_000),
    }
    seconds = interleaved(contestants, turns=15)
    return {
        "round_at_1e3_us": seconds["1e3"] * 1e6,
        "round_at_1e5_us": seconds["1e5"] * 1e6,
        "round_growth_1e3_1e5_ratio": seconds["1e3"] / seconds["1e5"],
        "largest_set_growth_1e3_1e5_ratio": seconds["one set at 1e3"] / seconds["one set at 1e5"],
    }


def _discovery(nodes: int) -> Callable[[], Callable[[], int]]:
    policy, tests = played(nodes, 200), cb.DirectTesting()

    def work() -> int:
        tests.discover(policy.layout, policy.ready().tables, 200)
        return 1

    return lambda: work


def larger_problems() -> dict[str, float]:
    """Rounds, one whole discovery by tests, and memory, for 27 to 2187 arms."""
    found: dict[str, float] = {}
    for nodes, rounds in ((4, 2000), (5, 2000), (6, 1000), (8, 100)):
        contestants = {"round": _rounds_from(nodes, 200, rounds), "discovery": _discovery(nodes)}
        seconds = interleaved(contestants, turns=3)
        state = played(nodes, 200).ready()
        found |= {
            f"round_us_n{nodes}": seconds["round"] * 1e6,
            f"discovery_ms_n{nodes}": seconds["discovery"] * 1e3,
            f"tables_mb_n{nodes}": state.tables.counts.nbytes / 2**20,
            f"state_mb_n{nodes}": sum(array.nbytes for array in (*state.tables, *state.pools)) / 2**20,
        }
    return found


def subsets(nodes: int) -> int:
    """How many sets are accepted."""
    return len(every_subset(nodes).to_dict()["sets"])
