"""Lower bounds on regret compared with the regret of policies, and the tails of regret."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ...core.compiled import Ints
from ...libraries import pl
from ...reporting.summaries import ClaimRecord, Measured
from ..simulation import play, told
from ..worlds import DiscreteWorld, hillstrom_world, practice_world
from .base import Cases, Scale
from .claims import Claim, at_most, record
from .curves import Curves
from .de_kroon import DIRECT, TS
from .families import FAMILIES, always
from .methods import REGRET, Panel, Shown, regret_at
from .practice import SAFE

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
WORLDS = [(family, number) for family, count in FAMILIES_OF_LIMITS.items() for number in range(count)]
PLAYED = ("ts", "causal-ts-known", "told-means", "ossb")
NEAR = 0.05
"""How far C_S / C_0 may be from eta^2 on average, where a best arm reaches every cell."""


BINDS = 0.02
"""An asymptotic bound binds only if it is a small part of the regret of uniform play."""


def run_limits(number: int, size: Scale, seed: np.random.SeedSequence) -> pl.DataFrame:
    """One world: its limits, and the regret of policies that are given more and more; one row per policy."""
    family, which = WORLDS[number]
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
    cases=len(WORLDS),
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
    one_method=True,
    measure=REGRET._replace(lines={"": Shown("", decades)}, take=partial(regret_at, decades)),
    claims=(
        Claim(
            "Tails",
            "In none of the three worlds does Safe have more mean regret than Thompson sampling.",
            tuple(at_most(1.0, f"safe-{name}") for name in TAIL_WORLDS),
        ),
    ),
)
