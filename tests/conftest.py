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
BEGINNINGS = (
    ("contracts",),
    ("discovery", "estimators", "independence", "environments", "data", "graphs", "problem"),
    ("experiments", "reporting", "test_docs.py", "test_cli.py", "test_compiled.py", "test_streams.py"),
)
"""Where each of three processes begins: one compiles what plays; the others find it on disk when they come to it."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the statistical room, and put first in each third of the tests what one process begins with."""
    thirds: list[list[pytest.Item]] = [[], [], []]
    rest: list[pytest.Item] = []
    for item in items:
        if STATISTICAL in item.path.parents:
            item.add_marker(pytest.mark.statistical)
        room = item.path.relative_to(HERE).parts[0] if HERE in item.path.parents else ""
        rooms = [third for third, begins in zip(thirds, BEGINNINGS, strict=True) if room in begins]
        (rooms[0] if rooms else rest).append(item)
    for third, begins in zip(thirds, BEGINNINGS, strict=True):
        third.sort(key=lambda item: begins.index(item.path.relative_to(HERE).parts[0]))
        room_left = max(0, -(-len(items) // 3) - len(third))
        third.extend(rest[:room_left])
        rest = rest[room_left:]
    items[:] = [*thirds[0], *thirds[1], *thirds[2], *rest]


COMPILED = (
    *("contracts/test_playing.py", "contracts/test_interpreted.py", "environments", "experiments", "simulation"),
    *("discovery", "estimators", "independence", "policies/comparators", "statistical", "test_compiled.py"),
    *("test_docs.py", "test_generators.py", "test_references.py", "reporting/test_notebooks.py"),
    *("policies/test_algorithm1.py", "policies/test_saving.py", "studies/test_warm_up.py", "studies/test_reading.py"),
    *("policies/test_real.py", "policies/test_ask_tell.py", "policies/test_posterior.py", "policies/test_safe"),
)
"""Tests of compiled code, or of so many rounds that compiling pays; all others run interpreted, which starts at once.

The environment variable CAUSAL_BANDITS_TEST_COMPILE (now or never) decides for all of them.
"""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Compile what is used, or not, by where the test is."""
    where = item.path.relative_to(HERE).as_posix() if HERE in item.path.parents else ""
    compiles = where.startswith(COMPILED) or "[graph-posterior" in item.name  # which draws graphs in long loops
    how = CHOSEN or ("now" if compiles else "never")
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
