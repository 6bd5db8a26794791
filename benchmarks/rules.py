"""`python -m benchmarks.rules`: what guardrails, the control's share and the check of outcomes promise, measured.

Shares are printed with standard errors.
"""

import argparse

import numpy as np
from tests.studies.cases import Unstored

import causal_bandits as cb
from causal_bandits.independence.limits import log_evidence
from causal_bandits.studies.health import FALSE_ALARMS, health_of, looks, share_of_look, uneven

FOUR = cb.Problem("Y", {"refund": 2}, {"I": ["none", "a", "b", "c"]})
REWARDS = (0.2, 0.3, 0.6, 0.1)


def shown(cases: list[float] | np.ndarray) -> str:
    """A mean with its standard error."""
    found = np.asarray(cases, dtype=np.float64)
    return f"{found.mean():.4f} ± {found.std(ddof=1) / np.sqrt(len(found)):.4f} (n = {len(found)})"


def excluded(values: np.ndarray, limit: float, ends: tuple[float, float]) -> np.ndarray:
    """Which arms are excluded at any row, looked at after every one, with a confidence of 0.95."""
    found, n = np.zeros(len(values), dtype=bool), np.ones(len(values))
    total, squares = values.cumsum(axis=1), (values**2).cumsum(axis=1)
    for row in range(values.shape[1]):
        now = log_evidence((row + 1) * n, total[:, row], squares[:, row], limit=limit, above=True, ends=ends)
        found |= now >= -np.log(0.05)
    return found


def guarded(seed: int, decisions: int) -> tuple[list[float], float, float]:
    """The share of the violating arm in each quarter, of arms wrongly excluded, and of the control."""
    study, rng = (
        Unstored(FOUR, seed=seed, guardrails={"refund": ("<=", 0.05)}, control_share=0.1),
        np.random.default_rng(seed),
    )
    for number in range(1, decisions + 1):
        (arm,) = study.ask()
        refund = int(rng.random() < (0.15 if arm == 2 else 0.025))
        study.tell(number, {"refund": refund, "Y": int(rng.random() < REWARDS[arm])})
    arms = study.state.decisions.column("arm")
    broken = study.state.guards.broken(study.state.policy)[0]
    quarters = [float(np.mean(part == 2)) for part in np.array_split(arms, 4)]
    assert all(check.name != "control" or not check.alarm for check in health_of(study.state))
    return quarters, float(broken[[1, 3]].mean()), float(np.mean(arms == 0))


def alarms(rng: np.random.Generator, decisions: int) -> tuple[bool, bool, bool]:
    """Whether outcomes are called uneven: in vain, where a tenth of an arm's is lost, and in vain at 1 % per look."""
    arms = np.where(rng.random(decisions) < np.linspace(0.25, 0.8, decisions), 0, rng.integers(1, 4, decisions))
    lost, broken = rng.random(decisions) < 0.1, (rng.random(decisions) < 0.1) & (arms == 0)
    delay, found, plain = rng.exponential(60, decisions), [1.0, 1.0], False
    for number, look in enumerate(looks(decisions)):
        late = np.arange(look) + delay[:look] > look
        for place, gone in enumerate((lost[:look] | late, lost[:look] | late | broken[:look])):
            p = uneven(arms[:look], gone * 1.0, 4)[1]
            found[place] = min(found[place], p / share_of_look(number))
            plain |= place == 0 and p <= FALSE_ALARMS
    return found[0] <= FALSE_ALARMS, found[1] <= FALSE_ALARMS, plain


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arms", type=int, default=4000)
    parser.add_argument("--studies", type=int, default=60)
    parser.add_argument("--checks", type=int, default=600)
    parser.add_argument("--seed", type=int, default=7)
    chosen = parser.parse_args()
    rng = np.random.default_rng(chosen.seed)
    for limit in (0.02, 0.3):
        values = (rng.random((chosen.arms, 1000)) < limit) * 1.0
        print(f"arms at a limit of {limit}: ever excluded in 1000 rows {shown(excluded(values, limit, (0.0, 1.0)))}")
    real = excluded(rng.normal(3.0, 2.0, (chosen.arms, 1000)), 3.0, (-np.inf, np.inf))
    print(f"normal values at their limit: {shown(real)}", flush=True)
    found = [guarded(seed, 400) for seed in range(chosen.studies)]
    for place in range(4):
        print(f"share of the violating arm, quarter {place + 1} of 400: {shown([each[0][place] for each in found])}")
    print(f"other arms excluded: {shown([each[1] for each in found])}")
    print(f"share of the control, 0.1 asked for: {shown([each[2] for each in found])}", flush=True)
    rng = np.random.default_rng((chosen.seed, 1))
    checks = np.array([alarms(rng, 2300) for _ in range(chosen.checks)])
    for place, words in enumerate(
        ("false alarms", "alarms where a tenth of one arm is lost", "false alarms at 1 % per look")
    ):
        print(f"outcomes, {words}: {shown(checks[:, place])}")


if __name__ == "__main__":
    main()
