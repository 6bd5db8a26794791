"""Settings for all tests."""

import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from causal_bandits.core.compiled import functions
from tests import messages

# Compiling makes many objects, few of them garbage: looking for it less often saves a seventh of the time.
gc.set_threshold(100_000, 50, 50)

# Nothing is compiled in the background; which tests run compiled is said below.
CHOSEN = os.environ.get("CAUSAL_BANDITS_TEST_COMPILE")
os.environ["CAUSAL_BANDITS_COMPILE"] = CHOSEN or "never"
os.environ.setdefault("NUMBA_OPT", "1")  # compiling takes two thirds of the time, and code runs a quarter longer

# Compiling takes seconds at first use, so examples have no deadline; in CI the same examples are tried every time.
# `make test-slow` tries many more.
settings.register_profile("default", deadline=None, max_examples=25)
settings.register_profile("ci", deadline=None, max_examples=25, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=400)
settings.load_profile("ci" if os.environ.get("CI") else "default")

HERE = Path(__file__).parent
STATISTICAL = HERE / "statistical"
COMPILED = (
    *("contracts/test_interpreted.py", "contracts/test_playing.py", "simulation/test_", "policies/test_safe"),
    *("estimators", "statistical", "test_docs.py", "policies/test_real.py", "policies/comparators", "experiments"),
    *("policies/test_saving.py", "policies/test_ask_tell.py", "policies/test_posterior.py"),
    *("policies/test_algorithm1.py", "studies/test_reading.py"),
    *("environments", "discovery", "independence"),
    *("reporting/test_notebooks.py", "test_references.py", "test_generators.py", "test_compiled.py"),
)
"""Tests of compiled code, or of so many rounds that compiling pays; all others run interpreted, which starts at once.

The environment variable CAUSAL_BANDITS_TEST_COMPILE (now or never) decides for all of them.
"""
INTERPRETED = ("simulation/test_knowledge.py",)
"""What is not compiled although the above says so."""


def place_of(item: pytest.Item) -> int | None:
    """The place in `COMPILED` of what a test belongs to; None if it runs interpreted."""
    where = item.path.relative_to(HERE).as_posix() if HERE in item.path.parents else ""
    if "[graph-posterior" in item.name:  # which draws graphs in long loops
        return 0
    return (
        None if where in INTERPRETED else next((n for n, each in enumerate(COMPILED) if where.startswith(each)), None)
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the statistical room, and put first what is compiled, in the order of `COMPILED`.

    The first of three processes begins with it, so that nearly everything is compiled once; the others help when they
    have done the rest, and find the code on disk.
    """
    for item in items:
        if STATISTICAL in item.path.parents:
            item.add_marker(pytest.mark.statistical)
    items.sort(key=lambda item: len(COMPILED) if (place := place_of(item)) is None else place)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Compile what is used, or not, by where the test is."""
    how = CHOSEN or ("never" if place_of(item) is None else "now")
    if os.environ.get("CAUSAL_BANDITS_COMPILE") != how:
        os.environ["CAUSAL_BANDITS_COMPILE"] = how
        for function in functions.known:
            if isinstance(function, functions.Compiled):
                function._ready.clear()


def pytest_runtest_teardown() -> None:
    """Close the figures that a test has drawn: matplotlib warns of many, whoever opened them."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-messages", action="store_true", help="write the golden file of error messages again")


UPDATED: dict[str, str] = {}


@pytest.fixture
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> messages.Golden:
    """Compare the sentence of an error with the golden file."""

    def check(error: BaseException) -> None:
        case, said = request.node.nodeid, messages.sentence(error, tmp_path)
        if request.config.getoption("--update-messages"):
            UPDATED[case] = said
        else:
            assert said == messages.read().get(case), "if the new sentence is right, run make messages"

    return check


def pytest_sessionfinish() -> None:
    """Keep the sentences of the golden file that were made again."""
    if UPDATED:
        messages.write(UPDATED)


def pytest_collection_finish() -> None:
    """What was collected stays to the end: no need to look at it again and again."""
    gc.freeze()
