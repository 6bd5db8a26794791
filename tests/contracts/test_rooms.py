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


def _picture() -> tuple[dict[str, set[str]], list[tuple[str, str]]]:
    """The Mermaid picture of ARCHITECTURE.md: group -> names in it ("" for no group), and the arrows."""
    drawing = (ROOT / "ARCHITECTURE.md").read_text().partition("```mermaid\n")[2].partition("```")[0]
    groups: dict[str, set[str]] = {"": set()}
    arrows, group = [], ""
    for line in re.sub(r'\[".*?"\]', "", drawing).splitlines()[1:]:
        words = line.split()
        if words[0] == "subgraph":
            group = words[1]
            groups[""].add(group)
            groups[group] = set()
        elif words[0] == "end":
            group = ""
        else:
            names = [word for word in words if word != "-->"]
            groups[group] |= set(names)
            arrows += [(names[0], names[1])] if len(names) == 2 else []
    return groups, arrows


def test_the_picture_shows_every_layer() -> None:
    """ARCHITECTURE.md draws the packages of the import contracts, and every arrow points to a lower layer."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    groups, arrows = _picture()
    for contract in [each for each in contracts if each["type"] == "layers"]:
        group = contract.get("containers", [""])[0].rpartition(".")[2]
        layers = [re.findall(r"(\w+)(?= *(?:\||$))", layer) for layer in contract["layers"]]
        depth = {name: number for number, layer in enumerate(layers) for name in layer}
        packages = {name for name in depth if (SOURCES / group / name / "__init__.py").exists()}
        assert packages <= groups[group] <= set(depth)
        inside = [(above, below) for above, below in arrows if {above, below} <= groups[group]]
        assert [(above, below) for above, below in inside if depth[above] >= depth[below]] == []
        assert {below for _, below in inside} == {name for name in groups[group] if depth[name] > 0}


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


def _parameter_lines(module: ast.Module) -> set[int]:
    """The numbers of the lines of signatures after their first: a client has the parameters of what it calls."""
    return {
        number
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for number in range(node.lineno + 1, node.body[0].lineno)
    }


def test_no_six_lines_are_written_twice() -> None:
    """Of code, wherever: what is written twice is one function that nobody has named yet."""
    places: dict[tuple[str, ...], list[str]] = {}
    for path in sorted(set(SOURCES.rglob("*.py")) - set(SOURCES.rglob("__init__.py"))):  # those list names
        text = path.read_text(encoding="utf-8")
        parsed = ast.parse(text)
        imported = {
            number
            for node in ast.walk(parsed)
            if isinstance(node, ast.ImportFrom)
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }
        words = _docstring_lines(parsed) | _parameter_lines(parsed) | imported
        lines = [line.strip() for number, line in enumerate(text.splitlines(), start=1) if number not in words]
        code = [line for line in lines if line and not line.startswith(("#", "import "))]
        for first in range(len(code) - 5):
            here = f"{path.relative_to(SOURCES).as_posix()}: {code[first]}"
            places.setdefault(tuple(code[first : first + 6]), []).append(here)
    assert [found for found in places.values() if len(found) > 1] == []
