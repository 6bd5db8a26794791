"""Plots for notebooks: what is drawn is what the tables say, on the axes that were given."""

import math
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes

import causal_bandits as cb
from causal_bandits.core.policies import ArmEstimate, Estimates
from causal_bandits.errors import OptionError
from causal_bandits.research.simulation import Simulation

LEVERS = ["banner", "discount"]


@pytest.fixture(autouse=True)
def figures() -> Iterator[None]:
    mpl.use("Agg")
    yield
    plt.close("all")


def names(axes: Axes) -> list[str]:
    return [label.get_text().replace("\n", " ") for label in axes.get_yticklabels()]


def test_arms_are_drawn_where_they_are() -> None:
    found = cb.analyze("example", target="purchase", interventions=LEVERS)
    axes = found.plot()
    best = found.to_dict(history=False)["arms"]
    assert names(axes) == [row["label"] for row in best]
    spans = [tuple(map(float, line.get_xdata())) for line in axes.lines if line.get_label() == "with sharing"]
    assert spans == [(row["low"], row["high"]) for row in best]
    assert axes.get_title(loc="left") == "purchase: 6 arms"
    idle = next(row.mean for row in found.policy.estimates() if not row.arm.active)
    assert [float(line.get_xdata()[0]) for line in axes.lines if line.get_linestyle() == "--"] == [idle]
    assert axes.get_legend() is not None
    axes.figure.canvas.draw()


def test_few_arms_and_given_axes() -> None:
    found = cb.analyze("example", target="purchase", interventions=LEVERS).policy.estimates()
    given = plt.subplots()[1]
    assert found.plot(given, most=3) is given
    assert len(names(given)) == 3
    assert "banner=none, discount=none" in names(given)  # the idle one is among them, whatever its rank
    assert given.get_title(loc="left") == "3 of 6 arms"
    with pytest.raises(OptionError, match="axes='here'; expected axes of matplotlib"):
        found.plot("here")
    with pytest.raises(OptionError, match="most=0"):
        found.plot(most=0)


def test_small_rates_are_in_percent_and_unknown_arms_are_named() -> None:
    problem = cb.Problem("y", {}, {"i": ["none", "a"], "j": 2})
    nothing = ArmEstimate(problem.arms[1], math.nan, -math.inf, math.inf, None, 0, 0.0)
    rows = [ArmEstimate(arm, 0.02, 0.01, 0.04, None, 9, 9.0) for arm in problem.arms[:1]]
    axes = Estimates([*rows, nothing]).plot()
    assert axes.xaxis.get_major_formatter()(0.02, 0).endswith("%")
    assert names(axes)[1] == "i=none, j=1 (never played)"
    axes.figure.canvas.draw()


def test_a_study_is_drawn_and_reported(tmp_path: Path) -> None:
    problem = cb.Problem("purchase", {"clicked": 2}, {"banner": ["none", "red", "blue"]})
    study = cb.Study.create("shop", problem, storage=f"sqlite:///{tmp_path}/s.db", seed=1)
    study.import_rows([{**arm, "clicked": n % 2, "purchase": n % 3 == 0} for n, arm in enumerate(problem.arms * 10)])
    study.retire({"banner": "blue"})
    axes = study.plot()
    assert "banner=blue (retired)" in names(axes)
    assert axes.get_title(loc="left") == "Study shop: 3 arms"
    path = study.report(tmp_path / "page.html")
    assert path.read_text().startswith("<!doctype html>")


def test_arms_of_a_segment_are_together_and_beside_their_control() -> None:
    problem = cb.Problem("y", {}, {"i": ["none", "a"]}, segments={"device": ["phone", "desk"]})
    means = [0.02, 0.05, 0.06, 0.04]
    rows = [ArmEstimate(arm, mean, 0.01, 0.07, None, 9, 9.0) for arm, mean in zip(problem.arms, means, strict=True)]
    axes = Estimates(rows).plot()
    assert names(axes) == [
        *("i=a | device=phone", "i=none | device=phone"),
        *("i=none | device=desk", "i=a | device=desk"),
    ]
    broken = [line for line in axes.lines if line.get_linestyle() == "--"]
    found = [(float(line.get_xdata()[0]), *map(float, line.get_ydata())) for line in broken]
    assert sorted(found) == [(0.02, -0.45, 1.45), (0.05, 1.55, 3.45)]
    axes.figure.canvas.draw()
    right = axes.get_legend().get_window_extent().x1
    assert right <= axes.figure.bbox.x1  # the legend is not cut
    assert names(Estimates(rows).plot(most=2)) == ["i=a | device=phone", "i=none | device=phone"]


@pytest.mark.parametrize("runs", [1, 3])
def test_regret_is_drawn(runs: int) -> None:
    problem = cb.Problem("y", {}, {"i": 2})
    regret = np.arange(4.0 * runs).reshape(runs, 4)
    simulation = Simulation(problem, np.array([1, 2, 3, 4]), regret, regret)
    axes = simulation.plot(name="ts")
    assert simulation.plot(axes, name="other") is axes
    assert axes.lines[0].get_ydata().tolist() == regret.mean(axis=0).tolist()
    assert axes.lines[0].get_color() != axes.lines[1].get_color()
    assert len(axes.collections) == (2 if runs > 1 else 0)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["ts", "other"]
    axes.figure.canvas.draw()
