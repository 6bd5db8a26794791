"""Compiled functions are kept on disk where that can be done, and work where it cannot."""

import importlib
import inspect
import os
import pkgutil
import shutil
import stat
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

import causal_bandits
from causal_bandits import errors
from causal_bandits.compiled import cache, compiled, compiled_here
from causal_bandits.dispatch import Operation
from causal_bandits.errors import CacheWarning
from tests.reference.dependencies import Sources

PROGRAM = """
import sys, causal_bandits
from causal_bandits.estimators.posterior import beta_moments  # quick to compile
assert causal_bandits.__file__.startswith(sys.argv[1]), causal_bandits.__file__
print(beta_moments(0.0, 0.0)[0], beta_moments(1.0, 1)[0])
"""
KERNEL = """
import sys
from causal_bandits.compiled import compiled
import resource
if len(sys.argv) > 1:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

@compiled
def double(x):
    return 2 * x

@compiled
def triple(x):
    return 3 * x

print(double(1), triple(1.0), double(1.5))
"""


def part_of_the_package(folder: Path) -> Path:
    """A copy of what compiles, without the rooms above, which take a second to import."""
    package, whole = folder / "causal_bandits", Path(causal_bandits.__file__).parent
    shutil.copytree(whole / "compiled", package / "compiled", ignore=shutil.ignore_patterns("__pycache__"))
    (package / "__init__.py").touch()
    for name in ("dispatch.py", "errors.py"):
        shutil.copy(whole / name, package)
    return package


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A copy of the package in which nothing can be cached: not even root can make a folder where a file stands."""
    target = tmp_path / "installed"
    source = Path(causal_bandits.__file__).parent
    shutil.copytree(source, target / "causal_bandits", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in {path.parent for path in target.rglob("*.py")}:
        (folder / "__pycache__").touch()
    (tmp_path / "home").touch()
    (tmp_path / "temporary").mkdir()
    return target


def play(installed: Path) -> tuple[str, str]:
    folder = installed.parent
    dropped = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "TEMP", "TMP")
    environment = {name: value for name, value in os.environ.items() if name not in dropped}
    environment |= {"HOME": str(folder / "home"), "TMPDIR": str(folder / "temporary"), "PYTHONPATH": str(installed)}
    command = [sys.executable, "-c", PROGRAM, str(installed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_without_a_place_for_a_cache_a_private_temporary_folder_is_used(installed: Path) -> None:
    shown, warned = play(installed)
    assert (shown, warned) == ("0.5 0.5\n", "")
    (folder,) = (installed.parent / "temporary").iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.rglob("*.nbc"))


@pytest.mark.slow
def test_a_temporary_folder_that_others_may_write_is_not_trusted(installed: Path) -> None:
    """What is cached is run, so whoever can write there could run anything. It is said once."""
    shared = installed.parent / "temporary" / f"causal-bandits-{os.getuid()}"
    shared.mkdir()
    shared.chmod(0o777)
    shown, warned = play(installed)
    assert shown == "0.5 0.5\n"
    assert warned.count("CacheWarning: compiled code cannot be cached: no writable folder") == 1
    assert not list(shared.iterdir())


def test_a_folder_that_others_may_exchange_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for mode, trusted in ((0o700, True), (0o1777, True), (0o777, False)):
        tmp_path.chmod(mode)
        cache.private_folder.cache_clear()
        assert (cache.private_folder() is not None) == trusted
    cache.private_folder.cache_clear()


def _double(x: float) -> float:
    return 2 * x


Make = Callable[[], Callable[[float], float]]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Gives a function that was never called, whose compiled code is kept in `tmp_path / "cache"`."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(errors, "_warned", set())
    return lambda: compiled(_double)


def hits(function: object) -> int:
    """How often compiled code came from disk."""
    return sum(function.stats.cache_hits.values())  # type: ignore[attr-defined]


def the_file(folder: Path) -> Path:
    (file,) = (path for path in (folder / "cache").rglob("*") if not path.is_dir())
    return file


def test_compiled_code_is_kept_for_each_signature_and_found_again(tmp_path: Path, make: Make) -> None:
    first = make()
    assert (first(1), first(1.5), hits(first)) == (2, 3.0, 0)
    second = make()
    assert (second(1), second(1.5), hits(second)) == (2, 3.0, 2)
    assert len(list((tmp_path / "cache").rglob("*.nbc"))) == 2
    assert not list((tmp_path / "cache").rglob("*.tmp"))


def _second(values: Any) -> Any:
    return values[1]


def test_code_that_checks_indices_is_kept_apart(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """`NUMBA_BOUNDSCHECK` changes the code and must neither find code without checks nor leave its own behind."""
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 0)
    unchecked = compiled(_second)
    unchecked(np.zeros(2))
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1)
    checked = compiled(_second)
    with pytest.raises(IndexError):
        checked(np.zeros(1))
    assert hits(checked) == 0
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 0)
    again = compiled(_second)
    again(np.zeros(2))
    assert hits(again) == 1


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut in the head": lambda content: content[:40],
    "cut after the head": lambda content: content[: cache.HEAD],
    "cut": lambda content: content[:-1],
    "a bit flipped": lambda content: content[:-500] + bytes([content[-500] ^ 1]) + content[-499:],
    "longer": lambda content: content + b"x",
    "foreign": lambda content: b"\x80\x04N." * 100,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_code_is_compiled_anew_and_said_once(tmp_path: Path, make: Make, damage: str) -> None:
    make()(1)
    file = the_file(tmp_path)
    whole = file.read_bytes()
    for _ in range(2):
        file.write_bytes(DAMAGES[damage](whole))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            assert make()(1) == 2
        assert [(each.category, "is damaged; it is compiled again" in str(each.message)) for each in said] in (
            [(CacheWarning, True)],
            [],
        )
    assert "compiled code, read" in errors._warned
    third = make()
    assert (third(1), hits(third)) == (2, 1)


@pytest.mark.parametrize("thing", ["directory", "pipe", "loop"])
def test_what_is_no_file_is_said_and_passed_over(tmp_path: Path, make: Make, thing: str) -> None:
    make()(1)
    file = the_file(tmp_path)
    file.unlink()
    if thing == "directory":
        (file / "below").mkdir(parents=True)
    elif thing == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to(file)
    with pytest.warns(CacheWarning, match=r"is damaged|cannot be read from|cannot be cached"):
        assert make()(1) == 2


def test_code_of_other_sources_is_replaced_without_a_word(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """numba itself does not notice that a compiled function in another file has changed."""
    make()(1)
    monkeypatch.setattr(cache, "sources", lambda: b"edited")
    edited = make()
    assert (edited(1), hits(edited)) == (2, 0)
    again = make()
    assert (again(1), hits(again)) == (2, 1)
    assert the_file(tmp_path)


PACKAGE = Path(causal_bandits.__file__).parent


def _is_compiled(value: object) -> bool:
    return hasattr(value, "py_func") and getattr(value, "__module__", "").startswith("causal_bandits.")


def _compiled_names() -> set[tuple[str, str]]:
    """Every compiled function, every implementation of an operation, and every state, by module and name."""
    for found in pkgutil.walk_packages(causal_bandits.__path__, "causal_bandits."):
        if not found.name.endswith(("__main__", ".gym")):
            importlib.import_module(found.name)
    modules = [module for name, module in sys.modules.items() if name.startswith("causal_bandits.")]
    values: list[Any] = [value for module in modules for value in vars(module).values()]
    operations = [value for value in values if isinstance(value, Operation)]
    registered = [each for operation in operations for pair in operation._implementations.items() for each in pair]
    homes = [each for each in values if _is_compiled(each)] + operations + registered
    ours = [each for each in homes if each.__module__.startswith("causal_bandits.")]
    return {(each.__module__.removeprefix("causal_bandits."), each.__name__) for each in ours}


def test_every_file_that_compiled_code_depends_on_counts() -> None:
    """Whatever a compiled function uses, its code and that of what it uses is compiled again when one is edited."""
    names, sources = _compiled_names(), Sources(PACKAGE)
    assert len(names) > 200
    needed = {path.relative_to(PACKAGE).as_posix() for path in sources.depends_on(names)}
    counted = cache.files_that_count(PACKAGE).keys()
    assert len(needed) > 40
    assert not needed - counted


def test_a_file_that_holds_nothing_compiled_does_not_count() -> None:
    """So editing a class of policies, a problem or a study compiles nothing."""
    counted = cache.files_that_count(PACKAGE).keys()
    others = {"problem/problem.py", "policies/base.py", "policies/thompson.py", "studies/study.py", "__init__.py"}
    assert not counted & others
    assert len(counted) < len(list(PACKAGE.rglob("*.py"))) / 3


def test_names_are_followed_to_the_file_that_gives_them_their_value(tmp_path: Path) -> None:
    """Through imports, packages that pass names on, and constants made of constants; not through annotations."""
    files = {
        "a.py": "from .b import LEAST\nfrom .types import Kind\ndef f(x: Kind) -> Kind:\n    return x + LEAST\n",
        "b/__init__.py": "from .c import LEAST\n",
        "b/c.py": "from ..d import half\nLEAST = half(1.0)\n",
        "d.py": "def half(x):\n    return x / 2\n",
        "types.py": "Kind = float\n",
    }
    (tmp_path / "b").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = Sources(tmp_path).depends_on({("a", "f")})
    assert {path.relative_to(tmp_path).as_posix() for path in found} == {"a.py", "b/__init__.py", "b/c.py", "d.py"}


OPERATION = """
from typing import Any
from .dispatch import Operation, entry

@Operation
def value(state: Any) -> float: ...

@entry
def twice(state: Any) -> float:
    return 2 * value(state)
"""
RULE = """
from typing import NamedTuple
from .compiled import compiled
from .operation import value

class Coin(NamedTuple):
    chance: float

@value.of(Coin)
@compiled
def value_of_coin(state: Coin) -> float:
    return state.chance
"""
DISPATCHED = """
from causal_bandits.operation import twice
from causal_bandits.rule import Coin
print(twice(Coin(0.25)), sum(twice.kept.stats.cache_hits.values()))
"""


@pytest.mark.slow
def test_what_is_dispatched_is_kept_until_an_implementation_is_edited(tmp_path: Path) -> None:
    package = part_of_the_package(tmp_path)
    (package / "operation.py").write_text(OPERATION)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}

    def run(rule: str) -> str:
        (package / "rule.py").write_text(rule)
        command = [sys.executable, "-c", DISPATCHED]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    edited = RULE.replace("return state.chance", "return state.chance + 1")
    assert [run(RULE), run(RULE), run(edited), run(edited)] == ["0.5 0\n", "0.5 1\n", "2.5 0\n", "2.5 1\n"]


def test_a_folder_that_vanishes_or_cannot_be_written_is_no_obstacle(tmp_path: Path, make: Make) -> None:
    function = make()
    shutil.rmtree(tmp_path / "cache")
    assert function(1) == 2
    assert the_file(tmp_path)
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").touch()
    with pytest.warns(CacheWarning, match=r"cannot be cached in '.*' \(.*\): until then every process compiles"):
        assert function(1.5) == 3.0


def test_errors_that_are_not_of_the_file_system_pass(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """An alarm that raises TimeoutError, an OSError, may go off while a file is read."""
    make()(1)

    def alarm(path: Path) -> bytes:
        raise TimeoutError("time is up")

    monkeypatch.setattr(Path, "read_bytes", alarm)
    with pytest.raises(TimeoutError, match="time is up"):
        make()(1)


def test_code_that_numba_has_lost_is_not_kept(tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when Ctrl-C is raised in LLVM's callback that hands over the code; Python ignores what a callback raises."""

    def lost(library: object) -> bytes:
        raise RuntimeError(f"no compiled object yet for {library}")

    monkeypatch.setattr("numba.core.codegen.CPUCodeLibrary._get_compiled_object", lost)
    with pytest.warns(CacheWarning, match="cannot be cached this time"):
        assert make()(1) == 2
    assert not list((tmp_path / "cache").rglob("*.nbc"))


def kernel(folder: Path) -> tuple[Path, dict[str, str]]:
    """A script, and the environment in which it finds the package beside it and a cache of its own."""
    script = folder / "kernel.py"
    if not script.exists():
        script.write_text(inspect.cleandoc(KERNEL))
        part_of_the_package(folder)
    return script, {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}


def run_kernel(folder: Path, *arguments: str) -> tuple[str, str]:
    script, environment = kernel(folder)
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_a_full_disk_is_said_once_and_nothing_is_left_behind(tmp_path: Path) -> None:
    shown, warned = run_kernel(tmp_path, "full")
    assert shown == "2 3.0 3.0\n"
    assert warned.count("Warning") == 1
    assert "cannot be cached in" in warned
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


@pytest.mark.slow
def test_processes_may_compile_the_same_at_once(tmp_path: Path) -> None:
    script, environment = kernel(tmp_path)
    command = [sys.executable, str(script)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment) for _ in "12"]
    assert [process.communicate()[0] for process in both] == [b"2 3.0 3.0\n"] * 2
    assert len(list((tmp_path / "cache").rglob("*.nbc"))) == 3
    assert run_kernel(tmp_path) == ("2 3.0 3.0\n", "")


class _Coin(NamedTuple):
    chance: float


@Operation
def _flipped(state: Any) -> float:
    raise NotImplementedError


@_flipped.of(_Coin)
def _flipped_coin(state: _Coin) -> float:
    return 1 - state.chance


def test_what_is_dispatched_becomes_a_part_of_its_caller_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code and a way in for Python are made of the caller alone: this is most of what compiling takes."""
    made: list[str] = []
    whole: Callable[[Any, Any], bool] = numba.core.typed_passes.NativeLowering.run_pass

    def noted(self: Any, state: Any) -> bool:
        found = whole(self, state)
        if type(state.library).__name__ == "JITCodeLibrary":
            made.append(state.func_id.func_name)
        return found

    monkeypatch.setattr(numba.core.typed_passes.NativeLowering, "run_pass", noted)

    @compiled_here
    def twice(state: Any) -> float:
        return 2 * _flipped(state)

    assert twice(_Coin(0.25)) == 1.5
    assert made == ["twice"]
