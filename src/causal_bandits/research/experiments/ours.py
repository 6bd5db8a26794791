"""Our own figures, not in the paper: practice, beyond the paper, late rewards, limits and tails."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from ...core.compiled import Ints
from ...core.policies import SafePolicy, Tier
from ...libraries import pl
from ...reporting.summaries import ClaimRecord, Measured
from ..comparators import (
    DelayCorrectedThompson,
    GraphPosteriorThompson,
    ImpatientBandit,
    MainEffectsThompson,
    ToldMeans,
)
from ..simulation import play, told
from ..simulation.delays import ByOutcome, Geometric
from ..simulation.many_runs import PolicyFactory
from ..simulation.one_run import World
from ..worlds import DiscreteWorld, hillstrom_world, loan_world, practice_world
from ..worlds.practice import Kind
from .base import Cases, Scale
from .claims import Claim, Contrast, Term, at_most, at_most_of, below, record
from .curves import Curves
from .de_kroon import CLASSES, DIRECT, PERFECT, TS
from .families import FAMILIES, PRACTICE, always, orbit_sizes, structureless_world
from .methods import LOST_CONTROL, REGRET, Method, Panel, Shown, given_nothing, regret_at

# Practice: low rates, small effects, few arms; the default policy compared with common ones

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

# Beyond the paper: sharing that is sharper where sets exist, and safe where none does

GRAPHS = given_nothing("graph-posterior", "Graph posterior TS", GraphPosteriorThompson)
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
            (at_most_of(0.65, SAFE.key, DIRECT.key),),
        ),
        Claim(
            "Beyond",
            "Where no set separates, it has at most 1.25 times the regret of Thompson Sampling.",
            (at_most(1.25, f"{SAFE.key}-structureless"),),
        ),
    ),
)

# Late rewards: the value of mediators that are known long before the reward

PENDING = replace(SAFE, label="Safe with pending rows")
WHOLE = replace(PENDING, key="safe-whole", label="Safe with complete rows", whole_rows=True)
CORRECTED = given_nothing("delay-corrected-ts", "Delay-corrected TS", DelayCorrectedThompson)
IMPATIENT = Method(
    "impatient", "Impatient Bandits", ImpatientBandit.hints, partial(told, "impatient", horizon=2), Tier.PARENTS
)
LATE_RATES = {"2": 0.02, "10": 0.1}
MOST = {"2": 0.7, "10": 0.45}
"""Claimed bounds on the regret relative to Thompson Sampling with the same delay, with logged rows of the control."""
ARMS, LATE_WORLDS, LOGGED, LATE = 6, 24, 3000, 0.5
EARLY = ByOutcome(zero=5000, other=Geometric(500))
"""Conversions are reported when they happen, and their absence when a window closes."""


def _late_world(rate: float, _number: int, seed: np.random.SeedSequence) -> World:
    return practice_world("mediated", rate=rate, arms=ARMS, seed=np.random.default_rng(seed))


def _late_panel(percent: str, logged: int, stream: int) -> Panel:
    before = f"{logged:,} logged control rows before" if logged else "nothing known before"
    suffix = f"-{percent}-logged" if logged else f"-{percent}"
    make = partial(_late_world, LATE_RATES[percent])
    return Panel(suffix, f"{percent}%, {before}", LATE_WORLDS, make, logged, (stream,), delay_share=LATE)


LATE_FIGURE = Curves(
    name="late",
    title="Late rewards: funnels with 6 arms and loan offers, rewards half the horizon later",
    question="How much is a mediator worth that is known long before the reward?",
    scales={"smoke": Scale(600, 1, share=0.1), "quick": Scale(10_000, 1), "paper": Scale(10_000, 4)},
    methods=(TS, CORRECTED, DIRECT, WHOLE, PENDING, IMPATIENT),
    panels=(
        *(_late_panel(percent, logged, place) for place, percent in enumerate(LATE_RATES) for logged in (LOGGED, 0)),
        Panel(
            "-10-early",
            "10%, conversions known after 500 rounds on average, others after 5,000",
            LATE_WORLDS,
            partial(_late_world, LATE_RATES["10"]),
            stream=(1,),
            delay=EARLY,
        ),
        Panel(
            "-loans", "loan offers, take-up known late", LATE_WORLDS, always(loan_world), stream=(2,), delay_share=LATE
        ),
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
            for percent in LATE_RATES
        ),
        Claim(
            "Late",
            "With logged rows, counting pending rows has less regret than complete rows only.",
            tuple(below(f"{PENDING.key}-{percent}-logged", f"{WHOLE.key}-{percent}-logged") for percent in LATE_RATES),
        ),
        Claim(
            "Late",
            "Without, it has less regret too.",
            tuple(below(f"{PENDING.key}-{percent}", f"{WHOLE.key}-{percent}") for percent in LATE_RATES),
        ),
    ),
)

# Lower bounds on regret compared with the regret of policies, and the tails of regret

FAMILIES_OF_LIMITS = {
    "practice-mediated": 20,
    "practice-direct": 4,
    "soft9": 8,
    "networks-soft": 4,
    "dags4-singles": 8,
    "networks-singles": 4,
    "hillstrom": 1,
    "loans": 1,
}
"""Families, and how many of their worlds."""
CASES = [(family, number) for family, count in FAMILIES_OF_LIMITS.items() for number in range(count)]
PLAYED = ("ts", "causal-ts-known", "told-means", "ossb")
NEAR = 0.05
"""How far C_S / C_0 may be from eta^2 on average, where a best arm reaches every cell."""


BINDS = 0.02
"""An asymptotic bound binds only if it is a small part of the regret of uniform play."""


def run_limits(number: int, size: Scale, seed: np.random.SeedSequence) -> pl.DataFrame:
    """One world: its limits, and the regret of policies that are given more and more; one row per policy."""
    family, which = CASES[number]
    of_world, of_runs = seed.spawn(2)
    world = FAMILIES[family].maker(size.horizon)(which, of_world)
    assert isinstance(world, DiscreteWorld)
    found = world.limits(FAMILIES[family].claimed)
    rows = []
    for name in PLAYED if found.separates or FAMILIES[family].claimed else PLAYED[:1]:
        factory = told(name, world, horizon=size.horizon, separating=found.separating)
        ends, slopes = [], []
        for child in np.random.SeedSequence(of_runs.entropy, spawn_key=of_runs.spawn_key).spawn(size.runs):
            of_draws, of_policy = child.spawn(2)
            policy = factory(world.problem, seed=np.random.default_rng(of_policy))
            regret = play(policy, world, size.horizon, np.random.default_rng(of_draws)).regret(world.means)
            ends.append(regret[-1])
            slopes.append((regret[-1] - regret[size.horizon // 10 - 1]) / math.log(10))
        rows.append(
            {
                "family": family,
                "world": which,
                "arms": len(world.problem.arms),
                "set": "{" + ", ".join(found.separating) + "}",
                "separates": found.separates,
                "c0": found.c0,
                "cs": found.cs,
                "cp": found.cp,
                "eta2": found.eta2,
                "mean_gap": float(world.means.max() - world.means.mean()),
                "policy": name,
                "horizon": size.horizon,
                "runs": size.runs,
                "regret": float(np.mean(ends)),
                "regret_se": _error(ends),
                "per_log": float(np.mean(slopes)),
                "per_log_se": _error(slopes),
            }
        )
    return pl.DataFrame(rows)


def _error(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def limit_claims(rows: pl.DataFrame) -> list[ClaimRecord]:
    """eta^2 is the ratio of the constants; no policy that is given the set loses less per ln t than the bound."""
    worlds = rows.filter(pl.col("policy") == "ts", pl.col("separates"), pl.col("cp") == 0, pl.col("c0") > 0)
    apart = (worlds["cs"] / worlds["c0"] - worlds["eta2"]).abs().to_numpy()
    claims = [
        record(
            "Limits",
            f"C_S / C_0 differs from eta^2 by at most {NEAR} on average, where a best arm reaches every cell.",
            [Measured(f"{NEAR} - mean |C_S / C_0 - eta^2|", NEAR - float(apart.mean()), _error(list(apart)))],
        )
    ]
    bound, uniform = pl.col("cs") * pl.col("horizon").log(), pl.col("mean_gap") * pl.col("horizon")
    told_set = pl.col("policy") == "causal-ts-known"
    causal = rows.filter(told_set, pl.col("separates"), pl.col("cs") > 0, bound <= BINDS * uniform)
    if len(causal) and causal["runs"][0] > 1:
        ratio = (causal["per_log"] / causal["cs"]).to_numpy()
        errors = (causal["per_log_se"] / causal["cs"]).to_numpy()
        mean, se = float(ratio.mean()), float(np.sqrt((errors**2).sum()) / len(errors))
        text = (
            "Causal Thompson sampling given the set does not lose less than C_S per ln t in the last decade of rounds, "
            f"where C_S ln T is at most {BINDS:.0%} of the regret of uniform play."
        )
        claims.append(
            record("Limits", text, [Measured("mean of its regret per ln t / C_S - 1", mean - 1, se, "not negative")])
        )
    return claims


LIMITS = Cases(
    name="limits",
    title="Limits: lower bounds on regret, and the regret of policies with increasing knowledge",
    question="How far are policies from the best possible, and how much can mediators be worth?",
    scales={"smoke": Scale(300, 2, share=0.1), "quick": Scale(10_000, 4), "paper": Scale(100_000, 50)},
    cases=len(CASES),
    run=run_limits,
    claims=limit_claims,
)


def decades(horizon: int) -> Ints:
    """1,000 rounds, ten times as many, and so on; the last at the horizon."""
    steps = [10**power for power in range(3, 9) if 10**power < horizon]
    return np.array([*steps, horizon], dtype=np.int64)


TAIL_WORLDS = {
    "funnel": ("a funnel, 6 arms, 8%", always(practice_world, kind="mediated", rate=0.08, arms=6, seed=1)),
    "networks-singles": (
        "a network, single interventions",
        always(FAMILIES["networks-singles"].make, number=0, seed=np.random.SeedSequence(0)),
    ),
    "hillstrom": ("three arms with rare rewards (Hillstrom)", always(hillstrom_world)),
}
"""One world for all runs: tails within a world, not between worlds."""
TAILS = Curves(
    name="tails",
    title="Tails: how often a run loses many times the median",
    question="How heavy are the tails of regret, and which policy has the heaviest?",
    scales={"smoke": Scale(300, 20), "quick": Scale(10_000, 200), "paper": Scale(100_000, 10_000)},
    methods=(TS, DIRECT, SAFE),
    panels=tuple(
        Panel(f"-{name}", title, 1, make, stream=(place,))
        for place, (name, (title, make)) in enumerate(TAIL_WORLDS.items())
    ),
    baseline="ts",
    chunk_runs=100,
    measure=REGRET._replace(lines={"": Shown("", decades)}, take=partial(regret_at, decades)),
    claims=(
        Claim(
            "Tails",
            "In none of the three worlds does Safe have more mean regret than Thompson sampling.",
            tuple(at_most(1.0, f"safe-{name}") for name in TAIL_WORLDS),
        ),
    ),
)
