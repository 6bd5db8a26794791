"""RemoteStudy: a study on a server, with the methods of `Study`."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, overload

from ...data.frames import columns_of
from ...errors import OptionError, UnknownArmError, brief
from ...problem import Arm, Level
from ...studies import Decision
from ...studies.settings import checked_key
from ...studies.view import Pattern
from ..gate import in_path
from .looking import RemoteView, Settable, number_of


class RemoteStudy(RemoteView):
    """A study on a server; `Client.create` and `Client.load` make one. Its methods are those of `Study`."""

    # Acting

    @overload
    def ask(
        self,
        n: None = None,
        *,
        segment: Mapping[str, Level] | None = None,
        key: str | None = None,
        arms: Iterable[Settable] | None = None,
    ) -> Decision: ...
    @overload
    def ask(
        self,
        n: int,
        *,
        segment: Mapping[str, Level] | None = None,
        key: str | None = None,
        arms: Iterable[Settable] | None = None,
    ) -> Sequence[Decision]: ...
    def ask(
        self,
        n: int | None = None,
        *,
        segment: Mapping[str, Level] | None = None,
        key: str | None = None,
        arms: Iterable[Settable] | None = None,
    ) -> Decision | Sequence[Decision]:
        """The next decision, or `n` of them from the same state; stored before it is returned.

        Repeating a `key` returns the same decisions, to any caller: pass one where a lost answer is asked for again.
        """
        if arms is not None and (isinstance(arms, str | Mapping) or not isinstance(arms, Iterable)):
            raise OptionError(f"arms={brief(arms)}; expected a list of arms")
        among = None if arms is None else [_arm(arm) for arm in arms]
        given = {"count": n, "segment": segment, "arms": among}
        body = {name: value for name, value in given.items() if value is not None}
        made = self._ask("POST", "/decisions", body, headers=_keyed(key))["decisions"]
        idle = self._problem.idle_settings
        found = [
            Decision(
                row["id"], Arm(row["arm"], idle), datetime.fromisoformat(row["time"]), self, row.get("segment", {})
            )
            for row in made
        ]
        return found[0] if n is None else found

    def tell(
        self,
        decision: Decision | int,
        metrics: Mapping[str, Any] | None = None,
        reward: Any = None,
        *,
        final: bool = False,
    ) -> None:
        """Record the outcome of a decision: all at once or in parts, late, in any order."""
        body = {
            **({} if metrics is None else {"metrics": metrics}),
            **({} if reward is None else {"reward": reward}),
            **({"final": final} if final is not False else {}),
        }
        self._connection.ask("PATCH", f"{self._path}/decisions/{number_of(decision)}", body)

    def tell_many(self, frame: Any, *, final: bool = False) -> int:
        """Record outcomes from a table with a column `id` and a column per variable: all its rows, or none."""
        path = "/outcomes?final=true" if final else "/outcomes"
        return int(self._ask("POST", path, _table(frame))["told"])

    def abandon(self, decision: int | Decision) -> None:
        """Close a decision that will never get its outcome; partial outcomes are not counted."""
        self._ask("POST", f"/decisions/{number_of(decision)}/abandon")

    def expire(self, older_than: float | str) -> Sequence[int]:
        """Close the open decisions that are older than this many seconds; returns their ids."""
        found: list[int] = self._ask("POST", "/expire", {"older_than": older_than})["expired"]
        return found

    def import_rows(self, frame: Any, *, arm: Settable | None = None, key: str | None = None) -> int:
        """Import the rows of a logged table as prior data; returns the number of new rows."""
        rows = _table(frame)
        body = {**(rows if isinstance(rows, dict) else {"rows": rows}), **({} if arm is None else {"arm": _arm(arm)})}
        return int(self._ask("POST", "/imports", body, headers=_keyed(key))["imported"])

    # Arms that come and go

    def retire(self, arm: Pattern) -> Sequence[Arm]:
        """Never choose this arm again, or these (`...` stands for any level). Returns the arms that changed."""
        return self._change("retired", _pattern(arm))

    def forbid(self, arm: Pattern) -> Sequence[Arm]:
        """Do not choose this arm, or these, until allowed again. Returns the arms that changed."""
        return self._change("forbidden", _pattern(arm))

    def allow(self, arm: Pattern) -> Sequence[Arm]:
        """Choose a forbidden arm again, or several. Returns the arms that changed."""
        return self._change("allowed", _pattern(arm))

    def retire_level(self, lever: str, level: Level) -> Sequence[Arm]:
        """Never choose an arm with this level of a lever again. Returns the arms that changed."""
        return self._change("retired", self._having(lever, level))

    def forbid_level(self, lever: str, level: Level) -> Sequence[Arm]:
        """Do not choose any arm with this level of a lever until it is allowed. Returns the arms that changed."""
        return self._change("forbidden", self._having(lever, level))

    def allow_level(self, lever: str, level: Level) -> Sequence[Arm]:
        """Choose forbidden arms with this level of a lever again. Returns the arms that changed."""
        return self._change("allowed", self._having(lever, level))

    def _having(self, lever: str, level: Level) -> dict[str, Any]:
        """Every arm that sets a lever to a level: the other levers have any level."""
        return {**dict.fromkeys(self._problem.intervention_names), self._problem.intervention(lever).name: level}

    def _change(self, how: str, pattern: dict[str, Any]) -> Sequence[Arm]:
        try:
            text = json.dumps(pattern)
        except (TypeError, ValueError):
            raise UnknownArmError(f"{brief(pattern)} is not an arm; levels are texts, numbers, True or False") from None
        found = self._ask("PUT", f"/arms/{in_path(text)}/state", {"state": how})
        return self._arms(found)

    def add_arm(self, settings: Mapping[str, Level], *, new_levels: bool = False) -> Arm:
        """One more arm from now on; with `new_levels` its levers may have values that no arm had before."""
        return self._arms(self._ask("POST", "/arms", {"arm": settings, "new_levels": new_levels}))[0]

    def add_level(self, lever: str, level: Level) -> Sequence[Arm]:
        """A new level of a lever, with every setting of the other levers that an arm not retired has."""
        return self._arms(self._ask("POST", "/levels", {"lever": lever, "level": level}))

    def _arms(self, found: dict[str, Any]) -> Sequence[Arm]:
        return [Arm(arm, self._problem.idle_settings) for arm in found["arms"]]


def _arm(arm: object) -> dict[str, Level]:
    if not isinstance(arm, Mapping):
        raise UnknownArmError(f"{brief(arm)} is not an arm; pass an arm from ask() or a mapping lever -> value")
    return dict(arm)


def _pattern(arm: object) -> dict[str, Any]:
    """An arm as its address has it: null for any level."""
    given: dict[str, Any] = {**_arm(arm)}
    return {name: None if level is ... else level for name, level in given.items()}


def _keyed(key: str | None) -> dict[str, str] | None:
    if key is None:
        return None
    if checked_key(key) != key.strip() or not key.isprintable():
        raise OptionError(
            f"key={brief(key)} cannot be sent in a header; expected printable text without spaces around it"
        )
    return {"Idempotency-Key": key.encode("utf-8", "replace").decode("latin-1")}


def _table(frame: Any) -> Any:
    """Rows as they are, any other table by its columns."""
    if isinstance(frame, Sequence) and not isinstance(frame, str | bytes):
        return [*frame]
    return {"columns": {name: [*column] for name, column in columns_of(frame).items()}}
