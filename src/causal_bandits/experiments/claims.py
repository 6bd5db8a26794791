"""What a paper claims, in numbers: differences that should be positive, and how sure we are of them.

A claim is kept with the experiment, its differences and standard errors are worked out with the summary, and the
verdict is read off the summary: no verdict is set manually.
"""

from typing import Literal, NamedTuple, cast

from ..reporting.summaries import Claimed, ClaimRecord, ContrastRecord

Expected = Literal["positive", "not negative", "zero"]
SURE = 2.0
"""Standard errors."""


class Term(NamedTuple):
    """A line of the figure at a share of the horizon, times a factor."""

    factor: float
    key: str
    at: float = 1.0


class Contrast(NamedTuple):
    """constant + sum of terms, which the claim says is positive; in ratios to the baseline or as measured."""

    text: str
    terms: tuple[Term, ...]
    constant: float = 0.0
    relative: bool = True


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


def _when(at: float) -> str:
    return "" if at == 1 else f" at {at:g} T"


class Measured(NamedTuple):
    """A contrast with its value; `bound` is the number of standard errors that decides."""

    text: str
    difference: float
    se: float
    expected: Expected = "positive"
    bound: float = SURE

    @property
    def z(self) -> float:
        """The difference over its standard error; a difference without any spread is certain."""
        if self.se > 0:
            return self.difference / self.se
        return 0.0 if self.difference == 0 else float("inf") if self.difference > 0 else float("-inf")

    @property
    def verdict(self) -> str:
        """holds, fails or open."""
        if self.expected == "zero":
            return "holds" if abs(self.z) <= self.bound else "fails"
        if self.z <= -self.bound:
            return "fails"
        return "holds" if self.z >= self.bound or self.expected == "not negative" else "open"


class Verdict(NamedTuple):
    """The verdict on a claim."""

    where: str
    text: str
    verdict: str
    measured: tuple[Measured, ...]

    @property
    def words(self) -> str:
        """For people."""
        return {"holds": "holds", "fails": "does not hold", "open": "not settled"}[self.verdict]


def record(where: str, text: str, measured: list[Measured]) -> ClaimRecord:
    """A claim in a summary."""
    return {"where": where, "text": text, "contrasts": [cast(ContrastRecord, each._asdict()) for each in measured]}


def judge(summary: Claimed) -> list[Verdict]:
    """The verdict on each claim of a summary, from its numbers: all contrasts must hold, one that fails decides.

    >>> found = record("Fig. 0", "A beats B", [Measured("B - A", 3.0, 1.0), Measured("C - A", 0.1, 1.0)])
    >>> [verdict.words for verdict in judge({"claims": [found]})]
    ['not settled']
    """
    verdicts = []
    for claim in summary.get("claims", []):
        measured = tuple(Measured(**each) for each in claim["contrasts"])
        each = {one.verdict for one in measured}
        verdict = "fails" if "fails" in each else "open" if "open" in each or not each else "holds"
        verdicts.append(Verdict(claim["where"], claim["text"], verdict, measured))
    return verdicts
