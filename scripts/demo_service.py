"""Start a server with a simulated shop that plays while one watches: `make demo-service`.

The banner changes who clicks, the discount what lands in the cart, and the purchase depends on the cart alone. Some
outcomes come late, a few never, and some clicks are not recorded.
"""

import argparse
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from causal_bandits import Problem, Study
from causal_bandits.core.problem import Arm
from causal_bandits.errors import CausalBanditsError, OptionError
from causal_bandits.product.service import ServiceSettings, serve
from causal_bandits.product.service.serving import listen
from causal_bandits.product.service.settings import Process

CLICKS = {"none": 0.15, "red": 0.45, "blue": 0.3, "green": 0.22}
BUYS = {"empty": 0.004, "some": 0.03, "full": 0.13}
NAME = "checkout"
PORT = 8080


def problem() -> Problem:
    """The shop."""
    return Problem(
        target="purchase",
        observed={"clicked": 2, "cart": ["empty", "some", "full"]},
        interventions={"banner": list(CLICKS), "discount": ["none", "5%", "10%"]},
    )


def visit(arm: Arm, rng: np.random.Generator) -> dict[str, object]:
    """What one visitor does."""
    clicked = int(rng.random() < CLICKS[str(arm["banner"])])
    full = 0.05 + 0.25 * clicked + {"none": 0.0, "5%": 0.06, "10%": 0.12}[str(arm["discount"])]
    cart = str(rng.choice(list(BUYS), p=[0.55 - full / 2, 0.45 - full / 2, full]))
    seen = None if rng.random() < 0.02 else clicked
    return {"clicked": seen, "cart": cart, "purchase": int(rng.random() < BUYS[cart])}


class Shop:
    """Visitors who come in small groups; one in ten needs a while."""

    def __init__(self, study: Study, seed: int) -> None:
        self._study = study
        self._rng = np.random.default_rng(seed)
        self._late: list[dict[str, object]] = []

    def serve(self, visitors: int) -> None:
        """A group of visitors, and outcomes of earlier ones."""
        made = self._study.ask(visitors)
        rows = [{"id": decision.id, **visit(decision.arm, self._rng)} for decision in made]
        chance = self._rng.random(len(rows))
        due, self._late = self._late[:-40], self._late[-40:]
        self._late += [row for row, draw in zip(rows, chance, strict=True) if 0.005 < draw < 0.1]
        self._study.tell_many([row for row, draw in zip(rows, chance, strict=True) if draw >= 0.1] + due)

    def run(self, pause: float, stopping: threading.Event) -> None:
        """Continue until the server stops."""
        while not stopping.wait(pause):
            self.serve(int(self._rng.integers(5, 20)))


def usable_port(wanted: int | None) -> int:
    """The port to listen on: the one that was asked for, or the usual one, or 0 (any) if that is in use."""
    try:
        listen("127.0.0.1", PORT if wanted is None else wanted).close()
    except OptionError:
        if wanted is not None:
            raise
        print(f"Port {PORT} is in use; another port is used", flush=True)
        return 0
    return PORT if wanted is None else wanted


def main() -> None:
    """Serve and play."""
    try:
        _serve()
    except CausalBanditsError as error:
        sys.exit(f"Error: {error}")


def _serve() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, help=f"port to listen on; {PORT} by default, or any free one")
    parser.add_argument("--start", type=int, default=2000, help="visitors before the server starts")
    parser.add_argument("--pause", type=float, default=0.5, help="seconds between two groups of visitors")
    options = parser.parse_args()
    port = usable_port(options.port)
    with tempfile.TemporaryDirectory(prefix="causal-bandits-demo-") as folder:
        storage = f"sqlite:///{Path(folder) / 'studies.db'}"
        study = Study.create(NAME, problem(), storage=storage, seed=1, control={}, control_share=0.05)
        shop, stopping = Shop(study, seed=2), threading.Event()
        for _ in range(options.start // 50):
            shop.serve(50)
        playing = threading.Thread(target=shop.run, args=(options.pause, stopping), daemon=True)

        def started(address: str) -> None:
            print(f"Watch {address}/studies/{NAME} (Ctrl-C to stop)", flush=True)
            playing.start()

        began = time.monotonic()
        try:
            serve(ServiceSettings(storage), Process(port=port), started=started)
        finally:
            stopping.set()
            if playing.is_alive():
                playing.join(timeout=10)
            print(f"Stopped after {time.monotonic() - began:.0f} s; the study is deleted")


if __name__ == "__main__":
    main()
