"""How the levers of a logged table were assigned: whether what was known before predicts them, and repeated units.

A column that was known before a lever was set cannot be moved by it. If it predicts the lever, the lever was not
assigned at random, and differences between arms are associations. A column that is measured after the lever may well
differ between its levels, and no test of one table can tell the two apart. So the order comes from what the user says
(`segments`, `observed`), from dates, from names, and from the order of the columns: logs usually list what was known
first before what was done. For the other columns the analysis assumes that they came after, and says so where they
differ between the levels of a lever.

Each test is a permutation test of a table of counts (lever by column, within segments), so it holds its level for few
rows as well. All tests together raise a false notice with a probability of at most 1%, by Bonferroni's bound. Where
units repeat and each has one level of the lever, units were assigned, and each counts as one row in the tests.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from ...core.compiled import Floats, Ints
from ...core.independence import g_squared, permutation_test
from ...errors import OptionError, TableFileError, brief, listing
from ...libraries import pl, special
from .columns import IDENTIFIER_WORDS, MOST_LEVELS, is_date, why_identifier, words_of

Order = Literal["before", "after", "unknown"]
What = Literal["column", "time", "rows", "unit"]
ALPHA = 0.01
"""Probability of a false notice, over all tests of a table."""
BLOCKS = 10
"""Stretches of time, or of the order of the rows."""
PARTS = 6
"""Parts of equal size that a column of many numbers is cut into."""
MOST_DRAWS = 20_000
FEWEST_ROWS = 20
SURE = 1e-9
"""A chi-squared tail below this is believed where cells hold five rows on average."""
STICKY = 0.99
"""Share of repeated units with one level of a lever, from which on units were assigned and not rows."""
UNIT_DRAWS, UNIT_ROWS = 200, 50_000

EARLIER_WORDS = {"previous", "prior", "past", "before", "baseline", "pre", "last", "history", "historic", "historical"}
"""They make any other word one of the past: previous_visits."""
AFTER_WORDS = {
    *("click", "clicks", "clicked", "cart", "basket", "visit", "visits", "visited", "view", "views", "viewed"),
    *("open", "opened", "opens", "read", "seconds", "minutes", "duration", "dwell", "scroll", "scrolled", "bounce"),
    *("bounced", "pages", "pageviews", "added", "checkout", "signup", "signups", "trial", "activated", "activation"),
    *("engaged", "engagement", "spend", "spent", "revenue", "amount", "paid", "payment", "refund", "refunded"),
    *("returned", "satisfaction", "rating", "review", "response", "responded", "reply", "replied", "after", "post"),
    *("followup", "outcome", "result", "sold", "ordered", "bought", "purchased", "converted", "conversion", "churned"),
}
BEFORE_WORDS = {
    *("country", "region", "city", "state", "zip", "postcode", "address", "area", "language", "locale", "timezone"),
    *("device", "browser", "os", "platform", "app", "age", "birth", "gender", "sex", "income", "education", "degree"),
    *("occupation", "job", "race", "ethnicity", "married", "marital", "children", "segment", "tier", "plan", "channel"),
    *("source", "medium", "referrer", "referer", "utm", "tenure", "recency", "frequency", "new", "newbie", "returning"),
    *("loyal", "loyalty", "member", "membership", "vip", "cohort", "weekday", "hour", "day", "week", "month", "season"),
    *("quarter", "year", "severity", "stage", "comorbidity", "bmi", "weight", "height", "risk", "smoker", "store"),
    *("branch", "clinic", "hospital", "site", "doctor", "school", "class", "teacher", "team", "industry", "size"),
    *("intent", "demographic", "customer", "user", "visitor", "type"),
}


def order_of(name: str, *, first: bool) -> Order:
    """Whether a column was known before the levers were set, by its name, or because it stands `first` in the table.

    >>> order_of("country", first=False), order_of("clicked", first=True), order_of("previous_visits", first=False)
    ('before', 'after', 'before')
    >>> order_of("x", first=True), order_of("x", first=False)
    ('before', 'unknown')
    """
    words = set(words_of(name))
    if words & EARLIER_WORDS:
        return "before"
    if words & AFTER_WORDS:
        return "after"
    return "before" if first or words & BEFORE_WORDS else "unknown"


class Dependence(NamedTuple):
    """A column, or the order of the rows, that predicts a lever."""

    column: str
    lever: str
    p_value: float
    what: What

    @property
    def says(self) -> str:
        """What was found, in words."""
        sure = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.3f}"
        name = "the order of the rows" if self.what == "rows" else self.column
        return f"{name} predicts {self.lever} ({sure})"

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return {
            "column": f"name it in --segments {self.column}, which adjusts for it",
            "time": "add a column for the period, such as the week, and name it in --segments, which adjusts for it",
            "rows": "add a column for the period, such as the week, and name it in --segments, which adjusts for it",
            "unit": f"compare rows of the same {self.column} in another tool",
        }[self.what]


@dataclass(frozen=True)
class Assignment:
    """How the levers of a table were assigned.

    Args:
        randomized: Whether the user declared random assignment; then nothing was tested.
        predictors: Columns known before that predict a lever, the clearest first.
        assumed_after: Columns that differ between the levels of a lever and are assumed to be measured after it.
        tested: How many columns were tested.
    """

    randomized: bool
    predictors: tuple[Dependence, ...] = ()
    assumed_after: tuple[str, ...] = ()
    tested: int = 0

    @property
    def causal(self) -> bool:
        """Whether differences between arms can be read as effects of the levers."""
        return not self.predictors

    @property
    def says(self) -> str:
        """The first sentences of the answer; empty if there is no warning."""
        if self.predictors:
            more = f", and {len(self.predictors) - 1} more" if len(self.predictors) > 1 else ""
            first = self.predictors[0]
            return (
                f"These are associations, not effects: {first.says}{more}, so the levels of {first.lever} were used "
                f"for different groups of rows. If this was known before {first.lever} was set, {first.remedy}; if "
                "levers were assigned at random, pass --randomized."
            )
        if self.assumed_after:
            names = ", ".join(self.assumed_after)
            one = len(self.assumed_after) == 1
            return (
                f"This assumes that {names} {'was' if one else 'were'} measured after the levers were set; if "
                f"{'it was' if one else 'one was'} known before, these are associations, not effects: name it in "
                f"--segments, which adjusts for it; if {'it was' if one else 'all were'} measured after, in --observed."
            )
        return ""

    @property
    def basis(self) -> str:
        """What reading differences as effects rests on, in a sentence."""
        if self.randomized:
            return "Levers were assigned at random, as you declared."
        if self.predictors:
            return "Intervals are of means in the table, not of effects."
        if not self.tested:
            return (
                "Nothing in the table shows how levers were assigned; this assumes that they were assigned at random."
            )
        columns = "1 column" if self.tested == 1 else f"{self.tested} columns"
        return (
            f"Nothing that was known before the levers were set predicts a lever ({columns} tested, counting row "
            "order as one); the table cannot show whether something outside it does."
        )


def check_assignment(
    table: pl.DataFrame,
    levers: Sequence[str],
    segments: Sequence[str],
    *,
    known_after: Iterable[str],
    left_out: Iterable[str],
    unit: str | None,
) -> Assignment:
    """Test what was known before the levers were set against each lever, within segments.

    `table` has all columns and the rows that are analyzed. `known_after` are the reward, its results and the columns
    that were named as observed. Of the columns `left_out` by the user those count whose names say that they came first.
    """
    taken = {*known_after, *levers, *segments, unit}
    columns = _sorted_out(table, levers, taken, set(left_out))
    strata = _joint([_labels(table[name]) for name in segments], table.height)
    if not any(each.what == "time" for each in columns) and not _sorted_by_something(table):
        columns.append(_Tested("row order", "before", "rows", _blocks(np.arange(table.height))))
    before = sum(each.order == "before" for each in columns)
    level = {
        "before": ALPHA / (len(levers) * max(1, before + (unit is not None))),
        "unknown": ALPHA / (len(levers) * max(1, len(columns) - before)),
    }
    named = repeated_identifier(table, [name for name in table.columns if name not in taken]) if unit is None else unit
    units = None if named is None else _labels(table[named])
    found: list[Dependence] = []
    assumed: list[str] = []
    for lever in levers:
        codes, rows = _labels(table[lever]), np.arange(table.height)
        if units is not None and _is_sticky(codes, units):
            rows = np.sort(np.unique(units, return_index=True)[1])
        elif unit is not None and units is not None:
            p_value = _unit_p_value(codes, units)
            found += [Dependence(unit, lever, p_value, "unit")] if p_value <= level["before"] else []
        for each in columns:
            p_value = _p_value(codes[rows], each.codes[rows], strata[rows], level[each.order])
            if p_value > level[each.order]:
                continue
            if each.order == "before":
                found.append(Dependence(each.name, lever, p_value, each.what))
            elif each.name not in assumed:
                assumed.append(each.name)
    found.sort(key=lambda each: each.p_value)
    return Assignment(False, tuple(found), tuple(assumed), before)


class _Tested(NamedTuple):
    """A column that is tested against the levers."""

    name: str
    order: Order
    what: What
    codes: Ints


def _sorted_out(table: pl.DataFrame, levers: Sequence[str], taken: set[str | None], out: set[str]) -> list[_Tested]:
    """The columns that were known before the levers were set, and those of which it is not known."""
    first = min(table.columns.index(name) for name in levers)
    found = []
    for place, name in enumerate(table.columns):
        column = table[name]
        order = order_of(name, first=name not in out and place < first)
        if name in taken or order == "after":
            continue
        if is_date(column):
            if _sorts_by_time(column):
                found.append(_Tested(name, "before", "time", _blocks(_labels(column))))
            continue
        codes = _codes(column)
        if codes is not None and not (name in out and order == "unknown"):
            found.append(_Tested(name, order, "column", codes))
    return found


def _labels(column: pl.Series) -> Ints:
    """A number for each different value, in their order; a missing one is 0."""
    values = column.drop_nulls().unique()
    if len(values) <= MOST_LEVELS:  # quicker than sorting the rows
        codes = column.replace_strict(values.sort(), range(1, len(values) + 1), default=0, return_dtype=pl.Int64)
        return codes.fill_null(0).to_numpy()
    return column.rank("dense").fill_null(0).to_numpy().astype(np.int64)


def _joint(columns: Sequence[Ints], rows: int) -> Ints:
    """A number for each combination of values."""
    found: Ints = np.zeros(rows, dtype=np.int64)
    for codes in columns:
        found = np.unique(found * (int(codes.max()) + 1) + codes, return_inverse=True)[1].astype(np.int64)
    return found


def _blocks(order: Ints | Floats) -> Ints:
    """Ten stretches of about equal size; equal numbers stay together."""
    ranks = np.searchsorted(np.sort(order), order)
    return (ranks * BLOCKS // max(len(order), 1)).astype(np.int64)


def _sorts_by_time(column: pl.Series) -> bool:
    """Whether dates without gaps sort in the order of time, as text does where the year comes first."""
    return not column.null_count() and (column.dtype != pl.String or bool(column.str.contains(r"^\d{4}\D").all()))


def _codes(column: pl.Series) -> Ints | None:
    """The values of a column as a few numbers; None if it has no few values and cannot be cut."""
    seen = column.drop_nulls()
    if column.dtype.is_nested() or column.dtype == pl.Object or len(seen) < FEWEST_ROWS:
        return None
    different = seen.n_unique()
    if different < 2 or why_identifier(column, different) is not None:
        return None
    if different <= MOST_LEVELS:
        return _labels(column)
    if column.dtype.is_numeric():
        values = column.cast(pl.Float64).to_numpy()
        known = ~np.isnan(values)
        cuts = np.unique(np.quantile(values[known], np.arange(1, PARTS) / PARTS))
        return np.where(known, 1 + np.searchsorted(cuts, values, side="left"), 0).astype(np.int64)
    if column.dtype == pl.String and 2 * different <= len(seen):
        common = seen.value_counts(sort=True)[column.name].head(MOST_LEVELS - 1)
        return _labels(column.replace_strict(common, list(range(len(common))), default=MOST_LEVELS))
    return None


def _sorted_by_something(table: pl.DataFrame) -> bool:
    """Whether the order of the rows is that of a column's values, and so says nothing about time."""
    for column in table:
        if column.dtype.is_nested() or column.dtype == pl.Object:
            continue
        changes = int(column.ne_missing(column.shift(1))[1:].sum())
        if 0 < changes < len(column) / 2 and column.n_unique() == changes + 1:
            return True
    return False


def _p_value(lever: Ints, column: Ints, strata: Ints, level: float) -> float:
    """Whether a column predicts a lever within strata; random tables are drawn where the chi-squared tail is small."""
    sizes = [int(each.max()) + 1 for each in (strata, lever, column)]
    counts = np.bincount(np.ravel_multi_index((strata, lever, column), sizes), minlength=math.prod(sizes)).reshape(
        sizes
    )
    counts = counts[:, counts.any(axis=(0, 2))][:, :, counts.any(axis=(0, 1))]
    if len(lever) < FEWEST_ROWS or min(counts.shape[1:]) < 2:
        return 1.0
    result = g_squared(counts)
    sure = result.p_value < SURE and counts.sum() >= 5 * counts.size
    if result.p_value > 10 * level or sure:
        return result.p_value
    return permutation_test(counts, draws=min(math.ceil(4 / level), MOST_DRAWS)).p_value


# Units that have several rows


def check_unit(table: pl.DataFrame, unit: str, taken: Iterable[str]) -> None:
    """Reject a column that names no repeated units, or that is the reward, a lever or a segment."""
    if not isinstance(unit, str) or unit in taken:
        raise OptionError(f"unit={brief(unit)}; expected a column that is not the reward, a lever or a segment")
    if unit not in table.columns:
        raise TableFileError(f"unit: the table has no column {brief(unit)}; it has {listing(table.columns)}")
    column = table[unit]
    if column.null_count():
        raise TableFileError(
            f"unit {unit!r} is missing in {column.null_count()} rows; fill it, or leave these rows out"
        )
    different = column.n_unique()
    if different == 1:
        raise TableFileError(f"unit {unit!r} is {brief(column[0])} in every row; name a column that tells units apart")
    if different == len(column):
        raise TableFileError(f"unit {unit!r} is different in every row, so no unit repeats; leave out --unit")


def repeated_identifier(table: pl.DataFrame, names: Iterable[str]) -> str | None:
    """The first column that is called an identifier and names units with several rows."""
    for name in names:
        column = table[name]
        if column.dtype.is_nested() or column.dtype == pl.Object or IDENTIFIER_WORDS.isdisjoint(words_of(name)[-1:]):
            continue
        different = column.n_unique()
        if MOST_LEVELS < different <= 0.9 * len(column):
            return name
    return None


def _is_sticky(lever: Ints, units: Ints) -> bool:
    """Whether repeated units have one level of a lever each, up to a few exceptions."""
    order = np.lexsort((lever, units))
    same_unit = np.diff(units[order]) == 0
    repeated = np.unique(units[order][1:][same_unit])
    moved = np.unique(units[order][1:][same_unit & (np.diff(lever[order]) != 0)])
    return len(repeated) > 0 and len(moved) <= (1 - STICKY) * len(repeated)


def _unit_p_value(lever: Ints, units: Ints) -> float:
    """Whether rows of one unit have the same level more often, or less often, than rows dealt at random."""
    if len(lever) > UNIT_ROWS:
        kept = units <= np.sort(units)[UNIT_ROWS]
        lever, units = lever[kept], units[kept]
    rng, width = np.random.default_rng(0), int(lever.max()) + 1

    def alike(levels: Ints) -> float:
        counts = np.bincount(units * width + levels)
        return float((counts.astype(np.float64) ** 2).sum())

    dealt = np.array([alike(rng.permutation(lever)) for _ in range(UNIT_DRAWS)])
    spread = float(dealt.std(ddof=1))
    return 2 * float(special.ndtr(-abs(alike(lever) - dealt.mean()) / spread)) if spread > 0 else 1.0


def design_effect(arms: Ints, rewards: Floats, units: Ints, level: float) -> float:
    """By how much repeated units widen the variance of a mean, the few units of an arm included.

    The variance of an arm's mean when whole units vary, relative to that of independent rows (Kish 1965), pooled over
    arms; and Student's factor for the arm with the fewest units.

    >>> arms, units = np.repeat([0, 1], 200), np.repeat(np.arange(80), 5)
    >>> rewards = np.tile(np.repeat([0.0, 1.0], 5), 40)  # a unit's rewards are all alike: five rows say as much as one
    >>> round(design_effect(arms, rewards, units, 0.95), 1)
    5.5
    """
    rows = np.bincount(arms)
    means = np.bincount(arms, weights=rewards) / np.maximum(rows, 1)
    left = rewards - means[arms]
    width = int(units.max()) + 1
    pairs, place = np.unique(arms * width + units, return_inverse=True)
    sums, arm = np.bincount(place, weights=left), pairs // width
    of_arm = np.bincount(arm, minlength=len(rows))
    if of_arm[rows > 0].min() < 2:
        raise TableFileError("an arm has rows of only one unit; intervals by unit need at least two units per arm")
    together = np.bincount(arm, weights=sums**2, minlength=len(rows)) * of_arm / np.maximum(of_arm - 1, 1)
    alone = float((left**2).sum())
    ratio = float(together.sum()) / alone if alone > 0 else 1.0
    tail = (1 + level) / 2
    student = float(special.stdtrit(int(of_arm[rows > 0].min()) - 1, tail) / special.stdtrit(1e9, tail))
    return max(ratio, 1.0) * student**2
