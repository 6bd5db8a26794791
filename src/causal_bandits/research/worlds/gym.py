"""A world as a gymnasium environment; needs the extra `gym`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.problem import Variable
from ...errors import UnknownArmError, missing_extra, whole_number
from .sampler import draw, scratch
from .world import SimulatedWorld

try:
    import gymnasium
except ImportError:
    raise missing_extra("gymnasium", "gym") from None

Observation = dict[str, Any]


class CausalBanditEnv(gymnasium.Env[Observation, NDArray[np.int64]]):
    """One pull per step, `horizon` steps per episode.

    An action holds the level number of every lever, in the problem's order. An observation maps
    every observed variable to its level number, or to its value if it is real; before the first pull all are 0.
    Where the problem has segments, it also holds the level numbers of the segment that the next action is for.
    `info` holds the arm and its regret.

    >>> from causal_bandits.research.worlds import example_world
    >>> env = CausalBanditEnv(example_world(), horizon=10)
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(np.array([1]))
    >>> sorted(observation), info["arm"]
    (['A', 'B', 'S2', 'S3'], 'do(I=1)')
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (the name and the shape are gymnasium's)

    def __init__(self, world: SimulatedWorld, horizon: int = 1000) -> None:
        self.world = world
        self.horizon = whole_number("horizon", horizon, 1)
        self._step = 0
        seen = world.room(1)[0][0]
        self._seen: NDArray[Any] = np.zeros_like(seen)
        self._room = scratch(world.sampler)
        self._arms = {tuple(codes): number for number, codes in enumerate(world.problem.arm_codes.tolist())}
        self.action_space = gymnasium.spaces.MultiDiscrete([lever.size for lever in world.problem.levers])
        self._segments = world.problem.interventions[len(world.problem.levers) :]
        self._segment: tuple[int, ...] = tuple(0 for _ in self._segments)
        self._best = [world.means[world.problem.arm_segments == each].max() for each in world.problem.arm_segments]
        self.observation_space = gymnasium.spaces.Dict(
            {variable.name: _space(variable) for variable in (*world.problem.observed, *self._segments)}
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed)
        self._step = 0
        self._seen[:] = 0
        self._draw_segment()
        return self._observation(), {}

    def step(self, action: NDArray[np.int64]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Pull the arm that the action describes."""
        key = (*(int(code) for code in action), *self._segment)
        if key not in self._arms:
            raise UnknownArmError(f"action {key} is not one of the {len(self._arms)} arms; see world.problem.arm_codes")
        arm = self._arms[key]
        reward = draw(self.world.sampler, arm, self.np_random, self._room, self._seen)
        self._step += 1
        self._draw_segment()
        regret = float(self._best[arm] - self.world.means[arm])
        info = {"arm": str(self.world.problem.arms[arm]), "regret": regret}
        return self._observation(), float(reward), False, self._step >= self.horizon, info

    def _draw_segment(self) -> None:
        """Nature sets the segment of the next step."""
        if self._segments:
            drawn = self.world.draw_segment(self.np_random)
            self._segment = tuple(variable.code(drawn[variable.name]) for variable in self._segments)

    def _observation(self) -> Observation:
        seen = {
            variable.name: np.array([value]) if variable.is_real else int(value)
            for variable, value in zip(self.world.problem.observed, self._seen, strict=False)
        }
        return {**seen, **{each.name: code for each, code in zip(self._segments, self._segment, strict=True)}}


def _space(variable: Variable) -> gymnasium.Space[Any]:
    if variable.is_real:
        return gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float64)
    return gymnasium.spaces.Discrete(variable.size)
