"""Claims by reading, for people: a block of claims per kind of reading, as tables for terminals and for pages."""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..markup import Markup, markup, tag
from .html import scrolling, soft
from .sheets import Sheet, columns_from
from .summaries import Series, Summary

SIGNS = {"holds": "✓", "fails": "✗", "open": "?"}
LEGEND = (
    "✓ holds, ✗ fails, ? not settled, – not played or does not apply; of several differences the one that decided, "
    "± standard error"
)


class MatrixCell(NamedTuple):
    """A claim under one reading."""

    reading: Mapping[str, str]
    """The value of each factor."""
    verdict: str
    """holds, fails or open."""
    text: str
    """What the difference is of."""
    difference: float
    se: float

    @property
    def shown(self) -> str:
        """The verdict as a sign, with the difference."""
        return f"{SIGNS[self.verdict]} {_short(self.difference)} ± {_short(self.se, 2)}"


class MatrixRow(NamedTuple):
    """A claim under all readings."""

    where: str
    text: str
    figure: str
    verdict: str
    """holds, fails, depends or open."""
    words: str
    cells: tuple[MatrixCell, ...]
    across: tuple[str, ...]
    """The factors whose values are columns; the others are rows."""


def _short(number: float, digits: int = 3) -> str:
    """
    >>> _short(0.57612), _short(-170.4), _short(0.0041, 2), _short(3.07e-05)
    ('0.576', '-170', '0.0041', '3.1e-05')
    """
    if abs(number) >= 100:
        return f"{number:,.0f}"
    return f"{number:.{digits}g}" if abs(number) >= 0.001 else f"{number:.2g}"


class Block(NamedTuple):
    """Claims that are read by the same factors."""

    columns: tuple[str, ...]
    rows: tuple[MatrixRow, ...]

    def lines(self, row: MatrixRow) -> list[tuple[str, list[MatrixCell | None]]]:
        """Per setting of the other factors, in words: the cells in the order of the columns."""
        found: dict[str, dict[str, MatrixCell]] = {}
        for cell in row.cells:
            across = ", ".join(cell.reading[name] for name in row.across)
            beside = ", ".join(_valued(*each) for each in cell.reading.items() if each[0] not in row.across) or "any"
            found.setdefault(beside, {})[across] = cell
        return [(beside, [cells.get(column) for column in self.columns]) for beside, cells in found.items()]


def _valued(name: str, value: str) -> str:
    return f"{value} rounds" if name == "rounds" else f"{value} test" if name == "residual" else value


def blocks_of(rows: Sequence[MatrixRow]) -> list[Block]:
    """Rows next to each other that are read by the same factors, with the columns that any of them has."""
    found = []
    for _, group in itertools.groupby(rows, lambda row: row.across):
        members = tuple(group)
        columns = dict.fromkeys(
            ", ".join(cell.reading[name] for name in row.across) for row in members for cell in row.cells
        )
        found.append(Block(tuple(columns), members))
    return found


def matrix_sheets(rows: Sequence[MatrixRow]) -> list[Sheet]:
    """A table per block; each claim, with its verdict, is a line above its rows."""
    sheets = []
    for block in blocks_of(rows):
        lines = [
            (f"{row.where}: {row.text} {row.words.upper() if row.verdict != 'depends' else row.words}", beside, *shown)
            for row in block.rows
            for beside, cells in block.lines(row)
            for shown in [["–" if cell is None else cell.shown for cell in cells]]
        ]
        columns = ("claim", "reading", *(column or "measured" for column in block.columns))
        sheets.append(Sheet("Claims by reading", LEGEND, columns, tuple(lines), columns_from(2, columns), grouped=True))
    return sheets


def matrix_html(rows: Sequence[MatrixRow]) -> Markup:
    """The same for a page: claim and verdict once, beside all their rows."""
    return markup([*(scrolling(_block(block)) for block in blocks_of(rows)), soft(LEGEND)])


def _block(block: Block) -> Markup:
    names = ["where", "the paper says", "found", "reading", *(column or "measured" for column in block.columns)]
    head = tag("tr", *(tag("th", name, at={"class": "n"} if place > 3 else None) for place, name in enumerate(names)))
    body = [line for row in block.rows for line in _lines(block, row)]
    return tag("table", tag("thead", head), tag("tbody", *body), at={"class": "matrix"})


def _lines(block: Block, row: MatrixRow) -> list[Markup]:
    lines = block.lines(row)
    spanning = {"rowspan": str(len(lines))}
    first = [
        tag("td", tag("a", row.where, at={"href": f"#{row.figure}"}), at=spanning),
        tag("td", row.text, at=spanning),
        tag("td", tag("b", row.words, at={"class": row.verdict}), at=spanning),
    ]
    return [
        tag("tr", *(first if place == 0 else []), tag("td", beside), *map(_cell, cells))
        for place, (beside, cells) in enumerate(lines)
    ]


def _cell(cell: MatrixCell | None) -> Markup:
    if cell is None:
        return tag("td", "–", at={"class": "n"})
    return tag("td", tag("span", cell.shown, at={"class": cell.verdict, "title": cell.text}), at={"class": "n"})


def read_lines_sheet(summary: Summary) -> Sheet:
    """What every policy did, at the two horizons that claims are read at."""
    ends = (summary["horizon"] // 4, summary["horizon"])
    columns = ("worlds", "policy", "runs", *(name for end in ends for name in (f"t = {end:,}", "relative")))
    rows = [
        (found["panel"], found["label"], f"{found['worlds']} x {found['runs']}", *_at(key, found, ends))
        for key, found in summary["series"].items()
    ]
    caption = "cumulative regret, or the share of sets or of pairs (set, lever) that is accepted, ± standard error"
    return Sheet(summary["title"], caption, columns, tuple(rows), columns_from(3, columns), kept_in="summary.json")


def _at(key: str, found: Series, ends: Sequence[int]) -> list[str]:
    cells = []
    for end in ends:
        place = min(range(len(found["t"])), key=lambda place: abs(found["t"][place] - end))
        if found["t"][-1] < end:
            cells += ["–", "–"]
            continue
        cells.append(f"{_short(found['mean'][place])} ± {_short(found['se'][place], 2)}")
        ratio = f"{found['ratio'][place]:.3f} ± {found['ratio_se'][place]:.3f}" if "ratio" in found else ""
        cells.append("1" if key == found["baseline"] else ratio)
    return cells
