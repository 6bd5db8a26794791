"""`python -m benchmarks.rules`: what guardrails, the control's share and the check of outcomes promise, measured.

Shares are printed with standard errors. A study that excludes an arm wrongly is one in which any arm is ever excluded
although all are exactly at the limit, looked at after every value; revenue and counts have no declared range.
"""

import argparse
import math

import numpy as np
from tests.studies.cases import Unstored

import causal_bandits as cb
from causal_bandits.core.compiled import Floats
from causal_bandits.product.studies.guardrails import Guardrail, Guards
from causal_bandits.product.studies.health import FALSE_ALARMS, looks, share_of_look, uneven

FOUR = cb.Problem("Y", {"refund": 2}, {"I": ["none", "a", "b", "c"]})
REWARDS = (0.2, 0.3, 0.6, 0.1)


def shown(cases: list[float] | np.ndarray) -> str:
    """A mean with its standard error."""
    found = np.asarray(cases, dtype=np.float64)
    return f"{found.mean():.4f} ± {found.std(ddof=1) / np.sqrt(len(found)):.4f} (n = {len(found)})"


MEANS = {"rate of 2%": 0.02, "rate of 30%": 0.3, "counts": 2.0, "revenue": 0.03 * math.exp(3.5), "Pareto": 0.03 * 45.0}
CASES: list[tuple[str, float | str]] = [
    *((sign, 1.0) for sign in ("<=", ">=")),
    *((sign, f"{factor} x control") for sign, factor in (("<=", 1.05), (">=", 0.95))),
]


def drawn(kind: str, rng: np.random.Generator, rows: int, level: float) -> Floats:
    """Values of a metric whose mean is `level` times that in `MEANS`."""
    if kind.startswith("rate"):
        return (rng.random(rows) < MEANS[kind] * level).astype(np.float64)
    if kind == "counts":
        return rng.poisson(2.0 * level, rows).astype(np.float64)
    spent = rng.lognormal(3.0, 1.0, rows) if kind == "revenue" else 20 * (1 + rng.pareto(1.8, rows))
    found: Floats = np.where(rng.random(rows) < 0.03 * level, spent, 0.0)
    return found


def excluded(kind: str, sign: str, limit: float | str, level: float, seed: int, rows: int) -> float:
    """After how many values of an arm the first of two arms is excluded, or infinity; the control is not counted.

    `level` is the arms' mean over the limit.
    """
    problem = cb.Problem("Y", {"A": 2}, {"I": ["none", "a", "b"]})
    relative = isinstance(limit, str)
    factor = float(str(limit).split()[0])
    rail = Guardrail("m", None, sign, factor if relative else MEANS[kind], relative)
    guards = Guards([rail], 0.95, {"m": "binary" if kind.startswith("rate") else "real"}, 3, lambda _: [0])
    policy, rng = cb.ThompsonSampling(problem, seed=0), np.random.default_rng((seed, rows))
    values = [drawn(kind, rng, rows, mean) for mean in (1.0, factor * level, factor * level)]
    for row in range(rows):
        for arm in range(3):
            guards.count_reported(problem, 0, arm, {"m": float(values[arm][row])}, counts=True)
        if row % 50 == 49 and guards.broken(policy)[0, 1:].any():
            return row + 1
    return np.inf


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
    return quarters, float(broken[[1, 3]].mean()), float(np.mean(arms == 0))


def alarms(rng: np.random.Generator, decisions: int) -> tuple[bool, bool, bool]:
    """Whether outcomes are called uneven: falsely, where a tenth of an arm's is lost, and falsely at 1% per look."""
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
    parser.add_argument("--guarded", type=int, default=400)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--kinds", nargs="*", default=list(MEANS), choices=list(MEANS))
    parser.add_argument("--studies", type=int, default=60)
    parser.add_argument("--checks", type=int, default=600)
    parser.add_argument("--seed", type=int, default=7)
    chosen = parser.parse_args()
    rng = np.random.default_rng(chosen.seed)
    for sign, limit in CASES:
        for kind in chosen.kinds:
            count, about = chosen.guarded // (4 if isinstance(limit, str) else 1), f"{kind}, {sign} {limit}"
            wrong = [excluded(kind, sign, limit, 1.0, seed, chosen.rows) for seed in range(count)]
            print(f"{about} at the limit: studies that exclude an arm {shown(np.isfinite(wrong))}", flush=True)
            level = 1.5 if sign == "<=" else 0.5
            right = np.array([excluded(kind, sign, limit, level, seed, 3 * chosen.rows) for seed in range(25)])
            middle = np.median(right)
            print(f"{about} broken by half: {np.isfinite(right).mean():.0%}, median rows of the arm {middle:.0f}")
    found = [guarded(seed, 400) for seed in range(chosen.studies)]
    for place in range(4):
        print(f"share of the violating arm, quarter {place + 1} of 400: {shown([each[0][place] for each in found])}")
    print(f"other arms excluded: {shown([each[1] for each in found])}")
    print(f"share of the control, 0.1 asked for: {shown([each[2] for each in found])}", flush=True)
    rng = np.random.default_rng((chosen.seed, 1))
    checks = np.array([alarms(rng, 2300) for _ in range(chosen.checks)])
    for place, words in enumerate(
        ("false alarms", "alarms where a tenth of one arm is lost", "false alarms at 1% per look")
    ):
        print(f"outcomes, {words}: {shown(checks[:, place])}")


if __name__ == "__main__":
    main()
