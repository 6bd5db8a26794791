"""What a study is from the start: its problem, its policy, its seed. Plain JSON in the store."""

import inspect
import json
import secrets
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from ..doors import duration
from ..errors import OptionError, brief, listing, whole_number
from ..graphs import MixedGraph
from ..policies import DEFAULT, POLICIES, Policy, policy_class
from ..policies.comparators.settings import plain_graph
from ..problem import Problem
from .consistency import check_served, make_consistency
from .rules import make_rules
from .wishes import Wishes, wished

LATER = ("rules", "consistency")
"""Settings that are stored only where they are given."""
MOST_BYTES = 1000
"""Bytes of a name or a key: what every storage has room for in an index."""
NOT_ASKED = ("pending",)
"""Settings that depend on when a study was created, not on what was asked for."""


@dataclass(frozen=True)
class Settings:
    """The settings of a study; they never change (arms that come or go are events)."""

    problem: dict[str, Any]
    policy: str
    options: dict[str, Any]
    seed: int
    expire_after: float | None = None
    reward_window: float | None = None
    pending: bool = False
    """Whether rows count before their reward is known; not in studies from before this was possible."""
    rules: dict[str, Any] | None = None
    """Control, shares, guardrails and costs (see `rules`); not stored where nothing was asked for."""
    consistency: dict[str, Any] | None = None
    """When a served study publishes (see `consistency`); not stored in strict studies."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON gives them back."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return {name: each for name, each in plain.items() if each is not None or name not in LATER}

    def make_policy(self, problem: Problem | None = None) -> Policy[Any]:
        """A policy that has seen nothing yet; with a problem that got more arms, for that."""
        chosen = Problem.from_dict(self.problem) if problem is None else problem
        return POLICIES[self.policy].from_options(chosen, self.options)

    def difference(self, other: "Settings", *, ignore: tuple[str, ...]) -> str | None:
        """The first setting in which two differ; options from after these were stored are not asked for."""
        mine, theirs = self.to_dict(), other.to_dict()
        theirs["options"] = {name: value for name, value in theirs["options"].items() if name in mine["options"]}
        mine_rules, rules = mine.pop("rules", None) or {}, theirs.pop("rules", None) or {}
        unlike = (name for name in {**mine, **theirs} if name not in ignore and mine.get(name) != theirs.get(name))
        return next(unlike, None) or next(
            (name for name in {**mine_rules, **rules} if mine_rules.get(name) != rules.get(name)), None
        )


@dataclass(frozen=True)
class StudySettings:
    """What a study was created with; the problem is that of today, since arms may have been added."""

    name: str
    created: datetime
    problem: dict[str, Any]
    policy: str
    options: dict[str, Any]
    seed: int
    expire_after: float | None
    reward_window: float | None
    rules: dict[str, Any] | None
    """Control, shares, guardrails, metrics and costs, if any."""
    consistency: dict[str, Any] | None
    """When a served study publishes a snapshot; None for a strict study."""


def read_settings(stored: dict[str, Any]) -> Settings:
    """Settings from what `to_dict` gave; a KeyError or TypeError if they are invalid."""
    settings = Settings(**stored)
    _ = POLICIES[settings.policy], settings.problem["target"]
    return settings


def is_newer(stored: dict[str, Any]) -> bool:
    """Whether stored settings have fields or a policy that this version does not know."""
    known = {field.name for field in fields(Settings)}
    policy = stored.get("policy")
    return not stored.keys() <= known or (isinstance(policy, str) and policy not in POLICIES)


def checked_name(name: object) -> str:
    """Validate the name of a study."""
    if not isinstance(name, str) or not name.strip():
        raise OptionError(f"name={brief(name)}; expected the name of the study")
    return _storable("name", name)


def checked_key(key: object) -> str:
    """Validate the key of an ask or an import."""
    if not isinstance(key, str) or not key:
        raise OptionError(f"key={brief(key)}; expected a non-empty string")
    return _storable("key", key)


def _storable(what: str, text: str) -> str:
    """Refuse what some storage cannot have in an index, the same for all storages."""
    if "\0" in text:
        raise OptionError(f"{what}={brief(text)} has a NUL character, which cannot be stored; remove it")
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MOST_BYTES:
        raise OptionError(f"{what}={brief(text)} has {size:,} bytes in UTF-8; expected at most {MOST_BYTES:,}")
    return text


def make_settings(
    problem: object, policy: object, *, options: dict[str, Any] | None, seed: int | None, wishes: Wishes
) -> Settings:
    """Settings from what a caller gave, checked by making the policy once."""
    if not isinstance(problem, Problem):
        raise OptionError(f"problem is a {type(problem).__name__}; expected causal_bandits.Problem(...)")
    made = _policy(problem, policy, {} if options is None else options)
    if seed is None:
        seed = secrets.randbits(63)
    asked = wished(wishes)
    after, window = (
        duration(name, asked[name]) if name in asked else None for name in ("expire_after", "reward_window")
    )
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
    consistency = make_consistency(*(asked.get(name) for name in ("consistency", "publish_rows", "publish_seconds")))
    check_served(consistency, window)
    plain = json.loads(json.dumps(made.options(), default=lambda array: array.tolist()))
    number = whole_number("seed", seed, 0, 2**128 - 1)
    rules = json.loads(json.dumps(make_rules(problem, made, asked)))
    return Settings(problem.to_dict(), made.name, plain, number, after, window, True, rules, consistency)


def _policy(problem: Problem, policy: object, options: dict[str, Any]) -> Policy[Any]:
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


def _check_options(chosen: type[Policy[Any]], options: dict[str, Any]) -> list[str]:
    """The required options of a policy, after checking that all of them are there and none is unknown."""
    if not isinstance(options, dict):
        raise OptionError(f"options={brief(options)}; expected a mapping from options of the policy to their values")
    if "seed" in options:
        raise OptionError("the seed belongs to the study, not to the policy; pass seed= to the study")
    known = {name: each for name, each in inspect.signature(chosen).parameters.items() if name != "problem"}
    del known["seed"]
    for name in options:
        if name not in known:
            raise OptionError(f"policy {chosen.name!r} has no option {name!r}; expected some of {listing(known)}")
    needs = [name for name, each in known.items() if each.default is each.empty]
    absent = [name for name in needs if name not in options]
    if absent:
        raise OptionError(f"policy {chosen.name!r} requires {listing(absent)}; pass them in options")
    return needs


def plain_option(value: Any) -> Any:
    """A discovery or a graph as JSON has it; other values as they are."""
    if isinstance(value, MixedGraph):
        return plain_graph(value)
    return value.to_dict() if hasattr(value, "to_dict") else value
