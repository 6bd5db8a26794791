"""Logging for the command line and the server; importing the library configures nothing.

Loggers: `causal_bandits.studies` (what happens to studies and their storage), `causal_bandits.service` (the server).
"""

import logging
import sys


def log_to_stderr(level: str) -> None:
    """Log messages of this package to standard error, from a level on: debug, info, warning or error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    ours = logging.getLogger("causal_bandits")
    ours.handlers = [handler]
    ours.setLevel(level.upper())
