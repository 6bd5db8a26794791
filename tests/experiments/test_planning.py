"""Plans: the number of decisions is that of a brute-force simulation, within its error."""

import bisect
import json
import math
from pathlib import Path

import numpy as np
import pytest
from benchmarks.plans import followed

from causal_bandits import CausalBanditsError, Problem
from causal_bandits.core.policies import BestArmThompson
from causal_bandits.research.experiments import Plan, plan
from causal_bandits.research.experiments.planning import STOPS, SimulatedStudy
from causal_bandits.research.worlds import planned_world
from tests.command_line import exit_code

PROBLEM = Problem("purchase", {"clicked": 2}, {"banner": ["none", "red", "blue"]})
RATE, LIFT = 0.2, 1.0


@pytest.fixture(scope="module")
def planned() -> Plan:
    return plan(PROBLEM, rate=RATE, lift=LIFT, policy="best-arm", confidence=0.8, runs=12, longest=2000, seed=3)


@pytest.mark.slow
def test_as_many_studies_stop_as_planned() -> None:
    """Null: after the planned number of decisions 80% of real studies whose advice is read have stopped.

    100 studies for the plan and 100 real ones: the standard error of the difference of two shares at 80% is 5.7%, so
    more than 3.3 of them have a probability under 1e-3 for each stop. Seed 12. `python -m benchmarks.plans` compares
    the numbers of decisions in more studies.
    """
    options = {"rate": RATE, "lift": LIFT, "policy": "best-arm", "confidence": 0.8, "longest": 2000, "seed": 12}
    found = plan(PROBLEM, runs=100, **options)  # type: ignore[arg-type]
    done = np.array([followed("best-arm", PROBLEM, (RATE, LIFT, 2000), number, 12) for number in range(100)])
    for place, stop in enumerate(STOPS):
        curve = next(each for each in found.curves if (each.stop, each.learning) == (stop, "with mediators"))
        assert abs(np.mean(done[:, place] <= 100 * math.ceil(curve.needed / 100)) - 0.8) < 3.3 * 0.057, stop


@pytest.mark.slow
@pytest.mark.parametrize("arms", [None, [{"banner": "blue"}, {"banner": "red"}, {"banner": "none"}]])
def test_a_simulated_study_stops_when_advice_says_so(arms: list[dict[str, str]] | None) -> None:
    """At every look, wherever the control is among the arms."""
    problem = Problem("purchase", {"clicked": 2}, {"banner": ["none", "red", "blue"]}, arms=arms)
    world = planned_world(problem, rate=RATE, lift=LIFT, seed=4)
    policy = BestArmThompson(world.problem, seed=5)
    study = SimulatedStudy(world, policy, np.random.default_rng(6), gap=LIFT * RATE, tolerance=0.01)
    said = dict.fromkeys(STOPS, math.inf)
    while max(study.stopped.values()) == math.inf:
        study.play(100, proof=True)
        advice = policy.advice()
        control = policy.problem.idle_arms[0]
        good = advice.expected_loss <= advice.tolerance * policy.posterior().means[control]
        for stop, now in zip(STOPS, (advice.action == "stop", good), strict=True):
            said[stop] = min(said[stop], policy.rows) if now else said[stop]
    assert said == {stop: 100 * math.ceil(rows / 100) for stop, rows in study.stopped.items()}


def test_the_curves_are_what_the_studies_did(planned: Plan) -> None:
    assert [(each.stop, each.learning) for each in planned.curves] == [
        (stop, f"{how} mediators") for stop in ("proof", "good enough") for how in ("with", "without")
    ]
    for curve in planned.curves:
        assert curve.decisions[0] == 100
        assert list(curve.decisions) == sorted(curve.decisions)
        assert list(curve.shares) == sorted(curve.shares)
        look = bisect.bisect_left(curve.decisions, curve.needed)
        assert curve.shares[look] >= 0.8 > max([0.0, *curve.shares[:look]])
        assert 0 <= curve.wrong <= 0.3
    assert planned.to_frame().height == sum(len(curve.decisions) for curve in planned.curves)
    assert "80% of studies with 3 arms have a proof after about" in str(planned)
    assert "80% of studies with 3 arms are good enough after about" in str(planned)


def test_the_same_seed_plans_the_same() -> None:
    said: list[str] = []
    one, other = (
        plan(
            PROBLEM, rate=0.3, lift=0.6, runs=3, longest=200, seed=5, progress=lambda what, done, of: said.append(what)
        )
        for _ in range(2)
    )
    assert str(one) == str(other)
    assert said[0].startswith("100 decisions: ")


def test_not_reached_is_said() -> None:
    found = plan(PROBLEM, rate=0.02, lift=0.05, confidence=0.99, runs=16, longest=100)
    assert math.isinf(found.curves[0].needed)
    assert "more than 100 decisions with mediators" in str(found)
    assert found.to_dict()["curves"][0]["needed"] is None
    json.dumps(found.to_dict())


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("problem.json").write_text(json.dumps(PROBLEM.to_dict()))
    command = ["plan", "problem.json", "--rate", "0.3", "--runs", "3", "--longest", "200"]
    assert exit_code([*command, "--lift", "0.6", "--mediator", "clicked=0.5", "--json"], monkeypatch) == 0
    values = json.loads(capsys.readouterr().out)
    assert [each["stop"] for each in values["curves"]] == ["proof", "proof", "good enough", "good enough"]
    assert Path("plan.png").read_bytes().startswith(b"\x89PNG")
    for wrong, said in (
        (["--lift", "0"], "lift=0: without any difference there is no best arm to find"),
        (["--lift", "0.6", "--mediator", "clicked=often"], "'often' is not a rate"),
        (["--lift", "0.6", "--policy", "ts"], "policy='ts'; expected 'safe' or 'best-arm'"),
        (["--lift", "0.6", "--figure", "plan.txt"], "does not end in .png"),
        (["--lift", "0.6", "--tolerance", "2"], "tolerance=2.0; expected a number between 0 and 1"),
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
    with pytest.raises(CausalBanditsError, match="a plan is for a problem without segments"):
        plan(Problem("y", {}, {"banner": 2}, segments={"device": 2}), rate=0.1, lift=0.2)
    with pytest.raises(CausalBanditsError, match=r"rate=1e-300; expected a rate from 0\.000001"):
        plan(Problem("y", {}, {"banner": 2}), rate=1e-300, lift=0.2)
