"""Plans: the number of decisions is that of a brute-force simulation, within its error."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from causal_bandits import CausalBanditsError, Problem
from causal_bandits.core.policies import BestArmThompson
from causal_bandits.research.experiments import Plan, plan
from causal_bandits.research.simulation import play
from causal_bandits.research.worlds import planned_world
from tests.command_line import exit_code

PROBLEM = Problem("purchase", {"clicked": 2}, {"banner": ["none", "red", "blue"]})
RATE, LIFT = 0.2, 1.0


@pytest.fixture(scope="module")
def planned() -> Plan:
    return plan(PROBLEM, rate=RATE, lift=LIFT, policy="best-arm", confidence=0.8, runs=12, longest=2000, seed=3)


@pytest.mark.slow
def test_the_plan_is_what_advice_does(planned: Plan) -> None:
    """Null: after the planned number of decisions 80% of studies that follow `advice` at every look have stopped.

    20 fresh studies with looks every 50 decisions: standard error 9%; the plan's own, of 30 studies, is 7.3%, together
    11.5%. A difference of more than 3.3 of them has a probability of 1e-3. Seeds 1000 to 1019.
    """
    needed = {each.stop: each.needed for each in planned.curves if each.learning == "with mediators"}
    done: dict[str, list[float]] = {stop: [] for stop in needed}
    for number in range(20):
        world = planned_world(PROBLEM, rate=RATE, lift=LIFT, seed=1000 + number)
        policy, rng = BestArmThompson(world.problem, seed=number), np.random.default_rng(number)
        stopped: dict[str, float] = dict.fromkeys(needed, math.inf)
        while policy.rows < max(needed.values()):
            play(policy, world, 50, rng)
            said = policy.advice()
            if said.action == "stop":
                stopped["proof"] = min(stopped["proof"], policy.rows)
            if said.expected_loss <= said.tolerance * policy.posterior().means[0]:
                stopped["good enough"] = min(stopped["good enough"], policy.rows)
        for stop, when in stopped.items():
            done[stop].append(when)
    for stop, decisions in needed.items():
        assert abs(np.mean(np.array(done[stop]) <= decisions) - 0.8) < 3.3 * 0.115, stop


def test_the_curves_are_what_the_studies_did(planned: Plan) -> None:
    assert [(each.stop, each.learning) for each in planned.curves] == [
        (stop, f"{how} mediators") for stop in ("proof", "good enough") for how in ("with", "without")
    ]
    for curve in planned.curves:
        assert curve.decisions[0] == 100
        assert list(curve.decisions) == sorted(curve.decisions)
        assert list(curve.shares) == sorted(curve.shares)
        share = np.interp(curve.needed, [0, *curve.decisions], [0, *curve.shares])
        assert 0.7 <= share <= 0.9
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
    with pytest.raises(CausalBanditsError, match=r"rate=1e-300; expected a rate from 0\.000001"):
        plan(Problem("y", {}, {"banner": 2}), rate=1e-300, lift=0.2)
