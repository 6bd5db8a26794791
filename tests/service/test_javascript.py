"""The JavaScript client under Node, against a real server."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import causal_bandits as cb
from causal_bandits._version import __version__
from causal_bandits.product.service.tokens import Tokens

from .servers import running

ROOT = Path(__file__).parents[2]
TOKEN = "a-token-of-24-characters"
OLDEST = 20


def node() -> str:
    """Node, or a skip with the reason."""
    found = shutil.which("node")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout if found else "v0"
    if found is None or int(version.strip().lstrip("v").partition(".")[0]) < OLDEST:
        reason = f"Node {OLDEST} or later is not installed, so the JavaScript client is not tested; install nodejs"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found


def test_the_javascript_client(tmp_path: Path) -> None:
    program = node()
    with running() as apps:
        address = apps.serve(f"sqlite:///{tmp_path}/studies.db", tokens=Tokens.of({TOKEN: "admin"}))
        command = [program, "--test", str(ROOT / "tests/service/client.test.mjs")]
        given = {**os.environ, "BANDITS_URL": address, "BANDITS_TOKEN": TOKEN, "NO_COLOR": "1"}
        result = subprocess.run(command, env=given, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
    found = re.search(r"^# pass (\d+)$", result.stdout, re.MULTILINE) or re.search(r"pass (\d+)", result.stdout)
    assert found is not None
    assert int(found[1]) == 5


def test_the_package_is_of_this_release_and_has_both_files() -> None:
    package = json.loads((ROOT / "package.json").read_text())
    assert package["version"] == __version__
    listed = {*package["files"], *(path.removeprefix("./") for path in package["exports"]["."].values())}
    assert listed == set(package["files"])
    assert all((ROOT / path).is_file() for path in listed)
    module, types = ((ROOT / path).read_text() for path in sorted(listed, reverse=True))
    for name in re.findall(r"^export class (\w+)", module, re.MULTILINE):
        assert f"export class {name}" in types
    for method in re.findall(r"^  (?:async )?([a-z]\w+)\(.*\) \{$", module, re.MULTILINE):
        assert re.search(rf"^  {method}[<(]", types, re.MULTILINE), method
    assert cb.__name__ == "causal_bandits"
