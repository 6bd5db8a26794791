"""How long the first answer takes, from the start of the process, with an empty cache for compiled code.

python -m benchmarks.cold_start                       with this interpreter and these sources
python -m benchmarks.cold_start --fresh               in a new virtual environment with the default install
python -m benchmarks.cold_start --source OLD/src      the sources of another checkout, with this interpreter
python -m benchmarks.cold_start --interpreted         a policy with 10,000 rows, without compiled code

Prints a table of seconds: wall clock, and processor time of the process and its children, medians of some runs.
"""

import argparse
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PROBLEM = """
import causal_bandits as cb
problem = cb.Problem(
    "purchase",
    {"clicked": 2, "cart": ["empty", "some", "full"], "basket": 2, "paid": 2},
    {"banner": ["none", "red", "blue"], "price": ["full", "less", "least"], "text": ["a", "b", "c"]},
)
"""
ROWS = """
import random
draw = random.Random(0)
def outcome():
    clicked = int(draw.random() < 0.4)
    seen = {"clicked": clicked, "cart": draw.choice(["empty", "some", "full"]), "basket": clicked, "paid": clicked}
    return {**seen, "purchase": int(draw.random() < 0.1 + 0.3 * clicked)}
"""
POLICY = "policy = cb.preset('safe', problem, seed=0)\n"
STUDY = "study = cb.Study.create('shop', problem, storage='sqlite:///study.db', seed=0)\n"
TABLE = """
arms = problem.arms[:9]
with open("table.csv", "w") as file:
    print(*arms[0], *outcome(), sep=",", file=file)
    for _ in range(5000):
        print(*draw.choice(arms).values(), *outcome().values(), sep=",", file=file)
found = cb.analyze("table.csv", target="purchase", interventions=["banner", "price", "text"])
"""
STORED = (
    STUDY
    + """
for _ in range(300):
    decision, told = study.ask(), outcome()
    study.tell(decision.id, told, reward=told.pop("purchase"))
"""
)
INTERPRETED = (
    PROBLEM
    + ROWS
    + POLICY
    + """
import statistics, time
def rows(count):
    return [{**draw.choice(problem.arms), **outcome()} for _ in range(count)]
def median(work, count):
    found = []
    for _ in range(5):
        policy.tell_many(rows(count))
        begun = time.perf_counter()
        work()
        found.append(1000 * (time.perf_counter() - begun))
    return statistics.median(found)
policy.tell_many(rows(10_000))
print(f"| `policy.ask()` that refits | {median(policy.ask, 2000):.1f} |")
print(f"| `policy.recommend()` | {median(policy.recommend, 1):.1f} |")
"""
)
COMMAND_LINE = "from causal_bandits.cli import main; main()"
PROGRAMS = {
    "import causal_bandits": "import causal_bandits",
    "policy.ask()": PROBLEM + POLICY + "policy.ask()",
    "study.ask()": PROBLEM + STUDY + "study.ask()",
    "policy.recommend(), 300 rows": PROBLEM
    + ROWS
    + POLICY
    + "policy.tell_many([{**arm, **outcome()} for arm in (problem.arms * 12)[:300]])\npolicy.recommend()",
    "analyze(), 5,000 rows, 9 arms": PROBLEM + ROWS + TABLE,
}


class Taken(NamedTuple):
    """Seconds of one run."""

    wall: float
    processor: float


@contextmanager
def timed(found: list[Taken]) -> Iterator[None]:
    """Add what passes meanwhile; processor time is that of children that have ended by then."""
    used, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    yield
    wall, now = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    found.append(Taken(wall, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime))


def run(text: str, *arguments: str, python: Path, folder: Path, environment: dict[str, str]) -> None:
    """Run a program to its end; what fails is shown."""
    command = [str(python), "-c", text, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{text} failed:\n{done.stderr}")


def serve(*, python: Path, folder: Path, environment: dict[str, str]) -> None:
    """Start the service, wait until it is ready, end it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(python), "-c", COMMAND_LINE, "serve", "--storage", "sqlite:///served.db", "--port", str(port)]
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    try:
        while process.poll() is None:
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz"):
                return
            time.sleep(0.01)
        raise SystemExit("the service did not start")
    finally:
        process.kill()
        process.wait()


TASKS: dict[str, Callable[..., None]] = {
    **{name: partial(run, text) for name, text in PROGRAMS.items()},
    "causal-bandits --help": partial(run, COMMAND_LINE, "--help"),
    "causal-bandits study create --help": partial(run, COMMAND_LINE, "study", "create", "--help"),
    "causal-bandits study list": partial(run, COMMAND_LINE, "study", "list", "--storage", "sqlite:///study.db"),
    "causal-bandits study show, 300 rows": partial(
        run, COMMAND_LINE, "study", "show", "shop", "--storage", "sqlite:///study.db"
    ),
    "serve until /readyz": serve,
}
READERS = ("causal-bandits study list", "causal-bandits study show, 300 rows")
"""What needs a stored study."""


def median(name: str, python: Path, source: Path | None, runs: int) -> Taken:
    """The median of some runs of a task; each has its own folder and cache."""
    found: list[Taken] = []
    for _ in range(runs + 1):  # the first one compiles bytecode
        with tempfile.TemporaryDirectory() as folder:
            given = {name: value for name, value in os.environ.items() if name != "CAUSAL_BANDITS_COMPILE"}
            given["NUMBA_CACHE_DIR"] = f"{folder}/cache"
            if source is not None:
                given["PYTHONPATH"] = str(source)
            if name in READERS:
                run(PROBLEM + ROWS + STORED, python=python, folder=Path(folder), environment=given)
                given["NUMBA_CACHE_DIR"] = f"{folder}/empty"
            with timed(found):
                TASKS[name](python=python, folder=Path(folder), environment=given)
    return Taken(*(statistics.median(column) for column in zip(*found[1:], strict=True)))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fresh", action="store_true", help="make a virtual environment with the default install")
    parser.add_argument("--source", type=Path, help="folder with another version of the package")
    parser.add_argument("--interpreted", action="store_true", help="the times of a policy without compiled code")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    if given.interpreted:
        print("| interpreted, 10,000 rows or more | ms |\n|---|---|", flush=True)
        environment = {**os.environ, "CAUSAL_BANDITS_COMPILE": "never"}
        subprocess.run([sys.executable, "-c", INTERPRETED], env=environment, check=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        python = Path(sys.executable)
        if given.fresh:
            venv.create(folder, with_pip=True)
            python = Path(folder) / "bin" / "python"
            install = [str(python), "-m", "pip", "install", "--quiet", f"{ROOT}[service]"]
            subprocess.run(install, check=True)
        source = given.source.resolve() if given.source else None
        found = {name: median(name, python, source, given.runs) for name in TASKS}
    print("| from process start | wall clock, s | processor, s |\n|---|---|---|")
    for name, taken in found.items():
        print(f"| {name} | {taken.wall:.2f} | {taken.processor:.2f} |")


if __name__ == "__main__":
    main()
