"""The golden file of error messages: tests assert the type and the named value, and the sentence is in messages.txt.

`pytest --update-messages` (`make messages`) writes the sentences of the tests that it runs again; the diff is what to
review.
"""

import fcntl
from collections.abc import Callable
from pathlib import Path

from causal_bandits.errors import CausalBanditsError

Golden = Callable[[BaseException], None]
FILE = Path(__file__).parent / "messages.txt"


def read() -> dict[str, str]:
    """The sentence of each case."""
    lines = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []
    return dict(zip(lines[::2], (line[4:] for line in lines[1::2]), strict=True))


def write(changed: dict[str, str]) -> None:
    """Keep some sentences; other processes may do the same."""
    with FILE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        every = {**read(), **changed}
        FILE.write_text("".join(f"{case}\n    {every[case]}\n" for case in sorted(every)), encoding="utf-8")
    FILE.with_suffix(".lock").unlink(missing_ok=True)


def sentence(error: BaseException, folder: Path) -> str:
    """The type and the sentence of an error of ours, without the folder of the test."""
    assert isinstance(error, CausalBanditsError)
    said = str(error).replace(str(folder), "FOLDER")
    assert said
    assert "\n" not in said
    return f"{type(error).__name__}: {said}"
