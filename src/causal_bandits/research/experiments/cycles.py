"""Cycles: the paper says that separating sets are valid with cycles and confounding (sec. 1); simulated here."""

from dataclasses import replace
from functools import partial

from ...core.discovery import ASD, KnownSets
from ...core.policies import TARGETS, CausalThompsonSampling, Tier
from ...errors import WorldError
from ..simulation.many_runs import PolicyFactory
from ..simulation.one_run import World
from ..worlds import DiscreteSCM
from .base import Scale
from .claims import Claim, Contrast, at_most, at_most_of, below
from .curves import Curves
from .de_kroon import ASD_JCI, DIRECT, TS
from .families import FAMILIES
from .methods import Method, Panel, given_nothing
from .ours import SAFE

SETS = {"-sets": "cyclic4", "-sets-hidden": "cyclic4-confounded"}
NONE = {"-none": "cyclic4-none", "-none-hidden": "cyclic4-confounded-none"}
PENALTY, SAFE_PENALTY, NO_MORE = 1.5, 1.25, 1.05
"""At most this many times the regret of Thompson Sampling if no set separates (as in Fig. 2(c), and as in `beyond`),
and of ASD that allows cycles."""


def _set_told(world: World) -> PolicyFactory:
    sets = world.separating_sets() if isinstance(world, DiscreteSCM) else []
    if not sets:
        raise WorldError("a separating set can only be given in a world that has one")
    return partial(CausalThompsonSampling, discovery=KnownSets([sets[0]]))


_cyclic = given_nothing(
    "causal-ts-asd-cyclic",
    "Causal TS, ASD with cycles",
    CausalThompsonSampling,
    discovery=ASD(alpha=0.025, acyclic=False),
)
ASD_CYCLIC = replace(_cyclic, knows=TARGETS, slow=True)
KNOWN = Method("causal-ts-known", "Causal TS, known set", "a smallest separating set", _set_told, Tier.SEPARATING_SET)


def _panel(suffix: str, family: str, stream: int) -> Panel:
    hidden = "cycles, hidden causes" if "hidden" in suffix else "cycles"
    title = f"{hidden}: {'no set separates' if suffix in NONE else 'sets separate'}"
    without = (KNOWN.key,) if suffix in NONE else ()
    return Panel(suffix, title, FAMILIES[family].worlds, FAMILIES[family].make, stream=(stream,), without=without)


def _beat_plain(suffix: str) -> tuple[Contrast, ...]:
    return tuple(below(f"{each.key}{suffix}", f"{TS.key}{suffix}") for each in (DIRECT, ASD_CYCLIC))


CYCLES = Curves(
    name="cycles",
    title="Cycles: random graphs over 4 binary variables that cause each other, 27 arms",
    question="Does sharing through discovered sets work with cycles and confounding; must discovery allow for cycles?",
    scales={
        "smoke": Scale(300, 1, share=0.05),
        "quick": Scale(2000, 1, share=0.5),
        "paper": Scale(5000, 5, slow_runs=3),
    },
    methods=(TS, DIRECT, ASD_JCI, ASD_CYCLIC, SAFE, KNOWN),
    panels=tuple(_panel(suffix, family, place) for place, (suffix, family) in enumerate({**SETS, **NONE}.items())),
    baseline="ts",
    claims=(
        Claim(
            "Sec. 1, cycles",
            "With cycles, where a set separates, Causal Thompson Sampling beats Thompson Sampling, with either "
            "discovery.",
            _beat_plain("-sets"),
        ),
        Claim(
            "Sec. 1, cycles",
            "So it does with cycles and hidden common causes.",
            _beat_plain("-sets-hidden"),
        ),
        Claim(
            "Fig. 2(c), with cycles",
            f"Where no set separates, it has at most {PENALTY:g} times the regret of Thompson Sampling.",
            tuple(at_most(PENALTY, f"{key}{suffix}") for suffix in NONE for key in (DIRECT.key, ASD_CYCLIC.key)),
        ),
        Claim(
            "Ours, cycles",
            f"ASD need not allow for cycles: ruling them out costs at most {100 * (NO_MORE - 1):.0f} % more regret.",
            tuple(at_most_of(NO_MORE, ASD_JCI.key, ASD_CYCLIC.key, suffix) for suffix in (*SETS, *NONE)),
        ),
        Claim(
            "Ours, cycles",
            "Safe has less regret than all of them where sets separate.",
            tuple(
                below(f"{SAFE.key}{suffix}", f"{each.key}{suffix}")
                for suffix in SETS
                for each in (DIRECT, ASD_JCI, ASD_CYCLIC)
            ),
        ),
        Claim(
            "Ours, cycles",
            f"Where no set separates, Safe has at most {SAFE_PENALTY:g} times the regret of Thompson Sampling.",
            tuple(at_most(SAFE_PENALTY, f"{SAFE.key}{suffix}") for suffix in NONE),
        ),
    ),
)
