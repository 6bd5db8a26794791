"""The command line in this process, which saves the start of another: whatever is not an exit is raised here."""

import sys
import warnings
from collections.abc import Sequence

import pytest

from causal_bandits.cli import main


def exit_code(arguments: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> object:
    """How the command ends."""
    monkeypatch.setattr(sys, "argv", ["causal-bandits", *arguments])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main() takes it over
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code
