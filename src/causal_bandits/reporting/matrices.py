"""Claims by reading, for people: a block of claims per kind of reading, as tables for terminals and for pages."""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.console import RenderableType
from rich.table import Table

from ..markup import Markup, markup, tag
from .html import scrolling, soft
from .sheets import Sheet, columns_from
from .summaries import Series, Summary
from .terminal import written

SIGNS = {"holds": "✓", "fails": "✗", "open": "?"}
STYLES = {"holds": "green", "fails": "red", "depends": "yellow", "open": "yellow"}
LEGEND = "✓ holds, ✗ fails, ? not settled, – not played; of several differences the one that decided, ± standard error"
BESIDE = "reading, rounds"
EXPLAINED = (
    "The figures' own reading is the first line of the first column. Direct testing looks at each lever given the set "
    "and the other levers (conditional; by permutation: with p-values that hold their level), at each lever given the "
    "set alone (marginal), or at the largest group of levers given the set and the rest (joint). Figure 4 counts sets, "
    "or pairs of a set and a lever. Algorithm 2 has Auer's index 4 sqrt(V ln N) or the printed 4 sqrt(V ln N / n), "
    "variances in closed form or from 50 bootstraps, and a residual test per lever given the others, or of all levers "
    "at once (joint)."
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
        found = found or {"": {}}  # not played
        return [(beside, [cells.get(column) for column in self.columns]) for beside, cells in found.items()]


def _valued(name: str, value: str) -> str:
    return f"test {value}" if name == "residual" else value


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


def matrix_texts(rows: Sequence[MatrixRow]) -> list[RenderableType]:
    """For a terminal: per block the names of the columns, then each claim and its verdict above its rows."""
    shown: list[RenderableType] = [written("Claims by reading", "bold")]
    for block in blocks_of(rows):
        lines = [block.lines(row) for row in block.rows]
        names = [column or "measured" for column in block.columns]
        texts = [[beside, *_texts(cells)] for each in lines for beside, cells in each]
        wide = [max(map(len, column)) for column in zip([BESIDE, *names], *texts, strict=True)]
        shown.append(_line([BESIDE, *names], wide, "bold"))
        for row, each in zip(block.rows, lines, strict=True):
            shown.append(written(f"{row.where}: {row.text}"))
            shown.append(written(f"  {row.words}", f"bold {STYLES[row.verdict]}"))
            shown += [_line([beside, *_texts(cells)], wide) for beside, cells in each]
        shown.append("")
    return [*shown, written(f"{LEGEND}. {EXPLAINED}")]


def _texts(cells: Sequence[MatrixCell | None]) -> list[str]:
    return ["–" if cell is None else cell.shown for cell in cells]


def _line(cells: Sequence[str], wide: Sequence[int], style: str = "") -> Table:
    """Cells in columns of given widths, narrower where the terminal is."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=wide[0] + 4, overflow="fold")
    for width in wide[1:]:
        table.add_column(width=width, justify="right", overflow="fold")
    table.add_row(written(f"    {cells[0]}", style), *(written(cell, style) for cell in cells[1:]))
    return table


def matrix_html(rows: Sequence[MatrixRow]) -> Markup:
    """The same for a page: claim and verdict once, beside all their rows."""
    return markup([*(scrolling(_block(block)) for block in blocks_of(rows)), soft(f"{LEGEND}. {EXPLAINED}")])


def _block(block: Block) -> Markup:
    names = ["where", "the paper says", "found", BESIDE, *(column or "measured" for column in block.columns)]
    head = tag("tr", *(tag("th", name, at={"class": "n"} if place > 3 else None) for place, name in enumerate(names)))
    body = [line for row in block.rows for line in _lines(block, row)]
    return tag("table", tag("thead", head), tag("tbody", *body), at={"class": "matrix"})


def _lines(block: Block, row: MatrixRow) -> list[Markup]:
    lines = block.lines(row)
    spanning = {"rowspan": str(len(lines))}
    first = [
        tag("td", tag("a", row.where, at={"href": f"#{row.figure}"}), at={**spanning, "class": "w"}),
        tag("td", row.text, at=spanning),
        tag("td", tag("b", row.words, at={"class": row.verdict}), at=spanning),
    ]
    return [
        tag("tr", *(first if place == 0 else []), tag("td", beside, at={"class": "w"}), *map(_cell, cells))
        for place, (beside, cells) in enumerate(lines)
    ]


def _cell(cell: MatrixCell | None) -> Markup:
    if cell is None:
        return tag("td", "–", at={"class": "n"})
    return tag("td", tag("span", cell.shown, at={"class": cell.verdict, "title": cell.text}), at={"class": "n"})


def read_lines_sheet(summary: Summary) -> Sheet:
    """What every policy did, at the two horizons that claims are read at."""
    ends = (summary["horizon"] // 4, summary["horizon"])
    columns = ("worlds", "policy", "told", "runs", *(name for end in ends for name in (f"t = {end:,}", "relative")))
    rows = [
        (found["panel"], found["label"], found["knows"], f"{found['worlds']} x {found['runs']}", *_at(key, found, ends))
        for key, found in summary["series"].items()
    ]
    caption = "cumulative regret, or the share of sets or of pairs (set, lever) that is accepted, ± standard error"
    return Sheet(summary["title"], caption, columns, tuple(rows), columns_from(4, columns), kept_in="summary.json")


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
