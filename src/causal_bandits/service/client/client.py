"""Client: the studies of a server by name."""

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Unpack

from ...errors import OptionError, UnknownStudyError
from ...policies import Policy
from ...problem import Level, Problem, check_problem
from ...studies import StudyInfo
from ...studies.settings import checked_name, plain_option
from ...studies.showing import Closing
from ...studies.wishes import Wishes, wished
from ..gate import in_path
from .connection import SECONDS, Connection
from .remote import RemoteStudy


class Client(Closing):
    """Studies on a server (`causal-bandits serve`), with the methods that `Study` has for a storage.

    Args:
        url: Address of the server, such as http://127.0.0.1:8080, with the prefix of its proxy if it has one.
        token: One of the server's tokens, if it has any.
        timeout: Seconds to wait for an answer.

    >>> client = Client("http://127.0.0.1:8080")
    >>> client
    Client('http://127.0.0.1:8080')
    """

    def __init__(self, url: str, *, token: str | None = None, timeout: float = SECONDS) -> None:
        self._connection = Connection(url, token, timeout)

    def __repr__(self) -> str:
        return f"Client({self._connection.place!r})"

    def close(self) -> None:
        """Close the connections; they are opened again when they are needed."""
        self._connection.close()

    def create(
        self,
        name: str,
        problem: Problem,
        *,
        policy: str | Policy[Any] | None = None,
        options: dict[str, Any] | None = None,
        seed: int | None = None,
        **wishes: Unpack[Wishes],
    ) -> RemoteStudy:
        """Create a study; the same call again returns the existing one (see `Study.create`)."""
        check_problem(problem)
        if isinstance(policy, Policy):
            policy, options = _described(policy, problem, options)
        body = {
            "name": name,
            "problem": problem.to_dict(),
            "policy": policy,
            "options": None if options is None else {key: plain_option(value) for key, value in options.items()},
            "seed": seed,
            **{wish: _by_text(value) for wish, value in wished(wishes).items()},
        }
        answer = self._connection.ask("POST", "/studies", _given(body))
        return RemoteStudy(self._connection, answer.json, is_new=answer.status == 201)

    def load(self, name: str) -> RemoteStudy:
        """Open an existing study."""
        answer = self._connection.ask("GET", f"/studies/{_part(name)}/settings")
        return RemoteStudy(self._connection, answer.json)

    def list(self) -> Sequence[StudyInfo]:
        """List the studies of the server, the oldest first."""
        rows = self._connection.ask("GET", "/studies").json["studies"]
        return [_listed(row) for row in rows]

    def delete(self, name: str) -> None:
        """Delete a study and all its decisions permanently."""
        self._connection.ask("DELETE", f"/studies/{_part(name)}")


def _listed(row: dict[str, Any]) -> StudyInfo:
    made = row["created"]
    return StudyInfo(**{**row, "created": None if made is None else datetime.fromisoformat(made).timestamp()})


def _part(name: object) -> str:
    if checked_name(name) in (".", ".."):
        raise UnknownStudyError(f"a server has no study {name!r}; such a name cannot be part of an address")
    return in_path(str(name))


def _described(policy: Policy[Any], problem: Problem, options: dict[str, Any] | None) -> tuple[str, dict[str, Any]]:
    """A new policy by its name and options."""
    if policy.problem != problem or policy.rows or options:
        raise OptionError("a policy given to a study must be new, have its problem, and hold its options")
    return policy.name, policy.options()


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


def _given(body: dict[str, Any]) -> dict[str, Any]:
    """What was said, and the name even if it is none: the server says what is wrong with it."""
    return {key: value for key, value in body.items() if value is not None or key == "name"}
