"""Conditional independence: tests give statistic, dof and p-value, Bayes factors nats; the caller decides."""

from .bayes import LeverGroups, log_bayes_factor
from .g_squared import ArmTests, IndependenceResult, g_squared, g_squared_of_arms, p_values
from .residual import Factor, ResidualResults, residual_test, residual_tests

__all__ = [
    "ArmTests",
    "Factor",
    "IndependenceResult",
    "LeverGroups",
    "ResidualResults",
    "g_squared",
    "g_squared_of_arms",
    "log_bayes_factor",
    "p_values",
    "residual_test",
    "residual_tests",
]
