"""Propose which column is the reward and which are levers, with reasons, for the user to check."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ...core.data.table_files import plain_types
from ...errors import OptionError, TableFileError, brief, listing
from ...libraries import pl
from ..queries import Query
from .columns import MOST_LEVELS, is_date, why_identifier, words_of
from .sources import table_of

Use = Literal["reward", "lever", "segment", "observed", "left out"]

REWARD_WORDS = {
    *("reward", "target", "outcome", "label", "y", "result", "success", "response", "responded", "yield"),
    *("purchase", "purchased", "purchases", "bought", "buy", "order", "orders", "ordered", "sale", "sales", "sold"),
    *("conversion", "conversions", "converted", "convert", "revenue", "spend", "profit", "paid", "signup", "signups"),
    *("subscribed", "churn", "churned", "retained", "retention", "recovered", "cured", "survived"),
}
LEVER_WORDS = {
    *("arm", "variant", "variation", "version", "treatment", "treated", "treat", "group", "condition", "experiment"),
    *("test", "assignment", "assigned", "intervention", "lever", "exposed", "banner", "headline", "subject", "title"),
    *("discount", "coupon", "offer", "promo", "promotion", "price", "campaign", "creative", "copy", "template"),
    *("layout", "design", "color", "color", "button", "ad", "dose", "segment"),
}
IDLE_WORDS = {"none", "control", "baseline", "placebo", "off", "default", "idle", "no e-mail", "no email"}


class Role(NamedTuple):
    """What a column is proposed to be, and why."""

    column: str
    use: Use
    why: str


@dataclass(frozen=True)
class Proposal:
    """Proposed roles of all columns of a table."""

    roles: tuple[Role, ...]

    def named(self, use: Use) -> list[str]:
        """The columns of one role."""
        return [role.column for role in self.roles if role.use == use]

    @property
    def target(self) -> str:
        """The column of the reward."""
        return self.named("reward")[0]

    @property
    def interventions(self) -> list[str]:
        """The columns of the levers; empty if none could be proposed."""
        return self.named("lever")

    def command(self, table: str | Query) -> str:
        """The command that analyzes the table like this.

        >>> print(Proposal((Role("price, EUR", "lever", ""), Role("y", "reward", ""))).command("my data.csv"))
        causal-bandits analyze 'my data.csv' --target y --interventions '"price, EUR"'
        """
        levers = _listed(self.interventions) if self.interventions else "LEVER"
        source = table.words if isinstance(table, Query) else [table]
        parts = ["causal-bandits", "analyze", *source, "--target", self.target, "--interventions", levers]
        for option, use in (("--segments", "segment"), ("--drop", "left out")):
            columns = self.named(use)  # type: ignore[arg-type]
            parts += [option, _listed(columns)] if columns else []
        return shlex.join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "target": self.target,
            "interventions": self.interventions,
            **({"segments": self.named("segment")} if self.named("segment") else {}),
            "observed": self.named("observed"),
            "drop": self.named("left out"),
            "roles": [role._asdict() for role in self.roles],
        }


def _listed(names: Iterable[str]) -> str:
    """Names separated by commas, as the options of `analyze` take them."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


class _Column(NamedTuple):
    """What a proposal is made from."""

    name: str
    different: int
    is_number: bool
    is_binary: bool
    has_idle: bool
    repeats: bool
    """Whether a value occurs twice on average."""
    out: str | None
    """Why it is left out."""


def propose(
    source: Any,
    *,
    target: str | None = None,
    interventions: Sequence[str] = (),
    segments: Sequence[str] = (),
    drop: Iterable[str] = (),
) -> Proposal:
    """Propose which column is the reward and which are levers, from names and values; nothing is analyzed.

    Args:
        source: A file, a `Query`, a dataframe, or a dict of columns; "example" is the packaged table.
        target: The reward, if known.
        interventions: The levers, if known.
        segments: Columns known before the decision; none are proposed.
        drop: Columns to leave out.

    >>> found = propose("example")
    >>> found.target, found.interventions, found.named("observed")
    ('purchase', ['banner', 'discount'], ['clicked', 'cart', 'seconds'])
    """
    table = plain_types(table_of(source, needed=[*([] if target is None else [target]), *interventions]).table)
    dropped = set(drop)
    for name in (*dropped, *interventions, *segments, *([] if target is None else [target])):
        if name not in table.columns:
            raise TableFileError(f"the table has no column {brief(name)}; it has {listing(table.columns)}")
        if name in dropped and (name == target or name in interventions):
            raise OptionError(f"{brief(name)} is dropped and also named as the reward or a lever; choose one")
        if name in segments and (name == target or name in {*interventions, *dropped}):
            raise OptionError(f"{brief(name)} is named as a segment and also as something else; choose one")
    columns = [_look(table[name], dropped) for name in table.columns]
    reward = Role(target, "reward", "named") if target is not None else _reward(columns, {*interventions, *segments})
    others = [each for each in columns if each.name not in segments]
    levers = dict.fromkeys(interventions, "named") or _levers(others, reward.column)
    roles = {each.name: _role(each, reward, levers) for each in others}
    return Proposal(tuple(roles.get(each.name, Role(each.name, "segment", "named")) for each in columns))


def _look(column: pl.Series, dropped: set[str]) -> _Column:
    seen = column.drop_nulls()
    different = seen.n_unique() if not column.dtype.is_nested() else 0
    out = None
    identifier = why_identifier(column, different)
    if column.name in dropped:
        out = "named in --drop"
    elif column.dtype.is_nested() or column.dtype == pl.Object:
        out = f"values of type {column.dtype}"
    elif different < 2:
        out = "the same value everywhere" if different else "empty"
    elif is_date(column):
        out = "dates or times"
    elif identifier is not None:
        out = f"an identifier: {identifier}"
    elif column.dtype == pl.String and different > MOST_LEVELS:
        out = f"text with {different:,} values"
    few = seen.unique().to_list() if 0 < different <= MOST_LEVELS else []
    is_number = column.dtype.is_numeric() or column.dtype == pl.Boolean
    is_binary = is_number and set(few) == {0, 1}
    has_idle = column.dtype == pl.String and any(str(level).lower() in IDLE_WORDS for level in few)
    return _Column(column.name, different, is_number, is_binary, has_idle, 2 * different <= len(seen), out)


def _reward(columns: Sequence[_Column], taken: set[str]) -> Role:
    """The reward: a number whose name says so, of 0 and 1 if there is one, the last one of several."""
    able = [each for each in columns if each.is_number and each.out is None and each.name not in taken]
    if not able:
        raise TableFileError(
            "no column can be the reward, which must be 0 and 1, or a number; name it with --target, or code it first"
        )

    def rank(place: int) -> tuple[bool, bool, int]:
        each = able[place]
        return not REWARD_WORDS.isdisjoint(words_of(each.name)), each.is_binary, place

    best = max(range(len(able)), key=rank)
    called, binary, _ = rank(best)
    what = "0 and 1" if binary else "a number"
    return Role(
        able[best].name, "reward", f"{what}, by its name" if called else f"{what}, the last such column; a guess"
    )


def _levers(columns: Sequence[_Column], reward: str) -> dict[str, str]:
    """The levers with the reasons: columns of few levels whose name says so, or one of whose levels is idle."""
    able = [each for each in columns if each.out is None and each.name != reward and each.different <= MOST_LEVELS]
    found = {}
    for each in able:
        words = words_of(each.name)
        if not LEVER_WORDS.isdisjoint(words) or words[:1] == ["i"]:
            found[each.name] = f"{each.different} levels, by its name"
        elif each.has_idle:
            found[each.name] = f"{each.different} levels, one of which means that nothing was done"
    first = next((each for each in able if each.repeats), None)
    if not found and first is not None:
        found[first.name] = f"{first.different} levels, the first such column; a guess"
    return found


def _role(column: _Column, reward: Role, levers: dict[str, str]) -> Role:
    if column.name == reward.column:
        return reward
    if column.name in levers:
        return Role(column.name, "lever", levers[column.name])
    if column.out is not None:
        return Role(column.name, "left out", column.out)
    what = "values" if column.different > MOST_LEVELS else "levels"
    return Role(column.name, "observed", f"{column.different:,} {what}")
