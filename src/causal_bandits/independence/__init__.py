"""Conditional independence: tests give statistic, dof and p-value, Bayes factors nats; the caller decides."""

from .bayes import log_bayes_factor, log_bayes_factors_of_arms
from .g_squared import ArmTests, IndependenceResult, g_squared, g_squared_of_arms, p_values
from .regressions import regression_factors
from .residual import Factor, ResidualResults, residual_test, residual_tests

__all__ = [
    "ArmTests",
    "Factor",
    "IndependenceResult",
    "ResidualResults",
    "g_squared",
    "g_squared_of_arms",
    "log_bayes_factor",
    "log_bayes_factors_of_arms",
    "p_values",
    "regression_factors",
    "residual_test",
    "residual_tests",
]
