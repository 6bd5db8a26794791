"""The story of a shop, played short: two processes, late and contradicting webhooks, bots, arms that come and go."""

from pathlib import Path

import numpy as np
from examples.shop import simulator
from examples.shop.story import play


def test_the_story(tmp_path: Path) -> None:
    found = play(tmp_path, seed=1, visitors=30, days=6)
    assert len(found.rows) == 8  # two settings of shipping with none, red, blue, which was retired, and green
    assert found.is_exact, found.rows
    assert found.excluded == found.bots_and_staff > 0
    assert found.corrected == found.refunds > 0
    assert found.refused > 0
    assert len(found.covered) == 15
    assert found.winner in found.rows
    assert found.winner in (tmp_path / "shop-1.html").read_text()


def test_the_truth_is_the_mean_of_visits() -> None:
    """Of 4,000 visits per arm the share that buys is within 4.5 standard errors (false alarms: under 1e-5 per arm)."""
    rng = np.random.default_rng(5)
    for banner, shipping in (("none", "paid"), ("green", "free")):
        visits = [simulator.visit("visitor-1", banner, shipping, rng) for _ in range(4000)]
        kept = np.mean([each.bought and not each.refunded for each in visits])
        truth = simulator.true_rate(banner, shipping)
        assert abs(kept - truth) < 4.5 * np.sqrt(truth * (1 - truth) / 4000)
