"""Record what every policy does: ``python -m tests.bit_identity``, from sources whose arms must stay as they are.

With ``--missing`` only cases without a recording are added; with ``--stated NAME ...`` what these cases state of their
arms is recorded again, if they play as they did.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from causal_bandits import load_policy

from .cases import CASES
from .recording import (
    HERE,
    SEEDS,
    STUDIES,
    case_answer,
    goes_on,
    made_with,
    make_database,
    plain,
    read,
    save_path,
    saved_policy,
    smoke,
    study_goes_on,
    write,
)


def main(results: Path | None = None) -> None:
    """Write answers, save files and a database of studies; `results` may hold finished parts of the figures."""
    (HERE / "saves").mkdir(parents=True, exist_ok=True)
    answers = {name: {str(seed): case_answer(name, seed) for seed in SEEDS} for name in CASES}
    resumed = {}
    for name in (name for name, case in CASES.items() if case.saved):
        policy = saved_policy(name)
        policy.save(save_path(name))
        resumed[name] = goes_on(name, policy)
    database = HERE / "studies.db"
    database.unlink(missing_ok=True)
    make_database(database)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "studies.db"
        shutil.copy(database, copy)
        studies = {name: study_goes_on(f"sqlite:///{copy}", name) for name in STUDIES}
        figures = smoke("all", results or Path(folder) / "results")
    write({"made_with": made_with(), "cases": answers, "resumed": resumed, "studies": studies, "figures": figures})


def add_missing() -> None:
    """Record cases that were added since, and leave the others as they are."""
    recorded = read()
    for name, case in CASES.items():
        if name in recorded["cases"]:
            continue
        recorded["cases"][name] = {str(seed): case_answer(name, seed) for seed in SEEDS}
        if case.saved:
            policy = saved_policy(name)
            policy.save(save_path(name))
            recorded["resumed"][name] = goes_on(name, policy)
    write(recorded)


STATED = ("estimates", "recommend", "sets", "evidence")


def state_again(names: list[str]) -> None:
    """Record again what cases state; what they play must be as it was."""
    recorded = read()
    for name in names:
        answers = {f"cases {seed}": (recorded["cases"][name][str(seed)], case_answer(name, seed)) for seed in SEEDS}
        if name in recorded["resumed"]:
            answers["resumed"] = recorded["resumed"][name], goes_on(name, load_policy(save_path(name)))
        for where, (then, now) in answers.items():
            for key in STATED:
                then["known"][key] = plain(now["known"][key])
            if plain(now) != then:
                sys.exit(f"{name}, {where}: it does not play as it did")
    write(recorded)


if __name__ == "__main__":
    if sys.argv[1:] == ["--missing"]:
        add_missing()
    elif sys.argv[1:2] == ["--stated"]:
        state_again(sys.argv[2:])
    else:
        main(*map(Path, sys.argv[1:]))
