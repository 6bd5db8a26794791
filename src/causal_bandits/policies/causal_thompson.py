"""Causal Thompson Sampling (de Kroon, Belgrave and Mooij, Algorithm 1).

The name also stands for a method of Bareinboim, Forney and Pearl (2015), which is another one.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self, get_args

from ..discovery import ASD, DirectTesting, Discovery, check_discovery, discovery_from_dict
from ..discovery.tiers import Tier
from ..errors import OptionError, whole_number
from ..problem import Problem
from ..seeds import Seed
from .discrete import DiscretePolicy
from .naming import Variant
from .set_selection import Choice, check_weighed, doubts

Mediators = Literal["own", "shared"]


class CausalThompsonSampling(DiscretePolicy):
    """Thompson Sampling that discovers separating sets while it plays, and lets arms share rewards through them.

    Per arm, the accepted set with the lowest posterior variance is used, or the arm's own rows if they do better.
    `variance` is how those variances are found: in closed form, or from `samples` draws as the paper does. With
    ``choice="squared-error"`` the set with the lowest expected squared error is used, which counts what the set would
    be wrong by if it did not separate; it needs `BayesFactors`. With ``mediators="shared"`` arms on which S comes out
    alike share P(S | arm) too. All three together are `WeighedThompsonSampling`.
    `max_size` limits the sets that are looked at; by default all, or as many as stay fast.

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
        choice: Choice = "variance",
        mediators: Mediators = "own",
    ) -> None:
        if variance not in ("closed-form", "monte-carlo"):
            raise OptionError(f"variance={variance!r}; expected 'closed-form' or 'monte-carlo'")
        if mediators not in get_args(Mediators):
            raise OptionError(f"mediators={mediators!r}; expected 'own' or 'shared'")
        self.shares_mediators = mediators == "shared"
        self.doubts = doubts(choice)
        if self.doubts and variance == "monte-carlo":
            raise OptionError("choice='squared-error' needs variance='closed-form'; it has no Monte Carlo form")
        samples = whole_number("samples", samples, 2, 1_000_000)
        drawn = samples if variance == "monte-carlo" else 0
        self.discovery = DirectTesting() if discovery is None else discovery
        check_discovery(self.discovery)
        self.tier, self.hints = self.discovery.tier, self.discovery.hints(problem)
        super().__init__(problem, seed=seed, max_size=max_size, samples=drawn, screens=self.discovery.screens)
        self.variance = variance
        self.samples = samples
        self.choice = choice
        self.mediators = mediators
        found = self._discover()  # sets that cannot be are refused here, not later
        if self.doubts:
            check_weighed(self.discovery, found)

    def options(self) -> dict[str, Any]:
        """The options of this policy as plain values for JSON."""
        return {
            "discovery": self.discovery.to_dict(),
            "max_size": self.layout.max_size,
            "variance": self.variance,
            "samples": self.samples,
            "choice": self.choice,
            "mediators": self.mediators,
        }

    @classmethod
    def from_options(cls, problem: Problem, options: dict[str, Any]) -> Self:
        """A fresh policy from what `options` gave."""
        return cls(problem, **{**options, "discovery": discovery_from_dict(options["discovery"])})
