"""`causal-bandits study retire`, `forbid`, `allow`, `add-arm`, `add-level`: arms that come and go."""

from typing import Annotated, Any

import typer

from ..errors import OptionError
from .study import DEFAULT_STORAGE, AsJson, Name, Storage, load_study, report, studies

Which = Annotated[
    str | None,
    typer.Argument(
        metavar="ARM",
        help="The arm, written lever=value,...; a lever that is not named is idle, and lever=... is any level of it. "
        "Quote a pair that has a comma.",
    ),
]
OfLevel = Annotated[
    str | None, typer.Option("--level", metavar="LEVER=VALUE", help="Every arm with this level, instead of one arm.")
]


def _change(name: str, storage: str, how: str, done: str, arm: str | None, level: str | None, as_json: bool) -> None:
    """Call `how` of the study, or its twin for levels, and say which arms changed."""
    from ..studies import parse_pattern

    if (arm is None) == (level is None):
        raise OptionError(f"study {how} needs an arm (lever=value,...) or --level lever=value, and not both")
    study = load_study(name, storage)
    if arm is not None:
        changed = getattr(study, how)(parse_pattern(study.problem, arm))
    else:
        lever, sign, value = (level or "").partition("=")
        if not sign:
            raise OptionError(f"--level {level!r} is not of the form lever=value")
        changed = getattr(study, f"{how}_level")(lever.strip(), value.strip())
    _report_arms(as_json, changed, done)


def _report_arms(as_json: bool, changed: Any, done: str) -> None:
    lines = "".join(f"\n  {arm}" for arm in changed)
    text = f"{len(changed)} {'arm' if len(changed) == 1 else 'arms'} {done}{':' if changed else '; nothing changed'}"
    report(as_json, {"arms": changed}, text + lines)


@studies.command("retire")
def retire(
    name: Name, arm: Which = None, level: OfLevel = None, storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False
) -> None:
    """Never choose some arms again; their rows stay. This cannot be undone: `forbid` can."""
    _change(name, storage, "retire", "retired", arm, level, as_json)


@studies.command("forbid")
def forbid(
    name: Name, arm: Which = None, level: OfLevel = None, storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False
) -> None:
    """Do not choose some arms until they are allowed again."""
    _change(name, storage, "forbid", "forbidden", arm, level, as_json)


@studies.command("allow")
def allow(
    name: Name, arm: Which = None, level: OfLevel = None, storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False
) -> None:
    """Choose forbidden arms again."""
    _change(name, storage, "allow", "allowed", arm, level, as_json)


@studies.command("add-arm")
def add_arm(
    name: Name,
    arm: Annotated[str, typer.Argument(help="The new arm, written lever=value,...; other levers are idle.")],
    new_levels: Annotated[
        bool, typer.Option("--new-levels", help="Its levers may have values that no arm had before.")
    ] = False,
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Add an arm to a running study (idempotent)."""
    from ..studies import level_like, parse_arm

    study = load_study(name, storage)
    problem = study.problem
    settings = {lever: level_like(problem.intervention(lever), text) for lever, text in parse_arm(arm).items()}
    made = study.add_arm(settings, new_levels=new_levels)
    arms = len(study.problem.arms)
    there = "" if arms > len(problem.arms) else " was there already"
    report(as_json, {"arms": [made]}, f"{made}{there}; the study has {arms} arms")


@studies.command("add-level")
def add_level(
    name: Name,
    lever: Annotated[str, typer.Argument(help="The lever, or a segment.")],
    level: Annotated[str, typer.Argument(help="Its new level.")],
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Add a level of a lever or a segment, as arms with every setting of the other levers that is in play."""
    from ..studies import level_like

    study = load_study(name, storage)
    _report_arms(as_json, study.add_level(lever, level_like(study.problem.intervention(lever), level)), "added")
