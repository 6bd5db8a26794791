"""`causal-bandits study explain`, `advice`, `recommend`, `sets`, `evaluate`, `expire`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.markup import number
from ..core.serialization import to_json
from ..errors import OptionError
from .deferred import policies, reporting, studies
from .root import console
from .streams import say, say_json
from .study import DEFAULT_STORAGE, AsJson, Confidence, Name, OfSegment, Storage, load_study, report, study_app

SHOWN_ARMS = 12


@study_app.command("explain")
def explain(
    name: Name,
    decision: Annotated[int, typer.Argument(help="Decision id returned by `ask`.")],
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Explain a decision: what was compared, through which set, from how many own and borrowed rows."""
    found = load_study(name, storage).explain(decision)
    if as_json:
        say_json(to_json(found), indent=1)
        return
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
    console().print(
        reporting.terminal_table(reporting.Sheet("Arms at that time", caption, columns, rows, (1, 2, 3, 4, 5)))
    )


@study_app.command("advice")
def advice(
    name: Name,
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
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Advise to stop, to continue, or to drop arms.

    Stop and drop advice holds at the given confidence over all looks.
    """

    found = load_study(name, storage).advice(
        segment=None if segment is None else studies.parse_arm(segment),
        margin=margin,
        confidence=confidence,
        tolerance=tolerance,
    )
    guarantee = found.guarantee if isinstance(found, policies.Advice) else found[0].guarantee
    report(as_json, found, f"{found}\n{guarantee}")


@study_app.command("recommend")
def recommend(
    name: Name, segment: OfSegment = None, storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False
) -> None:
    """Recommend an arm, with the probability that it is the best."""

    found = load_study(name, storage).recommend(segment=None if segment is None else studies.parse_arm(segment))
    report(as_json, found, str(found))


@study_app.command("sets")
def sets(
    name: Name,
    rejected: Annotated[bool, typer.Option("--rejected", help="Also show sets that the rows contradict.")] = False,
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Show the sets of mediators that separate the levers from the reward, with their evidence."""
    found = load_study(name, storage).separating_sets(rejected=rejected)
    report(as_json, found, str(found))


@study_app.command("publish")
def publish(name: Name, storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False) -> None:
    """Publish a snapshot with all appended rows (high-throughput mode)."""
    found = load_study(name, storage).publish()
    report(as_json, found, f"snapshot {found.version}: {found.rows:,} rows behind")


@study_app.command("evaluate")
def evaluate(
    name: Name,
    arm: Annotated[
        list[str] | None,
        typer.Option(
            help="Arm to evaluate, written lever=value,...; repeat it for a mix, with equal shares by default."
        ),
    ] = None,
    weight: Annotated[list[float] | None, typer.Option(help="The share of each --arm, in the same order.")] = None,
    policy: Annotated[Path | None, typer.Option(help="Save file of a policy, written by policy.save.")] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="doubly-robust (by propensities) or direct (each arm's own decisions); chosen automatically by "
            "default."
        ),
    ] = None,
    confidence: Confidence = 0.95,
    draws: Annotated[int, typer.Option(help="Simulated choices per decision to estimate its propensities.")] = 200,
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Estimate what an arm, a mix of arms or another policy would have earned on the recorded decisions."""
    study = load_study(name, storage)
    wanted = _evaluated(study, arm or [], weight or [], policy)
    found = study.evaluate(wanted, method=method, level=confidence, draws=draws)  # type: ignore[arg-type]
    report(as_json, found, str(found))


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


@study_app.command("expire")
def expire(
    name: Name,
    older_than: Annotated[str, typer.Option(help="Minimum age: seconds, or 14d, 36h, 90m, 45s.")],
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Close old open decisions; they accept no more outcomes."""
    closed = load_study(name, storage).expire(older_than)
    report(
        as_json, {"expired": list(closed)}, f"{len(closed)} {'decision' if len(closed) == 1 else 'decisions'} expired"
    )
