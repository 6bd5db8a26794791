"""Figures inside pages: ticks in percent, the control of each segment, the least chosen arms as one."""

import re
from typing import Any

from causal_bandits.reporting.axes import PLAIN, RATE, intervals_axis
from causal_bandits.reporting.described import DecisionCourse
from causal_bandits.reporting.html import STYLE
from causal_bandits.reporting.sheets import lifts_sheet
from causal_bandits.reporting.study_page import (
    MOST_ARMS,
    arms_figure,
    best_arms,
    decisions_figure,
    evidence_figure,
    most_chosen,
    notes_of,
)

NOTHING = {f"{of}{name}": None for of in ("", "own_") for name in ("mean", "low", "high")}


def arm(name: str, mean: float | None, **more: Any) -> Any:
    known = {} if mean is None else {"mean": mean, "low": 0.5 * mean, "high": 2 * mean}
    other: dict[str, Any] = {"segment": {}, "is_control": False, "cost": 0.0, "lift": None, "own_rows": 100}
    return {"label": name, **NOTHING, **known, **other, **more}


def test_small_rates_have_ticks_in_percent_and_every_segment_its_control() -> None:
    arms = [
        arm("a | x", 0.04, segment={"s": "x"}),
        arm("do() | x", 0.02, segment={"s": "x"}, is_control=True),
        arm("do() | y", 0.03, segment={"s": "y"}, is_control=True),
    ]
    figure = arms_figure(arms, RATE)
    assert ">2%</text>" in figure
    low, same, high = map(float, re.findall(r'class="level" x1="([\d.]+)%', figure))
    assert low == same < high
    assert "with sharing: 4.00% (2.00% – 8.00%)" in figure
    assert "Broken line: the control." in figure
    sheet = lifts_sheet(arms, RATE)
    assert sheet is not None
    assert "do() | x, mean 2.00%; do() | y, mean 3.00%" in sheet.title
    assert [row[0] for row in sheet.rows] == ["a | x"]


def test_other_rewards_are_numbers_and_few_arms_are_drawn() -> None:
    figure = arms_figure([arm(f"<{number}>", 3.0) for number in range(MOST_ARMS + 3)], PLAIN)
    assert "%</text>" not in figure
    assert f"The best {MOST_ARMS} of {MOST_ARMS + 3} arms." in figure
    assert figure.count("<bdi>") == MOST_ARMS
    assert "<0>" not in figure
    assert "No arm has enough rows" in arms_figure([arm("a", None)], PLAIN)


def test_an_arm_with_three_rows_leaves_room_for_the_others() -> None:
    """The interval of an arm's rows may leave the axis, and its mean then has no dot; the control is always inside."""
    arms = [arm("a", 0.04), arm("b", 0.03, own_mean=0.9, own_low=0.001, own_high=1.0)]
    axis = intervals_axis(arms, RATE, level=0.01)
    assert axis.low <= 0.01
    assert 0.08 <= axis.high < 0.15
    figure = arms_figure(arms, RATE)
    assert (figure.count('class="bar alone"'), figure.count('class="dot alone"')) == (1, 0)


def test_every_segment_is_among_the_best_arms() -> None:
    """The table is ordered by segment, so its first rows would be those of one segment."""
    arms = [arm(f"{number} | {name}", 1.0, segment={"s": name}) for name in "xy" for number in range(MOST_ARMS)]
    assert [row["segment"]["s"] for row in best_arms(arms, 6)] == ["x"] * 3 + ["y"] * 3
    assert "The best 12 of 24 arms, the same number of each segment." in arms_figure(arms, PLAIN)
    assert [row["label"] for row in best_arms([arm("a", 1.0), arm("b", 1.0)], 1)] == ["a"]


def test_what_was_chosen_least_is_one_grey_block() -> None:
    arms = [f"arm {number}" for number in range(10)]
    shares = [[0.46, *[0.06] * 9]] * 2
    times = ["2026-11-18T00:00:00+00:00", "2026-11-18T12:00:00+00:00", "2026-11-20T00:00:00+00:00"]
    course: DecisionCourse = {
        "until": [10, 20],
        "times": times,
        "arms": arms,
        "shares": shares,
        "mean_reward": [None, None],
    }
    figure = decisions_figure(
        course,
        most_chosen(course),
        notes_of([{"time": "2026-11-19T00:00:00+00:00", "text": "a <b>release</b>"}]),
    )
    assert "A: Nov 19, 2026, 00:00 UTC: a &lt;b&gt;release" in figure
    assert ">Nov 19<" in figure
    assert ">Nov 18 to Nov 20, 2026 (UTC)<" in figure
    assert 'line class="noted"' in figure
    assert "line.noted{stroke" in STYLE, "the line of an annotation has a color in the report, too"
    assert "3 other arms" in figure
    assert "arm 0" in figure
    assert "100%" in figure
    assert "No decision yet" in decisions_figure(
        {"until": [], "times": [], "arms": arms, "shares": [], "mean_reward": []}, most_chosen(course)
    )


def test_evidence_is_drawn_on_the_scale_it_has() -> None:
    none: list[float | None] = [None, None]
    course: Any = {"variables": ["A"], "probability": none, "nats": none, "p_value": none}
    cases: list[tuple[str, list[float], str]] = [
        ("probability", [0.2, 0.9], "it is more likely than not"),
        ("nats", [-50.0, 2.0], "the broken line is 1."),
        ("p_value", [0.3, 0.0], "the broken line is 0.05"),
    ]
    for name, values, words in cases:
        sets: Any = [dict(course, **{name: values})]
        figure = evidence_figure({"rows": [10, 20], "sets": sets})
        assert words in figure
        assert "{A}" in figure
    assert "Too few rows" in evidence_figure({"rows": [10, 20], "sets": [course]})
