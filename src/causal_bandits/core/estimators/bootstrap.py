"""The variance of means through sets as the paper finds it: from bootstraps that resample rows within arms."""

import numpy as np

from ..compiled import Floats, Ints, compiled
from ..data import ArmMoments, add_row
from .regression import RealPools, by_group, means_through


@compiled
def _resample(
    moments: ArmMoments, ends: Ints, order: Ints, values: Floats, drawn: ArmMoments, rng: np.random.Generator
) -> None:
    """As many rows of every arm as there are, drawn with replacement; `order` lists rows arm by arm up to `ends`."""
    drawn.counts[:] = 0
    drawn.means[:, :] = 0.0
    drawn.scatter[:, :, :] = 0.0
    for arm in range(len(ends)):
        rows = moments.counts[arm]
        for _ in range(rows):
            add_row(drawn, arm, values[order[ends[arm] - 1 - int(rng.random() * rows)]])


@compiled
def bootstrap_variance(
    moments: ArmMoments, pools: RealPools, arms: Ints, values: Floats, samples: int, rng: np.random.Generator
) -> Floats:
    """(accepted sets, arms): variance of the means over bootstraps that resample within arms, as the paper has it."""
    order, ends = by_group(arms, len(moments.counts))
    centre, variance = means_through(moments, pools, False)
    total, squares = np.zeros(centre.shape), np.zeros(centre.shape)
    drawn = ArmMoments(np.empty_like(moments.counts), np.empty_like(moments.means), np.empty_like(moments.scatter))
    for _ in range(samples):
        _resample(moments, ends[1:], order, values, drawn, rng)
        means = means_through(drawn, pools, False)[0]
        for index in range(centre.shape[0]):
            for arm in range(centre.shape[1]):
                away = means[index, arm] - centre[index, arm]
                total[index, arm] += away
                squares[index, arm] += away * away
    for index in range(centre.shape[0]):
        for arm in range(centre.shape[1]):
            spread = (squares[index, arm] - total[index, arm] ** 2 / samples) / (samples - 1)
            variance[index, arm] = max(variance[index, arm], spread)
    return variance
