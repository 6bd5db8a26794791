"""Tables, made from summaries alone: as plain text cells first, then for the terminal or for a page."""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any, NamedTuple, Protocol

from .curves import counted
from .terminal import FittedTable

SHOWN_ROWS = 12
"""On a terminal."""


class Sheet(NamedTuple):
    """A table in words."""

    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: int
    """The first column that holds numbers."""
    grouped: bool = False
    """Rows with the same first cell belong together."""


def sheet_of(summary: dict[str, Any], about: Mapping[str, Any] | None = None) -> Sheet:
    """The numbers of a summary; `about` may add what is not the same in every run."""
    if "series" not in summary:
        return ROWS[summary["figure"]](summary)
    if summary.get("by_tier"):
        return _by_tier(summary, about or {})
    return _curves(summary)


def _by_tier(summary: dict[str, Any], about: Mapping[str, Any]) -> Sheet:
    """Cumulative and simple regret at the end, least told first, and within a tier the least regret first."""
    series, times = summary["series"], about.get("microseconds", {})
    methods = [key for key, found in series.items() if key == found["method"]]
    methods.sort(key=lambda key: (series[key]["tier"], series[key]["mean"][-1]))
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
            )
        )
    end = next(iter(series.values()))["t"][-1]
    columns = ("tier", "policy", "told", f"regret, t = {end}", "relative", "simple regret", "µs per round")
    caption = (
        f"± standard error over {counted(summary)}; relative to the policy marked 1 in the same worlds; simple regret: "
        "of the arm recommended at the end; time: one process, in the first world. Compare within a tier"
    )
    return Sheet(summary["title"], caption, columns, tuple(rows), 3, grouped=True)


def _curves(summary: dict[str, Any]) -> Sheet:
    series = summary["series"]
    points = next(iter(series.values()))["t"]
    places = sorted({min(range(len(points)), key=lambda k: abs(points[k] - share * points[-1])) for share in (0.4, 1)})
    panels = len({found["panel"] for found in series.values()}) > 1
    relative = any("ratio" in found for found in series.values())
    tiers = {found["tier"]: found["tier_label"] for found in series.values() if "tier" in found}
    columns = [*(["worlds"] if panels else []), "policy", *(["tier"] if tiers else []), "told", "runs"]
    numbers = len(columns)
    for place in places:
        columns += [f"t = {points[place]}", *(["relative"] if relative else [])]
    rows = []
    for key, found in series.items():
        runs = f"{found['worlds']} x {found['runs']}" if found["worlds"] > 1 else f"{found['runs']}"
        tier = [str(found.get("tier", ""))] if tiers else []
        cells = [*([found["panel"]] if panels else []), found["label"], *tier, found["knows"], runs]
        for place in places:
            cells.append(_mean(found, place))
            if relative:
                told = "1" if key == found["baseline"] else _ratio(found, place)
                cells.append(told)
        rows.append(tuple(cells))
    caption = f"{summary['measure']} ± standard error over {counted(summary)}"
    if relative:
        caption += ", and relative to the policy marked 1 in the same worlds"
    if tiers:
        caption += "; tier " + ", ".join(f"{tier}: {label}" for tier, label in sorted(tiers.items()))
    return Sheet(summary["title"], caption, tuple(columns), tuple(rows), numbers)


def _ratio(found: dict[str, Any], place: int) -> str:
    return _with_error(found, "ratio", "ratio_se", place, 3) if "ratio" in found else ""


def _mean(found: dict[str, Any], place: int) -> str:
    mean = abs(found["mean"][place])
    return _with_error(found, "mean", "se", place, 3 if mean < 1 else 1 if mean < 10_000 else 0)


def _with_error(found: dict[str, Any], what: str, error: str, place: int, digits: int) -> str:
    """A number and its standard error, which a single run does not have."""
    shown = f"{found[what][place]:,.{digits}f}"
    return shown if found["worlds"] * found["runs"] == 1 else f"{shown} ± {found[error][place]:,.{digits}f}"


def _small(mean: float, se: float) -> str:
    return f"{mean:.5f} ± {se:.5f}"


def _theorem(summary: dict[str, Any]) -> Sheet:
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
    caption = f"{summary['runs']} data sets per world with 2 to 8 rows per arm; means over the arms ± standard error"
    return Sheet(summary["title"], caption, columns, rows, 2)


def _example(summary: dict[str, Any]) -> Sheet:
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
        f"{summary['runs']} data sets of 6 and 10 rows; means over the arms ± standard error, differences in pairs"
    )
    return Sheet(summary["title"], caption, columns, rows, 3)


ROWS = {"theorem": _theorem, "example": _example}


class Measured(Protocol):
    """A difference that a claim depends on."""

    @property
    def text(self) -> str:
        """What it is the difference of."""

    @property
    def difference(self) -> float:
        """Its value."""

    @property
    def se(self) -> float:
        """Its standard error."""

    @property
    def z(self) -> float:
        """One over the other."""

    @property
    def verdict(self) -> str:
        """holds, fails or open."""


class Verdict(Protocol):
    """What became of a claim."""

    @property
    def where(self) -> str:
        """In the paper."""

    @property
    def text(self) -> str:
        """The claim."""

    @property
    def verdict(self) -> str:
        """holds, fails or open."""

    @property
    def words(self) -> str:
        """The verdict for people."""

    @property
    def measured(self) -> Sequence[Measured]:
        """The differences it depends on."""


def evidence(measured: Measured) -> str:
    """A difference in words.

    >>> from causal_bandits.experiments.claims import Measured
    >>> evidence(Measured("b - a", 0.25, 0.05))
    'b - a = 0.25 ± 0.05 (5.0 s.e.)'
    """
    return f"{measured.text} = {measured.difference:.3g} ± {measured.se:.2g} ({measured.z:.1f} s.e.)"


def claims_sheet(verdicts: Sequence[Verdict]) -> Sheet:
    """What became of the claims, each with the difference that decided."""
    rows = tuple((each.where, each.text, each.words, _decisive(each)) for each in verdicts)
    caption = (
        "a claim holds when every difference is at least 2 standard errors on its side, and fails at -2; "
        "the weakest difference is shown"
    )
    return Sheet("The claims", caption, ("where", "claim", "verdict", "measured"), rows, 4)


def _decisive(verdict: Verdict) -> str:
    worst = [one for one in verdict.measured if one.verdict == verdict.verdict]
    return evidence(min(worst, key=lambda one: one.z)) if worst else ""


def terminal_table(sheet: Sheet) -> FittedTable:
    """For the terminal; long tables are cut, and groups have a line of their own instead of a column."""
    shown = sheet.rows[:SHOWN_ROWS] if len(sheet.rows) > 3 * SHOWN_ROWS else sheet.rows
    caption = sheet.caption
    if len(shown) < len(sheet.rows):
        caption += f"\nthe first {SHOWN_ROWS} of {len(sheet.rows)} rows; all are in summary.json"
    first = 1 if sheet.grouped else 0
    columns = sheet.columns[first:]
    table = FittedTable(sheet.title, columns, numbers=range(sheet.numbers - first, len(columns)), caption=caption)
    for group, rows in groupby(shown, lambda row: row[0] if sheet.grouped else ""):
        if group:
            table.add_row(group, head=True)
        for row in rows:
            table.add_row(*row[first:])
    return table


def html_table(sheet: Sheet) -> str:
    """For a page."""
    head = "".join(f"<th{_right(sheet, place)}>{escape(name)}</th>" for place, name in enumerate(sheet.columns))
    body = "".join(
        "<tr>" + "".join(f"<td{_right(sheet, place)}>{escape(cell)}</td>" for place, cell in enumerate(row)) + "</tr>"
        for row in sheet.rows
    )
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        f'<p class="caption">{escape(sheet.caption)}</p>'
    )


def _right(sheet: Sheet, place: int) -> str:
    return ' class="n"' if place >= sheet.numbers else ""
