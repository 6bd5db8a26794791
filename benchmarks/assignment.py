"""When `analyze` says that a table shows associations only: `python -m benchmarks.assignment [--tables 200]`.

Each process makes tables with a fixed seed. Printed is the share of tables with a notice of associations (and so
without a recommendation), with a sentence on a column that is assumed to be measured after the lever, and how many
columns are called results of the reward. The last column is what should be the case. Then, for confounded tables, the
mean error of the difference between two arms with and without `segments`, and how often 95% intervals of repeated users
cover with and without `unit`.
"""

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import causal_bandits as cb
from causal_bandits.core.compiled import Floats, Ints

ROWS = 2000
Generator = np.random.Generator
Columns = dict[str, Any]


def flip(rng: Generator, chance: Any) -> Ints:
    """0 or 1 with these chances, one for each row."""
    return (rng.random(ROWS) < np.broadcast_to(chance, ROWS)).astype(np.int64)


def variant(codes: Ints) -> list[str]:
    """The levels of a lever."""
    return [("control", "new", "bold")[code] for code in codes.tolist()]


def even(rng: Generator, levels: int = 2) -> Ints:
    """A lever that is assigned at random."""
    return rng.integers(levels, size=ROWS)


def bought(rng: Generator, lever: Ints, more: Any = 0.0) -> Ints:
    """A reward of 10%, and 3 points more with the lever."""
    return flip(rng, 0.1 + 0.03 * (lever == 1) + more)


def plain(rng: Generator) -> Columns:
    """Assigned at random, nothing else recorded."""
    lever = even(rng)
    return {"variant": variant(lever), "bought": bought(rng, lever)}


def funnel(rng: Generator) -> Columns:
    """A mediator that the lever moves."""
    lever = even(rng, 3)
    clicked = flip(rng, 0.2 + 0.2 * lever / 2)
    return {"variant": variant(lever), "clicked": clicked, "bought": flip(rng, 0.05 + 0.2 * clicked)}


def two_levers(rng: Generator) -> Columns:
    """A mediator without a telling name, and noise."""
    lever, other = even(rng), even(rng, 3)
    moved = flip(rng, 0.2 + 0.1 * lever + 0.1 * other)
    noise = rng.normal(size=ROWS)
    return {
        "banner": variant(lever),
        "offer": variant(other),
        "m": moved,
        "noise": noise,
        "y": flip(rng, 0.1 + 0.2 * moved),
    }


def with_attributes(rng: Generator) -> Columns:
    """Columns that were known before and do not matter for the lever."""
    lever, country, age = even(rng), rng.integers(8, size=ROWS), rng.gamma(9.0, 4.0, ROWS)
    known = {"country": country, "age": age, "device": flip(rng, 0.6)}
    return {**known, "variant": variant(lever), "bought": bought(rng, lever, 0.02 * country)}


def many_attributes(rng: Generator) -> Columns:
    """Many such columns, and a small share of the new level."""
    lever = flip(rng, 0.1)
    known = {f"x{place}": rng.integers(2 + place, size=ROWS) for place in range(15)}
    return {**known, "variant": variant(lever), "bought": bought(rng, lever)}


def dated(rng: Generator) -> Columns:
    """Rewards rise with time, shares stay."""
    lever = even(rng)
    days = np.sort(rng.integers(60, size=ROWS))
    dates = [f"2026-{1 + day // 28:02}-{1 + day % 28:02}" for day in days.tolist()]
    return {"date": dates, "variant": variant(lever), "bought": bought(rng, lever, 0.004 * days)}


def users(rng: Generator, *, sticky: bool) -> tuple[Ints, Ints, Floats]:
    """Users with 1 to 19 rows, their lever, and how much more they buy."""
    user = rng.integers(200, size=ROWS)
    own = rng.integers(2, size=200)[user] if sticky else even(rng)
    return user, own, rng.gamma(0.5, 0.3, 200)[user]


def assigned_by_user(rng: Generator) -> Columns:
    """Every user has one level."""
    user, lever, more = users(rng, sticky=True)
    country = rng.integers(3, size=200)[user]
    return {"user_id": user, "country": country, "variant": variant(lever), "bought": bought(rng, lever, more)}


def assigned_by_row(rng: Generator) -> Columns:
    """Every row is assigned, users repeat."""
    user, lever, more = users(rng, sticky=False)
    country = rng.integers(3, size=200)[user]
    return {"user_id": user, "country": country, "variant": variant(lever), "bought": bought(rng, lever, more)}


def revenue(rng: Generator) -> Columns:
    """Mostly zero, with a heavy tail."""
    lever, earlier = even(rng), rng.pareto(1.5, ROWS)
    paid = bought(rng, lever) * rng.lognormal(3.0, 1.0, ROWS)
    return {"previous_spend": earlier, "variant": variant(lever), "revenue": paid}


def sorted_by_arm(rng: Generator) -> Columns:
    """The order of the rows is that of the lever."""
    lever = np.sort(even(rng, 3))
    return {"variant": variant(lever), "bought": bought(rng, lever)}


def collider(rng: Generator) -> Columns:
    """A column that the lever and the reward move."""
    lever = even(rng)
    reward = bought(rng, lever)
    return {"variant": variant(lever), "bought": reward, "rating": flip(rng, 0.2 + 0.2 * lever + 0.2 * reward)}


def numbers(rng: Generator) -> Columns:
    """A real-valued reward."""
    lever, height = even(rng), rng.normal(size=ROWS)
    return {"height": height, "dose": variant(lever), "y": height + 0.1 * lever + rng.normal(size=ROWS)}


def by_country(rng: Generator) -> Columns:
    """Levels of a column get different shares."""
    country = rng.integers(4, size=ROWS)
    lever = flip(rng, 0.2 + 0.2 * country)
    return {"variant": variant(lever), "country": country, "bought": bought(rng, lever, 0.05 * country)}


def by_age(rng: Generator) -> Columns:
    """The share rises with a number."""
    age = np.round(rng.normal(45.0, 12.0, ROWS))
    lever = flip(rng, 1 / (1 + np.exp(-(age - 45) / 12)))
    return {"variant": variant(lever), "age": age, "bought": bought(rng, lever, np.clip((age - 20) / 200, 0, 0.5))}


def by_first_column(rng: Generator) -> Columns:
    """The share rises with a column that stands before the lever."""
    x = rng.normal(size=ROWS)
    lever = flip(rng, 1 / (1 + np.exp(-x)))
    return {"x": x, "t": variant(lever), "y": x + rng.normal(size=ROWS)}


def by_gap(rng: Generator) -> Columns:
    """Rows with an empty cell get another share."""
    known = flip(rng, 0.7)
    lever = flip(rng, 0.3 + 0.3 * known)
    device = [("phone", "laptop")[code] if seen else None for code, seen in zip(even(rng), known, strict=True)]
    return {"device": device, "variant": variant(lever), "bought": bought(rng, lever, 0.1 * known)}


def by_date(rng: Generator) -> Columns:
    """Shares and rewards move with the date."""
    table = dated(rng)
    place = np.linspace(0, 1, ROWS)
    lever = flip(rng, 0.3 + 0.4 * place)
    return {"date": table["date"], "variant": variant(lever), "bought": bought(rng, lever, 0.2 * place)}


def by_row_order(rng: Generator) -> Columns:
    """Shares and rewards move with the order of the rows."""
    place = np.linspace(0, 1, ROWS)
    lever = flip(rng, 0.3 + 0.4 * place)
    return {"variant": variant(lever), "bought": bought(rng, lever, 0.2 * place)}


def by_habit(rng: Generator) -> Columns:
    """Each user has different shares."""
    user, _, more = users(rng, sticky=False)
    lever = flip(rng, rng.beta(1.0, 1.0, 200)[user])
    return {"user_id": user, "variant": variant(lever), "bought": bought(rng, lever, more)}


def by_unnamed_column(rng: Generator) -> Columns:
    """A confounder that could be a mediator."""
    z = flip(rng, 0.5)
    lever = flip(rng, 0.3 + 0.4 * z)
    return {"variant": variant(lever), "z": z, "bought": bought(rng, lever, 0.2 * z)}


def by_nothing_recorded(rng: Generator) -> Columns:
    """The same without the confounder."""
    table = by_unnamed_column(rng)
    return {name: table[name] for name in ("variant", "bought")}


def leak(rng: Generator) -> Columns:
    """What was paid."""
    table = plain(rng)
    return {**table, "amount": table["bought"] * np.round(rng.lognormal(3.0, 1.0, ROWS))}


def leak_with_zeros(rng: Generator) -> Columns:
    """A review that few buyers write."""
    table = plain(rng)
    return {**table, "stars": table["bought"] * flip(rng, 0.3) * rng.integers(1, 6, ROWS)}


def leak_of_revenue(rng: Generator) -> Columns:
    """Two functions of revenue."""
    table = revenue(rng)
    return {**table, "tax": 0.2 * table["revenue"], "bought": (table["revenue"] > 0).astype(int)}


def leak_of_numbers(rng: Generator) -> Columns:
    """Two functions of a number."""
    table = numbers(rng)
    return {**table, "squared": table["y"] ** 2, "band": np.where(table["y"] > 0.5, "high", "low")}


class Process(NamedTuple):
    """How tables arise, and what should be reported about them."""

    name: str
    make: Callable[[Generator], Columns]
    expected: str
    unit: str | None = None
    segments: tuple[str, ...] = ()


PROCESSES = (
    Process("A/B test", plain, "nothing"),
    Process("three arms, a mediator", funnel, "nothing"),
    Process("two levers, an unnamed mediator, noise", two_levers, "an assumption"),
    Process("country, age, device", with_attributes, "nothing"),
    Process("fifteen columns, shares 90 to 10", many_attributes, "nothing"),
    Process("dates, rewards rise", dated, "nothing"),
    Process("users are assigned", assigned_by_user, "nothing"),
    Process("users are assigned, unit named", assigned_by_user, "nothing", "user_id"),
    Process("rows of users are assigned", assigned_by_row, "nothing", "user_id"),
    Process("revenue, earlier spend", revenue, "nothing"),
    Process("rows sorted by arm", sorted_by_arm, "nothing"),
    Process("a collider", collider, "nothing"),
    Process("numbers", numbers, "nothing"),
    Process("assigned by country", by_country, "associations"),
    Process("assigned by country, as a segment", by_country, "nothing", None, ("country",)),
    Process("assigned by age", by_age, "associations"),
    Process("assigned by the first column", by_first_column, "associations"),
    Process("assigned by whether a cell is empty", by_gap, "associations"),
    Process("shares move with the date", by_date, "associations"),
    Process("shares move with the rows", by_row_order, "associations"),
    Process("users have habits", by_habit, "associations", "user_id"),
    Process("assigned by a column without a telling name", by_unnamed_column, "an assumption"),
    Process("assigned by nothing recorded", by_nothing_recorded, "nothing can be seen"),
    Process("leak: amount", leak, "a result"),
    Process("leak: stars, mostly zero", leak_with_zeros, "a result"),
    Process("leak: tax and bought of revenue", leak_of_revenue, "two results"),
    Process("leak: functions of a number", leak_of_numbers, "two results"),
)


def analyzed(process: Process, rng: Generator) -> Any:
    """One table, analyzed as somebody would who names reward and levers alone."""
    table = process.make(rng)
    target = next(name for name in ("revenue", "bought", "y") if name in table)
    levers = [name for name in ("variant", "banner", "offer", "t", "dose") if name in table]
    return cb.analyze(table, target=target, interventions=levers, unit=process.unit, segments=process.segments)


def seed_of(process: Process, number: int) -> list[int]:
    """Seeds differ between processes and tables."""
    return [31, PROCESSES.index(process), number]


def rate(hits: list[bool]) -> str:
    """A share with its standard error."""
    share = float(np.mean(hits))
    return f"{share:.1%} ± {np.sqrt(share * (1 - share) / len(hits)):.1%}"


def show_notices(tables: int) -> None:
    """Print how often something is said."""
    print("| tables | associations | assumption | results of the reward | expected |")
    print("|---|---|---|---|---|")
    for process in PROCESSES:
        notices, assumed, results = [], [], []
        for number in range(tables):
            found = analyzed(process, np.random.default_rng(seed_of(process, number)))
            notices.append(not found.assignment.causal and found.recommendation is None)
            assumed.append(bool(found.assignment.assumed_after) and found.assignment.causal)
            results.append(sum("result of the reward" in notice for notice in found.notices))
        mean = float(np.mean(results))
        said = f"{rate(notices)} | {rate(assumed)} | {mean:.2f} columns | {process.expected}"
        print(f"| {process.name} | {said} |", flush=True)


def difference(found: Any, shares: dict[str, float] | None) -> float:
    """New less control, averaged over segments."""
    total = 0.0
    for each in found.estimates():
        weight = 1.0 if shares is None else shares[str(next(iter(each.arm.segment.values())))]
        total += weight * each.mean * (1 if each.arm["variant"] == "new" else -1)
    return total


def show_adjustment(tables: int) -> None:
    """Print the error of the difference between two arms, truly 3 points, with and without segments."""
    print("\n| tables | error without segments | error with segments |")
    print("|---|---|---|")
    for make, column in ((by_country, "country"), (by_age, "age")):
        errors: list[tuple[float, float]] = []
        for number in range(tables):
            table = make(np.random.default_rng([32, number]))
            options: dict[str, Any] = {"target": "bought", "interventions": "variant", "randomized": True}
            raw = cb.analyze(table, drop=[column], **options)
            cut = cb.analyze(table, segments=[column], **options)
            counts = cut.inferred.table[column].value_counts()
            shares = {str(level): count / ROWS for level, count in counts.iter_rows()}
            errors.append((difference(raw, None) - 0.03, difference(cut, shares) - 0.03))
        means, spreads = np.mean(errors, axis=0), np.std(errors, axis=0) / np.sqrt(tables)
        said = " | ".join(f"{mean:+.4f} ± {spread:.4f}" for mean, spread in zip(means, spreads, strict=True))
        print(f"| assigned by {column} | {said} |", flush=True)


def show_units(tables: int) -> None:
    """Print how often 95% intervals of a lift, truly 3 points, cover with and without the unit."""
    print("\n| tables | without unit | with unit |")
    print("|---|---|---|")
    for make in (assigned_by_user, assigned_by_row):
        hits: list[list[bool]] = [[], []]
        for number in range(tables):
            table = make(np.random.default_rng([33, number]))
            del table["country"]
            for place, unit in enumerate((None, "user_id")):
                found = cb.analyze(table, target="bought", interventions="variant", unit=unit, randomized=True)
                lift = next(each.lift for each in found.estimates() if each.lift is not None)
                hits[place].append(lift.low <= 0.03 <= lift.high)
        print(f"| {make.__name__.replace('_', ' ')} | {rate(hits[0])} | {rate(hits[1])} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=200)
    options = parser.parse_args()
    show_notices(options.tables)
    show_adjustment(options.tables)
    show_units(options.tables)


if __name__ == "__main__":
    main()
