"""Claims are judged from numbers: contrasts against plain arithmetic, verdicts against made-up summaries."""

import copy
import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from causal_bandits.reporting.results_page import Section, page_of, rendered
from causal_bandits.reporting.summaries import Measured, Summary
from causal_bandits.research.experiments import EXPERIMENTS, Curves, Scale, judge
from causal_bandits.research.experiments.claims import Contrast, Term, at_most, below
from causal_bandits.research.experiments.curves import Line, measure
from causal_bandits.research.experiments.figure_files import TITLE
from causal_bandits.research.experiments.theorem import bound, example_claims, theorem_claims
from tests.experiments.small import SMALL_2A

POINTS = [50, 100]
SIZE = Scale(100, 6)
EVEN = np.full(3, 1 / 3)


def line(seed: int, runs: int = 6, mean: float = 5.0, stream: tuple[int, ...] = ()) -> Line:
    values = np.random.default_rng(seed).normal(mean, 1, size=(3, runs, 2))
    return Line(values, np.ones_like(values), EVEN, stream, POINTS)


def test_a_difference_of_ratios_by_hand() -> None:
    """Two series of one world in pairs: the standard error is that of the linearized difference, run by run."""
    lines = {"ts": line(0), "a": line(1), "b": line(2)}
    found = measure(below("a", "b"), lines, {"a": "ts", "b": "ts", "ts": "ts"}, SIZE)
    a, b, ts = (lines[key].values[:, :, 1] for key in ("a", "b", "ts"))
    ratio_a, ratio_b = a.mean() / ts.mean(), b.mean() / ts.mean()
    moved = ((b - ratio_b * ts) - (a - ratio_a * ts)) / ts.mean()
    expected = np.sqrt((moved.var(axis=1, ddof=1) / 6).sum() / 9)
    assert found.difference == pytest.approx(ratio_b - ratio_a)
    assert found.se == pytest.approx(expected)


def test_absolute_differences_and_constants() -> None:
    lines = {"a": line(1), "b": line(2)}
    terms = (Term(1.0, "b", 0.5), Term(-1.0, "a", 0.5))
    found = measure(Contrast("b - a", terms, relative=False), lines, {"a": "", "b": ""}, SIZE)
    paired = lines["b"].values[:, :, 0] - lines["a"].values[:, :, 0]
    assert found.difference == pytest.approx(paired.mean())
    assert found.se == pytest.approx(np.sqrt((paired.var(axis=1, ddof=1) / 6).sum() / 9))
    capped = measure(at_most(1.5, "a"), lines, {"a": "b"}, SIZE)
    assert capped.difference == pytest.approx(
        1.5 - lines["a"].values[:, :, 1].mean() / lines["b"].values[:, :, 1].mean()
    )


def test_a_method_with_fewer_runs_is_compared_over_the_runs_both_have() -> None:
    lines = {"fast": line(1, runs=6), "slow": line(2, runs=4)}
    terms = (Term(1.0, "fast"), Term(-1.0, "slow"))
    found = measure(Contrast("fast - slow", terms, relative=False), lines, dict.fromkeys(lines, ""), SIZE)
    expected = lines["fast"].values[:, :4, 1].mean() - lines["slow"].values[:, :, 1].mean()
    assert found.difference == pytest.approx(expected)


def test_streams_of_their_own_are_independent() -> None:
    lines = {"a": line(1), "b": line(1, stream=(5,))}  # the same numbers, but not in pairs
    terms = (Term(1.0, "b"), Term(-1.0, "a"))
    apart = measure(Contrast("b - a", terms, relative=False), lines, dict.fromkeys(lines, ""), SIZE)
    together = measure(
        Contrast("b - a", terms, relative=False), {**lines, "b": line(1)}, dict.fromkeys(lines, ""), SIZE
    )
    assert together.se == pytest.approx(0, abs=1e-12)
    spread = lines["a"].values[:, :, 1].var(axis=1, ddof=1)
    assert apart.se == pytest.approx(np.sqrt(2 * (spread / 6).sum() / 9))


def test_the_standard_error_of_a_contrast_is_its_spread() -> None:
    """Null: over replicates the difference of ratios has the variance that `measure` reports on average.

    2000 replicates with correlated series; the ratio of variances has a relative standard error of .032 and 5 are
    allowed: false alarms below 1e-6. Seed 3.
    """
    rng = np.random.default_rng(3)
    found = []
    for _ in range(2000):
        common = rng.normal(20, 2, size=(3, 6, 2))
        lines = {
            key: Line(common * factor + rng.normal(0, 1, size=common.shape), np.ones_like(common), EVEN, (), POINTS)
            for key, factor in (("ts", 1.0), ("a", 0.5), ("b", 0.7))
        }
        found.append(measure(below("a", "b"), lines, dict.fromkeys(lines, "ts"), SIZE))
    differences = np.array([one.difference for one in found])
    reported = np.mean([one.se**2 for one in found])
    assert differences.var(ddof=1) / reported == pytest.approx(1, abs=5 * 0.032)


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        (Measured("d", 2.1, 1.0), "holds"),
        (Measured("d", 1.9, 1.0), "open"),
        (Measured("d", -1.9, 1.0), "open"),
        (Measured("d", -2.1, 1.0), "fails"),
        (Measured("d", 1e-9, 0.0), "holds"),
        (Measured("d", 0.0, 0.0), "open"),
        (Measured("d", -1e-9, 0.0), "fails"),
        (Measured("d", 0.5, 1.0, "not negative"), "holds"),
        (Measured("d", -2.1, 1.0, "not negative"), "fails"),
        (Measured("d", -3.0, 1.0, "zero", 4.0), "holds"),
        (Measured("d", -5.0, 1.0, "zero", 4.0), "fails"),
    ],
)
def test_verdicts(measured: Measured, verdict: str) -> None:
    assert measured.verdict == verdict


@pytest.fixture(scope="module")
def summary() -> Summary:
    """A real summary, read back from text as the report reads it."""
    size = SMALL_2A.size("smoke")
    rows = pl.concat([chunk.work() for chunk in SMALL_2A.chunks(size, 0)])
    found: Summary = json.loads(json.dumps(SMALL_2A.summarise(rows, size, 0, weighted=False)))
    return found


def made_up(summary: Summary, claim: int, difference: float, se: float) -> Summary:
    changed = copy.deepcopy(summary)
    for contrast in changed["claims"][claim]["contrasts"]:
        contrast |= {"difference": difference, "se": se}
    return changed


@pytest.mark.parametrize(
    ("difference", "words"), [(0.5, "holds"), (-0.5, "does not hold"), (0.05, "inconclusive"), (-0.05, "inconclusive")]
)
def test_the_report_says_what_made_up_numbers_say(summary: Summary, difference: float, words: str) -> None:
    for place in range(len(summary["claims"])):
        changed = made_up(summary, place, difference, 0.1)
        verdicts = judge(changed)
        assert verdicts[place].words == words
        page = page_of(TITLE, "", [rendered(Section(changed, verdicts, {}))])
        color = {"holds": "holds", "does not hold": "fails", "inconclusive": "open"}[words]
        assert f'{changed["claims"][place]["text"]} <b class="{color}">{words}</b>' in page


def test_one_failing_difference_decides(summary: Summary) -> None:
    changed = made_up(summary, 0, 1.0, 0.1)
    changed["claims"][0]["contrasts"][1] |= {"difference": -1.0}
    assert judge(changed)[0].verdict == "fails"
    page = page_of(TITLE, "", [rendered(Section(changed, judge(changed), {}))])
    assert "-10.0 s.e." in page


def test_claims_of_every_curve_name_lines_that_exist() -> None:
    for experiment in EXPERIMENTS.values():
        if not isinstance(experiment, Curves):
            continue
        lines = {
            f"{method.key}{panel.suffix}{suffix}"
            for panel in experiment.panels
            for method in experiment.played(panel)
            for suffix in experiment.measure.lines
        }
        assert experiment.claims
        for claim in experiment.claims:
            assert {term.key for contrast in claim.contrasts for term in contrast.terms} <= lines


def theorem_rows(**changes: float) -> pl.DataFrame:
    row = {
        "arms": 27,
        "variance": 0.01,
        "variance_se": 0.0001,
        "decomposition": 0.01,
        "own_variance": 0.05,
        "bias": 0.0,
        "bias_se": 0.001,
        "largest_bias_z": 2.5,
        "largest_variance_z": 2.5,
        "smallest_saving_z": 10.0,
    }
    return pl.DataFrame([{**row, **changes}] * 4)


@pytest.mark.parametrize(
    ("changes", "verdicts"),
    [
        ({}, ["holds", "holds", "holds"]),
        ({"bias": 0.01}, ["fails", "holds", "holds"]),
        ({"largest_bias_z": 6.0}, ["fails", "holds", "holds"]),
        ({"variance": 0.0105}, ["holds", "fails", "holds"]),
        ({"largest_variance_z": 6.0}, ["holds", "fails", "holds"]),
        ({"smallest_saving_z": -6.0}, ["holds", "holds", "fails"]),
        ({"own_variance": 0.009}, ["holds", "holds", "fails"]),
    ],
)
def test_the_theorem_is_judged_by_its_rows(changes: dict[str, float], verdicts: list[str]) -> None:
    found = judge({"claims": theorem_claims(theorem_rows(**changes))})
    assert [each.verdict for each in found] == verdicts


def example_rows(more: float) -> pl.DataFrame:
    rows: list[dict[str, Any]] = [
        {
            "world": f"{best} is best",
            "set": key,
            "key": key,
            "more_than_best": 0.0 if key == best else more,
            "more_than_best_se": 0.0 if key == best else 0.1,
        }
        for best in ("S2", "AB", "S3")
        for key in ("S2", "AB", "S3")
    ]
    return pl.DataFrame(rows)


@pytest.mark.parametrize(("more", "verdict"), [(1.0, "holds"), (0.1, "open"), (-1.0, "fails")])
def test_the_example_is_judged_by_its_rows(more: float, verdict: str) -> None:
    [found] = judge({"claims": example_claims(example_rows(more))})
    assert found.verdict == verdict
    assert len(found.measured) == 6


def test_the_bound_allows_what_chance_does() -> None:
    assert bound(1) == pytest.approx(2.5758, abs=1e-4)
    assert bound(1000) > 4.2
