"""The rooms: no module imports itself in the end, the map shows all of them, and nothing is written twice."""

import ast
import graphlib
import re
import tomllib
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src/causal_bandits"


def test_no_module_imports_itself_in_the_end() -> None:
    """Imports for types alone count, imports within functions too, and so does the facade at the root."""
    graph = grimp.build_graph("causal_bandits", exclude_type_checking_imports=False, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 200
    graphlib.TopologicalSorter(imports).prepare()  # raises CycleError, which names the modules


def test_the_map_shows_every_layer() -> None:
    """ARCHITECTURE.md has the layers of the import contract, from top to bottom."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    enforced = [set(re.findall(r"causal_bandits\.(\w+)", layer)) for layer in layers]
    drawn = re.findall(r"^    ([\w |]+?)  +\S", (ROOT / "ARCHITECTURE.md").read_text().split("## ")[1], re.MULTILINE)
    shown = [name for line in drawn for name in line.replace(" ", "").split("|")]
    for layer in enforced:
        assert set(shown[: len(layer)]) == layer
        del shown[: len(layer)]
    assert not shown


def test_there_are_no_exceptions() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert not [contract["name"] for contract in contracts if {"ignore_imports", "skip_descendants"} & set(contract)]
    assert {"layers", "acyclic_siblings"} <= {contract["type"] for contract in contracts}


def _docstring_lines(module: ast.Module) -> set[int]:
    """The numbers of the lines that describe; parameters of the same meaning have the same words."""
    found: set[int] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if ast.get_docstring(node) is not None and first is not None:
                found |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return found


def test_no_six_lines_are_written_twice() -> None:
    """Of code, wherever: what is written twice is one function that nobody has named yet."""
    places: dict[tuple[str, ...], list[str]] = {}
    for path in sorted(set(SOURCES.rglob("*.py")) - set(SOURCES.rglob("__init__.py"))):  # those list names
        text = path.read_text(encoding="utf-8")
        parsed = ast.parse(text)
        words = _docstring_lines(parsed) | {
            number
            for node in ast.walk(parsed)
            if isinstance(node, ast.ImportFrom)
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }
        lines = [line.strip() for number, line in enumerate(text.splitlines(), start=1) if number not in words]
        code = [line for line in lines if line and not line.startswith(("#", "import "))]
        for first in range(len(code) - 5):
            here = f"{path.relative_to(SOURCES).as_posix()}: {code[first]}"
            places.setdefault(tuple(code[first : first + 6]), []).append(here)
    assert [found for found in places.values() if len(found) > 1] == []
