"""An OpenFeature provider: a flag is a study, and an evaluation is the decision for the targeting key.

Flags:

- `checkout`: the levels of all levers of the study `checkout`, as an object; in a study with one lever also its level.
- `checkout.banner`: the level of one lever, as a text, a number or a truth value.

Tracking events report outcomes:

- `checkout`: the event's value is the reward of the study `checkout`, its attributes are mediators and metrics.
- `checkout.clicked`, or `clicked` in all studies that were used and have such a variable: one value. It is the
  attribute of that name, otherwise the event's value, otherwise 1 (the event happened).

Attributes of the evaluation context that have the name of a segment say which segment the user is in. As OpenFeature
requires, no call raises an error: a failed evaluation returns the caller's default and an error code, and a tracking
event that cannot be recorded is logged.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import CausalBanditsError, OptionError, UnknownStudyError, missing_extra
from .studies import Store, Study

try:
    from openfeature.evaluation_context import EvaluationContext
    from openfeature.exception import (
        FlagNotFoundError,
        GeneralError,
        InvalidContextError,
        OpenFeatureError,
        ProviderNotReadyError,
        TargetingKeyMissingError,
        TypeMismatchError,
    )
    from openfeature.flag_evaluation import FlagResolutionDetails, Reason
    from openfeature.provider import AbstractProvider, Metadata
    from openfeature.track import TrackingEventDetails
except ImportError as error:
    raise missing_extra("openfeature-sdk", "openfeature") from error

if TYPE_CHECKING:
    from .service import Client, RemoteStudy

log = logging.getLogger("causal_bandits.openfeature")
Reader = Callable[[Any], Any]
ABSENT_SECONDS, MOST_ABSENT = 30.0, 1000
"""How long a name without a study is remembered, and how many: `checkout.banner` is not looked for each time."""


class _Flagged(NamedTuple):
    """A study and the names in it, which never change."""

    study: Any
    levers: tuple[str, ...]
    segments: tuple[str, ...]
    target: str
    variables: frozenset[str]
    """Mediators and metrics."""

    @classmethod
    def of(cls, study: Any) -> _Flagged:
        problem = study.problem
        variables = frozenset((*problem.observed_names, *study.metrics))
        levers = tuple(lever.name for lever in problem.levers)
        return cls(study, levers, tuple(problem.segments), problem.target, variables)


def _resolving(kind: str) -> Callable[..., FlagResolutionDetails[Any]]:
    def resolve(
        provider: Provider, flag_key: str, default_value: Any, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[Any]:
        return provider._resolved(flag_key, evaluation_context, kind)

    resolve.__doc__ = f"The value of a flag that is of OpenFeature's kind {kind}."
    return resolve


def _in_thread(resolve: Callable[..., FlagResolutionDetails[Any]]) -> Callable[..., Any]:
    async def resolve_async(provider: Provider, *args: Any, **kwargs: Any) -> FlagResolutionDetails[Any]:
        return await asyncio.to_thread(resolve, provider, *args, **kwargs)

    resolve_async.__doc__ = "The same in a thread: a decision is stored before it is returned."
    return resolve_async


class Provider(AbstractProvider):
    """Serves the decisions of studies as feature flags, from a storage or a server.

    Args:
        source: A `Client`, the URL of a storage, an open store, or a mapping from names to studies.
    """

    def __init__(self, source: Client | str | Store | Mapping[str, Study | RemoteStudy]) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._source: Any = source
        self._studies: dict[str, _Flagged] = {}
        self._absent: dict[str, float] = {}

    def get_metadata(self) -> Metadata:
        """The name under which it is known."""
        return Metadata(name="causal-bandits")

    def initialize(self, evaluation_context: EvaluationContext) -> None:
        """Connect to the storage or the server; after a failure the provider's state is ERROR."""
        if isinstance(self._source, Mapping):
            return
        try:
            if isinstance(self._source, str):
                self._source = Store(self._source, create=False)
            _ = Study.list(storage=self._source) if isinstance(self._source, Store) else self._source.list()
        except CausalBanditsError as error:
            raise ProviderNotReadyError(str(error)) from None

    def shutdown(self) -> None:
        """Close the storage or the connections, where it opened them."""
        if isinstance(self._source, Store):
            self._source.close()

    # Evaluation: the methods of OpenFeature, one for each kind of value

    resolve_boolean_details: Any = _resolving("boolean")
    resolve_string_details: Any = _resolving("string")
    resolve_integer_details: Any = _resolving("integer")
    resolve_float_details: Any = _resolving("float")
    resolve_object_details: Any = _resolving("object")
    resolve_boolean_details_async: Any = _in_thread(resolve_boolean_details)
    resolve_string_details_async: Any = _in_thread(resolve_string_details)
    resolve_integer_details_async: Any = _in_thread(resolve_integer_details)
    resolve_float_details_async: Any = _in_thread(resolve_float_details)
    resolve_object_details_async: Any = _in_thread(resolve_object_details)

    def _resolved(self, flag: str, context: EvaluationContext | None, kind: str) -> FlagResolutionDetails[Any]:
        try:
            name, study, lever = self._flag(flag)
            if lever is not None and lever not in study.levers:
                raise FlagNotFoundError(f"study {name!r} has no lever {lever!r}")
            segment = _segment(study.segments, context)
            decision = study.study.ask(key=_targeting_key(context), segment=segment)
        except OpenFeatureError:
            raise
        except OptionError as error:
            raise InvalidContextError(str(error)) from None
        except CausalBanditsError as error:
            raise GeneralError(str(error)) from None
        levels = dict(decision.arm)
        one = lever or (next(iter(levels)) if len(levels) == 1 and kind != "object" else None)
        return FlagResolutionDetails(
            value=READERS[kind](levels if one is None else levels[one]),
            reason=Reason.SPLIT,
            variant=", ".join(f"{name}={level}" for name, level in levels.items()) if one is None else str(levels[one]),
            flag_metadata={"study": name, "decision": decision.id},
        )

    def _flag(self, flag: str) -> tuple[str, _Flagged, str | None]:
        """The study of a flag, and the lever where it names one; names of studies may have dots."""
        for name, lever in ((flag, None), flag.rpartition(".")[::2]):
            study = self._study(name) if name else None
            if study is not None:
                return name, study, lever
        raise FlagNotFoundError(f"no study matches flag {flag!r}")

    def _study(self, name: str) -> _Flagged | None:
        """A study by name; None where there is none."""
        with self._lock:
            found = self._studies.get(name)
            if found is not None or time.monotonic() < self._absent.get(name, 0.0):
                return found
        try:
            found = _Flagged.of(self._load(name))
        except (KeyError, UnknownStudyError):
            with self._lock:
                if len(self._absent) >= MOST_ABSENT:
                    self._absent.clear()
                self._absent[name] = time.monotonic() + ABSENT_SECONDS
            return None
        with self._lock:
            return self._studies.setdefault(name, found)

    def _load(self, name: str) -> Any:
        source = self._source
        if isinstance(source, Mapping):
            return source[name]
        if isinstance(source, str):
            source = self._source = Store(source, create=False)
        return Study.load(name, storage=source) if isinstance(source, Store) else source.load(name)

    # Tracking

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Report an outcome for the decision of the targeting key."""
        details = tracking_event_details or TrackingEventDetails()
        try:
            key = _targeting_key(evaluation_context)
            outcomes = [*self._outcomes(tracking_event_name, details)]
        except (OpenFeatureError, CausalBanditsError) as error:
            log.warning("tracking event %r was not recorded: %s", tracking_event_name, error)
            return
        if not outcomes:
            log.info("tracking event %r is no variable of a study", tracking_event_name)
        for name, mediators, reward in outcomes:
            try:
                self._studies[name].study.tell(key=key, mediators=mediators, reward=reward)
            except CausalBanditsError as error:
                log.warning("tracking event %r of study %r was not recorded: %s", tracking_event_name, name, error)

    def _outcomes(self, event: str, details: TrackingEventDetails) -> Iterator[tuple[str, dict[str, Any] | None, Any]]:
        """The studies that an event concerns, with the mediators and the reward that it reports."""
        study = self._study(event)
        if study is not None:
            given = {name: _as_level(value) for name, value in details.attributes.items()}
            reward = given.pop(study.target, _as_level(details.value))
            yield event, given or None, reward
            return
        name, _, variable = event.rpartition(".")
        if name and self._study(name) is not None:
            names = [name]
        else:
            names, variable = [*self._studies, *(self._source if isinstance(self._source, Mapping) else ())], event
        value = _as_level(details.attributes.get(variable, 1 if details.value is None else details.value))
        for each in dict.fromkeys(names):
            study = self._study(each)
            if study is not None and variable == study.target:
                yield each, None, value
            elif study is not None and variable in study.variables:
                yield each, {variable: value}, None


def _targeting_key(context: EvaluationContext | None) -> str:
    if context is None or not context.targeting_key:
        raise TargetingKeyMissingError("a decision needs a targeting key; set one in the evaluation context")
    return context.targeting_key


def _segment(names: Sequence[str], context: EvaluationContext | None) -> dict[str, Any] | None:
    if not names or context is None:
        return None
    return {name: context.attributes[name] for name in names if name in context.attributes}


def _as_level(value: Any) -> Any:
    """A value as levels are written: OpenFeature sends every number as a float."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _reader(kinds: type | tuple[type, ...], expected: str, make: Callable[[Any], Any] = lambda level: level) -> Reader:
    """What gives a level where it is of a kind: of numbers, only one that `make` leaves as it is."""

    def read(level: Any) -> Any:
        is_other_truth = isinstance(level, bool) and kinds is not bool
        if is_other_truth or not isinstance(level, kinds) or make(level) != level:
            raise TypeMismatchError(f"the value is {level!r}; expected {expected}")
        return make(level)

    return read


READERS = {
    "boolean": _reader(bool, "true or false"),
    "string": _reader(str, "a text"),
    "integer": _reader((int, float), "a whole number", int),
    "float": _reader((int, float), "a number", float),
    "object": _reader(dict, "an object"),
}
"""What OpenFeature calls the kinds of values."""
