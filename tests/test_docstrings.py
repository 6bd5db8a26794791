"""What the reference says: every parameter of a public class or function is described."""

import inspect
import re

import pytest

import causal_bandits as cb
from causal_bandits.errors import CausalBanditsError

IN_PROSE = {"SafeThompsonSampling", "preset"}
"""Their few options are described in their sentences."""
RESULTS = {"SeparatingSet"}
"""Made by the package, not by a caller; its fields are described one by one."""
NAMES = sorted(
    name
    for name in set(cb.__all__) - IN_PROSE - RESULTS
    if callable(getattr(cb, name)) and getattr(cb, name) is not CausalBanditsError
)


def described(docstring: str) -> set[str]:
    section = re.search(r"^Args:\n((?:    .*\n?|\n)+)", docstring + "\n", re.MULTILINE)
    return set(re.findall(r"^    (\w+): \S", section[1], re.MULTILINE)) if section else set()


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_described(name: str) -> None:
    documented = cb.Study.create if name == "Study" else getattr(cb, name)
    parameters = set(inspect.signature(documented).parameters)
    assert described(inspect.getdoc(documented) or "") == parameters
