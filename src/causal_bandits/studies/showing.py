"""What a study shows in the same way wherever it is: in this process, or on a server."""

import os
from abc import abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..files import file_path, replacing
from ..policies import Estimates
from ..problem import Segment
from ..reporting import study_page
from ..reporting.described import StudyDescription
from ..reporting.quick_plots import MOST_ARMS, plot_estimates


class Closing:
    """What is closed at the end of a `with` block."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what it holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Showing(Closing):
    """A study that draws itself and writes its report."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in the storage."""

    @abstractmethod
    def estimates(self, *, level: float = 0.95, segment: Segment | None = None) -> Estimates:
        """What is known of every arm."""

    @abstractmethod
    def describe(self, *, history: bool = False) -> StudyDescription:
        """Everything in plain values."""

    def plot(self, axes: Any = None, *, most: int | None = MOST_ARMS) -> Any:
        """Draw the best arms on matplotlib axes, new ones by default, and return them; `most=None` draws all arms."""
        return plot_estimates(self.estimates(), axes, most=most, title=f"Study {self.name}")

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write an HTML report: arms, own and borrowed rows, sets with their evidence, decisions over time."""
        file = file_path(path)
        with replacing(file) as temporary:
            temporary.write_text(study_page(self.describe(history=True)), encoding="utf-8")
        return file
