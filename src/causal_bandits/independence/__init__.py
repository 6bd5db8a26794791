"""Conditional independence tests: each returns statistic, degrees of freedom and p-value; the caller holds alpha."""

from .g_squared import ArmTests, IndependenceResult, g_squared, g_squared_of_arms, p_values
from .residual import Factor, ResidualResults, residual_test, residual_tests

__all__ = [
    "ArmTests",
    "Factor",
    "IndependenceResult",
    "ResidualResults",
    "g_squared",
    "g_squared_of_arms",
    "p_values",
    "residual_test",
    "residual_tests",
]
