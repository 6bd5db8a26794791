"""Stale snapshots: the regret of high-throughput mode, which decides from older snapshots.

High-throughput mode counts rows in batches: where a batch has 1% of the rounds so far, snapshots are at most 1% of the
rounds old. How old they are in seconds does not matter to what is learned.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from ...core.policies import SafePolicy, Tier
from ..simulation.delays import Batched
from ..simulation.one_run import World
from ..worlds import practice_world
from .base import Scale
from .claims import Claim, Contrast, Term
from .curves import Curves
from .de_kroon import NOTHING
from .families import FAMILIES
from .measures import LOST_CONTROL
from .methods import Method, Panel, told_nothing

STRICT = Method("safe", "strict", NOTHING, told_nothing(SafePolicy), Tier.OBSERVED)
SHARES = {"1": 0.01, "5": 0.05, "20": 0.2}
WITHIN = 1.02
"""Claimed bound on the regret relative to transactional mode, with snapshots at most 1% of the rounds old."""
RATES = {"2": 0.02, "10": 0.1}
ARMS, WORLDS = 6, 64


def _stale(percent: str) -> Method:
    label = f"high throughput, {percent} % of the rounds old"
    return replace(
        STRICT, key=f"{STRICT.key}-{percent}", label=label, whole_rows=True, batches=Batched(growth=SHARES[percent])
    )


def _funnel(rate: float, _number: int, seed: np.random.SeedSequence) -> World:
    return practice_world("mediated", rate=rate, arms=ARMS, seed=np.random.default_rng(seed))


def _dag(number: int, seed: np.random.SeedSequence) -> World:
    return FAMILIES["dags4"].make(0, number, seed)


PANELS = (
    *(
        Panel(
            f"-funnel-{percent}", f"Funnels with {ARMS} arms, {percent} %", WORLDS, partial(_funnel, rate), stream=(at,)
        )
        for at, (percent, rate) in enumerate(RATES.items())
    ),
    Panel("-dags4", "All 4-node DAGs, 27 arms", FAMILIES["dags4"].worlds, _dag, stream=(len(RATES),)),
)


def _average() -> Contrast:
    terms = tuple(Term(-1 / len(PANELS), f"{STRICT.key}-1{panel.suffix}") for panel in PANELS)
    return Contrast(f"{WITHIN:g} - mean of {len(PANELS)} families", terms, constant=WITHIN)


STALE_FIGURE = Curves(
    name="stale",
    title="Stale snapshots: Safe with rows reported in batches",
    question="How much regret is due to old snapshots in high-throughput mode?",
    scales={"smoke": Scale(300, 1, share=0.05), "quick": Scale(2000, 2), "paper": Scale(2000, 20)},
    methods=(STRICT, *map(_stale, SHARES)),
    panels=PANELS,
    baseline=STRICT.key,
    measure=LOST_CONTROL,
    claims=(
        Claim(
            "Stale",
            "With snapshots at most 1% of the rounds old, regret is within 2% of transactional mode's, on average over "
            "the three families.",
            (_average(),),
        ),
    ),
)
