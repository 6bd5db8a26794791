"""Functions run interpreted at once and compiled when their code is there; code is kept on disk where it can be."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import causal_bandits
from causal_bandits import errors
from causal_bandits.core.compiled import Compiled, Floats, Operation, background, cache, compiled, compiling_first
from causal_bandits.core.compiled.functions import VARIABLE
from causal_bandits.errors import CacheWarning

PACKAGE = Path(causal_bandits.__file__).parent
PROGRAM = """
import sys, time
from causal_bandits.core.estimators.posterior import beta_moments  # quick to compile
end = time.monotonic() + float(sys.argv[1])
while True:
    found = beta_moments(1.0, 1.0)[0]
    if beta_moments._ready or time.monotonic() > end:
        break
    time.sleep(0.02)
print(found, bool(beta_moments._ready), "numba" in sys.modules)
"""


def run(folder: Path, how: str, seconds: float = 0, **environment: str) -> tuple[str, str]:
    """Call a function of the package for some seconds or until it is compiled; what is shown and what is warned."""
    given = os.environ | {"NUMBA_CACHE_DIR": str(folder), VARIABLE: how} | environment
    command = [sys.executable, "-c", PROGRAM, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=given)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


def run_where_nothing_can_be_written(folder: Path, how: str) -> "subprocess.CompletedProcess[str]":
    program = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n{PROGRAM}"
    given = os.environ | {"NUMBA_CACHE_DIR": str(folder), VARIABLE: how}
    command = [sys.executable, "-c", program, "0"]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=given)


@pytest.mark.skipif(os.name == "nt", reason="needs limits of Unix")
def test_a_call_without_compiled_code_runs_interpreted_while_a_process_compiles(tmp_path: Path) -> None:
    assert run(tmp_path, "background") == ("0.5 False False", "")
    assert not list(tmp_path.rglob("*.nbc"))
    assert run(tmp_path, "background", 300, PATH="", CC="") == ("0.5 True True", "")  # no C compiler, nor anything else
    assert run(tmp_path, "background") == ("0.5 True True", "")  # at the first call
    read_only = run_where_nothing_can_be_written(tmp_path, "background")
    assert (read_only.stdout, read_only.stderr) == ("0.5 True True\n", "")
    assert run(tmp_path, "never") == ("0.5 False False", "")


def test_two_processes_at_once_compile_one_after_the_other(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, "0"]
    given = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), VARIABLE: "now"}
    pair = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=given) for _ in "12"]
    assert [process.communicate()[0].split() for process in pair] == [[b"0.5", b"True", b"True"]] * 2
    assert len(list(tmp_path.rglob("*.nbc"))) == 1
    assert run(tmp_path, "background") == ("0.5 True True", "")


def test_a_cache_folder_that_is_a_file_is_said_once(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.touch()
    for how, shown in (("background", "0.5 False False"), ("now", "0.5 True True")):
        found, warned = run(folder, how)
        assert found == shown
        assert warned.count("Warning") == 1
        assert f"compiled code cannot be cached: {str(folder)!r} cannot be written" in warned


def test_an_unknown_way_is_said_once_and_runs_interpreted(tmp_path: Path) -> None:
    found, warned = run(tmp_path, "soon")
    assert found == "0.5 False False"
    assert warned.count("Warning") == 1
    assert "CAUSAL_BANDITS_COMPILE is 'soon', but must be one of" in warned


STUCK = """
import os, sys, time
from causal_bandits.core.compiled import background
from causal_bandits.core.estimators.posterior import beta_moments
background.PAUSE_SECONDS = 0.0
if sys.argv[1] == "stuck":
    background.COMMAND = "import sys, time; sys.stdin.readline(); time.sleep(600)"
start = background._start
def started():
    process = start()
    print(process.pid, flush=True)
    return process
background._start = started
beta_moments(1.0, 1.0)
sys.stdin.read()
print(beta_moments(1.0, 1.0)[0])
"""


def program(folder: Path, command: str) -> tuple["subprocess.Popen[str]", int]:
    given = os.environ | {"NUMBA_CACHE_DIR": str(folder), VARIABLE: "background"}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", STUCK, command], text=True, env=given, **pipes)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def is_gone(pid: int) -> bool:
    for _ in range(500):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_a_killed_compiler_is_said_once(tmp_path: Path) -> None:
    process, compiler = program(tmp_path, "stuck")
    os.kill(compiler, signal.SIGKILL)
    time.sleep(0.2)
    shown, warned = process.communicate("")
    assert (process.returncode, shown) == (0, "0.5\n")
    assert warned.count("Warning") == 1
    assert "the background compiler has ended; the program continues interpreted" in warned


def test_the_compiler_ends_with_its_parent(tmp_path: Path) -> None:
    process, compiler = program(tmp_path, "stuck")
    assert process.communicate("") == ("0.5\n", "")
    assert is_gone(compiler)


def test_the_compiler_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    process, compiler = program(tmp_path, background.COMMAND)
    process.kill()
    process.wait()
    assert is_gone(compiler)
    for stream in (process.stdin, process.stdout, process.stderr):
        assert stream is not None
        stream.close()


class _Pair(NamedTuple):
    values: Floats
    scale: float


def test_what_is_described_is_compiled_for_as_the_original() -> None:
    """The background process sees types alone; a wrong one would be compiled in vain."""
    import numba

    grid = np.zeros((3, 4))
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    arrays = [grid, grid.T, grid[:, ::2], grid[0], grid[:, 0], fixed, np.zeros(2, dtype=bool), np.zeros((1, 1), "i4")]
    others = [1, 1.5, True, None, np.float64(2), np.int64(3), np.random.default_rng(1), (1, grid), ()]
    for value in [*arrays, *others, _Pair(grid, 2.0)]:
        again = background.specimen(background.describe(value))
        typeof: Any = numba.typeof
        assert typeof(again) == typeof(value)
    with pytest.raises(TypeError, match="cannot be described"):
        background.describe([1, 2])


def _double(x: float) -> float:
    return 2 * x


def _second(values: Any) -> Any:
    return values[1]


Make = Callable[..., Any]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Gives a function that was never called, whose compiled code is kept in `tmp_path`."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv(VARIABLE, "now")
    monkeypatch.setattr(errors, "_warned", set())

    def made(function: Any = _double) -> Any:
        new: Any = Compiled(function)
        vars(new)["is_kept"] = True
        return new

    return made


def hits(function: Any) -> int:
    """How often compiled code came from disk."""
    return sum(function.dispatcher.stats.cache_hits.values())


def test_compiled_code_is_kept_for_each_signature_and_found_again(tmp_path: Path, make: Make) -> None:
    first = make()
    assert (first(1), first(1.5), hits(first)) == (2, 3.0, 0)
    second = make()
    assert (second(1), second(1.5), second(x=3), hits(second)) == (2, 3.0, 6, 2)
    assert len(list(tmp_path.rglob("*.nbc"))) == 2
    assert not list(tmp_path.rglob("*.tmp"))


def test_arrays_of_another_type_are_another_signature(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was compiled for arrays of one type is not run for those of another, whatever may be compiled now."""
    function = make(_second)
    assert function(np.arange(3)) == 1
    monkeypatch.setenv(VARIABLE, "never")
    assert function(np.arange(3) / 2) == 0.5
    assert len(function.dispatcher.signatures) == 1
    monkeypatch.setenv(VARIABLE, "now")
    assert (function(np.arange(3) / 2), function(np.arange(3))) == (0.5, 1)
    assert len(function.dispatcher.signatures) == 2


def test_code_that_checks_indices_is_kept_apart(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """`NUMBA_BOUNDSCHECK` changes the code and must neither find code without checks nor leave its own behind."""
    import numba

    for checked in ("0", "1", "0", "1"):
        monkeypatch.setenv("NUMBA_BOUNDSCHECK", checked)
        monkeypatch.setattr(numba.config, "BOUNDSCHECK", int(checked))
        function = make(_second)
        function(np.zeros(2))
        with pytest.raises(IndexError) if checked == "1" else contextlib.nullcontext():
            function(np.zeros(1))
    assert hits(function) == 1


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut": lambda content: content[:-1],
    "a bit flipped": lambda content: content[:-500] + bytes([content[-500] ^ 1]) + content[-499:],
    "longer": lambda content: content + b"x",
    "foreign": lambda content: b"\x80\x04N." * 100,
}


@pytest.mark.parametrize("kind", ["nbi", "nbc", "sums"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_code_is_never_run(tmp_path: Path, make: Make, damage: str, kind: str) -> None:
    """It is compiled again and replaced, and said once."""
    make()(1)
    (file,) = tmp_path.rglob(f"*.{kind}")
    content = file.read_bytes()
    file.write_bytes(DAMAGES[damage](content * 20))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert make()(1) == 2
    assert [each.category for each in said] == [CacheWarning]
    assert "is corrupt; it is compiled again" in str(said[0].message)
    third = make()
    assert (third(1), hits(third)) == (2, 1)


def test_damaged_code_runs_interpreted_where_nothing_may_be_compiled_now(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    make()(1)
    (file,) = tmp_path.rglob("*.nbc")
    file.write_bytes(b"")
    monkeypatch.setenv(VARIABLE, "background")
    asked: list[Any] = []
    monkeypatch.setattr(background, "request", lambda *given: asked.append(given))
    function = make()
    with pytest.warns(CacheWarning, match="is corrupt; it is compiled again"):
        assert function(1) == 2
    assert asked == [(function, (1,))]


def test_an_edit_of_any_source_is_noticed(tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """numba itself does not notice that a compiled function in another file has changed."""
    package = tmp_path / "package"
    (package / "core" / "data").mkdir(parents=True)
    (package / "core" / "data" / "cells.py").write_text("LEAST = 1")
    monkeypatch.setattr(cache, "PACKAGE", package)
    digests = []
    for text in ("LEAST = 1", "LEAST = 2", "LEAST = 1"):
        (package / "core" / "data" / "cells.py").write_text(text)
        cache.sources.cache_clear()
        digests.append(cache.sources())
    cache.sources.cache_clear()
    assert digests[0] == digests[2] != digests[1]


def test_compiled_code_lives_in_the_packages_whose_sources_count() -> None:
    marked = [path for path in PACKAGE.rglob("*.py") if "\n@compiled" in path.read_text()]
    assert len(marked) > 30
    assert {path.relative_to(PACKAGE).parts[0] for path in marked} <= set(cache.COUNT)


def test_code_that_was_not_used_for_long_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    old, recent = tmp_path / "causal-bandits" / "old", tmp_path / "causal-bandits" / "recent"
    for each in (old, recent):
        each.mkdir(parents=True)
    os.utime(old, (0, 0))
    found = cache.folder()
    assert found is not None
    assert found.is_dir()
    assert recent.exists()
    assert not old.exists()


@pytest.mark.skipif(os.name == "nt", reason="needs limits of Unix")
def test_a_full_disk_is_said_once(tmp_path: Path) -> None:
    done = run_where_nothing_can_be_written(tmp_path, "now")
    assert (done.returncode, done.stdout) == (0, "0.5 True True\n")
    assert done.stderr.count("Warning") == 1
    assert "compiled code cannot be cached in" in done.stderr


def test_errors_that_are_not_of_the_file_system_pass(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """An alarm that raises TimeoutError, an OSError, may go off while a file is read."""
    make()(1)

    def alarm(path: Path) -> bytes:
        raise TimeoutError("time is up")

    monkeypatch.setattr(Path, "read_bytes", alarm)
    with pytest.raises(TimeoutError, match="time is up"):
        make()(1)


class _Coin(NamedTuple):
    chance: float


@Operation
def _flipped(state: Any) -> float:
    raise NotImplementedError


@_flipped.of(_Coin)
def _flipped_coin(state: _Coin) -> float:
    return 1 - state.chance


@compiled
def _twice(state: Any) -> float:
    return 2 * _flipped(state)


def test_an_operation_is_compiled_as_a_part_of_its_caller() -> None:
    assert _twice(_Coin(0.25)) == 1.5


def test_long_work_compiles_first_and_says_so(
    make: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(VARIABLE, "background")
    monkeypatch.setattr("causal_bandits.core.compiled.functions._said", set())
    for _ in range(2):
        function = make()
        with compiling_first("the test"):
            assert function(1) == 2
        assert function._ready
    assert capsys.readouterr().err == "Compiling the test (once; later runs load it from the cache)\n"


def test_interpreted_code_calls_interpreted_code(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that is only called from interpreted code is not compiled by itself."""
    monkeypatch.setenv(VARIABLE, "background")
    asked: list[Any] = []
    monkeypatch.setattr(background, "request", lambda function, arguments: asked.append(function))
    inner = make()
    outer = make(lambda x: inner(x) + 1)
    assert outer(1) == 3
    assert asked == [outer]


def test_divisions_by_zero_are_silent_either_way(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def ratio(values: Floats) -> float:
        return float(values[0] / values[1])

    for how in ("now", "never"):
        monkeypatch.setenv(VARIABLE, how)
        function = compiled(ratio)
        assert function(np.array([1.0, 0.0])) == np.inf
