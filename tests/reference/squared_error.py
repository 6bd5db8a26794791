"""The choice of sets by expected squared error, slow and obvious: every count is made anew from the rows."""

from collections.abc import Sequence

from causal_bandits import Problem
from tests.reference.algorithm1 import Data, beta_variance, exact_variance, shared_counts


def errors_of_sets(
    data: Data, problem: Problem, sets: Sequence[tuple[tuple[str, ...], tuple[str, ...]]], probability: Sequence[float]
) -> list[dict[tuple[str, ...] | None, float]]:
    """Per arm the expected squared error through every set; None: through its own rows."""
    found = []
    for arm in problem.arm_codes:
        own = (data.interventions == arm).all(axis=1)
        ones, zeros = int((data.rewards[own] == 1).sum()), int((data.rewards[own] == 0).sum())
        own_mean, own_variance = (ones + 1) / (ones + zeros + 2), beta_variance(ones, zeros)
        errors: dict[tuple[str, ...] | None, float] = {None: own_variance}
        for (variables, separated), held in zip(sets, probability, strict=True):
            a, b, c = shared_counts(data, problem, arm, variables, separated)
            mean = float(((a + 1) / (a + 1).sum()) @ ((b + 1) / (b + c + 2)))
            variance = exact_variance(a, b, c)
            noise = max(0.0, own_variance - variance)  # Var(own - shared), since Cov(shared, own) = Var(shared)
            errors[variables] = variance + (1 - held) * max(0.0, (mean - own_mean) ** 2 - noise)
        found.append(errors)
    return found
