"""The names at the root: few, all listed, imported when first used."""

import subprocess
import sys
from types import ModuleType

import pytest

import causal_bandits as cb

PACKAGES = [name for name in cb.__all__ if isinstance(getattr(cb, name), ModuleType) and name != "errors"]


def test_the_root_is_short() -> None:
    assert len(cb.__all__) == len(set(cb.__all__)) <= 55


def test_every_listed_name_exists_and_is_shown() -> None:
    for name in cb.__all__:
        assert getattr(cb, name) is not None
    shown = set(dir(cb))
    assert {*cb.__all__, "__version__"} <= shown
    assert {name for name in shown if name.startswith("_")} == {name for name in shown if name.startswith("__")}
    assert not {"Any", "importlib", "TYPE_CHECKING", "moved"} & shown
    assert all(hasattr(cb, name) for name in shown)


def test_lazy_names_are_shown_before_they_are_used() -> None:
    program = "import sys, causal_bandits as cb; print({'Study', 'compare'} <= {*dir(cb)}, 'sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


@pytest.mark.parametrize("room", PACKAGES)
def test_rooms_list_what_they_have(room: str) -> None:
    module = getattr(cb, room)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'causal_bandits' has no attribute 'UCB7'$"):
        getattr(cb, "UCB7")  # noqa: B009
