"""`causal-bandits study arms retire|forbid|allow|add|add-level`: change the arms of a study."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from ..errors import OptionError
from .deferred import studies
from .study import DEFAULT_STORAGE, AsJson, Name, Storage, load_study, report, study_app

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


def _change(name: str, storage: str, how: str, done: str, arm: str | None, level: str | None, as_json: bool) -> None:
    """Call `how` of the study, or its version for levels, and print which arms changed."""

    if (arm is None) == (level is None):
        raise OptionError(f"study arms {how} needs an arm (lever=value,...) or --level lever=value, and not both")
    study = load_study(name, storage)
    if arm is not None:
        changed = getattr(study, how)(studies.parse_pattern(study.problem, arm))
    else:
        lever, sign, value = (level or "").partition("=")
        if not sign:
            raise OptionError(f"--level {level!r} is not of the form lever=value")
        changed = getattr(study, f"{how}_level")(lever.strip(), value.strip())
    _report_arms(as_json, changed, done)


def _report_arms(as_json: bool, changed: Any, done: str) -> None:
    lines = "".join(f"\n  {arm.label}" for arm in changed)
    text = f"{len(changed)} {'arm' if len(changed) == 1 else 'arms'} {done}{':' if changed else '; nothing changed'}"
    report(as_json, {"arms": changed}, text + lines)


@arms.command("retire")
def retire(
    name: Name, arm: Which = None, level: OfLevel = None, storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False
) -> None:
    """Permanently stop choosing some arms; their rows still count. This cannot be undone (`forbid` can)."""
    _change(name, storage, "retire", "retired", arm, level, as_json)


@arms.command("forbid")
def forbid(
    name: Name, arm: Which = None, level: OfLevel = None, storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False
) -> None:
    """Do not choose some arms until they are allowed again."""
    _change(name, storage, "forbid", "forbidden", arm, level, as_json)


@arms.command("allow")
def allow(
    name: Name, arm: Which = None, level: OfLevel = None, storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False
) -> None:
    """Choose forbidden arms again."""
    _change(name, storage, "allow", "allowed", arm, level, as_json)


@arms.command("add")
def add_arm(
    name: Name,
    arm: Annotated[
        str, typer.Argument(help="The new arm, written lever=value,...; other levers have their control level.")
    ],
    new_levels: Annotated[bool, typer.Option("--new-levels", help="Allow new levels.")] = False,
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Add an arm to a running study (idempotent)."""

    study = load_study(name, storage)
    problem = study.problem
    settings = {
        lever: studies.level_like(problem.intervention(lever), text) for lever, text in studies.parse_arm(arm).items()
    }
    made = study.add_arm(settings, new_levels=new_levels)
    count = len(study.problem.arms)
    there = "" if count > len(problem.arms) else " was there already"
    report(as_json, {"arms": [made]}, f"{made.label}{there}; the study has {count} arms")


@arms.command("add-level")
def add_level(
    name: Name,
    lever: Annotated[str, typer.Argument(help="The lever, or a segment.")],
    level: Annotated[str, typer.Argument(help="Its new level.")],
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Add a level of a lever or a segment, in combination with every active setting of the other levers."""

    study = load_study(name, storage)
    _report_arms(as_json, study.add_level(lever, studies.level_like(study.problem.intervention(lever), level)), "added")


_SHORT: dict[str, Callable[..., None]] = {"retire": retire, "forbid": forbid, "allow": allow, "add-arm": add_arm}
for _name, _command in _SHORT.items():
    study_app.command(_name, hidden=True)(_command)
