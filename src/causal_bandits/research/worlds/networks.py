"""Worlds from Bayesian networks: published probabilities, with levers on chosen variables."""

import importlib.resources
import os
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...core.compiled import Floats
from ...core.files import file_path
from ...core.graphs import MixedGraph
from ...core.problem import Level
from ...core.validation import are_names
from ...errors import UnknownVariableError, WorldError, brief, listing
from .bif import MOST_CELLS, Node, read_network
from .discrete_scm import DiscreteSCM
from .mechanisms import IDLE, Effect, Mechanism, Nudge

NETWORKS = ("asia", "survey", "sachs")
"""The networks that come with the package; where their numbers come from is said in datasets/networks/*.md."""
LONGEST_FILE = 2**26

Levers = str | Iterable[str] | Mapping[str, Iterable[Level | Nudge]]


def from_bif(
    network: str | os.PathLike[str],
    *,
    target: str,
    success: str | Iterable[str],
    levers: Levers,
    observed: Iterable[str] | None = None,
    arms: Iterable[Mapping[str, Level]] | None = None,
) -> DiscreteSCM:
    """A world with the probabilities of a Bayesian network, from a file in the BIF format or one that is packaged.

    A hidden variable is summed out of the world where that is exact: it has at most one child, or no cause
    is left and it becomes a noise that its children share. Anything else is rejected.

    Args:
        network: Path of a BIF file (`.bif`), or the name of a packaged network: ``"asia"``, ``"survey"``, ``"sachs"``.
        target: Variable that is the reward.
        success: Level or levels of the target that count as 1; the others are 0.
        levers: Variables to act on, each of which can be set to every level; or variable -> list of what its lever
            does: a level to set it to (perfect), or a `Nudge` (soft). The lever on X is named I_X, and idle at first.
        observed: Variables that are seen; the others are hidden. By default all but those that the target causes.
        arms: Arms that can be pulled; all combinations by default.

    >>> world = from_bif("asia", target="dysp", success="no", levers=["smoke", "bronc"])
    >>> world.problem.observed_names, len(world.problem.arms), world.means.max().round(3).item()
    (('asia', 'tub', 'smoke', 'lung', 'bronc', 'either', 'xray'), 9, 0.888)
    >>> soft = from_bif("survey", target="T", success=["train", "other"], levers={"R": ["small", Nudge(-1.0)]})
    >>> soft.problem.arms
    (do(), do(R=small), do(R=-1))
    """
    nodes = _read(network)
    known = _names("target", [target], nodes)[0]
    ones = _successes(nodes[known], known, success)
    effects = _levers(nodes, known, levers)
    after = set(_graph(nodes).descendants([known])) if observed is None else set()
    chosen = [name for name in nodes if name not in after] if observed is None else _names("observed", observed, nodes)
    seen = [name for name in nodes if name in {*chosen, known}]
    for lever in effects:
        if lever not in seen:
            raise WorldError(f"the lever on {lever!r} acts on a hidden variable; add it to observed")
    kept, noise = _without(nodes, [name for name in nodes if name not in seen])
    return DiscreteSCM(
        {name: 2 if name == known else list(node.levels) for name, node in kept.items()},
        _mechanisms(kept, known, ones),
        {f"I_{name}": values for name, values in effects.items()},
        target=known,
        noise=noise,
        arms=arms,
    )


def _read(network: str | os.PathLike[str]) -> dict[str, Node]:
    if isinstance(network, str) and network in NETWORKS:
        packaged = importlib.resources.files("causal_bandits.core.datasets").joinpath(f"networks/{network}.bif")
        return read_network(packaged.read_text("utf-8"), network)
    path = file_path(network)
    if path.suffix != ".bif":
        raise WorldError(
            f"{brief(str(network))} is neither a packaged network ({listing(NETWORKS)}) nor a file that ends in .bif"
        )
    return read_network(_text(path), brief(str(path)))


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LONGEST_FILE:
            raise WorldError(f"{brief(str(path))} is larger than {LONGEST_FILE:,} bytes; such networks are not read")
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise WorldError(f"cannot read {brief(str(path))} ({error.strerror or error}); name a BIF file") from None
    except UnicodeError:
        raise WorldError(f"{brief(str(path))} is not a text file; expected a network in the BIF format") from None


# What is asked of a network


def _names(role: str, names: object, nodes: Mapping[str, Node]) -> list[str]:
    if not are_names(names):
        raise WorldError(f"{role} is {brief(names)}; expected a list of names of variables")
    found: list[str] = list(names)  # type: ignore[call-overload]
    for name in found:
        if not isinstance(name, str) or name not in nodes:
            raise UnknownVariableError(f"{brief(name)} ({role}) is not a variable; expected some of {listing(nodes)}")
    return found


def _successes(node: Node, target: str, success: object) -> list[int]:
    wanted = [success] if isinstance(success, str) else list(success) if are_names(success) else []  # type: ignore[call-overload]
    if not wanted or not set(wanted) < set(node.levels):
        raise WorldError(
            f"success={brief(success)}; expected some of the levels of {target!r}, not all: {listing(node.levels)}"
        )
    return [node.levels.index(level) for level in wanted]


def _levers(nodes: Mapping[str, Node], target: str, levers: object) -> dict[str, dict[Level, Effect]]:
    given = [levers] if isinstance(levers, str) else levers
    names = _names("levers", given, nodes)
    if not names or target in names:
        raise WorldError(f"levers={brief(levers)}; expected variables to act on, and not the target {target!r}")
    found: dict[str, dict[Level, Effect]] = {}
    for name in names:
        does = given[name] if isinstance(given, Mapping) else nodes[name].levels
        values = [does] if isinstance(does, str | Nudge) or not isinstance(does, Iterable) else list(does)
        found[name] = {IDLE: {}}
        for value in values:
            if not isinstance(value, Nudge) and (not isinstance(value, Hashable) or value not in nodes[name].levels):
                raise WorldError(
                    f"the lever on {name!r} has {brief(value)}; expected a Nudge or a level of it: "
                    f"{listing(nodes[name].levels)}"
                )
            found[name][f"{value.log_odds:+g}" if isinstance(value, Nudge) else value] = {name: value}
        if not values or len(found[name]) < 1 + len(values):
            raise WorldError(f"the lever on {name!r} has {listing(values)}; expected different levels or nudges")
    return found


def _graph(nodes: Mapping[str, Node]) -> MixedGraph:
    return MixedGraph(list(nodes), [(parent, name) for name, node in nodes.items() for parent in node.parents])


# Hidden variables


def _without(nodes: Mapping[str, Node], hidden: list[str]) -> tuple[dict[str, Node], dict[str, list[float]]]:
    """The network without some variables, and those of them that are now noises."""
    left, noise = dict(nodes), dict[str, list[float]]()
    order = _graph(nodes).topological_order()
    for name in reversed([name for name in order if name in hidden]):  # what only hidden variables cause goes first
        if not _children(left, name):
            del left[name]
    for name in [name for name in order if name in hidden and name in left]:
        children, node = _children(left, name), left.pop(name)
        if len(children) == 1:
            left[children[0]] = _absorbed(left[children[0]], name, node, left)
        elif not node.parents:
            noise[name] = node.table.tolist()
        else:
            raise WorldError(
                f"{name!r} cannot be hidden: it has causes ({listing(node.parents)}) and several effects "
                f"({listing(children)}); observe it, or hide its causes too"
            )
    return left, noise


def _children(nodes: Mapping[str, Node], name: str) -> list[str]:
    return [child for child, node in nodes.items() if name in node.parents]


def _absorbed(child: Node, name: str, node: Node, left: Mapping[str, Node]) -> Node:
    """P(child | its other parents and those of the hidden one): the sum over the hidden one's levels."""
    parents = tuple(dict.fromkeys([*(parent for parent in child.parents if parent != name), *node.parents]))
    axes = {each: place for place, each in enumerate((*parents, name))}
    own = len(axes)
    cells = np.prod([*(len(left[each].levels) for each in parents if each in left), len(child.levels)], dtype=float)
    if cells > MOST_CELLS:
        raise WorldError(f"hiding {name!r} makes a table of {cells:,.0f} numbers; observe it")
    operands: list[Any] = [
        child.table,
        [*(axes[parent] for parent in child.parents), own],
        node.table,
        [*(axes[parent] for parent in node.parents), axes[name]],
        [*(axes[parent] for parent in parents), own],
    ]
    table: Floats = np.einsum(*operands)
    return Node(child.levels, parents, table)


def _mechanisms(nodes: Mapping[str, Node], target: str, ones: list[int]) -> dict[str, Mechanism]:
    """The tables, with the target's levels merged into 0 and 1."""
    effects = _children(nodes, target)
    levels = len(nodes[target].levels)
    if effects and levels > 2:
        raise WorldError(
            f"the target {target!r} has {levels} levels and causes {listing(effects)}; leave those out of observed"
        )
    found = {}
    for name, node in nodes.items():
        table = node.table
        if name == target:
            success = table[..., ones].sum(axis=-1)
            table = np.stack([1 - success, success], axis=-1)
        elif target in node.parents and ones == [0]:
            table = np.flip(table, axis=node.parents.index(target))
        found[name] = Mechanism(node.parents, table)
    return found
