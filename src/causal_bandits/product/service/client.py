# ruff: noqa: D102 (what `sends` makes has the docstring of the method of `Study`)
"""The client: the studies of a server, with the methods of `Study`, in threads or in an event loop (extra `client`).

`StudyOperations` says for each method of `Study` which request it sends and how its answer is read (signature and
docstring are those of `Study`), and `ServerOperations` does so for studies by name. `Client` and `RemoteStudy` send
these requests and wait. `AsyncClient` and `AsyncRemoteStudy` have the same methods and attributes, whose results are
awaited.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import inspect
import io
import json
import re
import ssl
import weakref
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Concatenate, Generic, NoReturn, ParamSpec, Self, TypeVar, Unpack, overload
from urllib.parse import urlencode, urlsplit

import numpy as np

from ... import errors
from ..._version import __version__
from ...core.data.frames import columns_of
from ...core.markup import in_path
from ...core.policies import Estimates, Policy, Posterior
from ...core.policies.posterior import Source
from ...core.problem import Arm, Level, Problem, Segment, check_problem
from ...core.secrecy import may_hold_secret
from ...core.serialization import from_json
from ...errors import CausalBanditsError, OptionError, StorageError, brief, missing_extra
from ...libraries import pl
from ...reporting.plots import plot_estimates
from ...reporting.study_page import write_study_page
from ..options import StudyOptions
from ..studies import (
    Decision,
    DecisionRow,
    Evaluation,
    Final,
    Newest,
    StudyInfo,
    StudySettings,
)
from ..studies.decisions import number_of
from ..studies.outcomes import Keyed
from ..studies.settings import HasSettings, checked_key, checked_name, plain_option
from ..studies.study import Settable, Study, named
from .operations import OPERATIONS

try:
    import httpx
except ImportError as error:
    raise missing_extra(error.name or "httpx", "client") from None

SECONDS = 130.0
"""How long an answer may take: a little longer than the server waits for its storage."""

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

    def then(self, work: Callable[[T], Any]) -> Call[Any]:
        """The same request, and what is made of its answer."""
        return replace(self, read=lambda answer: work(self.read(answer)))


class operation(Generic[P, T]):  # noqa: N801 (a decorator, as `property` is)
    """A method that sends one request: it gives the answer itself, or in an event loop something to await."""

    def __init__(self, call: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self._call = call
        self.__doc__ = call.__doc__

    @overload
    def __get__(self, sender: None, kind: type) -> Callable[..., Call[T]]: ...
    @overload
    def __get__(self, sender: Client | RemoteStudy, kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, sender: AsyncClient | AsyncRemoteStudy, kind: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, sender: Any, kind: type) -> Any:
        if sender is None:
            return self._call

        @functools.wraps(self._call)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return sender._send(self._call(sender, *args, **kwargs))

        return method


class attribute(Generic[T]):  # noqa: N801
    """An attribute that sends one request whenever it is read."""

    def __init__(self, call: Callable[[Any], Call[T]]) -> None:
        self._call = call
        self.__doc__ = call.__doc__

    @overload
    def __get__(self, sender: None, kind: type) -> Self: ...
    @overload
    def __get__(self, sender: RemoteStudy, kind: type) -> T: ...
    @overload
    def __get__(self, sender: AsyncRemoteStudy, kind: type) -> Coroutine[Any, Any, T]: ...
    def __get__(self, sender: Any, kind: type) -> Any:
        return self if sender is None else sender._send(self._call(sender))


def sends(
    of: Callable[Concatenate[Study, P], T],
) -> Callable[[Callable[[Any, dict[str, Any]], Call[Any]]], operation[P, T]]:
    """A method of `Study`, with its signature and docstring, that sends what is made of the arguments it was given."""
    signature = inspect.signature(of)

    def decorate(make: Callable[[Any, dict[str, Any]], Call[Any]]) -> operation[P, T]:
        @functools.wraps(of)
        def call(self: StudyOperations, /, *args: P.args, **kwargs: P.kwargs) -> Call[Any]:
            _, *given = signature.bind(self, *args, **kwargs).arguments.items()
            return make(self, dict(given))

        return operation(call)

    return decorate


def request(of: Callable[Concatenate[Study, P], T]) -> operation[P, T]:
    """A method of `Study` that `OPERATIONS` has, with its arguments in the path, the query or the body."""
    path, kind, method, field, *_ = OPERATIONS[of.__name__]

    @sends(of)
    def call(self: StudyOperations, given: dict[str, Any]) -> Call[Any]:
        values = {name: value for name, value in given.items() if f"{{{name}}}" not in path}
        where = path.format(**{name: _number(value) for name, value in given.items() if name not in values})
        if method == "GET":
            return self._get(where, kind, field=field, **values)
        return self._call(method, where, kind, _in_body(values) if values else None, field=field)

    return call


def arm_change(of: Callable[Concatenate[Study, P], Sequence[Arm]], state: str) -> operation[P, Sequence[Arm]]:
    """A method of `Study` that retires, forbids or allows arms: those of a pattern, or with a level of a lever."""

    @sends(of)
    def call(self: StudyOperations, given: dict[str, Any]) -> Call[Sequence[Arm]]:
        if "arm" in given:
            pattern = _pattern(given["arm"])
        else:  # every arm that sets a lever to a level: the other levers have any level
            lever = self._problem.intervention(given["lever"]).name
            pattern = {**dict.fromkeys(self._problem.intervention_names), lever: given["level"]}
        try:
            text = json.dumps(pattern)
        except (TypeError, ValueError):
            raise errors.UnknownArmError(
                f"{brief(pattern)} is not an arm; levels are texts, numbers, True or False"
            ) from None
        return self._call("PUT", f"/arms/{in_path(text)}/state", list[Arm], {"state": state}, field="arms")

    return call


# The methods of a study


class StudyOperations(HasSettings):
    """The requests of one study, and what its settings say."""

    _propensity: Callable[[int], float]

    def __init__(self, client: Any, settings: StudySettings, *, is_new: bool = False) -> None:
        super().__init__(settings)
        self._client = client
        self._problem = Problem.from_dict(settings.problem)
        self._path = f"/studies/{in_path(settings.name)}"
        self.is_new = is_new
        """Whether this object created the study."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.policy_name}, server={self._client.address!r})"

    def _send(self, call: Call[Any]) -> Any:
        return self._client._send(call)

    def _get(self, path: str, kind: Any, *, field: str | None = None, **query: Any) -> Call[Any]:
        text = urlencode({name: _in_query(value) for name, value in _given(query).items()})
        return self._call("GET", f"{path}?{text}" if text else path, kind, field=field)

    def _call(
        self, method: str, path: str, kind: Any, body: Any = None, *, field: str | None = None, key: str | None = None
    ) -> Call[Any]:
        """A request whose answer, or one field of it, is the JSON of a kind."""

        def read(answer: httpx.Response) -> Any:
            if kind is None:
                return None
            found = answer.json()
            return from_json(kind, found if field is None else found[field], self._problem)

        return Call(method, self._path + path, read, body, _keyed(key))

    # Settings

    @attribute
    def settings(self) -> Call[StudySettings]:
        """The settings that the study was created with, and its present problem."""
        return self._get("/settings", StudySettings)

    @attribute
    def problem(self) -> Call[Problem]:
        """The present problem, including added arms."""

        def read(found: StudySettings) -> Problem:
            if found.problem != self._about.problem:
                self._problem, self._about = Problem.from_dict(found.problem), found
            return self._problem

        return self._get("/settings", StudySettings).then(read)

    @attribute
    def newest(self) -> Call[Newest]:
        """The number of the newest event and a mark of all events so far."""

        def read(answer: httpx.Response) -> Newest:
            event, _, _ = answer.headers["etag"].strip('"').partition(".")
            number, _, mark = event.partition("-")
            return Newest(int(number), mark)

        return Call("GET", f"{self._path}/settings", read)

    # The methods of `Study` whose arguments are sent as they are

    recommend = request(Study.recommend)
    advice = request(Study.advice)
    explained_variance = request(Study.explained_variance)
    estimates = request(Study.estimates)
    effects = request(Study.effects)
    guardrails = request(Study.guardrails)
    health = request(Study.health)
    alarms = request(Study.alarms)
    funnel = request(Study.funnel)
    waiting = request(Study.waiting)
    separating_sets = request(Study.separating_sets)
    explain = request(Study.explain)
    propensity = request(Study.propensity)
    changes = request(Study.changes)
    annotations = request(Study.annotations)
    audit = request(Study.audit)
    describe = request(Study.describe)
    report_values = request(Study.report_values)
    staleness = request(Study.staleness)
    missing = request(Study.missing)
    publish = request(Study.publish)
    correct = request(Study.correct)
    exclude = request(Study.exclude)
    include = request(Study.include)
    expire = request(Study.expire)
    annotate = request(Study.annotate)
    add_level = request(Study.add_level)
    retire = arm_change(Study.retire, "retired")
    forbid = arm_change(Study.forbid, "forbidden")
    allow = arm_change(Study.allow, "allowed")
    retire_level = arm_change(Study.retire_level, "retired")
    forbid_level = arm_change(Study.forbid_level, "forbidden")
    allow_level = arm_change(Study.allow_level, "allowed")

    # Methods whose arguments or answers differ from those of the request

    @sends(Study.posterior)
    def posterior(self, _: dict[str, Any]) -> Call[Posterior]:
        """A resampling of 1,000 joint draws of the server."""

        def read(found: dict[str, Any]) -> Posterior:
            sources = from_json(Sequence[Source], found["sources"])
            return Posterior.resampled(found["rows"], sources, np.array(found["means"]), np.array(found["draws"]))

        return self._get("/posterior", Any).then(read)

    @sends(Study.evaluate)
    def evaluate(self, given: dict[str, Any]) -> Call[Evaluation]:
        policy = given.pop("policy")
        if isinstance(policy, Policy) or not isinstance(policy, Mapping):
            raise OptionError(
                "a server evaluates an arm or a mapping arm -> probability; to evaluate a policy object, use "
                "Study.load(...).evaluate(policy) with access to the storage"
            )
        mixed = bool(policy) and all(isinstance(arm, Arm) for arm in policy)
        arms: Sequence[Any] = [*policy] if mixed else [policy]
        query = [("arm", json.dumps(dict(arm))) for arm in arms]
        query += [("share", str(float(chance))) for chance in policy.values()] if mixed else []
        return self._get(f"/evaluation?{urlencode([*query, *_given(given).items()])}", Evaluation)

    @sends(Study.to_frame)
    def to_frame(self, _: dict[str, Any]) -> Call[pl.DataFrame]:
        return Call("GET", f"{self._path}/export.parquet", lambda answer: pl.read_parquet(io.BytesIO(answer.content)))

    @sends(Study.decisions)
    def decisions(self, given: dict[str, Any]) -> Call[Sequence[DecisionRow]]:
        return self._get("/decisions", Sequence[DecisionRow], field="decisions", **given)

    @sends(Study.decision)
    def decision(self, given: dict[str, Any]) -> Call[DecisionRow]:
        which = _which("decision", given)
        if "key" in which:
            page = self._get("/decisions", Sequence[DecisionRow], field="decisions", **which)
            return page.then(lambda rows: rows[0])
        return self._get(f"/decisions/{which['id']}", DecisionRow)

    @sends(Study.plot)
    def plot(self, given: dict[str, Any]) -> Call[Any]:
        found = self._get("/estimates", Estimates)
        return found.then(lambda rows: plot_estimates(rows, **given, title=f"Study {self.name}"))

    @sends(Study.report)
    def report(self, given: dict[str, Any]) -> Call[Path]:
        return type(self).report_values(self).then(lambda about: write_study_page(about, given["path"]))

    @operation
    def ask(
        self,
        n: int | None = None,
        *,
        segment: Segment | None = None,
        key: str | None = None,
        arms: Iterable[Settable] | None = None,
    ) -> Call[Any]:
        """Make the next decision, or `n` of them from the same state; each is stored before it is returned.

        A `key` names the visitor. Repeating it returns the same decisions to any caller, for as long as the option
        `sticky` allows. Pass a key too if you may have to repeat a call whose response was lost.
        """
        if arms is not None and (isinstance(arms, str | Mapping) or not isinstance(arms, Iterable)):
            raise OptionError(f"arms={brief(arms)}; expected a list of arms")
        among = None if arms is None else [_arm(arm) for arm in arms]
        unit = None if key is None else checked_key(key)
        given = {"count": n, "segment": segment, "arms": among, "key": unit}
        asked = self._call("POST", "/decisions", Any, _given(given))
        made = asked.then(lambda rows: [self._decision(row) for row in rows])
        return made if n is not None else made.then(lambda decisions: decisions[0])

    def _decision(self, row: dict[str, Any]) -> Decision:
        arm = Arm(row["arm"], self._problem.idle_settings, names=self._problem.names)
        return Decision(row["id"], arm, datetime.fromisoformat(row["time"]), self._propensity, row["segment"])

    @sends(Study.tell)
    def tell(self, given: dict[str, Any]) -> Call[None]:
        which = _which("tell", given)
        where, key = (f"/decisions/{which['id']}", {}) if "id" in which else ("/decisions", which)
        return Call("PATCH", self._path + where, _nothing, {**given, **key})

    @sends(Study.abandon)
    def abandon(self, given: dict[str, Any]) -> Call[None]:
        return self._call("POST", f"/decisions/{_number(given['decision'])}/abandon", None)

    @sends(Study.finish)
    def finish(self, given: dict[str, Any]) -> Call[Final]:
        if given.get("report") is not None:
            raise OptionError("a server cannot write a local file; call finish(), and then report(path)")
        return self._call("POST", "/finish", Final)

    @attribute
    def finished(self) -> Call[Final | None]:
        """The result of `finish`; None while the study runs."""
        return self._get("/finish", Final | None)

    @sends(Study.tell_many)
    def tell_many(self, given: dict[str, Any]) -> Call[int]:
        where = f"/outcomes{'?final=true' if given.get('final') else ''}"
        return self._call("POST", where, int, _table(given["frame"]), field="told")

    @sends(Study.import_rows)
    def import_rows(self, given: dict[str, Any]) -> Call[int]:
        rows, arm = _table(given["frame"]), given.get("arm")
        body = {**(rows if isinstance(rows, dict) else {"rows": rows}), **({} if arm is None else {"arm": _arm(arm)})}
        return self._call("POST", "/imports", int, body, field="imported", key=given.get("key"))

    @sends(Study.add_arm)
    def add_arm(self, given: dict[str, Any]) -> Call[Arm]:
        return self._call("POST", "/arms", list[Arm], {"arm": given.pop("settings"), **given}, field="arms").then(
            lambda arms: arms[0]
        )


class RemoteStudy(StudyOperations, contextlib.AbstractContextManager["RemoteStudy"]):
    """A study on a server, from `Client.create` or `Client.load`. It has the methods of `Study`.

    `posterior` resamples 1,000 joint draws of the server, and `evaluate` takes arms with their probabilities alone.
    """

    def _propensity(self, decision: int) -> float:
        return self.propensity(decision)

    def close(self) -> None:
        """Close the connections; they are reopened when needed."""
        self._client.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return self.estimates().table(f"{self!r}")


class AsyncRemoteStudy(StudyOperations, contextlib.AbstractAsyncContextManager["AsyncRemoteStudy"]):
    """A study on a server, for asyncio code. It has the methods of `Study` as coroutines.

    Attributes that need a request are awaited too: `await study.settings`, `await study.problem` and
    `await study.newest`.
    """

    def _propensity(self, _: int) -> float:
        raise OptionError("decision.propensity would wait for the server; use await study.propensity(decision)")

    async def close(self) -> None:
        """Permanently close the connections of its client."""
        await self._client.close()

    async def __aexit__(self, *_: object) -> None:
        await self.close()


# Studies by name

S = TypeVar("S", bound=StudyOperations)


class ServerOperations(Generic[S]):
    """The requests about studies by name."""

    _study: type[S]

    def __init__(self, url: str, *, token: str | None = None, timeout: float = SECONDS) -> None:
        self.address = _checked_url(url)
        """The address of the server."""
        headers = {"User-Agent": f"causal-bandits/{__version__}", "Accept": "application/json"}
        if token is not None:
            if not isinstance(token, str) or not token.isascii() or not token.isprintable():
                raise OptionError("token is not printable ASCII text; pass one of the server's tokens")
            headers["Authorization"] = f"Bearer {token}"
        self._options: Any = {
            "base_url": f"{self.address}/api/v1",
            "headers": headers,
            "timeout": timeout,
            "verify": _tls(),
            "limits": _UNLIMITED,
        }

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    def _read(self, call: Call[T], answer: httpx.Response) -> T:
        """What an answer says; an error of the server is raised here."""
        if answer.status_code >= 400:
            raise self._error_in(answer)
        kind = answer.headers.get("content-type", "")
        other = answer.content and not kind.startswith(("application/json", "application/vnd.apache.parquet"))
        if other or answer.has_redirect_location:
            raise StorageError(f"server {self.address} did not send JSON; check that it is a causal-bandits server")
        return call.read(answer)

    def _fail(self, error: httpx.HTTPError) -> NoReturn:
        """Raise what is to be said of a request that got no answer."""
        reason = " ".join(str(error).split())[:160] or type(error).__name__
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            raise StorageError(f"server {self.address} cannot be reached ({reason}); check that it runs") from None
        raise StorageError(
            f"server {self.address} did not answer ({reason}); the last call may or may not have been stored; "
            "check, or repeat it"
        ) from None

    def _error_in(self, answer: httpx.Response) -> CausalBanditsError:
        """The error that a server reports: the library's own where it names one."""
        try:
            found = answer.json()
            sentence, name = str(found["detail"]), str(found.get("error"))
        except (ValueError, TypeError, LookupError, AttributeError):
            return StorageError(
                f"server {self.address} answered with status {answer.status_code} and no error message; "
                "check that it is a causal-bandits server"
            )
        kind = getattr(errors, name, None)
        if isinstance(kind, type) and issubclass(kind, CausalBanditsError):
            return kind(sentence)
        if answer.status_code in (401, 403):
            return errors.AccessError(sentence)
        if answer.status_code >= 500:
            return StorageError(f"server {self.address}: {sentence}")
        return OptionError(sentence)

    @operation
    def create(self, name: str, problem: Problem, **options: Unpack[StudyOptions]) -> Call[S]:
        """Create a study; the same call again returns the existing one (see `Study.create`)."""
        check_problem(problem)
        body = {"problem": problem.to_dict(), **_sent_options(problem, {**options})}
        given = {"name": name, **_given(body)}  # the server says what is wrong with a name that is None
        return Call("POST", "/studies", self._opened, given)

    @operation
    def load(self, name: str) -> Call[S]:
        """Open an existing study."""
        return Call("GET", f"/studies/{_named(name)}/settings", self._opened)

    def _opened(self, answer: httpx.Response) -> S:
        return self._study(self, from_json(StudySettings, answer.json()), is_new=answer.status_code == 201)

    @operation
    def list(self) -> Call[Sequence[StudyInfo]]:
        """List the studies of the server, oldest first."""
        return Call("GET", "/studies", lambda answer: from_json(Sequence[StudyInfo], answer.json()))

    @operation
    def delete(self, name: str) -> Call[None]:
        """Delete a study and all its decisions permanently."""
        return Call("DELETE", f"/studies/{_named(name)}", _nothing)


def _named(name: object) -> str:
    if checked_name(name) in (".", ".."):
        raise errors.UnknownStudyError(f"the server has no study {name!r}; such a name cannot be part of a URL")
    return in_path(str(name))


class Client(ServerOperations[RemoteStudy], contextlib.AbstractContextManager["Client"]):
    """The studies on a server (`causal-bandits serve`), with the methods of the class `Study`.

    Any number of threads may use one client; it keeps its connections open.

    Args:
        url: URL of the server, such as http://127.0.0.1:8080, with the prefix of its proxy if there is one.
        token: One of the server's tokens, if it has any.
        timeout: Seconds to wait for a response.

    >>> client = Client("http://127.0.0.1:8080")
    >>> client
    Client('http://127.0.0.1:8080')
    """

    _study = RemoteStudy
    _http: httpx.Client | None = None

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; they are reopened when needed."""
        http, self._http = self._http, None
        if http is not None:
            http.close()

    def _send(self, call: Call[T]) -> T:
        if self._http is None:
            self._http = httpx.Client(**self._options)
            weakref.finalize(self, self._http.close)
        try:
            answer = self._http.request(**_sent(call))
        except httpx.HTTPError as error:
            self._fail(error)
        return self._read(call, answer)


class AsyncClient(ServerOperations[AsyncRemoteStudy], contextlib.AbstractAsyncContextManager["AsyncClient"]):
    """`Client` for asyncio code: its methods are coroutines.

    Args:
        url: URL of the server, such as http://127.0.0.1:8080, with the prefix of its proxy if there is one.
        token: One of the server's tokens, if it has any.
        timeout: Seconds to wait for a response.
    """

    _study = AsyncRemoteStudy

    def __init__(self, url: str, *, token: str | None = None, timeout: float = SECONDS) -> None:
        super().__init__(url, token=token, timeout=timeout)
        self._http = httpx.AsyncClient(**self._options)

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Permanently close the connections."""
        await self._http.aclose()

    async def _send(self, call: Call[T]) -> T:
        try:
            answer = await self._http.request(**_sent(call))
        except httpx.HTTPError as error:
            self._fail(error)
        return self._read(call, answer)


# Encoding of values


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
        raise OptionError(f"url{shown} is not a server URL; expected one such as 'http://127.0.0.1:8080'")
    if parts.username is not None or parts.password is not None:
        raise OptionError("url contains a user or a password; pass the server's token as token=...")
    if not parts.netloc.isascii() or not re.fullmatch(r"[!-~]*", parts.path):
        raise OptionError("url contains invalid characters; write them as %XX, and a host name as xn--...")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _sent(call: Call[Any]) -> dict[str, Any]:
    """The arguments of httpx; in JSON numbers of numpy are numbers, and arms are mappings."""
    request = {"method": call.method, "url": call.path, "headers": call.headers}
    if call.body is None:
        return request
    try:
        content = _JSON.encode(call.body).encode()
        return {**request, "content": content, "headers": {**call.headers, "Content-Type": "application/json"}}
    except (TypeError, ValueError, RecursionError) as error:
        raise errors.ObservationError(
            f"these values cannot be sent as JSON ({' '.join(str(error).split())[:160]})"
        ) from None


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


def _which(call: str, given: dict[str, Any]) -> dict[str, Any]:
    """The decision that a call is about, by its id or by its key; taken out of the arguments."""
    found = named(call, given.pop("decision", None), given.pop("key", None))
    return {"key": found.key} if isinstance(found, Keyed) else {"id": _number(found)}


def _number(decision: object) -> int:
    """The number of a decision, as an address has it."""
    found = number_of(decision)
    if found < 1:
        given = decision.id if isinstance(decision, Decision) else decision
        raise errors.UnknownDecisionError(f"decision {brief(given)} is not known; expected its id, an integer >= 1")
    return found


def _in_body(values: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments in the values of JSON: decisions by their ids, arms as patterns, times as texts."""
    body = {**values}
    if body.get("decision") is not None:
        body["id"] = _number(body.pop("decision"))
    decisions = body.pop("decisions", None)
    if decisions is not None:
        several = isinstance(decisions, Iterable) and not isinstance(decisions, str | Mapping)
        body["ids"] = [*map(_number, decisions)] if several else [_number(decisions)]
    if body.get("arm") is not None:
        body["arm"] = _pattern(body["arm"])
    return body


def _arm(arm: object) -> dict[str, Level]:
    if not isinstance(arm, Mapping):
        raise errors.UnknownArmError(f"{brief(arm)} is not an arm; expected an arm from ask() or {{lever: level}}")
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


def _sent_options(problem: Problem, options: dict[str, Any]) -> dict[str, Any]:
    """The options of a new study in the values of JSON."""
    policy = options.get("policy")
    if isinstance(policy, Policy):
        if policy.problem != problem or policy.rows or options.get("options"):
            raise OptionError("a policy given to a study must be new, have its problem, and hold its options")
        options |= {"policy": policy.name, "options": policy.options()}
    if isinstance(options.get("options"), Mapping):
        options["options"] = {name: plain_option(value) for name, value in options["options"].items()}
    return {name: _by_text(value) for name, value in options.items()}


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
