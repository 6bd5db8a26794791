"""Deciding: how a study chooses, from its settings, its events and the random numbers of the decision alone."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import Bools, Floats
from ..errors import OptionError, brief, share
from ..policies import Advice, Effects, Estimates, Policy, Posterior, Recommendation
from ..policies.advice import Advices
from ..policies.arms import arm_numbers
from ..policies.lifts import with_lifts
from ..policies.recommendation import Ranking
from ..problem import Arm, Level, Problem, Segment
from ..seeds import stream
from .guardrails import Guards
from .rules import Rules
from .settings import Settings
from .shares import Portions, portions

NOTHING_LEFT = "every arm breaks a guardrail and the study has no control to fall back on; name one in control="


class Deciding:
    """What chooses the arms of a study: the policy, within the rules of the study."""

    settings: Settings
    policy: Policy[Any]
    rules: Rules
    guards: Guards
    retired: set[int]
    forbidden: set[int]
    reserved: list[int]
    """Decisions that the control had its share of, and how many of them it got."""

    def begin(self, settings: Settings) -> None:
        """Read the rules from the settings."""
        self.settings = settings
        self.rules = Rules(settings.rules)
        rules, first = self.rules, len(settings.problem["arms"])
        self.guards = Guards(rules.guardrails, rules.confidence, rules.metrics, first, rules.controls)
        self.reserved = [0, 0]

    @property
    def problem(self) -> Problem:
        """The problem as it is now: arms may have been added."""
        return self.policy.problem

    @property
    def controls(self) -> list[int]:
        """The numbers of the control arm: one, or one in each segment; none where there is no control."""
        return self.rules.controls(self.problem)

    @property
    def cost(self) -> Floats | None:
        """What each arm costs, in units of the reward."""
        return self.rules.cost(self.problem)

    @property
    @abstractmethod
    def decided(self) -> int:
        """The number of decisions so far."""

    def status(self, number: int) -> str | None:
        """Why an arm is not in play: retired, forbidden, or the guardrails it breaks; None where it is."""
        if number in self.retired or number in self.forbidden:
            return "retired" if number in self.retired else "forbidden"
        broken = self.breaks(number)
        if not broken:
            return None
        return f"breaks {broken}; still played, as the control" if number in self.controls else f"breaks {broken}"

    def breaks(self, number: int) -> str:
        """The guardrails that an arm breaks."""
        if not self.rules.guardrails:
            return ""
        found = self.guards.broken(self.policy)[:, number]
        return ", ".join(str(rail) for rail, broken in zip(self.rules.guardrails, found, strict=True) if broken)

    # Choosing

    def random(self, number: int) -> np.random.Generator:
        """The random numbers of a decision."""
        return np.random.default_rng(stream(self.settings.seed, number))

    def mask(self, among: Iterable[int] | None) -> NDArray[np.bool_] | None:
        """Arms by number as a mask; None for all."""
        if among is None:
            return None
        chosen = np.zeros(len(self.problem.arms), dtype=np.bool_)
        chosen[list(among)] = True
        return chosen

    def subset(self, arms: Iterable[Arm | Mapping[str, Level]] | None) -> list[int] | None:
        """The arms that one ask may choose from, checked."""
        if arms is None:
            return None
        if isinstance(arms, Mapping | str) or not isinstance(arms, Iterable) or getattr(arms, "ndim", 1) == 0:
            raise OptionError(f"arms={brief(arms)}; expected a list of arms")
        return sorted({number for arm in arms for number in arm_numbers(self.problem, arm)})

    def open_arms(self, among: Iterable[int] | None) -> NDArray[np.bool_] | None:
        """The arms that a decision may choose from: those asked about, without those that break a guardrail.

        None: all that the policy may choose. The control is left in.
        """
        mask = self.mask(among)
        if not self.rules.guardrails:
            return mask
        kept: Bools = np.logical_not(self.guards.broken(self.policy).any(axis=0))
        kept[self.controls] = True
        return mask if kept.all() else kept if mask is None else kept & mask

    def check_open(self, among: Iterable[int] | None) -> None:
        """Validate that a decision has an arm to choose."""
        mask = self.open_arms(among)
        if mask is None or (mask & self.policy.allowed).any():
            return
        if not self.controls and (among is None or self.problem.segments):
            raise OptionError(NOTHING_LEFT)
        if among is None:
            raise OptionError("every arm but the control breaks a guardrail, and the control is not in play; allow it")
        raise OptionError(
            "none of the given arms can be played; they are retired, forbidden or break a guardrail, "
            "or the list is empty"
        )

    def portions(self, among: Iterable[int] | None) -> Portions:
        """What the shares of the arms come to for a decision."""
        mask = self.open_arms(among)
        playable = self.policy.allowed if mask is None else self.policy.allowed & mask
        return portions(*self.rules.shares(self.problem), playable)

    def choose(self, count: int, among: list[int] | None, rng: np.random.Generator | None = None) -> list[int]:
        """The next arms, by number; with the random numbers of the next decision, or others."""
        rng, mask = self.random(self.decided + 1) if rng is None else rng, self.open_arms(among)
        if not self.rules.shares_out:
            return self._policy_choice(count, rng, mask, count)
        parts = self.portions(among)
        u = rng.random(count)
        chosen = parts.own(u)
        free, together = np.flatnonzero(chosen < 0), parts.parts()
        if len(together) == 1 and len(free):
            chosen[free] = self._policy_choice(len(free), rng, together[0][1], count)
        else:
            for place in free:
                chosen[place] = self._policy_choice(1, rng, parts.open_at(float(u[place])), count)[0]
        return [int(arm) for arm in chosen]

    def _policy_choice(self, count: int, rng: np.random.Generator, mask: Bools | None, batch: int) -> list[int]:
        found: list[int] = self.policy.choose(count, rng, among=mask, cost=self.cost, batch=batch).tolist()
        return found

    def compared(
        self, before: int, count: int, among: list[int] | None, rng: np.random.Generator | None = None
    ) -> Floats | int | None:
        """What the decision after `before` others of its batch of `count` compared, less costs.

        An arm's number where it got its own share; None where the policy does not say.
        """
        rng, mask = self.random(self.decided + 1) if rng is None else rng, self.open_arms(among)
        if self.rules.shares_out:
            parts = self.portions(among)
            u = rng.random(count)
            own = parts.own(u)
            if own[before] >= 0:
                return int(own[before])
            for place in np.flatnonzero(own[:before] < 0):
                self._policy_choice(1, rng, parts.open_at(float(u[place])), count)
            mask = parts.open_at(float(u[before]))
        elif before:
            self._policy_choice(before, rng, mask, count)
        if self.policy.exact_shares:
            return self.policy.shares(among=mask, cost=self.cost, batch=count)
        found, cost = self.policy.indices(rng, among=mask), self.cost
        return found if found is None or cost is None else found - cost

    def frequencies(self, draws: int, rng: np.random.Generator, among: Iterable[int] | None, batch: int = 1) -> Floats:
        """How often each arm is chosen in a batch of decisions, over many draws; shares that arms have are exact."""
        cost = self.cost
        if not self.rules.shares_out:
            return self.policy.frequencies(draws, rng, among=self.open_arms(among), cost=cost, batch=batch)
        parts = self.portions(among)
        found = parts.floor.copy()
        left = 1 - parts.reserved
        for weight, mask in parts.parts() if left > 1e-12 else []:
            part = max(1, round(draws * weight))
            chances = self.policy.frequencies(part, rng, among=mask, cost=cost, batch=batch)
            found += left * weight * chances
        return found

    def reserved_for(self, among: list[int] | None) -> int | None:
        """The control by its number, where it has exactly its share of such decisions."""
        wanted = self.rules.control_share
        control = next((each for each in self.controls if among is None or each in among), None)
        if wanted is None or control is None:
            return None
        parts = self.portions(among)
        return control if parts.floor[control] == wanted and parts.room[control] == 0 else None

    def count_reserved(self, arms: list[int], control: int | None) -> None:
        """Count decisions in which the control had exactly its share."""
        if control is not None:
            self.reserved = [self.reserved[0] + len(arms), self.reserved[1] + arms.count(control)]

    # Looking

    def recommend(self, *, segment: Segment | None = None, margin: float | None = None) -> Recommendation | Any:
        """The arm to deploy: of those in play that break no guardrail, by what is left after costs."""
        mask = self._deployable()
        return self.policy.recommend(segment=segment, margin=margin, among=mask, cost=self.cost)

    def ranking(self, segment: Segment | None) -> Ranking:
        """`recommend` with the probability of every arm to be the best."""
        return self.policy.ranking(segment, None, self._deployable(), self.cost)[0]

    def advice(
        self, *, segment: Segment | None, margin: float | None, confidence: float, tolerance: float
    ) -> Advice | Any:
        """Stop, go on, or drop arms, of those in play that break no guardrail, by what is left after costs."""
        if self.problem.segments and segment is None:
            options: dict[str, Any] = {"margin": margin, "confidence": confidence, "tolerance": tolerance}
            return Advices([self.advice(segment=each, **options) for each in self.problem.segment_settings])
        mask, wanted = self._deployable(), self.problem.segment(segment) or None
        return self.policy.advice(
            segment=wanted,
            margin=margin,
            confidence=confidence,
            tolerance=tolerance,
            among=mask,
            cost=self.cost,
            **self._about(wanted),
        )

    def _about(self, segment: Segment | None) -> dict[str, Any]:
        """What advice needs to know of a study."""
        inside = self.problem.arms_in(segment) if self.problem.segments else None
        control = next((each for each in self.controls if inside is None or inside[each]), None)
        return {
            "first_arms": len(self.settings.problem["arms"]),
            "per_day": self.per_day,
            "held": self.held,
            **({} if control is None else {"control": control}),
        }

    @property
    @abstractmethod
    def per_day(self) -> float:
        """Decisions per day so far; NaN where there is no traffic to go by."""

    @property
    @abstractmethod
    def held(self) -> str:
        """Why no claim about arms can be made, in one sentence; empty where claims can be made."""

    def _deployable(self) -> Bools | None:
        """The arms that can be recommended; None: all that the policy may choose."""
        mask = self.open_arms(None)
        if mask is not None and not (mask & self.policy.allowed).any():
            raise OptionError(NOTHING_LEFT)
        return mask

    def advise(self, best: Recommendation | None, segment: Segment | None, confidence: float) -> Advice:
        """`advice`, given what is recommended."""
        wanted, mask = self.problem.segment(segment) or None, self.open_arms(None)
        return self.policy._advise(best, wanted, mask, confidence=confidence, cost=self.cost, **self._about(wanted))

    def posterior(self) -> Posterior:
        """The posterior of all arms' means."""
        return self.policy.posterior()

    def estimates(self, level: float, segment: Segment | None = None) -> Estimates:
        """What is known of every arm, with its status, its cost and its lift over the control."""
        wanted = None if segment is None else self.problem.segment(segment)
        found, controls = self.policy.estimates(level=level), self.controls
        if controls:
            posterior = self.policy.posterior() if self.policy.can_compare else None
            found = with_lifts(found, posterior, controls, share("level", level), self.cost)
        elif self.cost is not None:
            found = found.with_costs(self.cost)
        return found.with_status(self.status).of(wanted)

    def effects(self, level: float) -> Effects:
        """What each level of each lever does in place of the control's."""
        base = self.problem.arms[self.controls[0]] if self.controls else None
        return self.policy.effects(level=level, control=base, cost=self.cost)
