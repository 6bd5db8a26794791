"""After a warm-up a study of that kind compiles nothing, in this process; others load what it kept."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from causal_bandits.errors import OptionError, ProblemError

from .conftest import Run

PROGRAM = """
import sys
import causal_bandits as cb
from causal_bandits.cli.operations import of_each_kind
from causal_bandits.core.compiled import Compiled
from causal_bandits.product.studies import warm_up

for problem in of_each_kind():
    assert warm_up(problem).seconds > 0
asked = []
prepare = Compiled._prepare
Compiled._prepare = lambda self, arguments: asked.append(self.__name__) or prepare(self, arguments)
for number, problem in enumerate((
    cb.Problem("y", {"m": 3, "n": ["a", "b"]}, {"i": 3, "j": 2}), cb.Problem("y", {"m": float}, {"i": 4}, reward=float)
)):
    study = cb.Study.create(str(number), problem, storage=f"sqlite:///{sys.argv[1]}/s.db", seed=1)
    for decision in study.ask(40):
        seen = {each.name: None if decision.id % 7 == 0 else 1.5 if each.is_number else each.levels[1]
                for each in problem.observed}
        study.tell(decision, seen, reward=decision.id % 2)
    study.import_rows([{**arm, "m": 1, "n": "a", "y": 1} for arm in problem.arms] * 50)
    one = study.ask()
    study.explain(one), study.propensity(one), study.recommend(), study.estimates(level=0.9)
    study.describe(history=True), study.evaluate(one.arm)
    study.retire(problem.arms[1])
    study.ask(arms=problem.arms[2:])
print(asked)
"""


def test_nothing_is_compiled_afterwards(tmp_path: Path) -> None:
    found = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (found.stdout, found.stderr) == ("[]\n", "")


def test_from_the_shell(run: Run, tmp_path: Path) -> None:
    found = run("warm-up", "--problem", "problem.json", "--policy", "ts", "--policy", "safe", "--json")
    assert [each["policy"] for each in found["policies"]] == ["ts", "safe"]
    assert Path(found["kept_in"]).is_dir()
    assert "safe: ready" in run("warm-up", "--problem", "problem.json")
    with pytest.raises(OptionError, match="policy='fast'; expected"):
        run("warm-up", "--policy", "fast")
    (tmp_path / "bad.json").write_text(json.dumps({"target": "y", "observed": {}, "interventions": {}}))
    with pytest.raises(ProblemError, match="at least one lever"):
        run("warm-up", "--problem", "bad.json")
    with pytest.raises(OptionError, match="--options is not JSON"):
        run("warm-up", "--options", "{")
