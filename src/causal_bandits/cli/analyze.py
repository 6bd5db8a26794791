"""`causal-bandits analyze`: a logged table in one command."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..core.files import replacing
from ..errors import OptionError
from .deferred import analysis, described, sheets, study_pages, terminals
from .root import app, console, names_in, say_json, waiting

CONTROL = "Arm to compare with, written lever=value,...; by default levels named none, off, control or similar."
UNIT = "Column that identifies users (or other units) with several rows each; intervals are computed by unit."
RANDOMIZED = "Levers were assigned at random: do not test whether other columns predict them."
KINDS = "discrete, gaussian, count, revenue or levels; inferred from the target by default."
SEGMENTS = "Columns known before the decision (device, country), comma-separated."
FILES = "CSV (any common separator and encoding, also .gz), Parquet or .xlsx file, or 'example' for the packaged table."
DATABASES = "Database for --query: any SQLAlchemy URL, or adbc+ and an ADBC URL."
SHOWN_ARMS, SHOWN_SETS, SHOWN_COLUMNS, SHOWN_NOTES = 20, 10, 30, 15


def _answer(found: "described.AnalysisDescription", html: Path | None, *, everything: bool, as_json: bool) -> None:
    if html is not None:
        with replacing(html) as path:
            path.write_text(study_pages.analysis_page(found), encoding="utf-8")
    if as_json:
        say_json(found, indent=1)
    else:
        _show(console(), found, everything, html)


@app.command("analyze")
def analyze_command(
    table: Annotated[str | None, typer.Argument(help=FILES)] = None,
    query: Annotated[str | None, typer.Option(help="SELECT query to analyze, instead of a file.")] = None,
    from_: Annotated[str | None, typer.Option("--from", metavar="URL", help=DATABASES)] = None,
    target: Annotated[str | None, typer.Option(help="Reward column: 0 and 1, or a number.")] = None,
    interventions: Annotated[str | None, typer.Option(help="Lever columns (what was set), comma-separated.")] = None,
    segments: Annotated[str | None, typer.Option(help=SEGMENTS)] = None,
    observed: Annotated[
        str | None, typer.Option(help="Mediator columns, comma-separated; all other columns by default.")
    ] = None,
    drop: Annotated[str | None, typer.Option(help="Columns to leave out.")] = None,
    kind: Annotated[str | None, typer.Option(help=KINDS)] = None,
    confidence: Annotated[float, typer.Option(help="Confidence level of intervals.")] = 0.95,
    max_size: Annotated[int | None, typer.Option(min=0, help="Size of the largest sets to test.")] = None,
    control: Annotated[str | None, typer.Option(help=CONTROL)] = None,
    unit: Annotated[str | None, typer.Option(help=UNIT)] = None,
    randomized: Annotated[bool, typer.Option("--randomized", help=RANDOMIZED)] = False,
    everything: Annotated[bool, typer.Option("--all", help="Show all arms and sets, not only the first.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write an HTML report to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Analyze a logged table: which arm is best, and why.

    Also shows which sets of columns separate the levers from the reward. Without --target and --interventions, the
    command proposes columns and analyzes nothing.
    """
    source = _source(table, query, from_)
    levers, by_nature = names_in(interventions or ""), names_in(segments or "")
    if target is None or not levers:
        proposal = analysis.propose(
            source, target=target, interventions=levers, segments=by_nature, drop=names_in(drop or "")
        )
        if not _accepted(proposal, source, everything=everything, as_json=as_json):
            return
        target, levers = proposal.target, proposal.interventions
    with waiting() as tell:
        found = analysis.analyze(
            source,
            target=target,
            interventions=levers,
            segments=by_nature,
            observed=None if observed is None else names_in(observed),
            drop=names_in(drop or ""),
            kind=kind,  # type: ignore[arg-type]
            level=confidence,
            max_size=max_size,
            control=control,
            unit=unit,
            randomized=randomized,
            progress=tell,
        ).to_dict(history=as_json or html is not None)
    _answer(found, html, everything=everything, as_json=as_json)


def _source(table: str | None, query: str | None, address: str | None) -> "str | analysis.Query":
    """The file, or the query with its database."""
    if table is not None and query is None and address is None:
        return table
    if table is None and query is not None and address is not None:
        return analysis.Query(query, address)
    raise OptionError("name either a file, or --query 'SELECT ...' with --from URL")


def _accepted(proposal: "analysis.Proposal", table: "str | analysis.Query", *, everything: bool, as_json: bool) -> bool:
    """Print a proposal; True if the user confirms it at a terminal."""
    if as_json:
        say_json({"proposal": proposal.to_dict(), "command": proposal.command(table)}, indent=1)
        return False
    _show_proposal(proposal, table, everything)
    return bool(proposal.interventions) and _agreed()


def _show_proposal(proposal: "analysis.Proposal", table: "str | analysis.Query", everything: bool) -> None:
    terminal = console()
    order = ("reward", "lever", "segment", "left out", "observed")
    rows = [tuple(role) for use in order for role in proposal.roles if role.use == use]
    sheet = sheets.Sheet("Proposed roles", "", ("column", "role", "why"), tuple(rows), ())
    terminal.print("Name the reward (--target) and the levers (--interventions). Suggested from names and values:")
    terminal.print(
        terminals.TerminalTable(
            sheet if everything else sheets.first_rows(sheet, SHOWN_COLUMNS, rest="--all shows all")
        )
    )
    terminal.print("Nothing was analyzed yet. If the roles are right, run this command; otherwise change the names:\n")
    terminal.print(f"    {proposal.command(table)}\n", soft_wrap=True)


def _agreed() -> bool:
    """Whether the user confirms the proposal at a terminal."""
    at_terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    return at_terminal and typer.confirm("Analyze it like this now?", default=False)


def _show(terminal: Console, found: "described.AnalysisDescription", everything: bool, html: Path | None) -> None:
    arms, causal = sheets.arms_sheet(found["arms"]), found["assignment"]["causal"]
    if not causal:
        arms = arms._replace(title="Arms, the highest mean first")

    def shown(sheet: "sheets.Sheet", most: int) -> "terminals.TerminalTable":
        cut = sheet if everything else sheets.first_rows(sheet, most, rest="--all shows all")
        return terminals.TerminalTable(cut)

    terminal.print(terminals.written(sheets.answer(found)))
    terminal.print(shown(arms, SHOWN_ARMS))
    lifts = sheets.lifts_sheet(found["arms"]) if causal else None
    if lifts is not None:
        terminal.print(shown(lifts, SHOWN_ARMS))
    if causal and len(found["effects"]) and len(found["interventions"]) > 1:
        terminal.print(terminals.TerminalTable(sheets.effects_sheet(found["effects"])))
    terminal.print(shown(sheets.sets_sheet(found["sets"]), SHOWN_SETS))
    for title, lines in (("Noticed:", sheets.other_notices(found)), ("Inferred from the table:", found["inferred"])):
        if lines:
            terminal.print(terminals.written(title, "bold"))
        for line in lines if everything else lines[:SHOWN_NOTES]:
            terminal.print(f"  {line}")
        if not everything and len(lines) > SHOWN_NOTES:
            terminal.print(f"  and {len(lines) - SHOWN_NOTES} more; --all shows all")
    if html is not None:
        terminal.print(f"Report: {html}", soft_wrap=True)
