"""Tables of summaries: the numbers of a figure, the verdicts on its claims, and claims by reading."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from ..core.markup import Markup, markup, tag
from .html import soft
from .sheets import Sheet, columns_from
from .summaries import About, Measured, Series, Summary, Verdict
from .summary_plots import counted

# Claims by reading


SIGNS = {"holds": "✓", "fails": "✗", "open": "?"}
LEGEND = "✓ holds, ✗ fails, ? inconclusive, – not played; of several differences the one that decided, ± standard error"
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
        return f"{SIGNS[self.verdict]} {_digits(self.difference)} ± {_digits(self.se, 2)}"


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


def _digits(number: float, digits: int = 3) -> str:
    """
    >>> _digits(0.57612), _digits(-170.4), _digits(0.0041, 2), _digits(3.07e-05)
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


def matrix_sheets(rows: Sequence[MatrixRow]) -> list[Sheet]:
    """For a terminal: a table per block, with each claim and its verdict above its rows."""
    sheets = []
    for place, block in enumerate(blocks := blocks_of(rows)):
        names = ["claim", BESIDE, *(column or "measured" for column in block.columns)]
        cells = tuple(
            (f"{row.where}: {row.text} ({row.words})", beside, *("–" if cell is None else cell.shown for cell in found))
            for row in block.rows
            for beside, found in block.lines(row)
        )
        caption = f"{LEGEND}. {EXPLAINED}" if place == len(blocks) - 1 else ""
        sheets.append(Sheet("Claims by reading", caption, tuple(names), cells, columns_from(2, tuple(names)), True))
    return sheets


def matrix_html(rows: Sequence[MatrixRow]) -> Markup:
    """The same for a page: claim and verdict once, beside all their rows."""
    shown = (tag("div", _block(block), at={"class": "scroll"}) for block in blocks_of(rows))
    return markup([*shown, soft(f"{LEGEND}. {EXPLAINED}")])


def _block(block: Block) -> Markup:
    names = ["where", "the paper says", "found", BESIDE, *(column or "measured" for column in block.columns)]
    head = tag("tr", *(tag("th", name, at={"class": "n"} if index > 3 else None) for index, name in enumerate(names)))
    body = [line for row in block.rows for line in _html_lines(block, row)]
    return tag("table", tag("thead", head), tag("tbody", *body), at={"class": "matrix"})


def _html_lines(block: Block, row: MatrixRow) -> list[Markup]:
    lines = block.lines(row)
    spanning = {"rowspan": str(len(lines))}
    first = [
        tag("td", tag("a", row.where, at={"href": f"#{row.figure}"}), at={**spanning, "class": "w"}),
        tag("td", row.text, at=spanning),
        tag("td", tag("b", row.words, at={"class": row.verdict}), at=spanning),
    ]
    return [
        tag("tr", *(first if index == 0 else []), tag("td", beside, at={"class": "w"}), *map(_cell, cells))
        for index, (beside, cells) in enumerate(lines)
    ]


def _cell(cell: MatrixCell | None) -> Markup:
    if cell is None:
        return tag("td", "–", at={"class": "n"})
    return tag("td", tag("span", cell.shown, at={"class": cell.verdict, "title": cell.text}), at={"class": "n"})


def read_lines_sheet(summary: Summary) -> Sheet:
    """The regret of every policy at the two horizons at which claims are judged."""
    ends = (summary["horizon"] // 4, summary["horizon"])
    columns = ("worlds", "policy", "given", "runs", *(name for end in ends for name in (f"t = {end:,}", "relative")))
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
        cells.append(f"{_digits(found['mean'][place])} ± {_digits(found['se'][place], 2)}")
        ratio = f"{found['ratio'][place]:.3f} ± {found['ratio_se'][place]:.3f}" if "ratio" in found else ""
        cells.append("1" if key == found["baseline"] else ratio)
    return cells


# The numbers of a figure, and the verdicts on its claims


KEPT_IN = "summary.json"


def sheet_of(summary: Summary, about: About | None = None) -> Sheet:
    """The numbers of a summary; `about` may add what is not the same in every run."""
    if "matrix" in summary:
        return read_lines_sheet(summary)
    if "series" not in summary:
        return SHEETS[summary["figure"]](summary)
    if summary.get("by_tier"):
        return _by_tier(summary, about or {})
    return _curves(summary)


def _by_tier(summary: Summary, about: About) -> Sheet:
    """Cumulative and simple regret at the end, by tier and then by regret."""
    series, times = summary["series"], about.get("microseconds", {})
    methods = [key for key, found in series.items() if key == found["method"]]
    methods.sort(key=lambda key: (series[key]["tier"], series[key]["mean"][-1]))
    more = _more_columns(series)
    rows = []
    for key in methods:
        found, simple = series[key], series.get(f"{key}-simple")
        rows.append(
            (
                f"{found['tier']}: {found['tier_label']}",
                found["label"],
                found["knows"],
                _mean(found, -1),
                "1" if key == found["baseline"] else _ratio(found, -1),
                "" if simple is None else _with_error(simple, "mean", "se", -1, 4),
                f"{times[key]:.1f}" if key in times else "",
                *_more(found, more),
            )
        )
    end = next(iter(series.values()))["t"][-1]
    columns = ("tier", "policy", "given", f"regret, t = {end}", "relative", "simple regret", "µs per round", *more)
    caption = (
        f"± standard error over {counted(summary)}; relative to the policy marked 1 in the same worlds; simple regret: "
        "of the arm recommended at the end; time: one process, in the first world. Compare within a tier"
    ) + _more_words(more)
    return Sheet(summary["title"], caption, columns, tuple(rows), columns_from(3, columns), True, KEPT_IN)


def _curves(summary: Summary) -> Sheet:
    series = summary["series"]
    points = next(iter(series.values()))["t"]
    places = sorted({min(range(len(points)), key=lambda k: abs(points[k] - share * points[-1])) for share in (0.4, 1)})
    panels = len({found["panel"] for found in series.values()}) > 1
    relative = any("ratio" in found for found in series.values())
    tiers = {found["tier"]: found["tier_label"] for found in series.values() if "tier" in found}
    columns = [*(["worlds"] if panels else []), "policy", *(["tier"] if tiers else []), "given", "runs"]
    first_number = len(columns)
    for index in places:
        columns += [f"t = {points[index]}", *(["relative"] if relative else [])]
    more = _more_columns(series)
    columns += more
    rows = []
    for key, found in series.items():
        runs = f"{found['worlds']} x {found['runs']}" if found["worlds"] > 1 else f"{found['runs']}"
        tier = [str(found.get("tier", ""))] if tiers else []
        cells = [*([found["panel"]] if panels else []), found["label"], *tier, found["knows"], runs]
        for index in places:
            cells.append(_mean(found, index))
            if relative:
                told = "1" if key == found["baseline"] else _ratio(found, index)
                cells.append(told)
        rows.append((*cells, *_more(found, more)))
    caption = f"{summary['measure']} ± standard error over {counted(summary)}"
    if relative:
        caption += ", and relative to the policy marked 1 in the same worlds"
    if tiers:
        caption += "; tier " + ", ".join(f"{tier}: {label}" for tier, label in sorted(tiers.items()))
    caption += _more_words(more)
    numbers = columns_from(first_number, tuple(columns))
    return Sheet(summary["title"], caption, tuple(columns), tuple(rows), numbers, kept_in=KEPT_IN)


ORACLE, Q95, Q99, WORST, LARGE, EXPONENT = "of the oracle", "q95", "q99", "CVaR95", "P(large)", "exponent"


def _more_columns(series: dict[str, Series]) -> list[str]:
    """Columns of the oracle and of tails, if any line has them."""
    tails = any("tails" in found for found in series.values())
    oracle = any("of_oracle" in found for found in series.values())
    exponent = [EXPONENT] if any("exponent" in found.get("tails", {}) for found in series.values()) else []
    return [*([ORACLE] if oracle else []), *([Q95, Q99, WORST, LARGE] if tails else []), *exponent]


def _more(found: Series, columns: list[str]) -> list[str]:
    cells = []
    if ORACLE in columns:
        cells.append(f"{found['of_oracle']:.2f} ± {found['of_oracle_se']:.2f}" if "of_oracle" in found else "")
    if Q95 in columns:
        tails = found.get("tails")
        numbers = [] if tails is None else [tails["q95"], tails["q99"], tails["cvar95"]]
        cells += ["" if value is None else f"{value:,.{1 if value < 10_000 else 0}f}" for value in numbers] or [""] * 3
        cells.append("" if tails is None else f"{tails['over']:.1%}")
        if EXPONENT in columns:
            known = tails is not None and "exponent" in tails
            cells.append(f"{tails['exponent']:.1f} ± {tails['exponent_se']:.1f}" if tails and known else "")
    return cells


def _more_words(columns: list[str]) -> str:
    words = f"; {ORACLE}: as a multiple of the policy that is given most" if ORACLE in columns else ""
    if Q95 in columns:
        words += "; tails are over all worlds and runs, and large is twice the baseline's median"
    return words


def _ratio(found: Series, place: int) -> str:
    return _with_error(found, "ratio", "ratio_se", place, 3) if "ratio" in found else ""


def _mean(found: Series, place: int) -> str:
    mean = abs(found["mean"][place])
    return _with_error(found, "mean", "se", place, 3 if mean < 1 else 1 if mean < 10_000 else 0)


def _with_error(
    found: Series, what: Literal["mean", "ratio"], error: Literal["se", "ratio_se"], place: int, digits: int
) -> str:
    """A number and its standard error, which a single run does not have."""
    shown = f"{found[what][place]:,.{digits}f}"
    return shown if found["worlds"] * found["runs"] == 1 else f"{shown} ± {found[error][place]:,.{digits}f}"


def _small(mean: float, se: float) -> str:
    return f"{mean:.5f} ± {se:.5f}"


def _theorem(summary: Summary) -> Sheet:
    rows = tuple(
        (
            row["graph"],
            row["set"],
            _small(row["bias"], row["bias_se"]),
            _small(row["variance"], row["variance_se"]),
            f"{row['decomposition']:.5f}",
            f"{row['own_variance']:.5f}",
        )
        for row in summary["rows"]
    )
    columns = ("graph", "through", "bias of eq. 2", "its variance", "decomposition", "sample mean's variance")
    caption = f"{summary['runs']:,} data sets per world with 2 to 8 rows per arm; means over the arms ± standard error"
    return Sheet(summary["title"], caption, columns, rows, columns_from(2, columns), kept_in=KEPT_IN)


def _example(summary: Summary) -> Sheet:
    rows = tuple(
        (
            row["world"],
            row["set"],
            row["separates"],
            _small(row["variance"], row["variance_se"]),
            f"{row['decomposition']:.5f}",
            _small(row["more_than_best"], row["more_than_best_se"]) if row["more_than_best_se"] else "0",
        )
        for row in summary["rows"]
    )
    columns = ("world", "through", "separates", "variance of eq. 2", "decomposition", "more than the named set")
    caption = (
        f"{summary['runs']:,} data sets of 6 and 10 rows; means over the arms ± standard error, differences in pairs"
    )
    return Sheet(summary["title"], caption, columns, rows, columns_from(3, columns), kept_in=KEPT_IN)


def _limits(summary: Summary) -> Sheet:
    """Means over the worlds of a family: constants, eta^2, and what policies lose per ln t as a multiple of a bound."""
    found = summary["rows"]
    rows = []
    for family in dict.fromkeys(row["family"] for row in found):
        worlds = [row for row in found if row["family"] == family]
        plain = [row for row in worlds if row["policy"] == "ts"]
        cells = [f"{_average([row[key] for row in plain]):.3g}" for key in ("c0", "cs", "cp", "eta2")]
        for policy in ("ts", "causal-ts-known", "told-means", "ossb"):
            played = [row for row in worlds if row["policy"] == policy]
            mean = _average([row["regret"] for row in played])
            se = math.sqrt(sum(row["regret_se"] ** 2 for row in played)) / max(len(played), 1)
            cells.append(f"{mean:,.1f} ± {se:,.1f}" if played else "")
        rows.append((family, f"{len(plain)}", "yes" if plain[0]["separates"] else "no", *cells))
    columns = (
        "worlds",
        "number",
        "separates",
        "C_0",
        "C_S",
        "C_P",
        "eta^2",
        "TS",
        "given S",
        "given S, E[Y | S]",
        "OSSB",
    )
    caption = (
        f"means over worlds; regret ± standard error at T = {found[0]['horizon']:,}, {found[0]['runs']} runs each; "
        "where no set separates, C_S and C_P are what the variables would be worth if they did"
    )
    return Sheet(summary["title"], caption, columns, tuple(rows), columns_from(3, columns), kept_in=KEPT_IN)


def _average(values: list[float]) -> float:
    return sum(values) / max(len(values), 1)


SHEETS = {"theorem": _theorem, "example": _example, "limits": _limits}
"""Of figures that are not curves."""


def evidence(measured: Measured) -> str:
    """A difference in words.

    >>> evidence(Measured("b - a", 0.25, 0.05))
    'b - a = 0.25 ± 0.05 (5.0 s.e.)'
    """
    return f"{measured.text} = {measured.difference:.3g} ± {measured.se:.2g} ({measured.z:.1f} s.e.)"


def claims_sheet(verdicts: Sequence[Verdict]) -> Sheet:
    """The verdicts on the claims, each with the difference that decided."""
    rows = tuple((each.where, each.text, each.words, _decisive(each)) for each in verdicts)
    caption = (
        "a claim holds when every difference is at least 2 standard errors on its side, and fails at -2; "
        "the weakest difference is shown"
    )
    return Sheet("The claims", caption, ("where", "claim", "verdict", "measured"), rows, (), kept_in=KEPT_IN)


def _decisive(verdict: Verdict) -> str:
    worst = [one for one in verdict.measured if one.verdict == verdict.verdict]
    return evidence(min(worst, key=lambda one: one.z)) if worst else ""
