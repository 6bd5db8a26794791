"""Practice: low rates, small effects, few arms; the default policy compared with common ones."""

from ...core.policies import SafePolicy, Tier
from ..comparators import MainEffectsThompson, ToldMeans
from ..simulation import told
from ..simulation.many_runs import PolicyFactory
from ..simulation.one_run import World
from ..worlds import DiscreteWorld
from ..worlds.practice import Kind
from .base import Scale
from .claims import Claim, Contrast, Term, at_most
from .curves import Curves
from .de_kroon import DIRECT, TS
from .families import FAMILIES, PRACTICE
from .methods import LOST_CONTROL, Method, Panel, given_nothing

SAFE = given_nothing("safe", "Safe", SafePolicy)
MAIN = given_nothing("main-effects-ts", "Main-effects TS", MainEffectsThompson)
WORST, AVERAGE, MEDIATED, HILLSTROM, OF_MAIN = 1.05, 0.85, 0.75, 0.7, 1.1
"""Claimed bounds on the regret relative to Thompson Sampling: in any kind, on average, if stages separate, on real
data; and relative to main-effects TS."""


def _told_means(world: World) -> PolicyFactory:
    """The oracle of worlds in which a set separates, or almost: all that is observed, if no set does exactly."""
    assert isinstance(world, DiscreteWorld)
    return told("told-means", world, horizon=2, separating=world.separating_set() or world.problem.observed_names)


ORACLE = Method("told-means", "Oracle given S and E[Y | S]", ToldMeans.hints, _told_means, Tier.PARENTS)
SEPARABLE: tuple[Kind, ...] = ("mediated", "noise")


def _panel(family: str, title: str, worlds: int, stream: int, without: tuple[str, ...] = ()) -> Panel:
    return Panel(f"-{family}", title, worlds, FAMILIES[family].make, stream=(stream,), without=without)


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
    title="Practice: funnels with rewards of 0.5 to 30%, Hillstrom's e-mails and loan offers",
    question="Does sharing pay if effects are small, and is its cost always small?",
    scales={"smoke": Scale(300, 1, share=0.1), "quick": Scale(2000, 1, share=0.5), "paper": Scale(10_000, 4)},
    methods=(TS, MAIN, DIRECT, SAFE, ORACLE),
    oracle=ORACLE.key,
    panels=(
        *(
            _panel(
                f"practice-{kind}",
                words,
                FAMILIES[f"practice-{kind}"].worlds,
                place,
                () if kind in SEPARABLE else (ORACLE.key,),
            )
            for place, (kind, words) in enumerate(PRACTICE.items())
        ),
        _panel("hillstrom", "Hillstrom's e-mails: visit almost separates", 20, len(PRACTICE)),
        _panel("loans", "Karlan and Zinman's loan offers: applied separates", 20, len(PRACTICE) + 1),
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
