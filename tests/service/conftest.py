"""Applications in this process, on a fresh SQLite file."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from causal_bandits.product.service import Tokens
from causal_bandits.product.service.tokens import NO_TOKENS

from .calls import TOKENS, Caller

OpenApp = Callable[..., Caller]


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/studies.db"


@pytest.fixture
def open_app(storage: str) -> Iterator[OpenApp]:
    """Makes applications with some settings."""
    made: list[Caller] = []

    def work(tokens: Tokens = NO_TOKENS, **options: Any) -> Caller:
        made.append(Caller.to(storage, tokens, **options))
        return made[-1]

    yield work
    for caller in made:
        caller.close()


@pytest.fixture
def call(open_app: OpenApp) -> Caller:
    """Nobody needs a token."""
    return open_app()


@pytest.fixture
def closed(open_app: OpenApp) -> Caller:
    """Everybody needs a token."""
    return open_app(TOKENS)
