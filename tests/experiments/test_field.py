"""The field over families of worlds: who applies, what they are told, and the table by tier."""

import json
from pathlib import Path

import numpy as np
import pytest

from causal_bandits.errors import CausalBanditsError, OptionError, WorldError
from causal_bandits.reporting.summary_sheets import sheet_of
from causal_bandits.research.experiments import FAMILIES, Scale, compare_field
from causal_bandits.research.experiments.families import single_interventions
from causal_bandits.research.experiments.field import field_experiment
from causal_bandits.research.experiments.figure_files import again
from causal_bandits.research.simulation import entries
from causal_bandits.research.worlds import DiscreteSCM

POLICIES = ["ucb1", "causal-ts", "c-ucb", "hac-ucb-told"]


@pytest.mark.parametrize("name", list(FAMILIES))
def test_families_make_worlds(name: str) -> None:
    family = FAMILIES[name]
    first, second = (family.maker(1000)(family.worlds - 1, np.random.SeedSequence(3)) for _ in range(2))
    assert np.array_equal(first.means, second.means)
    assert first.problem == second.problem
    assert np.ptp(first.means) > 0


def test_single_interventions_keep_the_means() -> None:
    world = FAMILIES["dags4"].maker(100)(20, np.random.SeedSequence(0))
    assert isinstance(world, DiscreteSCM)
    few = single_interventions(world)
    assert len(few.problem.arms) == 7
    for arm in few.problem.arms:
        assert few.means[few.problem.index(arm)] == pytest.approx(world.means[world.problem.index(dict(arm))])


def test_a_comparison_by_tier(tmp_path: Path) -> None:
    [found] = compare_field(POLICIES, ["bilodeau-benign"], horizon=1000, runs=3, jobs=1, out=tmp_path)
    summary = json.loads((tmp_path / "bilodeau-benign/summary.json").read_text())
    assert summary == found.summary
    assert [key for key in summary["series"] if not key.endswith("-simple")] == ["ts", *POLICIES]
    assert len(summary["series"]["ts"]["t"]) == 100
    assert summary["series"]["ts-simple"]["t"] == [1000]
    assert all(0 <= summary["series"][f"{key}-simple"]["mean"][0] <= 0.5 for key in ["ts", *POLICIES])
    sheet = sheet_of(summary, found.about)
    assert [row[0][0] for row in sheet.rows] == ["0", "0", "1", "3", "3"]
    labels = [row[1] for row in sheet.rows]
    assert "hac-ucb-told" in labels
    assert all(row[2] and float(row[-1]) > 0 for row in sheet.rows)
    assert "microseconds" not in json.dumps(summary)
    page = (tmp_path / "report.html").read_text()
    assert "3: parents and P(Pa | a) given" in page
    assert "µs per round" in page


def test_rewards_that_are_not_binary_have_a_baseline_of_their_own() -> None:
    experiment = field_experiment("hillstrom-spend", None, Scale(100, 1), 0)
    assert experiment.baseline == "reward-ts"
    assert {"reward-ts", "safe", "gaussian-ts", "causal-ucb-normal"} <= {each.key for each in experiment.methods}
    assert "ts" not in {each.key for each in experiment.methods}


def test_all_means_those_that_apply_to_every_world() -> None:
    experiment = field_experiment("bilodeau-worst", None, Scale(1000, 1), 0)
    found = {method.key for method in experiment.methods}
    assert {"ts", "causal-ts", "hac-ucb", "c-ucb"} <= found  # the last two are told that Z separates
    assert "pomis-ts" not in found
    assert found < set(entries())
    tiers = [int(method.tier or 0) for method in experiment.methods]
    assert tiers == sorted(tiers)


@pytest.mark.slow
def test_the_same_bytes_from_two_processes(tmp_path: Path) -> None:
    for jobs in (1, 2):
        compare_field(["ucb1", "c-ts"], ["bilodeau-benign"], horizon=1000, runs=11, jobs=jobs, out=tmp_path / str(jobs))
    one, two = ((tmp_path / jobs / "bilodeau-benign/summary.json").read_bytes() for jobs in ("1", "2"))
    assert one == two


def test_bad_input(tmp_path: Path) -> None:
    out = tmp_path / "new"
    with pytest.raises(OptionError, match="worlds 'mars' are not known; expected some of 'dags4'"):
        compare_field(["ts"], ["mars"], horizon=100, runs=1, out=out)
    with pytest.raises(OptionError, match="policy 'best' is unknown; expected one of 'ts'"):
        compare_field(["best"], ["iv"], horizon=100, runs=1, out=out)
    with pytest.raises(WorldError, match=r"does not provide .* which 'c-ucb' needs; these policies do not need it: ts"):
        compare_field(["c-ucb"], ["iv"], horizon=100, runs=1, out=out)
    with pytest.raises(CausalBanditsError, match="runs=0"):
        compare_field(["ts"], ["iv"], horizon=100, runs=0, out=out)
    assert not out.exists()


def test_a_family_may_have_the_name_of_a_figure() -> None:
    """`reproduce practice` is a figure and `compare --worlds practice` a family; only the first has a scale."""
    assert again("practice", {"options": {"runs": 1, "seed": 0}}) == ""
    assert again("practice", {"options": {"scale": "quick", "seed": 2}}).endswith("practice --scale quick --seed 2")


@pytest.mark.parametrize(
    ("family", "oracle"), [("dags4", "told-means"), ("loans", "told-means"), ("bilodeau-worst", "")]
)
def test_a_policy_that_is_misled_is_no_oracle(family: str, oracle: str) -> None:
    policies = ["ts", "told-means", "causal-ts-known"]
    assert field_experiment(family, policies, Scale(100, 1), 0).oracle == oracle
