"""Sachs et al. 2005: proteins in single human immune cells under eight treatments (the paper's Fig. 5).

sachs_2005.md next to this file describes the source of the data.
"""

from __future__ import annotations

import gzip
import importlib.resources
from collections.abc import Iterable
from typing import Literal, NamedTuple, get_args

from ...errors import OptionError, UnknownVariableError, listing
from ...libraries import pl
from ..problem import Problem

Scale = Literal["log", "raw"]


class Dataset(NamedTuple):
    """A bandit problem and its logged rows: `LoggedWorld(*dataset)` is a bandit to play."""

    problem: Problem
    frame: pl.DataFrame

    def __repr__(self) -> str:
        return f"Dataset({len(self.frame):,} rows, {self.problem.outline})"


PROTEINS = ("Raf", "Mek", "PLCg", "PIP2", "PIP3", "Erk", "Akt", "PKA", "PKC", "P38", "Jnk")

CONTEXTS = {
    "AKT_inhibitor": ("none", "added"),
    "G0076": ("none", "added"),
    "Psitectorigenin": ("none", "added"),
    "U0126": ("none", "added"),
    "LY294002": ("none", "added"),
    "stimulus": ("alpha-CD3/28", "PMA", "beta2CAMP"),
}
"""The six context variables, idle value first."""

EXPERIMENTS = {
    1: {},
    3: {"AKT_inhibitor": "added"},
    4: {"G0076": "added"},
    5: {"Psitectorigenin": "added"},
    6: {"U0126": "added"},
    7: {"LY294002": "added"},
    8: {"stimulus": "PMA"},
    9: {"stimulus": "beta2CAMP"},
}
"""What each experiment changes; they are the arms, in this order. Experiment 2 (ICAM-2) is left out."""


def sachs(
    scale: Scale = "log", *, target: str = "Raf", observed: str | Iterable[str] = ("Mek", "Erk", "Akt", "PKC")
) -> Dataset:
    """The 6564 cells of Sachs et al. 2005 with six context variables that make eight arms.

    `scale` is the natural logarithm of the measurements, as in the paper, or raw. The frame holds all eleven proteins;
    `target` and `observed` choose what the problem asks and sees.

    >>> problem, frame = sachs()
    >>> problem
    Problem(target='Raf', observed=['Mek', 'Erk', 'Akt', 'PKC'], interventions=['AKT_inhibitor', 'G0076', \
'Psitectorigenin', 'U0126', 'LY294002', 'stimulus'], 8 arms)
    >>> frame.shape, problem.arms[-2:]
    ((6564, 17), (do(stimulus=PMA), do(stimulus=beta2CAMP)))
    """
    if scale not in get_args(Scale):
        raise OptionError(f"scale={scale!r}; expected one of {listing(get_args(Scale))}")
    seen = (observed,) if isinstance(observed, str) else tuple(observed)
    for name in (target, *seen):
        if name not in PROTEINS:
            raise UnknownVariableError(
                f"{name!r} was not measured; the proteins are {listing(PROTEINS, len(PROTEINS))}"
            )
    problem = Problem(target, dict.fromkeys(seen, float), CONTEXTS, arms=EXPERIMENTS.values(), reward=float)
    cells = _cells()
    contexts = [
        pl.col("experiment")
        .replace_strict({number: changed.get(name, levels[0]) for number, changed in EXPERIMENTS.items()})
        .alias(name)
        for name, levels in CONTEXTS.items()
    ]
    measured = pl.col(PROTEINS).log() if scale == "log" else pl.col(PROTEINS)
    return Dataset(problem, cells.select(*contexts, measured))


def _cells() -> pl.DataFrame:
    """The experiment and the measurements of every cell."""
    packed = importlib.resources.files(__package__).joinpath("sachs_2005.csv.gz").read_bytes()
    schema = {"experiment": pl.Int64, **dict.fromkeys(PROTEINS, pl.Float64)}
    return pl.read_csv(gzip.decompress(packed), schema=schema)
