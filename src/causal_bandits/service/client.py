"""The client: the studies of a server, with the methods of `Study`, in threads or in an event loop (extra `client`).

`StudyCalls` says for each method which request it sends and how its answer is read. `RemoteStudy` sends these requests
and waits, `AsyncRemoteStudy` awaits them: a new method is one in `StudyCalls` and a line in each of both.
"""

import csv
import functools
import io
import json
import re
import ssl
import weakref
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Concatenate, Generic, NoReturn, ParamSpec, Self, TypeVar, Unpack
from urllib.parse import urlencode, urlsplit

import numpy as np
import polars as pl

from .. import errors
from .._version import __version__
from ..data.frames import columns_of
from ..discovery import SeparatingSets
from ..errors import (
    AccessError,
    CausalBanditsError,
    ObservationError,
    OptionError,
    StorageError,
    UnknownArmError,
    UnknownDecisionError,
    UnknownStudyError,
    brief,
    missing_extra,
)
from ..policies import Advice, Effects, Estimates, Policy, Posterior, Recommendation
from ..policies.advice import Advices
from ..policies.posterior import Source
from ..policies.recommendation import Recommendations
from ..problem import Arm, Level, Problem, Segment, check_problem
from ..reporting.described import StudyDescription
from ..secrecy import may_hold_secret
from ..serialization import from_json
from ..studies import (
    Change,
    Decision,
    DecisionRow,
    Evaluation,
    Explanation,
    Funnel,
    Guardrails,
    Health,
    Newest,
    Staleness,
    StudyInfo,
    StudySettings,
    Waiting,
)
from ..studies.decisions import LooksBack
from ..studies.settings import checked_key, checked_name, plain_option
from ..studies.showing import Closing, Showing
from ..studies.view import Pattern, Settable
from ..studies.wishes import Wishes, wished
from .gate import in_path

try:
    import httpx
except ImportError as error:
    raise missing_extra(error.name or "httpx", "client") from None

SECONDS = 130.0
"""How long an answer may take: a little longer than the server waits for its storage."""

Among = Iterable[Settable] | None
Values = Mapping[str, Any] | None
Evaluated = Settable | Mapping[Arm, float] | Policy[Any]

T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request, and how its answer is read."""

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    body: Any = None
    headers: Mapping[str, Any] = field(default_factory=dict)


class Server:
    """The address of a server, requests to it and errors from it, for both kinds of clients."""

    def __init__(self, url: str, token: str | None) -> None:
        self.place = _checked_url(url)
        self.headers = {"User-Agent": f"causal-bandits/{__version__}", "Accept": "application/json"}
        if token is not None:
            if not isinstance(token, str) or not token.isascii() or not token.isprintable():
                raise OptionError("token is not a printable ASCII text; pass one of the server's tokens")
            self.headers["Authorization"] = f"Bearer {token}"

    def request(self, call: Call[Any]) -> dict[str, Any]:
        """The arguments of httpx for a call."""
        given, content = {**self.headers, **call.headers}, None
        if call.body is not None:
            content = encoded(call.body)
            given["Content-Type"] = "application/json"
        return {"method": call.method, "url": f"{self.place}/api/v1{call.path}", "content": content, "headers": given}

    def checked(self, answer: httpx.Response) -> httpx.Response:
        """An answer that can be read; an error of the server is raised here."""
        if answer.status_code >= 400:
            raise self._error_in(answer)
        kind = answer.headers.get("content-type", "")
        other = answer.content and not kind.startswith(("application/json", "application/vnd.apache.parquet"))
        if other or answer.has_redirect_location:
            raise StorageError(f"server {self.place} answered with something else than JSON; is it the right one?")
        return answer

    def fail(self, error: httpx.HTTPError) -> NoReturn:
        """Raise what is to be said of a request that got no answer."""
        reason = " ".join(str(error).split())[:160] or type(error).__name__
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            raise StorageError(f"server {self.place} cannot be reached ({reason}); check that it runs") from None
        raise StorageError(
            f"server {self.place} did not answer ({reason}); the last call may or may not have been stored; "
            "check, or repeat it"
        ) from None

    def _error_in(self, answer: httpx.Response) -> CausalBanditsError:
        """The error that a server reports: the library's own where it names one."""
        try:
            told = answer.json()
            sentence, name = str(told["detail"]), str(told.get("error"))
        except (ValueError, TypeError, LookupError, AttributeError):
            return StorageError(
                f"server {self.place} answered with status {answer.status_code} and no sentence; is it the right one?"
            )
        kind = getattr(errors, name, None)
        if isinstance(kind, type) and issubclass(kind, CausalBanditsError):
            return kind(sentence)
        if answer.status_code in (401, 403):
            return AccessError(sentence)
        if answer.status_code >= 500:
            return StorageError(f"server {self.place}: {sentence}")
        return OptionError(sentence)


# What is sent


class StudyCalls:
    """The requests of one study."""

    def __init__(self, settings: dict[str, Any], propensities: LooksBack) -> None:
        self.settings = settings
        self.problem = Problem.from_dict(settings["problem"])
        self._path = f"/studies/{in_path(settings['name'])}"
        self._tag: str | None = None
        self._propensities = propensities

    def _get(self, path: str, kind: Any, **query: Any) -> Call[Any]:
        text = urlencode({name: _in_query(value) for name, value in _given(query).items()})
        return self._call("GET", f"{path}?{text}" if text else path, kind)

    def _call(self, method: str, path: str, kind: Any = Any, body: Any = None, **headers: Any) -> Call[Any]:
        def read(answer: httpx.Response) -> Any:
            return from_json(kind, answer.json(), self.problem)

        return Call(method, self._path + path, read, body, headers)

    # Looking

    def load_settings(self) -> Call[StudySettings]:
        """What it was created with, and its problem as it is now."""
        return self._get("/settings", StudySettings)

    def load_problem(self) -> Call[Problem]:
        """The problem as it is now: arms may have been added."""

        def read(answer: httpx.Response) -> Problem:
            if answer.status_code != 304:
                found = answer.json()
                if found["problem"] != self.settings["problem"]:
                    self.problem, self.settings = Problem.from_dict(found["problem"]), found
                self._tag = answer.headers["etag"]
            return self.problem

        headers = {} if self._tag is None else {"If-None-Match": self._tag}
        return Call("GET", f"{self._path}/settings", read, None, headers)

    def load_newest(self) -> Call[Newest]:
        """The number of the newest event and a mark of all events so far."""

        def read(answer: httpx.Response) -> Newest:
            event, _, _ = answer.headers["etag"].strip('"').partition(".")
            number, _, mark = event.partition("-")
            return Newest(int(number), mark)

        return Call("GET", f"{self._path}/settings", read)

    def recommend(self, *, segment: Segment | None = None, margin: float | None = None) -> Call[Recommendation | Any]:
        """The arm to deploy (see `Study.recommend`)."""
        return self._get("/recommendation", Recommendation | Recommendations, segment=segment, margin=margin)

    def advice(
        self,
        *,
        margin: float | None = None,
        confidence: float = 0.95,
        tolerance: float = 0.01,
        segment: Segment | None = None,
    ) -> Call[Advice | Any]:
        """Stop, go on, or drop arms (see `Study.advice`)."""
        asked = {"margin": margin, "confidence": confidence, "tolerance": tolerance}
        return self._get("/advice", Advice | Advices, segment=segment, **asked)

    def estimates(self, *, level: float = 0.95, segment: Segment | None = None) -> Call[Estimates]:
        """What is known of each arm (see `Study.estimates`)."""
        return self._get("/estimates", Estimates, level=level, segment=segment)

    def posterior(self) -> Call[Posterior]:
        """The posterior of all arms' means; it resamples 1,000 joint draws of the server."""

        def read(answer: httpx.Response) -> Posterior:
            found = answer.json()
            draws = np.array(found["draws"], dtype=np.float64)
            return Posterior.resampled(
                found["rows"],
                from_json(Sequence[Source], found["sources"], self.problem),
                np.array(found["means"], dtype=np.float64),
                draws,
            )

        return Call("GET", f"{self._path}/posterior", read)

    def effects(self, *, level: float = 0.95) -> Call[Effects]:
        """What each level of each lever does (see `Study.effects`)."""
        return self._get("/effects", Effects, level=level)

    def guardrails(self) -> Call[Guardrails]:
        """What the rows say of each arm and guardrail (see `Study.guardrails`)."""
        return self._get("/guardrails", Guardrails)

    def health(self) -> Call[Health]:
        """Checks of the study itself (see `Study.health`)."""
        return self._get("/health", Health)

    def funnel(self) -> Call[Funnel]:
        """What levers do to mediators, and both to the reward (see `Study.funnel`)."""
        return self._get("/funnel", Funnel)

    def waiting(self) -> Call[Waiting]:
        """Open decisions by age, and how long outcomes take (see `Study.waiting`)."""
        return self._get("/waiting", Waiting)

    def separating_sets(self, *, rejected: bool = False) -> Call[SeparatingSets]:
        """The sets in use with their evidence (see `Study.separating_sets`)."""
        return self._get("/sets", SeparatingSets, rejected=rejected)

    def explain(self, decision: int | Decision) -> Call[Explanation]:
        """Why a decision was what it was (see `Study.explain`)."""
        return self._get(f"/decisions/{number_of(decision)}/explanation", Explanation)

    def evaluate(
        self, policy: Evaluated, *, method: str | None = None, level: float = 0.95, draws: int = 200
    ) -> Call[Evaluation]:
        """What an arm or a mapping arm -> probability would have earned (see `Study.evaluate`)."""
        if isinstance(policy, Policy) or not isinstance(policy, Mapping):
            raise OptionError(
                "a server evaluates an arm or a mapping arm -> probability; evaluate a policy where the storage is, "
                "with Study.load(...).evaluate(policy)"
            )
        mixed = bool(policy) and all(isinstance(arm, Arm) for arm in policy)
        arms: Sequence[Any] = [*policy] if mixed else [policy]
        query = [("arm", json.dumps(dict(arm))) for arm in arms]
        query += [("share", str(float(chance))) for chance in policy.values()] if mixed else []
        query += [("level", str(level)), ("draws", str(draws))]
        query += [("method", method)] if method is not None else []
        return self._call("GET", f"/evaluation?{urlencode(query)}", Evaluation)

    def propensity(self, decision: int | Decision) -> Call[float]:
        """The probability with which a decision's arm was chosen (see `Study.propensity`)."""
        return _propensity(self.settings["name"], number_of(decision))

    def to_frame(self) -> Call[pl.DataFrame]:
        """One row per decision (see `Study.to_frame`)."""
        return Call("GET", f"{self._path}/export.parquet", lambda answer: pl.read_parquet(io.BytesIO(answer.content)))

    def changes(self, after: int = 0, *, limit: int = 1000) -> Call[Sequence[Change]]:
        """What happened after the event with this number, in brief and in order."""
        return self._get("/changes", Sequence[Change], after=after, limit=limit)

    def decisions(self, after: int = 0, *, limit: int = 100) -> Call[Sequence[DecisionRow]]:
        """The decisions after this id with their outcomes so far, in order."""
        call = self._get("/decisions", Any, after=after, limit=limit)

        def read(answer: httpx.Response) -> Sequence[DecisionRow]:
            found: Sequence[DecisionRow] = from_json(list[DecisionRow], answer.json()["decisions"], self.problem)
            return found

        return Call("GET", call.path, read)

    def decision(self, decision: int | Decision) -> Call[DecisionRow]:
        """One decision with its outcome so far."""
        return self._get(f"/decisions/{number_of(decision)}", DecisionRow)

    def describe(self, *, history: bool = False) -> Call[StudyDescription]:
        """Everything in plain values, as `study show --json` prints it; with `history` also how it came about."""
        return self._get("", Any, history=history)

    def staleness(self) -> Call[Staleness]:
        """How far the snapshot that decides is behind what was acknowledged; a strict study is never behind."""
        return self._get("/staleness", Staleness)

    def publish(self) -> Call[Staleness]:
        """Count what a served study has appended so far, now; without this its aggregator does, a moment later."""
        return self._call("POST", "/publish", Staleness)

    def missing(self) -> Call[dict[str, int]]:
        """For each observed variable in how many of the counted rows it has no value."""
        return self._get("/missing", Any)

    # Acting

    def ask(
        self, n: int | None = None, *, segment: Segment | None = None, key: str | None = None, arms: Among = None
    ) -> Call[Any]:
        """The next decision, or `n` of them from the same state; stored before it is returned.

        Repeating a `key` returns the same decisions, to any caller: pass one where a lost answer is asked for again.
        """
        if arms is not None and (isinstance(arms, str | Mapping) or not isinstance(arms, Iterable)):
            raise OptionError(f"arms={brief(arms)}; expected a list of arms")
        given = {"count": n, "segment": segment, "arms": None if arms is None else [_arm(arm) for arm in arms]}

        def read(answer: httpx.Response) -> Any:
            made = [self._decision(row) for row in answer.json()]
            return made[0] if n is None else made

        return Call("POST", f"{self._path}/decisions", read, _given(given), _keyed(key))

    def _decision(self, row: dict[str, Any]) -> Decision:
        arm = Arm(row["arm"], self.problem.idle_settings)
        return Decision(row["id"], arm, datetime.fromisoformat(row["time"]), self._propensities, row["segment"])

    def tell(
        self, decision: int | Decision, metrics: Values = None, reward: Any = None, *, final: bool = False
    ) -> Call[None]:
        """Record the outcome of a decision: all at once or in parts, late, in any order."""
        body = {**_given({"metrics": metrics, "reward": reward}), **({"final": final} if final is not False else {})}
        return Call("PATCH", f"{self._path}/decisions/{number_of(decision)}", _nothing, body)

    def tell_many(self, frame: Any, *, final: bool = False) -> Call[int]:
        """Record outcomes from a table with a column `id` and a column per variable: all its rows, or none."""
        path = f"{self._path}/outcomes{'?final=true' if final else ''}"
        return Call("POST", path, lambda answer: int(answer.json()["told"]), _table(frame))

    def abandon(self, decision: int | Decision) -> Call[None]:
        """Close a decision that will never get its outcome; partial outcomes are not counted."""
        return Call("POST", f"{self._path}/decisions/{number_of(decision)}/abandon", _nothing)

    def expire(self, older_than: float | str) -> Call[Sequence[int]]:
        """Close the open decisions that are older than this; returns their ids."""
        return Call(
            "POST", f"{self._path}/expire", lambda answer: [*answer.json()["expired"]], {"older_than": older_than}
        )

    def import_rows(self, frame: Any, *, arm: Settable | None = None, key: str | None = None) -> Call[int]:
        """Import the rows of a logged table as prior data; returns the number of new rows."""
        rows = _table(frame)
        body = {**(rows if isinstance(rows, dict) else {"rows": rows}), **({} if arm is None else {"arm": _arm(arm)})}
        return Call("POST", f"{self._path}/imports", lambda answer: int(answer.json()["imported"]), body, _keyed(key))

    # Arms that come and go

    def retire(self, arm: Pattern) -> Call[Sequence[Arm]]:
        """Never choose this arm again, or these (`...` stands for any level). Returns the arms that changed."""
        return self._change("retired", _pattern(arm))

    def forbid(self, arm: Pattern) -> Call[Sequence[Arm]]:
        """Do not choose this arm, or these, until allowed again. Returns the arms that changed."""
        return self._change("forbidden", _pattern(arm))

    def allow(self, arm: Pattern) -> Call[Sequence[Arm]]:
        """Choose a forbidden arm again, or several. Returns the arms that changed."""
        return self._change("allowed", _pattern(arm))

    def retire_level(self, lever: str, level: Level) -> Call[Sequence[Arm]]:
        """Never choose an arm with this level of a lever again. Returns the arms that changed."""
        return self._change("retired", self._having(lever, level))

    def forbid_level(self, lever: str, level: Level) -> Call[Sequence[Arm]]:
        """Do not choose any arm with this level of a lever until it is allowed. Returns the arms that changed."""
        return self._change("forbidden", self._having(lever, level))

    def allow_level(self, lever: str, level: Level) -> Call[Sequence[Arm]]:
        """Choose forbidden arms with this level of a lever again. Returns the arms that changed."""
        return self._change("allowed", self._having(lever, level))

    def _having(self, lever: str, level: Level) -> dict[str, Any]:
        """Every arm that sets a lever to a level: the other levers have any level."""
        return {**dict.fromkeys(self.problem.intervention_names), self.problem.intervention(lever).name: level}

    def _change(self, state: str, pattern: dict[str, Any]) -> Call[Sequence[Arm]]:
        try:
            text = json.dumps(pattern)
        except (TypeError, ValueError):
            raise UnknownArmError(f"{brief(pattern)} is not an arm; levels are texts, numbers, True or False") from None
        return Call("PUT", f"{self._path}/arms/{in_path(text)}/state", self._arms, {"state": state})

    def add_arm(self, settings: Mapping[str, Level], *, new_levels: bool = False) -> Call[Arm]:
        """One more arm from now on; with `new_levels` its levers may have values that no arm had before."""
        body = {"arm": settings, "new_levels": new_levels}
        return Call("POST", f"{self._path}/arms", lambda answer: self._arms(answer)[0], body)

    def add_level(self, lever: str, level: Level) -> Call[Sequence[Arm]]:
        """A new level of a lever, with every setting of the other levers that an arm not retired has."""
        return Call("POST", f"{self._path}/levels", self._arms, {"lever": lever, "level": level})

    def _arms(self, answer: httpx.Response) -> Sequence[Arm]:
        found: Sequence[Arm] = from_json(list[Arm], answer.json()["arms"], self.problem)
        return found


# Studies by name


def create_call(
    name: str,
    problem: Problem,
    *,
    policy: str | Policy[Any] | None = None,
    options: dict[str, Any] | None = None,
    seed: int | None = None,
    **wishes: Unpack[Wishes],
) -> Call[tuple[dict[str, Any], bool]]:
    """Create a study; the same call again returns the existing one (see `Study.create`)."""
    check_problem(problem)
    if isinstance(policy, Policy):
        if policy.problem != problem or policy.rows or options:
            raise OptionError("a policy given to a study must be new, have its problem, and hold its options")
        options, policy = policy.options(), policy.name
    body = {
        "problem": problem.to_dict(),
        "policy": policy,
        "options": None if options is None else {key: plain_option(value) for key, value in options.items()},
        "seed": seed,
        **{wish: _by_text(value) for wish, value in wished(wishes).items()},
    }
    given = {"name": name, **_given(body)}  # the server says what is wrong with a name that is None
    return Call("POST", "/studies", lambda answer: (answer.json(), answer.status_code == 201), given)


def _load(name: str) -> Call[dict[str, Any]]:
    return Call("GET", f"/studies/{_named(name)}/settings", lambda answer: dict(answer.json()))


def _list() -> Call[Sequence[StudyInfo]]:
    def read(answer: httpx.Response) -> Sequence[StudyInfo]:
        return [StudyInfo(**{**row, "created": _moment(row["created"])}) for row in answer.json()]

    return Call("GET", "/studies", read)


def _propensity(name: str, decision: int) -> Call[float]:
    path = f"/studies/{in_path(name)}/decisions/{decision}/propensity"
    return Call("GET", path, lambda answer: float(answer.json()["propensity"]))


def _delete(name: str) -> Call[None]:
    return Call("DELETE", f"/studies/{_named(name)}", _nothing)


def _named(name: object) -> str:
    if checked_name(name) in (".", ".."):
        raise UnknownStudyError(f"a server has no study {name!r}; such a name cannot be part of an address")
    return in_path(str(name))


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


# Who sends it and waits


def _waits(call: Callable[Concatenate[StudyCalls, P], Call[T]]) -> Callable[Concatenate["RemoteStudy", P], T]:
    """The method that sends a call and returns its answer."""

    @functools.wraps(call)
    def method(self: "RemoteStudy", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._client.send(call(self._calls, *args, **kwargs))

    return method


def _creates(call: Callable[P, Call[tuple[dict[str, Any], bool]]]) -> Callable[Concatenate["Client", P], "RemoteStudy"]:
    """The method that creates a study."""

    @functools.wraps(call)
    def method(self: "Client", /, *args: P.args, **kwargs: P.kwargs) -> "RemoteStudy":
        settings, is_new = self.send(call(*args, **kwargs))
        return RemoteStudy(self, settings, is_new=is_new)

    return method


class _Propensities:
    """What a decision asks for its propensity; not its study, so that no cycle keeps connections open."""

    def __init__(self, client: "Client", name: str) -> None:
        self._client, self._name = client, name

    def propensity(self, decision: int, /) -> float:
        return self._client.send(_propensity(self._name, decision))


class Client(Closing):
    """Studies on a server (`causal-bandits serve`), with the methods that `Study` has for a storage.

    Any number of threads may use one client; it keeps its connections open.

    Args:
        url: Address of the server, such as http://127.0.0.1:8080, with the prefix of its proxy if it has one.
        token: One of the server's tokens, if it has any.
        timeout: Seconds to wait for an answer.

    >>> client = Client("http://127.0.0.1:8080")
    >>> client
    Client('http://127.0.0.1:8080')
    """

    def __init__(self, url: str, *, token: str | None = None, timeout: float = SECONDS) -> None:
        self.server = Server(url, token)
        self._timeout = timeout
        self._http: httpx.Client | None = None

    def __repr__(self) -> str:
        return f"Client({self.server.place!r})"

    def close(self) -> None:
        """Close the connections; they are opened again when they are needed."""
        http, self._http = self._http, None
        if http is not None:
            http.close()

    def send(self, call: Call[T]) -> T:
        """Send a request and wait for its answer."""
        if self._http is None:
            self._http = httpx.Client(timeout=self._timeout, verify=_tls(), limits=_UNLIMITED)
            weakref.finalize(self, self._http.close)
        try:
            answer = self._http.request(**self.server.request(call))
        except httpx.HTTPError as error:
            self.server.fail(error)
        return call.read(self.server.checked(answer))

    create = _creates(create_call)

    def load(self, name: str) -> "RemoteStudy":
        """Open an existing study."""
        return RemoteStudy(self, self.send(_load(name)))

    def list(self) -> Sequence[StudyInfo]:
        """List the studies of the server, the oldest first."""
        return self.send(_list())

    def delete(self, name: str) -> None:
        """Delete a study and all its decisions permanently."""
        self.send(_delete(name))


class RemoteStudy(Showing):
    """A study on a server; `Client.create` and `Client.load` make one. Its methods are those of `Study`."""

    def __init__(self, client: Client, settings: dict[str, Any], *, is_new: bool = False) -> None:
        self._client = client
        self._calls = StudyCalls(settings, _Propensities(client, settings["name"]))
        self.is_new = is_new
        """Whether this object created the study."""

    def close(self) -> None:
        """Let go of the connections; they are opened again when they are needed."""
        self._client.close()

    def __repr__(self) -> str:
        return f"RemoteStudy({self.name!r}, {self.policy_name}, server={self._client.server.place!r})"

    def _repr_html_(self) -> str:
        return self.estimates().table(f"{self!r}")

    @property
    def name(self) -> str:
        """Its name on the server."""
        return str(self._calls.settings["name"])

    @property
    def created(self) -> datetime:
        """When it was created."""
        return datetime.fromisoformat(self._calls.settings["created"])

    @property
    def seed(self) -> int:
        """What its random numbers come from."""
        return int(self._calls.settings["seed"])

    @property
    def policy_name(self) -> str:
        """Its policy's name in the registry."""
        return str(self._calls.settings["policy"])

    @property
    def is_served(self) -> bool:
        """Whether it decides from snapshots (consistency="served")."""
        return self._calls.settings["consistency"] is not None

    @property
    def metrics(self) -> dict[str, Any]:
        """The further metrics that outcomes may have, for guardrails: name -> "binary", "real" or [lowest, highest]."""
        return dict((self._calls.settings["rules"] or {}).get("metrics", {}))

    @property
    def settings(self) -> StudySettings:
        """What it was created with, and its problem as it is now."""
        return self._client.send(self._calls.load_settings())

    @property
    def problem(self) -> Problem:
        """The problem as it is now: arms may have been added."""
        return self._client.send(self._calls.load_problem())

    @property
    def newest(self) -> Newest:
        """The number of the newest event and a mark of all events so far."""
        return self._client.send(self._calls.load_newest())

    ask = _waits(StudyCalls.ask)
    tell = _waits(StudyCalls.tell)
    tell_many = _waits(StudyCalls.tell_many)
    abandon = _waits(StudyCalls.abandon)
    expire = _waits(StudyCalls.expire)
    import_rows = _waits(StudyCalls.import_rows)
    retire = _waits(StudyCalls.retire)
    forbid = _waits(StudyCalls.forbid)
    allow = _waits(StudyCalls.allow)
    retire_level = _waits(StudyCalls.retire_level)
    forbid_level = _waits(StudyCalls.forbid_level)
    allow_level = _waits(StudyCalls.allow_level)
    add_arm = _waits(StudyCalls.add_arm)
    add_level = _waits(StudyCalls.add_level)
    recommend = _waits(StudyCalls.recommend)
    advice = _waits(StudyCalls.advice)
    estimates = _waits(StudyCalls.estimates)
    posterior = _waits(StudyCalls.posterior)
    effects = _waits(StudyCalls.effects)
    guardrails = _waits(StudyCalls.guardrails)
    health = _waits(StudyCalls.health)
    funnel = _waits(StudyCalls.funnel)
    waiting = _waits(StudyCalls.waiting)
    separating_sets = _waits(StudyCalls.separating_sets)
    explain = _waits(StudyCalls.explain)
    evaluate = _waits(StudyCalls.evaluate)
    propensity = _waits(StudyCalls.propensity)
    to_frame = _waits(StudyCalls.to_frame)
    changes = _waits(StudyCalls.changes)
    decisions = _waits(StudyCalls.decisions)
    decision = _waits(StudyCalls.decision)
    describe = _waits(StudyCalls.describe)
    staleness = _waits(StudyCalls.staleness)
    publish = _waits(StudyCalls.publish)
    missing = _waits(StudyCalls.missing)


# Who sends it and awaits


def _awaits(
    call: Callable[Concatenate[StudyCalls, P], Call[T]],
) -> Callable[Concatenate["AsyncRemoteStudy", P], Awaitable[T]]:
    """The method that sends a call and awaits its answer."""

    @functools.wraps(call)
    async def method(self: "AsyncRemoteStudy", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._client.send(call(self._calls, *args, **kwargs))

    return method


def _awaits_new(
    call: Callable[P, Call[tuple[dict[str, Any], bool]]],
) -> Callable[Concatenate["AsyncClient", P], Awaitable["AsyncRemoteStudy"]]:
    """The method that awaits a new study."""

    @functools.wraps(call)
    async def method(self: "AsyncClient", /, *args: P.args, **kwargs: P.kwargs) -> "AsyncRemoteStudy":
        settings, is_new = await self.send(call(*args, **kwargs))
        return AsyncRemoteStudy(self, settings, is_new=is_new)

    return method


class AsyncClient:
    """`Client` for an event loop: every method is awaited.

    Args:
        url: Address of the server, such as http://127.0.0.1:8080, with the prefix of its proxy if it has one.
        token: One of the server's tokens, if it has any.
        timeout: Seconds to wait for an answer.
    """

    def __init__(self, url: str, *, token: str | None = None, timeout: float = SECONDS) -> None:
        self.server = Server(url, token)
        self._http = httpx.AsyncClient(timeout=timeout, verify=_tls(), limits=_UNLIMITED)

    def __repr__(self) -> str:
        return f"AsyncClient({self.server.place!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections, for good."""
        await self._http.aclose()

    async def send(self, call: Call[T]) -> T:
        """Send a request and await its answer."""
        try:
            answer = await self._http.request(**self.server.request(call))
        except httpx.HTTPError as error:
            self.server.fail(error)
        return call.read(self.server.checked(answer))

    create = _awaits_new(create_call)

    async def load(self, name: str) -> "AsyncRemoteStudy":
        """Open an existing study."""
        return AsyncRemoteStudy(self, await self.send(_load(name)))

    async def list(self) -> Sequence[StudyInfo]:
        """List the studies of the server, the oldest first."""
        return await self.send(_list())

    async def delete(self, name: str) -> None:
        """Delete a study and all its decisions permanently."""
        await self.send(_delete(name))


class _NoPropensity:
    """In place of a study, for decisions that were awaited."""

    def propensity(self, _decision: int, /) -> float:
        raise OptionError("decision.propensity would wait for the server; use await study.propensity(decision)")


class AsyncRemoteStudy:
    """A study on a server, for an event loop. Its methods are those of `RemoteStudy`, awaited.

    What a property of `Study` reads from the storage is a method here: `settings()`, `problem()`, `newest()`.
    """

    def __init__(self, client: AsyncClient, settings: dict[str, Any], *, is_new: bool = False) -> None:
        self._client = client
        self._calls = StudyCalls(settings, _NoPropensity())
        self.name = str(settings["name"])
        self.is_new = is_new
        """Whether this object created the study."""

    def __repr__(self) -> str:
        return f"AsyncRemoteStudy({self.name!r}, server={self._client.server.place!r})"

    settings = _awaits(StudyCalls.load_settings)
    problem = _awaits(StudyCalls.load_problem)
    newest = _awaits(StudyCalls.load_newest)
    ask = _awaits(StudyCalls.ask)
    tell = _awaits(StudyCalls.tell)
    tell_many = _awaits(StudyCalls.tell_many)
    abandon = _awaits(StudyCalls.abandon)
    expire = _awaits(StudyCalls.expire)
    import_rows = _awaits(StudyCalls.import_rows)
    retire = _awaits(StudyCalls.retire)
    forbid = _awaits(StudyCalls.forbid)
    allow = _awaits(StudyCalls.allow)
    retire_level = _awaits(StudyCalls.retire_level)
    forbid_level = _awaits(StudyCalls.forbid_level)
    allow_level = _awaits(StudyCalls.allow_level)
    add_arm = _awaits(StudyCalls.add_arm)
    add_level = _awaits(StudyCalls.add_level)
    recommend = _awaits(StudyCalls.recommend)
    advice = _awaits(StudyCalls.advice)
    estimates = _awaits(StudyCalls.estimates)
    posterior = _awaits(StudyCalls.posterior)
    effects = _awaits(StudyCalls.effects)
    guardrails = _awaits(StudyCalls.guardrails)
    health = _awaits(StudyCalls.health)
    funnel = _awaits(StudyCalls.funnel)
    waiting = _awaits(StudyCalls.waiting)
    separating_sets = _awaits(StudyCalls.separating_sets)
    explain = _awaits(StudyCalls.explain)
    evaluate = _awaits(StudyCalls.evaluate)
    propensity = _awaits(StudyCalls.propensity)
    to_frame = _awaits(StudyCalls.to_frame)
    changes = _awaits(StudyCalls.changes)
    decisions = _awaits(StudyCalls.decisions)
    decision = _awaits(StudyCalls.decision)
    describe = _awaits(StudyCalls.describe)
    staleness = _awaits(StudyCalls.staleness)
    publish = _awaits(StudyCalls.publish)
    missing = _awaits(StudyCalls.missing)


# Values on their way


_UNLIMITED = httpx.Limits(max_connections=None, max_keepalive_connections=None)


@functools.cache
def _tls() -> ssl.SSLContext:
    """Made once: reading the certificates takes longer than a request."""
    return httpx.create_ssl_context()


def _checked_url(url: object) -> str:
    """The address of a server, without a slash at its end."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        _ = None if parts is None else parts.port
    except ValueError:
        parts = None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        shown = "" if isinstance(url, str) and may_hold_secret(url) else f" {brief(url)}"
        raise OptionError(f"url{shown} is not the address of a server; write for example 'http://127.0.0.1:8080'")
    if parts.username is not None or parts.password is not None:
        raise OptionError("url holds a user or a password; pass the server's token as token=...")
    if not parts.netloc.isascii() or not re.fullmatch(r"[!-~]*", parts.path):
        raise OptionError("url holds characters that an address cannot have; write them as %XX, and a name as xn--...")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def encoded(body: Any) -> bytes:
    """Values as JSON; numbers of numpy are numbers, and arms are mappings."""
    try:
        return _JSON.encode(body).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ObservationError(f"these values cannot be sent as JSON ({' '.join(str(error).split())[:160]})") from None


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if hasattr(value, "keys"):
        return dict(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{brief(value)} is of type {type(value).__name__}")


_JSON = json.JSONEncoder(default=_plain, separators=(",", ":"))


def _in_query(value: Any) -> Any:
    if isinstance(value, Mapping):
        return json.dumps(dict(value))
    return str(value).lower() if isinstance(value, bool) else value


def _nothing(_answer: httpx.Response) -> None:
    """The answer says nothing that the caller does not know."""


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def number_of(decision: object) -> int:
    """The number of a decision."""
    given = decision.id if isinstance(decision, Decision) else decision
    try:
        found = 0 if isinstance(given, bool) else int(given.__index__())  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        found = 0
    if found < 1:
        raise UnknownDecisionError(f"decision {brief(given)} is not known; expected its id, a whole number from 1")
    return found


def _arm(arm: object) -> dict[str, Level]:
    if not isinstance(arm, Mapping):
        raise UnknownArmError(f"{brief(arm)} is not an arm; pass an arm from ask() or a mapping lever -> value")
    return dict(arm)


def _pattern(arm: object) -> dict[str, Any]:
    """An arm as its address has it: null for any level."""
    given: dict[str, Any] = {**_arm(arm)}
    return {name: None if level is ... else level for name, level in given.items()}


def _keyed(key: str | None) -> dict[str, bytes]:
    if key is None:
        return {}
    if checked_key(key) != key.strip() or not key.isprintable():
        raise OptionError(
            f"key={brief(key)} cannot be sent in a header; expected printable text without spaces around it"
        )
    return {"Idempotency-Key": key.encode("utf-8", "replace")}


def _table(frame: Any) -> Any:
    """Rows as they are, any other table by its columns."""
    if isinstance(frame, Sequence) and not isinstance(frame, str | bytes):
        return [*frame]
    return {"columns": {name: [*column] for name, column in columns_of(frame).items()}}


def _by_text(given: object) -> object:
    """What was said, where it is said by names or arms, with arms and types as texts: JSON has no others."""
    if not isinstance(given, Mapping):
        return given
    return {
        _text(key) if isinstance(key, Mapping) else key: value.__name__ if isinstance(value, type) else value
        for key, value in given.items()
    }


def _text(arm: Mapping[str, Level]) -> str:
    """An arm as `parse_arm` reads it."""
    line = io.StringIO()
    csv.writer(line).writerow(f"{name}={level}" for name, level in arm.items())
    return line.getvalue().strip()
