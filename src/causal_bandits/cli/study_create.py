"""`causal-bandits study create`, `health`, `guardrails`, `effects`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.markup import number
from ..core.serialization import to_json
from ..product.options import StudyOptions
from .deferred import policies, reporting, studies
from .options import takes
from .root import console
from .streams import say, say_json
from .study import DEFAULT_STORAGE, AsJson, Confidence, Name, Storage, load_study, problem_in, report, study_app

ProblemFile = Annotated[
    Path,
    typer.Option(
        help="JSON file with target, observed and interventions; other entries, such as reward and arms, are optional."
    ),
]


@study_app.command("create")
@takes(StudyOptions)
def create(
    name: Name, problem: ProblemFile, storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False, **options: Any
) -> None:
    """Create a study (idempotent)."""

    study = studies.Study.create(name, problem_in(problem), storage=storage, **options)
    text = f"Study {name}: {study.policy_name}, {len(study.problem.arms)} arms, seed {study.seed}"
    report(as_json, study.settings, text)


@study_app.command("health")
def health(name: Name, storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False) -> None:
    """Check a study: lost outcomes, missing mediators, the share of the control, drift, traffic, advice to stop."""
    found = load_study(name, storage).health()
    if as_json:
        say_json(to_json(found), indent=1)
        return
    terminal = console()
    for check in found:
        color = "red" if check.alarm else "green"
        terminal.print(
            reporting.written(f"{check.word} ", color), reporting.written(f"{check.code}: {check.says}"), sep=""
        )
        terminal.print(reporting.written(f"   false alarms: {check.false_alarms}", "dim"))


@study_app.command("guardrails")
def guardrails(name: Name, storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False) -> None:
    """Show the evidence for each arm and guardrail, and which arms break one."""
    found = load_study(name, storage).guardrails()
    if as_json:
        say_json(to_json(found), indent=1)
        return
    rows = tuple(
        (
            each.arm.label,
            each.guardrail,
            f"{each.rows:,}",
            number(policies.overview.finite(each.mean)),
            "broken" if each.broken else "",
        )
        for each in found
    )
    columns = ("arm", "guardrail", "rows", "mean", "")
    console().print(
        reporting.terminal_table(reporting.Sheet("Guardrails", "", columns, rows, (2, 3))) if rows else "no guardrails"
    )


@study_app.command("effects")
def effects(
    name: Name,
    confidence: Confidence = 0.95,
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Show the effect of each level compared with the control's, averaged over the other levers."""
    found = load_study(name, storage).effects(level=confidence)
    if as_json:
        say_json(to_json(found), indent=1)
    elif rows := policies.overview.effect_rows(found):
        console().print(reporting.terminal_table(reporting.effects_sheet(rows)))
    else:
        say("no two arms differ in exactly one lever, so there are no effects of levels to show")
