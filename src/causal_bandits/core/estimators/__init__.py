"""From counts to means: sharing (eq. 2 and 6), its variance (appendix A), and the posterior Algorithm 1 samples."""

from .intervals import beta_interval, gamma_interval, jeffreys_interval
from .posterior import (
    Pools,
    beta_moments,
    draw_own,
    draw_shared,
    learn_through_sets,
    make_pools,
    no_pools,
    own_moments,
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
    "gamma_interval",
    "information_sharing",
    "jeffreys_interval",
    "learn_through_sets",
    "linear_sharing",
    "make_pools",
    "no_pools",
    "own_moments",
    "pool",
    "sample_mean",
    "sharing_estimate",
    "sharing_variance",
]
