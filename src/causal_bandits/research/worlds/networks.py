"""Published Bayesian networks as worlds: reading BIF files, and levers on their variables."""

import importlib.resources
import itertools
import math
import os
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
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
TOKEN = re.compile(r"//[^\n]*|/\*.*?(?:\*/|(\Z))|(\"[^\"\n]*\"|[{}()\[\]|,;]|[^\s{}()\[\]|,;\"]+)|(\S)", re.DOTALL)


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
    reader = _Reader(text, source)
    while reader.left:
        word = reader.take()
        if word == "network":
            reader.skip_block()
        elif word == "variable":
            reader.variable()
        elif word == "probability":
            reader.probability()
        else:
            raise reader.wrong(f"{brief(word)} is not read; expected network, variable or probability")
    return reader.network()


class _Reader:
    """Goes through the words of a file; every complaint names the file and the line."""

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        self.words: list[str] = []
        self.lines: list[int] = []
        line, end = 1, 0
        for found in TOKEN.finditer(text):
            line, end = line + text.count("\n", end, found.start()), found.start()
            unclosed, word, odd = found.groups()
            if unclosed is not None:
                self.words, self.lines = [found[0]], [line]
                raise self.wrong("this comment is not closed; end it with */", 0)
            if odd:
                self.words, self.lines = [odd], [line]
                raise self.wrong(f"{brief(odd)} opens a name that does not end on its line", 0)
            if word:
                self.words.append(word)
                self.lines.append(line)
        self.at = 0
        self.levels: dict[str, tuple[str, ...]] = {}
        self.tables: dict[str, tuple[tuple[str, ...], Floats]] = {}

    @property
    def left(self) -> bool:
        return self.at < len(self.words)

    def wrong(self, sentence: str, at: int | None = None) -> WorldError:
        """A complaint about the word that was read last."""
        line = self.lines[max(self.at - 1, 0) if at is None else at] if self.lines else 1
        return WorldError(f"{self.source}, line {line}: {sentence}")

    # Words

    def take(self) -> str:
        if not self.left:
            raise self.wrong("the file ends in the middle of a block; it is corrupt")
        self.at += 1
        return self.words[self.at - 1]

    def expect(self, *wanted: str) -> None:
        for word in wanted:
            found = self.take()
            if found != word:
                raise self.wrong(f"expected {word!r}, not {brief(found)}")

    def name(self) -> str:
        word = self.take()
        if word in "{}()[]|,;":
            raise self.wrong(f"expected a name, not {word!r}")
        return word.strip('"')

    def names(self, end: str) -> list[str]:
        """Names up to a closing bracket; commas are optional."""
        found = []
        while self.left and self.words[self.at] != end:
            if self.words[self.at] == ",":
                self.take()
            else:
                found.append(self.name())
        self.take()
        return found

    def numbers(self) -> list[float]:
        """Probabilities up to a semicolon."""
        found = []
        for word in self.names(";"):
            try:
                number = float(word)
            except ValueError:
                raise self.wrong(f"{brief(word)} is not a number") from None
            if not 0 <= number <= 1:
                raise self.wrong(f"{word} is not a probability")
            found.append(number)
        return found

    def skip_property(self) -> None:
        while self.take() != ";":
            pass

    def skip_block(self) -> None:
        while self.take() != "{":
            pass
        while self.take() != "}":
            pass

    # Blocks

    def variable(self) -> None:
        name = self.name()
        self.expect("{")
        while (word := self.take()) != "}":
            if word == "property":
                self.skip_property()
            elif word == "type":
                self._type(name)
            else:
                raise self.wrong(f"{brief(word)} is not read in the block of variable {brief(name)}")
        if name not in self.levels:
            raise self.wrong(f"variable {brief(name)} has no type; expected 'type discrete [ 2 ] {{ no, yes }};'")

    def _type(self, name: str) -> None:
        kind = self.take()
        if kind != "discrete":
            raise self.wrong(f"variable {brief(name)} is {brief(kind)}; only discrete variables are read")
        if name in self.levels:
            raise self.wrong(f"variable {brief(name)} is declared twice")
        self.expect("[")
        size = self.name()
        self.expect("]", "{")
        levels = self.names("}")
        self.expect(";")
        if size != str(len(levels)) or len(set(levels)) < max(2, len(levels)):
            raise self.wrong(
                f"variable {brief(name)} says {size} levels and lists {listing(levels)}; expected that many, at least 2"
            )
        self.levels[name] = tuple(levels)

    def probability(self) -> None:
        self.expect("(")
        name, parents = self.name(), []
        if self.take() == "|":
            parents = self.names(")")
        elif self.words[self.at - 1] != ")":
            raise self.wrong(f"expected '|' or ')' after {brief(name)}; joint tables are not read")
        for each in (name, *parents):
            if each not in self.levels:
                raise self.wrong(f"{brief(each)} is not a variable of the network")
        if name in self.tables:
            raise self.wrong(f"the table of {brief(name)} is given twice")
        if name in parents or len(set(parents)) < len(parents):
            raise self.wrong(f"{brief(name)} has parents {listing(parents)}; expected other variables, each once")
        self.expect("{")
        self.tables[name] = tuple(parents), self._table(name, parents)

    def _table(self, name: str, parents: list[str]) -> Floats:
        shape = [len(self.levels[each]) for each in (*parents, name)]
        if math.prod(shape) > MOST_CELLS:
            raise self.wrong(f"the table of {brief(name)} has {math.prod(shape):,} numbers; at most {MOST_CELLS:,}")
        table, default = np.full(shape, np.nan), None
        while (word := self.take()) != "}":
            if word == "property":
                self.skip_property()
            elif word == "(":
                cell = self._cell(parents)
                if not np.isnan(table[cell][0]):
                    raise self.wrong(f"the table of {brief(name)} gives a row twice")
                table[cell] = self._row(name)
            elif word == "default":
                default = self._row(name)
            elif word == "table" and not parents:
                table[:] = self._row(name)
            elif word == "table":
                raise self.wrong(f"one 'table' for {brief(name)} given its parents is not read; write a row per value")
            else:
                raise self.wrong(f"{brief(word)} is not read in the table of {brief(name)}")
        if default is not None:
            table[np.isnan(table[..., 0])] = default
        if np.isnan(table).any():
            raise self.wrong(f"the table of {brief(name)} lacks {_missing(table, [self.levels[p] for p in parents])}")
        return table

    def _cell(self, parents: list[str]) -> tuple[int, ...]:
        values = self.names(")")
        if len(values) != len(parents):
            raise self.wrong(f"a row names {len(values)} values for {len(parents)} parents")
        for value, parent in zip(values, parents, strict=True):
            if value not in self.levels[parent]:
                raise self.wrong(f"{brief(value)} is not a level of {brief(parent)}: {listing(self.levels[parent])}")
        return tuple(self.levels[parent].index(value) for value, parent in zip(values, parents, strict=True))

    def _row(self, name: str) -> Floats:
        numbers = np.array(self.numbers())
        if len(numbers) != len(self.levels[name]):
            raise self.wrong(f"a row of {brief(name)} has {len(numbers)} numbers; expected {len(self.levels[name])}")
        if abs(numbers.sum() - 1) > TOLERANCE:
            raise self.wrong(f"a row of {brief(name)} sums to {numbers.sum():.6g}; expected 1")
        row: Floats = numbers / numbers.sum()
        return row

    # The whole

    def network(self) -> dict[str, Node]:
        if not self.levels:
            raise WorldError(f"{self.source} has no variables; expected a network in the BIF format")
        without = [name for name in self.levels if name not in self.tables]
        if without:
            raise WorldError(f"{self.source} has no probabilities of {listing(without)}; every variable needs them")
        found = {name: Node(levels, *self.tables[name]) for name, levels in self.levels.items()}
        arrows = [(parent, name) for name, node in found.items() for parent in node.parents]
        if not MixedGraph(list(found), arrows).is_acyclic:
            raise WorldError(f"{self.source} has a cycle; a Bayesian network has none")
        return found


def _missing(table: Floats, parents: list[tuple[str, ...]]) -> str:
    """The first row that was not given."""
    rows: Iterator[tuple[str, ...]] = itertools.product(*parents)
    empty = next(row for row, given in zip(rows, ~np.isnan(table[..., 0].reshape(-1)), strict=True) if not given)
    return f"the row ({', '.join(empty)})" if empty else "its row"


# Worlds from Bayesian networks: published probabilities, with levers on chosen variables


NETWORKS = ("asia", "survey", "sachs")
"""The networks that come with the package; where their numbers come from is said in datasets/networks/*.md."""
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
