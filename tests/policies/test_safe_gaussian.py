"""Real-valued sharing that counts what it would be wrong by: the rule, the policies, the paper's unchanged."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from causal_bandits import BayesFactors, KnownSets, ResidualTesting, Study, load_policy, simulate
from causal_bandits.core.policies import (
    CausalGaussianThompsonSampling,
    GaussianThompsonSampling,
    SafeGaussianThompson,
)
from causal_bandits.errors import OptionError
from causal_bandits.research.simulation import play
from causal_bandits.research.worlds import random_linear_world
from tests.discovery.readings import probability
from tests.policies.cases import SIX, full_state, table_of, through_all_rows
from tests.reference.linear_worlds import DAGS, UNSHARED
from tests.studies.cases import PLANT, fingerprint
from tests.studies.cases import play as play_study

MAKERS: list[type[CausalGaussianThompsonSampling]] = [CausalGaussianThompsonSampling, SafeGaussianThompson]
EVERYTHING = BayesFactors(threshold=-1e9, veto=1e9)


def expected_error(variance: float, own_variance: float, difference: float, pi: float) -> float:
    """Variance plus what is doubted of the squared bias, as docs/results/measured.md has it."""
    return variance + (1 - pi) * max(0.0, difference**2 - max(0.0, own_variance - variance))


@pytest.mark.parametrize("rows", [18, 40, 120, 1000])
@pytest.mark.parametrize("discovery", [BayesFactors(0.0), EVERYTHING], ids=["accepted", "all"])
def test_the_set_of_each_arm_is_the_one_the_formula_says(rows: int, discovery: BayesFactors) -> None:
    policy = SafeGaussianThompson(SIX, discovery=discovery, seed=0)
    policy.tell_many(table_of(rows, rows))
    found = policy.separating_sets()
    state = policy.ready()
    means, variances = through_all_rows(state)
    data = policy.history.rows
    used = set()
    for arm, estimate in enumerate(policy.estimates()):
        own = data.rewards[data.arms == arm]
        prior = policy.options().get("prior_rows", 0.0)
        scatter = own.var(ddof=1) * (len(own) - 1) + prior * data.rewards.var()
        own_variance = scatter / (len(own) - 1 + prior) / len(own)
        errors: dict[tuple[str, ...] | None, float] = {None: own_variance}
        for place, s in enumerate(found):
            pi = math.prod(probability(s, lever) for lever in s.separated)
            difference = means[place, arm] - own.mean()
            errors[s.variables] = expected_error(variances[place, arm], own_variance, difference, pi)
        assert errors[estimate.through] == pytest.approx(min(errors.values()), rel=1e-9)
        used.add(estimate.through)
    assert used != {None} or rows == 18 or discovery != EVERYTHING


def test_a_set_that_is_far_off_is_not_used() -> None:
    """Rewards follow the arm alone: the paper's rule shares through the empty set by lowest variance."""
    rng = np.random.default_rng(0)
    rows = [
        {**dict(arm.items()), "A": a, "B": "low", "C": c, "Y": y + 3 * (arm["I"] == 1)}
        for arm in SIX.arms
        for a, c, y in rng.normal(size=(40, 3)).tolist()
    ]
    paper, safe = (make(SIX, discovery=EVERYTHING, seed=0) for make in MAKERS)
    for policy in (paper, safe):
        policy.tell_many(rows)
    through = [estimate.through for estimate in paper.estimates()]
    assert () in through
    assert None not in through
    assert {estimate.through for estimate in safe.estimates()} == {None}


@pytest.mark.parametrize("sets", [[["A"]], [[], ["A", "C"]], {("B",): ["I"], ("A",): ["J"]}])
def test_told_sets_are_not_doubted(sets: Any) -> None:
    """With pi = 1 the expected squared error is the variance: the same arms as the paper's rule."""
    asked = []
    for make in MAKERS:
        policy = make(SIX, discovery=KnownSets(sets), seed=3)
        policy.tell_many(table_of(90, 1))
        asked.append(policy.ask(200))
    assert asked[0] == asked[1]


def test_saved_and_loaded_it_goes_on_as_before(tmp_path: Path) -> None:
    world = random_linear_world(DAGS["late"], seed=1)
    policy = SafeGaussianThompson(world.problem, discovery=BayesFactors(0.5, veto=3.0), seed=0, initial=30)
    play(policy, world, 200, np.random.default_rng(1))
    policy.save(tmp_path / "policy.zip")
    loaded = load_policy(tmp_path / "policy.zip")
    assert type(loaded) is SafeGaussianThompson
    assert loaded.discovery == policy.discovery
    assert full_state(loaded) == full_state(policy)
    runs = [play(each, world, 300, np.random.default_rng(2)) for each in (policy, loaded)]
    assert np.array_equal(runs[0].arms, runs[1].arms)


def test_a_study_goes_on_after_a_restart(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/studies.db"
    study = Study.create("s", PLANT, storage=storage, policy="causal-gaussian-ts-safe", seed=5)
    play_study(study, 120)
    loaded = Study.load("s", storage=storage)
    assert fingerprint(loaded) == fingerprint(study)
    assert [s.variables for s in loaded.separating_sets()] == [s.variables for s in study.separating_sets()]
    assert ("temperature",) in {s.variables for s in study.separating_sets()}
    assert play_study(loaded, 10)


def test_tests_alone_give_no_probability() -> None:
    with pytest.raises(OptionError, match=r"ResidualTesting does not give; use discovery=BayesFactors\(\)"):
        SafeGaussianThompson(SIX, discovery=ResidualTesting())


def regret_ratio(worlds: list[Any], runs: int) -> tuple[float, float]:
    """Of the safe policy to Gaussian TS, all worlds together, and its standard error; paired by seed."""
    plain, safe = (
        np.array([simulate(make, w, 1000, runs=runs, seed=4, checkpoints=[1000]).regret[:, 0] for w in worlds])
        for make in (GaussianThompsonSampling, SafeGaussianThompson)
    )
    ratio = safe.sum() / plain.sum()
    left = safe - ratio * plain
    return ratio, float(np.sqrt(left.var(axis=1, ddof=1).sum() * runs) / plain.sum())


@pytest.mark.slow
def test_sharing_pays_where_a_set_separates() -> None:
    """Null: the regret after 1000 rounds is 0.95 of Gaussian TS or more, over 5 graphs x 3 worlds x 3 runs.

    4 standard errors reject, which chance gives once in 30000 times; seed 4.
    """
    worlds = [random_linear_world(graph, seed=5 * k + n) for k in range(3) for n, graph in enumerate(DAGS.values())]
    ratio, error = regret_ratio(worlds, 3)
    assert ratio + 4 * error < 0.95


@pytest.mark.slow
@pytest.mark.parametrize("worlds", UNSHARED.values(), ids=UNSHARED)
def test_little_is_lost_where_no_set_separates(worlds: list[Any]) -> None:
    """Null: the regret after 1000 rounds is 1.6 times that of Gaussian TS or more, over three worlds x 20 runs.

    4 standard errors reject, which chance gives once in 30000 times; seed 4.
    """
    ratio, error = regret_ratio(worlds, 20)
    assert ratio + 4 * error < 1.6
