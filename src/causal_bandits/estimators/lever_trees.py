"""Which arms have the same P(S | arm): trees over the levers.

A tree splits the arms by the levels of one lever, each part by those of another, and so on; the arms of a leaf are
alike. A lever may so matter at one level of another and not at the next: with a perfect intervention on X, nothing else
acts on X. Every part is split with probability `SPLIT` beforehand, by each lever that is left with equal chances, and a
leaf has one distribution of S, Dirichlet(prior, ..., prior). The evidence of a part is then

    P(part) = (1 - SPLIT) P(rows | one leaf) + SPLIT / levers left * sum over levers of the product of P(sub-part),

a sum over all trees that needs one pass over the parts (as in context tree weighting, Willems et al. 1995). The tree is
drawn from its posterior and not the most probable one, so that an arm without rows is now and then on its own.
"""

import math

import numpy as np

from ..compiled import Floats, Ints, compiled
from ..data import CountTables
from ..problem import Problem

SPLIT = 0.05
PRIOR_ROWS = 2.0
LEAF_ROWS = 1.0
"""The prior rows of a leaf when trees are compared; few, since a perfect intervention leaves one value."""
LARGEST = 2**14
"""Parts x cells of the largest tree: where there are more, arms have their own rows only."""
STREAM = 0x616C696B65
"""Of the random numbers that draw trees. They depend on the number of rows alone, so that looking changes nothing."""


def sparse_prior(cells: Ints) -> Floats:
    """The prior count of each cell: `PRIOR_ROWS` in all, and at most 1.

    One row per cell, as in the paper, is a strong opinion where cells are many: an arm without rows would be sure to be
    about average.
    """
    prior: Floats = np.minimum(1.0, PRIOR_ROWS / cells)
    return prior


def arms_alike(problem: Problem, tables: CountTables, places: Ints, rows: int) -> Ints:
    """(places, arms): arms with equal numbers are taken to have the same distribution of the set at that place."""
    levels = np.array([lever.size for lever in problem.interventions])
    parts = int(np.prod(levels + 1))
    found = np.tile(np.arange(len(problem.arms)), (len(places), 1))
    rng = np.random.default_rng((STREAM, rows))
    for line, place in enumerate(places.tolist()):
        cells = int(tables.cells[place])
        if parts * cells <= LARGEST:
            counts = tables.table(place).sum(axis=2)
            if len(tables.pending):
                counts = counts + tables.pending_table(place)
            leaves = draw_leaves(counts, problem.arm_codes, levels, LEAF_ROWS / cells, rng)
            found[line] = np.unique(leaves, return_inverse=True)[1]
    return found


@compiled
def log_evidence(counts: Ints, prior: float) -> float:
    """log P(rows) of one leaf: a sequence of values with these counts and one Dirichlet(prior, ..., prior)."""
    total, found = 0, 0.0
    for count in counts:
        if count > 0:
            found += math.lgamma(count + prior) - math.lgamma(prior)
            total += count
    return found + math.lgamma(len(counts) * prior) - math.lgamma(total + len(counts) * prior)


@compiled
def part_strides(levels: Ints) -> Ints:
    """A part is a number: the level of each lever times its stride, with one level more for "any"."""
    strides = np.ones(len(levels), dtype=np.int64)
    for lever in range(len(levels) - 2, -1, -1):
        strides[lever] = strides[lever + 1] * (levels[lever + 1] + 1)
    return strides


@compiled
def weigh_options(evidence: Floats, part: int, levels: Ints, strides: Ints, one_leaf: float) -> Floats:
    """The logarithm of each summand of P(part): to split by each lever, and last to be a leaf."""
    options = np.full(len(levels) + 1, -np.inf)
    left = 0
    for lever in range(len(levels)):
        if part // strides[lever] % (levels[lever] + 1) == levels[lever]:
            left += 1
            options[lever] = 0.0
            for level in range(levels[lever]):
                options[lever] += evidence[part - (levels[lever] - level) * strides[lever]]
    if left == 0:
        options[-1] = one_leaf
        return options
    for lever in range(len(levels)):
        options[lever] += math.log(SPLIT / left)
    options[-1] = one_leaf + math.log(1 - SPLIT)
    return options


@compiled
def _add(totals: Ints, counts: Ints) -> None:
    """`totals += counts`, without numba's words for lengths that differ (see `compiled.put`)."""
    for cell in range(len(totals)):
        totals[cell] += counts[cell]


@compiled
def draw_leaves(table: Ints, codes: Ints, levels: Ints, prior: float, rng: np.random.Generator) -> Ints:
    """The part that is each arm's leaf in a tree drawn from the posterior; table is (arms, cells)."""
    strides = part_strides(levels)
    parts = strides[0] * (levels[0] + 1)
    counts = np.zeros((parts, table.shape[1]), dtype=np.int64)
    for arm in range(len(table)):
        _add(counts[(codes[arm] * strides).sum()], table[arm])
    evidence, split = np.empty(parts), np.empty(parts, dtype=np.int64)
    for part in range(parts):  # "any" is the last level, so what a part is made of comes before it
        for lever in range(len(levels)):
            if part // strides[lever] % (levels[lever] + 1) == levels[lever]:
                for level in range(levels[lever]):
                    _add(counts[part], counts[part - (levels[lever] - level) * strides[lever]])
                break
        options = weigh_options(evidence, part, levels, strides, log_evidence(counts[part], prior))
        highest = options.max()
        summed = np.cumsum(np.exp(options - highest))
        evidence[part] = highest + math.log(summed[-1])
        split[part] = np.searchsorted(summed, rng.random() * summed[-1], side="right")
    leaves = np.empty(len(table), dtype=np.int64)
    for arm in range(len(table)):
        leaf = parts - 1
        while split[leaf] < len(levels):
            lever = split[leaf]
            leaf -= (levels[lever] - codes[arm, lever]) * strides[lever]
        leaves[arm] = leaf
    return leaves
