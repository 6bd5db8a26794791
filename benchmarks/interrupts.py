"""Ctrl-C and alarms in the middle of compiled calls: crashed, lost or raised; and what reading a Generator costs.

`python -m benchmarks.interrupts` is the long run (1,000 interrupts for each policy); the tests do a short one.
"""

import argparse
import json
import os
import random
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from rich.console import Console

ROOT = Path(__file__).parents[1]
LONGEST = 30.0
"""Seconds after which an interrupt that was not answered is lost."""

COMPILING = 1200.0
"""Seconds that a process may take to compile before it is ready."""

Ask = Callable[[], object]


def _bare_numba() -> Ask:
    """numba alone, without this package: the fault that docs/reference/known-issues.md describes."""
    import numba

    draw: Any = numba.njit(lambda rng: rng.random())
    return partial(draw, np.random.default_rng(0))


def _policy(name: str) -> Ask:
    """A policy that has seen some rows; its discovery refreshes while it is interrupted."""
    import causal_bandits as cb

    real = "Gaussian" in name
    world = cb.LoggedWorld(*cb.datasets.sachs()) if real else cb.worlds.example_world("S3")
    policy = getattr(cb.policies, name)(world.problem, seed=0)
    cb.simulation.play(policy, world, 100, np.random.default_rng(1), compiled=False)
    return policy.ask  # type: ignore[no-any-return]


SUBJECTS: dict[str, Callable[[], Ask]] = {
    "bare-numba": _bare_numba,
    **{
        name: lambda name=name: _policy(name)  # type: ignore[misc]
        for name in ("ThompsonSampling", "CausalThompsonSampling", "SafePolicy", "SafeGaussianThompson")
    },
}


class Outcome(NamedTuple):
    """What became of the interrupts sent to one process."""

    sent: int
    raised: int
    lost: int
    crashed: int
    said: str
    """The end of what the process wrote on standard error."""


def _answering(count: int, kind: str, ask: Ask) -> None:
    """Ask forever; say `r` when ready for the next interrupt, which must come out as the exception it raises."""
    wanted: type[BaseException] = KeyboardInterrupt if kind == "ctrl-c" else TimeoutError
    signal.signal(signal.SIGINT, signal.default_int_handler if kind == "ctrl-c" else _time_is_up)
    caught = 0
    while caught < count:
        try:
            os.write(1, b"r")
            while True:
                ask()
        except wanted:
            caught += 1
    ask()
    os.write(1, b".")


def _time_is_up(number: int, frame: object) -> None:
    raise TimeoutError("time is up")


def _start(*arguments: str, **environment: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "benchmarks.interrupts", *arguments]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment}, **pipes)  # type: ignore[call-overload,no-any-return]


def _answer(pipe: IO[bytes], seconds: float) -> bytes | None:
    """One byte, nothing where the process has ended, None where it keeps silent."""
    ready, _, _ = select.select([pipe], [], [], seconds)
    return os.read(pipe.fileno(), 1) if ready else None


def _rest(process: "subprocess.Popen[bytes]") -> str:
    """Wait for the end; the end of what was written on standard error."""
    assert process.stderr is not None
    errors = process.stderr.read()
    process.wait()
    process.communicate()
    return str(errors.decode(errors="replace")[-500:])


def interrupt(subject: str, count: int, *, seed: int, kind: str = "ctrl-c") -> Outcome:
    """Send a process `count` interrupts, each at a random moment after it has answered the one before."""
    chance = random.Random(seed)
    process = _start("--subject", subject, "--count", str(count), "--kind", kind)
    assert process.stdout is not None
    sent = 0
    answer = _answer(process.stdout, COMPILING)
    while answer == b"r":
        time.sleep(chance.random() * 0.003)
        process.send_signal(signal.SIGINT)
        sent += 1
        answer = _answer(process.stdout, LONGEST)
    if answer is None:
        process.kill()
    errors = _rest(process)
    crashed, lost = int(process.returncode < 0 and answer is not None), int(answer is None)
    return Outcome(sent, count if answer == b"." else sent - 1, lost, crashed, errors)


def interrupt_compiling(count: int, *, seed: int) -> Outcome:
    """One Ctrl-C in each of `count` processes that compile for the first time; the next ask must work.

    One that hits a callback from LLVM is lost there: Python ignores what callbacks raise.
    """
    chance, raised, lost, crashed, said = random.Random(seed), 0, 0, 0, ""
    for _ in range(count):
        with tempfile.TemporaryDirectory() as cache:
            process = _start("--compiling", NUMBA_CACHE_DIR=cache)
            assert process.stdout is not None
            _answer(process.stdout, COMPILING)
            time.sleep(chance.random() * 10)
            process.send_signal(signal.SIGINT)
            answer = _answer(process.stdout, LONGEST)
            if answer is None:
                process.kill()
            finished = process.stdout.read()
            said = _rest(process) or said
            lost += answer is None
            raised += (answer, finished) == (b"c", b".")
            crashed += answer is not None and process.returncode < 0
    return Outcome(count, raised, lost, crashed, said)


def _compiling() -> None:
    import causal_bandits  # noqa: F401

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    try:
        os.write(1, b"r")
        ask = _policy("CausalThompsonSampling")
        while True:
            ask()
    except KeyboardInterrupt:
        os.write(1, b"c")
    _policy("CausalThompsonSampling")()
    os.write(1, b".")


def _timed(rounds: int) -> None:
    """Time ask + tell of Thompson Sampling whenever a line comes in."""
    import causal_bandits as cb

    policy = cb.ThompsonSampling(cb.worlds.example_world("S3").problem, seed=0)
    row = dict.fromkeys(policy.problem.observed_names, 0) | {policy.problem.target: 1}
    for _ in sys.stdin:
        start = time.perf_counter()
        for _ in range(rounds):
            policy.tell(policy.ask(), row)
        print(json.dumps((time.perf_counter() - start) / rounds), flush=True)


def cost(turns: int = 15, rounds: int = 1000) -> dict[str, float]:
    """Seconds of ask + tell with numba's way of reading a Generator and with ours, in turns."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        processes = {
            "numba's": _start("--timed", str(rounds), "--numbas", NUMBA_CACHE_DIR=one),
            "ours": _start("--timed", str(rounds), NUMBA_CACHE_DIR=other),
        }
        taken: dict[str, list[float]] = {name: [] for name in processes}
        for _ in range(turns + 1):  # the first one compiles
            for name, process in processes.items():
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(b"go\n")
                process.stdin.flush()
                taken[name].append(json.loads(process.stdout.readline()))
        for process in processes.values():
            process.communicate()
    return {name: statistics.median(seconds[1:]) for name, seconds in taken.items()}


def main(count: int) -> None:
    """The long run."""
    console = Console()
    crashes = sum(interrupt("bare-numba", 100, seed=seed).crashed for seed in range(14))
    console.print(f"numba alone: {crashes} of 14 processes crashed within 100 interrupts")
    for kind in ("ctrl-c", "alarm"):
        for subject in list(SUBJECTS)[1:]:
            console.print(f"{subject}, {kind}: {interrupt(subject, count, seed=1, kind=kind)}")
    console.print(f"Ctrl-C while compiling: {interrupt_compiling(6, seed=1)}")
    seconds = cost()
    ratio = seconds["ours"] / seconds["numba's"]
    console.print(f"ask + tell of Thompson Sampling: {seconds}, {ratio:.2f} times as long as with numba's way")


def _options() -> Any:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="interrupts for each policy")
    hidden: dict[str, Any] = {"help": argparse.SUPPRESS}
    parser.add_argument("--subject", **hidden)
    parser.add_argument("--kind", **hidden)
    parser.add_argument("--compiling", action="store_true", **hidden)
    parser.add_argument("--timed", type=int, **hidden)
    parser.add_argument("--numbas", action="store_true", **hidden)
    return parser.parse_args()


def _end_with_parent() -> None:
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    options = _options()
    if options.subject or options.compiling:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    if options.numbas:
        import numpy as np
        from numba.core import types
        from numba.extending import typeof_impl

        import causal_bandits.core.compiled.engine  # noqa: F401

        typeof_impl.register(np.random.Generator)(lambda value, context: types.NumPyRandomGeneratorType(value))
    if options.subject:
        asking = SUBJECTS[options.subject]()
        asking()
        _answering(options.count, options.kind, asking)
    elif options.compiling:
        _compiling()
    elif options.timed:
        _timed(options.timed)
    else:
        main(options.count)
