"""How many decisions a study will need until each of the two stops, by simulation: with mediators and without."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...core.compiled import Floats, compiling_first
from ...core.policies import SafePolicy, policy_class
from ...core.policies.advice import CONFIDENCE, TOLERANCE, loss_allowed
from ...core.policies.claims import Comparison, prove, scale_of
from ...core.problem import Problem, check_problem
from ...core.serialization import to_json
from ...errors import OptionError, brief, share, whole_number
from ...libraries import pl
from ...reporting.plots import PlanCurve, plot_plan, save_plan
from ..simulation import play
from ..worlds.planned import check_reward, checked_lift, checked_rate, planned_world

EVERY, GROWTH = 100, 0.02
"""A study is looked at after every 100 decisions, later whenever it has grown by 2%."""
PROOFS = 5
"""Proofs are checked at every fifth look; each says when it was first valid."""
RESAMPLED = 200
CLOSE = 0.25
"""A right arm is the best one, or within this share of the lift of it."""
MOST_ROWS = 50_000_000
STOPS = ("proof", "good enough")
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, repr=False)
class Plan:
    """How many decisions a study will need; it prints as one paragraph.

    `curves` has the share of simulated studies that have stopped after more and more decisions: by proof, and because
    the recommended arm is good enough (see `Advice`), with mediators and without.
    """

    rate: float
    lift: float
    confidence: float
    tolerance: float
    runs: int
    arms: int
    policy: str
    curves: tuple[PlanCurve, ...]

    def __str__(self) -> str:
        shown = [
            f"{100 * self.confidence:.3g}% of studies with {self.arms} arms {does} after "
            + " and ".join(f"{_count(each)} {each.learning}" for each in self.curves if each.stop == stop)
            for stop, does in zip(STOPS, ("have a proof", "are good enough"), strict=True)
        ]
        wrong = max(each.wrong for each in self.curves if each.stop == STOPS[1])
        return (
            f"With a control rate of {100 * self.rate:.3g}% and a best arm {100 * self.lift:.3g}% above it, "
            f"{shown[0]}; {shown[1]} ({self.runs:,} simulated studies, policy {self.policy}). Good enough is an "
            f"expected loss below {100 * self.tolerance:.3g}% of the control's mean; {100 * wrong:.0f}% of such stops "
            f"named an arm more than {100 * CLOSE * self.lift:.3g}% of the control rate behind the best."
        )

    __repr__ = __str__

    def to_frame(self) -> pl.DataFrame:
        """One row per curve and number of decisions."""
        return pl.concat(
            pl.DataFrame(
                {
                    "stop": [each.stop] * len(each.decisions),
                    "learning": [each.learning] * len(each.decisions),
                    "decisions": list(each.decisions),
                    "share": list(each.shares),
                    "se": list(each.errors),
                }
            )
            for each in self.curves
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; a number of decisions that was not reached is None."""
        found: dict[str, Any] = to_json(self)
        return found

    @property
    def _title(self) -> str:
        return f"Control rate {100 * self.rate:.3g}%, best arm {100 * self.lift:.3g}% above it, {self.arms} arms"

    def plot(self, axes: Any = None) -> Any:
        """Draw the shares on matplotlib axes, new ones by default, and return the axes."""
        return plot_plan(self.curves, axes, confidence=self.confidence, title=self._title)

    def save_figure(self, path: str | os.PathLike[str]) -> Path:
        """Write the figure as PNG, SVG or PDF."""
        return save_plan(self.curves, path, confidence=self.confidence, title=self._title)


def _count(curve: PlanCurve) -> str:
    if not math.isfinite(curve.needed):
        return f"more than {curve.decisions[-1]:,} decisions"
    error = f" ± {float(f'{curve.needed_error:.2g}'):,.0f}" if math.isfinite(curve.needed_error) else ""
    return f"about {float(f'{curve.needed:.2g}'):,.0f}{error} decisions"


class SimulatedStudy:
    """One simulated study: when it stopped each way, and whether the arm it named then was right."""

    def __init__(self, world: Any, policy: Any, rng: np.random.Generator, gap: float, tolerance: float) -> None:
        self.world, self.policy, self.rng, self.tolerance = world, policy, rng, tolerance
        self.right = world.means >= world.means.max() - CLOSE * gap
        self.stopped = dict.fromkeys(STOPS, math.inf)
        self.wrong = dict.fromkeys(STOPS, False)

    def play(self, decisions: int, *, proof: bool) -> None:
        """Continue, unless both stops have happened; with `proof` check whether something is proven."""
        if max(self.stopped.values()) < math.inf:
            return
        play(self.policy, self.world, decisions, self.rng)
        if proof and self.stopped["proof"] == math.inf:
            self._look_for_proof()
        if self.stopped["good enough"] == math.inf:
            best, problem = self.policy.recommend(), self.policy.problem
            control = next(iter(problem.idle_arms), None)
            if best.expected_loss <= loss_allowed(best, self.policy.posterior(), problem, control, self.tolerance):
                self._stop("good enough", self.policy.rows, problem.index(best.arm))

    def _look_for_proof(self) -> None:
        arms, history = len(self.world.means), self.policy.history
        every = np.ones(arms, dtype=np.bool_)
        scale = scale_of(history.problem.reward, history.packed["rewards"])
        asked = Comparison(np.arange(arms), every, arms, 1 - CONFIDENCE)
        found = None if scale is None else prove(history, scale, asked, forecast=False)
        if found is not None and found.arm is not None and found.rows is not None:
            self._stop("proof", found.rows, found.arm)

    def _stop(self, how: str, rows: int, arm: int) -> None:
        self.stopped[how], self.wrong[how] = rows, not self.right[arm]


def plan(
    problem: Problem,
    *,
    rate: float,
    lift: float,
    mediators: Sequence[str] | Mapping[str, float | None] | None = None,
    direct: bool = False,
    policy: str = "safe",
    confidence: float = 0.9,
    tolerance: float = TOLERANCE,
    runs: int = 100,
    longest: int = 100_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> Plan:
    """Simulate how many decisions a study needs until it stops, by proof or as good enough.

    Every simulated study has its own world, in which the best arm has the stated lift and effects are random (see
    `worlds.planned_world`). Each study continues until it has stopped in both ways, or enough studies have.

    Args:
        problem: Levers, arms and observed variables; its reward is 0 or 1.
        rate: Reward rate of the control, such as 0.02.
        lift: The smallest lift of the best arm that matters, relative to the control: 0.2 for 20%.
        mediators: Observed variables that carry the effects, with the share of visitors who get past level 0 at the
            control, or None; all discrete ones by default.
        direct: Levers act on the reward itself as well, so that no set separates.
        policy: "safe" (the default of studies) or "best-arm".
        confidence: Share of studies that must have stopped.
        tolerance: The expected loss that is good enough, as a share of the control's mean.
        runs: Number of simulated studies.
        longest: Maximum number of decisions of a study.
        seed: Seed of all worlds and studies.
        progress: Called with (what, decisions, of) after each look.
    """
    check_problem(problem)
    check_reward(problem)
    if problem.segments:
        raise OptionError("a plan is for a problem without segments; plan each segment separately")
    rate, confidence = checked_rate("rate", rate), share("confidence", confidence)
    lift, seed = checked_lift(lift, rate), whole_number("seed", seed, 0, None)
    tolerance = share("tolerance", tolerance)
    runs, longest = whole_number("runs", runs, 2, 100_000), whole_number("longest", longest, EVERY, MOST_ROWS)
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
        name: [
            SimulatedStudy(
                world,
                kind(world.problem, seed=np.random.default_rng([seed, number, 1]), **options),
                np.random.default_rng([seed, number, 2]),
                lift * rate,
                tolerance,
            )
            for number, world in enumerate(worlds)
        ]
        for name, options in ways.items()
    }
    with compiling_first("the simulated studies"):
        looks = _played([each for some in studies.values() for each in some], confidence, longest, progress)
    curves = tuple(
        _curve(stop, name, looks, some, confidence, seed) for stop in STOPS for name, some in studies.items()
    )
    return Plan(rate, lift, confidence, tolerance, runs, len(problem.arms), kind.name, curves)


def _played(studies: list[SimulatedStudy], confidence: float, longest: int, progress: Progress | None) -> list[int]:
    """Play until enough studies have stopped both ways; gives the looks."""
    looks = list[int]()
    while True:
        before = looks[-1] if looks else 0
        until = min(longest, before + max(EVERY, round(GROWTH * before)))
        last = until >= longest
        for study in studies:
            study.play(until - before, proof=last or len(looks) % PROOFS == 0)
        looks.append(until)
        shares = {stop: float(np.mean([each.stopped[stop] <= until for each in studies])) for stop in STOPS}
        if progress is not None:
            progress(
                f"{until:,} decisions: " + " and ".join(f"{each:.0%} {stop}" for stop, each in shares.items()),
                until,
                longest,
            )
        if last or min(shares.values()) >= (1 + confidence) / 2:
            return looks


def stopped_after(times: Floats, confidence: float) -> float:
    """Decisions after which this share of studies has stopped; infinite if fewer have.

    >>> stopped_after(np.array([300.0, 100.0, math.inf, 200.0]), 0.75)
    300.0
    """
    return float(np.sort(times)[math.ceil(confidence * len(times)) - 1])


def _curve(
    stop: str, learning: str, looks: list[int], studies: list[SimulatedStudy], confidence: float, seed: int
) -> PlanCurve:
    """The standard error of the number of decisions is that of studies drawn with replacement."""
    times, rng, runs = (
        np.array([each.stopped[stop] for each in studies]),
        np.random.default_rng([seed, 3]),
        len(studies),
    )
    drawn_again = [stopped_after(times[rng.integers(runs, size=runs)], confidence) for _ in range(RESAMPLED)]
    shares = np.array([np.mean(times <= look) for look in looks])
    error = float(np.std(drawn_again, ddof=1)) if np.all(np.isfinite(drawn_again)) else math.nan
    errors = np.sqrt(shares * (1 - shares) / runs)
    wrong = sum(each.wrong[stop] for each in studies) / max(int(np.isfinite(times).sum()), 1)
    needed = stopped_after(times, confidence)
    return PlanCurve(stop, learning, looks, shares.tolist(), errors.tolist(), needed, error, wrong)
