"""Causal Thompson Sampling (de Kroon, Belgrave and Mooij, Algorithm 1).

The name also stands for a method of Bareinboim, Forney and Pearl (2015), which is another one.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from ...errors import whole_number
from ..discovery import ASD, DirectTesting, Discovery
from ..discovery.tiers import Tier
from ..problem import Problem
from ..seeds import Seed
from .base import Variant
from .discrete import DiscretePolicy


class CausalThompsonSampling(DiscretePolicy):
    """Thompson Sampling that discovers separating sets while it plays and shares rewards through them (Algorithm 1).

    Each arm uses the accepted set with the lowest posterior variance, or its own rows if their variance is lower.

    Args:
        problem: The problem; its reward is 0 or 1.
        discovery: How separating sets are found; `DirectTesting()` by default.
        seed: Seed or Generator of its draws.
        max_size: Size of the largest sets; by default all sets, or as many as stay fast.
        variance: Posterior variances in closed form, or from draws as in the paper.
        samples: Number of draws for ``variance="monte-carlo"``.

    >>> problem = Problem(target="purchase", observed={"clicked": 2}, interventions={"banner": ["none", "red"]})
    >>> policy = CausalThompsonSampling(problem, discovery=DirectTesting(alpha=0.05), seed=0)
    >>> arm = policy.ask()
    >>> policy.tell(arm, {"clicked": 1, "purchase": 0})
    >>> [str(found) for found in policy.separating_sets()]
    ['{} separates banner', '{clicked} separates banner']
    """

    name = "causal-ts"
    tier = Tier.OBSERVED
    variants: ClassVar[Mapping[str, Variant]] = {
        "causal-ts-asd": Variant({"discovery": ASD()}),
        "causal-ts-asd-cyclic": Variant({"discovery": ASD(acyclic=False)}),
        "causal-ts-known": Variant(needs=("discovery",)),
    }

    def __init__(
        self,
        problem: Problem,
        *,
        discovery: Discovery | None = None,
        seed: Seed = None,
        max_size: int | None = None,
        variance: Literal["closed-form", "monte-carlo"] = "closed-form",
        samples: int = 200,
    ) -> None:
        samples = whole_number("samples", samples, 2, 1_000_000)
        drawn = samples if variance == "monte-carlo" else 0
        self._discover_by(DirectTesting() if discovery is None else discovery, problem)
        super().__init__(problem, seed=seed, max_size=max_size, samples=drawn)
        self.variance = variance
        self.samples = samples
        self._discover()  # sets that cannot be are rejected here, not later

    def options(self) -> dict[str, Any]:
        """The options of this policy as plain values for JSON."""
        return {
            "discovery": self.discovery.to_dict(),
            "max_size": self.layout.max_size,
            "variance": self.variance,
            "samples": self.samples,
        }
