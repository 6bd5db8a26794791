"""Run the notebooks of the documentation and keep what they print and draw: python scripts/run_notebooks.py [FILE ...].

Each runs from top to bottom in a Jupyter kernel, in an empty folder.
"""

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent.parent / "docs" / "tutorials"
SECONDS = 600
"""Time for one cell."""
COMPILING = "Compiling the simulation (once; later runs load it from the cache)"


def executed(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook with fresh outputs; an error in a cell, or a warning, is raised."""
    metadata = dict(notebook.metadata)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=SECONDS,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": folder}},
        )
        client.execute()
    notebook.metadata = nbformat.from_dict(metadata)  # the kernel adds the version of Python
    for cell in notebook.cells:
        for output in list(cell.get("outputs", [])):
            if output.get("name") == "stderr":
                if output.text.strip() == COMPILING:  # where the cache was empty
                    cell.outputs.remove(output)
                    continue
                raise RuntimeError(f"a cell wrote to the standard error: {output.text}")
    return notebook


def main(paths: list[Path]) -> None:
    """Run them, and write what they show."""
    for path in paths:
        nbformat.write(executed(nbformat.read(path, as_version=4)), path)
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main([Path(each).resolve() for each in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")))
