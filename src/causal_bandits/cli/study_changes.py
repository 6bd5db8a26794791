"""`causal-bandits study correct|exclude|include|finish`: what was recorded changes, and a study ends."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.markup import counted
from .deferred import studies
from .study import (
    DEFAULT_STORAGE,
    AsJson,
    Key,
    Mediators,
    Metrics,
    Name,
    OfSegment,
    Reward,
    Storage,
    load_study,
    report,
    study_app,
)

Decisions = Annotated[list[int] | None, typer.Argument(help="Decision ids, instead of a filter.")]
Since = Annotated[
    str | None, typer.Option(metavar="TIME", help="Decisions made at or after this time, such as 2026-11-18.")
]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Decisions made before this time.")]
OfArm = Annotated[
    str | None, typer.Option(metavar="LEVER=VALUE,...", help="Decisions for this arm; lever=... matches any level.")
]
Prefix = Annotated[str | None, typer.Option(metavar="TEXT", help="Decisions whose key starts with this text.")]


@study_app.command("correct")
def correct(
    name: Name,
    decision: Annotated[int | None, typer.Argument(help="Decision id returned by `ask`.")] = None,
    key: Key = None,
    mediator: Mediators = None,
    metric: Metrics = None,
    reward: Reward = None,
    reason: Annotated[str, typer.Option(help="Why, such as refund.")] = "",
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Replace recorded values of a decision, as after a refund."""
    study = load_study(name, storage)
    value = None if reward is None else studies.parse_reward(study.problem, reward)
    values = studies.parse_metrics(study.problem, [*(mediator or ()), *(metric or ())])
    changed = study.correct(decision, values, key=key, reward=value, reason=reason)
    which = f"decision {decision}" if key is None else f"the decision of key {key!r}"
    report(as_json, {"changed": changed}, f"{which}: {'corrected' if changed else 'nothing changed'}")


def _conditions(
    name: str,
    storage: str,
    since: str | None,
    until: str | None,
    arm: str | None,
    segment: str | None,
    key_prefix: str | None,
) -> tuple[Any, dict[str, Any]]:
    """The study, and what the decisions have in common."""
    study = load_study(name, storage)
    return study, {
        "since": since,
        "until": until,
        "arm": None if arm is None else studies.parse_pattern(study.problem, arm),
        "segment": None if segment is None else studies.parse_arm(segment),
        "key_prefix": key_prefix,
    }


@study_app.command("exclude")
def exclude(
    name: Name,
    reason: Annotated[str, typer.Option(help="Why, such as bots.")],
    decisions: Decisions = None,
    since: Since = None,
    until: Until = None,
    arm: OfArm = None,
    segment: OfSegment = None,
    key_prefix: Prefix = None,
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Exclude decisions from all results, until `include`."""
    study, conditions = _conditions(name, storage, since, until, arm, segment, key_prefix)
    found = study.exclude(decisions or None, reason=reason, **conditions)
    report(as_json, {"ids": found}, f"{counted(len(found), 'decision')} excluded")


@study_app.command("include")
def include(
    name: Name,
    decisions: Decisions = None,
    since: Since = None,
    until: Until = None,
    arm: OfArm = None,
    segment: OfSegment = None,
    key_prefix: Prefix = None,
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Count excluded decisions again."""
    study, conditions = _conditions(name, storage, since, until, arm, segment, key_prefix)
    found = study.include(decisions or None, **conditions)
    report(as_json, {"ids": found}, f"{counted(len(found), 'decision')} included")


@study_app.command("finish")
def finish(
    name: Name,
    out: Annotated[Path | None, typer.Option(help="Also write the final HTML report to this file.")] = None,
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """End a study: close open decisions, and freeze the answer and the report."""
    final = load_study(name, storage).finish(report=out)
    report(as_json, final, f"study {name}: {final}")
