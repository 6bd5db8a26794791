"""`analyze` and kinds of rewards: what is inferred, what is told, what is refused."""

from typing import Any

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.errors import OptionError, TableFileError

RNG = np.random.default_rng(0)
LEVER = RNG.integers(0, 2, 400).tolist()
VISIT = [int(RNG.random() < 0.2 + 0.3 * lever) for lever in LEVER]
REWARDS: dict[str, list[Any]] = {
    "discrete": [v * (n % 2) for n, v in enumerate(VISIT)],
    "count": [v * (n % 4) for n, v in enumerate(VISIT)],
    "revenue": [v * (n % 3 == 0) * (1.5 + n / 100) for n, v in enumerate(VISIT)],
    "gaussian": [v + n / 400 for n, v in enumerate(VISIT)],
    "levels": [1 + v + n % 3 for n, v in enumerate(VISIT)],
}


def table(kind: str) -> dict[str, Any]:
    return {"arm": LEVER, "visit": VISIT, "Y": REWARDS[kind]}


@pytest.mark.parametrize("kind", REWARDS)
def test_kinds_are_inferred_or_told(kind: str) -> None:
    told = {"kind": "levels"} if kind == "levels" else {}
    found = cb.analyze(table(kind), target="Y", interventions="arm", **told)  # type: ignore[arg-type]
    assert found.inferred.kind == kind
    assert found.to_dict()["kind"] == kind
    assert found.policy.name == "safe"
    assert found.recommendation.arm == found.policy.problem.arm(arm=1)
    assert any(note.startswith("target Y: ") for note in found.inferred.notes)


def test_numbers_that_may_be_several_kinds() -> None:
    as_numbers = cb.analyze(table("count"), target="Y", interventions="arm", kind="gaussian")
    assert as_numbers.policy.problem.reward.kind == "real"
    ratings = cb.analyze(table("levels"), target="Y", interventions="arm")
    assert ratings.inferred.kind == "gaussian"  # whole numbers without a 0 are not taken for a count


@pytest.mark.parametrize(
    ("kind", "rewards", "said"),
    [
        ("count", [0.5, 1.0, 2.0, 1.0], "kind=count needs whole numbers of at least 0"),
        ("count", [-1, 1, 2, 1], "kind=count needs whole numbers of at least 0"),
        ("revenue", [-3.0, 1.0, 2.0, 0.0], "kind=revenue needs numbers of at least 0"),
        ("levels", list(range(40)), "kind=levels needs at most 20 values"),
    ],
)
def test_a_kind_that_the_values_contradict(kind: Any, rewards: list[float], said: str) -> None:
    rows = {"arm": [n % 2 for n in range(len(rewards))], "Y": rewards}
    with pytest.raises(TableFileError, match=said):
        cb.analyze(rows, target="Y", interventions="arm", kind=kind)


def test_an_unknown_kind() -> None:
    with pytest.raises(OptionError, match="kind='money'; expected one of discrete, gaussian, count, revenue, levels"):
        cb.analyze(table("count"), target="Y", interventions="arm", kind="money")  # type: ignore[arg-type]
