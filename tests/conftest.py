"""Settings for all tests."""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings

# Compiling makes many objects, few of them garbage: looking for it less often saves a seventh of the time.
gc.set_threshold(100_000, 50, 50)

# Compiling takes seconds at first use, so examples have no deadline; in CI the same examples are tried every time.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

HERE = Path(__file__).parent
STATISTICAL = HERE / "statistical"
LAST = {HERE / "policies", HERE / "simulation", STATISTICAL}
"""Rooms that play every policy, as `bit_identity` and `contracts` do."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the statistical room; play all policies first and last, since one of two processes begins in the middle."""
    for item in items:
        if STATISTICAL in item.path.parents:
            item.add_marker(pytest.mark.statistical)
    items.sort(key=lambda item: not LAST.isdisjoint(item.path.parents))


def pytest_collection_finish() -> None:
    """What was collected stays to the end: no need to look at it again and again."""
    gc.freeze()
