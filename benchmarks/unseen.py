"""`python -m benchmarks.unseen [FAMILY ...]`: the default in unusual worlds.

For every family: regret relative to Thompson Sampling with the same random numbers, the 95% quantile of regret
relative to that of Thompson Sampling, and how often 95% intervals hold the truth after 300 and 1,000 rounds and at the
end. Every run has a new world; the policies are given nothing but the rows.
"""

import argparse
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np

import causal_bandits as cb
from causal_bandits.core.compiled import Floats
from causal_bandits.core.policies import POLICIES
from causal_bandits.research.simulation import play
from causal_bandits.research.worlds import StructurelessWorld

from .practice import ratio

POLICY_NAMES = ("ts", "safe")
Rng = np.random.Generator
World = cb.DiscreteSCM | StructurelessWorld


def chance(log_odds: float) -> float:
    """The probability with these log-odds."""
    return float(1 / (1 + np.exp(-log_odds)))


def moved(rate: float, by: float) -> float:
    """A rate whose log-odds are moved."""
    return chance(np.log(rate / (1 - rate)) + by)


def binary(parents: list[str], rates: Any) -> cb.worlds.Mechanism:
    """A variable of two levels with the rate of level 1 for every level of its parents."""
    rates = np.asarray(rates, dtype=float)
    return cb.worlds.Mechanism(parents, np.stack([1 - rates, rates], axis=-1).tolist())


def one_lever(variables: dict[str, Any], effects: list[dict[str, Any]]) -> cb.DiscreteSCM:
    """A lever whose arms replace mechanisms; the first arm says what they are without it."""
    arms: Any = {f"arm {number}": effect if number else {} for number, effect in enumerate(effects)}
    return cb.DiscreteSCM(variables, effects[0], {"lever": arms})


def clicks(arms: int, rate: float, spread: float, buys: list[float], rng: Rng) -> cb.DiscreteSCM:
    """Arms move clicks alone, and clicks decide about purchases."""
    bought = binary(["C"], buys)
    shifts = np.append(0.0, rng.normal(size=arms - 1) * spread)
    return one_lever(
        {"C": 2, "Y": 2}, [{"C": binary([], moved(rate, shift)), "Y": bought} for shift in shifts.tolist()]
    )


def measured_with_errors(rng: Rng) -> World:
    """The mediator is seen with 15% errors, so it separates only nearly."""
    base, low, high = rng.uniform(0.1, 0.4), rng.uniform(0.02, 0.1), rng.uniform(0.3, 0.7)
    effects = []
    for shift in np.append(0.0, rng.normal(size=11) * 0.6).tolist():
        true = moved(base, shift)
        seen = true * 0.85 + (1 - true) * 0.15
        without, given = (1 - true) * 0.85 * low + true * 0.15 * high, (1 - true) * 0.15 * low + true * 0.85 * high
        effects.append({"M": binary([], seen), "Y": binary(["M"], [without / (1 - seen), given / seen])})
    return one_lever({"M": 2, "Y": 2}, effects)


def misleading_clicks(rng: Rng) -> World:
    """What makes people click makes them buy less after the click, and the second effect is the larger one."""
    effects = [
        {"C": binary([], moved(0.2, shift)), "Y": binary(["C"], [0.01, moved(0.25, -1.3 * shift)])}
        for shift in np.append(0.0, rng.normal(size=9) * 0.6).tolist()
    ]
    return one_lever({"C": 2, "Y": 2}, effects)


def two_arms(rng: Rng) -> World:
    """An A/B test whose change acts on clicks alone."""
    size = rng.choice([-1, 1]) * rng.uniform(0.05, 0.4)
    rate, buys = rng.uniform(0.1, 0.5), binary(["C"], [0.02, rng.uniform(0.1, 0.4)])
    return one_lever({"C": 2, "Y": 2}, [{"C": binary([], moved(rate, shift)), "Y": buys} for shift in (0.0, size)])


def high_rates(rng: Rng) -> World:
    """Nearly everybody succeeds."""
    return clicks(8, rng.uniform(0.6, 0.9), 0.5, [rng.uniform(0.7, 0.9), rng.uniform(0.95, 0.99)], rng)


def many_levels(rng: Rng) -> World:
    """A mediator of twelve levels."""
    base, buys = rng.dirichlet(np.ones(12)), binary(["M"], np.sort(rng.uniform(0.01, 0.4, 12)))
    shares = [base, *rng.dirichlet(base * 30 + 0.2, size=5)]
    effects = [{"M": cb.worlds.Mechanism([], each.tolist()), "Y": buys} for each in shares]
    return one_lever({"M": 12, "Y": 2}, effects)


def hidden_cause(rng: Rng) -> World:
    """Single perfect interventions on three variables of three levels; two of them have a hidden common cause."""

    def any_table(*shape: int) -> Any:
        return rng.dirichlet(np.ones(3) * 0.7, size=shape).tolist()

    made = cb.worlds.Mechanism
    mechanisms = {
        "A": made(["U"], any_table(3)),
        "B": made(["A", "U"], any_table(3, 3)),
        "C": made(["B"], any_table(3)),
        "Y": binary(["C", "A"], rng.uniform(size=(3, 3)) ** 2),
    }
    arms: Any = {f"{name}={level}": {name: level} for name in "ABC" for level in range(3)}
    return cb.DiscreteSCM(
        {"A": 3, "B": 3, "C": 3, "Y": 2},
        mechanisms,
        {"set": {"none": {}, **arms}},
        noise={"U": rng.dirichlet(np.ones(3)).tolist()},
    )


def unrelated(means: Floats, rng: Rng) -> World:
    """Arms move clicks, which predict nothing about these means."""
    return StructurelessWorld(clicks(len(means), rng.uniform(0.1, 0.5), 0.5, [0.1, 0.3], rng), means)


def needle(rng: Rng) -> World:
    """One of 30 arms is twice as good as all others, which are equal."""
    means = np.full(30, 0.03)
    means[rng.integers(30)] = 0.06
    return unrelated(means, rng)


def fifty_arms(rng: Rng) -> World:
    """Means uniform between 0 and 20%: far more different than arms of real tests."""
    return unrelated(rng.uniform(0, 0.2, 50), rng)


FAMILIES: dict[str, Callable[[Rng], World]] = {
    each.__name__.replace("_", "-"): each
    for each in (
        measured_with_errors,
        misleading_clicks,
        two_arms,
        high_rates,
        many_levels,
        hidden_cause,
        needle,
        fifty_arms,
    )
}


def played(run: int, family: str, seed: int, horizon: int) -> tuple[list[float], list[list[float]]]:
    """Regret of Thompson Sampling and of the default, and the coverage of their intervals at every check."""
    of_world, of_draws, of_policy = np.random.SeedSequence([seed, run, list(FAMILIES).index(family)]).spawn(3)
    world = FAMILIES[family](np.random.default_rng(of_world))
    regrets, covered = [], []
    for name in POLICY_NAMES:
        policy, draws = POLICIES[name](world.problem, seed=np.random.default_rng(of_policy)), of_draws
        rng, lost, done, held = np.random.default_rng(draws), 0.0, 0, []
        for check in (300, 1000, horizon):
            arms = play(policy, world, check - done, rng).arms
            lost, done = lost + float((world.means.max() - world.means[arms]).sum()), check
            stated = zip(policy.estimates(), world.means, strict=True)
            held.append(float(np.mean([each.low - 1e-9 <= mean <= each.high + 1e-9 for each, mean in stated])))
        regrets.append(lost)
        covered.append(held)
    return regrets, covered


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("families", nargs="*", default=list(FAMILIES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--horizon", type=int, default=5000)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    print("| family | regret | 95% quantile | intervals hold: 300, 1,000, end | of Thompson Sampling |")
    print("|---|---|---|---|---|")
    with ProcessPoolExecutor(given.jobs) as pool:
        for family in given.families:
            work = partial(played, family=family, seed=given.seed, horizon=given.horizon)
            regrets, covered = map(np.array, zip(*pool.map(work, range(given.runs)), strict=True))
            base, ours = regrets.T
            found, error = ratio(ours, base)
            tail = np.quantile(ours, 0.95) / np.quantile(base, 0.95)
            held, error_held = covered.mean(axis=0), covered[:, 1].std(axis=0).max() / np.sqrt(given.runs)
            theirs, stated = (", ".join(f"{each:.3f}" for each in row) for row in held)
            print(
                f"| {family} | {found:.2f} ± {error:.2f} | {tail:.2f} | {stated} (± {error_held:.3f}) | {theirs} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
