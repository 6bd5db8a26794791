"""Tables of summaries: the numbers of a figure, and the verdicts on its claims."""

from collections.abc import Sequence
from typing import Literal, Protocol, cast

from .line_plots import counted
from .matrices import read_lines_sheet
from .sheets import Sheet, columns_from
from .summaries import About, ExampleRow, Series, Summary, TheoremRow

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
    return Sheet(summary["title"], caption, columns, tuple(rows), columns_from(3, columns), True, KEPT_IN)


def _curves(summary: Summary) -> Sheet:
    series = summary["series"]
    points = next(iter(series.values()))["t"]
    places = sorted({min(range(len(points)), key=lambda k: abs(points[k] - share * points[-1])) for share in (0.4, 1)})
    panels = len({found["panel"] for found in series.values()}) > 1
    relative = any("ratio" in found for found in series.values())
    tiers = {found["tier"]: found["tier_label"] for found in series.values() if "tier" in found}
    columns = [*(["worlds"] if panels else []), "policy", *(["tier"] if tiers else []), "told", "runs"]
    first_number = len(columns)
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
    numbers = columns_from(first_number, tuple(columns))
    return Sheet(summary["title"], caption, tuple(columns), tuple(rows), numbers, kept_in=KEPT_IN)


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
        for row in cast(list[TheoremRow], summary["rows"])
    )
    columns = ("graph", "through", "bias of eq. 2", "its variance", "decomposition", "sample mean's variance")
    caption = f"{summary['runs']} data sets per world with 2 to 8 rows per arm; means over the arms ± standard error"
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
        for row in cast(list[ExampleRow], summary["rows"])
    )
    columns = ("world", "through", "separates", "variance of eq. 2", "decomposition", "more than the named set")
    caption = (
        f"{summary['runs']} data sets of 6 and 10 rows; means over the arms ± standard error, differences in pairs"
    )
    return Sheet(summary["title"], caption, columns, rows, columns_from(3, columns), kept_in=KEPT_IN)


SHEETS = {"theorem": _theorem, "example": _example}
"""Of figures that are not curves."""


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
    """The verdict on a claim."""

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
