"""The command line: parses and prints, computes nothing. Importing a module adds its commands."""

from . import analyze, operations, simulations, study, study_results  # noqa: F401
from .root import app, main

__all__ = ["app", "main"]
