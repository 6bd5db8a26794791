"""Why a comparator chose an arm: what it compared, or why it compared nothing."""

from pathlib import Path
from typing import Any

import pytest

import causal_bandits as cb

from .cases import SHOP, play

WORDS: dict[str, tuple[dict[str, Any], str, str]] = {
    "ucb1": ({}, "it had no rows yet", "its upper confidence bound"),
    "epsilon-greedy": ({"rate": 0.01}, "it had no rows yet", "its mean"),
    "successive-elimination": ({}, "this pull was planned", "this pull was planned"),
    "ts": ({}, "its draw from the posterior", "its draw from the posterior"),
}


@pytest.mark.parametrize("name", WORDS)
def test_the_reason_says_what_was_compared(name: str, tmp_path: Path) -> None:
    options, first, later = WORDS[name]
    storage = f"sqlite:///{tmp_path}/studies.db"
    study = cb.Study.create(name, SHOP, storage=storage, policy=name, options=options, seed=1)
    play(study, 30)
    assert first in study.explain(1).reason
    assert later in study.explain(30).reason


def test_what_is_not_kept_is_said(tmp_path: Path) -> None:
    policy = cb.CausalThompsonSampling(SHOP, variance="monte-carlo", samples=3)
    study = cb.Study.create("shop", SHOP, storage=f"sqlite:///{tmp_path}/studies.db", policy=policy, seed=1)
    play(study, 2)
    assert "does not store what it compares" in study.explain(2).reason
