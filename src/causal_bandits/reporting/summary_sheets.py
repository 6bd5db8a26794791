"""Tables of summaries: the numbers of a figure, the verdicts on its claims, and claims by reading."""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

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


def matrix_sheets(rows: Sequence[MatrixRow]) -> list[Sheet]:
    """A table for claims next to each other that are read by the same factors: a group of rows for each claim."""
    sheets = []
    for across, group in itertools.groupby(rows, lambda row: row.across):
        members = list(group)
        columns = list(dict.fromkeys(_setting(cell, across) for row in members for cell in row.cells))
        names = ("claim", BESIDE, *(column or "measured" for column in columns))
        cells = tuple(
            (f"{row.where}: {row.text} ({row.words})", beside, *("–" if cell is None else cell.shown for cell in found))
            for row in members
            for beside, found in _lines(row, columns)
        )
        sheets.append(Sheet("Claims by reading", "", names, cells, columns_from(2, names), True))
    return [*sheets[:-1], *(last._replace(caption=f"{LEGEND}. {EXPLAINED}") for last in sheets[-1:])]


def _setting(cell: MatrixCell, factors: Iterable[str]) -> str:
    return ", ".join(cell.reading[name] for name in factors)


def _lines(row: MatrixRow, columns: Iterable[str]) -> list[tuple[str, list[MatrixCell | None]]]:
    """Per setting of the factors that are no columns, in words: the cells in the order of the columns."""
    found: dict[str, dict[str, MatrixCell]] = {}
    for cell in row.cells:
        others = ((name, value) for name, value in cell.reading.items() if name not in row.across)
        beside = ", ".join(f"test {value}" if name == "residual" else value for name, value in others) or "any"
        found.setdefault(beside, {})[_setting(cell, row.across)] = cell
    found = found or {"": {}}  # not played
    return [(beside, [cells.get(column) for column in columns]) for beside, cells in found.items()]


# The numbers of a figure, and the verdicts on its claims


def sheet_of(summary: Summary, about: About | None = None) -> Sheet:
    """The numbers of a summary; `about` may add what is not the same in every run."""
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
    end, more = next(iter(series.values()))["t"][-1], _more_columns(series)
    rows = []
    for key in methods:
        found, simple = series[key], series.get(f"{key}-simple")
        rows.append(
            {
                "tier": f"{found['tier']}: {found['tier_label']}",
                "policy": found["label"],
                "given": found["knows"],
                f"regret, t = {end}": _mean(found, -1),
                "relative": "1" if key == found["baseline"] else _ratio(found, -1),
                "simple regret": "" if simple is None else _with_error(simple, "mean", "se", -1, 4),
                "µs per round": f"{times[key]:.1f}" if key in times else "",
                **{name: MORE[name](found) for name in more},
            }
        )
    caption = (
        f"± standard error over {counted(summary)}; relative to the policy marked 1 in the same worlds; simple regret: "
        "of the arm recommended at the end; time: one process, in the first world. Compare within a tier"
    ) + _more_words(more)
    return _sheet(summary, caption, rows, 3)._replace(grouped=True)


def _sheet(summary: Summary, caption: str, rows: Sequence[dict[str, str]], first_number: int) -> Sheet:
    """A table of rows by the names of their columns; from one column on these are numbers."""
    columns = tuple(rows[0])
    cells = tuple(tuple(row.values()) for row in rows)
    return Sheet(summary["title"], caption, columns, cells, columns_from(first_number, columns))


def _curves(summary: Summary) -> Sheet:
    """Every line at two rounds: at the end, and at 0.4 of the horizon or where claims are judged."""
    series = summary["series"]
    points = next(iter(series.values()))["t"]
    shares = (0.25 if "matrix" in summary else 0.4, 1.0)
    ends = sorted({points[_nearest(points, share * points[-1])] for share in shares})
    panels = len({found["panel"] for found in series.values()}) > 1
    relative = any("ratio" in found for found in series.values())
    tiers = {found["tier"]: found["tier_label"] for found in series.values() if "tier" in found}
    columns = [*(["worlds"] if panels else []), "policy", *(["tier"] if tiers else []), "given", "runs"]
    first_number = len(columns)
    for end in ends:
        columns += [f"t = {end:,}", *(["relative"] if relative else [])]
    more = _more_columns(series)
    columns += more
    rows = []
    for key, found in series.items():
        runs = f"{found['worlds']} x {found['runs']}" if found["worlds"] > 1 else f"{found['runs']}"
        tier = [str(found.get("tier", ""))] if tiers else []
        cells = [*([found["panel"]] if panels else []), found["label"], *tier, found["knows"], runs]
        for end in ends:
            place, was_played = _nearest(found["t"], end), found["t"][-1] >= end
            cells.append(_mean(found, place) if was_played else "–")
            if relative:
                told = "1" if key == found["baseline"] else _ratio(found, place)
                cells.append(told if was_played else "–")
        rows.append((*cells, *(MORE[name](found) for name in more)))
    caption = f"{summary['measure']} ± standard error over {counted(summary)}"
    if relative:
        caption += ", and relative to the policy marked 1 in the same worlds"
    if tiers:
        caption += "; tier " + ", ".join(f"{tier}: {label}" for tier, label in sorted(tiers.items()))
    caption += _more_words(more) + _missing_quantiles(summary)
    numbers = columns_from(first_number, tuple(columns))
    return Sheet(summary["title"], caption, tuple(columns), tuple(rows), numbers)


def _nearest(points: Sequence[int], to: float) -> int:
    return min(range(len(points)), key=lambda place: abs(points[place] - to))


def _oracle(found: Series) -> str:
    return f"{found['of_oracle']:.2f} ± {found['of_oracle_se']:.2f}" if "of_oracle" in found else ""


def _tail(name: str) -> Callable[[Series], str]:
    def cell(found: Series) -> str:
        value = found.get("tails", {}).get(name)
        return "" if value is None else f"{value:,.{1 if value < 10_000 else 0}f}"

    return cell


def _exponent(found: Series) -> str:
    tails = found.get("tails", {})
    return f"{tails['exponent']:.1f} ± {tails['exponent_se']:.1f}" if "exponent" in tails else ""


ORACLE, LARGE = "of the oracle", "P(large)"
MORE: dict[str, Callable[[Series], str]] = {
    ORACLE: _oracle,
    **{"q95": _tail("q95"), "q99": _tail("q99"), "CVaR95": _tail("cvar95")},
    LARGE: lambda found: f"{found['tails']['over']:.1%}" if "tails" in found else "",
    "exponent": _exponent,
}
"""Columns of the oracle and of tails, where any line has them."""


def _more_columns(series: Mapping[str, Series]) -> list[str]:
    return [name for name, cell in MORE.items() if any(map(cell, series.values()))]


def _more_words(columns: list[str]) -> str:
    words = f"; {ORACLE}: as a multiple of the policy that is given most" if ORACLE in columns else ""
    if LARGE in columns:
        words += "; tails are over all worlds and runs, and large is twice the baseline's median"
    return words


def _missing_quantiles(summary: Summary) -> str:
    """Why columns of tails are missing or empty."""
    if "regret" not in summary["measure"]:
        return ""
    found = [each.get("tails") for each in summary["series"].values()]
    if None in found:
        return "; a 95% quantile needs at least 20 runs, a 99% quantile 100"
    return "; a 99% quantile needs at least 100 runs" if any(each and each["q99"] is None for each in found) else ""


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
    rows = [
        {
            "graph": row["graph"],
            "through": row["set"],
            "bias of eq. 2": _small(row["bias"], row["bias_se"]),
            "its variance": _small(row["variance"], row["variance_se"]),
            "decomposition": f"{row['decomposition']:.5f}",
            "sample mean's variance": f"{row['own_variance']:.5f}",
        }
        for row in summary["rows"]
    ]
    caption = f"{summary['runs']:,} data sets per world with 2 to 8 rows per arm; means over the arms ± standard error"
    return _sheet(summary, caption, rows, 2)


def _example(summary: Summary) -> Sheet:
    rows = [
        {
            "world": row["world"],
            "through": row["set"],
            "separates": row["separates"],
            "variance of eq. 2": _small(row["variance"], row["variance_se"]),
            "decomposition": f"{row['decomposition']:.5f}",
            "more than the named set": _small(row["more_than_best"], row["more_than_best_se"])
            if row["more_than_best_se"]
            else "0",
        }
        for row in summary["rows"]
    ]
    caption = (
        f"{summary['runs']:,} data sets of 6 and 10 rows; means over the arms ± standard error, differences in pairs"
    )
    return _sheet(summary, caption, rows, 3)


def _limits(summary: Summary) -> Sheet:
    """Means over the worlds of a family: constants, eta^2, and what policies lose per ln t as a multiple of a bound."""
    found, rows = summary["rows"], []
    for family in dict.fromkeys(row["family"] for row in found):
        worlds = [row for row in found if row["family"] == family]
        plain = [row for row in worlds if row["policy"] == "ts"]
        cells = {"worlds": family, "number": f"{len(plain)}", "separates": "yes" if plain[0]["separates"] else "no"}
        for name, key in {"C_0": "c0", "C_S": "cs", "C_P": "cp", "eta^2": "eta2"}.items():
            cells[name] = f"{_average([row[key] for row in plain]):.3g}"
        for policy, name in POLICIES_OF_LIMITS.items():
            played = [row for row in worlds if row["policy"] == policy]
            mean = _average([row["regret"] for row in played])
            se = math.sqrt(sum(row["regret_se"] ** 2 for row in played)) / max(len(played), 1)
            cells[name] = f"{mean:,.1f} ± {se:,.1f}" if played else ""
        rows.append(cells)
    caption = (
        f"means over worlds; regret ± standard error at T = {found[0]['horizon']:,}, {found[0]['runs']} runs each; "
        "where no set separates, C_S and C_P are what the variables would be worth if they did"
    )
    return _sheet(summary, caption, rows, 3)


POLICIES_OF_LIMITS = {"ts": "TS", "causal-ts-known": "given S", "told-means": "given S, E[Y | S]", "ossb": "OSSB"}


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
    return Sheet("The claims", caption, ("where", "claim", "verdict", "measured"), rows, ())


def _decisive(verdict: Verdict) -> str:
    worst = [one for one in verdict.measured if one.verdict == verdict.verdict]
    return evidence(min(worst, key=lambda one: one.z)) if worst else ""
