"""Beyond the paper: sharing that is sharper where sets exist, and safe where none does."""

from dataclasses import replace

from ..comparators import GraphPosteriorThompson
from .base import Scale
from .claims import Claim, at_most, at_most_of
from .curves import Curves
from .de_kroon import CLASSES, DIRECT, PERFECT, TS
from .families import orbit_sizes, structureless_world
from .methods import given_nothing
from .practice import SAFE

GRAPHS = given_nothing("graph-posterior", "Graph posterior TS", GraphPosteriorThompson)
OF_DIRECT = 0.65


BEYOND = Curves(
    name="beyond",
    title="Beyond the paper: 4-node DAGs with and without separating sets, 27 arms",
    question="Can one policy, given nothing, share more where sets separate and lose little where none does?",
    scales={"smoke": Scale(500, 1), "quick": Scale(2000, 4), "paper": Scale(2000, 20)},
    methods=(TS, DIRECT, SAFE, PERFECT, GRAPHS),
    panels=(
        replace(CLASSES, title="separating sets exist"),
        replace(
            CLASSES,
            suffix="-structureless",
            title="no set separates",
            world=structureless_world,
            without=(PERFECT.key,),
            stream=(2,),
        ),
    ),
    baseline="ts",
    weights=orbit_sizes,
    claims=(
        Claim(
            "Beyond",
            "Where sets exist, Safe has at most 0.33 of the regret of Thompson Sampling.",
            (at_most(0.33, SAFE.key),),
        ),
        Claim(
            "Beyond",
            "There it has at most 0.65 of the regret of the paper's policy with direct testing.",
            (at_most_of(OF_DIRECT, SAFE.key, DIRECT.key),),
        ),
        Claim(
            "Beyond",
            "Where no set separates, it has at most 1.25 times the regret of Thompson Sampling.",
            (at_most(1.25, f"{SAFE.key}-structureless"),),
        ),
    ),
)
