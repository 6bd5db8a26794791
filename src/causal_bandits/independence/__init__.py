"""Conditional independence tests: each returns statistic, degrees of freedom and p-value; the caller holds alpha."""

from .g_squared import ArmTests, IndependenceResult, g_squared, g_squared_of_arms, p_values

__all__ = ["ArmTests", "IndependenceResult", "g_squared", "g_squared_of_arms", "p_values"]
