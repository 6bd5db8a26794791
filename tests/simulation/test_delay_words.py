"""Delays on a command line, and in words."""

import pytest

from causal_bandits.errors import OptionError
from causal_bandits.research.experiments.base import Scale
from causal_bandits.research.experiments.field import field_experiment
from causal_bandits.research.simulation import ByOutcome, Geometric
from causal_bandits.research.simulation.delays import delay_in, delay_words


def test_delays_are_read() -> None:
    assert delay_in("500") == 500
    assert delay_in("geometric:2.5") == Geometric(2.5)
    assert delay_in("zero=2000, other=geometric:50") == ByOutcome(zero=2000, other=Geometric(50.0))
    assert delay_words(500) == "after 500 rounds"
    assert delay_words(Geometric(1500)) == "after 1,500 on average, in rounds"


@pytest.mark.parametrize("text", ["soon", "", "-1", "1.5", "geometric:", "zero=1", "other=1,zero=2", "zero=1,other="])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(OptionError, match="expected a number of rounds such as 500, geometric:500, or zero=2000"):
        delay_in(text)


def test_a_comparison_with_delays_is_another_one() -> None:
    at_once, late = (field_experiment("iv", ["ucb1"], Scale(100, 1), 0, delay) for delay in (None, 20))
    assert late.panels[0].delay == 20
    assert "rewards that come late (after 20 rounds)" in late.question
    assert late.describe() != at_once.describe()
