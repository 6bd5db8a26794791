"""The contents of summary.json and manifest.json."""

from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

Expected = Literal["positive", "not negative", "zero"]
SURE = 2.0
"""Number of standard errors that decides a claim."""


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
        return {"holds": "holds", "fails": "does not hold", "open": "inconclusive"}[self.verdict]


class ClaimRecord(TypedDict):
    """A claim with its differences."""

    where: str
    text: str
    contrasts: list[dict[str, Any]]
    """The fields of `Measured`."""


class CellRecord(TypedDict):
    """A claim under one reading: the value of each factor, and the differences."""

    reading: dict[str, str]
    contrasts: list[dict[str, Any]]


class MatrixRecord(TypedDict):
    """A claim under every reading that was played."""

    where: str
    text: str
    figure: str
    own: dict[str, str]
    """The reading of the figure itself."""
    cells: list[CellRecord]


class Series(TypedDict):
    """A line: a method in a panel of worlds, at the rounds `t`."""

    label: str
    method: str
    knows: str
    tier: NotRequired[int]
    tier_label: NotRequired[str]
    panel: str
    baseline: str
    worlds: int
    runs: int
    t: list[int]
    mean: list[float]
    se: list[float]
    ratio: NotRequired[list[float]]
    """To the baseline."""
    ratio_se: NotRequired[list[float]]
    of_oracle: NotRequired[float]
    """Multiple of the regret of the oracle, a policy that knows more, at the end."""
    of_oracle_se: NotRequired[float]
    tails: NotRequired[dict[str, Any]]
    """The fields of `simulation.Tails`; of runs in one world also `survival`, pairs of x and P(regret > x), and the
    `exponent` a in P(regret > x) ~ x^-a, from the largest 5% of the runs, with `exponent_se`."""


class Summary(TypedDict):
    """Lines over rounds have `series`; tables have `rows`; claims by reading have `matrix`."""

    figure: str
    title: str
    question: str
    version: str
    seed: int
    horizon: int
    runs: int
    claims: list[ClaimRecord]
    measure: NotRequired[str]
    rounds_axis: NotRequired[str]
    worlds: NotRequired[int]
    weights: NotRequired[str]
    by_tier: NotRequired[bool]
    series: NotRequired[dict[str, Series]]
    rows: NotRequired[list[dict[str, Any]]]
    """As the cases of the figure gave them."""
    matrix: NotRequired[list[MatrixRecord]]
    """Claims by reading."""
    unread: NotRequired[list[str]]
    """The figures to whose claims no reading applies."""


class About(TypedDict, total=False):
    """How a figure was made: everything that may differ between two equal runs."""

    command: str | None
    options: dict[str, Any]
    """Of the command that made it."""
    workers: int
    seconds: float
    work_seconds: float
    microseconds: dict[str, float]
    """Per round of each method."""
    finished: str
    version: str
    commit: str | None
    python: str
    libraries: dict[str, str]
    machine: str
    again: str
    """The command that makes it again."""
