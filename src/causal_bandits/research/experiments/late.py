"""Late rewards: the value of mediators that are known long before the reward."""

from dataclasses import replace
from functools import partial

import numpy as np

from ...core.policies import Tier
from ..comparators import DelayCorrectedThompson, ImpatientBandit
from ..simulation import told
from ..simulation.delays import ByOutcome, Geometric
from ..simulation.one_run import World
from ..worlds import loan_world, practice_world
from .base import Scale
from .claims import Claim, at_most, below
from .curves import Curves
from .de_kroon import DIRECT, TS
from .families import always
from .methods import LOST_CONTROL, Method, Panel, given_nothing
from .practice import SAFE

PENDING = replace(SAFE, label="Safe with pending rows")
WHOLE = replace(PENDING, key="safe-whole", label="Safe with complete rows", whole_rows=True)
CORRECTED = given_nothing("delay-corrected-ts", "Delay-corrected TS", DelayCorrectedThompson)
IMPATIENT = Method(
    "impatient", "Impatient Bandits", ImpatientBandit.hints, partial(told, "impatient", horizon=2), Tier.PARENTS
)
RATES = {"2": 0.02, "10": 0.1}
MOST = {"2": 0.7, "10": 0.45}
"""Claimed bounds on the regret relative to Thompson Sampling with the same delay, with logged rows of the control."""
ARMS, WORLDS, LOGGED, LATE = 6, 24, 3000, 0.5
EARLY = ByOutcome(zero=5000, other=Geometric(500))
"""Conversions are reported when they happen, and their absence when a window closes."""


def _world(rate: float, _number: int, seed: np.random.SeedSequence) -> World:
    return practice_world("mediated", rate=rate, arms=ARMS, seed=np.random.default_rng(seed))


def _panel(percent: str, logged: int, stream: int) -> Panel:
    before = f"{logged:,} logged control rows before" if logged else "nothing known before"
    suffix = f"-{percent}-logged" if logged else f"-{percent}"
    make = partial(_world, RATES[percent])
    return Panel(suffix, f"{percent}%, {before}", WORLDS, make, logged, (stream,), delay_share=LATE)


LATE_FIGURE = Curves(
    name="late",
    title="Late rewards: funnels with 6 arms and loan offers, rewards half the horizon later",
    question="How much is a mediator worth that is known long before the reward?",
    scales={"smoke": Scale(600, 1, share=0.1), "quick": Scale(10_000, 1), "paper": Scale(10_000, 4)},
    methods=(TS, CORRECTED, DIRECT, WHOLE, PENDING, IMPATIENT),
    panels=(
        *(_panel(percent, logged, place) for place, percent in enumerate(RATES) for logged in (LOGGED, 0)),
        Panel(
            "-10-early",
            "10%, conversions known after 500 rounds on average, others after 5,000",
            WORLDS,
            partial(_world, RATES["10"]),
            stream=(1,),
            delay=EARLY,
        ),
        Panel("-loans", "loan offers, take-up known late", WORLDS, always(loan_world), stream=(2,), delay_share=LATE),
    ),
    baseline="ts",
    measure=LOST_CONTROL,
    claims=(
        *(
            Claim(
                "Late",
                f"At {percent}% with logged rows, pending rows bring Safe to at most {MOST[percent]} of the regret "
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
