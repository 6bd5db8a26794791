"""`causal-bandits study create`, `health`, `effects`: what a study keeps to, and how it fares."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import OptionError, brief
from ..markup import number
from ..policies.overview import effect_rows, finite
from ..reporting import effects_sheet, terminal_table, written
from ..reporting.sheets import Sheet
from ..serialization import to_json
from .root import console
from .streams import say, say_json
from .study import DEFAULT_STORAGE, AsJson, Name, Storage, load_study, problem_in, read_json, report, studies

BOUND = re.compile(r"\s*(?P<metric>.+?)\s*(?P<sign><=|>=)\s*(?P<limit>[^<>=]+?)\s*")
SHARE = re.compile(r"\s*(?P<arm>.*?)\s*:\s*(?P<low>[^:-]*)-(?P<high>[^:-]*)")

ProblemFile = Annotated[
    Path, typer.Option(help="JSON file with target, observed and interventions; optionally arms, idle, reward.")
]
PolicyName = Annotated[str | None, typer.Option(help="Preset (safe, paper) or policy name (ts, ...); safe by default.")]
PolicyOptions = Annotated[str | None, typer.Option(help="Policy options as JSON.")]
FirstSeed = Annotated[int | None, typer.Option(min=0, help="Random seed; the same seed gives the same decisions.")]
Expires = Annotated[
    str | None, typer.Option(help="Expire decisions left open for this long: seconds, or 14d, 36h, 90m, 45s.")
]
Window = Annotated[
    str | None,
    typer.Option(
        help="Time in which a reward must come: seconds, or 14d, 36h, 90m, 45s. "
        "Missing rewards count as 0 after the window closes."
    ),
]
ControlArm = Annotated[
    str | None, typer.Option(help="The arm that lifts are over, written lever=value,...; the idle arm by default.")
]
OfControl = Annotated[float | None, typer.Option(help="Share of decisions that the control gets, no more and no less.")]
OfArms = Annotated[
    list[str] | None,
    typer.Option(help="Least and greatest share of an arm, written lever=value,...:0.05-0.5; repeat it."),
]
Least = Annotated[float | None, typer.Option(help="Least share of every other arm.")]
Most = Annotated[float | None, typer.Option(help="Greatest share of every other arm.")]
Rails = Annotated[
    list[str] | None,
    typer.Option(help="Limit on an arm, such as 'refund<=0.02' or 'revenue>=0.95 x control'; repeat it."),
]
Confidence = Annotated[
    float | None, typer.Option(help="Confidence that no arm is excluded wrongly, over the whole study; 0.95.")
]
Further = Annotated[
    list[str] | None,
    typer.Option(help="Additional guardrail metric: name=bool, name=float or name=lowest:highest; repeat it."),
]
Costs = Annotated[
    str | None,
    typer.Option(help='Costs in units of the reward, as JSON: {"lever": {"level": 0.1}, "lever=value": 1}.'),
]
Worth = Annotated[float | None, typer.Option(help="What a reward of 1 is worth in the unit of the costs.")]

Mode = Annotated[
    str | None,
    typer.Option(help="strict (the default), or served: many decisions per second on PostgreSQL, from snapshots."),
]
AfterRows = Annotated[
    int | None, typer.Option(help="Served: publish a snapshot after this many rows; 1% more, at most 1000.")
]
AfterSeconds = Annotated[float | None, typer.Option(help="Served: publish a snapshot after so many seconds; 1.")]


@studies.command("create")
def create(
    name: Name,
    problem: ProblemFile,
    storage: Storage = DEFAULT_STORAGE,
    policy: PolicyName = None,
    options: PolicyOptions = None,
    seed: FirstSeed = None,
    expire_after: Expires = None,
    reward_window: Window = None,
    control: ControlArm = None,
    control_share: OfControl = None,
    share: OfArms = None,
    min_share: Least = None,
    max_share: Most = None,
    guardrail: Rails = None,
    guardrail_confidence: Confidence = None,
    metric: Further = None,
    cost: Costs = None,
    reward_value: Worth = None,
    consistency: Mode = None,
    publish_rows: AfterRows = None,
    publish_seconds: AfterSeconds = None,
    as_json: AsJson = False,
) -> None:
    """Create a study (idempotent)."""
    from ..studies import Study

    plays: dict[str, Any] = {"policy": policy, "options": _json("--options", options), "seed": seed}
    times: dict[str, Any] = {"expire_after": expire_after, "reward_window": reward_window}
    traffic: dict[str, Any] = {"control": control, "control_share": control_share, "shares": shares_in(share)}
    traffic |= {"min_share": min_share, "max_share": max_share}
    kept: dict[str, Any] = {"guardrails": guardrails_in(guardrail), "guardrail_confidence": guardrail_confidence}
    kept |= {"metrics": metrics_in(metric), "cost": _json("--cost", cost), "reward_value": reward_value}
    mode: dict[str, Any] = {
        "consistency": consistency,
        "publish_rows": publish_rows,
        "publish_seconds": publish_seconds,
    }
    study = Study.create(name, problem_in(problem), storage=storage, **plays, **times, **traffic, **kept, **mode)
    text = f"Study {name}: {study.policy_name}, {len(study.problem.arms)} arms, seed {study.seed}"
    report(as_json, study.settings, text)


def _json(option: str, text: str | None) -> Any:
    return read_json(option, text) if text else None


def guardrails_in(texts: list[str] | None) -> dict[str, tuple[str, float | str]] | None:
    """Guardrails from texts such as refund<=0.02.

    >>> guardrails_in(["refund<=0.02", "revenue >= 0.95 x control"])
    {'refund': ('<=', 0.02), 'revenue': ('>=', '0.95 x control')}
    """
    found: dict[str, tuple[str, float | str]] = {}
    for text in texts or ():
        match = BOUND.fullmatch(text)
        if match is None:
            raise OptionError(f"--guardrail {brief(text)}; expected metric<=limit or metric>=limit")
        limit = match["limit"]
        relative = limit.endswith("control")
        found[match["metric"]] = (match["sign"], limit if relative else _number("--guardrail", limit))
    return found or None


def shares_in(texts: list[str] | None) -> dict[str, tuple[float, float]] | None:
    """Shares from texts such as banner=red:0.05-0.5.

    >>> shares_in(["banner=red:0.05-0.5", "banner=blue:-0.3"])
    {'banner=red': (0.05, 0.5), 'banner=blue': (0.0, 0.3)}
    """
    found = {}
    for text in texts or ():
        match = SHARE.fullmatch(text)
        if match is None:
            raise OptionError(f"--share {brief(text)}; expected lever=value,...:least-greatest")
        ends = (_number("--share", match["low"] or "0"), _number("--share", match["high"] or "1"))
        found[match["arm"]] = ends
    return found or None


def metrics_in(texts: list[str] | None) -> dict[str, str | list[float]] | None:
    """Further metrics from texts such as refund=bool.

    >>> metrics_in(["refund=bool", "minutes=0:60"])
    {'refund': 'bool', 'minutes': [0.0, 60.0]}
    """
    found: dict[str, str | list[float]] = {}
    for text in texts or ():
        name, sign, kind = text.rpartition("=")
        if not sign:
            raise OptionError(f"--metric {brief(text)}; expected name=bool, name=float or name=lowest:highest")
        ends = [_number("--metric", end) for end in kind.split(":")] if ":" in kind else []
        found[name.strip()] = ends or kind.strip()
    return found or None


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OptionError(f"{option}: {brief(text)} is not a number") from None


@studies.command("health")
def health(name: Name, storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False) -> None:
    """Check a study: outcomes missing unevenly, the share of the control, reward drift."""
    found = load_study(name, storage).health()
    if as_json:
        say_json(to_json(found), indent=1)
        return
    terminal = console()
    for check in found:
        word, color = ("ALARM", "red") if check.alarm else ("ok", "green")
        terminal.print(written(f"{word} ", color), written(f"{check.name}: {check.says}"), sep="")
        terminal.print(written(f"   false alarms: {check.false_alarms}", "dim"))


@studies.command("guardrails")
def guardrails(name: Name, storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False) -> None:
    """Show what the rows say of each arm and guardrail, and which arms break one."""
    found = load_study(name, storage).guardrails()
    if as_json:
        say_json(to_json(found), indent=1)
        return
    rows = tuple(
        (str(each.arm), each.guardrail, f"{each.rows:,}", number(finite(each.mean)), "broken" if each.broken else "")
        for each in found
    )
    columns = ("arm", "guardrail", "rows", "mean", "")
    console().print(terminal_table(Sheet("Guardrails", "", columns, rows, (2, 3))) if rows else "no guardrails")


@studies.command("effects")
def effects(
    name: Name,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Show what each level of each lever does in place of the control's, averaged over the other levers."""
    found = load_study(name, storage).effects(level=level)
    if as_json:
        say_json(to_json(found), indent=1)
    elif rows := effect_rows(found):
        console().print(terminal_table(effects_sheet(rows)))
    else:
        say("no two arms differ in one lever alone; there are no effects of levels to show")
