"""From counts to means: sharing (eq. 2 and 6), its variance (appendix A), and the posterior Algorithm 1 samples."""

from .intervals import beta_interval, gamma_interval, jeffreys_interval
from .posterior import (
    Pools,
    beta_moments,
    draw_own,
    draw_shared,
    expect,
    learn,
    make_pools,
    no_pools,
    own_moments,
    record_reward,
)
from .regression import linear_sharing
from .sharing import information_sharing, pool, sample_mean, sharing_estimate
from .variance import VarianceDecomposition, alpha_star_of_counts, borrowed_share, sharing_variance

__all__ = [
    "Pools",
    "VarianceDecomposition",
    "alpha_star_of_counts",
    "beta_interval",
    "beta_moments",
    "borrowed_share",
    "draw_own",
    "draw_shared",
    "expect",
    "gamma_interval",
    "information_sharing",
    "jeffreys_interval",
    "learn",
    "linear_sharing",
    "make_pools",
    "no_pools",
    "own_moments",
    "pool",
    "record_reward",
    "sample_mean",
    "sharing_estimate",
    "sharing_variance",
]
