"""`python -m examples.shop`: play the story with several seeds, and compare the study's answers with the truth."""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from .story import Outcome, play

MARGIN = 0.05
"""An arm whose rate is behind the best one's by this share of it is close enough."""


def line_about(seed: int, found: Outcome) -> str:
    """One line about a seed."""
    held = found.covered
    alarms = f"; alarms: {', '.join(found.alarms)}" if found.alarms else ""
    return (
        f"seed {seed}: rows and purchases of all arms {'exact' if found.is_exact else 'WRONG'}; "
        f"{found.excluded} of {found.bots_and_staff} bots and staff excluded; "
        f"{found.corrected} of {found.refunds} refunds corrected; {found.refused} contradictions refused; "
        f"winner {found.winner}, {found.loss:.1%} behind the best; {sum(held)} of {len(held)} intervals hold; "
        f"{found.wrong_claims} of {found.claims} claims wrong{alarms}"
    )


def mean_of(values: list[float]) -> str:
    """The mean over seeds as a percentage, with its standard error."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{np.mean(values):.1%} ± {error:.1%}"


def main() -> None:
    """Play, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--visitors", type=int, default=150, help="visits per day")
    options = parser.parse_args()
    every: list[Outcome] = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, options.seeds + 1):
            every.append(play(Path(folder), seed, options.visitors))
            print(line_about(seed, every[-1]), flush=True)
    print(f"rows and purchases exact: {sum(each.is_exact for each in every)} of {len(every)} seeds")
    print(f"intervals that hold the truth: {mean_of([float(np.mean(each.covered)) for each in every])}")
    print(f"winner is the best arm: {mean_of([float(each.loss == 0) for each in every])}")
    print(f"winner is the best arm or within {MARGIN:.0%}: {mean_of([float(each.loss <= MARGIN) for each in every])}")
    print(f"reward of the winner, as a share of the best arm's: {mean_of([1 - each.loss for each in every])}")
    print(f"claims of advice that are wrong: {sum(e.wrong_claims for e in every)} of {sum(e.claims for e in every)}")
    print(f"seeds with an alarm: {sum(bool(each.alarms) for each in every)} of {len(every)}")


if __name__ == "__main__":
    main()
