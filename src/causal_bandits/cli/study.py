"""`causal-bandits study ...`: run adaptive experiments stored in a database."""

import contextlib
import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer

from ..core.files import replacing
from ..core.markup import counted, printable
from ..core.serialization import to_json
from ..errors import CausalBanditsError, OptionError
from ..product.options import StudyOptions, json_in
from .deferred import problems, studies, table_files
from .root import app, say, say_json, takes

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
ProblemFile = Annotated[
    Path,
    typer.Option(
        help="JSON file with target, observed and interventions; other entries, such as reward and arms, are optional."
    ),
]
Decisions = Annotated[list[int] | None, typer.Argument(help="Decision ids, instead of a filter.")]
CONDITIONS: dict[str, Any] = {
    "since": Annotated[
        str | None, typer.Option(metavar="TIME", help="Decisions made at or after this time, such as 2026-11-18.")
    ],
    "until": Annotated[str | None, typer.Option(metavar="TIME", help="Decisions made before this time.")],
    "arm": Annotated[
        str | None, typer.Option(metavar="LEVER=VALUE,...", help="Decisions for this arm; lever=... matches any level.")
    ],
    "segment": OfSegment,
    "key_prefix": Annotated[
        str | None, typer.Option(metavar="TEXT", help="Decisions whose key starts with this text.")
    ],
}
"""What decisions may have in common, as options of a command."""
MOST_BYTES = 500_000_000
DEFAULT_STORAGE = "sqlite:///studies.db"
COMPILE = "CAUSAL_BANDITS_COMPILE"

Shown = tuple[Any, str | Callable[[], object]]
"""What a command prints: a value as JSON, or else a text, or what a function prints."""


def report(as_json: bool, values: Any, shown: str | Callable[[], object]) -> None:
    """Print what a command did, as JSON or in words."""
    if as_json:
        say_json(to_json(values), indent=1 if callable(shown) else None)
    elif callable(shown):
        shown()
    else:
        say(shown)


@contextlib.contextmanager
def interpreted() -> Iterator[None]:
    """Run no compiled code, unless the environment says how: loading numba takes longer than one look at a study."""
    if COMPILE in os.environ:
        yield
        return
    os.environ[COMPILE] = "never"
    try:
        yield
    finally:
        del os.environ[COMPILE]


def study_command(
    command: str, group: typer.Typer = study_app, *, looks: bool = False, also: Mapping[str, Any] = MappingProxyType({})
) -> Callable[[Callable[..., Shown]], Callable[..., None]]:
    """Make a command of a function of an open study: it gets a name, --storage and --json, and prints the result.

    A command that `looks` at the study as it is runs interpreted; it `also` has the options of other commands.
    """

    def decorate(work: Callable[..., Shown]) -> Callable[..., None]:
        @wraps(work)
        def called(name: str, storage: str, as_json: bool, **given: Any) -> None:
            with interpreted() if looks else contextlib.nullcontext():
                report(as_json, *work(studies.Study.load(name, storage=storage), **given))

        def parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
            return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)

        _, *own = (each for each in inspect.signature(work).parameters.values() if each.kind is not each.VAR_KEYWORD)
        parameters = [
            parameter("name", Name),
            *(parameter(each.name, each.annotation, each.default) for each in own),
            *(parameter(name, annotation, None) for name, annotation in also.items()),
            parameter("storage", Storage, DEFAULT_STORAGE),
            parameter("as_json", AsJson, False),
        ]
        vars(called)["__signature__"] = inspect.Signature(parameters)
        called.__annotations__ = {each.name: each.annotation for each in parameters}
        group.command(command)(called)
        return called

    return decorate


def segment_in(text: str | None) -> dict[str, str] | None:
    """The segment that an option names."""
    return None if text is None else studies.parse_arm(text)


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


@study_app.command("create")
@takes(StudyOptions)
def create(
    name: Name, problem: ProblemFile, storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False, **options: Any
) -> None:
    """Create a study (idempotent)."""
    study = studies.Study.create(name, problem_in(problem), storage=storage, **options)
    text = f"Study {name}: {study.policy_name}, {len(study.problem.arms)} arms, seed {study.seed}"
    report(as_json, study.settings, text)


@study_app.command("list")
def list_studies(storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False) -> None:
    """List the studies in a database."""
    rows = studies.Study.list(storage=storage)
    lines = [f"{row.name}: {row.error or f'{row.policy}, target {row.target}'}" for row in rows]
    report(as_json, rows, "\n".join(lines) or "no studies")


@study_command("ask")
def ask(
    study: "studies.Study",
    n: Annotated[int, typer.Option("-n", min=1, help="Number of decisions.")] = 1,
    key: Annotated[
        str | None,
        typer.Option(
            help="The visitor: the same key gets the same decisions, for as long as the study's --sticky option allows."
        ),
    ] = None,
    arm: Annotated[
        list[str] | None, typer.Option(help="Choose only among these arms, each written lever=value,...")
    ] = None,
    segment: OfSegment = None,
) -> Shown:
    """Get the next decisions; pass each id to `tell`."""
    among = None if arm is None else [studies.parse_arm(text) for text in arm]
    made = study.ask(n, key=key, arms=among, segment=segment_in(segment))
    return made, "\n".join(f"{one.id}\t{printable(one.arm.label)}" for one in made)


@study_command("tell")
def tell(
    study: "studies.Study",
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
) -> Shown:
    """Record outcomes of one decision or a table, whole or partial."""
    if [file is None, decision is None, key is None].count(False) != 1:
        raise OptionError("tell needs a decision id, --key, or --file with a table that has a column id or key")
    values = [*(mediator or ()), *(metric or ())]
    if file is not None and (values or reward is not None):
        raise OptionError("--file already holds the values; drop --mediator, --metric and --reward")
    if file is not None:
        told = study.tell_many(table_files.read_rows(study.problem, file), final=final)
        return {"told": told}, f"{counted(told, 'row')} recorded"
    value = None if reward is None else studies.parse_reward(study.problem, reward)
    study.tell(decision, studies.parse_metrics(study.problem, values), key=key, reward=value, final=final)
    told_of = decision if key is None else study.decision(key=key)["id"]
    return {"id": told_of}, f"decision {told_of}: recorded"


@study_command("correct")
def correct(
    study: "studies.Study",
    decision: Annotated[int | None, typer.Argument(help="Decision id returned by `ask`.")] = None,
    key: Key = None,
    mediator: Mediators = None,
    metric: Metrics = None,
    reward: Reward = None,
    reason: Annotated[str, typer.Option(help="Why, such as refund.")] = "",
) -> Shown:
    """Replace recorded values of a decision, as after a refund."""
    value = None if reward is None else studies.parse_reward(study.problem, reward)
    values = studies.parse_metrics(study.problem, [*(mediator or ()), *(metric or ())])
    changed = study.correct(decision, values, key=key, reward=value, reason=reason)
    which = f"decision {decision}" if key is None else f"the decision of key {key!r}"
    return {"changed": changed}, f"{which}: {'corrected' if changed else 'nothing changed'}"


def _conditions(study: "studies.Study", given: dict[str, Any]) -> dict[str, Any]:
    arm = None if given["arm"] is None else studies.parse_pattern(study.problem, given["arm"])
    return {**given, "arm": arm, "segment": segment_in(given["segment"])}


@study_command("exclude", also=CONDITIONS)
def exclude(
    study: "studies.Study",
    reason: Annotated[str, typer.Option(help="Why, such as bots.")],
    decisions: Decisions = None,
    **conditions: Any,
) -> Shown:
    """Exclude decisions from all results, until `include`."""
    found = study.exclude(decisions or None, reason=reason, **_conditions(study, conditions))
    return {"ids": found}, f"{counted(len(found), 'decision')} excluded"


@study_command("include", also=CONDITIONS)
def include(study: "studies.Study", decisions: Decisions = None, **conditions: Any) -> Shown:
    """Count excluded decisions again."""
    found = study.include(decisions or None, **_conditions(study, conditions))
    return {"ids": found}, f"{counted(len(found), 'decision')} included"


@study_command("abandon")
def abandon(
    study: "studies.Study",
    decision: Annotated[int, typer.Argument(help="Decision id returned by `ask`.")],
) -> Shown:
    """Close a decision that will never get an outcome."""
    study.abandon(decision)
    return {"id": decision}, f"decision {decision}: abandoned"


@study_command("expire")
def expire(
    study: "studies.Study",
    older_than: Annotated[str, typer.Option(help="Minimum age: seconds, or 14d, 36h, 90m, 45s.")],
) -> Shown:
    """Close old open decisions; they accept no more outcomes."""
    closed = study.expire(older_than)
    return {"expired": closed}, f"{counted(len(closed), 'decision')} expired"


@study_command("import")
def import_table(
    study: "studies.Study",
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file of logged rows.")],
    arm: Annotated[str | None, typer.Option(help="Arm of every row, written lever=value,...")] = None,
    observational: Annotated[
        bool, typer.Option("--observational", help="Every row is from the control (no lever was set).")
    ] = False,
    key: Annotated[
        str | None, typer.Option(help="Idempotency key: the same rows are counted once, different rows are rejected.")
    ] = None,
) -> Shown:
    """Import logged rows as prior data."""
    if arm is not None and observational:
        raise OptionError("--arm and --observational cannot be combined; pass one of them")
    made_by = {} if observational else None if arm is None else studies.parse_arm(arm)
    count = study.import_rows(table_files.read_rows(study.problem, file), arm=made_by, key=key)
    again = f": key {key!r} was used for the same rows before" if count == 0 else ""
    return {"imported": count}, f"{counted(count, 'row')} imported{again}"


@study_command("export")
def export(
    study: "studies.Study",
    out: Annotated[Path, typer.Option(help="Output file: .csv, .tsv or .parquet; with --by-day a folder.")],
    safe_csv: Annotated[
        bool, typer.Option("--safe-csv", help="Prefix with ' the cells that a spreadsheet would run as formulas.")
    ] = False,
    by_day: Annotated[
        bool, typer.Option("--by-day", help="Write OUT/day=2026-01-31/decisions.parquet for every day (UTC).")
    ] = False,
) -> Shown:
    """Export all decisions to a table, one row each."""
    if by_day:
        if out.suffix or safe_csv:
            raise OptionError(f"--by-day writes Parquet files into a folder, and --out is {str(out)!r}; name a folder")
        frame = study.to_frame()
        files = [str(file) for file in studies.export_by_day(frame, out)]
        words = f"{counted(len(frame), 'decision')} written to {counted(len(files), 'file')} in {out}"
        return {"decisions": len(frame), "files": files}, words
    table_files.output_ending(out)
    frame = study.to_frame()
    with replacing(out) as path:
        table_files.write_table(frame, path, safe=safe_csv)
    return {"decisions": len(frame), "file": str(out)}, f"{counted(len(frame), 'decision')} written to {out}"


@study_command("annotate")
def annotate(
    study: "studies.Study",
    text: Annotated[str, typer.Argument(help="What happened; empty to remove the note of that time.")],
    at: Annotated[
        str | None, typer.Option(help="Date or time, such as 2026-11-18; UTC unless an offset is given.")
    ] = None,
) -> Shown:
    """Add a note, dated now by default, to charts over time."""
    made = study.annotate(text or None, at)
    return made, "note removed" if made is None else f"{made.time:%Y-%m-%d %H:%M} UTC: {made.text}"


@study_command("publish")
def publish(study: "studies.Study") -> Shown:
    """Publish a snapshot with all rows (high-throughput mode)."""
    found = study.publish()
    return found, f"snapshot {found.version}: {found.rows:,} rows behind"


@study_command("finish")
def finish(
    study: "studies.Study",
    out: Annotated[Path | None, typer.Option(help="Also write the final HTML report to this file.")] = None,
) -> Shown:
    """End a study: freeze the recommendation and the report.

    Open decisions are closed.
    """
    final = study.finish(report=out)
    return final, f"study {study.name}: {final}"


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


# Changing arms


arms = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Retire, forbid, allow or add arms.")
study_app.add_typer(arms, name="arms")

Which = Annotated[
    str | None,
    typer.Argument(
        metavar="ARM",
        help="The arm, written lever=value,...; a lever that is not named has its control level, and lever=... matches "
        "any level. "
        "Quote a lever=value that contains a comma.",
    ),
]
OfLevel = Annotated[
    str | None, typer.Option("--level", metavar="LEVER=VALUE", help="Every arm with this level, instead of one arm.")
]


def _change(study: "studies.Study", how: str, done: str, arm: str | None, level: str | None) -> Shown:
    """Call `how` of the study, or its version for levels, and say which arms changed."""
    if (arm is None) == (level is None):
        raise OptionError(f"study arms {how} needs an arm (lever=value,...) or --level lever=value, and not both")
    if arm is not None:
        return _changed(getattr(study, how)(studies.parse_pattern(study.problem, arm)), done)
    lever, sign, value = (level or "").partition("=")
    if not sign:
        raise OptionError(f"--level {level!r} is not of the form lever=value")
    return _changed(getattr(study, f"{how}_level")(lever.strip(), value.strip()), done)


def _changed(changed: Any, done: str) -> Shown:
    lines = "".join(f"\n  {arm.label}" for arm in changed)
    text = f"{len(changed)} {'arm' if len(changed) == 1 else 'arms'} {done}{':' if changed else '; nothing changed'}"
    return {"arms": changed}, text + lines


@study_command("retire", arms)
def retire(study: "studies.Study", arm: Which = None, level: OfLevel = None) -> Shown:
    """Permanently stop choosing some arms.

    Their rows still count. This cannot be undone; `forbid` can.
    """
    return _change(study, "retire", "retired", arm, level)


@study_command("forbid", arms)
def forbid(study: "studies.Study", arm: Which = None, level: OfLevel = None) -> Shown:
    """Do not choose some arms until they are allowed again."""
    return _change(study, "forbid", "forbidden", arm, level)


@study_command("allow", arms)
def allow(study: "studies.Study", arm: Which = None, level: OfLevel = None) -> Shown:
    """Choose forbidden arms again."""
    return _change(study, "allow", "allowed", arm, level)


@study_command("add", arms)
def add_arm(
    study: "studies.Study",
    arm: Annotated[
        str, typer.Argument(help="The new arm, written lever=value,...; other levers have their control level.")
    ],
    new_levels: Annotated[bool, typer.Option("--new-levels", help="Allow new levels.")] = False,
) -> Shown:
    """Add an arm to a running study (idempotent)."""
    problem = study.problem
    settings = {
        lever: studies.level_like(problem.intervention(lever), text) for lever, text in studies.parse_arm(arm).items()
    }
    made = study.add_arm(settings, new_levels=new_levels)
    count = len(study.problem.arms)
    there = "" if count > len(problem.arms) else " already existed"
    return {"arms": [made]}, f"{made.label}{there}; the study has {count} arms"


@study_command("add-level", arms)
def add_level(
    study: "studies.Study",
    lever: Annotated[str, typer.Argument(help="The lever, or a segment.")],
    level: Annotated[str, typer.Argument(help="Its new level.")],
) -> Shown:
    """Add a level of a lever or segment.

    It is combined with every active setting of the other levers.
    """
    return _changed(study.add_level(lever, studies.level_like(study.problem.intervention(lever), level)), "added")


_SHORT: dict[str, Callable[..., None]] = {"retire": retire, "forbid": forbid, "allow": allow, "add-arm": add_arm}
for _name, _command in _SHORT.items():
    study_app.command(_name, hidden=True)(_command)
