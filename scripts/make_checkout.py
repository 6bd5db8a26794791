"""Make the example table that `causal-bandits analyze example` reads: a shop, simulated.

The banner changes who clicks, the discount what lands in the cart, and the purchase depends on the cart alone: {cart}
separates both levers from the purchase. Some clicks were not recorded.
"""

from pathlib import Path

import numpy as np
import polars as pl

ROWS = 1500
TARGET = Path(__file__).parent.parent / "src" / "causal_bandits" / "datasets" / "checkout.csv"
CLICKS = {"none": 0.15, "red": 0.6, "blue": 0.35}
BUYS = {"empty": 0.03, "some": 0.2, "full": 0.6}


def main() -> None:
    """Write the table."""
    rng = np.random.default_rng(2024)
    rows = []
    for visitor in range(ROWS):
        banner = str(rng.choice(list(CLICKS)))
        discount = str(rng.choice(["none", "10%"], p=[0.6, 0.4]))
        clicked = int(rng.random() < CLICKS[banner])
        full = 0.08 + 0.3 * clicked + 0.2 * (discount == "10%")
        cart = str(rng.choice(["empty", "some", "full"], p=[0.7 - full, 0.3, full]))
        rows.append(
            {
                "visitor": visitor + 1,
                "banner": banner,
                "discount": discount,
                "clicked": None if rng.random() < 0.04 else clicked,
                "cart": cart,
                "seconds": round(float(rng.gamma(2.0, 30.0)) * (1 + clicked), 1),
                "purchase": int(rng.random() < BUYS[cart]),
            }
        )
    pl.DataFrame(rows, infer_schema_length=None).write_csv(TARGET)


main()
