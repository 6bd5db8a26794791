"""`causal-bandits study show|recommend|advice|effects|sets|explain|evaluate|guardrails|health|audit|report`."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.markup import counted, number
from ..core.serialization import to_json
from ..errors import OptionError
from .deferred import described, policies, sheets, studies, study_pages, terminals
from .root import console, say
from .study import OfSegment, Shown, segment_in, study_command

Confidence = Annotated[float, typer.Option(help="Confidence level of intervals.")]
SHOWN_ARMS = 12


@study_command("show", looks=True)
def show(study: "studies.Study") -> Shown:
    """Show arms, separating sets, the recommended arm and alarms."""
    about = study.describe()
    return about, partial(_show, about)


def _show(about: "described.StudyDescription") -> None:
    terminal = console()
    counts = ", ".join(f"{count:,} {status}" for status, count in about["decisions"].items() if status != "all")
    terminal.print(terminals.written(about["name"], "bold"), f": {about['policy']}, seed {about['seed']}", sep="")
    terminal.print(f"{counted(about['decisions']['all'], 'decision')}: {counts}; {counted(about['rows'], 'row')}")
    for each in study_pages.answers(about):
        terminal.print(terminals.written(f"{each.segment}: " * bool(each.segment) + each.says))
    if "staleness" in about:
        behind = about["staleness"]
        terminal.print(
            f"high-throughput: snapshot {behind['version']} is {behind['rows']:,} rows, "
            f"{behind['seconds']:.1f} s behind"
        )
    if about["pending"]["rows"]:
        terminal.print(sheets.pending_words(about["pending"]))
    for variable, count in about["missing"].items():
        terminal.print(f"{variable} is missing in {counted(count, 'row')}")
    unit = study_pages.unit_of(about["reward"])
    _table(sheets.arms_sheet(about["arms"], unit))
    lifts = sheets.lifts_sheet(about["arms"], unit)
    if lifts is not None:
        _table(lifts)
    _table(sheets.sets_sheet(about["sets"]))
    for check in about["health"]:
        if check["alarm"]:
            terminal.print(terminals.written(f"Alarm ({check['code']}): {check['says']}", "red"))


@study_command("recommend", looks=True)
def recommend(study: "studies.Study", segment: OfSegment = None) -> Shown:
    """Recommend an arm, with the probability that it is the best."""
    found = study.recommend(segment=segment_in(segment))
    return found, str(found)


@study_command("advice", looks=True)
def advice(
    study: "studies.Study",
    margin: Annotated[
        float | None,
        typer.Option(
            help="Difference from the best arm that is close enough, in units of the reward; 5% of its mean by default."
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence level of stop and drop advice.")] = 0.95,
    tolerance: Annotated[
        float, typer.Option(help="Expected loss that is good enough, as a share of the control's mean.")
    ] = 0.01,
    segment: OfSegment = None,
) -> Shown:
    """Advise whether to stop, continue or drop arms.

    Stop and drop advice holds with the given confidence over all looks together.
    """
    found = study.advice(
        segment=segment_in(segment),
        margin=margin,
        confidence=confidence,
        tolerance=tolerance,
    )
    guarantee = found.guarantee if isinstance(found, policies.Advice) else found[0].guarantee
    return found, f"{found}\n{guarantee}"


@study_command("effects", looks=True)
def effects(
    study: "studies.Study",
    confidence: Confidence = 0.95,
) -> Shown:
    """Show the effect of each level of each lever.

    Levels are compared with the control's level and averaged over the other levers.
    """
    found = study.effects(level=confidence)
    if not found.known:
        return found, "no two arms differ in exactly one lever, so there are no effects of levels to show"
    unit = study_pages.unit_of(study.problem.reward.kind)
    return found, lambda: _table(sheets.effects_sheet(to_json(found.known), unit))


def _table(sheet: "sheets.Sheet") -> None:
    console().print(terminals.TerminalTable(sheet))


@study_command("sets", looks=True)
def sets(
    study: "studies.Study",
    rejected: Annotated[bool, typer.Option("--rejected", help="Also show sets that the rows contradict.")] = False,
) -> Shown:
    """Show the separating sets of mediators with their evidence."""
    found = study.separating_sets(rejected=rejected)
    return found, "\n".join(map(str, found)) or "no set is known to separate the levers from the reward yet"


@study_command("explain", looks=True)
def explain(
    study: "studies.Study",
    decision: Annotated[int, typer.Argument(help="Decision id returned by `ask`.")],
) -> Shown:
    """Explain a decision: what was compared, and from which rows."""
    found = study.explain(decision)
    return found, partial(_explain, found)


def _explain(found: "studies.Explanation") -> None:
    say(str(found))
    rows = tuple(
        (
            view.arm.label,
            f"{view.propensity:.3f}",
            "not compared" if view.index is None else number(view.index),
            number(view.estimate.mean),
            f"{view.estimate.own_rows:,}",
            f"{view.borrowed_rows:,.0f}",
        )
        for view in found.arms[:SHOWN_ARMS]
    )
    columns = ("arm", "probability", "compared", "mean", "own rows", "borrowed rows")
    more = len(found.arms) - len(rows)
    caption = f"and {more} more arms; --json has them all" if more else ""
    _table(sheets.Sheet("Arms at that time", caption, columns, rows, (1, 2, 3, 4, 5)))


@study_command("evaluate")
def evaluate(
    study: "studies.Study",
    arm: Annotated[
        list[str] | None,
        typer.Option(
            help="Arm to evaluate, written lever=value,...; repeat it for a mix, with equal shares by default."
        ),
    ] = None,
    weight: Annotated[list[float] | None, typer.Option(help="The share of each --arm, in the same order.")] = None,
    policy: Annotated[Path | None, typer.Option(help="Save file of a policy, written by policy.save.")] = None,
    method: Annotated[
        str,
        typer.Option(help="direct (each arm's own decisions) or doubly-robust (by propensities)."),
    ] = "direct",
    confidence: Confidence = 0.95,
    draws: Annotated[int, typer.Option(help="Simulated choices per decision to estimate its propensities.")] = 200,
) -> Shown:
    """Estimate what other arms or another policy would have earned.

    The estimate uses the recorded decisions.
    """
    wanted = _evaluated(study, arm or [], weight or [], policy)
    found = study.evaluate(wanted, method=method, level=confidence, draws=draws)  # type: ignore[arg-type]
    return found, str(found)


def _evaluated(study: "studies.Study", arms: list[str], shares: list[float], policy: Path | None) -> Any:
    if bool(arms) == (policy is not None):
        raise OptionError("study evaluate needs --arm lever=value,... (repeat it for a mix), or --policy FILE")
    if policy is not None:
        return policies.load_policy(policy)
    if shares and len(shares) != len(arms):
        raise OptionError(f"{len(arms)} --arm but {len(shares)} --weight; give a weight for each arm, or none")
    chances: dict[Any, float] = {}
    for text, chance in zip(arms, shares or [1 / len(arms)] * len(arms), strict=True):
        for chosen in policies.arms.fitting_arms(study.problem, studies.parse_arm(text)):
            chances[chosen] = chances.get(chosen, 0.0) + chance
    return chances


@study_command("guardrails", looks=True)
def guardrails(study: "studies.Study") -> Shown:
    """Show the evidence on guardrails, and arms that break one."""
    found = study.guardrails()
    if not found:
        return found, "no guardrails"
    rows = tuple(
        (each.arm.label, each.guardrail, f"{each.rows:,}", number(each.mean), "broken" if each.broken else "")
        for each in found
    )
    columns = ("arm", "guardrail", "rows", "mean", "")
    return found, lambda: _table(sheets.Sheet("Guardrails", "", columns, rows, (2, 3)))


@study_command("health", looks=True)
def health(study: "studies.Study") -> Shown:
    """Check whether anything is wrong with a study.

    The checks cover lost outcomes, missing mediators, the share of the control, drift, traffic and advice to stop.
    """
    found = study.health()
    return found, partial(_health, found)


def _health(found: "studies.Health") -> None:
    terminal = console()
    for check in found:
        color = "red" if check.alarm else "green"
        terminal.print(
            terminals.written(f"{check.word} ", color), terminals.written(f"{check.code}: {check.says}"), sep=""
        )
        terminal.print(terminals.written(f"   false alarms: {check.false_alarms}", "dim"))


@study_command("audit", looks=True)
def audit(study: "studies.Study") -> Shown:
    """Show changes that people made to a study, newest first."""
    rows = study.audit()
    return rows, "\n".join(f"{row.time:%Y-%m-%d %H:%M:%S} UTC  {row.says}" for row in rows)


@study_command("report")
def write_report(
    study: "studies.Study",
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("report.html"),
) -> Shown:
    """Write an HTML report.

    It shows the arms with their own and borrowed rows, the sets with their evidence, and decisions over time.
    """
    study.report(out)
    return {"file": str(out)}, f"Report: {out}"
