"""What a column is by its values and its name: a date, an identifier, or something to count."""

from __future__ import annotations

import re

from ...libraries import pl

MOST_LEVELS = 20
"""A column with more values than this is a number, if it can be, or left out."""

TIME = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp][Mm])?( ?(Z|UTC|[+-]\d{2}:?\d{2}))?"
DAY = (
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})"
    r"|\d{1,2}[- ]?[A-Za-z]{3,9}\.?[- ]?\d{2,4}|[A-Za-z]{3,9}\.? \d{1,2},? \d{4}"
)
DATE = f"^(?:(?:{DAY})(?:[T ,]+{TIME})?|{TIME})$"
MONTHS = r"(?i)jan|feb|mar|m.r|apr|ma[yi]|jun|jul|aug|sep|o[ck]t|nov|de[cz]"
CODED = r"^(?:[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F-]{13,}|[0-9a-fA-F]{24,}|[^@ ]+@[^@ ]+\.[^@ ]+)$"
"""A UUID, a digest, an e-mail address."""
DATE_WORDS = {"date", "day", "time", "timestamp", "datetime", "at", "created", "updated", "ts", "datum"}
IDENTIFIER_WORDS = {
    *("id", "ids", "uuid", "guid", "identifier", "key", "email", "mail", "phone", "ip", "cookie", "hash", "token"),
    *("session", "user", "visitor", "customer", "client", "account", "index", "rownames"),
}
SECONDS = (631_152_000, 4_102_444_800)
"""Since 1970, of the years 1990 to 2100."""


def words_of(name: str) -> list[str]:
    """The words in the name of a column, in lower case.

    >>> words_of("userId"), words_of("I_banner"), words_of("Order date")
    (['user', 'id'], ['i', 'banner'], ['order', 'date'])
    """
    parted = re.sub(r"(?<=[a-zäöü])(?=[A-ZÄÖÜ])", " ", name)
    return [word.lower() for word in re.split(r"[\W_]+", parted) if word]


def is_date(column: pl.Series) -> bool:
    """Whether every value is a date or a time: by its type, its text, or its name and its range.

    >>> is_date(pl.Series(["2026-01-31 12:00", None])), is_date(pl.Series(["31.1.26"])), is_date(pl.Series(["1.5"]))
    (True, True, False)
    """
    if column.dtype.is_temporal():
        return True
    seen = column.drop_nulls()
    if column.dtype == pl.String:
        return bool(len(seen)) and _all_dates(seen.head(100)) and _all_dates(seen)
    if not column.dtype.is_integer() or not len(seen) or DATE_WORDS.isdisjoint(words_of(column.name)):
        return False
    days = bool(seen.is_between(19000101, 21001231).all() and ((seen // 100) % 100).is_between(1, 12).all())
    return days or any(bool(seen.is_between(SECONDS[0] * unit, SECONDS[1] * unit).all()) for unit in (1, 1000))


def _all_dates(seen: pl.Series) -> bool:
    if not seen.str.contains(DATE).all():
        return False
    letters = seen.filter(seen.str.contains(r"[A-Za-z]{3}") & ~seen.str.contains(r"^[^A-Za-z]*UTC$"))
    return bool(letters.str.contains(MONTHS).all())


def why_identifier(column: pl.Series, different: int) -> str | None:
    """Why a column names rows, people or visits and says nothing of them; None if it does not seem to.

    `different` is the number of its values. A column of few values, or of numbers with decimals, is no identifier.
    """
    seen = len(column) - column.null_count()
    if different <= MOST_LEVELS or column.dtype.is_float():
        return None
    if different == seen:
        return "a different value in every row"
    if not IDENTIFIER_WORDS.isdisjoint(words_of(column.name)[-1:]):
        return f"{different:,} values, and called one"
    if column.dtype == pl.String and column.drop_nulls().str.contains(CODED).all():
        return f"{different:,} values that look like one"
    return None
