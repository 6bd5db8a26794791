"""`causal-bandits analyze`: a logged table in one command."""

from pathlib import Path
from typing import Annotated

import typer

from ..analysis import analyze
from ..files import replacing
from ..reporting import analysis_page, arms_sheet, recommended, sets_sheet, terminal_table, written
from ..reporting.described import AnalysisDescription
from .root import app, console, names_in
from .streams import say_json


@app.command("analyze")
def analyze_command(
    table: Annotated[str, typer.Argument(help="CSV or Parquet file, or 'example' for the packaged table.")],
    target: Annotated[str, typer.Option(help="Reward column: 0 and 1, or a number.")],
    interventions: Annotated[str, typer.Option(help="Lever columns (what was set), separated by commas.")],
    observed: Annotated[
        str | None, typer.Option(help="Columns between levers and reward; by default all others.")
    ] = None,
    ignore: Annotated[str | None, typer.Option(help="Columns to leave out.")] = None,
    kind: Annotated[
        str | None,
        typer.Option(help="discrete, gaussian, count, revenue or levels; inferred from the target by default."),
    ] = None,
    level: Annotated[float, typer.Option(help="Level of the posterior intervals.")] = 0.95,
    max_size: Annotated[int | None, typer.Option(min=0, help="Size of the largest sets to test.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write an HTML report to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Analyse a logged table: which sets separate the levers from the reward, and which arm is best."""
    found = analyze(
        table,
        target=target,
        interventions=names_in(interventions),
        observed=None if observed is None else names_in(observed),
        ignore=names_in(ignore or ""),
        kind=kind,  # type: ignore[arg-type]
        level=level,
        max_size=max_size,
    ).to_dict()
    if html is not None:
        with replacing(html) as path:
            path.write_text(analysis_page(found), encoding="utf-8")
    if as_json:
        say_json(found, indent=1)
        return
    _show(found)
    if html is not None:
        console().print(f"Report: {html}", soft_wrap=True)


def _show(found: AnalysisDescription) -> None:
    terminal = console()
    terminal.print(written(f"{found['rows']:,} rows.", "bold"), "Inferred from the table:")
    for note in found["inferred"]:
        terminal.print(f"  {note}")
    for notice in found["notices"]:
        terminal.print(written("Noticed:", "bold"), notice)
    terminal.print(terminal_table(sets_sheet(found["sets"])))
    terminal.print(terminal_table(arms_sheet(found["arms"])))
    terminal.print(recommended(found["recommendation"]))
