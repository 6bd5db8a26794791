"""eta^2 from rows: against the truth of a world, with intervals that cover."""

from pathlib import Path

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.product.analysis import explained
from causal_bandits.product.analysis.explained import ExplainedVariance, explained_variance


def test_by_hand() -> None:
    """Two values with 3 rows each, means 1/3 and 1: 1/9 between, 1/9 within, so eta^2 = 1/2; 5 over 4 makes .375."""
    found = explained_variance(np.array([[0], [0], [0], [1], [1], [1]]), np.array([0.0, 0.0, 1.0, 1.0, 1.0, 1.0]))
    assert found.share == pytest.approx(1 - 0.5 * 5 / 4)
    assert (found.rows, found.cells) == (6, 2)


def test_intervals_cover_the_truth() -> None:
    """Null: a 95% interval covers in 95% of 100 logs; standard error .022, so .86 is 4 of them away (seed 3)."""
    world = cb.worlds.practice_world("mediated", rate=0.3, arms=3, seed=4)
    arm, rng = world.problem.arms[0], np.random.default_rng(3)
    names = world.problem.observed_names
    joint = world.distribution(arm, [*names, world.problem.target]).reshape(-1, 2)
    chances = joint.sum(axis=1)
    means = np.divide(joint[:, 1], chances, out=np.zeros(len(joint)), where=chances > 0)
    mu = joint[:, 1].sum()
    truth = (chances @ means**2 - mu**2) / (mu * (1 - mu))
    covered, shares = 0, []
    for _ in range(100):
        rows = world.sample(arm, 2000, rng)
        found = explained_variance(rows.codes, rows.rewards)
        covered += found.low <= truth <= found.high
        shares.append(found.share)
    assert covered / 100 > 0.86
    assert np.mean(shares) == pytest.approx(truth, abs=4 * np.std(shares) / np.sqrt(100) + 1e-3)


def test_nothing_is_known_of_one_value_or_equal_rewards() -> None:
    for codes, rewards in (
        (np.zeros((50, 1), dtype=int), np.arange(50.0)),
        (np.arange(50)[:, None] % 2, np.ones(50)),
        (np.zeros((0, 2), dtype=int), np.zeros(0)),
    ):
        found = explained_variance(codes, rewards)
        assert not found.is_known
        assert "not known yet" in found.says


def test_studies_and_tables_say_it(tmp_path: Path) -> None:
    world = cb.worlds.loan_world()
    rng = np.random.default_rng(5)
    study = cb.Study.create("loans", world.problem, storage=f"sqlite:///{tmp_path}/studies.db", seed=1)
    rows = []
    for _ in range(400):
        decision = study.ask()
        seen = world.pull(decision.arm, rng)
        study.tell(decision.id, {"applied": seen["applied"]}, reward=seen["took_up"])
        rows.append({**decision.arm, **seen})
    found = study.explained_variance()
    assert found.rows == 400
    assert found.low <= 0.845 <= found.high + 0.05
    analysis = cb.analyze(rows, target="took_up", interventions=["discount", "one_year_term"])
    assert analysis.explained_variance().share == pytest.approx(found.share)
    assert found.says in analysis.notices


def test_mediators_that_explain_nothing() -> None:
    says = ExplainedVariance(0.001, 0.0, 0.012, 0.95, 2000, 4).says
    assert says == (
        "Your mediators explain almost none of the variance of the reward (at most 1.2%): they say little about it."
    )


def test_cells_are_the_same_however_they_are_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    codes, rewards = rng.integers(0, 3, (500, 4)), rng.normal(size=500)
    found = explained_variance(codes, rewards)
    monkeypatch.setattr(explained, "MOST_CELLS", 1)
    assert explained_variance(codes, rewards) == found
