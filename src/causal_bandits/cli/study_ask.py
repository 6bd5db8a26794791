"""`causal-bandits study ask`: the next decisions."""

from typing import Annotated

import typer

from ..core.markup import printable
from .deferred import studies
from .study import DEFAULT_STORAGE, AsJson, Name, OfSegment, Storage, load_study, report, study_app


@study_app.command("ask")
def ask(
    name: Name,
    storage: Storage = DEFAULT_STORAGE,
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
    as_json: AsJson = False,
) -> None:
    """Get the next decisions; pass each id to `tell`."""

    among = None if arm is None else [studies.parse_arm(text) for text in arm]
    given = None if segment is None else studies.parse_arm(segment)
    made = load_study(name, storage).ask(n, key=key, arms=among, segment=given)
    report(as_json, made, "\n".join(f"{one.id}\t{printable(one.arm.label)}" for one in made))
