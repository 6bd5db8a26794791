"""What a study is from the start: its problem, its policy, its seed. Plain JSON in the store."""

import inspect
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from ...core.graphs import MixedGraph, plain_graph
from ...core.policies import DEFAULT, POLICIES, Policy, policy_class
from ...core.problem import Problem
from ...errors import OptionError, brief, listing
from ..options import StudyOptions, checked_options, options_of, unknown_option
from .modes import SECONDS, TRANSACTIONAL
from .rules import make_rules

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
    def title(self) -> str | None:
        """What people call the study, where it is not its name."""
        return self.rules.get("title")

    @property
    def expire_after(self) -> float | None:
        """Seconds after which an open decision is closed."""
        return self.rules.get("expire_after")

    @property
    def reward_window(self) -> float | None:
        """Seconds in which a reward must come."""
        return self.rules.get("reward_window")

    @property
    def sticky(self) -> float | str | None:
        """For how many seconds a key keeps its decision, or "never"; None: forever."""
        return self.rules.get("sticky")

    @property
    def mode(self) -> str | None:
        """None for a transactional study, or "high-throughput"."""
        return self.rules.get("mode")

    @property
    def publish_rows(self) -> int | None:
        """In high-throughput mode: rows after which a snapshot is published."""
        return self.rules.get("publish_rows")

    @property
    def publish_seconds(self) -> float:
        """In high-throughput mode: seconds after which a snapshot is published."""
        return float(self.rules.get("publish_seconds", SECONDS))

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
    """What a study was created with; the problem is that of today, since arms may have been added."""

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


def make_settings(problem: object, given: Mapping[str, Any]) -> Settings:
    """Settings from the options that a caller gave, checked by making the policy once."""
    if not isinstance(problem, Problem):
        raise OptionError(f"problem is a {type(problem).__name__}; expected causal_bandits.Problem(...)")
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
