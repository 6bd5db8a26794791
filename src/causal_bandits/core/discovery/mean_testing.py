"""Direct testing where the reward is not 0 or 1 and not Gaussian either: means are compared by permutation."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...errors import OptionError, whole_number
from ..compiled import Floats, Ints
from ..data import DesignLayout, Rows
from ..independence import IndependenceResult, compared_means
from ..independence.permutation import DRAWS, MOST_DRAWS
from ..validation import check_fields
from .base import Findings, check_alpha
from .declared import Declared
from .residual import ResidualReading, levers_tested


@dataclass(frozen=True)
class MeanTesting(Declared):
    """Accept I' for S when a permutation test does not reject that arms share their mean reward given S.

    Unlike `ResidualTesting` it assumes no distribution and no equal variances: revenue with many zeros and heavy tails,
    counts and ordered levels hold their level. Within each cell of the discrete variables of S rewards are permuted
    (`mean_test`); of real-valued variables the linear part is taken out first.

    Args:
        alpha: Significance level of the tests.
        reading: ``conditional`` (each lever given the others) or ``joint``, as in `ResidualTesting`.
        draws: Number of random deals per test.

    >>> MeanTesting(alpha=0.01).reading
    'conditional'
    """

    name: ClassVar[str] = "means"
    reads_rows: ClassVar[bool] = True
    alpha: float = 0.05
    reading: ResidualReading = "conditional"
    draws: int = DRAWS

    def __post_init__(self) -> None:
        check_alpha(self.alpha, 0.05)
        check_fields(self)
        whole_number("draws", self.draws, 1, MOST_DRAWS)

    def discover(self, layout: DesignLayout, table: Any, rows: int) -> Findings:
        """Test every set of the layout on the rows that have a value for each of its variables."""
        if not isinstance(layout, DesignLayout) or not isinstance(table, Rows):
            raise OptionError("MeanTesting needs a reward that is not 0 or 1; use DirectTesting() or ASD()")
        tested, others = levers_tested(layout.problem, self.reading)
        sets = len(layout.members)
        found = {name: np.zeros((sets, len(tested))) for name in IndependenceResult._fields}
        found["dof"] = np.zeros((sets, len(tested)), dtype=np.int64)
        rng = np.random.default_rng(rows)
        for place in range(sets):
            whole = np.all(table.codes[:, list(layout.members[place])] >= 0, axis=1)
            kept = Rows(table.arms[whole], table.codes[whole], table.rewards[whole], table.raw[whole])
            values, cells = _given(layout, place, kept)
            for test in range(len(tested)):
                strata = np.unique(np.stack([cells, others[test][kept.arms]]), axis=1, return_inverse=True)[1]
                result = compared_means(values, kept.arms, strata.astype(np.int64), self.draws, rng)
                for name, value in result._asdict().items():
                    found[name][place, test] = value
        accepted = found["p_value"] > self.alpha
        separated = np.repeat(accepted, len(layout.problem.interventions), axis=1) if len(tested) == 1 else accepted
        return Findings(layout, rows, separated, "tested", found, tested)


def _given(layout: DesignLayout, place: int, rows: Rows) -> tuple[Floats, Ints]:
    """Rewards without the linear part of the set's real variables, and the cell of its discrete ones."""
    observed, numbers = layout.problem.observed, [v for v, each in enumerate(layout.problem.observed) if each.is_number]
    cells = np.zeros(len(rows.arms), dtype=np.int64)
    real = []
    for member in layout.members[place]:
        if observed[member].is_real:
            real.append(rows.raw[:, numbers.index(member)])
        else:
            cells = np.unique(cells * observed[member].size + rows.codes[:, member], return_inverse=True)[1]
    values = np.asarray(rows.rewards, dtype=np.float64)
    if real and len(values):
        design = np.stack([np.ones(len(values)), *real], axis=1)
        values = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
    return values, cells.astype(np.int64)
