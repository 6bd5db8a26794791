"""`reproduce readings`: every claim under each reading of what the paper leaves open."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, cast

from ...core.discovery import DirectTesting, ResidualTesting
from ...core.policies import CausalThompsonSampling, CausalUCBNormal, UCBNormal
from ...libraries import pl
from ...reporting.summaries import CellRecord, MatrixRecord, Summary
from .base import Chunk, Experiment, Scale
from .claims import Contrast
from .curves import Curves, Line, lines_of, measure, series_of
from .de_kroon import (
    ASD_JCI,
    CLASSES,
    DIRECT,
    DIRECT_MARGINAL,
    EXAMPLE,
    FIG2A,
    FIG2B,
    FIG2C,
    FIG3,
    FIG4,
    FIG5,
    PERFECT,
    THEOREM,
    TS,
)
from .families import structureless_world
from .matrix import INDEX, RESIDUAL, ROUNDS, TEST, UNIT, VARIANCE
from .methods import MARKED_REGRET, REGRET_AND_ACCEPTANCE, Measure, Method, Panel, given_nothing

# What `reproduce readings` plays: the worlds of the paper's figures, with a policy for every reading


OF_BASE = 4
"""The horizon is this many times that of the figures."""
DRAWS = 99
"""Of the permutation test: its level holds with any number, and 999 take ten seconds for a game."""


_direct = partial(given_nothing, policy=CausalThompsonSampling)
_permuted = _direct(
    "causal-ts-direct-permuted",
    "Causal TS, conditional by permutation",
    discovery=DirectTesting(calibration="permutation", draws=DRAWS),
)
TESTS = {
    "conditional": DIRECT,
    "marginal": DIRECT_MARGINAL,
    "joint": _direct("causal-ts-direct-joint", "Causal TS, joint", discovery=DirectTesting(reading="joint")),
    "permutation": replace(_permuted, slow=True),
}
"""Direct testing by its reading."""
ASD_TOO = replace(ASD_JCI, slow=False)


def _part(
    name: str,
    methods: tuple[Method, ...],
    *panels: Panel,
    baseline: str = TS.key,
    measure: Measure = MARKED_REGRET,
) -> Curves:
    return Curves(name, "", "", {}, methods, panels, baseline, measure=measure)


DAGS = _part(
    "dags",
    (TS, *TESTS.values(), ASD_TOO, PERFECT),
    replace(CLASSES, title="4-node DAGs"),
    measure=REGRET_AND_ACCEPTANCE,
)
NO_SET = _part(
    "no-set",
    (TS, *TESTS.values(), ASD_TOO),
    replace(CLASSES, suffix="-none", title="no set separates", world=structureless_world),
)
_FAST = tuple(method for method in TESTS.values() if not method.slow)
OBSERVED = _part(
    "observed",
    (*_FAST, ASD_TOO),
    replace(CLASSES, suffix="-obs1000", title="after 1000 observations", observational=1000),
    baseline="",
)
SIZES = _part("sizes", (TS, *_FAST), *FIG2B.panels[:3])


def ucb_key(printed: bool, joint: bool, bootstrap: bool) -> str:
    """The key of Causal UCB-Normal in a reading."""
    parts = {"-printed": printed, "-joint": joint, "-bootstrap": bootstrap}
    return "causal-ucb-normal" + "".join(name for name, chosen in parts.items() if chosen)


def _ucb(printed: bool, joint: bool, bootstrap: bool) -> Method:
    index, test = "printed index" if printed else "Auer's index", ", joint test" if joint else ""
    made = given_nothing(
        ucb_key(printed, joint, bootstrap),
        f"Causal UCB-Normal, {index}{test}{', bootstrap' if bootstrap else ''}",
        CausalUCBNormal,
        index="printed" if printed else "auer",
        discovery=ResidualTesting(reading="joint" if joint else "conditional"),
        variance="bootstrap" if bootstrap else "closed-form",
    )
    return replace(made, baseline=_PLAIN[printed].key)


_PLAIN = {
    False: given_nothing("ucb-normal", "UCB-Normal, Auer's index", UCBNormal, index="auer"),
    True: given_nothing("ucb-normal-printed", "UCB-Normal, printed index", UCBNormal, index="printed"),
}


def _all_ucb(bootstrap: bool) -> tuple[Method, ...]:
    both = (False, True)
    plain = (replace(each, baseline=each.key) for each in _PLAIN.values())
    return (*plain, *(_ucb(printed, joint, bootstrap) for printed in both for joint in both))


SACHS = _part("sachs", _all_ucb(False), *FIG5.panels, baseline="ucb-normal")
BOOTSTRAP = _part(
    "bootstrap",
    _all_ucb(True),
    replace(FIG5.panels[0], suffix="-few", title="log scale, bootstrap"),
    baseline="ucb-normal",
)
"""The bootstrap resamples every row in every round: 5,000 rounds take 40 seconds, and 20,000 sixteen times that."""
PARTS = (DAGS, NO_SET, OBSERVED, SIZES, SACHS, BOOTSTRAP)
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


# `reproduce readings`: every claim of the paper under each reading of what the paper leaves open.
#
# A game of 20,000 rounds contains the one of 5,000, so each policy plays once and claims are read at both ends. The
# claims are those of the figures, word for word: a reading only says which line each term stands for, and at which
# round.


Reading = Mapping[str, str]
UNITS = {"sets": "-set", "pairs": "-pair"}
ALL_TESTS, FAST_TESTS = tuple(TESTS), tuple(name for name in TESTS if name != "permutation")
UCB = {INDEX: ("Auer", "printed"), VARIANCE: ("closed form", "bootstrap"), RESIDUAL: ("per lever", "joint")}


class Read(NamedTuple):
    """A figure, the factors that its claims may be read by (the figure's own values first), and the line of a term."""

    figure: Curves
    factors: Mapping[str, tuple[str, ...]]
    line: Callable[[str, Reading], str]


def _tested(key: str, reading: Reading) -> str:
    """The line of another test."""
    return key.replace("causal-ts-direct", TESTS[reading[TEST]].key)


def _without_sets(key: str, reading: Reading) -> str:
    return _tested(key, reading) + NO_SET.panels[0].suffix


def _observed(key: str, reading: Reading) -> str:
    return _tested(key, reading).removesuffix("-obs0")


def _accepted(key: str, reading: Reading) -> str:
    method, rate = key.split("-")
    name = TESTS[reading[TEST]].key if method == "direct" else "causal-ts-asd"
    return f"{name}{UNITS[reading[UNIT]]}-{rate}"


def _sachs(key: str, reading: Reading) -> str:
    bootstrap = reading[VARIANCE] == "bootstrap"
    suffix = key.removeprefix("causal-ucb-normal") + (BOOTSTRAP.panels[0].suffix if bootstrap else "")
    return ucb_key(reading[INDEX] == "printed", reading[RESIDUAL] == "joint", bootstrap) + suffix


READ = (
    Read(FIG2A, {TEST: ALL_TESTS}, _tested),
    Read(FIG2B, {TEST: FAST_TESTS}, _tested),
    Read(FIG2C, {TEST: ALL_TESTS}, _without_sets),
    Read(FIG3, {TEST: FAST_TESTS}, _observed),
    Read(FIG4, {TEST: ALL_TESTS, UNIT: tuple(UNITS)}, _accepted),
    Read(FIG5, UCB, _sachs),
)
"""The horizon is a factor of all of them."""


@dataclass(frozen=True)
class Readings(Experiment):
    """All figures under all readings."""

    def describe(self) -> list[Any]:
        """The parts by name: what is played in them is fixed by the release."""
        return [[part.name, part.describe()] for part in PARTS]

    def rows(self, size: Scale) -> int:
        """Those of all parts."""
        return sum(part.rows(part_size(part, size)) for part in PARTS)

    def chunks(self, size: Scale, seed: int) -> list[Chunk]:
        """Those of all parts."""
        return [
            chunk._replace(name=f"{part.name}-{chunk.name}")
            for part in PARTS
            if part_size(part, size).runs
            for chunk in part.chunks(part_size(part, size), seed)
        ]

    def summarise(self, rows: pl.DataFrame, size: Scale, seed: int, *, weighted: bool) -> Summary:
        """The lines, and for every claim and reading the differences that it depends on."""
        lines: dict[str, Line] = {}
        shown: dict[str, Any] = {}
        for part in PARTS:
            if (of_part := part_size(part, size)).runs:
                found = lines_of(part, rows.filter(pl.col("series").is_in(list(part.lines()))), of_part, weighted=False)
                lines |= found
                shown |= series_of(part, found)
        bases = {key: series["baseline"] for key, series in shown.items()}
        made = {
            **self.heading(size, seed),
            "measure": "cumulative regret, or the share of sets or of pairs (set, lever) that is accepted,",
            "rounds_axis": "log",
            "worlds": max(series["worlds"] for series in shown.values()),
            "weights": "equal",
            "series": shown,
            "claims": [],
            "matrix": [record for read in READ for record in records_of(read, lines, bases, size)],
            "unread": [figure.name for figure in (THEOREM, EXAMPLE)],
        }
        return cast(Summary, made)


def readings_of(read: Read, horizon: int) -> list[dict[str, str]]:
    """Every reading of a figure, that of the figure itself first."""
    factors = {**read.factors, ROUNDS: tuple(f"{each:,}" for each in (horizon // OF_BASE, horizon))}
    return [dict(zip(factors, each, strict=True)) for each in itertools.product(*factors.values())]


def records_of(read: Read, lines: dict[str, Line], bases: dict[str, str], size: Scale) -> list[MatrixRecord]:
    """The claims of a figure, with their differences in every reading that was played."""
    found: list[MatrixRecord] = []
    readings = readings_of(read, size.horizon)
    for claim in read.figure.claims:
        cells: list[CellRecord] = []
        for reading in readings:
            contrasts = [reread(each, read, reading, size.horizon) for each in claim.contrasts]
            if all(_played(contrast, lines, size) for contrast in contrasts):
                records = [measure(contrast, lines, bases, size)._asdict() for contrast in contrasts]
                cells.append({"reading": reading, "contrasts": records})
        about = {"where": claim.where, "text": claim.text, "figure": read.figure.name, "own": readings[0]}
        found.append(cast(MatrixRecord, {**about, "cells": cells}))
    return found


def reread(contrast: Contrast, read: Read, reading: Reading, horizon: int) -> Contrast:
    """The same difference of other lines; moments before the end stay where they are in the figure's own horizon."""
    ends = {1.0: int(reading[ROUNDS].replace(",", "")) / horizon}
    terms = tuple(
        term._replace(key=read.line(term.key, reading), at=ends.get(term.at, term.at / OF_BASE))
        for term in contrast.terms
    )
    names = {term.key: after.key for term, after in zip(contrast.terms, terms, strict=True)}
    text = re.sub("|".join(sorted(names, key=len, reverse=True)), lambda name: names[name[0]], contrast.text)

    def rounds(found: re.Match[str]) -> str:
        return f"at t = {round(ends.get(float(found[1]), float(found[1]) / OF_BASE) * horizon):,}"

    timed = re.sub(r"at ([\d.]+) T", rounds, text)
    return contrast._replace(text=timed if timed != text else f"{text} at t = {reading[ROUNDS]}", terms=terms)


def _played(contrast: Contrast, lines: dict[str, Line], size: Scale) -> bool:
    """Whether its lines were played for as long as it looks at them."""
    return all(term.key in lines and term.at * size.horizon <= lines[term.key].points[-1] for term in contrast.terms)


READINGS = Readings(
    name="readings",
    title="Claims by reading: what the paper leaves open, and what depends on it",
    question="Which claims hold under every reading of the paper, and which depend on a detail it does not print?",
    scales={"smoke": Scale(400, 1, share=0.05), "quick": Scale(20000, 1, share=0.25), "paper": Scale(20000, 20)},
)
