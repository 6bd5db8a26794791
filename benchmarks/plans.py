"""`python -m benchmarks.plans [--studies 400]`: the decisions that `plan` names, against studies that were really run.

For every case `plan` simulates studies, and as many real ones are created, in a database, with the same worlds and
other seeds. They are asked 10 decisions at a time, outcomes are told, and `study.advice()` is read after every 100
decisions until it has said both that there is a proof and that an arm is good enough. The table has the decisions after
which 80% of studies have stopped by each, and their ratio; its standard error is that of two independent samples, by
drawing studies again, though the common worlds make it smaller.
"""

import argparse
import math
import os
import tempfile
from pathlib import Path

import numpy as np

import causal_bandits as cb
from causal_bandits.core.compiled import Floats, compiling_first
from causal_bandits.research.experiments import planning
from causal_bandits.research.worlds import planned_world

AT_ONCE, LOOK, SHARE = 10, 100, 0.8
CASES = (
    ("safe", 2, 0.3, 0.6, 4_000),
    ("best-arm", 2, 0.3, 0.6, 3_000),
    ("safe", 3, 0.2, 1.0, 4_000),
    ("best-arm", 3, 0.2, 1.0, 3_000),
)
"""Policy, arms, rate of the control, lift of the best arm, most decisions of a study."""


def followed(policy: str, problem: cb.Problem, case: tuple[float, float, int], number: int, seed: int) -> list[float]:
    """Decisions until a real study has a proof, and until it is good enough; infinite if there are none until the end.

    Args:
        policy: Name of the policy.
        problem: The problem.
        case: Rate, lift and most decisions.
        number: Number of the study; its world is that of `plan`'s study with this number.
        seed: Seed of all.
    """
    rate, lift, longest = case
    world = planned_world(problem, rate=rate, lift=lift, seed=np.random.default_rng([seed, number]))
    rng, stopped, done = np.random.default_rng([seed, number, 4]), [math.inf, math.inf], 0
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        storage = f"sqlite:///{Path(folder) / 'plans.db'}"
        study = cb.Study.create("planned", world.problem, storage=storage, policy=policy, seed=int(rng.integers(2**31)))
        while done < longest and max(stopped) == math.inf:
            for _ in range(LOOK // AT_ONCE):
                decisions = study.ask(AT_ONCE)
                study.tell_many([{"id": each.id, **world.pull(each.arm, rng)} for each in decisions])
            done += LOOK
            said = study.advice()
            good = said.expected_loss <= said.tolerance * study.posterior().means[0]
            for stop, now in enumerate((said.action == "stop", good)):
                if now and stopped[stop] == math.inf:
                    stopped[stop] = done
        study.close()
    return stopped


def show(found: planning.Plan, real: Floats, case: tuple[object, ...], seed: int) -> None:
    """Print the lines of a case: planned and real decisions, and their ratio."""
    policy, arms, rate, lift, _ = case
    curves = [each for each in found.curves if each.learning == "with mediators"]
    for curve, times in zip(curves, real.T, strict=True):
        rng, other = np.random.default_rng([seed, 5]), planning.stopped_after(times, SHARE)
        again = [planning.stopped_after(times[rng.integers(len(times), size=len(times))], SHARE) for _ in range(200)]
        ratio = curve.needed / other
        error = ratio * math.hypot(curve.needed_error / curve.needed, float(np.std(again)) / other)
        print(
            f"| {policy} | {arms} | {rate:.0%} | {lift:.0%} | {curve.stop} | {curve.needed:,.0f} | {other:,.0f} "
            f"| {ratio:.2f} ± {error:.2f} |",
            flush=True,
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--seed", type=int, default=311)
    options = parser.parse_args()
    print(f"| policy | arms | rate | lift | stop | planned | {options.studies} real studies | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    with compiling_first("the studies"):
        for case in CASES:
            policy, arms, rate, lift, longest = case
            problem = cb.Problem("buys", {"clicked": 2}, {"banner": arms})
            found = planning.plan(
                problem,
                rate=rate,
                lift=lift,
                policy=policy,
                confidence=SHARE,
                runs=options.studies,
                longest=longest,
                seed=options.seed,
            )
            numbers = range(options.studies)
            real = [followed(policy, problem, (rate, lift, longest), each, options.seed) for each in numbers]
            show(found, np.array(real), case, options.seed)


if __name__ == "__main__":
    main()
