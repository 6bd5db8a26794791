"""Record what every policy does: ``python -m tests.bit_identity``, from sources whose arms must stay as they are.

With ``--missing`` only cases without a recording are added.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from .cases import CASES
from .recording import (
    HERE,
    SEEDS,
    STUDIES,
    case_answer,
    goes_on,
    made_with,
    make_database,
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


if __name__ == "__main__":
    if sys.argv[1:] == ["--missing"]:
        add_missing()
    else:
        main(*map(Path, sys.argv[1:]))
