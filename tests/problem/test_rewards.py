"""What a reward may be: words, levels with values, and what a row may then hold."""

import json
from typing import Any

import pytest

import causal_bandits as cb
from causal_bandits.core.data import History
from causal_bandits.errors import ObservationError, ProblemError

RATING = {"levels": ["bad", "fair", "good"], "values": [0, 1, 5]}
KINDS: dict[str, Any] = {"binary": bool, "real": float, "count": "count", "revenue": "revenue", "levels": RATING}


def problem_of(reward: Any) -> cb.Problem:
    return cb.Problem("Y", {"A": 2}, {"I": 2}, reward=reward)


@pytest.mark.parametrize(("kind", "reward"), KINDS.items())
def test_a_description_says_the_same(kind: str, reward: Any) -> None:
    problem = problem_of(reward)
    assert problem.reward.kind == kind
    assert problem.reward_is_real == (kind != "binary")
    assert cb.Problem.from_dict(json.loads(json.dumps(problem.to_dict()))) == problem
    assert problem.reward.words
    assert "Y" in problem._repr_html_()


@pytest.mark.parametrize(
    ("reward", "said"),
    [
        (int, "reward=int; expected bool"),
        ("banana", "expected bool .* 'count' .* 'revenue'"),
        (3, "reward=3; expected bool"),
        (None, "reward=None"),
        ({"levels": ["a", "b"]}, r"expected \{'levels'"),
        ({"levels": ["a", "b"], "values": [1]}, "2 levels and 1 values; 'b' has none"),
        ({"levels": ["a", "b"], "values": [1, 2, 3]}, "2 levels and 3 values"),
        ({"levels": ["a", "b"], "values": [1, "x"]}, "the value of level 'b' is 'x'; expected a finite number"),
        ({"levels": ["a", "b"], "values": [1, float("inf")]}, "the value of level 'b'"),
        ({"levels": ["a", "b"], "values": [2, 2]}, "every level of the reward has the value 2"),
        ({"levels": ["a", "b"], "values": 7}, "expected a number per level"),
        ({"levels": ["a"], "values": [1]}, "needs at least 2"),
        ({"levels": ["a", "b"], "values": [1, 2], "order": 1}, "expected"),
    ],
)
def test_other_words_are_refused_in_one_sentence(reward: Any, said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        problem_of(reward)


@pytest.mark.parametrize(
    ("kind", "value", "kept"),
    [
        ("count", 3, 3.0),
        ("count", 3.0, 3.0),
        ("count", True, 1.0),
        ("revenue", 0, 0.0),
        ("revenue", 19.99, 19.99),
        ("levels", "good", 5.0),
    ],
)
def test_rewards_as_they_are_counted(kind: str, value: object, kept: float) -> None:
    history = History(problem_of(KINDS[kind]))
    history.extend(history.encode({}, {"A": 1, "Y": value}))
    assert history.rows.rewards.tolist() == [kept]
    assert history.observation(0)["Y"] == value
    assert history.value("Y", value) == value


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("count", -1, "is -1; expected a whole number of at least 0"),
        ("count", 1.5, "is 1.5; expected a whole number"),
        ("count", 1e18, "at most 1e"),
        ("count", None, "finite number"),
        ("revenue", -3.0, "expected a number of at least 0; with refunds use reward=float"),
        ("revenue", float("nan"), "finite number"),
        ("revenue", "much", "finite number"),
        ("levels", "great", "is 'great'; expected one of 'bad', 'fair', 'good'"),
        ("levels", 5, "is 5; expected one of"),
        ("levels", None, "expected one of"),
        ("levels", ["good"], "expected one value"),
    ],
)
def test_rewards_that_cannot_be(kind: str, value: object, said: str) -> None:
    history = History(problem_of(KINDS[kind]))
    with pytest.raises(ObservationError, match=said):
        history.encode({}, {"A": 1, "Y": value})
    with pytest.raises(ObservationError, match=f"row 2: .*{said}"):
        history.encode_many([{"I": 0, "A": 1, "Y": {"levels": "bad"}.get(kind, 1)}, {"I": 0, "A": 1, "Y": value}])
    assert len(history) == 0


def test_levels_with_equal_values_and_numbers_as_names() -> None:
    problem = problem_of({"levels": [1, 2, 3], "values": [0, 1, 0]})
    history = History(problem)
    history.extend(history.encode_many([{"I": 0, "A": 1, "Y": y} for y in (1, "2", 3.0)]))
    assert history.rows.rewards.tolist() == [0.0, 1.0, 0.0]
    assert history.value("Y", 2) == 2
