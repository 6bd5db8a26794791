"""Run tests as on other CPUs: `python scripts/other_cpus.py PYTEST-ARGUMENTS`.

NumPy, OpenBLAS and numba choose code by what the CPU can do, and the last bits of a float differ between these. Each
setting below has them choose as on another CPU. A setting that cannot be used on this machine is skipped.
"""

import os
import subprocess
import sys
import time

SETTINGS = (
    ("NPY_DISABLE_CPU_FEATURES", "X86_V4"),
    ("NPY_DISABLE_CPU_FEATURES", "X86_V3 X86_V4"),
    ("OPENBLAS_CORETYPE", "Prescott"),
    ("OPENBLAS_CORETYPE", "Haswell"),
    ("OPENBLAS_CORETYPE", "SkylakeX"),
    ("NUMBA_CPU_NAME", "generic"),
)
PROBES = {
    "NPY_DISABLE_CPU_FEATURES": "import numpy",
    "OPENBLAS_CORETYPE": """
import os, numpy, scipy.linalg, threadpoolctl
square = numpy.random.default_rng(0).normal(size=(300, 300))
scipy.linalg.solve(square @ square, square)
numpy.linalg.svd(square)
kernels = {each["architecture"] for each in threadpoolctl.threadpool_info() if each["internal_api"] == "openblas"}
kernels = {name.replace("Katmai", "Prescott") for name in kernels}  # one set of kernels with two names
assert kernels == {os.environ["OPENBLAS_CORETYPE"]}
""",
    "NUMBA_CPU_NAME": "import numba; assert numba.njit(lambda x: x + 1)(1) == 2",
}
"""Programs that end without an error where a setting is obeyed: NumPy warns, an unknown instruction is a crash."""


def works(name: str, value: str) -> bool:
    """Whether this machine can use a setting."""
    program = [sys.executable, "-W", "error", "-c", PROBES[name]]
    environment = {**os.environ, name: value}
    return subprocess.run(program, env=environment, capture_output=True, check=False).returncode == 0


def usable(name: str, value: str) -> str:
    """The part of a setting that this machine can use; of features, those that can be disabled."""
    if name == "NPY_DISABLE_CPU_FEATURES":
        return " ".join(feature for feature in value.split() if works(name, feature))
    return value if works(name, value) else ""


def main() -> int:
    """Every setting in turn; 1 if a test fails under any of them."""
    done, failed = set(), []
    for name, value in SETTINGS:
        setting = (name, usable(name, value))
        if not setting[1] or setting in done:
            print(f"{name}={value!r} is skipped: this machine has nothing to switch off or cannot run it", flush=True)
            continue
        done.add(setting)
        print(f"{name}={setting[1]!r}", flush=True)
        start = time.monotonic()
        command = [sys.executable, "-m", "pytest", *sys.argv[1:]]
        code = subprocess.run(command, env={**os.environ, name: setting[1]}, check=False).returncode
        print(f"{name}={setting[1]!r}: exit code {code} after {time.monotonic() - start:.0f} s", flush=True)
        if code:
            failed.append("=".join(setting))
    print(f"Failed: {', '.join(failed)}" if failed else f"{len(done)} settings passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
