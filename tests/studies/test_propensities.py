"""The probability that is said of a decision is the one that it was made with."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import causal_bandits as cb


@pytest.mark.parametrize("control_share", [None, 0.2])
def test_batches_are_played_with_the_propensities_that_are_said(control_share: float | None, tmp_path: Path) -> None:
    """Null: arms of a batch of 400 are drawn with their propensities; chi-square, false alarms 1e-5. Seed 1."""
    problem = cb.Problem("Y", {"A": 2}, {"I": 4})
    study = cb.Study.create(
        "shop", problem, storage=f"sqlite:///{tmp_path}/studies.db", seed=1, control_share=control_share
    )
    rng = np.random.default_rng(0)
    for _ in range(40):
        decision = study.ask()
        good = 0.2 + 0.1 * problem.index(decision.arm)
        study.tell(decision.id, {"A": int(rng.random() < 0.5), "Y": int(rng.random() < good)})
    batch = study.ask(400)
    said = {view.estimate.arm: view.propensity for view in study.explain(batch[0].id).arms}
    counts = np.array([sum(each.arm == arm for each in batch) for arm in problem.arms])
    expected = 400 * np.array([said[arm] for arm in problem.arms])
    assert expected.sum() == pytest.approx(400)
    assert (expected > 0).all()
    if control_share is not None:
        assert expected[0] == pytest.approx(80)
    few = expected < 5  # such arms are put together
    groups = [[*counts[~few], counts[few].sum()], [*expected[~few], expected[few].sum()]]
    seen, wanted = (np.array(group)[np.array(groups[1]) > 0] for group in groups)
    assert stats.chisquare(seen, wanted).pvalue > 1e-5
    assert study.propensity(batch[-1]) == pytest.approx(said[batch[-1].arm])
