"""A real browser for pages: Chromium, headless, at a given width."""

import json
import os
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
PROBE = """<script>
const errors=[];addEventListener('error',e=>errors.push(String(e.message||e.target.src)),true);
addEventListener('load',()=>setTimeout(()=>parent.postMessage(JSON.stringify({
width:innerWidth,
scroll:document.documentElement.scrollWidth,
images:[...document.images].map(i=>[i.naturalWidth,i.clientWidth]),
dark:getComputedStyle(document.body).backgroundColor,
text:document.body.innerText.length,
errors}),'*'),50))</script>"""
FRAME = """<!doctype html><meta charset=utf-8><body style='margin:0'><pre id=found>nothing</pre>
<iframe src='page.html' style='border:0;width:{width}px;height:900px'></iframe>
<script>addEventListener('message',e=>document.getElementById('found').textContent=e.data)</script>"""


class Seen(NamedTuple):
    """What the browser made of a page."""

    found: dict[str, Any]
    console: list[str]


def find_chromium() -> str:
    """The newest Chromium, installed by the system's package manager where that may be done; else the test is skipped.

    Where CI is set its absence is a failure.
    """
    for attempt in (False, True):
        if found := [path for name in NAMES if (path := shutil.which(name))]:
            return found[0] if len(found) == 1 else max(found, key=_version)
        if not attempt and hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
            for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", NAMES[0]]):
                subprocess.run(command, capture_output=True, check=False)
    if os.environ.get("CI"):
        pytest.fail("Chromium is not installed and could not be; CI needs it")
    pytest.skip("Chromium is not installed; install it to have pages checked in a real browser")


def _version(path: str) -> list[int]:
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    return [int(part) for part in re.findall(r"\d+", said)]


def look_at(page: Path, width: int, folder: Path, *, dark: bool = False) -> Seen:
    """Open a copy of a page in a frame of a width and say what is there."""
    text = page.read_text()
    folder.mkdir(parents=True)
    (folder / "page.html").write_text(text.replace("<head>", f"<head>{PROBE}", 1))
    (folder / "frame.html").write_text(FRAME.format(width=width))
    command = [
        find_chromium(),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        f"--user-data-dir={folder / 'profile'}",
        "--window-size=1600,1000",
        "--virtual-time-budget=8000",
        *(["--blink-settings=preferredColorScheme=0"] if dark else []),
        "--dump-dom",
        (folder / "frame.html").as_uri(),
    ]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    said = re.search(r"<pre id=\"found\">(.*?)</pre>", result.stdout, re.DOTALL)
    assert said is not None, result.stdout
    console = [line for line in result.stderr.splitlines() if "CONSOLE" in line]
    return Seen(json.loads(unescape(said.group(1))), console)
