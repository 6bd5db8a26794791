"""Save files: exact resume, plain content, and a clear word about every file that is not one."""

import json
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from causal_bandits import (
    CausalThompsonSampling,
    DirectTesting,
    KnownSets,
    MixedGraph,
    Problem,
    ThompsonSampling,
    bins,
    load_policy,
)
from causal_bandits.core.policies import DiscretePolicy
from causal_bandits.errors import OutputError, SaveFileError
from causal_bandits.research.simulation import play
from causal_bandits.research.worlds import paper_world
from tests.policies.cases import FOUR_ARMS, full_state, random_table

WORLD = paper_world(MixedGraph(["A", "B", "Y"], directed=[("A", "B"), ("B", "Y")]), seed=4)
MAKERS: dict[str, Callable[..., DiscretePolicy]] = {
    "ts": ThompsonSampling,
    "conditional": CausalThompsonSampling,
    "marginal": partial(CausalThompsonSampling, discovery=DirectTesting(0.1, reading="marginal")),
    "joint": partial(CausalThompsonSampling, discovery=DirectTesting(reading="joint", require_evidence=True)),
    "known": partial(CausalThompsonSampling, discovery=KnownSets([[], ["B"]]), max_size=1),
    "known in part": partial(CausalThompsonSampling, discovery=KnownSets({("B",): ["I_A"]})),
    "monte carlo": partial(CausalThompsonSampling, variance="monte-carlo", samples=5),
}
FILES: dict[str, Callable[[Path], object]] = {
    "text": lambda path: path.write_text("arm,reward\n1,0\n"),
    "empty": lambda path: path.write_bytes(b""),
    "folder": Path.mkdir,
    "one array": lambda path: save_array(path),  # noqa: PLW0108
    "some arrays": lambda path: save_arrays(path, a=np.arange(3), b=np.eye(2)),
    "header of another make": lambda path: save_arrays(path, header=np.frombuffer(b'{"a": 1}', dtype=np.uint8)),
    "header that is a list": lambda path: save_arrays(path, header=np.frombuffer(b"[1]", dtype=np.uint8)),
    "pickle": lambda path: save_arrays(path, header=np.array([{"a": 1}], dtype=object)),
}


def save_array(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.arange(3))


def save_arrays(path: Path, **arrays: Any) -> None:
    with path.open("wb") as file:
        np.savez(file, **arrays)


def saved(path: Path) -> DiscretePolicy:
    policy = CausalThompsonSampling(FOUR_ARMS, seed=0)
    policy.tell_many(random_table(FOUR_ARMS, 40, 0))
    policy.ask()
    policy.save(path)
    return policy


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("rows", [0, 1, 137])
def test_exact_resume(make: Callable[..., DiscretePolicy], rows: int, tmp_path: Path) -> None:
    policy = make(WORLD.problem, seed=5)
    play(policy, WORLD, rows, np.random.default_rng(6))
    policy.save(tmp_path / "policy")
    for loaded in (load_policy(tmp_path / "policy"), type(policy).load(str(tmp_path / "policy"))):
        assert full_state(loaded) == full_state(policy)
        assert loaded.estimates().to_frame().equals(policy.estimates().to_frame())
        if rows:
            assert loaded.recommend() == policy.recommend()
        if isinstance(loaded, CausalThompsonSampling) and isinstance(policy, CausalThompsonSampling):
            assert loaded.separating_sets(rejected=True) == policy.separating_sets(rejected=True)
    # The horizon is long enough for several discoveries by both.
    one, other = (play(each, WORLD, 400, np.random.default_rng(7)) for each in (policy, loaded))
    assert np.array_equal(one.arms, other.arms)
    assert full_state(policy) == full_state(loaded)


def test_resume_with_learnt_cut_points(tmp_path: Path) -> None:
    problem = Problem("Y", {"A": 2, "x": bins(quantiles=3, after=20), "z": bins([0.5])}, {"I": ["none", "on"]})
    policy = CausalThompsonSampling(problem, seed=3)
    rng = np.random.default_rng(1)
    for rows in (15, 30):  # before and after the cut points are learned
        for _ in range(rows):
            seen = {"A": int(rng.integers(2)), "x": rng.normal(), "z": rng.random(), "Y": int(rng.integers(2))}
            policy.tell(policy.ask(), seen)
        policy.save(tmp_path / "policy")
        loaded = load_policy(tmp_path / "policy")
        assert full_state(loaded) == full_state(policy)
        assert loaded.history.cuts == policy.history.cuts
        assert loaded.ask(20) == policy.ask(20)


def test_content_is_plain(tmp_path: Path) -> None:
    saved(tmp_path / "policy")
    with np.load(tmp_path / "policy", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    assert not any(array.dtype.hasobject for array in arrays.values())
    header = json.loads(arrays["header"].tobytes())
    assert header["format"] == "causal-bandits policy"
    assert Problem.from_dict(header["problem"]) == FOUR_ARMS


def test_cut_off_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "policy"
    saved(path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 29):
        path.write_bytes(whole[:length])
        refused(path)


def test_any_byte_flipped(tmp_path: Path) -> None:
    """Either it is refused or, as for a file time in the archive, it loads as if nothing were wrong."""
    path = tmp_path / "policy"
    policy = saved(path)
    whole = path.read_bytes()
    refusals = 0
    for place in range(0, len(whole), 11):
        corrupt = bytearray(whole)
        corrupt[place] ^= 0x01 if place % 2 else 0xFF
        path.write_bytes(corrupt)
        try:
            loaded = load_policy(path)
        except SaveFileError:
            refusals += 1
        else:
            assert full_state(loaded) == full_state(policy)
    assert refusals > len(whole) / 22


@pytest.mark.parametrize("make", FILES.values(), ids=FILES)
def test_foreign_file(make: Callable[[Path], object], tmp_path: Path) -> None:
    make(tmp_path / "file")
    refused(tmp_path / "file")


def test_foreign_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "file", "w") as archive:
        archive.writestr("readme.txt", "hello")
    refused(tmp_path / "file")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(SaveFileError, match="there is no save file"):
        load_policy(tmp_path / "nowhere")


HEADERS: dict[str, dict[str, Any]] = {
    "version": {"version": 99},
    "format": {"format": "optuna study"},
    "policy": {"policy": "ucb"},
    "no policy": {"policy": None},
    "policy that is a list": {"policy": []},
    "problem": {"problem": {"target": "Y"}},
    "problem that is a list": {"problem": []},
    "observed that are a list": {"problem": {"target": "Y", "observed": ["A"], "interventions": {"I": 2}}},
    "options": {"options": {"alpha": 0.05}},
    "no options": {"options": None},
    "discovery": {"options": {"discovery": {"name": "tarot"}}},
    "due": {"due": "soon"},
    "due at infinity": {"due": float("inf")},
    "rng": {"rng": {"bit_generator": "PCG64", "state": 7}},
}


@pytest.mark.parametrize("changes", HEADERS.values(), ids=HEADERS)
def test_header_that_does_not_fit(changes: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "policy"
    saved(path)
    rewrite(path, header=changes)
    refused(path)
    with pytest.raises(SaveFileError):
        CausalThompsonSampling.load(path)


@pytest.mark.parametrize("name", ["arms", "codes", "rewards", "separated", "variance"])
def test_array_that_is_not_there(name: str, tmp_path: Path) -> None:
    path = tmp_path / "policy"
    saved(path)
    rewrite(path, drop=name)
    refused(path)


ARRAYS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "arms": lambda a: a["arms"] + 99,
    "codes": lambda a: a["codes"] - 9,
    "rewards": lambda a: a["rewards"] + 2,
    "linear": lambda a: a["linear"] * np.nan,
    "square": lambda a: np.array(1.0),
    "separated": lambda a: np.ones((4, 5), dtype=np.bool_),
    "dof": lambda a: a["dof"][:1],
    "raw": lambda a: np.zeros((40, 1)),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_array_that_does_not_fit(name: str, tmp_path: Path) -> None:
    path = tmp_path / "policy"
    saved(path)
    with np.load(path) as file:
        arrays = dict(file)
    rewrite(path, **{name: ARRAYS[name](arrays)})
    refused(path)


@pytest.mark.parametrize("name", ["arms", "codes", "rewards"])
def test_numbers_that_are_not_whole(name: str, tmp_path: Path) -> None:
    path = tmp_path / "policy"
    saved(path)
    with np.load(path) as file:
        arrays = dict(file)
    rewrite(path, **{name: arrays[name] + 0.5})
    refused(path)


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_any_generator_of_numpy(kind: str, tmp_path: Path) -> None:
    policy = CausalThompsonSampling(FOUR_ARMS, seed=np.random.Generator(getattr(np.random, kind)(1)))
    policy.ask(3)
    policy.save(tmp_path / "policy")
    assert load_policy(tmp_path / "policy").ask(30) == policy.ask(30)


def test_wrong_class(tmp_path: Path) -> None:
    saved(tmp_path / "policy")
    with pytest.raises(SaveFileError, match="holds a 'causal-ts' policy, not 'ts'"):
        ThompsonSampling.load(tmp_path / "policy")


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    policy = ThompsonSampling(FOUR_ARMS)
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "nowhere" / "policy", tmp_path / "file" / "policy", tmp_path, Path("/proc/policy")):
        with pytest.raises(OutputError, match="cannot write") as caught:
            policy.save(path)
        assert str(path) in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "policy"
    policy = saved(path)
    before = path.read_bytes()

    def full_disk(file: Any, **_: object) -> None:
        file.write(b"half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full_disk)
    with pytest.raises(OutputError, match="No space left"):
        policy.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_saving_changes_nothing(tmp_path: Path) -> None:
    policy = saved(tmp_path / "policy")
    before = full_state(policy)
    policy.save(tmp_path / "policy")
    assert full_state(policy) == before


def refused(path: Path) -> None:
    with pytest.raises(SaveFileError) as caught:
        load_policy(path)
    assert "\n" not in str(caught.value)


def rewrite(path: Path, *, header: dict[str, Any] | None = None, drop: str | None = None, **changed: Any) -> None:
    """A whole file with other content."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files if name != drop}
    text = json.dumps(json.loads(arrays["header"].tobytes()) | (header or {}))
    arrays |= {"header": np.frombuffer(text.encode(), dtype=np.uint8), **changed}
    save_arrays(path, **arrays)
