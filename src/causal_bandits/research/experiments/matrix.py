"""Claims by reading: the verdict on every claim under each reading of what a paper leaves open, from summaries alone.

A reading gives every *factor* (the independence test, the unit of Figure 4, the horizon, ...) a value. A claim holds
if it holds in every reading that decides it, and these are most; where it holds in some and fails in others, it depends
on the fewest factors that tell these apart.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...reporting.summaries import CellRecord, ClaimRecord, MatrixRecord, Summary, Verdict
from ...reporting.summary_sheets import MatrixCell, MatrixRow
from .claims import judge

TEST, UNIT, ROUNDS, INDEX, VARIANCE, RESIDUAL = "test", "unit", "rounds", "index", "variance", "residual"
WORDS = {
    TEST: "the test",
    UNIT: "the unit",
    ROUNDS: "the horizon",
    INDEX: "the index",
    VARIANCE: "the variance",
    RESIDUAL: "the residual test",
}
"""Every factor, in the order in which they are named."""
ACROSS = {TEST: (TEST,), INDEX: (INDEX, VARIANCE)}
"""The factors whose values are the columns, by one that the claim depends on."""
LISTED = 4
"""Of more readings than this, only the factors are named."""
DECIDED = ("holds", "fails")
IN_WORDS = {"holds": "holds", "fails": "fails", "open": "inconclusive"}
Reading = Mapping[str, str]


def matrix(readings: Summary, others: Iterable[Summary] = ()) -> list[MatrixRow]:
    """A row per claim. The paper's own figures in `others` replace the cell they have in common, with more runs.

    Claims of `others` to which no reading applies (Theorem 3.1, sec. 3.2) follow with one cell each.
    """
    figures = {summary["figure"]: summary for summary in others}
    rows = []
    for found in readings["matrix"]:
        shared = _shared(found, figures)
        records = [shared, *found["cells"][1:]] if shared else found["cells"]  # the first one, or the only one
        cells = [_cell(found["where"], found["text"], each) for each in records]
        rows.append(_row(found["where"], found["text"], found["figure"], found["own"], cells))
    done = {(row.figure, row.text) for row in rows}
    for figure in readings["unread"]:
        for claim in figures[figure]["claims"] if figure in figures else ():
            if (figure, claim["text"]) not in done:
                only = _cell(claim["where"], claim["text"], {"reading": {}, "contrasts": claim["contrasts"]})
                rows.append(_row(claim["where"], claim["text"], figure, (), [only]))
    return rows


def _shared(found: MatrixRecord, figures: Mapping[str, Summary]) -> CellRecord | None:
    """The first cell, the reading of the figure itself, from the summary of that figure."""
    base, cells = figures.get(found["figure"]), found["cells"]
    if base is None or base.get("weights") != "equal" or found["own"][ROUNDS] != f"{base['horizon']:,}":
        return None
    if cells and cells[0]["reading"] != found["own"]:
        return None
    claims: list[ClaimRecord] = [claim for claim in base["claims"] if claim["text"] == found["text"]]
    return {"reading": found["own"], "contrasts": claims[0]["contrasts"]} if claims else None


def _cell(where: str, text: str, found: CellRecord) -> MatrixCell:
    [verdict] = judge({"claims": [{"where": where, "text": text, "contrasts": found["contrasts"]}]})
    worst = _decisive(verdict)
    return MatrixCell(dict(found["reading"]), verdict.verdict, *worst)


def _decisive(verdict: Verdict) -> tuple[str, float, float]:
    """The difference that decided, and its standard error."""
    of = [one for one in verdict.measured if one.verdict == verdict.verdict]
    worst = min(of, key=lambda one: -abs(one.z) if one.expected == "zero" else one.z)
    return worst.text, worst.difference, worst.se


def _row(where: str, text: str, figure: str, factors: Iterable[str], cells: list[MatrixCell]) -> MatrixRow:
    across = next((columns for first, columns in ACROSS.items() if first in factors), ())
    verdict, words = overall(cells)
    return MatrixRow(where, text, figure, verdict, words, tuple(cells), across)


def overall(cells: Sequence[MatrixCell]) -> tuple[str, str]:
    """holds, fails, depends or open; and the same in words.

    >>> overall([MatrixCell({"test": "joint"}, "holds", "", 1.0, 0.1), MatrixCell({"test": "marginal"}, "fails", "", -1.0, 0.1)])
    ('depends', 'depends on the test: holds with joint, fails with marginal')
    """  # noqa: E501
    if not cells:
        return "open", "not played"
    if len(cells) == 1 and cells[0].reading:
        return "open", f"{IN_WORDS[cells[0].verdict]} in the only reading played"
    decided = [cell for cell in cells if cell.verdict in DECIDED]
    found = sorted({cell.verdict for cell in decided})
    if not found:
        return "open", "inconclusive"
    left = len(cells) - len(decided)
    more = f" (inconclusive in {left} of {len(cells)} readings)" if left else ""
    if len(found) == 1 and left >= len(decided):
        return "open", f"inconclusive ({found[0]} in {len(decided)} of {len(cells)} readings)"
    if len(found) == 1:
        return found[0], f"{found[0]}{more}"
    factors = deciding_factors(decided)
    return "depends", f"depends on {_listed([WORDS[name] for name in factors])}{_which(decided, factors)}{more}"


def deciding_factors(cells: Sequence[MatrixCell]) -> tuple[str, ...]:
    """The fewest factors whose values say which verdict it is."""
    names = [name for name in WORDS if any(name in cell.reading for cell in cells)]
    for count in range(1, len(names) + 1):
        for chosen in itertools.combinations(names, count):
            if all(len(found) == 1 for found in _by_values(cells, chosen).values()):
                return chosen
    return tuple(names)


def _by_values(cells: Sequence[MatrixCell], factors: Sequence[str]) -> dict[tuple[str, ...], set[str]]:
    found: dict[tuple[str, ...], set[str]] = {}
    for cell in cells:
        found.setdefault(tuple(cell.reading.get(name, "") for name in factors), set()).add(cell.verdict)
    return found


def _which(cells: Sequence[MatrixCell], factors: Sequence[str]) -> str:
    """Where it holds and where it fails; of many readings the rarer verdict, or nothing."""
    groups = _by_values(cells, factors).items()
    where = {name: [values for values, found in groups if found == {name}] for name in DECIDED}
    shown = {name: _listed([_valued(values) for values in found]) for name, found in where.items()}
    if len(factors) == 1:
        return f": holds with {shown['holds']}, fails with {shown['fails']}"
    rare = min(DECIDED, key=lambda name: len(where[name]))
    return f": {rare} only with {shown[rare]}" if len(where[rare]) <= LISTED else ""


def _valued(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else f"({'; '.join(values)})"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


class Tally(NamedTuple):
    """How many claims hold under one reading."""

    reading: dict[str, str]
    holds: int
    of: int
    others: tuple[MatrixRow, ...]
    """The claims that fail, or are inconclusive."""


def tallies(rows: Sequence[MatrixRow]) -> list[Tally]:
    """Every combination of values that was played for all claims; those under which most claims hold come first.

    Claims that were played under a single reading cannot distinguish readings and are not counted.
    """
    rows = [row for row in rows if len(row.cells) > 1 or not row.across]
    values: dict[str, list[str]] = {name: [] for name in WORDS}
    for cell in (cell for row in rows for cell in row.cells):
        for name, value in cell.reading.items():
            if value not in values[name]:
                values[name].append(value)
    used = [name for name in WORDS if values[name]]
    found = []
    for chosen in itertools.product(*(values[name] for name in used)):
        reading = dict(zip(used, chosen, strict=True))
        verdicts = [_under(row, reading) for row in rows]
        if None not in verdicts:
            others = tuple(row for row, verdict in zip(rows, verdicts, strict=True) if verdict != "holds")
            found.append(Tally(reading, len(rows) - len(others), len(rows), others))
    return sorted(found, key=lambda tally: -tally.holds)


def _under(row: MatrixRow, reading: Reading) -> str | None:
    """The verdict of a claim under a reading; None if it was not played."""
    for cell in row.cells:
        if all(reading[name] == value for name, value in cell.reading.items()):
            return cell.verdict
    return None


def in_words(rows: Sequence[MatrixRow]) -> str:
    """The matrix in words: how many claims hold under every reading, and under which reading most do."""
    count = Counter(row.verdict for row in rows)
    said = [
        f"Of {len(rows)} claims, {_number(count['holds'], 'hold')} and {_number(count['fails'], 'fail')} under every "
        f"reading, {_number(count['depends'], 'depend')} on the reading, and "
        f"{count['open']} {'is' if count['open'] == 1 else 'are'} inconclusive."
    ]
    if found := tallies(rows):
        best = [tally for tally in found if tally.holds == found[0].holds]
        common = {name: value for name, value in best[0].reading.items() if all(t.reading[name] == value for t in best)}
        reading = ", ".join(f"{WORDS[name].removeprefix('the ')} {value}" for name, value in common.items())
        left = [row for row in best[0].others if all(row in tally.others for tally in best)]
        quoted = [f"{row.where}, “{row.text.removesuffix('.')}”" for row in left]
        other = f"; the exception is {_listed(quoted)}" if 0 < len(left) <= LISTED else ""
        said.append(f"Most claims hold, {best[0].holds} of {best[0].of}, with {reading or 'several readings'}{other}.")
    said.append(
        "A claim holds if every difference it depends on has the claimed sign by at least two standard errors, "
        "and fails if one has the opposite sign by two."
    )
    return " ".join(said)


def _number(count: int, verb: str) -> str:
    return f"{count} {verb}{'s' if count == 1 else ''}"
