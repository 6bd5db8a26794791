"""`causal-bandits study ...`: adaptive experiments stored in a database."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..data.table_files import output_ending, read_rows, write_table
from ..errors import CausalBanditsError, OptionError
from ..files import replacing
from ..problem import Problem
from ..reporting import arms_sheet, lifts_sheet, pending_words, recommended, sets_sheet, terminal_table, written
from ..serialization import to_json
from .root import app, console
from .streams import say, say_json

if TYPE_CHECKING:
    from ..studies import Study

studies = typer.Typer(no_args_is_help=True, help="Run adaptive experiments stored in a database.")
app.add_typer(studies, name="study")

Name = Annotated[str, typer.Argument(help="The name of the study.")]
Storage = Annotated[
    str,
    typer.Option(envvar="CAUSAL_BANDITS_STORAGE", help="Database URL: sqlite:///FILE or postgresql://..."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
MOST_BYTES = 500_000_000
DEFAULT_STORAGE = "sqlite:///studies.db"


def load_study(name: str, storage: str) -> "Study":
    """Open the study that a command is about."""
    from ..studies import Study  # the database library is imported by these commands alone

    return Study.load(name, storage=storage)


def report(as_json: bool, values: Any, text: str) -> None:
    """Print what a command did, as JSON or in words."""
    if as_json:
        say_json(to_json(values))
    else:
        say(text)


def read_json(what: str, text: str) -> Any:
    """The values in a text that a user gave; `what` says where it is from."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise OptionError(f"{what} is not JSON ({' '.join(str(error).split())[:160]})") from None
    except RecursionError:
        raise OptionError(f"{what} is nested too deeply; use fewer levels") from None


def problem_in(path: Path) -> Problem:
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
    described = read_json(f"the problem in {str(path)!r}", text)
    if not isinstance(described, dict):
        raise OptionError(f"the problem in {str(path)!r} is not an object with target, observed, interventions")
    return Problem.from_dict(described)


@studies.command("list")
def list_studies(storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False) -> None:
    """List the studies in a database."""
    from ..studies import Study

    rows = Study.list(storage=storage)
    report(
        as_json,
        rows,
        "\n".join(f"{row.name}: {row.error or f'{row.policy}, target {row.target}'}" for row in rows) or "no studies",
    )


@studies.command("show")
def show(name: Name, storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False) -> None:
    """Show a study: arms, separating sets, the recommended arm, alarms."""
    about = load_study(name, storage).describe()
    if as_json:
        say_json(about, indent=1)
        return
    terminal = console()
    counts = ", ".join(f"{count:,} {status}" for status, count in about["decisions"].items() if status != "all")
    terminal.print(written(about["name"], "bold"), f": {about['policy']}, seed {about['seed']}", sep="")
    terminal.print(f"{about['decisions']['all']:,} decisions: {counts}; {about['rows']:,} rows")
    if "staleness" in about:
        behind = about["staleness"]
        terminal.print(
            f"served: snapshot {behind['version']} is {behind['rows']:,} rows, {behind['seconds']:.1f} s behind"
        )
    if about["pending"]["rows"]:
        terminal.print(pending_words(about["pending"]))
    for variable, count in about["missing"].items():
        terminal.print(f"{variable} is missing in {count:,} rows")
    terminal.print(terminal_table(arms_sheet(about["arms"])))
    lifts = lifts_sheet(about["arms"])
    if lifts is not None:
        terminal.print(terminal_table(lifts))
    terminal.print(terminal_table(sets_sheet(about["sets"])))
    for found in about["alarms"]:
        which = "{" + ", ".join(found["variables"]) + "}"
        terminal.print(f"Alarm: {which} no longer holds, as row {found['alarm_row']} showed", style="red")
    for sentence in about["broken"]:
        terminal.print(written(f"Guardrail: {sentence}", "red"))
    for check in about["health"]:
        if check["alarm"]:
            terminal.print(written(f"Alarm ({check['name']}): {check['says']}", "red"))
    for best in [about["recommendation"], *about.get("recommendations", [])]:
        if best is not None:
            terminal.print(recommended(best))


@studies.command("tell")
def tell(
    name: Name,
    decision: Annotated[int | None, typer.Argument(help="Decision id returned by `ask`.")] = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", "-m", help="variable=value; an empty value means missing.")
    ] = None,
    reward: Annotated[str | None, typer.Option(help="The reward.")] = None,
    final: Annotated[bool, typer.Option("--final", help="Treat unreported variables as missing.")] = False,
    file: Annotated[
        Path | None,
        typer.Option(
            help="Table with an id column, instead of one decision. Empty cells are pending, or missing once the row "
            "has a reward."
        ),
    ] = None,
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Record outcomes for one decision or a table; partial outcomes are allowed."""
    from ..studies import parse_metrics, parse_reward

    if (file is None) == (decision is None):
        raise OptionError("tell needs a decision id, or --file with a table that has an id column")
    if file is not None and (metric or reward is not None):
        raise OptionError("--file already holds the values; drop --metric and --reward")
    study = load_study(name, storage)
    if file is not None:
        told = study.tell_many(read_rows(study.problem, file, needed=["id"]), final=final)
        report(as_json, {"told": told}, f"{told} rows recorded")
        return
    value = None if reward is None else parse_reward(study.problem, reward)
    study.tell(decision or 0, parse_metrics(study.problem, metric or []), value, final=final)
    report(as_json, {"id": decision}, f"decision {decision}: recorded")


@studies.command("import")
def import_table(
    name: Name,
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file of logged rows.")],
    arm: Annotated[str | None, typer.Option(help="Arm of every row, written lever=value,...")] = None,
    observational: Annotated[
        bool, typer.Option("--observational", help="Every row is from the idle arm (no lever was moved).")
    ] = False,
    key: Annotated[
        str | None, typer.Option(help="Idempotency key: the same rows are counted once, different rows are refused.")
    ] = None,
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Import logged rows as prior data."""
    from ..studies import parse_arm

    if arm is not None and observational:
        raise OptionError("--arm and --observational cannot be combined; pass one of them")
    made_by = {} if observational else None if arm is None else parse_arm(arm)
    study = load_study(name, storage)
    count = study.import_rows(read_rows(study.problem, file), arm=made_by, key=key)
    again = f": key {key!r} was used for the same rows before" if count == 0 else ""
    report(as_json, {"imported": count}, f"{count} rows imported{again}")


@studies.command("export")
def export(
    name: Name,
    out: Annotated[Path, typer.Option(help="Output file: .csv, .tsv or .parquet.")],
    safe_csv: Annotated[
        bool, typer.Option("--safe-csv", help="Prefix cells that a spreadsheet would run as formulas with '.")
    ] = False,
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Export all decisions to a table, one row each."""
    output_ending(out)
    frame = load_study(name, storage).to_frame()
    with replacing(out) as path:
        write_table(frame, path, safe=safe_csv)
    report(as_json, {"decisions": len(frame), "file": str(out)}, f"{len(frame)} decisions written to {out}")


@studies.command("report")
def write_report(
    name: Name,
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("report.html"),
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Write an HTML report: arms, own and borrowed rows, sets with their evidence, decisions over time."""
    load_study(name, storage).report(out)
    report(as_json, {"file": str(out)}, f"Report: {out}")


@studies.command("abandon")
def abandon(
    name: Name,
    decision: Annotated[int, typer.Argument(help="Decision id returned by `ask`.")],
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Close a decision that will never get an outcome."""
    load_study(name, storage).abandon(decision)
    report(as_json, {"id": decision}, f"decision {decision}: abandoned")


@studies.command("delete")
def delete(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm permanent deletion.")] = False,
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Delete a study and all its decisions."""
    from ..studies import Study

    if not yes:
        raise OptionError(f"this deletes study {name!r} and all its decisions; pass --yes to confirm")
    Study.delete(name, storage=storage)
    report(as_json, {"name": name}, f"study {name}: deleted")
