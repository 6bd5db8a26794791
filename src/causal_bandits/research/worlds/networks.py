"""Published Bayesian networks as worlds: reading BIF files, and levers on their variables."""

import importlib.resources
import math
import os
import re
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...core.compiled import Floats
from ...core.files import file_path
from ...core.graphs import MixedGraph
from ...core.problem import Level
from ...core.validation import are_names
from ...errors import UnknownVariableError, WorldError, brief, listing
from .discrete_scm import DiscreteSCM
from .mechanisms import IDLE, Effect, Mechanism, Nudge

# Bayesian networks in the Bayesian Interchange Format (BIF): names, levels, parents and tables


MOST_CELLS = 10**6
"""Numbers in one table."""
TOLERANCE = 1e-3
"""How far printed probabilities may be from summing to 1; they are then divided by their sum."""
NAME = r'(?:"[^"\n]*"|[^\s{}()\[\]|,;"]+)'
NOISE = re.compile(r'("[^"\n]*")|//[^\n]*|/\*.*?(?:\*/|(\Z))|\bproperty\b[^;]*;', re.DOTALL)
"""Comments and properties; names in quotes may look like them."""
BLOCK = re.compile(
    rf"""\s* (?P<block> network\b [^{{}}]* \{{ [^{{}}]* \}}
    | variable \s+ (?P<variable>{NAME}) \s* \{{ \s* type \s+ discrete \s* \[ \s* (?P<size>\d{{1,6}}) \s* \]
      \s* \{{ (?P<levels>[^{{}}]*) \}} \s* ; \s* \}}
    | probability \s* \( \s* (?P<child>{NAME}) \s* (?:\| (?P<parents>[^(){{}}|]*))? \)
      \s* \{{ (?P<table>[^{{}}]*) \}})""",
    re.VERBOSE,
)
ROW = re.compile(r"\s*(?:\((?P<values>[^();]*)\)|(?P<word>table|default)\b)(?P<numbers>[^();]*);")


class Node(NamedTuple):
    """A variable of a network: its levels, its parents, and P(level | parents) with an axis per parent, levels last."""

    levels: tuple[str, ...]
    parents: tuple[str, ...]
    table: Floats


def read_network(text: str, source: str = "the text") -> dict[str, Node]:
    """The variables of a network by name, in the order of the file.

    Read are discrete variables and tables with one row for each joint value of the parents, or with a default row.
    Properties and comments are skipped.

    >>> read_network('''network coin { }
    ... variable X { type discrete [ 2 ] { heads, tails }; }
    ... probability ( X ) { table 0.5, 0.5; }''')["X"].levels
    ('heads', 'tails')
    """
    levels: dict[str, tuple[str, ...]] = {}
    tables: dict[str, tuple[tuple[str, ...], Floats]] = {}
    text, at = NOISE.sub(_blank, text).rstrip(), 0
    while at < len(text):
        found = BLOCK.match(text, at)
        start = found.start("block") if found else at + len(text[at:]) - len(text[at:].lstrip())
        try:
            if found is None:
                raise WorldError(
                    f"{brief(text[start : start + 40].splitlines()[0])} is not read; expected network NAME {{ }}, "
                    "variable NAME { type discrete [ 2 ] { no, yes }; } or probability ( NAME | PARENTS ) { ... }"
                )
            if found["variable"]:
                _add_variable(levels, found)
            elif found["child"]:
                _add_table(tables, levels, found)
        except WorldError as error:
            line = 1 + text.count("\n", 0, start)
            raise WorldError(f"{source}, line {line}: {error}") from None
        at = found.end()
    if not levels:
        raise WorldError(f"{source} has no variables; expected a network in the BIF format")
    without = [name for name in levels if name not in tables]
    if without:
        raise WorldError(f"{source} has no probabilities of {listing(without)}; every variable needs them")
    network = {name: Node(of, *tables[name]) for name, of in levels.items()}
    if not _graph(network).is_acyclic:
        raise WorldError(f"{source} has a cycle; a Bayesian network has none")
    return network


def _blank(found: re.Match[str]) -> str:
    """What is left of a comment or a property: its lines, so that they are counted."""
    if found[2] is not None:
        return "{ a comment that is not closed"  # no block
    return found[1] or "\n" * found[0].count("\n") + " "


def _words(text: str | None) -> list[str]:
    return [word.strip('"') for word in re.findall(NAME, text or "")]


def _add_variable(levels: dict[str, tuple[str, ...]], found: re.Match[str]) -> None:
    name, of = found["variable"].strip('"'), _words(found["levels"])
    if name in levels:
        raise WorldError(f"variable {brief(name)} is declared twice")
    if int(found["size"]) != len(of) or len(set(of)) < max(2, len(of)):
        raise WorldError(
            f"variable {brief(name)} says {found['size']} levels and lists {listing(of)}; expected that many, at least "
            "2, all different"
        )
    levels[name] = tuple(of)


def _add_table(
    tables: dict[str, tuple[tuple[str, ...], Floats]], levels: Mapping[str, tuple[str, ...]], found: re.Match[str]
) -> None:
    name, parents = found["child"].strip('"'), _words(found["parents"])
    for each in (name, *parents):
        if each not in levels:
            raise WorldError(f"{brief(each)} is not a variable of the network")
    if name in tables:
        raise WorldError(f"the table of {brief(name)} is given twice")
    if name in parents or len(set(parents)) < len(parents):
        raise WorldError(f"{brief(name)} has parents {listing(parents)}; expected other variables, each once")
    shape = [len(levels[each]) for each in (*parents, name)]
    if math.prod(shape) > MOST_CELLS:
        raise WorldError(f"the table of {brief(name)} has {math.prod(shape):,} numbers; at most {MOST_CELLS:,}")
    table, default, text, at = np.full(shape, np.nan), np.full(shape[-1], np.nan), found["table"].rstrip(), 0
    while at < len(text):
        row = ROW.match(text, at)
        if row is None or (row["word"] == "table" and parents):
            raise WorldError(
                f"{brief(text[at:].strip()[:40])} is not read in the table of {brief(name)}; expected a row per joint "
                "value of the parents, or default and its numbers"
            )
        at, chances = row.end(), _chances(name, row["numbers"], shape[-1])
        if row["word"] == "default":
            default = chances
            continue
        values = _words(row["values"])
        try:
            cell = tuple(levels[parent].index(value) for value, parent in zip(values, parents, strict=True))
        except ValueError:
            raise WorldError(f"the row ({', '.join(values)}) is not a level of each of {listing(parents)}") from None
        if not np.isnan(table[cell][0]):
            raise WorldError(f"the table of {brief(name)} gives a row twice")
        table[cell] = chances
    table = np.where(np.isnan(table), default, table)
    if np.isnan(table).any():
        cell = next(each for each in np.ndindex(*shape[:-1]) if np.isnan(table[each][0]))
        values = [levels[parent][code] for parent, code in zip(parents, cell, strict=True)]
        raise WorldError(f"the table of {brief(name)} lacks the row ({', '.join(values)})")
    tables[name] = tuple(parents), table


def _chances(name: str, text: str, size: int) -> Floats:
    try:
        numbers = np.array([float(word) for word in _words(text)])
    except ValueError:
        numbers = np.empty(0)
    if len(numbers) != size or not np.all(numbers >= 0) or abs(numbers.sum() - 1) > TOLERANCE:
        raise WorldError(
            f"a row of {brief(name)} is {brief(text.strip())}; expected {size} probabilities that sum to 1"
        )
    chances: Floats = numbers / numbers.sum()
    return chances


NETWORKS = ("asia", "survey", "sachs")
"""The networks that come with the package; datasets/networks/*.md describes their sources."""
LONGEST_FILE = 2**26

Levers = str | Iterable[str] | Mapping[str, Iterable[Level | Nudge]]


def from_bif(
    network: str | os.PathLike[str],
    *,
    target: str,
    success: str | Iterable[str],
    levers: Levers,
    observed: Iterable[str] | None = None,
    arms: Iterable[Mapping[str, Level]] | None = None,
) -> DiscreteSCM:
    """A world with the probabilities of a Bayesian network, from a BIF file or a packaged network.

    A hidden variable is summed out if that is exact: if it has at most one child, or if it has no cause and becomes a
    noise that its children share. Other hidden variables are rejected.

    Args:
        network: Path of a BIF file (`.bif`), or the name of a packaged network: ``"asia"``, ``"survey"``, ``"sachs"``.
        target: Variable that is the reward.
        success: Level or levels of the target that count as 1; the others are 0.
        levers: Variables to act on, each of which can be set to every level; or variable -> list of what its lever
            does: a level to set it to (perfect), or a `Nudge` (soft). The lever on X is named I_X; its first value
            leaves X alone.
        observed: Observed variables; the others are hidden. By default all but those that the target causes.
        arms: Arms that can be pulled; all combinations by default.

    >>> world = from_bif("asia", target="dysp", success="no", levers=["smoke", "bronc"])
    >>> world.problem.observed_names, len(world.problem.arms), world.means.max().round(3).item()
    (('asia', 'tub', 'smoke', 'lung', 'bronc', 'either', 'xray'), 9, 0.888)
    >>> soft = from_bif("survey", target="T", success=["train", "other"], levers={"R": ["small", Nudge(-1.0)]})
    >>> soft.problem.arms
    (do(), do(R=small), do(R=-1))
    """
    nodes = _read(network)
    known = _names("target", [target], nodes)[0]
    ones = _successes(nodes[known], known, success)
    effects = _levers(nodes, known, levers)
    after = set(_graph(nodes).descendants([known])) if observed is None else set()
    chosen = [name for name in nodes if name not in after] if observed is None else _names("observed", observed, nodes)
    seen = [name for name in nodes if name in {*chosen, known}]
    for lever in effects:
        if lever not in seen:
            raise WorldError(f"the lever on {lever!r} acts on a hidden variable; add it to observed")
    kept, noise = _without(nodes, [name for name in nodes if name not in seen])
    return DiscreteSCM(
        {name: 2 if name == known else list(node.levels) for name, node in kept.items()},
        _mechanisms(kept, known, ones),
        {f"I_{name}": values for name, values in effects.items()},
        target=known,
        noise=noise,
        arms=arms,
    )


def _read(network: str | os.PathLike[str]) -> dict[str, Node]:
    if isinstance(network, str) and network in NETWORKS:
        packaged = importlib.resources.files("causal_bandits.core.datasets").joinpath(f"networks/{network}.bif")
        return read_network(packaged.read_text("utf-8"), network)
    path = file_path(network)
    if path.suffix != ".bif":
        raise WorldError(
            f"{brief(str(network))} is neither a packaged network ({listing(NETWORKS)}) nor a file that ends in .bif"
        )
    return read_network(_text(path), brief(str(path)))


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LONGEST_FILE:
            raise WorldError(f"{brief(str(path))} is larger than {LONGEST_FILE:,} bytes; such networks are not read")
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise WorldError(f"cannot read {brief(str(path))} ({error.strerror or error}); name a BIF file") from None
    except UnicodeError:
        raise WorldError(f"{brief(str(path))} is not a text file; expected a network in the BIF format") from None


# What is asked of a network


def _names(role: str, names: object, nodes: Mapping[str, Node]) -> list[str]:
    if not are_names(names):
        raise WorldError(f"{role} is {brief(names)}; expected a list of names of variables")
    found: list[str] = list(names)  # type: ignore[call-overload]
    for name in found:
        if not isinstance(name, str) or name not in nodes:
            raise UnknownVariableError(f"{brief(name)} ({role}) is not a variable; expected some of {listing(nodes)}")
    return found


def _successes(node: Node, target: str, success: object) -> list[int]:
    wanted = [success] if isinstance(success, str) else list(success) if are_names(success) else []  # type: ignore[call-overload]
    if not wanted or not set(wanted) < set(node.levels):
        raise WorldError(
            f"success={brief(success)}; expected some of the levels of {target!r}, not all: {listing(node.levels)}"
        )
    return [node.levels.index(level) for level in wanted]


def _levers(nodes: Mapping[str, Node], target: str, levers: object) -> dict[str, dict[Level, Effect]]:
    given = [levers] if isinstance(levers, str) else levers
    names = _names("levers", given, nodes)
    if not names or target in names:
        raise WorldError(f"levers={brief(levers)}; expected variables to act on, and not the target {target!r}")
    found: dict[str, dict[Level, Effect]] = {}
    for name in names:
        does = given[name] if isinstance(given, Mapping) else nodes[name].levels
        values = [does] if isinstance(does, str | Nudge) or not isinstance(does, Iterable) else list(does)
        found[name] = {IDLE: {}}
        for value in values:
            if not isinstance(value, Nudge) and (not isinstance(value, Hashable) or value not in nodes[name].levels):
                raise WorldError(
                    f"the lever on {name!r} has {brief(value)}; expected a Nudge or a level of it: "
                    f"{listing(nodes[name].levels)}"
                )
            found[name][f"{value.log_odds:+g}" if isinstance(value, Nudge) else value] = {name: value}
        if not values or len(found[name]) < 1 + len(values):
            raise WorldError(f"the lever on {name!r} has {listing(values)}; expected different levels or nudges")
    return found


def _graph(nodes: Mapping[str, Node]) -> MixedGraph:
    return MixedGraph(list(nodes), [(parent, name) for name, node in nodes.items() for parent in node.parents])


# Hidden variables


def _without(nodes: Mapping[str, Node], hidden: list[str]) -> tuple[dict[str, Node], dict[str, list[float]]]:
    """The network without some variables, and those of them that are now noises."""
    left, noise = dict(nodes), dict[str, list[float]]()
    order = _graph(nodes).topological_order()
    for name in reversed([name for name in order if name in hidden]):  # what only hidden variables cause goes first
        if not _children(left, name):
            del left[name]
    for name in [name for name in order if name in hidden and name in left]:
        children, node = _children(left, name), left.pop(name)
        if len(children) == 1:
            left[children[0]] = _absorbed(left[children[0]], name, node, left)
        elif not node.parents:
            noise[name] = node.table.tolist()
        else:
            raise WorldError(
                f"{name!r} cannot be hidden: it has causes ({listing(node.parents)}) and several effects "
                f"({listing(children)}); observe it, or hide its causes too"
            )
    return left, noise


def _children(nodes: Mapping[str, Node], name: str) -> list[str]:
    return [child for child, node in nodes.items() if name in node.parents]


def _absorbed(child: Node, name: str, node: Node, left: Mapping[str, Node]) -> Node:
    """P(child | its other parents and those of the hidden one): the sum over the hidden one's levels."""
    parents = tuple(dict.fromkeys([*(parent for parent in child.parents if parent != name), *node.parents]))
    axes = {each: place for place, each in enumerate((*parents, name))}
    own = len(axes)
    cells = np.prod([*(len(left[each].levels) for each in parents if each in left), len(child.levels)], dtype=float)
    if cells > MOST_CELLS:
        raise WorldError(f"hiding {name!r} makes a table of {cells:,.0f} numbers; observe it")
    operands: list[Any] = [
        child.table,
        [*(axes[parent] for parent in child.parents), own],
        node.table,
        [*(axes[parent] for parent in node.parents), axes[name]],
        [*(axes[parent] for parent in parents), own],
    ]
    table: Floats = np.einsum(*operands)
    return Node(child.levels, parents, table)


def _mechanisms(nodes: Mapping[str, Node], target: str, ones: list[int]) -> dict[str, Mechanism]:
    """The tables, with the target's levels merged into 0 and 1."""
    effects = _children(nodes, target)
    levels = len(nodes[target].levels)
    if effects and levels > 2:
        raise WorldError(
            f"the target {target!r} has {levels} levels and causes {listing(effects)}; leave those out of observed"
        )
    found = {}
    for name, node in nodes.items():
        table = node.table
        if name == target:
            success = table[..., ones].sum(axis=-1)
            table = np.stack([1 - success, success], axis=-1)
        elif target in node.parents and ones == [0]:
            table = np.flip(table, axis=node.parents.index(target))
        found[name] = Mechanism(node.parents, table)
    return found
