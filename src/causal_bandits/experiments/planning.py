"""How many decisions a study will need, by simulation: with mediators and without."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ..compiled import Bools, Floats, Ints
from ..drawers import drawn
from ..environments.planned import check_reward, checked_lift, checked_rate, planned_world
from ..errors import OptionError, brief, share, whole_number
from ..policies import SafePolicy, policy_class
from ..problem import Problem, check_problem
from ..reporting.plan_plot import PlanCurve, save_plan
from ..simulation import play

FIRST, STEP = 100, math.sqrt(2.0)
"""Studies are looked at after so many decisions, and each time they have grown by this factor."""
RESAMPLED = 200
CLOSE = 0.25
"""A right arm is the best one, or within this share of the lift of it."""
MOST_ROWS = 50_000_000
Told = Callable[[str, int, int], None]


@dataclass(frozen=True, repr=False)
class Plan:
    """How many decisions a study will need; printed, it is one paragraph.

    `curves` has the share of simulated studies that recommend a right arm after more and more decisions, with mediators
    and without; a right arm is the best one, or within a quarter of the lift of it.
    """

    rate: float
    lift: float
    confidence: float
    runs: int
    arms: int
    policy: str
    curves: tuple[PlanCurve, ...]

    def __str__(self) -> str:
        counted = [f"{_count(each)} {each.name}" for each in self.curves]
        return (
            f"With a control rate of {100 * self.rate:.3g}% and a best arm {100 * self.lift:.3g}% above it, "
            f"{100 * self.confidence:.3g}% of studies with {self.arms} arms recommend a right arm after "
            f"{' and '.join(counted)} ({self.runs:,} simulated studies, policy {self.policy}). A right arm is the best "
            f"one, or less than {100 * CLOSE * self.lift:.3g}% of the control rate below it."
        )

    __repr__ = __str__

    def to_frame(self) -> pl.DataFrame:
        """One row per curve and number of decisions."""
        return pl.concat(
            pl.DataFrame(
                {
                    "learning": [each.name] * len(each.decisions),
                    "decisions": list(each.decisions),
                    "share": list(each.shares),
                    "se": list(each.errors),
                }
            )
            for each in self.curves
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; a number of decisions that was not reached is None."""
        shown = ("rate", "lift", "confidence", "runs", "arms", "policy")
        curves = [
            {
                **each._asdict(),
                "needed": each.needed if math.isfinite(each.needed) else None,
                "needed_error": each.needed_error if math.isfinite(each.needed_error) else None,
            }
            for each in self.curves
        ]
        return {**{name: getattr(self, name) for name in shown}, "curves": curves}

    @property
    def title(self) -> str:
        """What the figure is about."""
        return f"Control rate {100 * self.rate:.3g}%, best arm {100 * self.lift:.3g}% above it, {self.arms} arms"

    def plot(self, axes: Any = None) -> Any:
        """Draw the shares on matplotlib axes, new ones by default, and return them."""
        return drawn("plan", self.curves, axes, confidence=self.confidence, title=self.title)

    def save_figure(self, path: str | os.PathLike[str]) -> Path:
        """Write the figure as PNG, SVG or PDF."""
        return save_plan(self.curves, path, confidence=self.confidence, title=self.title)


def _count(curve: PlanCurve) -> str:
    if not math.isfinite(curve.needed):
        return f"more than {curve.decisions[-1]:,} decisions"
    error = f" ± {float(f'{curve.needed_error:.2g}'):,.0f}" if math.isfinite(curve.needed_error) else ""
    return f"about {float(f'{curve.needed:.2g}'):,.0f}{error} decisions"


class _Study(NamedTuple):
    """One simulated study."""

    world: Any
    policy: Any
    rng: np.random.Generator
    right: Bools
    """(arms,)."""

    def play(self, decisions: int) -> bool:
        """So many more decisions; whether the arm it would recommend then is right."""
        play(self.policy, self.world, decisions, self.rng)
        return bool(self.right[self.policy.highest_mean()])


def plan(
    problem: Problem,
    *,
    rate: float,
    lift: float,
    mediators: Sequence[str] | Mapping[str, float | None] | None = None,
    direct: bool = False,
    policy: str = "safe",
    confidence: float = 0.9,
    runs: int = 100,
    longest: int = 100_000,
    seed: int = 0,
    told: Told | None = None,
) -> Plan:
    """How many decisions until a study recommends the best arm, with mediators and without, by simulation.

    Every simulated study has a world of its own, in which the best arm has the stated lift and effects are random (see
    `worlds.planned_world`). It is played on until enough studies recommend a right arm.

    Args:
        problem: Levers, arms and observed variables; its reward is 0 or 1.
        rate: Reward rate of the control, such as 0.02.
        lift: The smallest lift of the best arm that matters, relative to the control: 0.2 for 20%.
        mediators: Observed variables that carry the effects, with the share of visitors who get past level 0 at the
            control, or None; all discrete ones by default.
        direct: Levers act on the reward itself as well, so that no set separates.
        policy: "safe" (the default of studies) or "best-arm".
        confidence: Share of studies that shall recommend a right arm.
        runs: Number of simulated studies.
        longest: Decisions after which a study is given up.
        seed: Seed of all worlds and studies.
        told: Called with (what, decisions, of) after each look.
    """
    check_problem(problem)
    check_reward(problem)
    rate, confidence = checked_rate("rate", rate), share("confidence", confidence)
    lift, seed = checked_lift(lift, rate), whole_number("seed", seed, 0, None)
    runs, longest = whole_number("runs", runs, 2, 100_000), whole_number("longest", longest, FIRST, MOST_ROWS)
    if runs * longest > MOST_ROWS:
        raise OptionError(f"{runs:,} studies of {longest:,} decisions exceed {MOST_ROWS:,} decisions; use fewer")
    kind: Any = policy_class(policy, problem)
    if not issubclass(kind, SafePolicy):
        raise OptionError(f"policy={brief(policy)}; expected 'safe' or 'best-arm'")
    draw = partial(planned_world, problem, rate=rate, lift=lift, mediators=mediators, direct=direct)
    worlds = [draw(seed=np.random.default_rng([seed, number])) for number in range(runs)]
    ways: dict[str, dict[str, Any]] = {"with mediators": {}, "without mediators": {"max_size": 0}}
    if not worlds[0].problem.observed:
        ways.pop("with mediators")
    studies = {
        name: [_study(kind, options, world, lift * rate, (seed, number)) for number, world in enumerate(worlds)]
        for name, options in ways.items()
    }
    looks, right = _played(studies, confidence, longest, told)
    curves = tuple(_curve(name, looks, right[name], confidence, seed) for name in ways)
    return Plan(rate, lift, confidence, runs, len(problem.arms), kind.name, curves)


def _study(kind: Any, options: dict[str, Any], world: Any, gap: float, seed: tuple[int, int]) -> _Study:
    right = world.means >= world.means.max() - CLOSE * gap
    policy = kind(world.problem, seed=np.random.default_rng([*seed, 1]), **options)
    return _Study(world, policy, np.random.default_rng([*seed, 2]), right)


def _played(
    studies: dict[str, list[_Study]], confidence: float, longest: int, told: Told | None
) -> tuple[list[int], dict[str, Floats]]:
    """Looks, and for each way of learning (studies, looks) whether a right arm is recommended."""
    looks, found = list[int](), {name: list[list[bool]]() for name in studies}
    while True:
        until = min(longest, round(FIRST * STEP ** len(looks)))
        for name, each in studies.items():
            found[name].append([study.play(until - (looks[-1] if looks else 0)) for study in each])
        looks.append(until)
        shares = [float(np.mean(each[-1])) for each in found.values()]
        if told is not None:
            told(f"{until:,} decisions: " + " and ".join(f"{each:.0%}" for each in shares), until, longest)
        enough = [len(looks) > 2 and _smooth(np.mean(each, axis=1))[-3] >= confidence for each in found.values()]
        if until >= longest or all(enough):
            return looks, {name: np.array(each, dtype=np.float64).T for name, each in found.items()}


def _smooth(shares: Floats) -> Floats:
    """Shares that never fall: more decisions do no harm."""
    from scipy.optimize import isotonic_regression  # slow to import

    return np.asarray(isotonic_regression(shares).x, dtype=np.float64)


def reached(looks: Ints, shares: Floats, confidence: float) -> float:
    """Decisions at which smoothed shares reach the confidence; infinite if they do not.

    >>> reached(np.array([100, 200, 400]), np.array([0.5, 0.7, 0.9]), 0.8).__round__()
    283
    """
    smooth = _smooth(shares)
    place = int(np.argmax(smooth >= confidence))
    if smooth[place] < confidence:
        return math.inf
    if place == 0:
        return float(looks[0])
    part = (confidence - smooth[place - 1]) / (smooth[place] - smooth[place - 1])
    return float(np.exp((1 - part) * np.log(looks[place - 1]) + part * np.log(looks[place])))


def _curve(name: str, looks: list[int], right: Floats, confidence: float, seed: int) -> PlanCurve:
    """The standard error of the number of decisions is that of studies drawn anew, with replacement."""
    at, rng, runs = np.array(looks), np.random.default_rng([seed, 3]), len(right)
    drawn_anew = [reached(at, right[rng.integers(runs, size=runs)].mean(axis=0), confidence) for _ in range(RESAMPLED)]
    shares = right.mean(axis=0)
    error = float(np.std(drawn_anew, ddof=1)) if np.all(np.isfinite(drawn_anew)) else math.nan
    errors = np.sqrt(shares * (1 - shares) / runs)
    return PlanCurve(name, looks, shares.tolist(), errors.tolist(), reached(at, shares, confidence), error)
