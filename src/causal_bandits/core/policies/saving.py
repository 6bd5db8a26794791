"""Save files: one zip of plain arrays and a JSON header. Nothing is pickled."""

import contextlib
import io
import json
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import CausalBanditsError, SaveFileError, brief, listing, whole_number
from ..archives import DAMAGED, Archive, TooLargeError, write_arrays
from ..data import MISSING, Rows, SubsetLayout, WaitingRows
from ..discovery import Findings
from ..files import replacing
from ..independence import IndependenceResult
from ..problem import Problem, Reward
from .registry import POLICIES
from .schedule import Schedule, after

FORMAT = "causal-bandits policy"
VERSION = 2
P = TypeVar("P")
"""A kind of policy."""
GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


class Saved(NamedTuple):
    """What a save file holds."""

    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    is_whole: bool = True
    """Whether it is as it was written."""

    @contextlib.contextmanager
    def checked(self) -> Iterator[None]:
        """A header or array that does not fit the rest is a corrupt file, not a crash."""
        try:
            yield
        except (*DAMAGED, CausalBanditsError) as error:
            reason = " ".join(str(error).split())[:300]
            raise SaveFileError(f"the save file contradicts itself ({reason}); restore it from a backup") from None


def pack(policy: Any) -> Saved:
    """All that a policy knows: rows, random numbers, the last discovery, and what cannot be recounted."""
    history = policy.history
    header: dict[str, Any] = {
        "policy": policy.name,
        "problem": policy.problem.to_dict(),
        "options": policy.options(),
        "rng": policy.rng.bit_generator.state,
        "due": policy.schedule.due,
        "prior": policy.schedule.prior,
        "filled": history.filled,
        "allowed": policy.allowed.tolist(),
        "waiting": history.pending.made,
    }
    found = {**pack_findings(policy.findings), **history.pending.packed()}
    batches = np.array(history.batches, dtype=np.int64).reshape(-1, 2)
    return Saved(header, {**history.packed, "batches": batches, **policy._sums(), **found})


def restore(cls: type[P], saved: Saved) -> P:
    """A policy of a class from what `pack` gave."""
    header, arrays = saved.header, saved.arrays
    with saved.checked():
        policy: Any = cls.from_options(Problem.from_dict(header["problem"]), header["options"])  # type: ignore[attr-defined]
        policy.rng = unpack_generator(header["rng"])
        policy.history.extend(unpack_rows(policy.problem, arrays), _batches(arrays))
        policy.history.filled = whole_number("filled", header["filled"], 0)
        unpack_waiting(policy.history.pending, policy.problem, saved)
        policy.schedule = _schedule(policy, header)
        allowed = zip(policy.problem.arms, header["allowed"], strict=True)
        policy.restrict([arm for arm, yes in allowed if yes])
        policy.findings = unpack_findings(policy.layout, arrays)
        policy._recount()
        for name, array in policy._sums().items():
            unpack_into(array, arrays[name])
        policy._check_sums()
        if not saved.is_whole:
            raise ValueError("it was changed after it was written")
    found: P = policy
    return found


def load(path: Path, cls: Any = None) -> Any:
    """The policy in the file that `write` wrote; it must be of this class, if one is given."""
    saved = read(path)
    name = saved.header.get("policy")
    if cls is not None and name != cls.name:
        raise SaveFileError(f"{str(path)!r} holds a {brief(name)} policy, not {cls.name!r}")
    if not isinstance(name, str) or name not in POLICIES:
        raise SaveFileError(f"{str(path)!r} holds a {brief(name)} policy; this release has {listing(POLICIES)}")
    return restore(POLICIES[name] if cls is None else cls, saved)


def _schedule(policy: Any, header: dict[str, Any]) -> Schedule:
    """When the next refit is due, checked against the rows."""
    prior, rows = header["prior"], len(policy.history) + policy.history.pending.made
    found = Schedule(
        whole_number("due", header["due"], 0),
        None if prior is None else whole_number("prior", prior, 0),
        policy.schedule.growth,
    )
    latest = after(rows, min(found.prior or 0, rows), expensive=policy._is_expensive(), growth=found.growth)
    if found.due > latest:
        raise ValueError(f"its next discovery is at {found.due} rows")
    return found


def _with_header(saved: Saved) -> dict[str, NDArray[Any]]:
    header = {"format": FORMAT, "version": VERSION, "arrays": list(saved.arrays), **saved.header}
    plain = json.loads(json.dumps(header, default=lambda array: array.tolist()))
    text = json.dumps({**plain, "digest": _digest(plain, saved.arrays)}).encode()
    return {"header": np.frombuffer(text, dtype=np.uint8), **saved.arrays}


def _digest(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> str:
    """What stands for a header and its arrays."""
    made = blake2b(json.dumps(header).encode(), digest_size=16)
    for name, array in arrays.items():
        made.update(f"{name} {array.dtype.str} {array.shape}".encode())
        made.update(np.ascontiguousarray(array).tobytes())
    return made.hexdigest()


def write(path: Path, saved: Saved) -> None:
    """Write a save file in one step: the old one stays until the new one is whole."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        write_arrays(file, _with_header(saved), compressed=True)


def to_bytes(saved: Saved) -> bytes:
    """What a save file would hold, not compressed: quick to write and to read."""
    stream = io.BytesIO()
    write_arrays(stream, _with_header(saved), compressed=False)
    return stream.getvalue()


def from_bytes(content: bytes) -> Saved:
    """Read back what `to_bytes` gave."""
    return _read(io.BytesIO(content), "the snapshot")


def read(path: Path) -> Saved:
    """Read a save file and check that it is one."""
    try:
        if path.exists() and not path.is_file():  # a device never ends, and a pipe may never begin
            raise SaveFileError(_damaged(brief(str(path))))
        with path.open("rb") as stream:
            return _read(stream, brief(str(path)))
    except FileNotFoundError:
        raise SaveFileError(f"there is no save file {brief(str(path))}") from None
    except SaveFileError:
        raise
    except (OSError, ValueError):
        raise SaveFileError(_damaged(brief(str(path)))) from None


def _damaged(what: str) -> str:
    return f"{what} is corrupt or not a causal-bandits save file; restore it from a backup"


def _read(stream: IO[bytes], what: str) -> Saved:
    try:
        archive = Archive(stream)
        header = json.loads(archive.read("header").tobytes())
        known, digest = header["format"] == FORMAT, header.pop("digest")
        arrays = {name: archive.read(name) for name in dict.fromkeys(header["arrays"])}
        is_whole = digest == _digest(header, arrays)
        header.pop("arrays")
    except TooLargeError as error:
        raise SaveFileError(f"{what} is not read: {error}") from None
    except DAMAGED:
        raise SaveFileError(_damaged(what)) from None
    if not known or header.get("version") != VERSION:
        raise SaveFileError(
            f"{what} has format {brief(header['format'])} version {brief(header.get('version'))}; "
            f"this release reads {FORMAT!r} version {VERSION}"
        )
    return Saved(header, arrays, is_whole)


def _batches(arrays: dict[str, NDArray[Any]]) -> list[tuple[int, int]]:
    """The batches that rows came in, checked: within the rows, one after the other."""
    found, rows = arrays["batches"], len(arrays["arms"])
    if found.dtype.kind not in "iu" or found.ndim != 2 or found.shape[1] != 2:
        raise ValueError("its batches are not pairs of row numbers")
    ends = found.ravel()
    if np.any(np.diff(ends) < 0) or (len(ends) and (ends[0] < 0 or ends[-1] > rows)):
        raise ValueError("its batches are not in the order of its rows")
    return [(int(first), int(last)) for first, last in found]


def unpack_rows(problem: Problem, arrays: dict[str, NDArray[Any]]) -> Rows:
    """The rows, each number checked against the problem: compiled code trusts them."""
    rows = Rows(*(arrays[name] for name in Rows._fields))
    limits = np.array([max(variable.size, 1) for variable in problem.observed])
    length, numbers = len(rows.arms), sum(variable.is_number for variable in problem.observed)
    if [array.shape for array in rows] != [(length,), (length, len(limits)), (length,), (length, numbers)]:
        raise ValueError("its columns have different lengths")
    absent = rows.codes == MISSING
    whole: list[tuple[NDArray[Any], Any]] = [(rows.arms, len(problem.arms)), (np.where(absent, 0, rows.codes), limits)]
    numbered = [index for index, variable in enumerate(problem.observed) if variable.is_number]
    gone = np.isnan(rows.raw) if rows.raw.dtype.kind == "f" else np.zeros(rows.raw.shape, dtype=np.bool_)
    real = [np.where(gone, 0.0, rows.raw)]
    if problem.reward_is_real:
        real.append(rows.rewards)
        _check_rewards(problem.reward, rows.rewards)
    else:
        whole.append((rows.rewards, 2))
    fits = all(codes.dtype.kind in "iu" and np.all((codes >= 0) & (codes < limit)) for codes, limit in whole)
    fits = fits and np.array_equal(absent[:, numbered], gone)  # a number is missing where its level is
    if not fits or not all(values.dtype.kind == "f" and np.all(np.isfinite(values)) for values in real):
        raise ValueError("its rows are not rows of its problem")
    return rows


def unpack_waiting(waiting: WaitingRows, problem: Problem, saved: Saved) -> None:
    """The pending rows, read back and checked like the others."""
    numbers = saved.arrays["waiting_numbers"]
    kept = {name: saved.arrays[f"waiting_{name}"] for name in ("arms", "codes", "raw")}
    any_reward = problem.reward.values[0] if problem.reward.values else 0
    rewards = np.full(len(numbers), any_reward, dtype=np.float64 if problem.reward_is_real else np.int8)
    waiting.fill(
        unpack_rows(problem, {**kept, "rewards": rewards}), numbers, whole_number("waiting", saved.header["waiting"], 0)
    )


def _check_rewards(reward: Reward, values: NDArray[Any]) -> None:
    """A ValueError where rewards are not of their kind."""
    fits = reward.kind == "real" or bool(np.all(values >= 0))
    if reward.kind == "count":
        fits = fits and bool(np.all(values == np.floor(values)))
    elif reward.kind == "levels":
        fits = bool(np.all(np.isin(values, reward.values)))
    if not fits:
        raise ValueError(f"its rewards are not of the kind {reward.kind!r}")


def unpack_into(array: NDArray[Any], saved: NDArray[Any]) -> None:
    """Fill an array with what was saved of it."""
    if saved.shape != array.shape or not np.all(np.isfinite(saved)):
        raise ValueError("its sums do not fit its sets")
    array[...] = saved


def unpack_generator(state: dict[str, Any]) -> np.random.Generator:
    """The random numbers, from where they were."""
    if state["bit_generator"] not in GENERATORS:
        raise ValueError(f"random numbers by {state['bit_generator']!r}")
    generator = getattr(np.random, state["bit_generator"])()
    generator.state = state
    return np.random.Generator(generator)


def pack_findings(findings: Findings | None) -> dict[str, NDArray[Any]]:
    """The arrays of the last discovery."""
    if findings is None:
        return {}
    about = {"rows": findings.rows, "source": findings.source, "tests": findings.tests, "arrays": [*findings.arrays]}
    seen = {} if findings.seen is None else {"seen": findings.seen}
    found = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    return {"found": found, "separated": findings.separated, **seen, **findings.arrays}


def unpack_findings(layout: SubsetLayout, arrays: dict[str, NDArray[Any]]) -> Findings | None:
    """The last discovery, read back."""
    if "found" not in arrays:
        return None
    about = json.loads(arrays["found"].tobytes())
    sets, levers, tests = len(layout.names), len(layout.problem.intervention_names), tuple(map(tuple, about["tests"]))
    evidence, separated = {name: arrays[name] for name in about["arrays"]}, arrays["separated"].astype(np.bool_)
    width = dict.fromkeys(IndependenceResult._fields, (len(tests),)) | {"probability": (), "weight": ()}
    if separated.shape != (sets, levers) or any(
        array.shape != (sets, *width.get(name, (levers,))) for name, array in evidence.items()
    ):
        raise ValueError("its tests do not fit its sets")
    return Findings(layout, about["rows"], separated, about["source"], evidence, tests, arrays.get("seen"))
