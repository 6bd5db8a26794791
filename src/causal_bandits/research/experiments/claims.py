"""What a paper claims, in numbers: differences that should be positive, and how sure we are of them.

A claim is kept with the experiment, its differences and standard errors are computed with the summary, and the
verdict is read off the summary: no verdict is set manually.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...reporting.summaries import ClaimRecord, Expected, Measured, Verdict


class Term(NamedTuple):
    """A line of the figure at a share of the horizon, times a factor."""

    factor: float
    key: str
    at: float = 1.0


class Contrast(NamedTuple):
    """constant + sum of terms, which the claim says is positive (or `expected`); relative to the baseline, or not."""

    text: str
    terms: tuple[Term, ...]
    constant: float = 0.0
    relative: bool = True
    expected: Expected = "positive"


class Claim(NamedTuple):
    """One sentence of the paper, and what has to be positive for it to hold."""

    where: str
    text: str
    contrasts: tuple[Contrast, ...]


def below(lower: str, upper: str, at: float = 1.0) -> Contrast:
    """The first line lies below the second one, both relative to the baseline."""
    return Contrast(f"{upper} - {lower}{_when(at)}", (Term(1.0, upper, at), Term(-1.0, lower, at)))


def at_most(bound: float, key: str, at: float = 1.0) -> Contrast:
    """A line's ratio to its baseline stays under a bound."""
    return Contrast(f"{bound:g} - {key}{_when(at)}", (Term(-1.0, key, at),), constant=bound)


def at_most_of(factor: float, key: str, of: str, where: str = "") -> Contrast:
    """A line lies below this many times another one, both relative to the baseline; `where` ends both keys."""
    terms = (Term(factor, f"{of}{where}"), Term(-1.0, f"{key}{where}"))
    return Contrast(f"{factor:g} {of}{where} - {key}{where}", terms)


def _when(at: float) -> str:
    return "" if at == 1 else f" at {at:g} T"


def record(where: str, text: str, measured: list[Measured]) -> ClaimRecord:
    """A claim in a summary."""
    return {"where": where, "text": text, "contrasts": [each._asdict() for each in measured]}


def judge(summary: Mapping[str, Any]) -> list[Verdict]:
    """The verdict on each claim of a summary, from its numbers: all contrasts must hold, one that fails decides.

    >>> found = record("Fig. 0", "A beats B", [Measured("B - A", 3.0, 1.0), Measured("C - A", 0.1, 1.0)])
    >>> [verdict.words for verdict in judge({"claims": [found]})]
    ['inconclusive']
    """
    verdicts = []
    for claim in summary.get("claims", []):
        measured = tuple(Measured(**each) for each in claim["contrasts"])
        each = {one.verdict for one in measured}
        verdict = "fails" if "fails" in each else "open" if "open" in each or not each else "holds"
        verdicts.append(Verdict(claim["where"], claim["text"], verdict, measured))
    return verdicts
