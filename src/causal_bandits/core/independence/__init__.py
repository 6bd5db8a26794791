"""Conditional independence: tests give statistic, dof and p-value, Bayes factors nats; the caller decides."""

from .bayes import factors_of_arms, log_bayes_factor
from .g_squared import ArmTests, IndependenceResult, g_squared, g_squared_of_arms, p_values
from .permutation import permutation_test, permuted_of_arms
from .regressions import regression_factors
from .residual import Factor, residual_test, residual_tests

__all__ = [
    "ArmTests",
    "Factor",
    "IndependenceResult",
    "factors_of_arms",
    "g_squared",
    "g_squared_of_arms",
    "log_bayes_factor",
    "p_values",
    "permutation_test",
    "permuted_of_arms",
    "regression_factors",
    "residual_test",
    "residual_tests",
]
