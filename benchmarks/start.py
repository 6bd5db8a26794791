"""How long a fresh process takes to its first rounds: with nothing compiled yet, and with everything cached."""

import os
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAM = """
import numpy as np
import causal_bandits as cb
world = cb.worlds.example_world("S3")
policy = cb.CausalThompsonSampling(world.problem, seed=0)
rng = np.random.default_rng(0)
arm = policy.ask()
policy.tell(arm, world.pull(arm, rng))
cb.simulation.play(policy, world, 100, rng)
"""


def _seconds(cache: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, "NUMBA_CACHE_DIR": cache}, check=True)
    return time.perf_counter() - start


def starting() -> dict[str, float]:
    """Import, a causal policy, ask, tell, and one rollout, in a separate process."""
    with tempfile.TemporaryDirectory() as cache:
        first = _seconds(cache)
        later = [_seconds(cache) for _ in range(3)]
    return {"first_use_compile_s": first, "warm_start_s": statistics.median(later)}
