"""The command line: parses and prints, computes nothing. One module per command; importing it adds the command."""

from . import (  # noqa: F401
    alarms,
    analyze,
    compare,
    plan,
    reproduce,
    serve,
    storage,
    study,
    study_arms,
    study_results,
    warm_up,
)
from .root import app, main

__all__ = ["app", "main"]
