"""Experiments by name."""

from ..errors import OptionError, listing
from .base import Experiment
from .de_kroon import FIG2A, FIG2C, FIG5

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in (FIG2A, FIG2C, FIG5)}


def find_experiment(name: str) -> Experiment:
    """An experiment by name."""
    if name not in EXPERIMENTS:
        raise OptionError(f"figure {name!r} is not known; expected one of {listing(EXPERIMENTS)}")
    return EXPERIMENTS[name]
