"""Claims by reading: verdicts from made-up summaries, and what is played against the figures themselves."""

import io
from typing import Any

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from causal_bandits import CausalThompsonSampling, DirectTesting
from causal_bandits.core.discovery import discovery_from_dict
from causal_bandits.core.graphs import separated
from causal_bandits.errors import OptionError
from causal_bandits.reporting.html import sheet_table
from causal_bandits.reporting.summaries import Measured
from causal_bandits.reporting.summary_sheets import MatrixRow, matrix_sheets
from causal_bandits.reporting.terminal import TerminalTable
from causal_bandits.research.experiments import EXPERIMENTS, Scale
from causal_bandits.research.experiments.curves import play_runs
from causal_bandits.research.experiments.de_kroon import CLASSES, FIG2A, FIG4, FIG5
from causal_bandits.research.experiments.families import class_world
from causal_bandits.research.experiments.figure_files import claims_by_reading
from causal_bandits.research.experiments.matrix import deciding_factors, in_words, matrix, tallies
from causal_bandits.research.experiments.methods import (
    ACCEPTANCE,
    MARKED_REGRET,
    REGRET,
    REGRET_AND_ACCEPTANCE,
    true_pairs,
)
from causal_bandits.research.experiments.readings import DAGS, PARTS, READ, READINGS, part_size, readings_of, reread

TWO = {"test": ("conditional", "marginal"), "rounds": ("5,000", "20,000")}
WORLD = class_world(40, np.random.SeedSequence(1))


def contrast(z: float) -> dict[str, Any]:
    return dict(Measured("b - a", z * 0.1, 0.1)._asdict())


def claim(text: str, cells: dict[tuple[str, ...], float], factors: tuple[str, ...] = tuple(TWO)) -> dict[str, Any]:
    """A claim with one difference per reading, in standard errors."""
    found = [
        {"reading": dict(zip(factors, values, strict=True)), "contrasts": [contrast(z)]} for values, z in cells.items()
    ]
    return {"where": "Fig. 0", "text": text, "figure": "fig0", "own": found[0]["reading"], "cells": found}


def summary(*claims: dict[str, Any]) -> Any:
    return {"figure": "readings", "matrix": list(claims), "unread": ["theorem"]}


def four(a: float, b: float, c: float, d: float) -> dict[tuple[str, ...], float]:
    """Conditional at both horizons, then marginal at both."""
    readings = [(test, rounds) for test in TWO["test"] for rounds in TWO["rounds"]]
    return dict(zip(readings, (a, b, c, d), strict=True))


@pytest.mark.parametrize(
    ("cells", "verdict", "words"),
    [
        (four(5, 5, 5, 5), "holds", "holds"),
        (four(-5, -5, -5, -5), "fails", "fails"),
        (four(-5, -5, 5, 5), "depends", "depends on the test: holds with marginal, fails with conditional"),
        (four(-5, 5, -5, 5), "depends", "depends on the horizon: holds with 20,000, fails with 5,000"),
        (
            four(-5, -5, -5, 5),
            "depends",
            "depends on the test and the horizon: holds only with (marginal; 20,000)",
        ),
        (four(5, 5, 5, 1), "holds", "holds (inconclusive in 1 of 4 readings)"),
        (four(-5, 1, 1, 1), "open", "inconclusive (fails in 1 of 4 readings)"),
        (four(1, 1, -1, 0), "open", "inconclusive"),
        (
            four(-5, 1, 5, 5),
            "depends",
            "depends on the test: holds with marginal, fails with conditional (inconclusive in 1 of 4 readings)",
        ),
    ],
)
def test_a_claim_holds_fails_or_depends_by_its_numbers(
    cells: dict[tuple[str, ...], float], verdict: str, words: str
) -> None:
    [row] = matrix(summary(claim("A beats B.", cells)))
    assert (row.verdict, row.words) == (verdict, words)
    assert [(cell.difference, cell.se) for cell in row.cells] == [(z * 0.1, 0.1) for z in cells.values()]


def test_the_fewest_factors_that_tell_verdicts_apart_are_named() -> None:
    """Against every assignment of verdicts to a grid: the named factors decide, and no smaller number does."""
    rng = np.random.default_rng(0)
    readings = [(a, b, c) for a in "xy" for b in "pq" for c in "st"]
    for _ in range(60):
        z = rng.choice([-5.0, 5.0], size=len(readings))
        [row] = matrix(summary(claim("A.", dict(zip(readings, z, strict=True)), ("test", "unit", "rounds"))))
        if row.verdict != "depends":
            assert len({value > 0 for value in z}) == 1
            continue
        named = deciding_factors(row.cells)

        def decides(names: tuple[str, ...], row: MatrixRow = row) -> bool:
            found: dict[tuple[str, ...], str] = {}
            return all(
                found.setdefault(tuple(cell.reading[name] for name in names), cell.verdict) == cell.verdict
                for cell in row.cells
            )

        assert decides(named)
        alone = [name for name in ("test", "unit", "rounds") if decides((name,))]
        assert (len(named) == 1) == bool(alone)


def test_the_weakest_difference_decides_a_cell() -> None:
    found = claim("A.", four(5, 5, 5, 5))
    found["cells"][0]["contrasts"] += [contrast(3), contrast(-4)]
    [row] = matrix(summary(found))
    assert (row.cells[0].verdict, row.cells[0].shown) == ("fails", "✗ -0.4 ± 0.1")
    assert row.words.endswith("fails only with (conditional; 5,000)")


def test_a_figure_beside_it_replaces_the_cell_they_share() -> None:
    read = summary(claim("A beats B.", four(1, 5, 5, 5)))
    figure: Any = {"figure": "fig0", "horizon": 5000, "weights": "equal"}
    figure["claims"] = [{"where": "Fig. 0", "text": "A beats B.", "contrasts": [contrast(9)]}]
    assert [cell.difference for cell in matrix(read, [figure])[0].cells] == pytest.approx([0.9, 0.5, 0.5, 0.5])
    others: list[Any] = [{"horizon": 500}, {"weights": "orbit sizes"}, {"figure": "fig1"}, {"claims": []}]
    for change in others:
        [row] = matrix(read, [figure | change])
        assert row.cells[0].difference == pytest.approx(0.1)


def test_a_claim_that_was_not_played_says_so() -> None:
    unplayed = {**claim("A beats B.", four(5, 5, 5, 5)), "cells": []}
    other = claim("C.", four(-5, -5, 5, 5))
    [row, _] = matrix(summary(unplayed, other))
    assert (row.verdict, row.words) == ("open", "not played")
    assert matrix_sheets([row, _])[0].rows[0] == ("Fig. 0: A beats B. (not played)", "", "–", "–")
    figure: Any = {"figure": "fig0", "horizon": 5000, "weights": "equal"}
    figure["claims"] = [{"where": "Fig. 0", "text": "A beats B.", "contrasts": [contrast(-9)]}]
    rows = matrix(summary(unplayed, other), [figure])
    assert (rows[0].verdict, rows[0].words) == ("open", "fails in the only reading played")
    assert tallies(rows)[0].reading["test"] == "marginal"
    assert tallies(rows)[0].of == 1


def test_claims_without_readings_have_one_cell() -> None:
    theorem: Any = {"figure": "theorem", "horizon": 0}
    theorem["claims"] = [{"where": "Thm", "text": "Unbiased.", "contrasts": [contrast(5)]}]
    other: Any = {**theorem, "figure": "beyond"}
    rows = matrix(summary(claim("A.", four(5, 5, 5, 5))), [theorem, other])
    assert [(row.figure, row.verdict, len(row.cells)) for row in rows] == [
        ("fig0", "holds", 4),
        ("theorem", "holds", 1),
    ]


def test_the_reading_with_most_claims_comes_first() -> None:
    rows = matrix(
        summary(claim("A.", four(-5, -5, 5, 5)), claim("B.", four(5, 5, 5, -5)), claim("C.", four(-5, -5, -5, -5)))
    )
    first = tallies(rows)[0]
    assert (first.reading, first.holds) == ({"test": "marginal", "rounds": "5,000"}, 2)
    assert [row.text for row in first.others] == ["C."]
    said = in_words(rows)
    assert "Of 3 claims, 0 hold and 1 fails under every reading, 2 depend on the reading" in said
    assert "Most claims hold, 2 of 3, with test marginal, horizon 5,000; the exception is Fig. 0, “C”." in said


def test_a_reading_that_was_not_played_is_never_the_best() -> None:
    played = four(-5, -5, 5, 5)
    played.pop(("marginal", "20,000"))
    rows = matrix(summary(claim("A.", played)))
    assert tallies(rows)[0].reading == {"test": "marginal", "rounds": "5,000"}
    assert len(tallies(rows)) == 3


def test_pages_and_terminals_show_every_cell() -> None:
    rows = matrix(summary(claim("A <beats> B.", four(-5, -5, 5, 1)), claim("C.", four(5, 5, 5, 5))))
    [sheet] = matrix_sheets(rows)
    page = sheet_table(sheet)
    assert page.count("Fig. 0: ") == 2
    assert "A &lt;beats&gt; B. (depends on the test: holds with marginal, fails with conditional" in page
    assert '<td class="n">✗ -0.5 ± 0.1</td>' in page
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(*map(TerminalTable, matrix_sheets(rows)), sep="\n")
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 100
    assert text.count("✓ 0.5 ± 0.1") == 5
    assert text.count("? 0.1 ± 0.1") == 1


def test_tables_hold_claims_with_the_same_columns() -> None:
    other = claim("C.", {("Auer", "closed form"): 5.0}, ("index", "variance"))
    tables = matrix_sheets(matrix(summary(claim("A.", four(5, 5, 5, 5)), other)))
    assert [each.columns[2:] for each in tables] == [("conditional", "marginal"), ("Auer, closed form",)]


# What is played


def test_every_claim_is_read_from_lines_that_are_played() -> None:
    size = READINGS.size("paper")
    lines = {key: part for part in PARTS for key in part.lines()}
    missing = set()
    for read in READ:
        for reading in readings_of(read, size.horizon):
            for each in (contrast for claim in read.figure.claims for contrast in claim.contrasts):
                keys = {term.key for term in reread(each, read, reading, size.horizon).terms}
                missing |= {key for key in keys if key not in lines}
    assert {key for key in missing if not key.endswith("-bootstrap-raw-few")} == set()
    played = {key for part in PARTS for key in part.lines()}
    assert len(played) == sum(len(part.lines()) for part in PARTS)


def test_the_figures_own_reading_is_its_own_claim() -> None:
    """With the first value of every factor the terms are those of the figure, at the same rounds."""
    for read in READ:
        reading = readings_of(read, 20000)[0]
        for each in (contrast for claim in read.figure.claims for contrast in claim.contrasts):
            again = reread(each, read, reading, 20000)
            assert [4 * term.at for term in again.terms] == pytest.approx([term.at for term in each.terms])
            assert [term.factor for term in again.terms] == [term.factor for term in each.terms]
            assert again.constant == each.constant


def test_texts_name_lines_and_rounds() -> None:
    read = READ[4]
    reading = {"test": "marginal", "unit": "pairs", "rounds": "20,000"}
    early, late = (reread(each, read, reading, 20000).text for each in FIG4.claims[0].contrasts)
    assert early == "causal-ts-direct-marginal-pair-fpr - causal-ts-asd-pair-fpr at t = 500"
    assert late == "causal-ts-direct-marginal-pair-fpr - causal-ts-asd-pair-fpr at t = 20,000"
    printed = {"index": "printed", "variance": "bootstrap", "residual": "joint", "rounds": "5,000"}
    text = reread(FIG5.claims[1].contrasts[1], READ[5], printed, 20000).text
    assert text == "ratio at t = 5,000 - ratio at t = 2,000"


def test_a_long_game_contains_the_short_one() -> None:
    """So that both horizons are read from the same runs, which are those of the figure."""
    direct = [method for method in DAGS.methods if method.key == "causal-ts-direct"]
    long = play_runs(REGRET_AND_ACCEPTANCE, tuple(direct), CLASSES, 40, range(1), Scale(400, 1), 7)
    short = play_runs(REGRET, tuple(direct), CLASSES, 40, range(1), Scale(100, 1), 7)
    both = long.filter(pl.col("series") == "causal-ts-direct").join(short, on="t")
    assert len(both) > 10
    assert both["value"].to_list() == pytest.approx(both["regret"].to_list())


def test_pairs_are_those_the_graph_separates() -> None:
    """Every lever alone, by the graph; a set separates all levers exactly where all its pairs are true."""
    graph = WORLD.graph.with_context(dict(WORLD.problem.targets))
    names = list(CausalThompsonSampling(WORLD.problem).layout.names)
    found = true_pairs(WORLD, names)
    for row, S in zip(found, names, strict=True):
        assert row.tolist() == [
            separated(graph, lever, "Y", given=set(S)) for lever in WORLD.problem.intervention_names
        ]
    assert 0 < found.sum() < found.size
    assert not np.array_equal(found.any(axis=1), found.all(axis=1))


def test_sets_and_pairs_are_counted_in_the_same_game() -> None:
    taken = REGRET_AND_ACCEPTANCE.take(
        CausalThompsonSampling(WORLD.problem, seed=3), WORLD, 60, np.random.default_rng(4)
    )
    sets = ACCEPTANCE.take(CausalThompsonSampling(WORLD.problem, seed=3), WORLD, 60, np.random.default_rng(4))
    assert taken["-set-fpr"].values[-1] == sets["-fpr"].values[-1]
    assert taken["-set-sensitivity"].values[-1] == sets["-sensitivity"].values[-1]
    assert taken["-pair-fpr"].of + taken["-pair-sensitivity"].of == 8 * 3
    regret = MARKED_REGRET.take(CausalThompsonSampling(WORLD.problem, seed=3), WORLD, 60, np.random.default_rng(4))
    assert taken[""].values.tolist() == pytest.approx(regret[""].values.tolist())


def test_a_corrupt_matrix_is_found() -> None:
    corrupt = summary(claim("A beats B.", four(5, 5, 5, 5)))
    corrupt["matrix"][0]["cells"][0]["contrasts"] = [{}]
    with pytest.raises(TypeError):
        claims_by_reading([corrupt])


def test_parts_have_sizes_of_their_own() -> None:
    sizes = {part.name: part_size(part, READINGS.size("paper")) for part in PARTS}
    assert sizes["dags"] == Scale(20000, 20, slow_runs=10)
    assert sizes["sizes"].worlds(200) == 100
    assert sizes["sachs"].runs == 240
    assert sizes["bootstrap"] == Scale(5000, 30)
    quick = READINGS.size("quick")
    assert all(not chunk.name.startswith(("bootstrap", "sizes")) for chunk in READINGS.chunks(quick, 0))
    assert list(EXPERIMENTS)[9] == "readings"
    assert FIG2A.panels == (CLASSES,)


def test_the_number_of_deals_is_stored() -> None:
    few = DirectTesting(calibration="permutation", draws=99)
    assert few.to_dict()["draws"] == 99
    assert discovery_from_dict(few.to_dict()) == few
    with pytest.raises(OptionError, match="draws=5"):
        DirectTesting(draws=5)
