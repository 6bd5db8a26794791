"""`python -m benchmarks.stopping [false] [special] [power] [enough] [speed] [plans]`: wrong claims, time until a stop.

`false`: studies in which arms are alike (A/A) or one is better (A/B), looked at after every 100 decisions. A study is
wrong if any look proved something false: that a best arm is not the best, or that an arm is the best, or within 5% of
the best mean, which is not. Claims that were proven stay proven, so the last look shows those of all looks. `special`:
the same with costs, with arms that come and go, and with late rewards. `power`: decisions until 80% of studies with two
arms and equal shares have stopped, relative to a test of fixed size (two-sided 5%, power 80%). `enough`: how often a
good-enough stop names a wrong arm. `speed`: decisions until a stop, of top-two Thompson Sampling relative to uniform
play, in worlds of the practice family. `plans`: decisions that `plan` gives, relative to those after which fresh
studies that call `advice()` every 50 decisions have stopped.
"""

import argparse
import itertools
import json
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import causal_bandits as cb
from causal_bandits.core.compiled import Floats, Ints
from causal_bandits.core.data import History, Rows
from causal_bandits.core.independence.betting import Sums, evidence_ahead, needed
from causal_bandits.core.policies import POLICIES
from causal_bandits.core.policies.claims import FIRST_SHARE, Comparison, Proven, checkpoints, prove, scale_of
from causal_bandits.research.experiments import plan
from causal_bandits.research.experiments.planning import stopped_after
from causal_bandits.research.simulation import play
from causal_bandits.research.worlds import planned_world, practice_world

EVERY, ALPHA, CLOSE = 100, 0.05, 0.05
LONGEST = 100_000
LEVELS = {"levels": [1, 2, 3, 4, 5], "values": [1, 2, 3, 4, 5]}
BUYERS = 0.03
Draw = Callable[[np.random.Generator, Floats], NDArray[np.floating[Any]]]


class Kind(NamedTuple):
    """A kind of reward: how a problem declares it, and draws with some lifts over the control."""

    reward: Any
    draw: Draw


def _rates(rate: float) -> Draw:
    return lambda rng, lifts: (rng.random(len(lifts)) < rate * lifts).astype(np.float64)


def _amounts(amounts: Callable[[np.random.Generator, int], Floats]) -> Draw:
    return lambda rng, lifts: (rng.random(len(lifts)) < BUYERS * lifts) * amounts(rng, len(lifts))


def _levels(rng: np.random.Generator, lifts: Floats) -> NDArray[np.floating[Any]]:
    return 1.0 + rng.binomial(4, np.minimum(0.4 * lifts, 1.0))


RATES = {"0/1 at 1%": 0.01, "0/1 at 5%": 0.05, "0/1 at 30%": 0.3}
KINDS = {
    **{kind: Kind(bool, _rates(rate)) for kind, rate in RATES.items()},
    "counts": Kind("count", lambda rng, lifts: rng.poisson(0.8 * lifts * rng.gamma(1.0, 1.0, len(lifts))) * 1.0),
    "levels": Kind(LEVELS, _levels),
    "revenue, lognormal": Kind("revenue", _amounts(lambda rng, n: rng.lognormal(3.0, 1.0, n))),
    "revenue, gamma": Kind("revenue", _amounts(lambda rng, n: rng.gamma(0.5, 40.0, n))),
    "revenue, Pareto": Kind("revenue", _amounts(lambda rng, n: 10 * (1 + rng.pareto(1.5, n)))),
}
"""Counts are overdispersed; Pareto amounts have a mean and no variance; 3% of visitors buy."""


def problem_of(kind: str, arms: int) -> cb.Problem:
    """A problem with one lever and no mediators."""
    return cb.Problem("Y", {}, {"lever": arms}, reward=KINDS[kind].reward)


def history_of(problem: cb.Problem, arms: Ints, rewards: NDArray[np.floating[Any]], every: int = EVERY) -> History:
    """A history whose rows came in batches of this size."""
    history = History(problem)
    nothing = np.empty((len(arms), 0))
    ends = [*range(0, len(arms), every), len(arms)]
    rows = Rows(arms, nothing.astype(np.int64), rewards.astype(history.rows.rewards.dtype), nothing)
    history.extend(rows, itertools.pairwise(ends))
    return history


def claims(history: History, margin: float | None = None, cost: Floats | None = None) -> Proven:
    """What the rows prove of all arms."""
    count = len(history.problem.arms)
    scale = scale_of(history.problem.reward, history.packed["rewards"])
    if scale is None:
        return Proven()
    asked = Comparison(np.arange(count), np.ones(count, dtype=np.bool_), count, ALPHA, margin, cost)
    return prove(history, scale, asked, forecast=False)


def is_wrong(found: Proven, lifts: Floats) -> bool:
    """Whether a claim is false, given what the arms' means are proportional to."""
    best = lifts.max()
    if any(lifts[arm] == best for arm in found.behind):
        return True
    if found.arm is None:
        return False
    if found.is_best:
        return bool(lifts[found.arm] < best or (lifts == best).sum() > 1)
    return bool(lifts[found.arm] < (1 - CLOSE) * best - 1e-12)


def played(policy: str, kind: str, lifts: Floats, horizon: int, seed: int) -> tuple[History, Any]:
    """The rows of a study, and the policy that chose the arms; None where shares were fixed."""
    problem, rng = problem_of(kind, len(lifts)), np.random.default_rng([seed, 1])
    draw = KINDS[kind].draw
    if policy in ("uniform", "97:3"):
        shares = np.full(len(lifts), 1 / len(lifts))
        if policy == "97:3":
            shares = np.array([0.97] + [0.03 / (len(lifts) - 1)] * (len(lifts) - 1))
        arms = rng.choice(len(lifts), size=horizon, p=shares)
        return history_of(problem, arms, draw(rng, lifts[arms])), None
    made: Any = POLICIES[policy](problem, seed=seed)
    nothing = np.empty((EVERY, 0))
    for _ in range(horizon // EVERY):
        arms = made.choose(EVERY, made.rng)
        rewards = draw(rng, lifts[arms]).astype(made.history.rows.rewards.dtype)
        made.learn(Rows(np.asarray(arms, dtype=np.int64), nothing.astype(np.int64), rewards, nothing))
    return made.history, made


def cells() -> Iterator[tuple[str, str, list[float], int]]:
    """Policy, kind of reward, lifts of the arms, decisions; what the guarantee rests on most comes first."""
    revenue, rates = "revenue, lognormal", [kind for kind in KINDS if kind.startswith("0/1")]
    for policy, decisions in (("safe", 5_000), ("97:3", 10_000), ("uniform", 10_000)):
        for kind, arms in ((revenue, 3), (revenue, 6), *((kind, 3) for kind in KINDS if kind != revenue)):
            yield policy, kind, [1.0] * arms, decisions
        yield policy, revenue, [1.0, 1.0, 1.2], decisions
    for kind in rates:
        yield "best-arm", kind, [1.0] * 3, 5_000
        yield "best-arm", kind, [1.0, 1.0, 1.2], 5_000
    for arms in (2, 3, 6):
        for kind in KINDS:
            for policy in ("uniform", "97:3"):
                if (kind, arms) != (revenue, 3):
                    yield policy, kind, [1.0] * (arms - 1) + [1.2], 10_000
                if arms != 3 and (kind, arms) != (revenue, 6):
                    yield policy, kind, [1.0] * arms, 10_000


def _share(hits: int, runs: int) -> dict[str, float]:
    rate = hits / runs
    return {"rate": round(rate, 4), "se": round(math.sqrt(max(rate, 1 / runs) * (1 - rate) / runs), 4)}


def false_claims(runs: int, first: int, policies: list[str]) -> None:
    """The share of studies in which anything false was ever proven."""
    for policy, kind, lifts, horizon in cells():
        if policies and policy not in policies:
            continue
        wrong, stopped, given = 0, 0, np.array(lifts)
        for seed in range(first, first + runs):
            found = claims(played(policy, kind, given, horizon, seed)[0])
            wrong += is_wrong(found, given)
            stopped += found.arm is not None
        line = {"policy": policy, "kind": kind, "lifts": lifts, "studies": runs, "decisions": horizon}
        print(json.dumps({**line, "wrong": _share(wrong, runs), "stopped": stopped / runs}), flush=True)


def special(runs: int, first: int) -> None:
    """A/A studies with costs, with arms that are retired and added, and with rewards that come late."""
    for kind in ("0/1 at 5%", "revenue, lognormal"):
        for name, study in (("costs", _with_costs), ("retired and added", _with_added), ("late", _late)):
            wrong = sum(study(kind, seed) for seed in range(first, first + runs))
            print(json.dumps({"case": name, "kind": kind, "studies": runs, "wrong": _share(wrong, runs)}), flush=True)


def _with_costs(kind: str, seed: int) -> bool:
    """Three arms: the second earns 20% more and costs that much, so that all are alike."""
    lifts = np.array([1.0, 1.2, 1.0])
    history, _ = played("uniform", kind, lifts, 20_000, seed)
    scale = scale_of(history.problem.reward, history.packed["rewards"])
    assert scale is not None
    many = np.asarray(
        KINDS[kind].draw(np.random.default_rng([first_seed(kind), 9]), np.ones(2_000_000)), dtype=np.float64
    )
    worth = 0.2 * float(scale.values(many).mean()) * (scale.high - scale.low) if scale.learned else 0.2 * 0.05
    return is_wrong(claims(history, cost=np.array([0.0, worth, 0.0])), np.ones(3))


def first_seed(kind: str) -> int:
    """A number for a kind of reward."""
    return list(KINDS).index(kind)


def _with_added(kind: str, seed: int) -> bool:
    """Three arms that are alike; after half of the decisions one is retired at random and another added."""
    rng, problem = np.random.default_rng([seed, 2]), problem_of(kind, 4)
    gone = int(rng.integers(3))
    first = rng.integers(3, size=10_000)
    left = np.array([arm for arm in range(4) if arm != gone])
    arms = np.concatenate([first, rng.choice(left, size=10_000)])
    rewards = KINDS[kind].draw(rng, np.ones(len(arms)))
    scale = scale_of(problem.reward, rewards)
    if scale is None:
        return False
    wrong = False
    for end, allowed in ((10_000, [True, True, True, False]), (20_000, [arm != gone for arm in range(4)])):
        asked = Comparison(np.arange(4), np.array(allowed), 3, ALPHA)
        found = prove(history_of(problem, arms[:end], rewards[:end]), scale, asked, forecast=False)
        wrong = wrong or is_wrong(found, np.ones(4))
    return wrong


def _late(kind: str, seed: int) -> bool:
    """Three arms that are alike, with rewards that come in another order than decisions, whatever they are."""
    rng, problem = np.random.default_rng([seed, 3]), problem_of(kind, 3)
    arms = rng.integers(3, size=20_000)
    rewards = KINDS[kind].draw(rng, np.ones(len(arms)))
    came = np.argsort(np.arange(len(arms)) + rng.exponential(2_000.0, len(arms)), kind="stable")
    return is_wrong(claims(history_of(problem, arms[came], rewards[came])), np.ones(3))


# How soon it stops


def fixed_size(kind: str, lift: float) -> float:
    """Rows of a two-sided test at 5% with power 80%, for two arms with equal shares; rewards are capped for it, too."""
    rng = np.random.default_rng([first_seed(kind), 4])
    high = math.inf
    if KINDS[kind].reward == "revenue":
        caps = [np.quantile(KINDS[kind].draw(rng, np.ones(1000)), 0.999) for _ in range(200)]
        high = float(np.median(caps))
    one, other = (np.minimum(KINDS[kind].draw(rng, np.full(4_000_000, each)), high) for each in (1.0, 1 + lift))
    return float(2 * 7.849 * (one.var() + other.var()) / (other.mean() - one.mean()) ** 2)


def _stops_of_rates(rate: float, lifts: Floats, longest: int, runs: int, seed: int) -> Floats:
    """(runs, 2): decisions until one of two arms is proven the best, and the best or within 5% of it.

    The same claims as those of `claims`, from the counts at the looks instead of a history of every row: studies of a
    million decisions take no time.
    """
    ends = checkpoints(longest, 2, 0, [(start, start + EVERY) for start in range(0, longest, EVERY)])
    rng, steps = np.random.default_rng([seed, 9]), np.diff(ends, prepend=0)
    second = rng.binomial(steps, 0.5, size=(runs, len(steps)))
    rows = np.stack([steps - second, second])
    hits = rng.binomial(rows, rate * lifts[:, None, None])
    counts = [each.cumsum(axis=-1).astype(np.float64) for each in (rows, hits)]
    none = np.empty((*counts[0].shape, 0))
    sums = Sums(counts[0], counts[1], counts[1], none, none)
    best, close = np.zeros((2, runs, len(ends)), dtype=np.bool_)
    enough = needed(FIRST_SHARE * ALPHA / 2)
    for leader in range(2):
        one, other = sums.of(leader), sums.of(1 - leader)
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = sum(each.means * (1 - each.means) / each.rows for each in (one, other))
            ahead = one.means > other.means
            score = np.where(ahead, 0.5 * (one.means - (1 - CLOSE) * other.means) ** 2 / variance, 0.0)
        worth = score >= 0.75 * enough
        slopes = np.broadcast_to([1 - CLOSE, 1 + CLOSE], (int(worth.sum()), 2))
        best[worth] |= evidence_ahead(one.of(worth), other.of(worth), binary=True) >= enough
        close[worth] |= evidence_ahead(one.of(worth), other.of(worth), slopes, 0 * slopes, binary=True) >= enough
    return np.stack(
        [np.where(each.any(axis=1), ends[each.argmax(axis=1)], np.inf) for each in (best, best | close)], axis=1
    )


def power(runs: int, first: int) -> None:
    """Decisions until 80% of studies have stopped, relative to a test of fixed size."""
    cases = [(kind, lift) for kind in RATES for lift in (0.1, 0.2, 0.4)]
    for kind, lift in [*cases, ("revenue, lognormal", 0.2), ("revenue, gamma", 0.2)]:
        fixed, lifts = fixed_size(kind, lift), np.array([1.0, 1 + lift])
        longest = int(fixed * (2.6 if kind.startswith("0/1") else 3.6)) // EVERY * EVERY
        if kind in RATES:
            found = _stops_of_rates(RATES[kind], lifts, longest, runs, first)
        else:
            histories = (played("uniform", kind, lifts, longest, first + run)[0] for run in range(runs))
            found = np.array([[claims(each, margin).rows or math.inf for margin in (0.0, None)] for each in histories])
        ordered = np.sort(found, axis=0) / fixed
        place = math.ceil(0.8 * runs) - 1
        spread = math.ceil(math.sqrt(0.16 * runs))
        ends = ordered[[max(place - spread, 0), min(place + spread, runs - 1)]]
        line = {
            "kind": kind,
            "lift": lift,
            "studies": runs,
            "fixed": round(fixed),
            "best": round(float(ordered[place, 0]), 2),
            "best, one s.e. each way": np.round(ends[:, 0], 2).tolist(),
            "within 5%": round(float(ordered[place, 1]), 2),
            "medians": np.round(np.median(ordered, axis=0), 2).tolist(),
        }
        print(json.dumps(line), flush=True)


def enough(runs: int, first: int) -> None:
    """How often a good-enough stop of the default names an arm that is not the best, and what that costs."""
    given, horizon, every = np.array([1.0, 1.1, 0.9]), 10_000, 500
    for kind, (_, draw) in KINDS.items():
        ends, lost = list[int](), list[float]()
        for seed in range(first, first + runs):
            rng, policy = np.random.default_rng([seed, 5]), POLICIES["safe"](problem_of(kind, 3), seed=seed)
            nothing = np.empty((EVERY, 0))
            for look in range(EVERY, horizon + 1, EVERY):
                arms = policy.choose(EVERY, policy.rng)
                rewards = draw(rng, given[arms]).astype(policy.history.rows.rewards.dtype)
                policy.learn(Rows(np.asarray(arms, dtype=np.int64), nothing.astype(np.int64), rewards, nothing))
                if look % every:
                    continue
                best = policy.recommend()
                if best.expected_loss <= 0.01 * abs(policy.posterior().means[0]):
                    ends.append(look)
                    lost.append(float(given.max() - given[policy.problem.index(best.arm)]))
                    break
        stops = max(len(lost), 1)
        line = {
            "kind": kind,
            "studies": runs,
            "stopped": round(len(ends) / runs, 3),
            "median_decisions": float(np.median(ends)) if ends else None,
            "not_the_best": _share(sum(each > 0 for each in lost), stops),
            "mean_loss": round(float(np.mean(lost)), 4) if lost else None,
        }
        print(json.dumps(line), flush=True)


def decisions_to_stop(name: str, world: Any, seed: int) -> int:
    """Decisions until a look says stop."""
    rng, arms = np.random.default_rng([seed, 2]), len(world.means)
    policy: Any = None if name == "uniform" else POLICIES[name](world.problem, seed=seed)
    if policy is None:
        chosen = rng.integers(arms, size=LONGEST)
        rewards = (rng.random(LONGEST) < world.means[chosen]).astype(np.float64)
        return claims(history_of(problem_of("0/1 at 5%", arms), chosen, rewards)).rows or LONGEST
    done, step = 0, EVERY
    while done < LONGEST:
        step = max(EVERY, int(0.05 * done) // EVERY * EVERY)
        play(policy, world, step, rng)
        done += step
        found = claims(policy.history).rows
        if found is not None:
            return found
    return LONGEST


def speed(runs: int, first: int) -> None:
    """Decisions until a stop, as a ratio to uniform play in the same worlds."""
    for arms in (3, 6, 12):
        for kind in ("mediated", "direct", "none"):
            make = partial(practice_world, kind, rate=0.3, arms=arms)
            worlds = [make(seed=number) for number in range(first, first + runs)]
            spent = {
                name: np.array([decisions_to_stop(name, world, seed) for seed, world in enumerate(worlds, first)])
                for name in ("uniform", "best-arm")
            }
            uniform = spent["uniform"]
            ratio = spent["best-arm"].mean() / uniform.mean()
            error = (spent["best-arm"] - ratio * uniform).std(ddof=1) / uniform.mean() / np.sqrt(runs)
            line = {
                "kind": kind,
                "arms": arms,
                "runs": runs,
                "best-arm": round(float(spent["best-arm"].mean())),
                "uniform": round(float(uniform.mean())),
                "to_uniform": round(float(ratio), 3),
                "se": round(float(error), 3),
                "median_ratio": round(float(np.median(spent["best-arm"] / uniform)), 3),
                "unfinished": [int((each >= LONGEST).sum()) for each in spent.values()],
            }
            print(json.dumps(line), flush=True)


def _followed(policy: str, problem: cb.Problem, rate: float, lift: float, longest: int, seed: int) -> list[float]:
    """Decisions until a study that asks for advice every 50 decisions has a proof, and is good enough."""
    world = planned_world(problem, rate=rate, lift=lift, seed=np.random.default_rng([seed, 6]))
    made, rng = POLICIES[policy](world.problem, seed=seed), np.random.default_rng([seed, 7])
    proof, enough = math.inf, math.inf
    while made.rows < longest and max(proof, enough) == math.inf:
        play(made, world, 50, rng)
        said = made.advice()
        if said.action == "stop":
            proof = min(proof, made.rows)
        if said.expected_loss <= said.tolerance * made.posterior().means[0]:
            enough = min(enough, made.rows)
    return [proof, enough]


def plans(runs: int, first: int) -> None:
    """`plan` against studies that follow advice: decisions after which 80% have stopped."""
    for policy, arms, rate, lift in (("best-arm", 3, 0.2, 1.0), ("safe", 3, 0.2, 1.0), ("best-arm", 2, 0.2, 0.6)):
        problem, longest = cb.Problem("buys", {"clicked": 2}, {"banner": arms}), 6_000
        planned = plan(
            problem, rate=rate, lift=lift, policy=policy, confidence=0.8, runs=runs, longest=longest, seed=first
        )
        curves = [curve for curve in planned.curves if curve.learning == "with mediators"]
        done = np.array([_followed(policy, problem, rate, lift, longest, first + run) for run in range(runs)])
        rng = np.random.default_rng([first, 8])
        for curve, times in zip(curves, done.T, strict=True):
            again = [stopped_after(times[rng.integers(runs, size=runs)], 0.8) for _ in range(200)]
            found = stopped_after(times, 0.8)
            line = {
                "policy": policy,
                "arms": arms,
                "rate": rate,
                "lift": lift,
                "stop": curve.stop,
                "studies": runs,
                "planned": [round(curve.needed), round(curve.needed_error)],
                "followed": [round(found), round(float(np.std(again)))],
                "ratio": round(curve.needed / found, 3),
                "se": round(
                    curve.needed / found * math.hypot(curve.needed_error / curve.needed, np.std(again) / found), 3
                ),
            }
            print(json.dumps(line), flush=True)


WHAT: dict[str, tuple[int, Callable[..., None]]] = {
    "false": (400, false_claims),
    "special": (400, special),
    "power": (300, power),
    "enough": (40, enough),
    "speed": (40, speed),
    "plans": (120, plans),
}


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", choices=list(WHAT), default=list(WHAT))
    parser.add_argument("--runs", type=int, default=None, help="studies per line")
    parser.add_argument("--first", type=int, default=17_000, help="number of the first seed")
    parser.add_argument("--policies", nargs="*", default=[], help="which policies of `false`; all by default")
    given = parser.parse_args()
    for name in given.what:
        usual, work = WHAT[name]
        more = (given.policies,) if name == "false" else ()
        work(given.runs or usual, given.first, *more)


if __name__ == "__main__":
    main()
