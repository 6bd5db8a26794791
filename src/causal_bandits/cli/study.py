"""`causal-bandits study ...`: adaptive experiments stored in a database."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.files import replacing
from ..core.markup import counted
from ..core.serialization import to_json
from ..errors import CausalBanditsError, OptionError
from ..product.options import json_in
from .deferred import problems, reporting, studies, table_files
from .root import app, console
from .streams import say, say_json

study_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Run adaptive experiments stored in a database."
)
app.add_typer(study_app, name="study")

Name = Annotated[str, typer.Argument(help="The name of the study.")]
Storage = Annotated[
    str,
    typer.Option(envvar="CAUSAL_BANDITS_STORAGE", help="Database URL: sqlite:///FILE or postgresql://..."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Confidence = Annotated[float, typer.Option(help="Confidence level of intervals.")]
OfSegment = Annotated[
    str | None, typer.Option(metavar="NAME=VALUE,...", help="The segment, if the problem has segments.")
]
Key = Annotated[str | None, typer.Option(help="Key passed to `ask`, instead of the decision's id.")]
Mediators = Annotated[
    list[str] | None,
    typer.Option("--mediator", "-m", metavar="NAME=VALUE", help="Value of a mediator; empty if it is missing."),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", metavar="NAME=VALUE", help="Value of an additional guardrail metric."),
]
Reward = Annotated[str | None, typer.Option(help="The reward.")]
MOST_BYTES = 500_000_000
DEFAULT_STORAGE = "sqlite:///studies.db"


def load_study(name: str, storage: str) -> "studies.Study":
    """Open the study that a command is about."""

    return studies.Study.load(name, storage=storage)


def report(as_json: bool, values: Any, text: str) -> None:
    """Print what a command did, as JSON or in words."""
    if as_json:
        say_json(to_json(values))
    else:
        say(text)


def problem_in(path: Path) -> "problems.Problem":
    """The problem that a JSON file describes."""
    try:
        if path.exists() and not path.is_file():
            raise OptionError(f"the problem {str(path)!r} is not a file; pass a JSON file")
        if path.stat().st_size > MOST_BYTES:
            raise OptionError(f"the problem in {str(path)!r} has more than {MOST_BYTES:,} bytes; list fewer arms")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError, ValueError) as error:
        if isinstance(error, CausalBanditsError):
            raise
        raise OptionError(f"cannot read the problem from {str(path)!r} ({error}); pass a JSON file") from None
    described = json_in(f"the problem in {str(path)!r}", text)
    if not isinstance(described, dict):
        raise OptionError(f"the problem in {str(path)!r} is not an object with target, observed, interventions")
    return problems.Problem.from_dict(described)


@study_app.command("list")
def list_studies(storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False) -> None:
    """List the studies in a database."""

    rows = studies.Study.list(storage=storage)
    report(
        as_json,
        rows,
        "\n".join(f"{row.name}: {row.error or f'{row.policy}, target {row.target}'}" for row in rows) or "no studies",
    )


@study_app.command("show")
def show(name: Name, storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False) -> None:
    """Show a study: arms, separating sets, the recommended arm, alarms."""
    about = load_study(name, storage).describe()
    if as_json:
        say_json(about, indent=1)
        return
    terminal = console()
    counts = ", ".join(f"{count:,} {status}" for status, count in about["decisions"].items() if status != "all")
    terminal.print(reporting.written(about["name"], "bold"), f": {about['policy']}, seed {about['seed']}", sep="")
    terminal.print(f"{counted(about['decisions']['all'], 'decision')}: {counts}; {counted(about['rows'], 'row')}")
    if "finished" in about:
        terminal.print(reporting.finished_words(about))
    if "staleness" in about:
        behind = about["staleness"]
        terminal.print(
            f"high-throughput: snapshot {behind['version']} is {behind['rows']:,} rows, "
            f"{behind['seconds']:.1f} s behind"
        )
    if about["pending"]["rows"]:
        terminal.print(reporting.pending_words(about["pending"]))
    for variable, count in about["missing"].items():
        terminal.print(f"{variable} is missing in {counted(count, 'row')}")
    terminal.print(reporting.terminal_table(reporting.arms_sheet(about["arms"])))
    lifts = reporting.lifts_sheet(about["arms"])
    if lifts is not None:
        terminal.print(reporting.terminal_table(lifts))
    terminal.print(reporting.terminal_table(reporting.sets_sheet(about["sets"])))
    for check in about["health"]:
        if check["alarm"]:
            terminal.print(reporting.written(f"Alarm ({check['code']}): {check['says']}", "red"))
    if not about["rows"]:
        terminal.print("No data yet: ask for decisions and tell their outcomes.")
    for best in [about["recommendation"], *about.get("recommendations", [])]:
        if best is not None and "finished" not in about:
            terminal.print(reporting.recommended(best))


@study_app.command("tell")
def tell(
    name: Name,
    decision: Annotated[int | None, typer.Argument(help="Decision id returned by `ask`.")] = None,
    key: Key = None,
    mediator: Mediators = None,
    metric: Metrics = None,
    reward: Reward = None,
    final: Annotated[bool, typer.Option("--final", help="Treat unreported variables as missing.")] = False,
    file: Annotated[
        Path | None,
        typer.Option(
            help="Table with a column id or key, instead of one decision. Empty cells are pending, or missing once "
            "the row has a reward."
        ),
    ] = None,
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Record outcomes for one decision or a table; partial outcomes are allowed."""

    if [file is None, decision is None, key is None].count(False) != 1:
        raise OptionError("tell needs a decision id, --key, or --file with a table that has a column id or key")
    values = [*(mediator or ()), *(metric or ())]
    if file is not None and (values or reward is not None):
        raise OptionError("--file already holds the values; drop --mediator, --metric and --reward")
    study = load_study(name, storage)
    if file is not None:
        told = study.tell_many(table_files.read_rows(study.problem, file), final=final)
        report(as_json, {"told": told}, f"{counted(told, 'row')} recorded")
        return
    value = None if reward is None else studies.parse_reward(study.problem, reward)
    study.tell(decision, studies.parse_metrics(study.problem, values), key=key, reward=value, final=final)
    told_of = decision if key is None else study.decision(key=key)["id"]
    report(as_json, {"id": told_of}, f"decision {told_of}: recorded")


@study_app.command("import")
def import_table(
    name: Name,
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file of logged rows.")],
    arm: Annotated[str | None, typer.Option(help="Arm of every row, written lever=value,...")] = None,
    observational: Annotated[
        bool, typer.Option("--observational", help="Every row is from the control (no lever was set).")
    ] = False,
    key: Annotated[
        str | None, typer.Option(help="Idempotency key: the same rows are counted once, different rows are rejected.")
    ] = None,
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Import logged rows as prior data."""

    if arm is not None and observational:
        raise OptionError("--arm and --observational cannot be combined; pass one of them")
    made_by = {} if observational else None if arm is None else studies.parse_arm(arm)
    study = load_study(name, storage)
    count = study.import_rows(table_files.read_rows(study.problem, file), arm=made_by, key=key)
    again = f": key {key!r} was used for the same rows before" if count == 0 else ""
    report(as_json, {"imported": count}, f"{counted(count, 'row')} imported{again}")


@study_app.command("export")
def export(
    name: Name,
    out: Annotated[Path, typer.Option(help="Output file: .csv, .tsv or .parquet; with --by-day a folder.")],
    safe_csv: Annotated[
        bool, typer.Option("--safe-csv", help="Prefix with ' the cells that a spreadsheet would run as formulas.")
    ] = False,
    by_day: Annotated[
        bool, typer.Option("--by-day", help="Write OUT/day=2026-01-31/decisions.parquet for every day (UTC).")
    ] = False,
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Export all decisions to a table, one row each."""
    if by_day:
        if out.suffix or safe_csv:
            raise OptionError(f"--by-day writes Parquet files into a folder, and --out is {str(out)!r}; name a folder")
        frame = load_study(name, storage).to_frame()
        files = [str(file) for file in studies.export_by_day(frame, out)]
        words = f"{counted(len(frame), 'decision')} written to {counted(len(files), 'file')} in {out}"
        report(as_json, {"decisions": len(frame), "files": files}, words)
        return
    table_files.output_ending(out)
    frame = load_study(name, storage).to_frame()
    with replacing(out) as path:
        table_files.write_table(frame, path, safe=safe_csv)
    report(as_json, {"decisions": len(frame), "file": str(out)}, f"{counted(len(frame), 'decision')} written to {out}")


@study_app.command("report")
def write_report(
    name: Name,
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("report.html"),
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Write an HTML report: arms, own and borrowed rows, sets with their evidence, decisions over time."""
    load_study(name, storage).report(out)
    report(as_json, {"file": str(out)}, f"Report: {out}")


@study_app.command("abandon")
def abandon(
    name: Name,
    decision: Annotated[int, typer.Argument(help="Decision id returned by `ask`.")],
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Close a decision that will never get an outcome."""
    load_study(name, storage).abandon(decision)
    report(as_json, {"id": decision}, f"decision {decision}: abandoned")


@study_app.command("annotate")
def annotate(
    name: Name,
    text: Annotated[str, typer.Argument(help="What happened; empty to remove the note of that time.")],
    at: Annotated[
        str | None, typer.Option(help="Date or time, such as 2026-11-18; UTC unless an offset is given.")
    ] = None,
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Add a note at a time (now by default), shown in charts over time."""
    made = load_study(name, storage).annotate(text or None, at)
    report(as_json, made, "note removed" if made is None else f"{made.time:%Y-%m-%d %H:%M} UTC: {made.text}")


@study_app.command("audit")
def audit(name: Name, storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False) -> None:
    """Show the changes that people made to a study, newest first."""
    rows = load_study(name, storage).audit()
    report(as_json, rows, "\n".join(f"{row.time:%Y-%m-%d %H:%M:%S} UTC  {row.says}" for row in rows))


@study_app.command("delete")
def delete(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm permanent deletion.")] = False,
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Delete a study and all its decisions."""

    if not yes:
        raise OptionError(f"this deletes study {name!r} and all its decisions; pass --yes to confirm")
    studies.Study.delete(name, storage=storage)
    report(as_json, {"name": name}, f"study {name}: deleted")
