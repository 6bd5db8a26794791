from typing import Any

import numpy as np
import polars as pl
import pytest

from causal_bandits.core.datasets import sachs
from causal_bandits.core.datasets.sachs_2005 import CONTEXTS, PROTEINS
from causal_bandits.errors import CausalBanditsError, OptionError, ProblemError, UnknownVariableError
from causal_bandits.research.worlds import LoggedWorld

SETTINGS = [
    "do()",
    "do(AKT_inhibitor=added)",
    "do(G0076=added)",
    "do(Psitectorigenin=added)",
    "do(U0126=added)",
    "do(LY294002=added)",
    "do(stimulus=PMA)",
    "do(stimulus=beta2CAMP)",
]
SIZES = [853, 911, 723, 810, 799, 848, 913, 707]

# As scripts/make_sachs.py prints them, computed there from the wheel's file without this package.
RAF = [59.314478, 57.090615, 412.062379, 60.125025, 389.729061, 57.658738, 30.950416, 42.607383]
LOG_RAF = [3.887738, 3.794271, 5.655279, 3.881662, 5.448818, 3.801680, 3.179316, 3.486693]
LAST = (30.5, 1.01, 7.3, 173.0, 22.9, 6.61, 13.7, 890.0, 1.0, 1.0, 1.65)
PKC = [15.018968, 18.583238, 181.838589, 18.559642, 5.683517, 16.046120, 18.405947, 2.706337]
LOG_PKC = [2.377945, 2.655453, 4.608626, 2.613650, 1.083239, 2.501857, 2.576330, 0.436884]


def per_arm(frame: pl.DataFrame, name: str) -> list[float]:
    """The means of a column per arm, in the order in which the arms first occur."""
    return frame.group_by(list(CONTEXTS), maintain_order=True).agg(pl.col(name).mean())[name].to_list()


def test_cells_arms_and_contexts() -> None:
    problem, frame = sachs()
    assert frame.columns == [*CONTEXTS, *PROTEINS]
    assert frame.height == 6564
    assert [str(arm) for arm in problem.arms] == SETTINGS
    assert problem.reward_is_real
    assert problem.target == "Raf"
    assert problem.observed_names == ("Mek", "Erk", "Akt", "PKC")
    assert all(variable.is_real for variable in problem.observed)
    assert problem.idle_settings == {
        **dict.fromkeys(["AKT_inhibitor", "G0076", "Psitectorigenin", "U0126", "LY294002"], "none"),
        "stimulus": "alpha-CD3/28",
    }
    counted = frame.group_by(list(CONTEXTS), maintain_order=True).len()
    assert counted["len"].to_list() == SIZES
    assert counted.select(list(CONTEXTS)).rows(named=True) == [dict(arm) for arm in problem.arms]


@pytest.mark.parametrize(("scale", "raf", "pkc"), [("raw", RAF, PKC), ("log", LOG_RAF, LOG_PKC)])
def test_means_per_arm(scale: Any, raf: list[float], pkc: list[float]) -> None:
    dataset = sachs(scale)
    assert per_arm(dataset.frame, "Raf") == pytest.approx(raf, abs=1e-6)
    assert per_arm(dataset.frame, "PKC") == pytest.approx(pkc, abs=1e-6)
    assert LoggedWorld(*dataset).means == pytest.approx(raf, abs=1e-6)


def test_log_is_the_logarithm_of_raw() -> None:
    raw, log = sachs("raw").frame, sachs("log").frame
    np.testing.assert_allclose(np.log(raw.select(PROTEINS).to_numpy()), log.select(PROTEINS).to_numpy(), rtol=1e-14)
    assert raw.select(list(CONTEXTS)).equals(log.select(list(CONTEXTS)))


def test_measurements_are_the_printed_ones() -> None:
    """The first and the last cell, as they stand in the wheel's file, and the range of each protein."""
    raw = sachs("raw").frame.select(PROTEINS)
    assert raw.row(0) == (26.4, 13.2, 8.82, 18.3, 58.8, 6.61, 17.0, 414.0, 17.0, 44.9, 40.0)
    assert raw.row(-1) == LAST
    assert raw.min().row(0) == (1.0,) * 11
    assert raw.null_count().row(0) == (0,) * 11


def test_other_questions() -> None:
    problem, frame = sachs("raw", target="Akt", observed=("PIP3", "PKA"))
    assert (problem.target, problem.observed_names) == ("Akt", ("PIP3", "PKA"))
    assert frame.equals(sachs("raw").frame)
    assert sachs(observed="Mek").problem.observed_names == ("Mek",)
    assert sachs(observed=()).problem.observed_names == ()


def test_pulls_are_cells_of_the_arm() -> None:
    problem, frame = sachs()
    world = LoggedWorld(problem, frame)
    names = [*problem.observed_names, "Raf"]
    rng = np.random.default_rng(0)
    for arm in problem.arms:
        chosen = pl.all_horizontal(pl.col(name) == level for name, level in arm.items())
        cells = set(frame.filter(chosen).select(names).rows())
        pulls = [world.pull(arm, rng) for _ in range(20)]
        assert all(tuple(pulled[name] for name in names) in cells for pulled in pulls)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"scale": "sqrt"}, OptionError, "scale='sqrt'; expected one of 'log', 'raw'"),
        ({"target": "raf"}, UnknownVariableError, "'raf' was not measured; the proteins are 'Raf', 'Mek', .*'Jnk'$"),
        ({"observed": ["Mek", "U0126"]}, UnknownVariableError, "'U0126' was not measured"),
        ({"target": "Mek"}, ProblemError, "target 'Mek' is also listed as observed; leave it out there"),
    ],
)
def test_bad_options(options: dict[str, Any], error: type[CausalBanditsError], message: str) -> None:
    with pytest.raises(error, match=message):
        sachs(**options)
