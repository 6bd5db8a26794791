"""Make the packaged Sachs network from the public wheel that carries its probabilities.

    pip download --no-deps pgmpy==1.1.2 -d wheels
    python scripts/make_sachs_network.py wheels/pgmpy-1.1.2-py3-none-any.whl

The numbers are copied as they are printed there. With `--check` the packaged asia and survey, which were typed from the
publications, are compared with those of the wheel, and nothing is written.
"""

import gzip
import hashlib
import sys
import zipfile
from pathlib import Path

import numpy as np

from causal_bandits.research.worlds.networks import Node, read_network

FOLDER = Path(__file__).parent.parent / "src" / "causal_bandits" / "datasets" / "networks"
MEMBER = "pgmpy/utils/example_models/{}.bif.gz"
SHA256 = "b7bd3931192f9e529f0f88bba15fca6cc61ba3c805d5c8ae57eba57ed3b332ec"
HEADER = "// Sachs et al. 2005, probabilities of Scutari's Bayesian Network Repository; see sachs.md\n"


def text_of(wheel: Path, name: str) -> str:
    """A network as the wheel has it."""
    return gzip.decompress(zipfile.ZipFile(wheel).read(MEMBER.format(name))).decode()


def differs(ours: dict[str, Node], theirs: dict[str, Node]) -> list[str]:
    """The variables whose probabilities are not the same, whatever the order of levels and parents."""
    return [name for name in theirs if name not in ours or _rows(ours, name) != _rows(theirs, name)]


def _rows(nodes: dict[str, Node], name: str) -> dict[frozenset[tuple[str, str]], float]:
    node = nodes[name]
    axes = [*((parent, nodes[parent].levels) for parent in node.parents), (name, node.levels)]
    return {
        frozenset((axis, levels[code]) for (axis, levels), code in zip(axes, cell, strict=True)): round(chance, 12)
        for cell, chance in np.ndenumerate(node.table)
    }


def check(wheel: Path) -> None:
    """Compare all packaged networks with those of the wheel."""
    for name in ("asia", "survey", "sachs"):
        ours = read_network((FOLDER / f"{name}.bif").read_text())
        found = differs(ours, read_network(text_of(wheel, name)))
        sys.stdout.write(f"{name}: {'differs in ' + ', '.join(found) if found else 'the same'}\n")


def main(wheel: Path) -> None:
    """Write the packaged file."""
    text = text_of(wheel, "sachs")
    if hashlib.sha256(text.encode()).hexdigest() != SHA256:
        raise SystemExit(f"sachs.bif in {wheel} is not the file of pgmpy 1.1.2 (SHA-256 {SHA256})")
    (FOLDER / "sachs.bif").write_text(HEADER + text.replace("network unknown", "network sachs", 1))


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[2] == "--check":
        check(Path(sys.argv[1]))
    elif len(sys.argv) == 2:
        main(Path(sys.argv[1]))
    else:
        raise SystemExit("usage: python scripts/make_sachs_network.py pgmpy-1.1.2-py3-none-any.whl [--check]")
