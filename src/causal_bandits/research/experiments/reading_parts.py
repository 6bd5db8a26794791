"""What `reproduce readings` plays: the worlds of the paper's figures, with a policy for every reading."""

from dataclasses import replace
from functools import partial

from ...core.discovery import DirectTesting, ResidualTesting
from ...core.policies import CausalThompsonSampling, CausalUCBNormal, Tier, UCBNormal
from ...core.policies.real import Index
from .base import Scale
from .curves import Curves
from .de_kroon import ASD_JCI, CLASSES, DIRECT, DIRECT_MARGINAL, FIG2B, FIG5, NOTHING, PERFECT, TS
from .measures import MARKED_REGRET, REGRET_AND_ACCEPTANCE
from .methods import Method, told_nothing
from .worlds import structureless_world

OF_BASE = 4
"""The horizon is this many times that of the figures."""
DRAWS = 99
"""Of the permutation test: its level holds with any number, and 999 take ten seconds for a game."""


def _direct(key: str, label: str, discovery: DirectTesting, *, slow: bool = False) -> Method:
    factory = told_nothing(partial(CausalThompsonSampling, discovery=discovery))
    return Method(key, label, NOTHING, factory, Tier.OBSERVED, slow=slow)


TESTS = {
    "conditional": DIRECT,
    "marginal": DIRECT_MARGINAL,
    "joint": _direct("causal-ts-direct-joint", "Causal TS, joint", DirectTesting(reading="joint")),
    "permutation": _direct(
        "causal-ts-direct-permuted",
        "Causal TS, conditional by permutation",
        DirectTesting(calibration="permutation", draws=DRAWS),
        slow=True,
    ),
}
"""Direct testing by its reading."""
ASD_TOO = replace(ASD_JCI, slow=False)


def _curves(name: str, methods: tuple[Method, ...], baseline: str = TS.key) -> Curves:
    return Curves(
        name=name,
        title="",
        question="",
        scales={},
        methods=methods,
        panels=(CLASSES,),
        baseline=baseline,
        measure=MARKED_REGRET,
    )


DAGS = replace(
    _curves("dags", (TS, *TESTS.values(), ASD_TOO, PERFECT)),
    panels=(replace(CLASSES, title="4-node DAGs"),),
    measure=REGRET_AND_ACCEPTANCE,
)
NO_SET = replace(
    _curves("no-set", (TS, *TESTS.values(), ASD_TOO)),
    panels=(replace(CLASSES, suffix="-none", title="no set separates", world=structureless_world),),
)
_FAST = tuple(method for method in TESTS.values() if not method.slow)
OBSERVED = replace(
    _curves("observed", (*_FAST, ASD_TOO), baseline=""),
    panels=(replace(CLASSES, suffix="-obs1000", title="after 1000 observations", observational=1000),),
)
SIZES = replace(_curves("sizes", (TS, *_FAST)), panels=FIG2B.panels[:3])


def ucb_key(printed: bool, joint: bool, bootstrap: bool) -> str:
    """The key of Causal UCB-Normal in a reading."""
    parts = {"-printed": printed, "-joint": joint, "-bootstrap": bootstrap}
    return "causal-ucb-normal" + "".join(name for name, chosen in parts.items() if chosen)


def _ucb(printed: bool, joint: bool, bootstrap: bool) -> Method:
    factory = partial(
        CausalUCBNormal,
        index="printed" if printed else "auer",
        discovery=ResidualTesting(reading="joint" if joint else "conditional"),
        variance="bootstrap" if bootstrap else "closed-form",
    )
    index, test = "printed index" if printed else "Auer's index", ", joint test" if joint else ""
    label = f"Causal UCB-Normal, {index}{test}{', bootstrap' if bootstrap else ''}"
    key, baseline = ucb_key(printed, joint, bootstrap), _PLAIN[printed].key
    return Method(key, label, NOTHING, told_nothing(factory), Tier.OBSERVED, baseline)


def _plain(key: str, label: str, index: Index) -> Method:
    return Method(
        key, f"UCB-Normal, {label}", NOTHING, told_nothing(partial(UCBNormal, index=index)), Tier.REWARDS, key
    )


_PLAIN = {
    False: _plain("ucb-normal", "Auer's index", "auer"),
    True: _plain("ucb-normal-printed", "printed index", "printed"),
}


def _all_ucb(bootstrap: bool) -> tuple[Method, ...]:
    both = (False, True)
    return (*_PLAIN.values(), *(_ucb(printed, joint, bootstrap) for printed in both for joint in both))


SACHS = replace(_curves("sachs", _all_ucb(False), "ucb-normal"), panels=FIG5.panels)
BOOTSTRAP = replace(
    _curves("bootstrap", _all_ucb(True), "ucb-normal"),
    panels=(replace(FIG5.panels[0], suffix="-few", title="log scale, bootstrap"),),
)
"""The bootstrap resamples every row in every round: 5,000 rounds take 40 seconds, and 20,000 sixteen times that."""
SACHS_RUNS, GRAPHS, BOOTSTRAP_RUNS = 12, 5, 1.5
"""Per run of the others: runs on the protein data, random graphs of each size, and runs with the bootstrap."""
FEWEST, FEWEST_GRAPHS, FEWEST_BOOTSTRAPS = 4, 20, 10
"""Fewer runs do not show the spread, and fewer graphs or bootstraps are inconclusive, so they are left out."""


def part_size(part: Curves, size: Scale) -> Scale:
    """How much of a part is played; no runs: it is left out."""
    runs = size.runs * size.share
    if part.name == SIZES.name:
        graphs = GRAPHS * runs
        return Scale(size.horizon, int(graphs >= FEWEST_GRAPHS), share=graphs / SIZES.panels[0].worlds)
    if part.name == SACHS.name:
        return Scale(size.horizon, max(round(SACHS_RUNS * runs), FEWEST))
    if part.name == BOOTSTRAP.name:
        few = round(BOOTSTRAP_RUNS * runs)
        return Scale(size.horizon // OF_BASE, few if few >= FEWEST_BOOTSTRAPS else 0)
    return size._replace(slow_runs=max(size.runs // 2, 1))
