"""Regret balancing, UCB-CV, OSSB and the oracle told E[Y | S]: steps by hand, slow twins, and what they lose."""

import math

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.core.compiled import Floats, interpreted
from causal_bandits.core.problem import Level
from causal_bandits.errors import OptionError
from causal_bandits.research.comparators import (
    OSSB,
    UCBCV,
    MainEffectsThompson,
    RegretBalancing,
    ToldMeans,
    ossb,
    regret_balancing,
    ucb_cv,
)
from causal_bandits.research.comparators.main_effects import effect_columns
from causal_bandits.research.limits import separated_limit
from causal_bandits.research.simulation import told
from causal_bandits.research.worlds import DiscreteSCM, Mechanism
from causal_bandits.research.worlds.mechanisms import Effect

PROBLEM = cb.Problem("Y", {"Z": 2}, {"I": ["none", "on", "off"]})


def chain(moves: Floats, pays: Floats) -> DiscreteSCM:
    """I -> Z -> Y with P(Z = 1 | arm) and E[Y | Z]."""
    rows = [Mechanism([], [1 - p, p]) for p in moves]
    effects: dict[Level, Effect] = {"none": {}, **{str(place): {"Z": how} for place, how in enumerate(rows[1:], 1)}}
    return DiscreteSCM(
        {"Z": 2, "Y": 2}, {"Z": rows[0], "Y": Mechanism(["Z"], [[1 - p, p] for p in pays])}, {"I": effects}
    )


# Regret balancing


class SlowBalancing:
    """The bookkeeping of D3RB in plain Python."""

    def __init__(self, delta: float) -> None:
        self.n, self.u, self.d, self.delta = [0, 0], [0, 0], [0.1, 0.1], delta

    def turn(self) -> int:
        potentials = [d * math.sqrt(n) for d, n in zip(self.d, self.n, strict=True)]
        return 1 if potentials[1] < potentials[0] else 0

    def width(self, i: int) -> float:
        return 0.5 * math.sqrt(math.log(2 * max(math.log(self.n[i]), 1) / self.delta) / self.n[i])

    def tell(self, reward: int) -> None:
        i = self.turn()
        j = 1 - i
        self.n[i] += 1
        self.u[i] += reward
        if self.n[j]:
            high = self.u[i] / self.n[i] + self.d[i] / math.sqrt(self.n[i]) + self.width(i)
            if high < self.u[j] / self.n[j] - self.width(j):
                self.d[i] *= 2


def test_balancing_keeps_the_books_of_its_slow_twin() -> None:
    policy, slow = RegretBalancing(PROBLEM, seed=0), SlowBalancing(0.05)
    rng = np.random.default_rng(1)
    for _ in range(600):
        turn = slow.turn()
        reward = int(rng.random() < (0.2 if turn else 0.8))  # the causal learner is bad
        policy.tell(PROBLEM.arms[int(rng.integers(3))], {"Z": int(rng.integers(2)), "Y": reward})
        slow.tell(reward)
    state = policy.ready()
    assert state.rounds.tolist() == slow.n
    assert state.rewards.tolist() == slow.u
    assert state.coefficients.tolist() == pytest.approx(slow.d)
    assert slow.d[1] > slow.d[0]
    assert slow.n[1] < slow.n[0] / 2


def test_a_step_of_balancing_by_hand() -> None:
    """After 100 rounds each the width is .5 sqrt(ln(184.2) / 100) = .114, and .5 + .01 + .114 < .8 - .114."""
    n, u, d = np.full(2, 100.0), np.array([80.0, 50.0]), np.full(2, 0.1)
    assert regret_balancing.confidence_width(100.0, 0.05) == pytest.approx(0.5 * math.sqrt(math.log(184.2068) / 100))
    assert regret_balancing.is_misspecified(n, u, d, 1, 0.05)
    assert not regret_balancing.is_misspecified(n, u, d, 0, 0.05)
    assert not regret_balancing.is_misspecified(n, np.array([80.0, 60.0]), d, 1, 0.05)


# UCB-CV


def test_control_variate_by_hand_and_by_regression() -> None:
    """The slow twin makes the rows and regresses the reward on its control with NumPy."""
    own = np.array([[30, 10], [5, 15]])
    pooled = np.array([[60, 20], [10, 30]])
    chances = np.array([0.6, 0.4])
    w = (1 + pooled[:, 1]) / (2 + pooled.sum(axis=1))
    rows = [(w[z], y) for z in range(2) for y in range(2) for _ in range(own[z, y])]
    x, y = np.array(rows).T
    slope, intercept = np.polyfit(x, y, 1)
    omega = float(chances @ w)
    residual = ((y - slope * x - intercept) ** 2).sum() / (len(y) - 2)
    spread = 1 + (x.mean() - omega) ** 2 / x.var()
    mean = slope * omega + intercept
    expected = mean + math.sqrt(4 * math.log(500) * (residual * spread + 0.25 / len(y)) / len(y))
    for index in (ucb_cv.control_variate_index, interpreted(ucb_cv.control_variate_index)):
        assert index(own, pooled, chances, 500) == pytest.approx(expected, rel=1e-9)
        assert index(own[:, :1] * np.array([[0, 0]]), pooled, chances, 500) == math.inf


def test_ucb_cv_finds_the_best_arm_where_the_set_does_not_separate() -> None:
    """The told P(Z | a) is true, and Z explains nothing: the mean is still unbiased. One run, best in the last half."""
    world = cb.worlds.hillstrom_world()
    policy = told("ucb-cv", world, horizon=100, separating="visit")(world.problem, seed=0)
    assert isinstance(policy, UCBCV)
    rng = np.random.default_rng(2)
    plain = UCBCV(PROBLEM, separating=["Z"], chances=np.full((3, 2), 0.5), seed=0)
    pulled = []
    for _ in range(1500):
        arm = plain.ask()
        plain.tell(arm, {"Z": int(rng.integers(2)), "Y": int(rng.random() < (0.2, 0.5, 0.9)[PROBLEM.index(arm)])})
        pulled.append(PROBLEM.index(arm))
    assert np.mean(np.array(pulled[750:]) == 2) > 0.9


# OSSB


def test_allocation_is_that_of_the_lower_bound() -> None:
    """With many rows in every cell the plan costs C_S per ln t."""
    moves, pays = np.array([0.2, 0.5, 0.35]), np.array([0.1, 0.6])
    p = np.column_stack([1 - moves, moves])
    seen = np.round(1e8 * p[:, :, None] * np.column_stack([1 - pays, pays])[None]).astype(np.int64)
    best, wanted = ossb.allocation(seen)
    gaps = (p @ pays).max() - p @ pays
    assert best == 1
    assert gaps @ wanted == pytest.approx(separated_limit(p, pays), rel=1e-3)


def test_planned_pulls_by_hand() -> None:
    """1,000 rows, ln 1000 = 6.9: 10 pulls per ln t are 69.08, so an arm with 60 lacks 10; a block is 50."""
    own = np.array([900, 60, 40])
    assert ossb.planned_pulls(own, 0, np.array([0.0, 10.0, 0.0]), 0.1).tolist() == [0, 10, 0]
    assert ossb.planned_pulls(own, 0, np.array([0.0, 1.0, 1.0]), 0.1).tolist() == [50, 0, 0]
    assert ossb.planned_pulls(own, 0, np.array([0.0, 100.0, 0.0]), 0.1).tolist() == [0, 50, 0]


class SlowOSSB:
    """OSSB with a binary Z in plain Python: the alternative for an arm is the q with q m1 + (1 - q) m0 = best mean."""

    def __init__(self, arms: int, epsilon: float, gamma: float) -> None:
        self.rows = [[[0, 0], [0, 0]] for _ in range(arms)]
        self.epsilon, self.gamma = epsilon, gamma
        self.quota = [1] * arms

    def own(self, arm: int) -> int:
        return sum(map(sum, self.rows[arm]))

    def tell(self, arm: int, z: int, y: int) -> None:
        self.rows[arm][z][y] += 1
        self.quota[arm] = max(self.quota[arm] - 1, 0)
        if not any(self.quota):
            self.plan()

    def wanted(self) -> tuple[int, list[float]]:
        arms = range(len(self.rows))
        reached = [z for z in (0, 1) if any(sum(self.rows[arm][z]) for arm in arms)]
        paid = {z: sum(self.rows[arm][z][1] for arm in arms) for z in reached}
        seen = {z: sum(sum(self.rows[arm][z]) for arm in arms) for z in reached}
        m = {z: (paid[z] + 0.5) / (seen[z] + 1) for z in reached}
        p = [
            {z: (sum(self.rows[arm][z]) + 0.5 / len(reached)) / (self.own(arm) + 0.5) for z in reached} for arm in arms
        ]
        means = [sum(p[arm][z] * m[z] for z in reached) for arm in arms]
        best = means.index(max(means))
        pulls = []
        for arm in arms:
            if means[best] - means[arm] <= 1e-9:
                pulls.append(0.0)
                continue
            q1 = (means[best] - m[0]) / (m[1] - m[0])
            pulls.append(1 / sum(p[arm][z] * math.log(p[arm][z] / q) for z, q in ((0, 1 - q1), (1, q1))))
        return best, pulls

    def plan(self) -> None:
        best, wanted = self.wanted()
        own = [self.own(arm) for arm in range(len(self.rows))]
        t = sum(own)
        floor = self.epsilon * (t - own[best]) / len(own)
        goals = [max((1 + self.gamma) * some * math.log(t), floor) for some in wanted]
        lacking = [0 if arm == best else math.ceil(max(goals[arm] - own[arm], 0)) for arm in range(len(own))]
        block, total = max(1, int(0.05 * t)), sum(lacking)
        if total == 0:
            self.quota = [block if arm == best else 0 for arm in range(len(own))]
            return
        self.quota = [math.floor(some * min(1, block / total)) for some in lacking]
        if not any(self.quota):
            self.quota[lacking.index(max(lacking))] = 1


def test_ossb_plays_as_its_slow_twin() -> None:
    """600 rounds; after each, both plan the same pulls."""
    policy, slow = OSSB(PROBLEM, separating=["Z"], seed=0), SlowOSSB(3, 0.1, 0.1)
    rng = np.random.default_rng(8)
    pulls = [0, 0, 0]
    for _ in range(600):
        assert policy.ready().counts.quota.tolist() == slow.quota
        arm = policy.ask()
        index = PROBLEM.index(arm)
        z = int(rng.random() < (0.2, 0.7, 0.4)[index])
        y = int(rng.random() < (0.1, 0.6)[z])
        policy.tell(arm, {"Z": z, "Y": y})
        slow.tell(index, z, y)
        pulls[index] += 1
    assert pulls[1] > 300  # the best arm


# The oracle, and regret


def test_told_means_draws_as_its_slow_twin() -> None:
    """20,000 draws of NumPy's Dirichlet, 20,000 of ours: each arm's share of best draws within 5 standard errors.

    Null: both have the same distribution; two-sided false-alarm rate 6e-7 for each of three arms.
    """
    rows = np.array([[6, 2, 0], [1, 1, 3], [0, 0, 0]])
    worth, n = np.array([0.1, 0.6, 0.3]), 20_000
    problem = cb.Problem("Y", {"Z": 3}, {"I": ["none", "on", "off"]})
    policy = ToldMeans(problem, separating=["Z"], cell_means=worth, seed=0)
    for arm, z in np.argwhere(rows):
        for _ in range(rows[arm, z]):
            policy.tell(problem.arms[arm], {"Z": int(z), "Y": 0})
    rng = np.random.default_rng(3)
    slow = np.column_stack([rng.dirichlet(some + 1 / 3, n) @ worth for some in rows]).argmax(axis=1)
    ours = policy.posterior().sample_means(4, n).argmax(axis=1)
    p, q = (np.bincount(some, minlength=3) / n for some in (slow, ours))
    assert np.all(np.abs(p - q) < 5 * np.sqrt((p * (1 - p) + q * (1 - q)) / n))


def test_told_means_by_hand() -> None:
    """8 rows of an arm, 2 with Z = 1: the posterior mean is (6.5 * .1 + 2.5 * .6) / 9."""
    policy = ToldMeans(PROBLEM, separating=["Z"], cell_means=[0.1, 0.6], seed=0)
    for z in (0, 0, 0, 0, 0, 0, 1, 1):
        policy.tell(PROBLEM.arms[1], {"Z": z, "Y": 0})
    found = policy.estimates()
    assert found[1].mean == pytest.approx(2.15 / 9)
    assert found[0].mean == pytest.approx(0.35)
    with pytest.raises(OptionError, match="expected 2 numbers"):
        ToldMeans(PROBLEM, separating=["Z"], cell_means=[0.1], seed=0)


def test_those_who_know_more_lose_less() -> None:
    """Three arms, 80 runs of 2,000 rounds: told-means < causal TS told S < TS, each by more than 3 standard errors.

    OSSB, which solves a program after each round, is only asked not to be far off: 10 runs, three times as much.
    """
    world = chain(np.array([0.3, 0.5, 0.7]), np.array([0.1, 0.5]))
    regrets = {
        name: cb.simulate(told(name, world, horizon=2000), world, 2000, runs=runs, seed=5).regret[:, -1]
        for name, runs in (("told-means", 80), ("causal-ts-known", 80), ("ts", 80), ("ossb", 10))
    }
    for less, more in (("told-means", "causal-ts-known"), ("causal-ts-known", "ts")):
        difference = regrets[more] - regrets[less]
        assert difference.mean() > 3 * difference.std(ddof=1) / math.sqrt(80)
    assert isinstance(told("ossb", world, horizon=9)(world.problem, seed=0), OSSB)
    assert regrets["ossb"].mean() < 3 * regrets["ts"].mean()


# Main effects with pairs


def test_columns_of_pairs_by_hand() -> None:
    """Three levers of two levels: 1 + 6 + 3 * 4 = 19 effects; arm (1, 0, 1) has levels 2, 3, 6 and pairs 9, 14, 16."""
    codes = np.array([[1, 0, 1]])
    columns, size = effect_columns(codes, [2, 2, 2], True)
    assert size == 19
    assert columns.tolist() == [[0, 2, 3, 6, 9, 14, 16]]
    assert effect_columns(codes, [2, 2, 2], False)[1] == 7


def test_pairs_learn_what_levers_alone_cannot() -> None:
    """The first two levers pay together or not at all, whatever the third is; the slow twin counts all four cells."""
    problem = cb.Problem("Y", {}, {"I": [0, 1], "J": [0, 1], "K": [0, 1, 2, 3]})
    policy = MainEffectsThompson(problem, scale="logistic", pairs=True, seed=0)
    rng = np.random.default_rng(6)
    cells: dict[tuple[Level, Level], list[int]] = {}
    for arm in problem.arms:
        if arm["K"] == 3:
            continue
        equal = arm["I"] == arm["J"]
        for _ in range(200):
            reward = int(rng.random() < (0.6 if equal else 0.2))
            policy.tell(arm, {"Y": reward})
            cells.setdefault((arm["I"], arm["J"]), []).append(reward)
    for found in policy.estimates():
        if found.arm["K"] == 3:  # never played: what the pairs say
            assert found.mean == pytest.approx(np.mean(cells[found.arm["I"], found.arm["J"]]), abs=0.1)
