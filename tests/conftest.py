"""Settings for all tests."""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings

# Compiling makes many objects, few of them garbage: looking for it less often saves a seventh of the time.
gc.set_threshold(100_000, 50, 50)

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


def pytest_collection_finish() -> None:
    """What was collected stays to the end: no need to look at it again and again."""
    gc.freeze()
