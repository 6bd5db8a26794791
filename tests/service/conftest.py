"""Applications in this process, on a fresh SQLite file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .calls import TOKENS, Caller


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/studies.db"


@pytest.fixture
def call(storage: str) -> Iterator[Caller]:
    """Nobody needs a token."""
    caller = Caller.to(storage)
    yield caller
    caller.close()


@pytest.fixture
def closed(storage: str) -> Iterator[Caller]:
    """Everybody needs a token."""
    caller = Caller.to(storage, TOKENS)
    yield caller
    caller.close()
