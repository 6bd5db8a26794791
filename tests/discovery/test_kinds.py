"""A discovery for counts and one for moments are not mixed up."""

from typing import Any

import pytest

from causal_bandits import ASD, CausalThompsonSampling, CausalUCBNormal, DirectTesting, Problem, ResidualTesting
from causal_bandits.errors import OptionError

DISCRETE = Problem("Y", {"A": 2}, {"I": 2}, targets={"I": "A"})
REAL = Problem("Y", {"A": float}, {"I": 2}, targets={"I": "A"}, reward=float)


@pytest.mark.parametrize("discovery", [DirectTesting(), ASD()])
def test_counts_cannot_be_read_from_a_real_problem(discovery: Any) -> None:
    with pytest.raises(OptionError, match=r"needs discrete variables and a reward of 0 or 1; use ResidualTesting\(\)"):
        CausalUCBNormal(REAL, discovery=discovery)


def test_moments_cannot_be_read_from_a_discrete_problem() -> None:
    wrong: Any = ResidualTesting()
    with pytest.raises(OptionError, match=r"needs a real-valued reward; use DirectTesting\(\) or ASD\(\)"):
        CausalThompsonSampling(DISCRETE, discovery=wrong)
