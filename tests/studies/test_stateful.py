"""Random sequences of calls against a simple model in memory; restarts and a second process at any moment."""

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

import causal_bandits as cb
from causal_bandits.product.studies import session

from .cases import SHOP
from .conftest import new_schema
from .model import COUNTED, Model

_servers: list[str] = []
EXAMPLES = settings().max_examples // 4


@pytest.fixture(autouse=True, scope="module")
def _frequent_snapshots() -> Any:
    old, session.SNAPSHOT_EVENTS = session.SNAPSHOT_EVENTS, 5
    yield
    session.SNAPSHOT_EVENTS = old


class TransactionalModel(Model):
    """Transactional studies on SQLite."""

    @initialize(seed=st.integers(0, 3), window=st.sampled_from([None, 5.0]), problem=st.sampled_from([SHOP, COUNTED]))
    def create(self, seed: int, window: float | None, problem: cb.Problem) -> None:
        self.begin(problem, seed=seed, reward_window=window)


class HighThroughputModel(Model):
    """High-throughput mode: what was acknowledged is compared whenever something was published."""

    is_published = True

    @initialize(seed=st.integers(0, 3), problem=st.sampled_from([SHOP, COUNTED]))
    def create(self, seed: int, problem: cb.Problem) -> None:
        self.storage = new_schema(_servers[0])
        self.begin(problem, seed=seed, mode="high-throughput", publish_rows=7, publish_seconds=1000.0)

    @rule()
    def publish(self) -> None:
        """Count what was appended; what comes after this step is not published yet."""
        self.level()

    def level(self) -> None:
        for study in self.studies:
            study.publish()
        self.is_published = True

    @property
    def is_level(self) -> bool:
        published, self.is_published = self.is_published, False
        return published and hasattr(self, "studies")


TestStudies = TransactionalModel.TestCase
TestStudies.settings = settings(max_examples=EXAMPLES, stateful_step_count=25, deadline=None)


TestHighThroughput = pytest.mark.usefixtures("_server")(HighThroughputModel.TestCase)
TestHighThroughput.settings = settings(max_examples=EXAMPLES // 2, stateful_step_count=25, deadline=None)


@pytest.fixture(scope="module")
def _server(postgres: str) -> None:
    _servers.append(postgres)
