"""Plots in a Jupyter kernel: every cell shows its own, and each has ink."""

import base64
import io
import runpy
from pathlib import Path
from typing import Any

import matplotlib.image
import nbformat
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs/tutorials").glob("*.ipynb"))


def executed(notebook: Any) -> Any:
    return runpy.run_path(str(ROOT / "scripts/run_notebooks.py"))["executed"](notebook)


def ink_of(notebook: Any) -> list[list[float]]:
    """For each code cell the share of dark or colored pixels in each of its images."""
    cells = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    return [[_ink(each.data["image/png"]) for each in cell if "image/png" in each.get("data", {})] for cell in cells]


def _ink(png: str) -> float:
    pixels = matplotlib.image.imread(io.BytesIO(base64.b64decode(png)), format="png")[..., :3]
    return float(np.mean(pixels.min(axis=2) < 0.8))


@pytest.mark.parametrize(
    "first",
    [
        "",
        "import matplotlib.pyplot as plt\nplt.style.use('ggplot')\nplt.plot([1, 2])\nplt.close()",
        "%matplotlib inline",
    ],
)
def test_every_cell_shows_its_plot(first: str) -> None:
    """However pyplot was first used."""
    cells = [
        first,
        "import causal_bandits as cb\n"
        "found = cb.analyze('example', target='purchase', interventions=['banner', 'discount'])",
        "found.plot();",
        "axes = found.estimates().plot(most=3)",
        "import matplotlib.pyplot as plt\n"
        "figure, (left, right) = plt.subplots(1, 2)\n"
        "found.plot(left); found.plot(right);",
        "found.plot(); found.plot();",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    ink = ink_of(executed(notebook))
    assert [len(images) for images in ink] == [0, 0, 1, 1, 1, 2]
    assert min(share for images in ink for share in images) > 0.01


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.slow if path.stem in ("late-rewards", "loans") else ())
        for path in NOTEBOOKS
    ],
    ids=lambda path: str(path.stem),
)
def test_the_notebooks_of_the_documentation_run(path: Path) -> None:
    """Every cell runs, and prints, shows and draws the kinds of things that are kept in the file."""
    kept = nbformat.read(path, as_version=4)
    found = executed(nbformat.read(path, as_version=4))

    def kinds(notebook: Any) -> list[list[str]]:
        cells = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
        return [[kind for each in outputs for kind in sorted(each.get("data", ["text"]))] for outputs in cells]

    assert kinds(found) == kinds(kept)
    for notebook in (found, kept):
        assert min(share for images in ink_of(notebook) for share in images) > 0.01
    assert path.stat().st_size < 300_000
