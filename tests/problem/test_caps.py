"""A declared cap: what is accepted, what a reward beyond it says, and that descriptions keep it."""

import pytest

from causal_bandits import Problem, preset
from causal_bandits.errors import ObservationError, ProblemError


@pytest.mark.parametrize(
    ("reward", "cap", "ends"),
    [
        ("revenue", 500, (0.0, 500.0)),
        ("count", (0, 20), (0.0, 20.0)),
        (float, 5, (-5.0, 5.0)),
        (float, (1, 5), (1.0, 5.0)),
    ],
)
def test_a_cap_is_kept(reward: object, cap: object, ends: tuple[float, float]) -> None:
    problem = Problem("Y", {}, {"lever": 2}, reward=reward, cap=cap)  # type: ignore[arg-type]
    assert problem.reward.ends == ends
    assert Problem.from_dict(problem.to_dict()) == problem
    assert problem.with_arm({"lever": 7}, new_levels=True).reward.cap == ends


@pytest.mark.parametrize(
    ("reward", "cap", "said"),
    [
        ("revenue", 0, r"cap=0; expected a number above 0"),
        ("revenue", (-1, 5), r"cap=\(-1, 5\); expected .* of at least 0"),
        ("count", "many", r"cap='many'; expected a number above 0"),
        (float, (5, 5), r"cap=\(5, 5\); expected"),
        (float, float("inf"), r"cap=inf; expected"),
        (bool, 1, r"cap=1: the reward is 0 or 1 and has its ends; leave cap out"),
    ],
)
def test_a_cap_that_makes_no_sense_is_refused(reward: object, cap: object, said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        Problem("Y", {}, {"lever": 2}, reward=reward, cap=cap)  # type: ignore[arg-type]


def test_a_reward_beyond_its_cap_is_refused_and_counts_nowhere() -> None:
    problem = Problem("Y", {}, {"lever": 2}, reward="revenue", cap=500)
    policy = preset("safe", problem, seed=0)
    with pytest.raises(
        ObservationError, match=r"reward 'Y' is 700, beyond its declared cap \(0 to 500\); declare a wider"
    ):
        policy.tell(problem.arms[0], {"Y": 700})
    with pytest.raises(ObservationError, match="beyond its declared cap"):
        policy.tell_many([{"Y": 3.0}, {"Y": 501.0}], arm=problem.arms[0])
    assert policy.rows == 0
    policy.tell(problem.arms[0], {"Y": 500})
