"""Families of worlds over published Bayesian networks: several targets and levers for each."""

from functools import partial
from typing import NamedTuple

import numpy as np

from ..worlds import DiscreteSCM, Nudge, from_bif

Lever = dict[str, list[str | Nudge]]
SHIFTS: list[str | Nudge] = [Nudge(-1.0), Nudge(1.0)]


class Setting(NamedTuple):
    """One question to a network: what is the reward, what can be set, what is seen."""

    network: str
    target: str
    success: tuple[str, ...]
    levers: tuple[str, ...]
    observed: tuple[str, ...]

    def world(self, soft: bool) -> DiscreteSCM:
        """Perfect levers set each level; soft ones add or take 1 from the log odds of higher levels."""
        chosen = dict.fromkeys(self.levers, SHIFTS) if soft else self.levers
        return from_bif(self.network, target=self.target, success=self.success, levers=chosen, observed=self.observed)


CELL = ("PKC", "PKA", "Raf", "Mek", "Erk")
SETTINGS = (
    Setting("asia", "dysp", ("no",), ("smoke", "bronc"), ("asia", "tub", "smoke", "lung", "bronc", "either")),
    Setting("asia", "dysp", ("no",), ("smoke", "lung"), ("smoke", "lung", "bronc", "either")),
    Setting("asia", "dysp", ("no",), ("tub", "bronc"), ("tub", "smoke", "lung", "bronc", "either")),
    Setting("asia", "xray", ("no",), ("smoke", "tub"), ("asia", "tub", "smoke", "lung", "either")),
    Setting("survey", "T", ("train",), ("E", "R"), ("A", "S", "E", "O", "R")),
    Setting("survey", "T", ("train", "other"), ("A", "R"), ("A", "S", "E", "O", "R")),
    Setting("survey", "T", ("train", "other"), ("O", "R"), ("A", "S", "E", "O", "R")),
    Setting("survey", "O", ("self",), ("A", "E"), ("A", "S", "E")),
    Setting("sachs", "Akt", ("HIGH",), ("PKA", "Mek"), CELL),
    Setting("sachs", "Akt", ("LOW",), ("PKC", "Raf"), CELL),
    Setting("sachs", "Erk", ("HIGH",), ("PKC", "Mek"), ("PKC", "PKA", "Raf", "Mek")),
    Setting("sachs", "Jnk", ("LOW",), ("PKC", "PKA"), ("PKC", "PKA", "Raf", "P38")),
)
"""Nothing that matters is hidden: what is not observed is no common cause of what is."""

SMALL = tuple(setting for setting in SETTINGS if len(setting.observed) <= 4)
"""Those that policies over all graphs can take."""

HIDDEN = (
    Setting("asia", "dysp", ("no",), ("lung", "bronc"), ("lung", "bronc", "either")),
    Setting("asia", "dysp", ("no",), ("tub", "bronc"), ("tub", "lung", "bronc", "either")),
    Setting("survey", "T", ("train",), ("O", "R"), ("O", "R")),
    Setting("sachs", "Akt", ("LOW",), ("PKA", "Raf"), ("PKA", "Raf", "Mek", "Erk")),
    Setting("sachs", "Erk", ("HIGH",), ("Raf", "Mek"), ("PKA", "Raf", "Mek")),
)
"""A common cause is hidden: smoking, education, PKC."""


def network_world(
    settings: tuple[Setting, ...], soft: bool, _horizon: int, number: int, _seed: np.random.SeedSequence
) -> DiscreteSCM:
    """A world of a family; its probabilities are published, so the seed changes nothing."""
    return settings[number].world(soft)


perfect_network = partial(network_world, SETTINGS, False)
small_network = partial(network_world, SMALL, False)
soft_network = partial(network_world, SETTINGS, True)
hidden_network = partial(network_world, HIDDEN, False)
