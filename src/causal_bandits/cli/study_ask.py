"""`causal-bandits study ask`: the next decisions."""

from typing import Annotated

import typer

from .study import DEFAULT_STORAGE, AsJson, Name, Storage, load_study, report, studies


@studies.command("ask")
def ask(
    name: Name,
    storage: Storage = DEFAULT_STORAGE,
    n: Annotated[int, typer.Option("-n", min=1, help="Number of decisions.")] = 1,
    key: Annotated[str | None, typer.Option(help="Idempotency key: repeating it returns the same decisions.")] = None,
    arm: Annotated[
        list[str] | None, typer.Option(help="Choose only among these arms, each written lever=value,...")
    ] = None,
    segment: Annotated[
        str | None, typer.Option(help="The segment of the unit, written segment=value,..., where a study has segments.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Get the next decisions; pass each id to `tell`."""
    from ..studies import parse_arm

    among = None if arm is None else [parse_arm(text) for text in arm]
    given = None if segment is None else parse_arm(segment)
    made = load_study(name, storage).ask(n, key=key, arms=among, segment=given)
    report(as_json, made, "\n".join(f"{one.id}\t{one.arm}" for one in made))
