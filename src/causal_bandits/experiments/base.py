"""What an experiment is."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .. import __version__
from ..errors import OptionError, listing
from ..simulate.run import World
from ..simulate.runs import PolicyFactory

WorldMaker = Callable[[int, np.random.SeedSequence], World]
"""Makes a world from its number and a seed for its random parameters."""


class Scale(NamedTuple):
    """How much of an experiment to run."""

    horizon: int
    runs: int
    """Runs per world."""


@dataclass(frozen=True)
class Series:
    """One line of a figure: a policy, and what it was told about the world.

    A series may have a panel, a baseline and a world of its own, where a figure shows the same on several scales.
    """

    key: str
    label: str
    knows: str
    policy: Callable[[World], PolicyFactory]
    panel: str = ""
    baseline: str = ""
    world: WorldMaker | None = None


@dataclass(frozen=True)
class Experiment:
    """A figure: which policies play in which worlds, and the question it answers.

    `world(number, seed)` makes world `number` with random parameters; `weights` are the worlds' shares in the
    weighted mean (`weighted=True`), otherwise all count the same.
    """

    name: str
    title: str
    question: str
    worlds: int
    world: WorldMaker
    series: tuple[Series, ...]
    scales: Mapping[str, Scale]
    weights: Callable[[], list[float]] | None
    baseline: str

    def plan(self, seed: int, size: Scale) -> "Plan":
        """This experiment at a size."""
        return Plan(self.name, seed, size.horizon, size.runs, tuple(series.key for series in self.series))

    def scale(self, name: str) -> Scale:
        """A scale by name."""
        if name not in self.scales:
            raise OptionError(f"scale {name!r} is not known; expected one of {listing(self.scales)}")
        return self.scales[name]


@dataclass(frozen=True)
class Plan:
    """An experiment with everything fixed that its numbers depend on."""

    experiment: str
    seed: int
    horizon: int
    runs: int
    series: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """Chunks of another plan or release have another one, so they never mix."""
        text = json.dumps([vars(self), __version__], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]
