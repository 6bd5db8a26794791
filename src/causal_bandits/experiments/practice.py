"""Practice: low rates, small effects, few arms; one policy that is told nothing against what people use."""

from functools import partial

import numpy as np

from ..environments.practice import Kind
from ..policies import MainEffectsThompson, SafePolicy, Tier
from ..simulation.one_run import World
from .base import Scale
from .claims import Claim, Contrast, Term, at_most
from .curves import Curves
from .de_kroon import DIRECT, NOTHING, TS
from .families import FAMILIES, PRACTICE
from .measures import LOST_CONTROL
from .methods import Method, Panel, told_nothing

SAFE = Method("safe", "Safe", NOTHING, told_nothing(SafePolicy), Tier.OBSERVED)
MAIN = Method("main-effects-ts", "Main-effects TS", NOTHING, told_nothing(MainEffectsThompson), Tier.REWARDS)
WORST, AVERAGE, MEDIATED, HILLSTROM, OF_MAIN = 1.05, 0.85, 0.75, 0.7, 1.1
"""At most so much of the regret of Thompson Sampling: in any kind, on average, where stages separate, on real data; and
of main-effects TS."""


def _world(family: str, number: int, seed: np.random.SeedSequence) -> World:
    return FAMILIES[family].make(0, number, seed)


def _panel(family: str, title: str, worlds: int, stream: int) -> Panel:
    return Panel(f"-{family}", title, worlds, partial(_world, family), stream=(stream,))


def _kinds(*kinds: Kind) -> tuple[str, ...]:
    return tuple(f"{SAFE.key}-practice-{kind}" for kind in kinds)


def _average(bound: float, keys: tuple[str, ...]) -> Contrast:
    terms = tuple(Term(-1 / len(keys), key) for key in keys)
    return Contrast(f"{bound:g} - mean of {len(keys)} kinds", terms, constant=bound)


def _of_main(kind: Kind) -> Contrast:
    terms = (Term(OF_MAIN, f"{MAIN.key}-practice-{kind}"), Term(-1.0, f"{SAFE.key}-practice-{kind}"))
    return Contrast(f"{OF_MAIN:g} {MAIN.key} - {SAFE.key}, {kind}", terms)


PRACTICE_FIGURE = Curves(
    name="practice",
    title="Practice: funnels with rewards of 0.5 to 30 %, and Hillstrom's e-mails",
    question="Does sharing pay where effects are small, and does it never cost much?",
    scales={"smoke": Scale(300, 1, share=0.1), "quick": Scale(2000, 1, share=0.5), "paper": Scale(10_000, 4)},
    methods=(TS, MAIN, DIRECT, SAFE),
    panels=(
        *(
            _panel(f"practice-{kind}", words, FAMILIES[f"practice-{kind}"].worlds, place)
            for place, (kind, words) in enumerate(PRACTICE.items())
        ),
        _panel("hillstrom", "Hillstrom's e-mails: visit almost separates", 20, len(PRACTICE)),
    ),
    baseline="ts",
    measure=LOST_CONTROL,
    claims=(
        Claim(
            "Practice",
            f"On average over all kinds, Safe has at most {AVERAGE} of the regret of Thompson Sampling.",
            (_average(AVERAGE, _kinds(*PRACTICE)),),
        ),
        Claim(
            "Practice",
            f"Where the stages separate, at most {MEDIATED}.",
            (_average(MEDIATED, _kinds("mediated", "noise")),),
        ),
        Claim("Practice", f"In no kind more than {WORST}.", tuple(at_most(WORST, key) for key in _kinds(*PRACTICE))),
        Claim("Practice", f"In every kind at most {OF_MAIN} of main-effects TS.", tuple(map(_of_main, PRACTICE))),
        Claim(
            "Practice", f"On Hillstrom's e-mails at most {HILLSTROM}.", (at_most(HILLSTROM, f"{SAFE.key}-hillstrom"),)
        ),
    ),
)
