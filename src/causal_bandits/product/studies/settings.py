"""What a study is from the start: its problem, its policy, its seed, its options. Plain JSON in the store.

A transactional study (the default) orders everything: each decision knows every outcome that was acknowledged before
it. In high-throughput mode a study decides from a snapshot in memory and counts what was appended a moment later, many
rows at once.
"""

import inspect
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from ...core.compiled import Bools, Floats
from ...core.graphs import MixedGraph, plain_graph
from ...core.policies import DEFAULT, POLICIES, Policy, policy_class
from ...core.policies.arms import arm_numbers
from ...core.problem import Arm, Level, Problem, check_problem, parse_arm
from ...core.validation import is_number
from ...errors import CausalBanditsError, OptionError, ProblemError, brief, listing
from ..options import StudyOptions, checked_options, options_of, unknown_option
from .decisions import OWN
from .guardrails import read_guardrails
from .outcomes import read_metrics
from .webhooks import check_private

TRANSACTIONAL, HIGH_THROUGHPUT = "transactional", "high-throughput"
CONFIDENCE = 0.95
"""Of guardrails, where the study does not say."""


def check_mode(plain: dict[str, Any]) -> None:
    """Reject what only high-throughput mode has, and what it cannot promise; the default mode is not stored."""
    if plain.get("mode") == HIGH_THROUGHPUT:
        if "reward_window" in plain:
            raise OptionError(
                f"reward_window={plain['reward_window']:g}: there are no reward windows in high-throughput mode, which "
                "may acknowledge a reward before it knows that the window has closed; leave the window out, or use "
                "mode='transactional'"
            )
        return
    for name in ("publish_rows", "publish_seconds"):
        if name in plain:
            raise OptionError(
                f"{name}={brief(plain[name])} needs high-throughput mode; pass mode='high-throughput' too"
            )
    plain.pop("mode", None)


def controls_of(rules: Mapping[str, Any], problem: Problem) -> list[int]:
    """The numbers of the control arm, one in each segment: the one that was named, else the one at control levels."""
    return arm_numbers(problem, rules["control"]) if "control" in rules else problem.idle_arms


def has_shares(rules: Mapping[str, Any]) -> bool:
    """Whether arms have a least or a greatest share."""
    return any(name in rules for name in ("control_share", "shares", "min_share", "max_share"))


def shares_of(rules: Mapping[str, Any], problem: Problem) -> tuple[Floats, Floats]:
    """The least and the greatest share of each arm."""
    low = np.full(len(problem.arms), float(rules.get("min_share", 0.0)))
    high = np.full(len(problem.arms), float(rules.get("max_share", 1.0)))
    for settings, least, most in rules.get("shares", ()):
        numbers = arm_numbers(problem, settings)
        low[numbers], high[numbers] = least, most
    if "control_share" in rules:
        controls = controls_of(rules, problem)
        low[controls] = high[controls] = rules["control_share"]
    return low, high


def cost_of(rules: Mapping[str, Any], problem: Problem) -> Floats | None:
    """What each arm costs, in units of the reward; None if nothing costs anything."""
    if "cost" not in rules:
        return None
    found = np.zeros(len(problem.arms))
    for lever, level, value in rules["cost"]["levels"]:
        variable = problem.intervention(lever)
        found += value * np.array([arm[variable.name] == variable.levels[variable.code(level)] for arm in problem.arms])
    for settings, value in rules["cost"]["arms"]:
        found[arm_numbers(problem, settings)] = value
    return found / float(rules.get("reward_value", 1.0))


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
                f"policy {policy.name!r} does not support costs: it does not play the arm with the highest index"
            )
    if has_shares(plain) or "guardrails" in plain:
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
            f"reward_window={window:g}: missing rewards would count as 0, but {problem.target!r} is "
            f"{problem.reward.words}; leave the window out, and abandon decisions that get no reward"
        )


def _check_shares(problem: Problem, plain: Mapping[str, Any]) -> None:
    controls = controls_of(plain, problem)
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
    low, high = shares_of(plain, problem)
    least, most = (np.bincount(problem.arm_segments, each) for each in (low, high))
    if least.max() > 1 + 1e-9:
        raise OptionError(f"minimum shares add up to {least.max():.4g}; they must not exceed 1")
    if most.min() < 1 - 1e-9:
        raise OptionError(f"maximum shares add up to {most.min():.4g}; they must reach 1")
    if np.any(low > high):
        arm = problem.arms[int(np.flatnonzero(low > high)[0])]
        raise OptionError(f"the minimum share of {arm.label} is above its maximum share")


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


def _cost(name: str, value: object) -> float:
    if not is_number(value) or not abs(float(value)) <= 1e100:  # type: ignore[arg-type]
        raise OptionError(f"the cost of {name} is {brief(value)}; expected a number in units of the reward")
    return float(value)  # type: ignore[arg-type]


def _check_unit(problem: Problem, plain: dict[str, Any]) -> None:
    """Costs that differ by more than rewards can are in another unit."""
    reward = problem.reward
    cost = cost_of(plain, problem)
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
            f"policy {policy.name!r} cannot exclude arms, which shares and guardrails require; use another policy"
        ) from None


READERS: dict[str, Callable[[Problem, Any, Mapping[str, Any]], Any]] = {
    "control": lambda problem, given, _: _settings(problem, "control", given),
    "metrics": lambda problem, given, _: read_metrics(problem, given),
    "guardrails": lambda problem, given, plain: read_guardrails(
        problem, plain.get("metrics", {}), given, controls_of(plain, problem)
    ),
    "shares": lambda problem, given, _: [list(_share(problem, arm, ends)) for arm, ends in given.items()],
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


MOST_BYTES = 1000
"""Bytes of a name or a key: what every storage has room for in an index."""
GRAPH = ("nodes", "directed", "bidirected")
"""What a graph is written as, in the options of a policy."""


@dataclass(frozen=True)
class Settings:
    """The settings of a study; they never change (arms that come or go are events)."""

    problem: dict[str, Any]
    policy: str
    options: dict[str, Any]
    seed: int
    rules: dict[str, Any]
    """The other options that were given (`StudyOptions`), as plain values."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON gives them back."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

    @property
    def reward_window(self) -> float | None:
        """Seconds in which a reward must come."""
        return self.rules.get("reward_window")

    @property
    def mode(self) -> str | None:
        """None for a transactional study, or "high-throughput"."""
        return self.rules.get("mode")

    def make_policy(self, problem: Problem | None = None) -> Policy[Any]:
        """A policy that has seen nothing yet; with a problem that got more arms, for that."""
        chosen = Problem.from_dict(self.problem) if problem is None else problem
        policy: Policy[Any] = POLICIES[self.policy].from_options(chosen, self.options)
        return policy

    def difference(self, other: "Settings", *, same_seed: bool) -> str | None:
        """The first setting in which two differ."""
        mine, theirs = ({**each.to_dict(), **each.rules, "rules": None} for each in (self, other))
        names = [name for name in {**mine, **theirs} if same_seed or name != "seed"]
        return next((name for name in names if mine.get(name) != theirs.get(name)), None)


@dataclass(frozen=True)
class StudySettings:
    """The settings that a study was created with; `problem` includes arms that were added since."""

    name: str
    created: datetime
    problem: dict[str, Any]
    policy: str
    options: dict[str, Any]
    seed: int
    rules: dict[str, Any]
    """The other options that were given: times, control, shares, guardrails, metrics, costs, mode."""

    @property
    def mode(self) -> str:
        """ "transactional", or "high-throughput"."""
        return str(self.rules.get("mode", TRANSACTIONAL))


class StudyInfo(NamedTuple):
    """A study in a list; one that cannot be read has a name and an error alone."""

    name: str
    created: datetime | None
    policy: str | None
    target: str | None
    error: str | None = None
    """Why it cannot be read: it is corrupt, or was written by a newer version."""
    title: str | None = None
    """What people call it."""


class HasSettings:
    """What its settings say of a study, opened here or on a server."""

    name: str
    """The name of the study in its storage."""
    created: datetime
    """When the study was created."""
    seed: int
    """The seed of the study's random numbers."""
    policy_name: str
    """The name of the policy."""
    mode: str
    """ "transactional", or "high-throughput" (decisions come from snapshots in memory)."""
    metrics: dict[str, Any]
    """The guardrail metrics that outcomes may have: name -> "binary", "real" or [lowest, highest]."""

    def __init__(self, about: StudySettings) -> None:
        self._about = about
        self.name, self.created, self.seed = about.name, about.created, about.seed
        self.policy_name, self.mode, self.metrics = about.policy, about.mode, dict(about.rules.get("metrics", {}))


def read_settings(stored: dict[str, Any]) -> Settings:
    """Settings from what `to_dict` gave; a KeyError or TypeError if they are invalid."""
    settings = Settings(**stored)
    _ = POLICIES[settings.policy], settings.problem["target"]
    return settings


def is_newer(stored: dict[str, Any]) -> bool:
    """Whether stored settings have fields or a policy that this version does not know."""
    known, rules = {field.name for field in fields(Settings)}, stored.get("rules")
    policy = stored.get("policy")
    return (
        not stored.keys() <= known
        or (isinstance(policy, str) and policy not in POLICIES)
        or (isinstance(rules, dict) and not rules.keys() <= options_of(StudyOptions).keys())
    )


def checked_name(name: object) -> str:
    """Validate the name of a study."""
    if not isinstance(name, str) or not name.strip():
        raise OptionError(f"name={brief(name)}; expected the name of the study")
    return _storable("name", name)


def checked_key(key: object) -> str:
    """Validate the key of a visitor or an import."""
    if not isinstance(key, str) or not key:
        raise OptionError(f"key={brief(key)}; expected a non-empty string")
    return _storable("key", key)


def _storable(what: str, text: str) -> str:
    """Reject what some storage cannot have in an index, the same for all storages."""
    if "\0" in text:
        raise OptionError(f"{what}={brief(text)} has a NUL character, which cannot be stored; remove it")
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MOST_BYTES:
        raise OptionError(f"{what}={brief(text)} has {size:,} bytes in UTF-8; expected at most {MOST_BYTES:,}")
    return text


def make_settings(problem: Problem, given: Mapping[str, Any]) -> Settings:
    """Settings from the options that a caller gave, checked by making the policy once."""
    check_problem(problem)
    for name in (*problem.intervention_names, *problem.observed_names, problem.target):
        if name in OWN:
            own = ", ".join(OWN)
            raise ProblemError(f"{name!r} cannot be a variable of a study, whose table has columns {own}; rename it")
    options = checked_options(StudyOptions, given)
    made = _policy(problem, options.pop("policy", None), options.pop("options", {}))
    seed = options.pop("seed", None)
    settings = Settings(
        problem.to_dict(),
        made.name,
        made.options(),
        secrets.randbits(63) if seed is None else seed,
        make_rules(problem, made, options),
    )
    return Settings(**json.loads(json.dumps(asdict(settings), default=lambda array: array.tolist())))


def _policy(problem: Problem, policy: object, options: Mapping[str, Any]) -> Policy[Any]:
    if isinstance(policy, Policy):
        if policy.problem != problem or policy.rows or options:
            raise OptionError("a policy given to a study must be new, have the study's problem, and hold its options")
        return policy
    chosen = policy_class(DEFAULT if policy is None else policy, problem)
    needs = _check_options(chosen, options)
    make: Any = chosen
    try:
        # What a policy draws when it is made must be the same when the study is created again.
        defaults = {"seed": 0} if needs else make(problem, seed=0).options()
        return chosen.from_options(
            problem, {**defaults, **{name: plain_option(value) for name, value in options.items()}}
        )
    except TypeError as error:
        raise OptionError(f"policy {chosen.name!r} does not take these options ({error})") from None


def _check_options(chosen: type[Policy[Any]], options: Mapping[str, Any]) -> list[str]:
    """The required options of a policy, after checking that all of them are there and none is unknown."""
    if "seed" in options:
        raise OptionError("the seed belongs to the study, not to the policy; pass seed= to the study")
    known = {name: each for name, each in inspect.signature(chosen).parameters.items() if name != "problem"}
    del known["seed"]
    for name in options:
        if name not in known:
            if not known:
                raise OptionError(f"policy {chosen.name!r} takes no options; remove {brief(name)}")
            raise OptionError(f"policy {chosen.name!r}: {unknown_option(name, known)}")
    needs = [name for name, each in known.items() if each.default is each.empty]
    absent = [name for name in needs if name not in options]
    if absent:
        them = "it" if len(absent) == 1 else "them"
        raise OptionError(f"policy {chosen.name!r} requires {listing(absent)}; pass {them} in options")
    graph = plain_option(options.get("graph", {"nodes": []}))
    if not isinstance(graph, Mapping) or "nodes" not in graph or not graph.keys() <= set(GRAPH):
        raise OptionError(f"policy {chosen.name!r}: invalid graph={brief(graph)}; expected nodes, directed, bidirected")
    return needs


def plain_option(value: Any) -> Any:
    """A discovery or a graph as JSON has it; other values as they are."""
    if isinstance(value, MixedGraph):
        return plain_graph(value)
    return value.to_dict() if hasattr(value, "to_dict") else value
