"""Our causal rounds against the plain Thompson Sampling of river and MABWiser, which share nothing between arms."""

from collections.abc import Callable

import numpy as np

from .rounds import compiled_run, largest_set_run
from .timing import interleaved
from .worlds import played, world

ARMS = 27


def river_run(rounds: int = 2000) -> Callable[[], int]:
    """Rounds of river: pull and update. The rewards are drawn in advance: its world costs nothing."""
    from river import bandit, proba

    policy = bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=1)
    arms = list(range(ARMS))
    rewards = np.random.default_rng(2).integers(2, size=rounds).tolist()

    def work() -> int:
        for reward in rewards:
            policy.update(policy.pull(arms), reward)
        return rounds

    return work


def mabwiser_run(rounds: int = 200) -> Callable[[], int]:
    """Rounds of MABWiser: predict and partial_fit."""
    from mabwiser.mab import MAB, LearningPolicy

    arms = list(range(ARMS))
    policy = MAB(arms=arms, learning_policy=LearningPolicy.ThompsonSampling(), seed=1)
    policy.fit(decisions=arms, rewards=[0] * ARMS)
    rewards = np.random.default_rng(2).integers(2, size=rounds).tolist()

    def work() -> int:
        for reward in rewards:
            policy.partial_fit([policy.predict()], [reward])
        return rounds

    return work


def ask_tell_run(rounds: int = 1000) -> Callable[[], int]:
    """Rounds of ours through the facade: ask and tell, every subset accepted by tests, 1000 rows known."""
    policy = played(4, 1000, tested=True)
    rng = np.random.default_rng(2)
    seen = [world().pull({}, rng) for _ in range(rounds)]

    def work() -> int:
        for observation in seen:
            policy.tell(policy.ask(), observation)
        return rounds

    return work


def against_river() -> dict[str, float]:
    """A compiled causal round, with its world and its discovery, against a plain round."""
    seconds = interleaved({"ours": compiled_run, "river": river_run, "largest set": largest_set_run}, turns=9)
    return {
        "river_ts_round_us": seconds["river"] * 1e6,
        "causal_round_vs_river_ts_ratio": seconds["river"] / seconds["ours"],
        "largest_set_round_us": seconds["largest set"] * 1e6,
        "largest_set_round_vs_river_ts_ratio": seconds["river"] / seconds["largest set"],
    }


def against_mabwiser() -> dict[str, float]:
    """A causal ask and tell through the facade against a plain round."""
    seconds = interleaved({"ours": ask_tell_run, "mabwiser": mabwiser_run}, turns=9)
    return {
        "ask_tell_us": seconds["ours"] * 1e6,
        "mabwiser_ts_round_us": seconds["mabwiser"] * 1e6,
        "ask_tell_vs_mabwiser_ratio": seconds["mabwiser"] / seconds["ours"],
    }
