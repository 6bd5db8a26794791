"""Infer a problem from the columns of a table; everything inferred is reported."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ...core.data.cell_types import MISSING_WORDS
from ...core.data.coding import LARGEST
from ...core.data.distinct import is_plain
from ...core.data.table_files import OddCell, odd_cell, plain_types
from ...core.problem import Levels, Problem, bins, control_level
from ...core.validation import are_names
from ...errors import OptionError, TableFileError, brief, listing
from ...libraries import pl
from .columns import MOST_LEVELS, is_date, why_identifier

Kind = Literal["discrete", "gaussian", "count", "revenue", "levels"]

QUANTILES = 4
GROUPS = 5
"""Groups of a segment that is a number: they remove about nine tenths of its bias (Cochran 1968)."""
REWARD_WORDS: dict[Kind, str] = {
    "discrete": "0 or 1, so the analysis is discrete",
    "gaussian": "a real number, so the analysis is Gaussian",
    "count": "a count",
    "revenue": "revenue: 0 or an amount",
    "levels": "ordered levels, each worth its number",
}


class Inferred(NamedTuple):
    """The problem, the rows that can be used, what was inferred, in words, and what of it is a guess to check."""

    problem: Problem
    table: pl.DataFrame
    kind: Kind
    notes: list[str]
    guesses: list[str]

    def __repr__(self) -> str:
        return f"Inferred({self.kind}, {len(self.table):,} rows, {self.problem.outline})"


def infer(
    table: pl.DataFrame,
    target: str,
    interventions: Sequence[str],
    *,
    segments: Sequence[str] = (),
    observed: Iterable[str] | None = None,
    drop: Iterable[str] = (),
    kind: Kind | None = None,
    control: Mapping[str, Any] | None = None,
    by_word: Mapping[str, int] | None = None,
    found_out: Iterable[str] = (),
) -> Inferred:
    """Which columns are what: levers and target are named, everything else is observed unless it is left out.

    `by_word` says in how many cells of which columns a word was treated as a missing value, `found_out` what else was
    detected when the table was read. `control` names the levels that the others are compared with.
    """
    levers = _check_names(table, target, interventions, segments)
    if kind is not None and (not isinstance(kind, str) or kind not in get_args(Kind)):
        raise OptionError(f"kind={brief(kind)}; expected one of {', '.join(get_args(Kind))}")
    left_out = _listed(table, drop, "drop", target, levers)
    chosen = _listed(table, observed, "observed", target, levers) if observed is not None else None
    seen = [n for n in table.columns if n not in (target, *levers, *left_out) and (chosen is None or n in chosen)]
    table = plain_types(table)
    odd = {name: odd_cell(table[name]) for name in (target, *levers, *seen)}
    _check_types(table, target, levers, odd[target])
    notes = list(found_out)
    notes += [
        f"{name}: a word such as NA among numbers is treated as missing, in {count} of its cells"
        for name, count in (by_word or {}).items()
        if name in odd
    ]
    table = _whole_rows(table, target, levers, notes)
    kind = _kind(table[target], kind, notes)
    declared: dict[str, Levels] = {}
    for name in seen:
        found = _observed(table[name], kind, notes, odd[name], forced=chosen is not None)
        if found is not None:
            declared[name] = found
    guesses: list[str] = []
    for name in segments:
        table = table.with_columns(_cut_segment(table[name], notes))
    settings = {name: _segment(table[name], notes, odd[name]) for name in segments}
    for name in interventions:
        settings[name] = _lever(table[name], (control or {}).get(name), notes, guesses, odd[name])
    settings = {name: settings[name] for name in levers}
    arms = _arms(table, settings, notes)
    by_nature = {name: settings.pop(name) for name in segments}
    problem = Problem(target, declared, settings, segments=by_nature, arms=arms, reward=_reward(table[target], kind))
    return Inferred(problem, table.select([*levers, *declared, target]), kind, notes, guesses)


def _arms(table: pl.DataFrame, settings: Mapping[str, list[Any]], notes: list[str]) -> list[dict[str, Any]]:
    """The combinations of the levers that occur, in the order of their levels."""
    levers = list(settings)
    arms = table.select(levers).unique(maintain_order=True)
    order = {name: {level: place for place, level in enumerate(settings[name])} for name in levers}
    rows = sorted(arms.to_dicts(), key=lambda arm: [order[name][arm[name]] for name in levers])
    if len(rows) < 2:
        raise TableFileError(f"all rows have the same {listing(levers)}; there is only one arm and nothing to compare")
    notes.append(f"arms: the {len(rows)} combinations of {', '.join(levers)} that occur")
    return rows


def _check_names(table: pl.DataFrame, target: str, interventions: Sequence[str], segments: Sequence[str]) -> list[str]:
    """The levers, and after them the segments."""
    if not isinstance(target, str) or not are_names(interventions):
        raise OptionError(f"target={brief(target)}, interventions={brief(interventions)}; expected names of columns")
    if not interventions:
        raise OptionError("no lever is named; list the columns that were set: interventions=['I1', ...]")
    for name in segments:
        if name in interventions:
            raise OptionError(
                f"{brief(name)} is both a segment and a lever; name it once: as a lever if you set it, as "
                f"a segment if you do not"
            )
    levers = list(dict.fromkeys([*interventions, *segments]))
    for name in (target, *levers):
        if name not in table.columns:
            raise TableFileError(f"the table has no column {brief(name)}; it has {listing(table.columns)}")
    if target in levers:
        raise OptionError(f"target {brief(target)} is also listed as a lever; the reward cannot be set")
    return levers


def _listed(table: pl.DataFrame, names: Iterable[str], role: str, target: str, levers: list[str]) -> list[str]:
    if not isinstance(names, str) and not are_names(names):
        raise OptionError(f"{role}={brief(names)}; expected names of columns")
    found = [names] if isinstance(names, str) else list(names)
    for name in found:
        if name not in table.columns:
            raise TableFileError(f"{role}: the table has no column {brief(name)}; it has {listing(table.columns)}")
        if name in (target, *levers):
            what = "the target" if name == target else "a lever or a segment"
            raise OptionError(
                f"{role} names {name!r}, which is {what}; list only the columns between levers and reward"
            )
    return found


def _check_types(table: pl.DataFrame, target: str, levers: list[str], odd: OddCell | None) -> None:
    for name in levers:
        if not is_plain(table.schema[name]):
            raise TableFileError(
                f"lever {name!r} is of type {table.schema[name]}; expected text, numbers or true and false"
            )
    if not is_plain(table.schema[target]):
        raise TableFileError(f"target {brief(target)} is of type {table.schema[target]}; expected 0 and 1, or a number")
    if odd is not None:
        raise TableFileError(
            f"target {brief(target)} mixes numbers and text ({odd.text!r} in row {odd.row}); clean it first"
        )
    if table.schema[target] == pl.String and table[target].count():
        values = listing(table[target].drop_nulls().unique().sort(), 3)
        raise TableFileError(f"target {brief(target)} is text ({values}); code it as 0 and 1, or as a number")


def _whole_rows(table: pl.DataFrame, target: str, levers: list[str], notes: list[str]) -> pl.DataFrame:
    kept = table.drop_nulls([target, *levers])
    if kept.height < table.height:
        notes.append(f"{table.height - kept.height} of {table.height} rows lack the target or a lever and are left out")
    if not kept.height:
        raise TableFileError(f"no row has both {brief(target)} and {listing(levers)}")
    return kept


def _kind(column: pl.Series, kind: Kind | None, notes: list[str]) -> Kind:
    name = column.name
    values = column.unique().sort().to_list()
    if kind is not None:
        _check_kind(name, values, kind)
    found: Kind = kind or _inferred_kind(column, values)
    if len(values) < 2:
        raise TableFileError(f"target {name!r} is {brief(values[0])} in every row; there is nothing to learn")
    told = "" if kind is None else ", as specified"
    notes.append(f"target {name}: {REWARD_WORDS[found]}{told}")
    return found


def _inferred_kind(column: pl.Series, values: list[Any]) -> Kind:
    """0 and 1; whole numbers from 0; amounts of which at least half are 0; otherwise any number."""
    if set(values) <= {0, 1}:
        return "discrete"
    if values[0] != 0:
        return "gaussian"
    if column.dtype.is_integer():
        return "count"
    zeros = int((column == 0).sum())
    return "revenue" if 2 * zeros >= len(column) else "gaussian"


def _check_kind(name: str, values: list[Any], kind: Kind) -> None:
    """Reject a kind that the values of the target contradict."""
    needs = {
        "discrete": ("0 and 1", set(values) <= {0, 1}),
        "count": ("whole numbers of at least 0", values[0] >= 0 and all(value == int(value) for value in values)),
        "revenue": ("numbers of at least 0", values[0] >= 0),
        "levels": (f"at most {MOST_LEVELS} values", len(values) <= MOST_LEVELS),
        "gaussian": ("numbers", True),
    }
    what, fits = needs[kind]
    if not fits:
        raise TableFileError(f"target {name!r} has values such as {listing(values, 3)}; kind={kind} needs {what}")


def _reward(column: pl.Series, kind: Kind) -> Any:
    """The reward of the problem; a level of an ordered one is worth its own number."""
    if kind == "levels":
        levels = [value.item() if hasattr(value, "item") else value for value in column.unique().sort().to_list()]
        return {"levels": levels, "values": [float(level) for level in levels]}
    return {"discrete": bool, "gaussian": float}.get(kind, kind)


def _levels(column: pl.Series, what: str) -> list[Any]:
    levels = column.unique().sort().to_list()
    if len(levels) > MOST_LEVELS:
        raise TableFileError(
            f"{what} {column.name!r} has {len(levels)} values; expected at most {MOST_LEVELS}: group them first"
        )
    return levels


def _cut_segment(column: pl.Series, notes: list[str]) -> pl.Series:
    """A segment of many numbers in groups of equal size; the number of a group comes first, so that they sort."""
    if not column.dtype.is_numeric() or column.n_unique() <= MOST_LEVELS:
        return column
    quantiles = [float(column.quantile(part / GROUPS, "linear") or 0.0) for part in range(1, GROUPS)]
    cuts = np.unique(quantiles)
    ends = [f"{cut:.4g}" for cut in cuts]
    names = [f"1: up to {ends[0]}"]
    names += [f"{place + 2}: above {low} to {high}" for place, (low, high) in enumerate(itertools.pairwise(ends))]
    names.append(f"{len(cuts) + 1}: above {ends[-1]}")
    notes.append(f"segment {column.name}: a number, cut into {len(names)} groups of about equal size")
    group = np.searchsorted(cuts, column.cast(pl.Float64).to_numpy(), side="left")
    return pl.Series(column.name, np.array(names)[group])


def _segment(column: pl.Series, notes: list[str], odd: OddCell | None) -> list[Any]:
    levels = _levels(column, "segment")
    if len(levels) < 2:
        raise TableFileError(f"segment {column.name!r} is {brief(levels[0])} in every row; leave it out")
    notes.append(f"segment {column.name}: {listing(levels)}{_doubts(levels, odd)}")
    return levels


def _lever(column: pl.Series, named: Any, notes: list[str], guesses: list[str], odd: OddCell | None) -> list[Any]:
    """The levels of a lever, the control's first: the one that was named, else one called none or the like."""
    name, levels = column.name, _levels(column, "lever")
    chosen = next((level for level in levels if named is not None and str(level) == str(named)), None)
    called = control_level(levels)
    control, why = (chosen, "named") if chosen is not None else (called, "by its name")
    if control is None:
        control, why = levels[0], "a guess"
        guesses.append(
            f"{name}: no level is called none, off, control or the like, so the first one, {brief(control)}, is "
            f"treated as the control; name another with --control {name}=LEVEL"
        )
    levels = [control, *(level for level in levels if level != control)]
    doubts = _doubts([level for level in levels if level != control], odd)
    notes.append(f"lever {name}: {listing(levels)}; the control is {brief(control)} ({why}){doubts}")
    if len(levels) < 2:
        levels.append(
            f"not {control}" if isinstance(control, str) else control + 1
        )  # a problem needs two; no row has it
    return levels


def _observed(column: pl.Series, kind: Kind, notes: list[str], odd: OddCell | None, *, forced: bool) -> Levels | None:
    """How an observed column is declared; None when it is left out."""
    if is_date(column) and not (forced and is_plain(column.dtype)):
        notes.append(f"{column.name}: dates or times, left out")
        return None
    if not is_plain(column.dtype):
        notes.append(f"{column.name}: values of type {column.dtype}, left out")
        return None
    name, seen = column.name, column.drop_nulls()
    values = seen.unique().sort().to_list()
    gaps = f", missing in {column.null_count()} rows" if column.null_count() else ""
    if len(values) < 2:
        notes.append(f"{name}: always {brief(values[0])}, left out" if values else f"{name}: empty, left out")
        return None
    if len(values) > MOST_LEVELS and odd is not None and odd.numbers > odd.texts:
        mixed = f"mixes numbers and text ({odd.text!r} in row {odd.row})"
        if forced:
            raise TableFileError(f"column {name!r} {mixed}; clean it, or do not name it in --observed")
        notes.append(f"{name}: {mixed}, left out")
        return None
    numeric = column.dtype.is_numeric()
    if numeric and not forced and not (seen.abs() <= LARGEST).all():
        notes.append(f"{name}: holds infinite numbers, or some above {LARGEST:g}, left out")
        return None
    identifier = None if forced else why_identifier(column, len(values))
    if identifier is not None:
        notes.append(f"{name}: {identifier}, treated as an identifier and left out")
        return None
    if numeric and (len(values) > MOST_LEVELS or (kind == "gaussian" and column.dtype.is_float())):
        if kind == "gaussian":
            notes.append(f"{name}: a real number{gaps}")
            return float
        notes.append(f"{name}: a real number, cut at its quartiles{gaps}")
        cuts = sorted({float(seen.quantile(q / QUANTILES, "linear") or 0.0) for q in range(1, QUANTILES)})
        return bins(cuts)
    if len(values) > MOST_LEVELS:
        notes.append(f"{name}: {len(values)} values of type {column.dtype}, left out")
        return None
    notes.append(f"{name}: {len(values)} levels, {listing(values, 6)}{gaps}{_doubts(values, odd)}")
    return values


def _doubts(levels: Sequence[Any], odd: OddCell | None) -> str:
    """What may be a mistake in the file rather than a level."""
    said = ""
    if odd is not None and odd.numbers > odd.texts and odd.text in levels:
        said = f"; text among numbers ({odd.text!r} in row {odd.row}, {odd.texts} in all); clean it if this is wrong"
    words = [level for level in levels if level in MISSING_WORDS and str(level).lower() != "none"]
    return said + (
        f"; {listing(words)} is treated as a level; leave these cells empty if the value is missing" if words else ""
    )
