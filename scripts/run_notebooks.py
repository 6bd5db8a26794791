"""Run the notebooks of the documentation and keep what they print and draw: python scripts/run_notebooks.py [FILE ...].

Code cells run from top to bottom in one namespace, in an empty folder. No Jupyter is needed.
"""

import ast
import base64
import contextlib
import io
import json
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
DPI = 70
Cell = dict[str, Any]


def source_of(cell: Cell) -> str:
    """The text of a cell; files keep it in lines."""
    return "".join(cell["source"])


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _split(source: str) -> tuple[ast.Module, ast.Expression | None]:
    """The statements of a cell, and the last one apart if it is an expression: its value is shown."""
    parsed = ast.parse(source)
    last = parsed.body[-1] if parsed.body else None
    if not isinstance(last, ast.Expr) or source.rstrip().endswith(";"):
        return parsed, None
    return ast.Module(parsed.body[:-1], []), ast.Expression(last.value)


def _shown(value: object, count: int) -> dict[str, Any]:
    data: dict[str, Any] = {"text/plain": _lines(repr(value))}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = _lines(value._repr_html_())
    return {"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data}


def _figures() -> list[dict[str, Any]]:
    import matplotlib.pyplot as plt

    found = []
    for number in plt.get_fignums():
        buffer = io.BytesIO()
        plt.figure(number).savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
        image = base64.b64encode(buffer.getvalue()).decode()
        found.append({"output_type": "display_data", "metadata": {}, "data": {"image/png": image}})
    plt.close("all")
    return found


def run_cell(cell: Cell, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """What a cell prints, shows and draws."""
    statements, last = _split(source_of(cell))
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(statements, f"cell {count}", "exec"), names)
        if last is not None:
            value = eval(compile(last, f"cell {count}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    figures = _figures()
    if value is not None and not figures:
        outputs.append(_shown(value, count))
    return outputs + figures


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with fresh outputs."""
    _figures()  # that were open before belong to nobody
    mpl.use("Agg")
    names: dict[str, Any] = {"__name__": "notebook"}
    cells, count = [], 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("error")
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                cell = {**cell, "execution_count": count, "outputs": run_cell(cell, names, count)}  # noqa: PLW2901
            cells.append(cell)
    return {**notebook, "cells": cells}


def main(paths: list[Path]) -> None:
    """Run them, and write those that changed."""
    for path in paths:
        found = executed(json.loads(path.read_text(encoding="utf-8")))
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main([Path(each).resolve() for each in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")))
