"""What the reference says: every parameter of a public class or function is described, or by a base of the class."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

import causal_bandits as cb

PACKAGES = (cb, cb.policies, cb.comparators, cb.worlds, cb.discovery, cb.simulation)
RESULTS: set[object] = {
    cb.SeparatingSet,
    cb.discovery.DiscoveredGraphs,
    cb.discovery.Evidence,
    cb.discovery.Findings,
    cb.discovery.SeparatingSets,
    cb.policies.ArmEstimate,
    cb.policies.Effects,
    cb.policies.Estimates,
    cb.policies.Lift,
    cb.policies.Recommendation,
    cb.policies.Source,
    cb.simulation.Run,
    cb.simulation.Simulation,
    cb.simulation.Tails,
    cb.worlds.Limits,
}
"""Made by the package, not by a caller."""
NOT_CALLED: set[object] = {
    cb.CausalBanditsError,
    cb.discovery.Discovery,
    cb.discovery.Tier,
}
"""Protocols, an enumeration and an exception."""
BASE: set[object] = {cb.policies.Policy}
"""Its docstring describes what every policy takes."""
EXEMPT = RESULTS | NOT_CALLED | BASE
PUBLIC = {
    f"{package.__name__}.{name}": getattr(package, name)
    for package in PACKAGES
    for name in sorted(package.__all__)
    if callable(getattr(package, name))
}


def is_exempt(documented: object) -> bool:
    return documented in EXEMPT


CHECKED = {name: documented for name, documented in PUBLIC.items() if not is_exempt(documented)}


def described(docstring: str) -> set[str]:
    section = re.search(r"^Args:\n((?:    .*\n?|\n)+)", docstring + "\n", re.MULTILINE)
    return set(re.findall(r"^    (\w+): \S", section[1], re.MULTILINE)) if section else set()


@pytest.mark.parametrize("documented", CHECKED.values(), ids=CHECKED)
def test_every_parameter_is_described(documented: Callable[..., Any]) -> None:
    if documented is cb.Study:
        documented = cb.Study.create
    parameters = set(inspect.signature(documented).parameters)
    own = documented.__doc__ or ""  # what all subclasses take is described by their base class
    kinds = inspect.getmro(documented) if isinstance(documented, type) else (documented,)
    found = {name for kind in kinds for name in described(inspect.cleandoc(kind.__doc__ or ""))}
    assert described(inspect.cleandoc(own)) <= parameters <= found


def test_every_exemption_is_public() -> None:
    assert set(PUBLIC.values()) >= EXEMPT
