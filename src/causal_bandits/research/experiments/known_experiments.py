"""Experiments by name."""

from ...errors import OptionError, listing
from .base import Experiment
from .cycles import CYCLES
from .de_kroon import EXAMPLE, FIG2A, FIG2B, FIG2C, FIG3, FIG4, FIG5, THEOREM
from .oracle import ORACLE_FIGURE
from .ours import BEYOND, LATE_FIGURE, LIMITS, PRACTICE_FIGURE, TAILS
from .readings import READINGS

PAPER: dict[str, Experiment] = {
    each.name: each for each in (FIG2A, FIG2B, FIG2C, FIG3, FIG4, FIG5, THEOREM, EXAMPLE, CYCLES, READINGS)
}
"""The figures of `all`."""
OURS = (BEYOND, PRACTICE_FIGURE, LATE_FIGURE, LIMITS, TAILS, ORACLE_FIGURE)
EXPERIMENTS: dict[str, Experiment] = {**PAPER, **{each.name: each for each in OURS}}
ALL = "all"


def find_experiments(name: str) -> list[Experiment]:
    """An experiment by name, or all of the paper's."""
    if name not in (*EXPERIMENTS, ALL):
        raise OptionError(f"figure {name!r} is not known; expected one of {listing([*EXPERIMENTS, ALL], limit=20)}")
    return [EXPERIMENTS[each] for each in PAPER] if name == ALL else [EXPERIMENTS[name]]
