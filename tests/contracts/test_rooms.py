"""The rooms: no module imports itself in the end, and the map of the rooms shows all of them."""

import graphlib
import re
import tomllib
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]


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
