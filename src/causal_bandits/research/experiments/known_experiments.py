"""Experiments by name."""

from collections.abc import Mapping

from ...errors import OptionError, listing
from .base import Experiment
from .beyond import BEYOND
from .cycles import CYCLES
from .de_kroon import EXAMPLE, FIG2A, FIG2B, FIG2C, FIG3, FIG4, FIG5, THEOREM
from .late import LATE_FIGURE
from .limits import LIMITS, TAILS
from .oracle import ORACLE_FIGURE
from .practice import PRACTICE_FIGURE
from .readings import READINGS

PAPER: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (FIG2A, FIG2B, FIG2C, FIG3, FIG4, FIG5, THEOREM, EXAMPLE, CYCLES, READINGS)
}
"""The figures of `all`."""
EXPERIMENTS: dict[str, Experiment] = {
    **PAPER,
    BEYOND.name: BEYOND,
    PRACTICE_FIGURE.name: PRACTICE_FIGURE,
    LATE_FIGURE.name: LATE_FIGURE,
    LIMITS.name: LIMITS,
    TAILS.name: TAILS,
    ORACLE_FIGURE.name: ORACLE_FIGURE,
}
ALL = "all"


def find_experiments(name: str, reading: Mapping[str, str] | None = None) -> list[Experiment]:
    """An experiment by name, or all of the paper's; or the claims of one under a reading."""
    if name not in (*EXPERIMENTS, ALL):
        raise OptionError(f"figure {name!r} is not known; expected one of {listing([*EXPERIMENTS, ALL], limit=20)}")
    if reading:
        return [READINGS.under(name, reading)]
    return [EXPERIMENTS[each] for each in PAPER] if name == ALL else [EXPERIMENTS[name]]
