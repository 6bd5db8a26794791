"""Settings for all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Compiling takes seconds at first use, so examples have no deadline; in CI the same examples are tried every time.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

STATISTICAL = Path(__file__).parent / "statistical"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is in the statistical room."""
    for item in items:
        if STATISTICAL in item.path.parents:
            item.add_marker(pytest.mark.statistical)
