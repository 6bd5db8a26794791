"""What a case does, as plain values; the same code records it and plays it again."""

import base64
import gzip
import hashlib
import json
import platform
import re
import sqlite3
import tempfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
import scipy

import causal_bandits as cb
from causal_bandits.policies import Policy
from causal_bandits.studies.snapshots import pack
from tests.studies.cases import PLANT, SHOP, answer

from .cases import CASES, Case

HERE = Path(__file__).parent / "recorded"
ASKED, ROLLED, SAVED_AT = 90, 260, 130
SEEDS = (0, 1)
STUDIES: dict[str, dict[str, Any]] = {
    "safe": {"problem": SHOP},
    "paper": {"problem": SHOP, "policy": "paper"},
    "elimination": {"problem": SHOP, "policy": "successive-elimination"},
    "small": {"problem": SHOP, "policy": "ucb-small", "options": {"horizon": 400}},
    "plant": {"problem": PLANT},
    "plant by bounds": {"problem": PLANT, "policy": "causal-ucb-normal", "options": {"initial": 10}},
}


def made_with() -> dict[str, str]:
    """What the last bits of a float depend on."""
    versions = {"numpy": np.__version__, "scipy": scipy.__version__, "numba": numba.__version__}
    return versions | {"machine": platform.machine(), "cpu": str(llvm.get_host_cpu_name())}


def packed(numbers: Iterable[int]) -> str:
    """Arms as text."""
    return base64.b64encode(zlib.compress(np.array(list(numbers), dtype=np.uint16).tobytes(), 9)).decode()


def start(case: Case, seed: int) -> Policy[Any]:
    policy = case.make(case.world.problem, seed=seed)
    cb.observe(policy, case.world, case.told, np.random.default_rng(seed + 50))
    return policy


def rounds(case: Case, policy: Policy[Any], seed: int, length: int, *, compiled: bool) -> dict[str, Any]:
    """Rounds in two parts; where arms are left out, in the second part."""
    rng = np.random.default_rng(seed + 100)
    parts = [cb.simulation.play(policy, case.world, length // 2, rng, compiled=compiled)]
    if case.restricted:
        policy.restrict([arm for number, arm in enumerate(policy.problem.arms) if number % 3])
    parts.append(cb.simulation.play(policy, case.world, length - length // 2, rng, compiled=compiled))
    rewards = np.concatenate([part.rewards for part in parts])
    return {"arms": packed(np.concatenate([part.arms for part in parts])), "rewards": float(rewards.sum())}


def known(policy: Policy[Any]) -> dict[str, Any]:
    """What a policy says of itself and of its arms, with random numbers of its own left as they are."""
    own = policy.rng
    estimates = list(policy.estimates())
    some = estimates if len(estimates) < 30 else estimates[::200]
    index = policy.problem.index
    best = policy.recommend(draws=300)
    indices = policy.indices(np.random.default_rng(7))
    sets = policy.separating_sets(rejected=True)
    shown = sets if len(sets) < 20 else [each for each in sets if each.accepted][:20]
    among = np.arange(len(policy.problem.arms)) % 2 == 0
    whole = policy.allowed.all() and not getattr(policy, "plays_all_arms", False)
    chosen = packed(policy.choose(20, np.random.default_rng(9), among=among)) if whole else ""
    policy.rng = own
    return {
        "estimates": [[each.mean, each.low, each.high, each.own_rows, each.effective_rows] for each in some],
        "through": [None if each.through is None else "".join(each.through) for each in some],
        "recommend": [index(best.arm), best.mean, best.probability_best],
        "indices": None if indices is None else [float(each) for each in indices[: len(some)]],
        "sets": hashlib.sha256("; ".join(map(str, sets)).encode()).hexdigest()[:16],
        "evidence": [evidence(each) for each in shown],
        "frequencies": policy.frequencies(50, np.random.default_rng(8)).tolist()[:30],
        "among": chosen,
        "hints": [int(policy.tier), policy.hints],
        "options": hashlib.sha256(json.dumps(policy.options(), default=np.ndarray.tolist).encode()).hexdigest()[:16],
    }


def evidence(found: cb.SeparatingSet) -> list[Any]:
    """Why a set was accepted or not."""
    why = found.evidence
    numbers = [value for result in why.tests.values() for value in result]
    for nats in (why.confidence, why.log_bayes_factor, why.given_others):
        numbers += nats.values()
    return [why.rows, why.source, *map(float, numbers)]


def case_answer(name: str, seed: int) -> dict[str, Any]:
    """All that a case shows."""
    case = CASES[name]
    slow, fast = start(case, seed), start(case, seed)
    return {
        "asked": rounds(case, slow, seed, ASKED, compiled=False),
        "rolled": rounds(case, fast, seed, ROLLED, compiled=True),
        "known": known(fast),
        "batch": packed(map(fast.problem.index, fast.ask(25))),
    }


def saved_policy(name: str) -> Policy[Any]:
    """The policy whose save file is kept."""
    policy = start(CASES[name], 2)
    rounds(CASES[name], policy, 2, SAVED_AT, compiled=True)
    return policy


def goes_on(name: str, policy: Policy[Any]) -> dict[str, Any]:
    """What a policy does after it was loaded."""
    case = CASES[name]._replace(restricted=False)
    return {"known": known(policy), "next": rounds(case, policy, 3, 120, compiled=True)}


def save_path(name: str) -> Path:
    return HERE / "saves" / f"{name.replace(' ', '-').replace(',', '')}.npz"


def study_events(storage: str, name: str) -> None:
    """A study with decisions that are open, told in parts, batches, imported rows and arms that may not be played."""
    study = cb.Study.create(name, storage=storage, seed=11, **STUDIES[name])
    for _ in range(70):
        decision = study.ask()
        study.tell(decision.id, answer(study.problem, decision))
    batch = study.ask(4)
    study.tell(batch[1].id, answer(study.problem, batch[1]))
    study.abandon(batch[2].id)
    session = study._session
    content = session.read(pack)
    session.store.write(session.row.id, lambda transaction: transaction.put_snapshot(session._head, content))
    study.forbid(study.problem.arms[1])
    for _ in range(25):
        decision = study.ask()
        study.tell(decision.id, answer(study.problem, decision))


def study_goes_on(storage: str, name: str) -> dict[str, Any]:
    """What a stored study says, explains and asks for next."""
    study = cb.Study.load(name, storage=storage)
    before = [[each.mean, each.low, each.high, each.own_rows] for each in study.estimates()]
    explained = study.explain(60)
    arms = []
    for _ in range(40):
        decision = study.ask()
        study.tell(decision.id, answer(study.problem, decision))
        arms.append(study.problem.index(decision.arm))
    views = [[view.index, view.propensity] for view in explained.arms]
    return {"estimates": before, "arms": packed(arms), "explained": views}


def smoke(figure: str, folder: Path) -> dict[str, Any]:
    """The smoke run of a figure: some of its numbers, and all of them in short."""
    found = {}
    for made in cb.reproduce(figure, scale="smoke", seed=1, jobs=1, out=folder):
        summary = {key: value for key, value in made.summary.items() if key != "version"}
        text = json.dumps(summary, sort_keys=True)
        numbers = re.findall(r"-?\d+\.\d+(?:e-?\d+)?", text)
        digest = hashlib.sha256(text.encode()).hexdigest()
        found[made.folder.name] = {"numbers": [float(each) for each in numbers[::20]], "digest": digest}
    return found


def write(recorded: dict[str, Any]) -> None:
    """Keep what was recorded; the same content gives the same file."""
    text = json.dumps(recorded, separators=(",", ":")).encode()
    (HERE / "answers.json.gz").write_bytes(gzip.compress(text, 9, mtime=0))


def read() -> dict[str, Any]:
    """What was recorded."""
    found: dict[str, Any] = json.loads(gzip.decompress((HERE / "answers.json.gz").read_bytes()))
    return found


def plain(answer: Any) -> Any:
    """As it would be read back."""
    return json.loads(json.dumps(answer, default=np.ndarray.tolist))


def make_database(path: Path) -> None:
    """All studies in one file."""
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder) / "studies.db"
        for name in STUDIES:
            study_events(f"sqlite:///{temporary}", name)
        with sqlite3.connect(temporary) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")
            connection.execute("VACUUM INTO ?", (str(path),))
        connection.close()
