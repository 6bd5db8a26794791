"""Partial discovery under latents: what is asked, what is found, and which arms are then played."""

import numpy as np
import pytest

from causal_bandits import DiscreteSCM, MixedGraph
from causal_bandits.core.graphs import pomis_sets
from causal_bandits.errors import OptionError, ProblemError
from causal_bandits.research.comparators import PartialDiscovery
from causal_bandits.research.comparators.elahi import elahi_rows, random_sets, reduction, stronger
from causal_bandits.research.simulation import play
from causal_bandits.research.worlds import DIAGRAMS, Mechanism, parallel_world, perfect
from tests.policies.comparators.plans import DETERMINED, copies, rounds, rows_of
from tests.reference import newer_comparators as slow


def instrument() -> DiscreteSCM:
    """Z -> X -> Y with a hidden coin that X and Y follow."""
    return DiscreteSCM(
        {"Z": 2, "X": 2, "Y": 2},
        {
            "Z": Mechanism([], [0.5, 0.5]),
            "X": Mechanism(["Z", "U"], lambda z, u: [0.95 - 0.6 * z - 0.3 * u, 0.05 + 0.6 * z + 0.3 * u]),
            "Y": Mechanism(["X", "U"], lambda x, u: [0.9 - 0.4 * x - 0.4 * u, 0.1 + 0.4 * x + 0.4 * u]),
        },
        {"I_Z": perfect("Z"), "I_X": perfect("X")},
        noise={"U": [0.5, 0.5]},
    )


def test_rows_of_the_paper_by_hand() -> None:
    """n = 4, delta = .05: 16 * 16 ln 42 = 957 sets; d1 = .05 / (16 * 957); 8 ln(2 * 4 * 4 / d1) / .04 = 3220."""
    assert random_sets(4, 0.05) == 957
    first = 0.05 / (4 * 4 * 957)
    arrows, ties = elahi_rows(4, 2, eps=0.2, gamma=0.2, eta=0.1, delta=0.05)
    assert arrows == np.ceil(200 * np.log(32 / first))
    log = np.log(128 / (4 * first))
    assert ties == np.ceil(16 * log / 0.004 + log / 0.02)


def test_small_rules_by_hand() -> None:
    assert reduction([(0, 1), (1, 2), (0, 2), (3, 2)]) == [(0, 1), (1, 2), (3, 2)]
    assert stronger({(0, 1): 0.2, (1, 0): 0.2}) == {}


def test_the_first_question_is_do_and_every_single_variable() -> None:
    world = copies(DETERMINED)
    policy = PartialDiscovery(world.problem, budget=20, shuffle=0, seed=0)
    arms = rounds(policy, world, 7 * 20)
    pulled = np.bincount(arms, minlength=27)
    single = [len(arm.active) <= 1 for arm in world.problem.arms]
    assert pulled.tolist() == [20 if each else 0 for each in single]
    assert "heuristic (the paper's: 3,220 and more)" in policy.hints


@pytest.mark.parametrize("seed", [0, 1])
def test_it_finds_the_graph_without_latents(seed: int) -> None:
    """Effects are .45 and more; 400 rows tell them from .1, and no hidden cause from .2, by 4 standard errors."""
    world = copies(DETERMINED)
    policy = PartialDiscovery(world.problem, gamma=0.4, budget=400, shuffle=seed, seed=seed)
    play(policy, world, 27 * 400 + 200, np.random.default_rng(seed))
    truth = world.graph.subgraph(world.graph.ancestors("Y"))  # C is no ancestor
    assert set(policy.graph().directed) == set(truth.directed)
    assert policy.graph().bidirected == ()
    assert {frozenset(arm.active) for arm in policy.ask(50)} == {frozenset({"I_A", "I_B"})}  # the parents of Y


def test_it_finds_the_hidden_cause_that_matters() -> None:
    """do(Z) moves Y by .12 and nothing moves Z: .07 is 2.8 standard errors of 1600 rows from either; seeds 0 and 1."""
    world = instrument()
    policy = PartialDiscovery(world.problem, eps=0.14, budget=1600, shuffle=0, seed=0)
    play(policy, world, 9 * 1600 + 300, np.random.default_rng(1))
    assert policy.graph() == DIAGRAMS["iv"]
    wanted = {frozenset(f"I_{name}" for name in each) for each in pomis_sets(DIAGRAMS["iv"], "Y")}
    allowed = {frozenset(arm.active) for arm, open_ in zip(world.problem.arms, _open(policy), strict=True) if open_}
    assert allowed == wanted == {frozenset({"I_Z"}), frozenset({"I_X"})}
    assert world.means[world.problem.index(policy.recommend().arm)] == pytest.approx(world.means.max())


def _open(policy: PartialDiscovery) -> list[bool]:
    return policy._state.counts.allowed.tolist()  # type: ignore[no-any-return]


def test_what_moved_is_counted_row_by_row() -> None:
    """Ancestors, and the hidden cause, from frequencies that are counted again from the list of rows."""
    world = instrument()
    policy = PartialDiscovery(world.problem, budget=60, shuffle=3, seed=0)
    play(policy, world, 9 * 60, np.random.default_rng(2))
    rows, index = rows_of(policy), world.problem.index
    for node, name in enumerate(("Z", "X")):
        shifts = [
            abs(slow.share(rows, index({f"I_{name}": level}), 2, 1) - slow.share(rows[:300], index({}), 2, 1))
            for level in (0, 1)
        ]
        assert (node in (policy._ancestors or [])) == (max(shifts) > 0.1)
    held = policy._parents_held(1, 2)
    fixed = {} if held[0] < 0 else {"I_Z": held[0]}
    apart = max(
        abs(
            slow.share(rows, index(fixed), 2, 1, given=(1, level))
            - slow.share(rows, index({**fixed, "I_X": level}), 2, 1)
        )
        for level in (0, 1)
        if slow.share(rows, index(fixed), 1, level) >= 0.1
    )
    assert policy._ties[frozenset((1, 2))] == (apart > 0.1)


def test_where_nothing_is_an_ancestor_all_arms_are_played() -> None:
    coin = Mechanism([], [0.5, 0.5])
    world = DiscreteSCM({"A": 2, "Y": 2}, {"A": coin, "Y": coin}, {"I_A": perfect("A")})
    policy = PartialDiscovery(world.problem, budget=500, shuffle=0, seed=0)
    play(policy, world, 1600, np.random.default_rng(0))
    assert all(_open(policy))
    assert policy.graph() == MixedGraph(["A", "Y"])


def test_where_it_does_not_apply() -> None:
    with pytest.raises(ProblemError, match="every combination of its levers"):
        PartialDiscovery(parallel_world(3).problem)
    for option in ("eps", "gamma", "eta", "delta"):
        with pytest.raises(OptionError, match=f"{option}=2"):
            PartialDiscovery(copies(DETERMINED).problem, **{option: 2})
