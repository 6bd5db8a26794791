"""Bayesian networks in the Bayesian Interchange Format (BIF): names, levels, parents and tables."""

import itertools
import math
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...core.compiled import Floats
from ...core.graphs import MixedGraph
from ...errors import WorldError, brief, listing

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
