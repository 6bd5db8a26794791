"""The protocol of a world's sampler: compiled functions of its arrays, registered by their type."""

from typing import Any

import numpy as np

from ...core.compiled import Operation


@Operation
def scratch(sampler: Any) -> Any:
    """Room that `draw` may use, made once for many draws."""
    raise NotImplementedError


@Operation
def fill(sampler: Any, arm: int, rng: np.random.Generator, values: Any) -> None:
    """Pull an arm once per row of `values`: the observed variables, and the reward last."""
    raise NotImplementedError


@Operation
def draw(sampler: Any, arm: int, rng: np.random.Generator, room: Any, seen: Any) -> float:
    """Pull an arm: fills `seen` with the observed variables, gives the reward."""
    raise NotImplementedError
