"""The rules of a study: its options as plain JSON, checked once against the problem and each other."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...core.compiled import Bools, Floats
from ...core.policies import Policy
from ...core.policies.arms import arm_numbers
from ...core.problem import Arm, Level, Problem, parse_arm
from ...core.validation import is_number
from ...errors import CausalBanditsError, OptionError, brief
from .guardrails import Guardrail, read_guardrails
from .metrics import read_metrics
from .modes import check_mode
from .webhooks import check_private

CONFIDENCE = 0.95


class Rules:
    """What a study keeps to, from its settings; for whatever arms it has by now."""

    def __init__(self, plain: Mapping[str, Any] | None) -> None:
        self._plain = plain or {}
        self.guardrails = tuple(Guardrail(*each) for each in self._plain.get("guardrails", ()))
        self.confidence: float = self._plain.get("guardrail_confidence", CONFIDENCE)
        self.metrics: dict[str, Any] = self._plain.get("metrics", {})
        self.control_share: float | None = self._plain.get("control_share")
        self.reward_value: float = self._plain.get("reward_value", 1.0)

    def controls(self, problem: Problem) -> list[int]:
        """The numbers of the control arm, one in each segment: the one that was named, else the idle arm."""
        if "control" in self._plain:
            return arm_numbers(problem, self._plain["control"])
        return problem.idle_arms

    @property
    def shares_out(self) -> bool:
        """Whether arms have a least or a greatest share."""
        return any(name in self._plain for name in ("control_share", "shares", "min_share", "max_share"))

    def shares(self, problem: Problem) -> tuple[Floats, Floats]:
        """The least and the greatest share of each arm."""
        low = np.full(len(problem.arms), float(self._plain.get("min_share", 0.0)))
        high = np.full(len(problem.arms), float(self._plain.get("max_share", 1.0)))
        for settings, least, most in self._plain.get("shares", ()):
            numbers = arm_numbers(problem, settings)
            low[numbers], high[numbers] = least, most
        if self.control_share is not None:
            low[self.controls(problem)] = high[self.controls(problem)] = self.control_share
        return low, high

    def cost(self, problem: Problem) -> Floats | None:
        """What each arm costs, in units of the reward; None if nothing costs anything."""
        if "cost" not in self._plain:
            return None
        levels, arms = self._plain["cost"]["levels"], self._plain["cost"]["arms"]
        found = np.zeros(len(problem.arms))
        for lever, level, value in levels:
            variable = problem.intervention(lever)
            found += value * np.array(
                [arm[variable.name] == variable.levels[variable.code(level)] for arm in problem.arms]
            )
        for settings, value in arms:
            found[arm_numbers(problem, settings)] = value
        return found / self.reward_value


def make_rules(problem: Problem, policy: Policy[Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Checked options as plain values; what contradicts the problem, the policy or another option is rejected."""
    plain = {name: value for name, value in options.items() if name not in READERS}
    for name, read in READERS.items():
        if name in options:
            plain[name] = read(problem, options[name], plain)
    for name, needed in TOGETHER:
        if name in plain and needed not in plain:
            raise OptionError(f"{name} requires {needed}=")
    if "webhook" in plain:
        check_private("webhook", plain["webhook"], allowed=plain.get("allow_private_webhook", False))
    _check_times(problem, plain)
    check_mode(plain)
    for name, default in (("sticky", "forever"), ("after_finish", "winner")):
        if plain.get(name) == default:
            del plain[name]
    _check_shares(problem, plain)
    if "cost" in plain:
        _check_unit(problem, plain)
        if not policy.takes_costs:
            raise OptionError(
                f"policy {policy.name!r} cannot weigh costs: it does not play the arm with the highest index"
            )
    if Rules(plain).shares_out or "guardrails" in plain:
        _check_restrictable(policy)
    return plain


def _settings(problem: Problem, name: str, arm: object) -> dict[str, Level]:
    """The levers of an arm, given as an arm, a mapping or a text lever=value,..."""
    given: Any = parse_arm(arm) if isinstance(arm, str) else arm
    try:
        arm_of = problem.arms[arm_numbers(problem, given)[0]].lever_arm
        return dict(arm_of)
    except CausalBanditsError as error:
        raise type(error)(f"{name}: {error}") from None


def _check_times(problem: Problem, plain: Mapping[str, Any]) -> None:
    after, window = plain.get("expire_after"), plain.get("reward_window")
    if after is not None and window is not None and after <= window:
        raise OptionError(
            f"expire_after ({after:,} seconds) is not longer than reward_window ({window:,} seconds), so decisions "
            "would close before their window; make it longer"
        )
    if window is not None and problem.reward.kind == "levels":
        raise OptionError(
            f"reward_window={window:g}: a reward that does not come would be 0, and {problem.target!r} is "
            f"{problem.reward.words}; leave the window out, and tell what never came with final=True"
        )


def _check_shares(problem: Problem, plain: Mapping[str, Any]) -> None:
    controls = Rules(plain).controls(problem)
    if "control_share" in plain:
        if not controls:
            raise OptionError(
                "control_share needs a control, and no arm has every lever at its control level; set control="
            )
        if any(controls == arm_numbers(problem, each[0]) for each in plain.get("shares", ())):
            raise OptionError(
                f"the share of the control {problem.arms[controls[0]].lever_arm.label} is set in both shares= and "
                "control_share=; use one"
            )
    low, high = Rules(plain).shares(problem)
    least, most = (np.bincount(problem.arm_segments, each) for each in (low, high))
    if least.max() > 1 + 1e-9:
        raise OptionError(f"minimum shares add up to {least.max():.4g}; they must not exceed 1")
    if most.min() < 1 - 1e-9:
        raise OptionError(f"maximum shares add up to {most.min():.4g}; they must reach 1")
    if np.any(low > high):
        arm = problem.arms[int(np.flatnonzero(low > high)[0])]
        raise OptionError(f"the minimum share of {arm.label} is above its maximum share")


def _read_shares(problem: Problem, given: Mapping[Any, Any], _: Mapping[str, Any]) -> list[list[Any]]:
    return [list(_share(problem, arm, ends)) for arm, ends in given.items()]


def _share(problem: Problem, arm: object, ends: object) -> tuple[dict[str, Level], float, float]:
    if not isinstance(ends, Sequence) or isinstance(ends, str) or len(ends) != 2:
        raise OptionError(f"the share of {brief(arm)} is {brief(ends)}; expected (minimum, maximum)")
    low, high = (default if end is None else end for end, default in zip(ends, (0.0, 1.0), strict=True))
    if not (is_number(low) and is_number(high) and 0 <= low <= high <= 1):
        raise OptionError(f"the share of {brief(arm)} is {brief(ends)}; expected 0 <= minimum <= maximum <= 1")
    return _settings(problem, "shares", arm), float(low), float(high)


def _read_cost(problem: Problem, given: Mapping[Any, Any], _: Mapping[str, Any]) -> dict[str, Any]:
    levels: list[list[Any]] = []
    arms: list[list[Any]] = []
    for key, value in given.items():
        if isinstance(key, str) and isinstance(value, Mapping):
            lever = problem.intervention(key)
            levels += [
                [lever.name, lever.levels[lever.code(level)], _cost(f"{key}={level}", each)]
                for level, each in value.items()
            ]
        elif isinstance(key, Arm) or (isinstance(key, str) and "=" in key):
            arms.append([_settings(problem, "cost", key), _cost(str(key), value)])
        else:
            raise OptionError(
                f"cost of {brief(key)} is {brief(value)}; expected {{lever: {{level: cost}}}} or {{arm: cost}}"
            )
    return {"levels": levels, "arms": arms}


def _read_guardrails(problem: Problem, given: Mapping[Any, Any], plain: Mapping[str, Any]) -> list[list[Any]]:
    return read_guardrails(problem, plain.get("metrics", {}), given, Rules(plain).controls(problem))


def _cost(name: str, value: object) -> float:
    if not is_number(value) or not abs(float(value)) <= 1e100:  # type: ignore[arg-type]
        raise OptionError(f"the cost of {name} is {brief(value)}; expected a number in units of the reward")
    return float(value)  # type: ignore[arg-type]


def _check_unit(problem: Problem, plain: dict[str, Any]) -> None:
    """Costs that differ by more than rewards can are in another unit."""
    reward = problem.reward
    cost = Rules(plain).cost(problem)
    if reward.kind not in ("binary", "levels") or cost is None:
        return
    most = 1.0 if reward.kind == "binary" else max(reward.values) - min(reward.values)
    apart = float(cost.max() - cost.min())
    if apart > most:
        raise OptionError(
            f"costs differ by {apart:.4g} but rewards by at most {most:.4g}; set reward_value= "
            "(the value of a reward of 1, in the unit of the costs)"
        )


def _check_restrictable(policy: Policy[Any]) -> None:
    """Validate that a policy can choose among some arms only."""
    some: Bools = np.ones(len(policy.problem.arms), dtype=np.bool_)
    some[-1] = False
    try:
        policy.frequencies(1, np.random.default_rng(0), among=some)
    except CausalBanditsError:
        raise OptionError(
            f"policy {policy.name!r} cannot leave out arms, which shares and guardrails need; use another policy"
        ) from None


READERS: dict[str, Callable[[Problem, Any, Mapping[str, Any]], Any]] = {
    "control": lambda problem, given, _: _settings(problem, "control", given),
    "metrics": lambda problem, given, _: read_metrics(problem, given),
    "guardrails": _read_guardrails,
    "shares": _read_shares,
    "cost": _read_cost,
}
"""Options whose values name parts of the problem: problem, value and the options before it -> plain JSON."""
TOGETHER = (
    ("guardrail_confidence", "guardrails"),
    ("reward_value", "cost"),
    ("webhook_format", "webhook"),
    ("allow_private_webhook", "webhook"),
)
"""Options that mean nothing without another."""
