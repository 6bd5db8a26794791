"""Arms and sets as tables."""

from ..policies.overview import ArmRow, SetRow
from .sheets import Sheet, braces, number


def evidence_of(found: SetRow) -> str:
    """What speaks for or against a set: p-values, or nats per lever."""
    tests = "; ".join(f"{', '.join(test['levers'])}: p = {number(test['p_value'])}" for test in found["tests"])
    nats = {**found["confidence"], **found["log_bayes_factor"]}
    sure = "; ".join(f"{name}: {number(value, 1)} nats" for name, value in nats.items())
    return tests or sure or found["source"]


def state_of(found: SetRow) -> str:
    """What became of a set; without rows that have its variables nothing can have spoken against it."""
    if found["accepted"]:
        return "accepted"
    return "rejected" if found["rows"] else "not tested yet"


def arms_sheet(arms: list[ArmRow]) -> Sheet:
    """The arms, the best first: mean, interval, its width with and without sharing, own and borrowed rows."""
    columns = ("arm", "mean", "interval", "width", "width alone", "through", "own rows", "borrowed rows")
    return Sheet("Arms, the best first", "", columns, tuple(map(_arm_cells, arms)), (1, 2, 3, 4, 6, 7))


def _arm_cells(row: ArmRow) -> tuple[str, ...]:
    status = row.get("status", "played")
    return (
        row["arm"] + ("" if status == "played" else f" ({status})"),
        number(row["mean"]),
        f"{number(row['low'])} – {number(row['high'])}",
        number(row["width"]),
        number(row["without_sharing"]["width"]),
        braces(row["through"]),
        f"{row['own_rows']:,}",
        f"{row['borrowed_rows']:,.0f}",
    )


def sets_sheet(sets: list[SetRow]) -> Sheet:
    """Every set that was looked at, accepted ones first, with its evidence, and whether it still holds if watched."""
    columns: tuple[str, ...] = ("set", "", "separates", "evidence", "rows")
    rows = [_set_cells(found) for found in sorted(sets, key=lambda each: not each["accepted"])]
    if any(found["alarm"] is not None for found in sets):
        columns = (*columns, "recently")
    return Sheet("Separating sets", "", columns, tuple(row[: len(columns)] for row in rows), (4,))


def _set_cells(found: SetRow) -> tuple[str, ...]:
    return (
        braces(found["variables"]),
        state_of(found),
        ", ".join(found["separated"]) or "–",
        evidence_of(found),
        f"{found['rows']:,}",
        {None: "", True: "no longer holds", False: "holds"}[found["alarm"]],
    )
