"""A world to plan a study by: the levers and mediators of a problem, a rate, a lift, and effects at random."""

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from ...core.compiled import Floats, Ints
from ...core.problem import Level, Problem
from ...core.seeds import Seed, generator
from ...errors import OptionError, UnknownVariableError, brief, flag, listing, share
from .discrete_scm import DiscreteSCM
from .mechanisms import Effect, Mechanism, Nudge
from .practice import Funnel, before_reward, funnel_mechanisms, scale_of_lift, stage_table, with_stage

LEAN = 0.5
"""Log-odds of moving on per level of the stage before."""
SPACING = 1.0
"""Log-odds between the levels of a stage."""
SMALLEST = 1e-6
"""The smallest rate, and how far a rate is from 1 at least."""
LEAST_LIFT = 1e-4
TRIES = 1000


def planned_world(
    problem: Problem,
    *,
    rate: float,
    lift: float,
    direct: bool = False,
    mediators: Sequence[str] | Mapping[str, float | None] | None = None,
    seed: Seed = None,
) -> DiscreteSCM:
    """A funnel with the levers of a problem, in which the control has `rate` and the best arm is `lift` above it.

    The mediators are its stages in order: nobody reaches a stage without the one before. Every lever acts on one random
    stage, and each of its levels adds a normal number of log-odds, scaled so that the best arm has the stated lift.
    Other observed variables are noise.

    Args:
        problem: Levers, arms and observed variables; its reward is 0 or 1.
        rate: Reward rate of the control.
        lift: How much better the best arm is, relative to the control: 0.2 for 20%.
        mediators: Observed variables that carry the effects, with the share of visitors who get past level 0 at the
            control, or None; all discrete ones by default.
        direct: Levers act on the reward itself as well, so that no set separates.
        seed: Seed or Generator of the effects.

    >>> problem = Problem("purchase", {"clicked": 2}, {"banner": ["none", "red", "blue"]})
    >>> planned_world(problem, rate=0.02, lift=0.2, mediators={"clicked": 0.1}, seed=1).means.round(4).tolist()
    [0.02, 0.0216, 0.024]
    """
    check_reward(problem)
    rate = checked_rate("rate", rate)
    lift, direct = checked_lift(lift, rate), flag("direct", direct)
    stages = _stages(problem, mediators)
    funnel = _funnel([problem.observed[place].size for place in stages], _rates(stages, rate), rate)
    codes, rng = _codes(problem), generator(seed)
    for _ in range(TRIES):
        shifts = _draw_shifts(codes, len(stages), direct or not stages, rng)
        arms = sum((each[codes[:, lever]] for lever, each in enumerate(shifts)), np.zeros((len(codes), 1)))
        scale = scale_of_lift(funnel, arms, rate, lift)
        if scale is not None:
            return _world(problem, funnel, list(stages), [scale * each for each in shifts], rng)
    raise OptionError(
        f"no world with rate={rate:g} and lift={lift:g} was found; use a smaller lift, or lower rates of mediators"
    )


def check_reward(problem: Problem) -> None:
    """Reject a reward that has no rate."""
    if problem.reward.kind != "binary":
        raise OptionError(
            f"the reward {brief(problem.target)} is {problem.reward.words}; a plan needs a reward of 0 or 1"
        )


def checked_rate(name: str, rate: object) -> float:
    """A rate that a study can see; one sentence otherwise."""
    found = share(name, rate)
    if not SMALLEST <= found <= 1 - SMALLEST:
        raise OptionError(f"{name}={brief(rate)}; expected a rate from {SMALLEST:f} to {1 - SMALLEST:f}")
    return found


def checked_lift(lift: object, rate: float) -> float:
    """A lift above 0 that leaves the best rate below 1; one sentence otherwise."""
    try:
        found = math.nan if isinstance(lift, bool | str) else float(lift)  # type: ignore[arg-type]
    except (ArithmeticError, TypeError, ValueError):
        found = math.nan
    if found == 0:
        raise OptionError(
            "lift=0: without any difference there is no best arm to find; pass the smallest lift that matters"
        )
    if not LEAST_LIFT <= found < math.inf or rate * (1 + found) >= 1:
        raise OptionError(
            f"lift={brief(lift)}; expected a number from {LEAST_LIFT:g}, such as 0.2 for 20%, "
            "with rate * (1 + lift) below 1"
        )
    return found


def _stages(problem: Problem, given: Sequence[str] | Mapping[str, float | None] | None) -> dict[int, float | None]:
    """The places of the mediators among the observed variables, with their rates."""
    names = problem.observed_names
    if given is None:
        return {place: None for place, each in enumerate(problem.observed) if not each.is_number}
    if isinstance(given, str):
        raise OptionError(f"mediators={brief(given)}; expected a list of observed variables, or name -> rate")
    found: dict[int, float | None] = {}
    for name, rate in (given if isinstance(given, Mapping) else dict.fromkeys(given)).items():
        if name not in names:
            raise UnknownVariableError(f"mediator {brief(name)} is not observed; expected some of {listing(names)}")
        if problem.observed[names.index(name)].is_number:
            raise OptionError(f"mediator {name!r} is a number; a plan needs mediators with levels")
        found[names.index(name)] = None if rate is None else checked_rate(f"the rate of {name}", rate)
    return found


def _rates(stages: Mapping[int, float | None], rate: float) -> list[float]:
    """The share that moves on at each stage and at last to the reward; rates not given lie evenly between."""
    known = [0.0, *(math.nan if each is None else math.log(each) for each in stages.values()), math.log(rate)]
    places = [place for place, each in enumerate(known) if not math.isnan(each)]
    logs = np.interp(np.arange(len(known)), places, [known[place] for place in places])
    for before, after in itertools.pairwise(np.exp(logs)):
        if after >= before:
            raise OptionError(
                f"a rate of {after:.3g} follows {before:.3g}; each mediator needs a lower rate than the one before it, "
                f"and the last a higher one than the reward ({rate:g})"
            )
    return [float(each) for each in np.exp(np.diff(logs))]


def _funnel(sizes: Sequence[int], moving: Sequence[float], rate: float) -> Funnel:
    """The control."""
    joint: Floats = np.ones(1)
    stages: list[Floats] = []
    for place, size in enumerate(sizes):
        reached = joint.reshape(1, -1, joint.shape[-1] if place else 1).sum(axis=1)
        lean = LEAN * np.arange(reached.shape[1])[None, :]
        stages.append(stage_table(reached, lean, place > 0, size, SPACING, moving[place]))
        joint = with_stage(joint, stages[-1])
    if not stages:
        return Funnel(np.ones(1), [], None, np.array([1 - rate, rate]).reshape(1, 1, 1, 2))
    reached = before_reward(joint, None)
    last: Floats = LEAN * np.arange(reached.shape[2], dtype=np.float64)[None, None, :]
    return Funnel(np.ones(1), stages, None, stage_table(reached, last, True, 2, 0.0, moving[-1]))


def _codes(problem: Problem) -> Ints:
    """The level number of each lever in each arm, where 0 is the idle level."""
    codes = problem.arm_codes.copy()
    for place, (lever, idle) in enumerate(zip(problem.interventions, problem.idle, strict=True)):
        at = lever.code(idle)
        codes[:, place] = np.where(codes[:, place] == at, 0, codes[:, place] + (codes[:, place] < at))
    return codes


def _draw_shifts(codes: Ints, stages: int, direct: bool, rng: np.random.Generator) -> list[Floats]:
    """Per lever (levels, stages + 1): what each level adds, before scaling; the last column is the reward's."""
    found = []
    for lever in range(codes.shape[1]):
        levels = int(codes[:, lever].max()) + 1
        shift = np.zeros((levels, stages + 1))
        if stages:
            shift[1:, rng.integers(stages)] = rng.normal(size=levels - 1)
        if direct:
            shift[1:, -1] = rng.normal(size=levels - 1) * (0.5 if stages else 1.0)
        found.append(shift)
    return found


def _world(
    problem: Problem, funnel: Funnel, stages: list[int], shifts: list[Floats], rng: np.random.Generator
) -> DiscreteSCM:
    names = [problem.observed[place].name for place in stages]
    variables = {each.name: each.size for each in problem.observed if not each.is_number}
    mechanisms = funnel_mechanisms(funnel, [*names, problem.target])
    for name, size in variables.items():
        if name not in mechanisms:
            mechanisms[name] = Mechanism([], rng.dirichlet(np.full(size, 4.0)))
    levers: dict[str, dict[Level, Effect]] = {}
    for lever, idle, shift in zip(problem.interventions, problem.idle, shifts, strict=True):
        levels = [idle, *(level for level in lever.levels if level != idle)]
        targets = (*names, problem.target)
        effects = ({name: Nudge(float(by)) for name, by in zip(targets, row, strict=True) if by} for row in shift)
        levers[lever.name] = dict(zip(levels, effects, strict=False))
        levers[lever.name].update({level: {} for level in levels if level not in levers[lever.name]})
    arms = [dict(arm) for arm in problem.arms]
    return DiscreteSCM({**variables, problem.target: 2}, mechanisms, levers, target=problem.target, arms=arms)
