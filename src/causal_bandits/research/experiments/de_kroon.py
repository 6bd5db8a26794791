"""The figures of de Kroon, Belgrave and Mooij, *Causal Bandits without prior knowledge using separating sets*.

Horizon and repetitions are not printed in the paper; ours are in the scales.
"""

from dataclasses import replace
from functools import partial

from ...core.discovery import ASD, DirectTesting, KnownSets
from ...core.policies import (
    TARGETS,
    CausalGaussianThompsonSampling,
    CausalThompsonSampling,
    CausalUCBNormal,
    GaussianThompsonSampling,
    ThompsonSampling,
    Tier,
    UCBNormal,
)
from ...errors import WorldError
from ..simulation.many_runs import PolicyFactory
from ..simulation.one_run import World
from ..worlds import DiscreteSCM
from .base import Cases, Scale
from .claims import Claim, Contrast, Term, at_most, below
from .curves import Curves
from .families import class_world, orbit_sizes, random_world, sachs_world, structureless_world
from .methods import ACCEPTANCE, Method, Panel, given_nothing
from .theorem import WORLDS, example_claims, run_example, run_theorem, theorem_claims

SCALES = {"smoke": Scale(500, 1), "quick": Scale(5000, 3), "paper": Scale(5000, 50, slow_runs=20)}


def _parents_told(world: World) -> PolicyFactory:
    if not isinstance(world, DiscreteSCM):
        raise WorldError("the parents of the reward can only be given in a world that has a graph")
    return partial(CausalThompsonSampling, discovery=KnownSets([world.graph.parents(world.problem.target)]))


_causal = partial(given_nothing, policy=CausalThompsonSampling)
_asd = _causal("causal-ts-asd", "Causal TS, ASD-JCI123kt", discovery=ASD(alpha=0.025))

TS = given_nothing("ts", "Thompson Sampling", ThompsonSampling)
DIRECT = _causal("causal-ts-direct", "Causal TS, direct", discovery=DirectTesting(alpha=0.05))
DIRECT_MARGINAL = _causal(
    "causal-ts-direct-marginal", "Causal TS, marginal", discovery=DirectTesting(alpha=0.05, reading="marginal")
)
ASD_JCI = replace(_asd, knows=TARGETS, slow=True)
PERFECT = Method("causal-ts-perfect", "Causal TS, known set", "parents of Y", _parents_told, Tier.SEPARATING_SET)
CLASSES = Panel("", "", 64, class_world)

FIG2A = Curves(
    name="fig2a",
    title="Figure 2(a): all DAGs over 4 binary variables, 27 arms",
    question="How much does sharing through discovered separating sets save where such sets exist?",
    scales=SCALES,
    methods=(TS, DIRECT, DIRECT_MARGINAL, ASD_JCI, PERFECT),
    panels=(CLASSES,),
    baseline="ts",
    weights=orbit_sizes,
    claims=(
        Claim(
            "Fig. 2(a)",
            "Causal Thompson Sampling beats Thompson Sampling on all 4-node DAGs, with either discovery.",
            (below("causal-ts-direct", "ts"), below("causal-ts-asd", "ts")),
        ),
        Claim("Fig. 2(a)", "Direct testing beats ASD-JCI123kt.", (below("causal-ts-direct", "causal-ts-asd"),)),
        Claim(
            "Fig. 2(a)",
            "Knowing the parents of Y is better still.",
            (below("causal-ts-perfect", "causal-ts-direct"), below("causal-ts-perfect", "causal-ts-asd")),
        ),
    ),
)


def _size(nodes: int, graphs: int) -> Panel:
    title = f"{nodes} nodes, {3 ** (nodes - 1):,} arms"
    return Panel(f"-n{nodes}", title, graphs, partial(random_world, nodes), stream=(nodes,))


def _saves_more(large: int, small: int) -> Contrast:
    def saved(nodes: int, sign: float) -> tuple[Term, Term]:
        return Term(sign, f"ts-n{nodes}"), Term(-sign, f"causal-ts-direct-n{nodes}")

    text = f"regret saved with {large} nodes - with {small}"
    return Contrast(text, (*saved(large, 1.0), *saved(small, -1.0)), relative=False)


FIG2B = Curves(
    name="fig2b",
    title="Figure 2(b): random DAGs over 4, 5 and 6 variables; 7 and 8 are our extension",
    question="Does the advantage of sharing grow with the number of variables, and of arms?",
    scales={"smoke": Scale(300, 1, share=0.02), "quick": Scale(5000, 1, share=0.2), "paper": Scale(5000, 1)},
    methods=(TS, DIRECT),
    panels=(_size(4, 200), _size(5, 200), _size(6, 200), _size(7, 20), _size(8, 20)),
    baseline="ts",
    claims=(
        Claim(
            "Fig. 2(b)",
            "The regret that Causal Thompson Sampling saves grows from 4 to 5 to 6 nodes.",
            (_saves_more(5, 4), _saves_more(6, 5)),
        ),
        Claim(
            "Fig. 2(b)",
            "So does the share of the regret that it saves.",
            (below("causal-ts-direct-n5", "causal-ts-direct-n4"), below("causal-ts-direct-n6", "causal-ts-direct-n5")),
        ),
    ),
)

FIG2C = Curves(
    name="fig2c",
    title="Figure 2(c): no separating set exists, 27 arms",
    question="What does it cost to look for separating sets where there are none?",
    scales=SCALES,
    methods=(TS, DIRECT, DIRECT_MARGINAL, ASD_JCI),
    panels=(replace(CLASSES, world=structureless_world),),
    baseline="ts",
    weights=orbit_sizes,
    claims=(
        Claim(
            "Fig. 2(c)",
            "The penalty is small where no separating set exists: at most 1.5 times the regret of Thompson Sampling.",
            (at_most(1.5, "causal-ts-direct"), at_most(1.5, "causal-ts-asd")),
        ),
        Claim(
            "Fig. 2(c)", "ASD-JCI123kt pays less than direct testing.", (below("causal-ts-asd", "causal-ts-direct"),)
        ),
    ),
)


def _helped(key: str) -> Contrast:
    terms = (Term(1.0, f"{key}-obs0"), Term(-1.0, f"{key}-obs1000"))
    return Contrast(f"{key}: regret without - with 1000 observations", terms, relative=False)


FIG3 = Curves(
    name="fig3",
    title="Figure 3: the 4-node DAGs again, after 0, 100 or 1000 observational samples",
    question="How much do observations without intervention, free of regret, help?",
    scales={"smoke": Scale(500, 1), "quick": Scale(5000, 2), "paper": Scale(5000, 50, slow_runs=20)},
    methods=(TS, DIRECT, ASD_JCI),
    panels=tuple(
        replace(CLASSES, suffix=f"-obs{rows}", title=f"{rows} observations", observational=rows)
        for rows in (0, 100, 1000)
    ),
    baseline="ts",
    weights=orbit_sizes,
    claims=(
        Claim(
            "Fig. 3",
            "Observational samples help direct testing and ASD-JCI123kt.",
            (_helped("causal-ts-direct"), _helped("causal-ts-asd")),
        ),
        Claim(
            "Fig. 3",
            "ASD-JCI123kt gains more from them than direct testing.",
            (
                Contrast(
                    "gain of causal-ts-asd - gain of causal-ts-direct",
                    (
                        *_helped("causal-ts-asd").terms,
                        Term(-1.0, "causal-ts-direct-obs0"),
                        Term(1.0, "causal-ts-direct-obs1000"),
                    ),
                    relative=False,
                ),
            ),
        ),
    ),
)

FIG4 = Curves(
    name="fig4",
    title="Figure 4: sets accepted in the 4-node DAGs while the policy plays",
    question="How often is a set accepted that does not separate, and how often one that does?",
    scales=SCALES,
    methods=(
        replace(DIRECT, key="direct", label="direct testing"),
        replace(ASD_JCI, key="asd", label="ASD-JCI123kt"),
    ),
    panels=(CLASSES,),
    measure=ACCEPTANCE,
    weights=orbit_sizes,
    claims=(
        Claim(
            "Fig. 4",
            "ASD-JCI123kt has fewer false positives than direct testing.",
            (below("asd-fpr", "direct-fpr", 0.1), below("asd-fpr", "direct-fpr")),
        ),
        Claim(
            "Fig. 4",
            "ASD-JCI123kt is less sensitive than direct testing.",
            (below("asd-sensitivity", "direct-sensitivity", 0.1), below("asd-sensitivity", "direct-sensitivity")),
        ),
    ),
)


def _largest_inside(at: float) -> Contrast:
    terms = (Term(1.0, "causal-ucb-normal", at), Term(-1.0, "causal-ucb-normal", 0.4))
    return Contrast(f"ratio at {at:g} T - ratio at 0.4 T", terms)


_GAUSSIAN = (
    given_nothing("gaussian-ts", "Gaussian TS", GaussianThompsonSampling, prior_rows=0),
    given_nothing("causal-gaussian-ts", "Causal Gaussian TS", CausalGaussianThompsonSampling, prior_rows=0),
)
FIG5 = Curves(
    name="fig5",
    title="Figure 5: arms drawn from the protein data of Sachs et al. (2005), 8 arms, reward Raf",
    question="Does sharing through regressions help on real data, where no set separates exactly?",
    scales={"smoke": Scale(500, 4), "quick": Scale(5000, 60), "paper": Scale(5000, 400)},
    methods=(
        given_nothing("ucb-normal", "UCB-Normal", UCBNormal),
        given_nothing("causal-ucb-normal", "Causal UCB-Normal", CausalUCBNormal),
        *(replace(each, baseline="gaussian-ts") for each in _GAUSSIAN),
    ),
    panels=(
        Panel("", "log scale", 1, partial(sachs_world, "log")),
        Panel("-raw", "raw scale", 1, partial(sachs_world, "raw")),
    ),
    baseline="ucb-normal",
    claims=(
        Claim(
            "Fig. 5",
            "Causal UCB-Normal beats UCB-Normal on the data of Sachs et al., between 1000 and 4000 rounds and at 5000.",
            tuple(at_most(1.0, "causal-ucb-normal", at) for at in (0.2, 0.4, 0.6, 0.8, 1.0)),
        ),
        Claim(
            "Fig. 5",
            "The relative advantage is largest between 1000 and 4000 rounds.",
            (_largest_inside(0.05), _largest_inside(1.0)),
        ),
        Claim("Fig. 5, raw scale", "The same on the raw scale.", (at_most(1.0, "causal-ucb-normal-raw"),)),
    ),
)

THEOREM = Cases(
    name="theorem",
    title="Theorem 3.1 and appendix A: bias and variance of information sharing",
    question="Is eq. 2 unbiased through a separating set, with the variance that the decomposition says?",
    scales={"smoke": Scale(0, 500, share=0.1), "quick": Scale(0, 4000), "paper": Scale(0, 20000)},
    cases=128,
    run=run_theorem,
    claims=theorem_claims,
)

EXAMPLE = Cases(
    name="example",
    title="Section 3.2: which separating set is best",
    question="Does the graph alone say which of several separating sets to share through?",
    scales={"smoke": Scale(0, 2000), "quick": Scale(0, 20000), "paper": Scale(0, 100000)},
    cases=len(WORLDS),
    run=run_example,
    claims=example_claims,
)
