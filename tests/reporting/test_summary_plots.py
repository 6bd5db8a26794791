"""Lines over rounds, and the finding of a figure."""

from typing import Any, cast

import pytest
from matplotlib.figure import Figure

from causal_bandits.reporting.summary_plots import finding, paint_curves, paint_tails

ROUNDS = list(range(50, 5001, 50))


def summary(panels: int, shapes: dict[str, float], *, different: bool) -> Any:
    """Lines a t^power, scaled to end at 10 to 100 as they come."""
    series = {}
    for panel in range(panels):
        for place, (name, power) in enumerate(list(shapes.items())[: len(shapes) - (panel if different else 0)]):
            end = 100 - 90 * place / max(len(shapes) - 1, 1)
            mean = [end * (t / 5000) ** power for t in ROUNDS]
            series[f"{panel}-{name}"] = {
                **{"t": ROUNDS, "mean": mean, "se": [1.0] * len(mean), "worlds": 2, "runs": 2},
                **{
                    "baseline": f"{panel}-p0",
                    "method": name,
                    "label": f"a policy called {name}",
                    "knows": "nothing",
                    "panel": f"panel {panel}",
                },
            }
    about = {"figure": "made-up", "title": "Made up", "horizon": 5000, "measure": "regret", "seed": 0, "version": "0"}
    return {**about, "series": series}


@pytest.mark.parametrize("powers", [(0.3, 0.1, 0.1, 0.2, 0.5, 0.1), (1.0, 1.0, 1.0, 1.0), (0.1, 0.1, 0.1)])
def test_one_legend_below_all_plots_has_every_method(powers: tuple[float, ...]) -> None:
    made = summary(4, {f"p{place}": power for place, power in enumerate(powers)}, different=True)
    figure = Figure(layout="constrained")
    paint_curves(figure, made)
    figure.draw_without_rendering()
    [legend] = figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {found["label"] for found in made["series"].values()}
    box = legend.get_window_extent()
    assert not any(box.overlaps(cast(Any, axes.get_tightbbox())) for axes in figure.axes)


def test_tails_have_plain_numbers_on_their_axes() -> None:
    """On logarithmic axes Matplotlib writes powers as formulas, which the theme does not render."""
    made = summary(2, {"p0": 0.5, "p1": 0.2}, different=False) | {"runs": 100}
    for place, found in enumerate(made["series"].values(), 1):
        survival = [(10.0 * place * 1.5**step, 0.5 ** (step + 1)) for step in range(7)]
        found["tails"] = {
            "survival": survival,
            "q95": 60.0 * place,
            "q99": 80.0 * place,
            "exponent": 2.0,
            "exponent_se": 0.5,
        }
    figure = Figure(layout="constrained")
    paint_tails(figure, made)
    said = "The 99% quantile of regret of a policy called p1 is 1.33 to 2.00 times that of a policy called p0"
    assert finding(made | {"figure": "tails"}) == said
    figure.draw_without_rendering()
    for axes in figure.axes:
        shown = {text.get_text() for text in (*axes.get_xticklabels(which="both"), *axes.get_yticklabels(which="both"))}
        assert not any("$" in text for text in shown)
        assert {"1%", "10%", "20"} <= shown


def test_the_finding_of_claims_by_reading_counts_kinds_of_worlds() -> None:
    line: Any = {"baseline": "ts", "panel": "a", "label": "ts", "ratio": [1.0], "ratio_se": [0.0]}
    clear, unclear = {**line, "ratio": [0.5], "ratio_se": [0.1]}, {**line, "ratio": [0.9], "ratio_se": [0.1]}
    series = {"ts": line, "a": clear, "b": {**clear, "panel": "b"}, "c": {**unclear, "panel": "b"}}
    found = finding({"figure": "x", "title": "X", "matrix": [], "series": series})  # type: ignore[typeddict-item]
    assert found == "Sharing saves regret under every reading in 1 of 2 kinds of worlds"


def test_a_finding_is_about_cumulative_regret() -> None:
    line: Any = {"panel": "", "tier": 0, "label": "ts", "ratio": [1.0], "mean": [8.0], "baseline": "ts"}
    better = {**line, "label": "a", "ratio": [0.4]}
    simple = {"panel": "simple regret", "baseline": "ts-simple"}
    series = {
        "ts": line,
        "a": better,
        "ts-simple": {**line, **simple},
        "a-simple": {**better, **simple, "ratio": [1.3]},
    }
    assert finding({"figure": "x", "title": "X", "series": series}) == "a has 0.40 times the regret of ts"  # type: ignore[typeddict-item]
