"""Counting rows in the state of Algorithm 2: whole, or in two steps where the reward comes late."""

import numpy as np

from ..compiled import Bools, Floats, Ints, compiled, put
from ..data import ArmMoments, ViewMoments, add_row, design_row, remove_row, view
from .protocol import learn
from .real_rules import RealState


@compiled
def _is_in(holds: Bools, place: int, pattern: int) -> bool:
    """Whether a view has rows with this pattern of missing variables; -1: nothing is missing."""
    return bool(pattern < 0 or holds[place, pattern])


@compiled
def record_row(state: RealState, arm: int, values: Floats, pattern: int) -> None:
    """Count one row of design columns and reward, but for what it says without the reward."""
    rows = state.moments.counts.sum()
    if pattern < 0 and rows < len(state.kept_arms):
        state.kept_arms[rows] = arm
        put(state.kept_values[rows], values)
    add_row(state.moments, arm, values)
    for place in range(len(state.views.counts)):
        if _is_in(state.holds, place, pattern):
            add_row(view(state.views, place), arm, values)


@compiled
def expect_row(state: RealState, arm: int, values: Floats, pattern: int) -> None:
    """Count what a row says without its reward, where rows were ever pending."""
    for place in range(len(state.late.counts)):
        if place == 0 or _is_in(state.holds, place - 1, pattern):
            add_row(view(state.late, place), arm, values[:-1])


@compiled
def forget_row(state: RealState, arm: int, values: Floats, pattern: int) -> None:
    """Take that back."""
    for place in range(len(state.late.counts)):
        if place == 0 or _is_in(state.holds, place - 1, pattern):
            remove_row(view(state.late, place), arm, values[:-1])


@compiled
def _design(state: RealState, values: Floats) -> Floats:
    """One row as a world draws it, the observed variables and then the reward, as columns of the design."""
    design = np.empty(state.moments.means.shape[1])
    design_row(state.spans, values, design)
    return design


@learn.of(RealState)
@compiled
def learn_values(state: RealState, arm: int, values: Floats, reward: float) -> None:
    """Count one row."""
    design = _design(state, values)
    record_row(state, arm, design, -1)
    expect_row(state, arm, design, -1)


@compiled
def record_real_rewards(state: RealState, arms: Ints, values: Floats, patterns: Ints) -> None:
    """Count the rewards of many rows; `patterns`: which variables each misses, -1 for none."""
    for row in range(len(arms)):
        record_row(state, arms[row], values[row], patterns[row])


@compiled
def expect_real(state: RealState, arms: Ints, values: Floats, patterns: Ints) -> None:
    """Count many rows for what they say without a reward."""
    for row in range(len(arms)):
        expect_row(state, arms[row], values[row], patterns[row])


@compiled
def forget_real(state: RealState, arms: Ints, values: Floats, patterns: Ints) -> None:
    """Take that back."""
    for row in range(len(arms)):
        forget_row(state, arms[row], values[row], patterns[row])


def with_late_rows(moments: ArmMoments, views: ViewMoments) -> ViewMoments:
    """All rows and those of each view without their reward, to count pending rows besides."""
    every = (np.concatenate([all_of[None], viewed]) for all_of, viewed in zip(moments, views, strict=True))
    counts, means, scatter = every
    return ViewMoments(counts, means[..., :-1].copy(), scatter[..., :-1, :-1].copy())
