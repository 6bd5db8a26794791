"""Print pip constraints that pin every dependency of the package to the lowest version that pyproject.toml allows."""

import re
import tomllib
from pathlib import Path

TOOLS = {"dev", "bench"}
"""Extras that are not part of the package."""

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
extras = [listed for name, listed in project["optional-dependencies"].items() if name not in TOOLS]
pins = set()
for requirement in [*project["dependencies"], *(each for listed in extras for each in listed)]:
    if requirement.startswith(f"{project['name']}["):
        continue  # its own extras
    bound = re.match(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", requirement)
    if bound is None:
        raise SystemExit(f"the dependency {requirement!r} has no lower bound; write it as name>=version")
    pins.add("{}=={}".format(*bound.groups()))
print(*sorted(pins), sep="\n")
