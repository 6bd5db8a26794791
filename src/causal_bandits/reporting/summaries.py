"""What a summary.json and a manifest.json hold, as figures, tables and pages read them."""

from typing import Any, Literal, NotRequired, TypedDict


class ContrastRecord(TypedDict):
    """A difference that a claim depends on."""

    text: str
    difference: float
    se: float
    expected: Literal["positive", "not negative", "zero"]
    bound: float


class ClaimRecord(TypedDict):
    """A claim with its differences."""

    where: str
    text: str
    contrasts: list[ContrastRecord]


class CellRecord(TypedDict):
    """A claim under one reading: the value of each factor, and the differences."""

    reading: dict[str, str]
    contrasts: list[ContrastRecord]


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


class TheoremRow(TypedDict):
    """A world of Theorem 3.1."""

    world: int
    graph: str
    set: str
    arms: int
    data_sets: int
    rows: int
    variance: float
    variance_se: float
    decomposition: float
    own_variance: float
    bias: float
    bias_se: float
    largest_bias_z: float
    largest_variance_z: float
    smallest_saving_z: float


class ExampleRow(TypedDict):
    """A set in a world of sec. 3.2."""

    world: str
    set: str
    key: str
    separates: str
    data_sets: int
    variance: float
    variance_se: float
    decomposition: float
    more_than_best: float
    more_than_best_se: float


class Claimed(TypedDict):
    """What claims are judged by."""

    claims: list[ClaimRecord]


class Heading(TypedDict):
    """What every summary starts with."""

    figure: str
    title: str
    question: str
    version: str
    seed: int
    horizon: int
    runs: int


class Summary(Heading, Claimed):
    """Lines over rounds have `series`; tables have `rows`; claims by reading have `matrix`."""

    measure: NotRequired[str]
    rounds_axis: NotRequired[str]
    worlds: NotRequired[int]
    weights: NotRequired[str]
    by_tier: NotRequired[bool]
    series: NotRequired[dict[str, Series]]
    rows: NotRequired[list[TheoremRow] | list[ExampleRow]]
    matrix: NotRequired[list[MatrixRecord]]
    """Claims by reading."""
    unread: NotRequired[list[str]]
    """The figures to whose claims no reading applies."""


class About(TypedDict, total=False):
    """How a figure was made: whatever may differ between two equal runs."""

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
