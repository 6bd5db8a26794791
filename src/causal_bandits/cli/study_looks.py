"""`causal-bandits study explain`, `advice`, `evaluate`, `expire`: why, what if, and what is overdue."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import OptionError
from ..markup import number
from ..policies.advice import Advice
from ..reporting import terminal_table
from ..reporting.sheets import Sheet
from ..serialization import to_json
from .root import console
from .streams import say, say_json
from .study import DEFAULT_STORAGE, AsJson, Name, Storage, load_study, report, studies

if TYPE_CHECKING:
    from ..studies import Study

SHOWN_ARMS = 12


@studies.command("explain")
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
            str(view.arm),
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
    console().print(terminal_table(Sheet("Arms at that time", caption, columns, rows, (1, 2, 3, 4, 5))))


@studies.command("advice")
def advice(
    name: Name,
    margin: Annotated[
        float | None,
        typer.Option(
            help="How far from the best arm is close enough, in units of the reward; 5% of its mean unless given."
        ),
    ] = None,
    confidence: Annotated[
        float, typer.Option(help="Probability that no stop or drop is ever wrong, however often you look.")
    ] = 0.95,
    tolerance: Annotated[
        float, typer.Option(help="The expected loss that is good enough, as a share of the control's mean.")
    ] = 0.01,
    segment: Annotated[
        str | None, typer.Option(help="The segment, written segment=value,..., where a study has segments.")
    ] = None,
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Advise to stop, to go on, or to drop arms; valid at every look."""
    from ..studies import parse_arm

    found = load_study(name, storage).advice(
        segment=None if segment is None else parse_arm(segment),
        margin=margin,
        confidence=confidence,
        tolerance=tolerance,
    )
    guarantee = found.guarantee if isinstance(found, Advice) else found[0].guarantee
    report(as_json, found, f"{found}\n{guarantee}")


@studies.command("evaluate")
def evaluate(
    name: Name,
    arm: Annotated[
        list[str] | None,
        typer.Option(help="What to play, written lever=value,...; repeat it to mix arms, in equal shares by default."),
    ] = None,
    share: Annotated[list[float] | None, typer.Option(help="The share of each --arm, in the same order.")] = None,
    policy: Annotated[
        Path | None, typer.Option(help="A policy as it stands, in a file that policy.save wrote.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="doubly-robust (by propensities) or direct (each arm's own decisions); chosen by default."),
    ] = None,
    level: Annotated[float, typer.Option(help="Level of the interval.")] = 0.95,
    draws: Annotated[int, typer.Option(help="Choices per decision that estimate its propensities.")] = 200,
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Estimate what an arm, a mix of arms or another policy would have earned on the recorded decisions."""
    study = load_study(name, storage)
    wanted = _evaluated(study, arm or [], share or [], policy)
    found = study.evaluate(wanted, method=method, level=level, draws=draws)  # type: ignore[arg-type]
    report(as_json, found, str(found))


def _evaluated(study: "Study", arms: list[str], shares: list[float], policy: Path | None) -> Any:
    from ..policies import load_policy
    from ..policies.arms import fitting_arms
    from ..studies import parse_arm

    if bool(arms) == (policy is not None):
        raise OptionError("study evaluate needs --arm lever=value,... (repeat it for a mix), or --policy FILE")
    if policy is not None:
        return load_policy(policy)
    if shares and len(shares) != len(arms):
        raise OptionError(f"{len(arms)} --arm but {len(shares)} --share; give a share for each arm, or none")
    chances: dict[Any, float] = {}
    for text, chance in zip(arms, shares or [1 / len(arms)] * len(arms), strict=True):
        for chosen in fitting_arms(study.problem, parse_arm(text)):
            chances[chosen] = chances.get(chosen, 0.0) + chance
    return chances


@studies.command("expire")
def expire(
    name: Name,
    older_than: Annotated[str, typer.Option(help="Age: seconds, or 14d, 36h, 90m, 45s.")],
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Close open decisions that were asked for too long ago; they take no more outcomes."""
    closed = load_study(name, storage).expire(older_than)
    report(
        as_json, {"expired": list(closed)}, f"{len(closed)} {'decision' if len(closed) == 1 else 'decisions'} expired"
    )
