"""Plans: the number of decisions is that of a brute-force simulation, within its error."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from causal_bandits import CausalBanditsError, Problem, SafePolicy
from causal_bandits.experiments import Plan, plan
from causal_bandits.experiments.planning import CLOSE, reached
from causal_bandits.simulation import play
from causal_bandits.worlds import planned_world
from tests.command_line import exit_code

PROBLEM = Problem("purchase", {"clicked": 2}, {"banner": ["none", "red", "blue"]})
RATE, LIFT = 0.2, 1.0


@pytest.fixture(scope="module")
def planned() -> Plan:
    return plan(PROBLEM, rate=RATE, lift=LIFT, confidence=0.8, runs=40, longest=3000, seed=3)


def test_the_plan_is_what_brute_force_says(planned: Plan) -> None:
    """Null: after the planned number of decisions 80 % of studies recommend a right arm.

    60 fresh studies: standard error 5.2 %; the plan's own, of 40 studies, is 6.3 %, together 8.2 %. A difference of
    more than 3.3 of them has a probability of 1e-3. Seed 1000.
    """
    curve = planned.curves[0]
    assert curve.name == "with mediators"
    right = []
    for number in range(60):
        world = planned_world(PROBLEM, rate=RATE, lift=LIFT, seed=1000 + number)
        policy = SafePolicy(world.problem, seed=number)
        play(policy, world, round(curve.needed), np.random.default_rng(number))
        mean = world.means[world.problem.index(policy.recommend().arm)]
        right.append(mean >= world.means.max() - CLOSE * LIFT * RATE)
    assert abs(np.mean(right) - 0.8) < 3.3 * 0.082


def test_the_curve_is_what_the_studies_did(planned: Plan) -> None:
    """Sizes of everything, and the number of decisions lies where the smoothed curve crosses."""
    for curve in planned.curves:
        assert curve.decisions[0] == 100
        assert list(curve.decisions) == sorted(curve.decisions)
        assert curve.needed == reached(np.array(curve.decisions), np.array(curve.shares), 0.8)
        assert 100 <= curve.needed <= curve.decisions[-1]
    assert planned.to_frame().height == sum(len(curve.decisions) for curve in planned.curves)
    assert "80% of studies with 3 arms recommend a right arm after about" in str(planned)


def test_the_same_seed_plans_the_same() -> None:
    said: list[str] = []
    one, other = (
        plan(PROBLEM, rate=0.3, lift=0.6, runs=3, longest=200, seed=5, told=lambda what, done, of: said.append(what))
        for _ in range(2)
    )
    assert one == other
    assert said[0].startswith("100 decisions: ")


def test_not_reached_is_said() -> None:
    found = plan(PROBLEM, rate=0.02, lift=0.05, confidence=0.99, runs=16, longest=100)
    assert math.isinf(found.curves[0].needed)
    assert "more than 100 decisions with mediators" in str(found)
    assert found.to_dict()["curves"][0]["needed"] is None
    json.dumps(found.to_dict())


def test_shares_are_smoothed_before_they_are_read() -> None:
    looks = np.array([100, 200, 400, 800])
    assert reached(looks, np.array([0.5, 0.9, 0.7, 0.9]), 0.85) > 400  # one lucky look is not enough
    assert reached(looks, np.array([0.9, 0.9, 0.9, 0.9]), 0.85) == 100
    assert math.isinf(reached(looks, np.array([0.1, 0.2, 0.3, 0.4]), 0.5))


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("problem.json").write_text(json.dumps(PROBLEM.to_dict()))
    command = ["plan", "problem.json", "--rate", "0.3", "--runs", "3", "--longest", "200"]
    assert exit_code([*command, "--lift", "0.6", "--mediator", "clicked=0.5", "--json"], monkeypatch) == 0
    values = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in values["curves"]] == ["with mediators", "without mediators"]
    assert Path("plan.png").read_bytes().startswith(b"\x89PNG")
    for wrong, said in (
        (["--lift", "0"], "lift=0: without any difference there is no best arm to find"),
        (["--lift", "0.6", "--mediator", "clicked=often"], "'often' is not a rate"),
        (["--lift", "0.6", "--policy", "ts"], "policy='ts'; expected 'safe' or 'best-arm'"),
        (["--lift", "0.6", "--figure", "plan.txt"], "does not end in .png"),
    ):
        assert exit_code([*command, *wrong], monkeypatch) == 2
        found = capsys.readouterr().err
        assert said in found
        assert found.startswith("Error: ")
        assert found.count("\n") == 1


def test_a_plan_for_revenue_says_what_it_needs() -> None:
    problem = Problem("spend", {"clicked": 2}, {"banner": 2}, reward="revenue")
    with pytest.raises(CausalBanditsError, match=r"the reward 'spend' is .*; a plan needs a reward of 0 or 1"):
        plan(problem, rate=0.1, lift=0.2)
    with pytest.raises(CausalBanditsError, match=r"rate=1e-300; expected a rate from 0\.000001"):
        plan(Problem("y", {}, {"banner": 2}), rate=1e-300, lift=0.2)
