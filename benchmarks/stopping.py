"""`python -m benchmarks.stopping [false] [power] [enough] [speed]`: wrong claims, time until a stop.

`false`: studies in which arms are alike (A/A) or one is better (A/B), whose rows are learned 100 at a time. A study is
wrong if any look proved something false: that a best arm is not the best, or that an arm is the best, or within 5% of
the best mean, which is not. Claims that were proven stay proven, so the last look shows those of all looks. Designs:
`plain`; `segments`, two of them, each with its own arms; `late`, rewards that come after 1,000 further decisions on
average; `costs`, one arm that earns 20% more and costs as much; `changed`, where halfway the arm that did worst is
retired and another is added. `power`: decisions until 80% of studies with two arms and equal shares have stopped,
relative to a test of fixed size (two-sided 5%, power 80%). `enough`: how often a good-enough stop names a wrong arm.
`speed`: decisions until a stop, of top-two Thompson Sampling relative to uniform play, in worlds of the practice
family.
"""

import argparse
import itertools
import json
import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import causal_bandits as cb
from causal_bandits.core.compiled import Bools, Floats, Ints, compiling_first
from causal_bandits.core.data import History, Rows
from causal_bandits.core.independence.betting import Sums, evidence_ahead, needed
from causal_bandits.core.policies import POLICIES
from causal_bandits.core.policies.claims import FIRST_SHARE, Comparison, Proven, checkpoints, prove, scale_of
from causal_bandits.research.simulation import play
from causal_bandits.research.worlds import practice_world

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


def problem_of(kind: str, arms: int, **more: Any) -> cb.Problem:
    """A problem with one lever and no mediators."""
    return cb.Problem("Y", {}, {"lever": arms}, reward=KINDS[kind].reward, **more)


def rows_of(problem: cb.Problem, arms: Ints, rewards: NDArray[np.floating[Any]]) -> Rows:
    """Rows without mediators."""
    nothing = np.empty((len(arms), 0))
    return Rows(arms, nothing.astype(np.int64), rewards.astype(History(problem).rows.rewards.dtype), nothing)


def history_of(problem: cb.Problem, arms: Ints, rewards: NDArray[np.floating[Any]], every: int = EVERY) -> History:
    """A history whose rows came in batches of this size."""
    history = History(problem)
    history.extend(rows_of(problem, arms, rewards), itertools.pairwise([*range(0, len(arms), every), len(arms)]))
    return history


def claims(
    history: History,
    margin: float | None = None,
    cost: Floats | None = None,
    *,
    members: Bools | None = None,
    allowed: Bools | None = None,
    first_arms: int | None = None,
) -> Proven:
    """What the rows prove of all arms, or of some."""
    count = len(history.problem.arms)
    every = np.ones(count, dtype=np.bool_)
    scale = scale_of(history.problem.reward, history.packed["rewards"])
    if scale is None:
        return Proven()
    asked = Comparison(
        np.flatnonzero(every if members is None else members),
        every if allowed is None else allowed,
        first_arms or count,
        ALPHA,
        margin,
        cost,
    )
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


class FixedShares:
    """Plays arms with fixed shares, whatever is learned."""

    def __init__(self, problem: cb.Problem, shares: Floats) -> None:
        self.shares, self.history = shares, History(problem)

    def choose(
        self, count: int, rng: np.random.Generator, *, among: Bools, cost: Floats | None = None, awaited: int = 0
    ) -> Ints:
        """Arms in play by their shares."""
        shares = self.shares * among
        return rng.choice(len(shares), size=count, p=shares / shares.sum())

    def learn(self, rows: Rows) -> None:
        """Keep the rows, which came together."""
        self.history.extend(rows)


def player(policy: str, problem: cb.Problem, seed: int) -> Any:
    """What chooses arms: a policy, equal shares, or 97% for the first arm."""
    if policy not in ("uniform", "97:3"):
        return POLICIES[policy](problem, seed=seed)
    shares = np.ones(len(problem.arms))
    if policy == "97:3":
        shares[0] = 0.97 / 0.03 * (len(shares) - 1)
    return FixedShares(problem, shares)


def played(policy: str, kind: str, lifts: Floats, horizon: int, seed: int) -> tuple[History, Any]:
    """The rows of a study, which came 100 at a time, and what chose the arms."""
    problem, rng = problem_of(kind, len(lifts)), np.random.default_rng([seed, 1])
    made, every = player(policy, problem, seed), np.ones(len(lifts), dtype=np.bool_)
    for _ in range(horizon // EVERY):
        _step(made, problem, kind, lifts, rng, every)
    return made.history, made


def _step(
    made: Any,
    problem: cb.Problem,
    kind: str,
    lifts: Floats,
    rng: np.random.Generator,
    among: Bools,
    count: int = EVERY,
    cost: Floats | None = None,
) -> None:
    """Ask for some decisions and learn their outcomes."""
    if count:
        arms = np.asarray(made.choose(count, rng, among=among, cost=cost), dtype=np.int64)
        made.learn(rows_of(problem, arms, KINDS[kind].draw(rng, lifts[arms])))


class Cell(NamedTuple):
    """Studies of one sort."""

    policy: str
    kind: str
    lifts: tuple[float, ...]
    decisions: int
    design: str = "plain"


def study(cell: Cell, seed: int) -> tuple[bool, bool]:
    """Whether a study ever claimed something false, and whether it stopped."""
    return DESIGNS[cell.design](cell, np.array(cell.lifts), seed)


def _plain(cell: Cell, lifts: Floats, seed: int) -> tuple[bool, bool]:
    found = claims(played(cell.policy, cell.kind, lifts, cell.decisions, seed)[0])
    return is_wrong(found, lifts), found.arm is not None


def _in_segments(cell: Cell, lifts: Floats, seed: int) -> tuple[bool, bool]:
    """Two segments, with 70% and 30% of the visitors; arms do the same in both."""
    problem, rng = problem_of(cell.kind, len(lifts), segments={"device": 2}), np.random.default_rng([seed, 1])
    made, given = player(cell.policy, problem, seed), np.empty(len(problem.arms))
    inside = [problem.arm_segments == segment for segment in (0, 1)]
    for among in inside:
        given[among] = lifts
    for _ in range(cell.decisions // EVERY):
        first = int(rng.binomial(EVERY, 0.7))
        for among, count in zip(inside, (first, EVERY - first), strict=True):
            _step(made, problem, cell.kind, given, rng, among, count)
    found = [claims(made.history, members=among, allowed=among) for among in inside]
    wrong = [is_wrong(each, np.where(among, given, 0.0)) for each, among in zip(found, inside, strict=True)]
    return any(wrong), all(each.arm is not None for each in found)


def _late(cell: Cell, lifts: Floats, seed: int) -> tuple[bool, bool]:
    """Every reward comes after 1,000 further decisions on average, whatever it is."""
    problem, rng = problem_of(cell.kind, len(lifts)), np.random.default_rng([seed, 1])
    made, every = player(cell.policy, problem, seed), np.ones(len(lifts), dtype=np.bool_)
    arms, rewards, due = np.empty(0, dtype=np.int64), np.empty(0), np.empty(0)
    for start in range(0, cell.decisions, EVERY):
        chosen = np.asarray(made.choose(EVERY, rng, among=every, awaited=len(arms) + EVERY), dtype=np.int64)
        arms = np.append(arms, chosen)
        rewards = np.append(rewards, KINDS[cell.kind].draw(rng, lifts[chosen]))
        due = np.append(due, start + rng.exponential(1_000.0, EVERY))
        came = due <= start + EVERY
        if came.any():
            made.learn(rows_of(problem, arms[came], rewards[came]))
        arms, rewards, due = arms[~came], rewards[~came], due[~came]
    found = claims(made.history)
    return is_wrong(found, lifts), found.arm is not None


def _with_costs(cell: Cell, lifts: Floats, seed: int) -> tuple[bool, bool]:
    """What an arm earns more than the first one, it costs; so all are alike."""
    cap = {"cap": CAP} if cell.kind.startswith("revenue") else {}
    problem, rng = problem_of(cell.kind, len(lifts), **cap), np.random.default_rng([seed, 1])
    made, every = player(cell.policy, problem, seed), np.ones(len(lifts), dtype=np.bool_)
    cost = _worth(cell.kind) * (lifts - lifts[0])
    for _ in range(cell.decisions // EVERY):
        arms = np.asarray(made.choose(EVERY, rng, among=every, cost=cost), dtype=np.int64)
        rewards = KINDS[cell.kind].draw(rng, lifts[arms])
        made.learn(rows_of(problem, arms, np.minimum(rewards, CAP)))
    found = claims(made.history, cost=cost)
    return is_wrong(found, np.ones(len(lifts))), found.arm is not None


CAP = 200.0


@cache
def _worth(kind: str) -> float:
    """The mean reward of the control, capped."""
    if kind in RATES:
        return RATES[kind]
    amounts = KINDS[kind].draw(np.random.default_rng(0), np.full(2_000_000, 1 / BUYERS))
    return BUYERS * float(np.minimum(amounts, CAP).mean())


def _changed(cell: Cell, lifts: Floats, seed: int) -> tuple[bool, bool]:
    """Halfway the arm with the lowest mean so far is retired, and one more is added, as good as the first."""
    count = len(lifts)
    problem, rng = problem_of(cell.kind, count + 1), np.random.default_rng([seed, 1])
    made, given = player(cell.policy, problem, seed), np.append(lifts, lifts[0])
    allowed, wrong, found = np.arange(count + 1) < count, False, Proven()
    for _ in range(2):
        for _ in range(cell.decisions // EVERY // 2):
            _step(made, problem, cell.kind, given, rng, allowed)
        found = claims(made.history, allowed=allowed, first_arms=count)
        wrong = wrong or is_wrong(found, np.where(allowed, given, 0.0))
        packed = made.history.packed
        sums = np.bincount(packed["arms"], packed["rewards"], count + 1)
        means = sums[:count] / np.maximum(np.bincount(packed["arms"], minlength=count + 1)[:count], 1)
        allowed = allowed | True
        allowed[int(means.argmin())] = False
    return wrong, found.arm is not None


DESIGNS: dict[str, Callable[[Cell, Floats, int], tuple[bool, bool]]] = {
    "plain": _plain,
    "segments": _in_segments,
    "late": _late,
    "costs": _with_costs,
    "changed": _changed,
}


def cells() -> Iterator[Cell]:
    """Adaptive play first, and what is most likely to be wrong."""
    for arms, last in itertools.product((2, 6, 3), (1.0, 1.2)):
        lifts = (1.0,) * (arms - 1) + (last,)
        for kind in KINDS:
            yield Cell("safe", kind, lifts, 5_000)
        for kind in RATES:
            yield Cell("best-arm", kind, lifts, 5_000)
    for design in ("segments", "late", "costs", "changed"):
        for kind in ("0/1 at 30%", "revenue, lognormal"):
            for policy in ("safe", "uniform", *(["best-arm"] if kind in RATES else [])):
                yield Cell(policy, kind, (1.0, 1.2, 1.0) if design == "costs" else (1.0,) * 3, 6_000, design)
    for policy, arms, last in itertools.product(("uniform", "97:3"), (2, 3, 6), (1.0, 1.2)):
        for kind in KINDS:
            yield Cell(policy, kind, (1.0,) * (arms - 1) + (last,), 10_000)


def _share(hits: int, runs: int) -> dict[str, float]:
    rate = hits / runs
    return {"rate": round(rate, 4), "se": round(math.sqrt(max(rate, 1 / runs) * (1 - rate) / runs), 4)}


def false_claims(runs: int, first: int, policies: list[str], designs: list[str]) -> None:
    """The share of studies in which anything false was ever proven."""
    for cell in cells():
        if (policies and cell.policy not in policies) or (designs and cell.design not in designs):
            continue
        found = np.array([study(cell, seed) for seed in range(first, first + runs)])
        wrong, stopped = found.sum(axis=0).tolist()
        line = {**cell._asdict(), "studies": runs, "wrong": _share(wrong, runs), "stopped": stopped / runs}
        print(json.dumps(line), flush=True)


# How soon it stops


def first_seed(kind: str) -> int:
    """A number for a kind of reward."""
    return list(KINDS).index(kind)


def fixed_size(kind: str, lift: float) -> float:
    """Rows of a two-sided test at 5% with power 80%, for two arms with equal shares; rewards are capped for it, too."""
    if kind in RATES:
        means = RATES[kind] * np.array([1.0, 1 + lift])
        return float(2 * 7.849 * (means * (1 - means)).sum() / (means[1] - means[0]) ** 2)
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
    million decisions take no time. Rows come one by one, so every checkpoint is a look.
    """
    ends = checkpoints(longest, 2)
    rng, steps = np.random.default_rng([seed, 9]), np.diff(ends, prepend=0)
    second = rng.binomial(steps, 0.5, size=(runs, len(steps)))
    rows = np.stack([steps - second, second])
    hits = rng.binomial(rows, rate * lifts[:, None, None])
    counts = [each.cumsum(axis=-1).astype(np.float64) for each in (rows, hits)]
    none = np.empty((*counts[0].shape, 0))
    sums = Sums(counts[0], counts[1], counts[1], none, none)
    enough, found = needed(FIRST_SHARE * ALPHA / 2), np.full((runs, 2), np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(sum(each.means * (1 - each.means) / each.rows for each in (sums.of(0), sums.of(1))))
        apart = (sums.of(1).means - sums.of(0).means) / error
        near = np.abs(apart) + CLOSE * np.fmax(sums.of(0).means, sums.of(1).means) / error
    for start in range(0, len(ends), LOOKS):
        looks = slice(start, start + LOOKS)
        for stop, score in enumerate((np.abs(apart), near)):
            worth = (0.5 * score[:, looks] ** 2 >= 0.9 * enough) & np.isinf(found[:, stop])[:, None]
            run, look = np.nonzero(worth)
            if not len(run):
                continue
            leader = (apart[run, look + start] > 0).astype(np.int64)
            one, other = sums.of((leader, run, look + start)), sums.of((1 - leader, run, look + start))
            slopes = np.ones((len(run), 1)) if stop == 0 else np.broadcast_to([1 - CLOSE, 1 + CLOSE], (len(run), 2))
            proven = evidence_ahead(one, other, slopes, 0 * slopes, binary=True) >= enough
            np.minimum.at(found[:, stop], run[proven], ends[look + start][proven])
    found[:, 1] = found.min(axis=1)
    return found


LOOKS = 10


def power(runs: int, first: int) -> None:
    """Decisions until 80% of studies have stopped, relative to a test of fixed size; and stops of equal arms."""
    for kind, rate in RATES.items():
        wrong = np.isfinite(_stops_of_rates(rate, np.ones(2), 20_000, runs, first)[:, 0])
        print(json.dumps({"kind": kind, "lift": 0.0, "studies": runs, "wrong": _share(int(wrong.sum()), runs)}))
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


WHAT: dict[str, tuple[int, Callable[..., None]]] = {
    "false": (400, false_claims),
    "power": (2000, power),
    "enough": (40, enough),
    "speed": (40, speed),
}


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", choices=list(WHAT), default=list(WHAT))
    parser.add_argument("--runs", type=int, default=None, help="studies per line")
    parser.add_argument("--first", type=int, default=17_000, help="number of the first seed")
    parser.add_argument("--policies", nargs="*", default=[], help="which policies of `false`; all by default")
    parser.add_argument("--designs", nargs="*", default=[], choices=list(DESIGNS), help="which designs of `false`")
    given = parser.parse_args()
    for name in given.what:
        usual, work = WHAT[name]
        more = (given.policies, given.designs) if name == "false" else ()
        with compiling_first("the simulated studies"):
            work(given.runs or usual, given.first, *more)


if __name__ == "__main__":
    main()
