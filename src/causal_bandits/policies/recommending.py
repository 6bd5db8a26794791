"""What to deploy, and whether to stop: answers of a policy, for each segment where there are some."""

from typing import Any

import numpy as np

from ..compiled import Bools, Floats
from ..errors import ObservationError, share
from ..problem import Segment
from .advice import CONFIDENCE, Advice, advise
from .by_segment import Advices, Recommendations, segment_masks
from .comparing import Comparing
from .estimates import Recommendation, checked_margin, enough_draws
from .standing import Ranking, ranking_of


class Recommending(Comparing):
    """What recommends an arm and gives advice."""

    def recommend(
        self,
        *,
        segment: Segment | None = None,
        draws: int | None = None,
        margin: float | None = None,
        among: Bools | None = None,
        cost: Floats | None = None,
    ) -> Recommendation | Any:
        """The arm with the highest posterior mean, and how sure it is that no other is better.

        Args:
            segment: the segment to recommend for; unless given, `Recommendations` for all, if the problem has any.
            draws: how many draws from the posterior to count; a probability p has standard error
                sqrt(p (1 - p) / draws). Unless given, 4000, and with more than 250 arms fewer, but at least 200.
            margin: how far from the best arm is close enough, in units of the reward. Unless given, 5 % of the
                recommended arm's mean.
            among: which of the allowed arms are compared, (arms,); all by default.
            cost: what each arm costs, (arms,) in units of the reward; means are then less that.
        """
        found = [each.best for each in self.ranking(segment, draws, margin, among, cost)]
        return Recommendations(found) if self.problem.segments and segment is None else found[0]

    def ranking(
        self,
        segment: Segment | None = None,
        draws: int | None = None,
        margin: float | None = None,
        among: Bools | None = None,
        cost: Floats | None = None,
    ) -> list[Ranking]:
        """`recommend` with the probability of every arm to be the best, for the segment or for each of them."""
        draws = enough_draws(draws, len(self.problem.arms))
        asked = self.allowed if among is None else self.allowed & among
        taken = np.zeros(len(self.allowed)) if cost is None else cost
        masks = segment_masks(self.problem, segment, asked)
        checked_margin(margin, 0.0)
        if not self.rows:
            raise ObservationError("nothing can be recommended yet: no row has a reward; tell some outcomes first")
        state = self._reading()
        return [self._ranked(state, mask, draws, margin, taken) for mask in masks]

    def _ranked(self, state: Any, asked: Bools, draws: int, margin: float | None, cost: Floats) -> Ranking:
        """What to recommend among the arms that are asked about."""
        can = self._recommendable(state if asked.all() else self._among(state, asked), asked)
        known = [
            (estimate.mean - float(cost[number]), estimate.arm)
            for number, estimate in enumerate(self._estimate(state, 0.95))
            if can[number]
        ]
        mean, arm = max(known, key=lambda each: each[0])
        return ranking_of(self._all_drawn(state), arm, mean, self.problem, self.rows, draws, margin, cost, asked)

    def _recommendable(self, state: Any, asked: Bools) -> Bools:
        """Which of the arms that are asked about can be recommended."""
        return asked

    def advice(
        self,
        *,
        segment: Segment | None = None,
        margin: float | None = None,
        confidence: float = CONFIDENCE,
        among: Bools | None = None,
        cost: Floats | None = None,
    ) -> Advice | Any:
        """Stop, go on, or drop arms; valid at every look (docs/stopping.md).

        Args:
            segment: the segment that is asked about; unless given, `Advices` for all, if the problem has any.
            margin: how far from the best arm is close enough, in units of the reward; 5 % of its mean by default.
            confidence: probability that no stop or drop is ever wrong, over all looks together.
            among: which of the allowed arms are compared, (arms,); all by default.
            cost: what each arm costs, (arms,) in units of the reward; arms are compared by what is left.
        """
        confidence = share("confidence", confidence)
        if self.problem.segments and segment is None:
            options: dict[str, Any] = {"margin": margin, "confidence": confidence, "among": among, "cost": cost}
            return Advices([self.advice(segment=each, **options) for each in self.problem.segment_settings])
        try:
            best = self.recommend(segment=self.problem.segment(segment), margin=margin, among=among, cost=cost)
        except ObservationError:  # no arm has rows enough
            best = None
        return self.advise(best, segment, confidence, among, cost)

    def advise(
        self,
        best: Recommendation | None,
        segment: Segment | None,
        confidence: float,
        among: Bools | None = None,
        cost: Floats | None = None,
    ) -> Advice:
        """`advice`, given what is recommended among some of the allowed arms."""
        asked = self.allowed if among is None else self.allowed & among
        inside = self.problem.arms_in(segment)
        wanted = self.problem.segment(segment)
        return advise(best, self.history, asked if inside is None else asked & inside, confidence, cost, wanted)
