"""Late rewards: what is known of mediators long before the rewards come, and what it is worth."""

from dataclasses import replace
from functools import partial

import numpy as np

from ..environments import practice_world
from ..policies import SafePolicy, Tier
from ..simulation.one_run import World
from .base import Scale
from .claims import Claim, at_most, below
from .curves import Curves
from .de_kroon import DIRECT, NOTHING, TS
from .measures import LOST_CONTROL
from .methods import Method, Panel, told_nothing

PENDING = Method("safe", "Safe, pending rows count", NOTHING, told_nothing(SafePolicy), Tier.OBSERVED)
WHOLE = replace(PENDING, key="safe-whole", label="Safe, complete rows only", whole_rows=True)
RATES = {"2": 0.02, "10": 0.1}
MOST = {"2": 0.7, "10": 0.45}
"""At most so much of the regret of Thompson Sampling with the same delay, where the control was logged before."""
ARMS, WORLDS, LOGGED, LATE = 6, 24, 3000, 0.5


def _world(rate: float, _number: int, seed: np.random.SeedSequence) -> World:
    return practice_world("mediated", rate=rate, arms=ARMS, seed=np.random.default_rng(seed))


def _panel(percent: str, logged: int, stream: int) -> Panel:
    before = f"{logged:,} logged control rows before" if logged else "nothing known before"
    suffix = f"-{percent}-logged" if logged else f"-{percent}"
    make = partial(_world, RATES[percent])
    return Panel(suffix, f"{percent} %, {before}", WORLDS, make, logged, (stream,), delay_share=LATE)


LATE_FIGURE = Curves(
    name="late",
    title="Late rewards: funnels with 6 arms, rewards half the horizon later",
    question="What is a mediator worth that is known long before the reward?",
    scales={"smoke": Scale(600, 1, share=0.1), "quick": Scale(10_000, 1), "paper": Scale(10_000, 4)},
    methods=(TS, DIRECT, WHOLE, PENDING),
    panels=tuple(_panel(percent, logged, place) for place, percent in enumerate(RATES) for logged in (LOGGED, 0)),
    baseline="ts",
    measure=LOST_CONTROL,
    claims=(
        *(
            Claim(
                "Late",
                f"At {percent} % with logged rows, pending rows bring Safe to at most {MOST[percent]} of the regret "
                "of Thompson Sampling.",
                (at_most(MOST[percent], f"{PENDING.key}-{percent}-logged"),),
            )
            for percent in RATES
        ),
        Claim(
            "Late",
            "With logged rows, counting pending rows has less regret than complete rows only.",
            tuple(below(f"{PENDING.key}-{percent}-logged", f"{WHOLE.key}-{percent}-logged") for percent in RATES),
        ),
        Claim(
            "Late",
            "Without, it has less regret too.",
            tuple(below(f"{PENDING.key}-{percent}", f"{WHOLE.key}-{percent}") for percent in RATES),
        ),
    ),
)
