"""Which files compiled code depends on, the slow way: every name that a compiled function uses is followed to its home.

Annotations are left out: nothing is compiled from them.
"""

import ast
from pathlib import Path

Place = tuple[str, str]
"""A module of the package, as `room.module`, and a name in it."""


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix("__init__").removesuffix(".")


def _names(node: ast.AST) -> set[str]:
    """The names that are read when a definition is run or called."""
    found: set[str] = set()
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and field not in ("annotation", "returns", "decorator_list"):
                found |= {child.id} if isinstance(child, ast.Name) else _names(child)
    return found


class Sources:
    """The modules of a package, parsed."""

    def __init__(self, package: Path) -> None:
        """Read all files below a folder."""
        self.files = {_module(path.relative_to(package)): path for path in sorted(package.rglob("*.py"))}
        self.parsed = {name: ast.parse(path.read_text()) for name, path in self.files.items()}

    def depends_on(self, places: set[Place]) -> set[Path]:
        """The files of these names and of the names they use, directly or by others."""
        waiting, seen = set(places), set[Place]()
        while waiting:
            place = waiting.pop()
            if place not in seen:
                seen.add(place)
                waiting |= self.uses(place)
        return {self.files[module] for module, _ in seen}

    def uses(self, place: Place) -> set[Place]:
        """The names that a name is made of; an imported one is made of what it names there."""
        module, name = place
        found: set[Place] = set()
        for node in self.definitions(module).get(name, []):
            if isinstance(node, ast.ImportFrom):
                found |= self._imported(module, node, name)
            else:
                found |= {(module, used) for used in _names(node)}
        return {each for each in found if self.defined(*each)}

    def _imported(self, module: str, node: ast.ImportFrom, name: str) -> set[Place]:
        there = self._target(module, node)
        [real] = [alias.name for alias in node.names if (alias.asname or alias.name) == name]
        inner = f"{there}.{real}".lstrip(".")
        return {(inner, each) for each in self.definitions(inner)} if inner in self.parsed else {(there, real)}

    def _target(self, module: str, node: ast.ImportFrom) -> str:
        parts = module.split(".") if module else []
        is_package = self.files[module].name == "__init__.py"
        above = parts[: len(parts) - node.level + is_package]
        return ".".join(above + (node.module.split(".") if node.module else []))

    def defined(self, module: str, name: str) -> bool:
        """Whether it is a name of the package, not of Python or a library."""
        return module in self.parsed and name in self.definitions(module)

    def definitions(self, module: str) -> dict[str, list[ast.stmt]]:
        """The statements at the top of a module that give each name its value."""
        found: dict[str, list[ast.stmt]] = {}
        for node in self.parsed[module].body:
            match node:
                case ast.FunctionDef() | ast.ClassDef():
                    names = [node.name]
                case ast.ImportFrom() if node.level:
                    names = [alias.asname or alias.name for alias in node.names]
                case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    names = [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
                case _:
                    names = []
            for name in names:
                found.setdefault(name, []).append(node)
        return found
