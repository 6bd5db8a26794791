"""The bandit problem of sec. 2.2: everything a policy knows at the start."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import OptionError, ProblemError, UnknownArmError, UnknownVariableError, brief, flag, listing
from ..markup import titled_table
from .arms import CONTEXT_PREFIX, Arm
from .descriptions import (
    MOST_DESCRIPTION,
    MOST_NAME,
    REAL,
    check_distinct,
    check_mapping,
    check_roles,
    known_targets,
    read_description,
    read_texts,
)
from .rewards import Reward, read_cap, read_reward
from .variables import Level, Levels, Variable, control_level, declare

Segment = Mapping[str, Level]
"""One level of every segment."""
MOST_ARMS = 1_000_000
BYTES_PER_ARM = 800
"""Measured, with eight levers: the arm itself and how it is found."""


@dataclass(frozen=True, init=False, repr=False)
class Problem:
    """A bandit problem: observed variables, a reward, levers, and arms.

    Args:
        target: Name of the reward.
        observed: Variables seen after a pull: name -> number of levels, their names, `bins(...)` or `float`.
        interventions: Levers: name -> number of values, or the values.
        segments: Variables known before the decision, such as the device: name -> levels.
        arms: Arms that can be pulled, as mappings lever -> value; all combinations by default. With segments, an arm is
            for all of them, or for those that it names.
        idle: The control's level of a lever. By default the level that is called control, current,
            none, default or the like (`CONTROL_WORDS`), otherwise the first one.
        targets: The variables that each lever acts on, if known. No other causal knowledge is needed.
        reward: `bool` for 0 or 1; `float` for a real number, and then observed variables may be `float` too; "count",
            "revenue" (0 or an amount), or ``{"levels": [...], "values": [...]}`` for ordered levels.
        cap: The highest reward, or (lowest, highest), where it is a count, revenue or a number: a reward beyond it is
            rejected. Claims such as "stop" need one; unless declared, it is learned from the first 1,000 rows.
        names: Display names of variables and levels: "banner" or "banner=red" -> name.
        descriptions: Descriptions of variables and levels in a sentence or two, with the same keys.

    >>> problem = Problem(target="purchase", observed={"clicked": 2, "cart": ["empty", "some", "full"]},
    ...                   interventions={"banner": ["none", "red", "blue"], "discount": ["none", "10%"]})
    >>> problem.arms[:4]
    (do(), do(discount=10%), do(banner=red), do(banner=red, discount=10%))
    >>> problem.arm(banner="red")["discount"]
    'none'
    """

    target: str
    observed: tuple[Variable, ...]
    interventions: tuple[Variable, ...]
    idle: tuple[Level, ...]
    arms: tuple[Arm, ...]
    targets: tuple[tuple[str, tuple[str, ...]], ...]
    reward: Reward
    segments: tuple[str, ...]
    """Which of the interventions are segments; they come after the levers."""
    names: Mapping[str, str] = field(compare=False)
    descriptions: Mapping[str, str] = field(compare=False)

    def __init__(
        self,
        target: str,
        observed: Mapping[str, Levels],
        interventions: Mapping[str, Levels],
        *,
        segments: Mapping[str, Levels] | None = None,
        arms: Iterable[Mapping[str, Level]] | None = None,
        idle: Mapping[str, Level] | None = None,
        targets: Mapping[str, str | Iterable[str]] | None = None,
        reward: type[bool] | type[float] | str | Mapping[str, Sequence[Any]] = bool,
        cap: float | Sequence[float] | None = None,
        names: Mapping[str, str] | None = None,
        descriptions: Mapping[str, str] | None = None,
    ) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        check_mapping("observed", observed, "{name: levels}")
        check_mapping("interventions", interventions, "{name: levels}")
        segments = {} if segments is None else segments
        check_mapping("segments", segments, "{name: levels}")
        check_mapping("idle", {} if idle is None else idle, "{lever: level}")
        check_mapping("targets", {} if targets is None else targets, "{lever: observed variables}")
        if arms is not None and (isinstance(arms, str | Mapping) or not isinstance(arms, Iterable)):
            raise ProblemError(f"arms={brief(arms)}; expected a list of {{lever: level}} mappings")
        put("target", target)
        put("reward", read_cap(read_reward(reward), cap))
        put("observed", tuple(declare(name, levels) for name, levels in observed.items()))
        put("segments", tuple(segments))
        check_roles(target, observed, interventions, segments)
        both = {**interventions, **segments}
        put("interventions", tuple(declare(name, levels) for name, levels in both.items()))
        if any(variable.is_number for variable in self.interventions):
            raise ProblemError("bins(...) and float are for observed variables; levers and segments need levels")
        put("idle", self._idle_levels(idle or {}))
        both_roles = (*self.interventions, *self.observed)
        put("names", read_texts("names", names, target, both_roles, MOST_NAME))
        check_distinct(self.names, both_roles)
        put("descriptions", read_texts("descriptions", descriptions, target, both_roles, MOST_DESCRIPTION))
        put("arms", self._make_arms(arms))
        if segments:
            self._check_arms_of_segments()
        put("targets", known_targets(targets or {}, {*self.observed_names, target}, self.intervention))

    def _idle_levels(self, idle: Mapping[str, Level]) -> tuple[Level, ...]:
        first = {each.name: _idle_level(each, each.name in self.segments) for each in self.interventions}
        if set(idle) & set(self.segments):
            raise ProblemError(f"idle names the segment {listing(set(idle) & set(self.segments))}; name levers alone")
        return tuple(self._settings(first, idle).values())

    def _make_arms(self, arms: Iterable[Mapping[str, Level]] | None) -> tuple[Arm, ...]:
        if arms is None:
            count = math.prod(variable.size for variable in self.interventions)
            if count > MOST_ARMS:
                raise ProblemError(
                    f"the levers make {count:,} arms, which take about "
                    f"{count * BYTES_PER_ARM / 2**30:,.1f} GiB before any row is counted; list those that can be "
                    "pulled with arms=[...], or use fewer levels"
                )
            levels = (variable.levels for variable in self.interventions)
            return tuple(self._arm_of(choice) for choice in itertools.product(*levels))
        made = tuple(self._resolve(each) for arm in arms for each in self._fitting(arm))
        if len(made) < 2:
            raise ProblemError(f"{len(made)} arm(s) listed; a bandit needs at least 2")
        if len(set(made)) < len(made):
            twice = next(arm for place, arm in enumerate(made) if arm in made[:place])
            raise ProblemError(f"arm {twice.label} is listed twice")
        return made

    def _fitting(self, arm: Mapping[str, Level]) -> Iterable[Mapping[str, Level]]:
        """A listed arm in every segment that it does not rule out."""
        return self.in_segments(arm) if self.segments and isinstance(arm, Mapping) else [arm]

    def _arm_of(self, levels: Iterable[Level]) -> Arm:
        names = [variable.name for variable in self.interventions]
        return Arm(dict(zip(names, levels, strict=True)), self.idle_settings, self.segments, self.names)

    def _resolve(self, settings: Mapping[str, Level]) -> Arm:
        """An arm from a mapping; levers that are not named are at their control levels."""
        if not isinstance(settings, Mapping):
            raise UnknownArmError(f"{brief(settings)} is not an arm; expected {{lever: level}}")
        missing = [name for name in self.segments if name not in settings]
        if missing:
            raise UnknownArmError(
                f"the arm {brief(dict(settings))} has no value of the segment {listing(missing)}; add it"
            )
        return self._arm_of(self._settings(self.idle_settings, settings).values())

    def _settings(self, default: Mapping[str, Level], given: Mapping[str, Level]) -> dict[str, Level]:
        """A level for every lever: as given, else the default."""
        chosen = dict(default)
        for name, level in given.items():
            variable = self.intervention(name)
            chosen[variable.name] = variable.levels[variable.code(level)]
        return chosen

    @cached_property
    def idle_settings(self) -> dict[str, Level]:
        """The idle value of each lever."""
        return {variable.name: level for variable, level in zip(self.interventions, self.idle, strict=True)}

    @property
    def idle_arms(self) -> list[int]:
        """The numbers of the control arms, one in each segment; none if the control is not an arm."""
        return [number for number, arm in enumerate(self.arms) if not arm.active]

    def intervention(self, name: str) -> Variable:
        """A lever by name; `A` finds `I_A`."""
        for candidate in (name, f"{CONTEXT_PREFIX}{name}") if isinstance(name, str) else ():
            for variable in self.interventions:
                if variable.name == candidate:
                    return variable
        known = listing(variable.name for variable in self.interventions)
        raise UnknownVariableError(f"{brief(name)} is not a lever; expected one of {known}")

    def arm(self, settings: Mapping[str, Level] | None = None, /, **levers: Level) -> Arm:
        """An arm of the problem; levers that are not named are at their control levels."""
        if settings is not None and not isinstance(settings, Mapping):
            raise UnknownArmError(f"{brief(settings)} is not an arm; expected {{lever: level}}")
        arm = self._resolve({**(settings or {}), **levers})
        if arm not in self._index:
            raise UnknownArmError(f"{arm.label} is not one of the {len(self.arms)} arms; see problem.arms")
        return arm

    @cached_property
    def _index(self) -> dict[Arm, int]:
        return {arm: place for place, arm in enumerate(self.arms)}

    def index(self, arm: Arm | Mapping[str, Level]) -> int:
        """The position of an arm in `arms`."""
        if not isinstance(arm, Mapping):
            raise UnknownArmError(f"{brief(arm)} is not an arm; expected an arm from ask() or {{lever: level}}")
        place = self._index.get(arm) if isinstance(arm, Arm) else None
        return self._index[self.arm(arm)] if place is None else place

    @cached_property
    def arm_codes(self) -> NDArray[np.int64]:
        """The level number of each lever (columns) in each arm (rows)."""
        rows = [[variable.code(arm[variable.name]) for variable in self.interventions] for arm in self.arms]
        return np.array(rows, dtype=np.int64)

    def arm_groups(self, names: Iterable[str]) -> NDArray[np.int64]:
        """For each arm the number of its joint setting of the named levers."""
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise UnknownVariableError(f"{brief(names)} is not a list of levers")
        wanted = {self.intervention(name).name for name in names}
        numbers, most = np.zeros(len(self.arms), dtype=np.int64), 1
        for place, variable in enumerate(self.interventions):
            if variable.name not in wanted:
                continue
            if most * variable.size >= 2**62:  # too many combinations to number, of which few are arms
                numbers, most = np.unique(numbers, return_inverse=True)[1], len(self.arms)
            numbers = numbers * variable.size + self.arm_codes[:, place]
            most *= variable.size
        return np.unique(numbers, return_inverse=True)[1].astype(np.int64)

    # Segments: variables known before the decision. They are stored with the levers, but are not chosen.

    @property
    def levers(self) -> tuple[Variable, ...]:
        """The levers: `interventions` without the segments."""
        return tuple(variable for variable in self.interventions if variable.name not in self.segments)

    @cached_property
    def segment_settings(self) -> tuple[dict[str, Level], ...]:
        """Every combination of segment levels; a single empty one if there are no segments."""
        found = [variable for variable in self.interventions if variable.name in self.segments]
        chosen = itertools.product(*(variable.levels for variable in found))
        return tuple({v.name: level for v, level in zip(found, levels, strict=True)} for levels in chosen)

    @cached_property
    def arm_segments(self) -> NDArray[np.int64]:
        """For each arm the number of its segment, as in `segment_settings`."""
        if not self.segments:
            return np.zeros(len(self.arms), dtype=np.int64)
        places = {tuple(segment.values()): place for place, segment in enumerate(self.segment_settings)}
        return np.array([places[tuple(arm.segment.values())] for arm in self.arms], dtype=np.int64)

    def segment(self, given: object) -> dict[str, Level] | None:
        """A segment as the problem spells it, checked; None if the problem has none and none is given.

        >>> problem = Problem("Y", {}, {"banner": ["none", "red"]}, segments={"device": ["mobile", "desktop"]})
        >>> problem.segment({"device": "mobile"})
        {'device': 'mobile'}
        """
        if not self.segments:
            if given is not None:
                raise OptionError(f"segment={brief(given)}, but the problem has no segments; leave it out")
            return None
        if given is None:
            raise OptionError(
                f"the problem has segments; pass segment={{...}} with a value of {listing(self.segments)}"
            )
        if not isinstance(given, Mapping):
            raise OptionError(f"segment={brief(given)}; expected a mapping with a value of {listing(self.segments)}")
        for name in given:
            if name not in self.segments:
                raise UnknownVariableError(f"{brief(name)} is not a segment; expected {listing(self.segments)}")
        found: dict[str, Level] = {}
        for variable in self.interventions[len(self.levers) :]:
            if variable.name not in given:
                raise OptionError(
                    f"segment={brief(dict(given))} has no {variable.name!r}; expected a value of "
                    f"{listing(self.segments)}"
                )
            found[variable.name] = variable.levels[variable.code(given[variable.name])]
        return found

    def arms_in(self, segment: object) -> NDArray[np.bool_] | None:
        """(arms,): which arms belong to a segment, which is checked; None if the problem has no segments."""
        found = self.segment(segment)
        return None if found is None else self.arm_segments == self.segment_settings.index(found)

    def in_segments(self, settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """A mapping of an arm, once for every segment that it matches; a segment that it does not name is any."""
        named = {name: settings[name] for name in self.segments if name in settings}
        for variable in self.interventions:
            if variable.name in named and named[variable.name] is not ...:
                named[variable.name] = variable.levels[variable.code(named[variable.name])]
        for segment in self.segment_settings:
            if all(level is ... or segment[name] == level for name, level in named.items()):
                yield {**settings, **segment}

    def _check_arms_of_segments(self) -> None:
        """Validate that there is an arm for every segment, and something to choose in one of them."""
        counts = np.bincount(self.arm_segments, minlength=len(self.segment_settings))
        if not counts.all():
            without = self.segment_settings[int(counts.argmin())]
            raise ProblemError(f"no arm is listed for the segment {brief(without)}; every segment needs one")
        if counts.max() < 2:
            raise ProblemError("there is one arm in every segment; a bandit needs at least 2")

    def with_arm(self, settings: Mapping[str, Level], *, new_levels: bool = False) -> "Problem":
        """The same problem with one more arm at the end; with `new_levels` it may have new values of levers.

        >>> problem = Problem("Y", {"A": 2}, {"banner": ["none", "red"]})
        >>> problem.with_arm({"banner": "green"}, new_levels=True).arms
        (do(), do(banner=red), do(banner=green))
        """
        if not isinstance(settings, Mapping):
            raise UnknownArmError(f"{brief(settings)} is not an arm; expected {{lever: level}}")
        data = self.to_dict()
        for name, level in settings.items():
            lever = self.intervention(name)
            if flag("new_levels", new_levels) and not lever.has(level):
                role = "segments" if lever.name in self.segments else "interventions"
                data[role][lever.name].append(level)
        data["arms"].append(dict(settings))
        return Problem.from_dict(data)

    @property
    def reward_is_real(self) -> bool:
        """Whether the mean reward is not a probability."""
        return self.reward.is_real

    @property
    def observed_names(self) -> tuple[str, ...]:
        """Names of the observed variables, in order."""
        return tuple(variable.name for variable in self.observed)

    @property
    def intervention_names(self) -> tuple[str, ...]:
        """Names of the levers and then of the segments, in order."""
        return tuple(variable.name for variable in self.interventions)

    def __hash__(self) -> int:
        # Problems are keys of caches: thousands of arms are compared where it matters, and not hashed each time.
        return hash((self.target, self.observed, self.interventions, len(self.arms)))

    def __repr__(self) -> str:
        return f"Problem({self.outline})"

    @property
    def outline(self) -> str:
        """Its variables and the number of its arms, in one short line."""
        shown = {
            "observed": self.observed_names,
            "interventions": [lever.name for lever in self.levers],
            **({"segments": self.segments} if self.segments else {}),
        }
        lists = ", ".join(f"{role}=[{listing(names, 6) if names else ''}]" for role, names in shown.items())
        return f"target={self.target!r}, {lists}, {len(self.arms)} arms"

    def name_of(self, variable: str, level: object = None) -> str:
        """The display name of a variable, or of one of its levels.

        >>> problem = Problem("Y", {}, {"ship": ["paid", "free"]}, names={"ship": "Shipping", "ship=free": "Free"})
        >>> problem.name_of("ship"), problem.name_of("ship", "free"), problem.arms[1].label
        ('Shipping', 'Free', 'Shipping=Free')
        """
        if level is None:
            return self.names.get(variable, variable.removeprefix(CONTEXT_PREFIX))
        return self.names.get(f"{variable}={level}", str(level))

    def _repr_html_(self) -> str:
        rows = [
            (variable.name, "segment" if variable.name in self.segments else "lever", variable.shown)
            for variable in self.interventions
        ]
        rows += [(variable.name, "observed", variable.shown) for variable in self.observed]
        rows.append((self.target, "reward", self.reward.shown))
        return titled_table(repr(self), ("variable", "role", "levels"), rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; `from_dict` reads them back."""

        def levels(variable: Variable) -> list[Level] | dict[str, Any] | str:
            if variable.is_real:
                return REAL
            return dict(vars(variable.bins)) if variable.bins else list(variable.levels)

        return {
            "target": self.target,
            "observed": {variable.name: levels(variable) for variable in self.observed},
            "interventions": {lever.name: list(lever.levels) for lever in self.levers},
            **({"segments": {n: list(self.intervention(n).levels) for n in self.segments}} if self.segments else {}),
            "idle": {lever.name: self.idle_settings[lever.name] for lever in self.levers},
            "arms": [dict(arm) for arm in self.arms],
            "targets": {name: list(acted_on) for name, acted_on in self.targets},
            "reward": self.reward.plain(),
            **({} if self.reward.cap is None else {"cap": list(self.reward.cap)}),
            **({"names": dict(self.names)} if self.names else {}),
            **({"descriptions": dict(self.descriptions)} if self.descriptions else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Problem":
        """Create a problem from `to_dict`, or from JSON with the same keys.

        A real-valued variable or reward is "real" (or "float"), a binned one {"cuts": [...]} or {"quantiles": 4};
        a reward may also be "count", "revenue" or {"levels": [...], "values": [...]}.
        """
        return cls(**read_description(data))


def _idle_level(variable: Variable, is_segment: bool) -> Level:
    called = None if is_segment else control_level(variable.levels)
    return variable.levels[0] if called is None else called


def check_problem(problem: object) -> None:
    """Validate `problem`, before anything reads it."""
    if not isinstance(problem, Problem):
        raise OptionError(f"problem is a {type(problem).__name__}; expected causal_bandits.Problem(...)")
