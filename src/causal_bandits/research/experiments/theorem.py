"""The theorem and the example of the paper, on data sets with fixed numbers of rows per arm."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, get_args

import numpy as np

from ...core.compiled import Floats, Ints
from ...core.estimators import sample_mean, sharing_estimate, sharing_variance
from ...core.graphs import random_mixed_graph
from ...core.graphs.enumeration import DagClass
from ...libraries import pl, special
from ...reporting.summaries import ClaimRecord, Measured
from ..worlds import DiscreteSCM, example_world, paper_world
from ..worlds.paper import Best
from .base import Scale
from .claims import record
from .families import four_node_classes

# Eq. 2 on data sets with fixed numbers of rows per arm, in worlds whose distributions are known exactly.
#
# A data set is drawn as a table of counts, multinomial from P(S, Y | arm): no step assumes that S separates. All data
# sets are estimated in one call, each as its own group of arms.


AT_ONCE = 2000
"""Data sets in memory at a time."""


class Seen(NamedTuple):
    """A world seen through S."""

    joint: Floats
    """(arms, cells, 2): P(S, Y | arm)."""
    groups: Ints
    """(arms,): the setting of I_NS."""

    @property
    def means(self) -> Floats:
        """The mean reward of each arm."""
        means: Floats = self.joint[:, :, 1].sum(axis=1)
        return means


def see(world: DiscreteSCM, through: Iterable[str], not_separated: Iterable[str] = ()) -> Seen:
    """The exact distribution of S and Y under every arm."""
    names = [*through, world.problem.target]
    joint = np.array([world.distribution(arm, names).reshape(-1, 2) for arm in world.problem.arms])
    return Seen(joint / joint.sum(axis=(1, 2), keepdims=True), world.problem.arm_groups(not_separated))


def draw_tables(joint: Floats, rows: Sequence[int], count: int, rng: np.random.Generator) -> Ints:
    """Tables of many data sets: (data sets, arms, ...)."""
    drawn = [rng.multinomial(n, p.ravel(), size=count) for n, p in zip(rows, joint, strict=True)]
    return np.stack(drawn, axis=1).reshape(count, *joint.shape)


def shared_estimates(tables: Ints, groups: Ints) -> Floats:
    """Eq. 2 / 6 for each data set and arm."""
    apart = np.arange(len(tables))[:, None] * (groups.max() + 1) + groups
    flat = sharing_estimate(tables.reshape(-1, *tables.shape[2:]), apart.ravel())
    return flat.reshape(tables.shape[:2])


def decomposed_variance(seen: Seen, rows: Sequence[int]) -> Floats:
    """The variance that appendix A gives for every arm, within its group."""
    variance = np.empty(len(rows))
    for group in range(int(seen.groups.max()) + 1):
        members = np.flatnonzero(seen.groups == group)
        joint = seen.joint[members]
        total = joint.sum(axis=(0, 2))
        reward = np.minimum(joint[:, :, 1].sum(axis=0) / np.maximum(total, 1e-300), 1.0)
        for place, arm in enumerate(members.tolist()):
            variance[arm] = sharing_variance(joint.sum(axis=2), reward, np.array(rows)[members], place).shared
    return variance


def errors_of(seen: Seen, rows: Sequence[int], data_sets: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """How far eq. 2 and the sample mean are from the truth, for each data set that is drawn and each arm."""
    shared, own = [], []
    for start in range(0, data_sets, AT_ONCE):
        tables = draw_tables(seen.joint, rows, min(AT_ONCE, data_sets - start), rng)
        shared.append(shared_estimates(tables, seen.groups) - seen.means)
        means = sample_mean(tables.reshape(-1, *tables.shape[2:]))
        own.append(means.reshape(tables.shape[:2]) - seen.means)
    return np.concatenate(shared), np.concatenate(own)


# Theorem 3.1 and sec. 3.2 as tables: bias and variance of eq. 2 against appendix A


FALSE_ALARM = 0.01
"""Of each equality, over all arms and worlds together."""
ROWS = (2, 9)
"""Rows per arm in a world of the theorem: drawn from here, the end not included."""
EXAMPLE_ROWS = (6, 10)
SETS: dict[str, tuple[str, ...]] = {"AB": ("A", "B"), "S2": ("S2",), "S3": ("S3",), "empty": ()}
WORLDS: tuple[Best, ...] = get_args(Best)


def bound(comparisons: int) -> float:
    """How many standard errors the largest of this many may reach by chance (Bonferroni)."""
    return float(-special.ndtri(FALSE_ALARM / (2 * comparisons)))


# Theorem 3.1


def theorem_world(number: int, rng: np.random.Generator) -> tuple[DiscreteSCM, tuple[str, ...]]:
    """One of the 64 classes, then random graphs with hidden common causes; with a random separating set."""
    classes: tuple[DagClass, ...] = four_node_classes()
    while True:
        if number < len(classes):
            graph = classes[number].graph
        else:
            graph = random_mixed_graph(["A", "B", "C", "Y"], rng, p_directed=0.5, p_bidirected=0.3)
        world = paper_world(graph, seed=rng)
        sets = world.separating_sets()
        if sets and graph.parents("Y"):
            return world, tuple(sets[rng.integers(len(sets))])


def run_theorem(number: int, size: Scale, seed: np.random.SeedSequence) -> pl.DataFrame:
    """One world: one row."""
    rng = np.random.default_rng(seed)
    world, through = theorem_world(number, rng)
    seen = see(world, through)
    rows = rng.integers(*ROWS, size=len(seen.joint)).tolist()
    shared, own = errors_of(seen, rows, size.runs, rng)
    expected = decomposed_variance(seen, rows)
    squared = shared**2
    saved = own**2 - squared
    bias, variance, saving = (in_standard_errors(each) for each in (shared, squared - expected, saved))
    return pl.DataFrame(
        {
            "world": [number],
            "graph": [repr(world.graph).removeprefix("MixedGraph(").removesuffix(")")],
            "set": ["{" + ", ".join(through) + "}"],
            "arms": [len(rows)],
            "data_sets": [size.runs],
            "rows": [sum(rows)],
            "variance": [float(squared.mean())],
            "variance_se": [_error(squared.mean(axis=1))],
            "decomposition": [float(expected.mean())],
            "own_variance": [float((seen.means * (1 - seen.means) / rows).mean())],
            "bias": [float(shared.mean())],
            "bias_se": [_error(shared.mean(axis=1))],
            "largest_bias_z": [float(np.abs(bias).max())],
            "largest_variance_z": [float(np.abs(variance).max())],
            "smallest_saving_z": [float(saving.min())],
        }
    )


def in_standard_errors(samples: Floats) -> Floats:
    """How far the mean over data sets is from 0; rounding alone (1e-15) is no distance."""
    spread = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    distance: Floats = samples.mean(axis=0) / (spread + 1e-12)
    return distance


def _error(samples: Floats) -> float:
    return float(samples.std(ddof=1) / np.sqrt(len(samples)))


def theorem_claims(rows: pl.DataFrame) -> list[ClaimRecord]:
    """Unbiased; as the decomposition says; never worse than the sample mean."""
    arms = int(rows["arms"].sum())
    off = _relative(rows, "decomposition")
    saved, saved_se = _relative(rows, "own_variance")
    bias = _mean(rows["bias"].to_numpy(), rows["bias_se"].to_numpy())
    smallest = _number(rows["smallest_saving_z"].min())
    return [
        record(
            "Theorem 3.1",
            "The information sharing estimator is unbiased.",
            [Measured("mean bias", *bias, "zero", bound(1)), _largest(rows, "bias", "largest_bias_z")],
        ),
        record(
            "Appendix A",
            "Its variance is that of the decomposition with alpha*.",
            [
                Measured("measured / decomposition - 1", *_mean(off[0] - 1, off[1]), "zero", bound(1)),
                _largest(rows, "difference", "largest_variance_z"),
            ],
        ),
        record(
            "Theorem 3.1",
            "Its variance is at most that of the sample mean.",
            [
                Measured("share of the variance saved", *_mean(1 - saved, saved_se)),
                Measured(
                    f"smallest saving of {arms} arms, in standard errors", smallest, 1.0, "not negative", bound(arms)
                ),
            ],
        ),
    ]


def _relative(rows: pl.DataFrame, to: str) -> tuple[Floats, Floats]:
    """The variance measured in each world over another one, and its standard error."""
    return (rows["variance"] / rows[to]).to_numpy(), (rows["variance_se"] / rows[to]).to_numpy()


def _largest(rows: pl.DataFrame, what: str, column: str) -> Measured:
    """The largest of all arms, which chance alone makes large."""
    arms = int(rows["arms"].sum())
    text = f"largest {what} of {arms} arms, in standard errors"
    return Measured(text, _number(rows[column].max()), 1.0, "zero", bound(arms))


def _number(value: object) -> float:
    assert isinstance(value, float)
    return value


def _mean(values: Floats, errors: Floats) -> tuple[float, float]:
    """Mean over worlds, each with its own standard error."""
    return float(values.mean()), float(np.sqrt((errors**2).sum()) / len(errors))


# Sec. 3.2


def run_example(number: int, size: Scale, seed: np.random.SeedSequence) -> pl.DataFrame:
    """One world: a row per set, all estimated from the same data sets."""
    best = WORLDS[number]
    world = example_world(best)
    observed = world.problem.observed_names
    joint = np.array([world.distribution(arm, [*observed, "Y"]) for arm in world.problem.arms])
    tables = draw_tables(joint, EXAMPLE_ROWS, size.runs, np.random.default_rng(seed))
    together = np.zeros(len(EXAMPLE_ROWS), dtype=np.int64)
    squared = {}
    for name, through in SETS.items():
        gone = tuple(2 + place for place, variable in enumerate(observed) if variable not in through)
        marginal = tables.sum(axis=gone).reshape(size.runs, len(EXAMPLE_ROWS), -1, 2)
        squared[name] = ((shared_estimates(marginal, together) - world.means) ** 2).mean(axis=1)
    separating = world.separating_sets()
    return pl.DataFrame(
        [
            {
                "world": f"{best} is best",
                "set": "{" + ", ".join(through) + "}",
                "key": name,
                "separates": "by the graph" if tuple(through) in separating else "by the numbers",
                "data_sets": size.runs,
                "variance": float(squared[name].mean()),
                "variance_se": _error(squared[name]),
                "decomposition": float(decomposed_variance(see(world, through), EXAMPLE_ROWS).mean()),
                "more_than_best": float((squared[name] - squared[best]).mean()),
                "more_than_best_se": _error(squared[name] - squared[best]),
            }
            for name, through in SETS.items()
            if name != "empty" or np.ptp(world.means) < 1e-12
        ]
    )


def example_claims(rows: pl.DataFrame) -> list[ClaimRecord]:
    """Each of the three sets is the best one somewhere."""
    others = [
        Measured(
            f"{row['world']}: variance through {row['set']} - through the best",
            row["more_than_best"],
            row["more_than_best_se"],
        )
        for row in rows.to_dicts()
        if row["key"] not in ("empty", row["world"].split()[0])
    ]
    return [record("Sec. 3.2", "Which of {A, B}, {S2} and {S3} is best depends on the SCM.", others)]
