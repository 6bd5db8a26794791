"""`causal-bandits study arms retire|forbid|allow|add|add-level`: change the arms of a study."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from ..errors import OptionError
from .deferred import studies
from .study import Shown, study_app, study_command

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
