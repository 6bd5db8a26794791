"""Every error this package raises on purpose.

A message is one sentence or two: the value, what was expected, what to do.
"""

import warnings
from collections.abc import Iterable

LONGEST = 200
"""Characters of a value that a message shows."""


class CausalBanditsError(Exception):
    """The root: catch this to catch everything raised on purpose."""


class ProblemError(CausalBanditsError, ValueError):
    """A problem that contradicts itself."""


class GraphError(CausalBanditsError, ValueError):
    """A graph that is invalid, or cannot be used here."""


class WorldError(CausalBanditsError, ValueError):
    """A world that contradicts itself."""


class OptionError(CausalBanditsError, ValueError):
    """An option outside its range."""


class UnknownArmError(CausalBanditsError, LookupError):
    """An arm the problem does not have."""


class UnknownVariableError(CausalBanditsError, LookupError):
    """A variable that the problem does not have."""


class UnknownLevelError(CausalBanditsError, LookupError):
    """A level the variable does not have."""


class ObservationError(CausalBanditsError, ValueError):
    """A row that cannot be counted."""


class SaveFileError(CausalBanditsError, ValueError):
    """A corrupt or foreign save file."""


class TableFileError(CausalBanditsError, ValueError):
    """A CSV or Parquet file that cannot be read as a table."""


class UnknownStudyError(CausalBanditsError, LookupError):
    """A study the storage does not have."""


class StudyExistsError(CausalBanditsError, ValueError):
    """A study of that name with other settings."""


class UnknownDecisionError(CausalBanditsError, LookupError):
    """A decision the study never made."""


class DecisionClosedError(CausalBanditsError, ValueError):
    """A tell for a decision that was abandoned or has expired."""


class StudyFinishedError(CausalBanditsError, ValueError):
    """A call that needs a study that is not finished."""


class ConflictError(CausalBanditsError, ValueError):
    """A call that contradicts something already stored; nothing was changed."""


class StorageError(CausalBanditsError, OSError):
    """A database that cannot be used."""


class UnreadableStudyError(StorageError):
    """Stored data that cannot be read: corrupt, or written by a newer version. Other studies may be fine."""


class AccessError(CausalBanditsError, PermissionError):
    """A token that the server does not know, or that lacks the scope."""


class OutputError(CausalBanditsError, OSError):
    """A folder or file that cannot be written."""


class EngineError(CausalBanditsError, RuntimeError):
    """Workers that do not respond, or die repeatedly."""


class MissingExtraError(CausalBanditsError, ImportError):
    """An optional library that is not installed."""


class StorageWarning(UserWarning):
    """A database that works, but not as it should."""


class CacheWarning(UserWarning):
    """A cache on disk that cannot be read or written: the work is repeated, with the same results."""


_warned: set[str] = set()


def warn_once(subject: str, sentence: str) -> None:
    """A `CacheWarning`, once in this process for each subject."""
    if subject not in _warned:
        _warned.add(subject)
        warnings.warn(sentence, CacheWarning, stacklevel=3)


def missing_extra(library: str, extra: str) -> MissingExtraError:
    """The error for an optional library, with the command that installs it.

    >>> print(missing_extra("gymnasium", "gym"))
    gymnasium is not installed; in a clone of the repository run: pip install '.[gym]'
    """
    wanted = f".[{extra}]" if extra else "."
    return MissingExtraError(f"{library} is not installed; in a clone of the repository run: pip install '{wanted}'")


def listing(values: Iterable[object], limit: int = 8) -> str:
    """The expected values of a message, cut when there are many.

    >>> listing(["a", "b"])
    "'a', 'b'"
    >>> listing(range(20), limit=3)
    '0, 1, 2, ... (20 in all)'
    """
    shown = [brief(value) for value in values]
    if len(shown) > limit:
        return ", ".join(shown[:limit]) + f", ... ({len(shown)} in all)"
    return ", ".join(shown) or "none"


def brief(value: object) -> str:
    """A value for a message: cut if it is long, and its type if it cannot be shown.

    >>> brief("a"), brief(10**5000)
    ("'a'", 'a value of type int')
    """
    try:
        shown = " ".join(repr(value).split())
    except (ArithmeticError, AttributeError, LookupError, RecursionError, RuntimeError, TypeError, ValueError):
        return f"a value of type {type(value).__name__}"
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}..."


def whole_number(name: str, value: object, least: int, most: int | None = 2**63 - 1) -> int:
    """An option that must be an integer from `least` to `most`.

    >>> whole_number("runs", 3, 1)
    3
    """
    try:
        found = None if isinstance(value, bool) else int(value.__index__())  # type: ignore[attr-defined]
    except (AttributeError, TypeError):  # an array of several numbers is not one either
        found = None
    if found is None or found < least:
        raise OptionError(f"{name}={brief(value)}; expected an integer >= {least}")
    if most is not None and found > most:
        raise OptionError(f"{name}={brief(value)}; expected an integer from {least} to {most:,}")
    return found


def flag(name: str, value: object) -> bool:
    """An option that must be True or False."""
    if not isinstance(value, bool) and type(value).__name__ != "bool":  # numpy has one too
        raise OptionError(f"{name}={brief(value)}; expected True or False")
    return bool(value)


def share(name: str, value: object) -> float:
    """An option that must be a number between 0 and 1, neither of them.

    >>> share("level", 0.95)
    0.95
    """
    try:
        found = None if isinstance(value, bool | str | bytes) else float(value)  # type: ignore[arg-type]
    except (ArithmeticError, TypeError, ValueError):
        found = None
    if found is None or not 0 < found < 1:
        raise OptionError(f"{name}={brief(value)}; expected a number between 0 and 1")
    return found
