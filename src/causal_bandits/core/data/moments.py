"""ArmMoments: per arm the number of rows, the mean and the centered cross-products of observed variables and reward.

The real-valued twin of the count tables: every regression on every set, in every pool of arms, is a solve with
sub-matrices of these, and a row changes only its own arm's. Means and cross-products are kept centered (Welford), so
values around a million with a spread of one lose no precision.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...errors import ProblemError
from ..compiled import Bools, Floats, Ints, by_reference, compiled
from ..problem import Problem
from .coding import Rows
from .subsets import LIMIT_BYTES, SubsetLayout

MOST_SETS = 4096
MOST_MEANS = 2**16
"""Sets x arms, by default: a round looks at the mean of every arm through every set in use."""


COLLINEAR = 1e-9
"""A column whose residual spread, given the columns before it, is at most this share is skipped."""


class ArmMoments(NamedTuple):
    """Columns are those of the design (see `DesignLayout`), the reward last."""

    counts: Ints
    """(arms,)."""
    means: Floats
    """(arms, columns)."""
    scatter: Floats
    """(arms, columns, columns): sums of products of deviations from the arm's mean."""


@compiled
def add_row(moments: ArmMoments, arm: int, values: Floats) -> None:
    """Count one row of design columns and reward (Welford)."""
    moments.counts[arm] += 1
    count = moments.counts[arm]
    columns = len(values)
    for one in range(columns):
        before = values[one] - moments.means[arm, one]
        moments.means[arm, one] += before / count
        for other in range(one + 1):  # the old deviation of one column times the new deviation of the other
            moments.scatter[arm, one, other] += before * (values[other] - moments.means[arm, other])
            moments.scatter[arm, other, one] = moments.scatter[arm, one, other]


@compiled
def remove_row(moments: ArmMoments, arm: int, values: Floats) -> None:
    """Remove a row that was counted."""
    moments.counts[arm] -= 1
    count = moments.counts[arm]
    if count == 0:
        moments.means[arm, :] = 0.0
        moments.scatter[arm, :, :] = 0.0
        return
    for one in range(len(values) - 1, -1, -1):  # the first mean last: products need the deviations from later means
        after = (values[one] - moments.means[arm, one]) / count
        for other in range(one + 1):
            moments.scatter[arm, one, other] -= (count + 1) * after * (values[other] - moments.means[arm, other])
            moments.scatter[arm, other, one] = moments.scatter[arm, one, other]
        moments.scatter[arm, one, one] = max(moments.scatter[arm, one, one], 0.0)
        moments.means[arm, one] -= after


@compiled
def add_rows(moments: ArmMoments, arms: Ints, values: Floats) -> None:
    """Count many rows."""
    for row in range(len(arms)):
        add_row(moments, arms[row], values[row])


@by_reference
class ViewMoments(NamedTuple):
    """Moments of some of the rows: view v has those rows in which nothing was missing that the sets of v need."""

    counts: Ints
    """(views, arms)."""
    means: Floats
    """(views, arms, columns)."""
    scatter: Floats
    """(views, arms, columns, columns)."""


@compiled
def view(views: ViewMoments, index: int) -> ArmMoments:
    """One view; what is added to it is added to the views."""
    return ArmMoments(views.counts[index], views.means[index], views.scatter[index])


@compiled
def _merge_arm(moments: ArmMoments, arm: int, merged: ArmMoments, group: int) -> None:
    """Merge an arm's moments into a group's (Chan); only the lower triangle of the cross-products."""
    count, before = moments.counts[arm], merged.counts[group]
    if count == 0:
        return
    share = count / (before + count)
    for one in range(merged.means.shape[1]):
        gap = (moments.means[arm, one] - merged.means[group, one]) * before * share
        for other in range(one + 1):
            product = gap * (moments.means[arm, other] - merged.means[group, other])
            merged.scatter[group, one, other] += moments.scatter[arm, one, other] + product
    for one in range(merged.means.shape[1]):
        merged.means[group, one] += (moments.means[arm, one] - merged.means[group, one]) * share
    merged.counts[group] += count


@compiled
def nothing_merged(count: int, width: int) -> ArmMoments:
    """Groups of arms without rows."""
    return ArmMoments(np.zeros(count, dtype=np.int64), np.zeros((count, width)), np.zeros((count, width, width)))


@compiled
def merge_into(moments: ArmMoments, places: Ints, merged: ArmMoments) -> None:
    """Merge each arm's moments into its group's (-1: into none); call `mirror` afterwards."""
    for arm in range(len(places)):
        if places[arm] >= 0:
            _merge_arm(moments, arm, merged, places[arm])


@compiled
def mirror(merged: ArmMoments) -> None:
    """Fill the upper triangles of the cross-products."""
    for group in range(len(merged.counts)):
        for one in range(merged.means.shape[1]):
            for other in range(one):
                merged.scatter[group, other, one] = merged.scatter[group, one, other]


@compiled
def merge_groups(moments: ArmMoments, groups: Ints) -> ArmMoments:
    """The moments of groups of arms, given the number of each arm's group."""
    merged = nothing_merged(groups.max() + 1, moments.means.shape[1])
    merge_into(moments, groups, merged)
    mirror(merged)
    return merged


@compiled
def design_row(spans: Ints, values: Floats, design: Floats) -> None:
    """Design columns and reward from one value per observed variable (a level number if discrete) and the reward."""
    design[:] = 0.0
    for variable in range(len(spans)):
        start, levels = spans[variable]
        if levels == 0:
            design[start] = values[variable]
        elif values[variable] > 0:
            design[start + int(values[variable]) - 1] = 1.0
    design[-1] = values[-1]


@dataclass(frozen=True)
class DesignLayout(SubsetLayout):
    """The columns of the regressions: a real variable is one, a discrete one has a column per level but the first.

    Sets are all subsets of the observed variables with at most `max_size` members.

    >>> layout = DesignLayout.of(Problem("Y", {"A": float, "B": 3}, {"I": 2}, reward=float))
    >>> layout.names, layout.width, [columns.tolist() for columns in layout.columns]
    (((), ('A',), ('B',), ('A', 'B')), 4, [[], [0], [1, 2], [0, 1, 2]])
    """

    holds = "moments"

    @classmethod
    def of(cls, problem: Problem, max_size: int | None = None) -> "DesignLayout":
        """The layout for a problem with a real-valued reward; without `max_size` as many sets as stay fast and fit."""
        if not problem.reward_is_real:
            raise ProblemError(f"the reward {problem.target!r} is 0 or 1; pass reward=float, or use a discrete policy")
        for variable in problem.observed:
            if variable.bins is not None:
                raise ProblemError(
                    f"{variable.name!r} is cut into bins; with a real-valued reward, declare it as float"
                )
        return cls.sized(problem, max_size)

    @property
    def nbytes(self) -> int:
        """Memory of the moments of every arm, and of groups, means and variances if all sets are in use."""
        arms = len(self.problem.arms)
        numbers = arms * self.width * (self.width + 1) + self.count * (3 * arms + self.width)
        return numbers * np.dtype(np.float64).itemsize

    @property
    def is_small(self) -> bool:
        """Whether a round looks at few enough means, and the moments fit."""
        means = self.count * len(self.problem.arms)
        return self.count <= MOST_SETS and means <= MOST_MEANS and self.nbytes <= LIMIT_BYTES

    @cached_property
    def _spans(self) -> tuple[range, ...]:
        """The design columns of each observed variable."""
        widths = [1 if variable.is_real else variable.size - 1 for variable in self.problem.observed]
        starts = list(itertools.accumulate(widths, initial=0))
        return tuple(range(start, start + width) for start, width in zip(starts, widths, strict=False))

    @cached_property
    def spans(self) -> Ints:
        """(observed variables, 2): first design column, and number of levels (0 for a real variable)."""
        pairs = [(span.start, variable.size) for span, variable in zip(self._spans, self.problem.observed, strict=True)]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    @property
    def width(self) -> int:
        """The number of columns, with the reward."""
        return sum(map(len, self._spans)) + 1

    @cached_property
    def columns(self) -> tuple[Ints, ...]:
        """The design columns of each set."""
        return tuple(
            np.array([column for place in members for column in self._spans[place]], dtype=np.int64)
            for members in self.members
        )

    def chosen(self, *, with_reward: bool = False) -> Bools:
        """(sets, columns): the columns of each set; the column of the reward comes last, or is left out."""
        chosen = np.zeros((len(self.columns), self.width), dtype=np.bool_)
        for place, columns in enumerate(self.columns):
            chosen[place, columns] = True
        chosen[:, -1] = True
        return chosen if with_reward else chosen[:, :-1].copy()

    def design(self, rows: Rows) -> Floats:
        """(rows, columns): design columns and reward; 0 where a value was not observed (see `views_of`)."""
        values = np.zeros((len(rows.arms), self.width))
        number = 0
        for place, variable in enumerate(self.problem.observed):
            span = self._spans[place]
            if variable.is_real:
                values[:, span.start] = np.where(rows.codes[:, place] < 0, 0.0, rows.raw[:, number])
                number += 1
            else:
                for level, column in enumerate(span, start=1):
                    values[:, column] = rows.codes[:, place] == level
        values[:, -1] = rows.rewards
        return values

    def views_of(self, patterns: Sequence[int]) -> tuple[Ints, Bools]:
        """Which rows each set may use, given the patterns of missing variables seen so far (bit v: variable v).

        First, for each set the number of its view; view 0 has all rows. Second, (views, patterns): whether a view has
        the rows of a pattern. Sets that the same patterns touch share a view.
        """
        masks = [sum(1 << index for index in members) for members in self.members]
        touched = [tuple(bool(mask & pattern) for pattern in patterns) for mask in masks]
        views = sorted(set(touched))  # the empty set is touched by none, and comes first
        holds = ~np.array(views, dtype=np.bool_).reshape(len(views), len(patterns))
        return np.array([views.index(each) for each in touched], dtype=np.int64), holds

    def empty_views(self, count: int, *, with_reward: bool = True) -> ViewMoments:
        """Views without rows; the column of the reward may be left out."""
        arms, width = len(self.problem.arms), self.width - (not with_reward)
        shape = (count, arms, width)
        return ViewMoments(np.zeros((count, arms), dtype=np.int64), np.zeros(shape), np.zeros((*shape, width)))

    def empty(self) -> ArmMoments:
        """Moments without rows."""
        arms, width = len(self.problem.arms), self.width
        return ArmMoments(np.zeros(arms, dtype=np.int64), np.zeros((arms, width)), np.zeros((arms, width, width)))
