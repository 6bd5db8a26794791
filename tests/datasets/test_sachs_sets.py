"""What the paper says of the full data: no set passes the test at .05, in either reading and on either scale."""

from typing import Any

import pytest

from causal_bandits import History, ResidualTesting, datasets
from causal_bandits.core.data import DesignLayout, add_rows


@pytest.mark.parametrize("scale", ["log", "raw"])
@pytest.mark.parametrize(("reading", "largest"), [("joint", 1e-100), ("conditional", 0.03)])
def test_no_set_separates_on_the_full_data(scale: Any, reading: Any, largest: float) -> None:
    data = datasets.sachs(scale)
    rows = History(data.problem).encode_many(data.frame)
    layout = DesignLayout.of(data.problem)
    moments = layout.empty()
    add_rows(moments, rows.arms, layout.design(rows))
    found = ResidualTesting(reading=reading).discover(layout, moments, len(rows.arms))
    assert found.arrays["p_value"].max() < largest
    assert not found.separated.any()
