"""The page of a study and the page of an analysed table, from plain values alone."""

import math
from html import escape
from typing import Any

from ..markup import braces, evidence_words, number, table
from .plain_pages import Interval, intervals, lines, page, stacked

Values = dict[str, Any]
EVIDENCE = "Evidence as rows came in"


def evidence_of(found: Values) -> str:
    """What speaks for or against a set: p-values, or nats per lever."""
    tests = ((test["levers"], test["p_value"]) for test in found["tests"])
    return evidence_words(tests, {**found["confidence"], **found["log_bayes_factor"]}, str(found["source"]))


def state_of(found: Values) -> str:
    """What became of a set; without rows that have its variables nothing can have spoken against it."""
    if found["accepted"]:
        return "accepted"
    return "rejected" if found["rows"] else "not tested yet"


def study_page(study: Values) -> str:
    """A study: `Study.describe(history=True)`."""
    decisions = study["decisions"]
    counts = ", ".join(f"{decisions[name]:,} {name}" for name in ("told", "open", "abandoned", "expired"))
    over_time = study["decisions_over_time"]
    parts = [
        f"<h1>Study {escape(study['name'])}</h1>",
        f'<p class="soft">{escape(study["policy"])}, seed {study["seed"]}, since {escape(study["created"])}. '
        f"{decisions['all']:,} decisions ({counts}); {study['rows']:,} rows counted.</p>",
        _recommended(study),
        _alarms(study),
        *_what_is_known(study),
        "<h2>Decisions over time</h2>",
        stacked(over_time["until"], over_time["arms"], over_time["shares"]),
    ]
    return page(f"Study {study['name']}", parts)


def analysis_page(analysis: Values) -> str:
    """An analysed table: `Analysis.to_dict()`."""
    notes = "".join(f"<li>{escape(note)}</li>" for note in analysis["inferred"])
    parts = [
        f"<h1>What decides {escape(analysis['target'])}?</h1>",
        f'<p class="soft">{analysis["rows"]:,} rows; levers {escape(", ".join(analysis["interventions"]))}.</p>',
        _recommended(analysis),
        *_what_is_known(analysis),
        f"<h2>What was inferred from the table</h2><ul>{notes}</ul>",
    ]
    return page(f"Analysis of {analysis['target']}", parts)


def _what_is_known(values: Values) -> list[str]:
    """What both pages show: arms, sets and their evidence."""
    return [
        _missing(values),
        "<h2>Arms, the best first</h2>",
        _arms_figure(values["arms"]),
        _arms_table(values["arms"]),
        "<h2>Separating sets</h2>",
        _sets(values["sets"]),
        f"<h2>{EVIDENCE}</h2>",
        _evidence(values["evidence_over_time"]),
    ]


def _recommended(values: Values) -> str:
    best = values["recommendation"]
    if best is None:
        return '<p class="box">No arm can be recommended yet: no arm has enough rows.</p>'
    return (
        f'<p class="lead box">Recommended: <b>{escape(best["arm"])}</b>, mean {number(best["mean"])}; '
        f"the best arm with probability {best['probability_best']:.2f}.</p>"
    )


def _alarms(values: Values) -> str:
    return "".join(
        f'<p class="box bad"><span class="alarm">Alarm:</span> the set {escape(braces(found["variables"]))} no longer '
        f"holds on recent rows, as row {found['alarm_row']:,} showed. What it taught may be outdated.</p>"
        for found in values["alarms"]
    )


def _missing(values: Values) -> str:
    gaps = values["missing"]
    if not gaps:
        return ""
    told = ", ".join(f"{name} in {count:,} rows" for name, count in gaps.items())
    return f'<p class="soft">Missing: {escape(told)}. A row counts for the sets whose variables it has.</p>'


def _interval(row: Values) -> Interval | None:
    values = row["mean"], row["low"], row["high"]
    return None if any(value is None for value in values) else values


def _arms_figure(arms: list[Values]) -> str:
    shown = arms[:40]
    figure = intervals(
        [row["arm"] for row in shown],
        [_interval(row) for row in shown],
        [_interval(row["without_sharing"]) for row in shown],
    )
    more = f" The best 40 of {len(arms)} arms." if len(arms) > 40 else ""
    return f'{figure}<p class="soft">Thick: with sharing. Thin: from the arm\'s own rows alone.{more}</p>'


def _arms_table(arms: list[Values]) -> str:
    rows = []
    for row in arms:
        alone = row["without_sharing"]
        status = "" if row.get("status", "played") == "played" else f" ({row['status']})"
        rows.append(
            (
                row["arm"] + status,
                number(row["mean"]),
                f"{number(row['low'])} to {number(row['high'])}",
                number(row["width"]),
                number(alone["width"]),
                braces(row["through"]),
                f"{row['own_rows']:,}",
                f"{row['borrowed_rows']:,.0f}",
            )
        )
    columns = ("arm", "mean", "interval", "width", "width alone", "through", "own rows", "borrowed rows")
    return table(columns, rows, numeric=(1, 2, 3, 4, 6, 7))


def _sets(sets: list[Values]) -> str:
    if not sets:
        return '<p class="soft">This policy does not share information, so it looks for no sets.</p>'
    rows = []
    for found in sorted(sets, key=lambda each: not each["accepted"]):
        held = {None: "", True: "no longer holds", False: "holds"}[found["alarm"]]
        rows.append(
            (
                braces(found["variables"]),
                state_of(found),
                ", ".join(found["separated"]) or "–",
                evidence_of(found),
                f"{found['rows']:,}",
                held,
            )
        )
    columns = ("set", "", "separates", "evidence", "rows", "recently")
    shown = len(columns) if any(found["alarm"] is not None for found in sets) else len(columns) - 1
    return table(columns[:shown], [row[:shown] for row in rows], numeric=(4,))


def _evidence(over_time: Values) -> str:
    shown = over_time["sets"][:8]
    by_nats = any(nats is not None for each in shown for nats in each["nats"])
    series = [(braces(each["variables"]), _nats(each["nats"]) if by_nats else _logs(each["p_value"])) for each in shown]
    if len(over_time["rows"]) < 2 or not any(value is not None for _, values in series for value in values):
        return '<p class="soft">Too few rows to show the evidence over time.</p>'
    if by_nats:
        figure = lines(over_time["rows"], series, low=-10, high=10, mark=1.0, ends=("-10", "10"), label=EVIDENCE)
        note = "Evidence for each set in nats (log Bayes factor), for its weakest lever; the dashed line is 1."
    else:
        figure = lines(
            over_time["rows"], series, low=-6, high=0, mark=math.log10(0.05), ends=("1e-06", "1"), label=EVIDENCE
        )
        note = "The smallest p-value of each set over the rows, on a logarithmic scale; the dashed line is 0.05."
    more = f" The first 8 of {len(over_time['sets'])} sets." if len(over_time["sets"]) > 8 else ""
    return f'{figure}<p class="soft">{note}{more}</p>'


def _logs(p_values: list[float | None]) -> list[float | None]:
    return [None if p is None else max(math.log10(max(p, 1e-6)), -6.0) for p in p_values]


def _nats(values: list[float | None]) -> list[float | None]:
    return [None if nats is None else min(max(nats, -10.0), 10.0) for nats in values]
