"""Client: the studies of a server by name."""

from collections.abc import Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from ...errors import OptionError, UnknownStudyError, brief
from ...policies import Policy
from ...problem import Problem
from ...studies import StudyInfo
from ...studies.settings import plain_option
from ..gate import in_path
from .connection import SECONDS, Connection
from .remote import RemoteStudy


class Client:
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def create(
        self,
        name: str,
        problem: Problem,
        *,
        policy: str | Policy[Any] | None = None,
        options: dict[str, Any] | None = None,
        seed: int | None = None,
        expire_after: float | None = None,
        reward_window: float | None = None,
    ) -> RemoteStudy:
        """Create a study; the same call again returns the existing one (see `Study.create`)."""
        if not isinstance(problem, Problem):
            raise OptionError(f"problem is a {type(problem).__name__}; expected causal_bandits.Problem(...)")
        if isinstance(policy, Policy):
            if policy.problem != problem or policy.rows or options:
                raise OptionError("a policy given to a study must be new, have its problem, and hold its options")
            options = policy.options()
            policy = policy.name
        body = {
            "name": name,
            "problem": problem.to_dict(),
            "policy": policy,
            "options": None if options is None else {key: plain_option(value) for key, value in options.items()},
            "seed": seed,
            "expire_after": expire_after,
            "reward_window": reward_window,
        }
        given = {key: value for key, value in body.items() if value is not None or key == "name"}
        answer = self._connection.ask("POST", "/studies", given)
        return RemoteStudy(self._connection, answer.json, is_new=answer.status == 201)

    def load(self, name: str) -> RemoteStudy:
        """Open an existing study."""
        answer = self._connection.ask("GET", f"/studies/{_part(name)}/settings")
        return RemoteStudy(self._connection, answer.json)

    def list(self) -> Sequence[StudyInfo]:
        """List the studies of the server, the oldest first."""
        rows = self._connection.ask("GET", "/studies").json["studies"]
        return [StudyInfo(**{**row, "created": datetime.fromisoformat(row["created"]).timestamp()}) for row in rows]

    def delete(self, name: str) -> None:
        """Delete a study and all its decisions permanently."""
        self._connection.ask("DELETE", f"/studies/{_part(name)}")


def _part(name: object) -> str:
    if not isinstance(name, str) or not name.strip():
        raise OptionError(f"name={brief(name)}; expected the name of the study")
    if name in (".", ".."):
        raise UnknownStudyError(f"a server has no study {name!r}; such a name cannot be part of an address")
    return in_path(name)
