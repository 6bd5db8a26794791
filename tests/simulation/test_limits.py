"""Lower bounds against brute force, against their expansion, and against what policies do."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog, minimize_scalar

import causal_bandits as cb
from causal_bandits.core.compiled import Floats
from causal_bandits.errors import OptionError, UnknownVariableError, WorldError
from causal_bandits.research.limits import divergence, lai_robbins, limits_of, separated_limit
from causal_bandits.research.worlds import DiscreteSCM, Mechanism


def slow_divergence(p: Floats, k: Floats, goal: float) -> float:
    """min KL(p, q) with E_q k >= goal, by a scalar search of the dual."""
    if p @ k >= goal:
        return 0.0
    if k.max() <= goal:
        return np.inf
    used = p > 0

    def dual(v: float) -> float:
        return -float((p[used] * np.log(np.maximum(1 - v * (k[used] - goal), 1e-300))).sum())

    found = minimize_scalar(dual, bounds=(0, 1 / (k.max() - goal)), method="bounded", options={"xatol": 1e-12})
    return -float(found.fun)


def brute_force(p: Floats, m: Floats, grid: int, *, known: bool) -> float:
    """The program of Graves and Lai over a grid of alternatives: at most the true value, and near it."""
    means = p @ m
    goal = means.max()
    best = means >= goal - 1e-10
    missed = np.flatnonzero(~(p[best] > 0).any(axis=0))
    worse = np.flatnonzero(~best)
    axes = [m[s] + (1 - m[s]) * np.append(np.linspace(0, 0.99, grid), 1 - np.geomspace(1e-2, 1e-9, 9)) for s in missed]
    rows = []
    for place, arm in enumerate(worse):
        for point in itertools.product(*axes):
            k = m.copy()
            k[missed] = point
            tried = [k]
            for s in missed[p[arm, missed] > 0]:  # and the point on this line at which the arm is just as good
                need = (goal - p[arm] @ k) / p[arm, s] + k[s]
                if m[s] <= need < 1:
                    tried.append(np.where(np.arange(len(m)) == s, need, k))
            for each in tried:
                own = (
                    (0.0 if p[arm] @ each >= goal - 1e-12 else np.inf) if known else slow_divergence(p[arm], each, goal)
                )
                if np.isfinite(own):
                    row = p[worse][:, missed] @ divergence(m[missed], np.minimum(each[missed], 1 - 1e-12))
                    row[place] += own
                    rows.append(row)
    return float(linprog(goal - means[worse], -np.array(rows), -np.ones(len(rows))).fun) if rows else 0.0


def missing_cells(seed: int) -> tuple[Floats, Floats]:
    """A small world in which the best arm misses a cell or two."""
    rng = np.random.default_rng(seed)
    while True:
        cells = int(rng.integers(2, 4))
        p = rng.dirichlet(np.ones(cells), int(rng.integers(2, 4)))
        p = np.vstack([p, np.eye(cells)[rng.integers(cells)]])
        p[rng.random(p.shape) < 0.3] = 0.0
        p = p[p.sum(axis=1) > 0]
        p /= p.sum(axis=1, keepdims=True)
        m = rng.random(cells)
        means = p @ m
        best = means >= means.max() - 1e-10
        if (p.sum(axis=0) > 0).all() and not (p[best] > 0).any(axis=0).all() and not best.all():
            return p, m


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_program_agrees_with_brute_force(seed: int, known: bool) -> None:
    p, m = missing_cells(seed)
    ours, theirs = separated_limit(p, m, known=known), brute_force(p, m, 41, known=known)
    assert theirs <= ours * (1 + 1e-3)
    assert ours <= theirs * 1.03 + 1e-9  # the grid leaves out some alternatives


def test_a_single_alternative_by_hand() -> None:
    """Arm 1 always shows cell 1, which arm 0 never does: only E[Y | 1] is unknown, and its pulls alone tell of it."""
    p, m = np.eye(2), np.array([0.6, 0.2])
    by_hand = 0.4 / (0.2 * np.log(0.2 / 0.6) + 0.8 * np.log(0.8 / 0.4))
    assert lai_robbins(p @ m) == pytest.approx(by_hand)
    assert separated_limit(p, m) == pytest.approx(by_hand, rel=1e-3)
    assert separated_limit(p, m, known=True) == pytest.approx(by_hand, rel=1e-3)


def test_eta2_is_the_ratio_to_second_order() -> None:
    """Gaps ten times smaller make the distance between C_S / C_0 and eta^2 about ten times smaller."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        base, m, moves = rng.dirichlet(np.full(4, 3.0)), rng.random(4), rng.normal(size=(3, 4))
        moves -= moves.mean(axis=1, keepdims=True)
        apart = []
        for size in (0.02, 0.002):
            p = np.vstack([base, base + size * base.min() * moves])
            found = limits_of(p, np.tile(m, (4, 1)), ["A"])
            apart.append(abs(found.cs / found.c0 - found.eta2))
        assert apart[1] <= 0.2 * apart[0] + 1e-6
        assert apart[1] < 2e-3


def test_knowing_more_never_costs() -> None:
    for seed in range(20):
        p, m = missing_cells(100 + seed)
        found = limits_of(p, np.tile(m, (len(p), 1)), ["A"])
        assert found.cp <= found.cs * (1 + 1e-3)
        assert found.cs <= found.c0 * (1 + 1e-3)


def test_limits_of_worlds() -> None:
    funnel = cb.worlds.practice_world("mediated", rate=0.08, arms=6, seed=1)
    found = funnel.limits()
    assert found.separates
    assert found.cp == 0
    assert found.cs / found.c0 == pytest.approx(found.eta2, abs=0.02)
    assert funnel.limits(funnel.problem.observed_names[-1]).eta2 <= found.eta2 + 1e-9
    assert not cb.worlds.hillstrom_world().limits().separates
    assert cb.worlds.hillstrom_world().limits("visit").eta2 == pytest.approx(0.052, abs=0.002)
    assert cb.worlds.loan_world().limits().eta2 == pytest.approx(0.845, abs=0.001)


def test_a_world_without_its_maker_has_the_same_limits() -> None:
    """From the sampler's arrays alone: the same distribution, and the set is found by numbers in place of a graph."""
    world = cb.worlds.soft_world(seed=2)
    bare = cb.worlds.DiscreteWorld(world.problem, world.sampler, world.means)
    for arm in world.problem.arms:
        names = ["C", "A", "Y"]
        assert bare.distribution(arm, names) == pytest.approx(world.distribution(arm, names))
    assert bare.separating_set() == world.separating_sets()[0]
    assert bare.limits(["A", "B", "C"])[:4] == pytest.approx(world.limits(["A", "B", "C"])[:4])
    assert cb.worlds.StructurelessWorld(world, seed=1).separating_set() is None


def test_a_cyclic_world_has_the_limits_of_its_solution() -> None:
    """A <-> B -> Y: B separates, so C_S comes from P(B | arm), which the updates lead to, and from E[Y | B]."""
    follow = [[0.8, 0.2], [0.2, 0.8]]
    loop = {name: Mechanism([of], follow) for name, of in (("A", "B"), ("B", "A"), ("Y", "B"))}
    world = DiscreteSCM(dict.fromkeys("ABY", 2), loop, {"I_A": cb.worlds.perfect("A")}, cycles="iterate")
    chances = np.array([world.distribution(arm, ["B"]) for arm in world.problem.arms])
    by_hand = limits_of(chances, np.tile([0.2, 0.8], (3, 1)), ["B"])
    found = world.limits()
    assert found.separating == ("B",)
    assert found[:4] == pytest.approx(by_hand[:4])


def test_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WorldError, match="rewards of 0 or 1"):
        cb.worlds.hillstrom_spend_world().limits()
    with pytest.raises(WorldError, match="rewards of 0 or 1"):
        cb.worlds.random_linear_world(cb.MixedGraph(["A", "Y"], directed=[("A", "Y")]), seed=0).limits()
    with pytest.raises(UnknownVariableError, match="'vist' is not an observed variable"):
        cb.worlds.hillstrom_world().limits("vist")
    with pytest.raises(OptionError, match="separating=3; expected a list of names"):
        cb.worlds.hillstrom_world().limits(3)  # type: ignore[arg-type]
    monkeypatch.setattr("causal_bandits.research.worlds.world.MOST_CELLS", 3)
    with pytest.raises(WorldError, match="name a smaller set"):
        cb.worlds.hillstrom_world().limits()
