import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from causal_bandits import errors
from causal_bandits.errors import CausalBanditsError

ERRORS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind is not CausalBanditsError]
ERRORS = [kind for kind in ERRORS if issubclass(kind, CausalBanditsError)]


def builtin_of(kind: Any) -> type[Exception]:
    """The builtin that an error is, by itself or through another error of ours."""
    found: type[Exception] = next(base for base in kind.__mro__ if base.__module__ == "builtins")
    return found


def test_the_drawing_shows_every_error_with_its_builtin() -> None:
    page = Path(__file__).parents[1] / "docs" / "reference" / "problem.md"
    drawn = dict(re.findall(r"[├└]── (\w+) \((\w+)\)", page.read_text(encoding="utf-8")))
    assert drawn == {kind.__name__: builtin_of(kind).__name__ for kind in ERRORS}


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_is_ours_and_a_builtin(kind: type[Exception]) -> None:
    builtin = builtin_of(kind)
    assert builtin is not Exception
    with pytest.raises(builtin, match="what and why"):
        raise kind("what and why")
    assert str(kind("what and why")) == "what and why"
