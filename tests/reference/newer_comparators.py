"""Comparators of 2023 to 2025 the long way: from lists of rows, by enumeration and by general optimizers."""

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

Floats = NDArray[np.float64]
Row = tuple[int, tuple[int, ...], int]
Edges = frozenset[tuple[int, int]]


def evidence(weights: Sequence[float], means: Sequence[float], rows: Sequence[int], variance: float) -> float:
    """min over t of sum_z N_z (m_z - t_z)^2 / (2 v) where sum_z weight_z t_z <= 0, by a general optimizer."""
    found = minimize(
        lambda t: sum(n * (m - each) ** 2 / (2 * variance) for n, m, each in zip(rows, means, t, strict=True)),
        np.array(means, dtype=float),
        constraints=[{"type": "ineq", "fun": lambda t: -float(np.dot(weights, t))}],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    return float(found.fun)


def evidence_cost(x: float) -> float:
    """C(x), with the zeta function as a sum with its tail."""

    def value(scale: float) -> float:
        s, last = 2 * scale, 2000
        series = sum(n**-s for n in range(1, last)) + last ** (1 - s) / (s - 1) + 0.5 * last**-s
        return (s * (1 - math.log(2 * s)) + math.log(series) - 0.5 * math.log(1 - scale) + x) / scale

    return float(minimize_scalar(value, bounds=(0.5 + 1e-6, 1 - 1e-6), method="bounded").fun)


def least_hardest_gap(weights: Floats, p: Floats, start: Floats) -> float:
    """min over mixtures of max_a sum_z weight^2 / Q(z), by a general optimizer from a start."""
    scale = float((weights**2 / (start @ p)).sum(axis=1).max())
    bounds: list[tuple[float, float | None]] = [(0.0, 1.0)] * len(p) + [(0.0, None)]
    found = minimize(
        lambda x: x[-1],
        np.append(start, 1.0),
        constraints=[
            {"type": "ineq", "fun": lambda x: x[-1] - (weights**2 / np.maximum(x[:-1] @ p, 1e-9)).sum(axis=1) / scale},
            {"type": "eq", "fun": lambda x: x[:-1].sum() - 1},
        ],
        bounds=bounds,
        method="SLSQP",
        options={"maxiter": 300},
    )
    eta = found.x[:-1] / found.x[:-1].sum()
    return float((weights**2 / (eta @ p)).sum(axis=1).max())


def graphs(nodes: int) -> list[Edges]:
    """Every acyclic graph: subsets of arrows along some order."""
    found = set()
    for order in itertools.permutations(range(nodes)):
        forward = list(itertools.combinations(order, 2))
        for chosen in itertools.product((0, 1), repeat=len(forward)):
            found.add(frozenset(itertools.compress(forward, chosen)))
    return sorted(found, key=sorted)


def parents(rows: Sequence[Row], settings: Sequence[Sequence[int]], sizes: Sequence[int]) -> list[dict[Edges, float]]:
    """P(parents of each node | rows): graphs scored row by row with urns that start with one ball per level."""
    logs = {}
    for graph in graphs(len(sizes)):
        urns: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        logs[graph] = 0.0
        for arm, codes, reward in rows:
            values = (*codes, reward)
            for node, size in enumerate(sizes):
                if node < len(codes) and settings[arm][node] >= 0:
                    continue
                above = tuple(values[tail] for tail, head in sorted(graph) if head == node)
                urn = urns.setdefault((node, above), [1] * size)
                logs[graph] += math.log(urn[values[node]] / sum(urn))
                urn[values[node]] += 1
    most = max(logs.values())
    total = sum(math.exp(each - most) for each in logs.values())
    found: list[dict[Edges, float]] = [{} for _ in sizes]
    for graph, log in logs.items():
        for node in range(len(sizes)):
            into = frozenset((tail, head) for tail, head in graph if head == node)
            found[node][into] = found[node].get(into, 0.0) + math.exp(log - most) / total
    return found


def back_door(table: Mapping[tuple[int, int, int], float], level: int) -> float:
    """sum_z P(1 | x, z) P(z) from the probabilities of (x, z, y)."""
    total = 0.0
    for z in {z for _, z, _ in table}:
        of_z = sum(chance for (_, at, _), chance in table.items() if at == z)
        both = table[level, z, 0] + table[level, z, 1]
        total += table[level, z, 1] / both * of_z
    return total


def share(rows: Sequence[Row], arm: int, node: int, level: int, given: tuple[int, int] | None = None) -> float:
    """P(node = level | arm), or given that another node has a level; the reward is the last node."""
    values = [(*codes, reward) for pulled, codes, reward in rows if pulled == arm]
    kept = [each for each in values if given is None or each[given[0]] == given[1]]
    return sum(each[node] == level for each in kept) / len(kept)
