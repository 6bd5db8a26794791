"""A browser that stays open: Chromium over its DevTools pipe, to visit pages, change their size and watch them live."""

import base64
import contextlib
import itertools
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .browser import find_chromium

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run")
TIMEOUT = 60.0
"""Seconds to wait for an answer."""


class Browser:
    """One tab; `complaints` are the errors and warnings that its console showed."""

    def __init__(self, sent: int, received: int) -> None:
        self._sent, self._received = sent, received
        self._numbers = itertools.count(1)
        self._rest = b""
        self._session: str | None = None
        self._loaded: set[str] = set()
        self.complaints: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def call(self, method: str, **params: Any) -> Any:
        """Send a command, wait for its answer."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._sent, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + TIMEOUT
        while True:
            found = self._next(deadline)
            if found.get("id") == number:
                assert "error" not in found, found
                return found["result"]

    def _next(self, deadline: float) -> dict[str, Any]:
        """The next message; what happens is noted on the way."""
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._received], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "the browser does not answer"
            self._rest += os.read(self._received, 1 << 20)
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        happened, details = message.get("method"), message.get("params", {})
        if happened == "Page.lifecycleEvent" and details["name"] == "load":
            self._loaded.add(details["loaderId"])
        elif happened == "Runtime.exceptionThrown":
            self.complaints.append(str(details["exceptionDetails"]))
        elif happened == "Runtime.consoleAPICalled" and details["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(details["args"]))
        elif happened == "Log.entryAdded" and details["entry"]["level"] in ("error", "warning"):
            self.complaints.append(str(details["entry"]))
        return message

    def visit(self, address: str) -> None:
        """Open a page and wait until it is loaded."""
        answer = self.call("Page.navigate", url=address)
        assert "errorText" not in answer, answer
        deadline = time.monotonic() + TIMEOUT
        while answer["loaderId"] not in self._loaded:
            self._next(deadline)

    def resize(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Show pages at a width, in light or dark colors."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def run(self, script: str) -> Any:
        """The value of an expression on the page."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait_for(self, script: str) -> None:
        """Wait until an expression holds on a page that is loaded completely."""
        script = f"document.readyState === 'complete' && ({script})"
        deadline = time.monotonic() + TIMEOUT
        while True:
            with contextlib.suppress(AssertionError):  # a page that is being replaced answers with an error
                if self.run(script):
                    return
            assert time.monotonic() < deadline, f"waited for {script}"
            time.sleep(0.05)

    def type(self, selector: str, text: str) -> None:
        """Type into a field, as somebody would."""
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        self.call("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """Press a key, such as Tab or Enter."""
        code = {"Tab": 9, "Enter": 13}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            about: dict[str, Any] = {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
            self.call("Input.dispatchKeyEvent", **about, **(text if kind == "keyDown" else {}))

    def click(self, selector: str) -> None:
        """Click on something, as somebody would, which is scrolled to if it is not in sight."""
        there = f"document.querySelector({json.dumps(selector)})"
        self.wait_for(f"{there} !== null")  # the page is loaded, so nothing moves any more
        self.run(f"{there}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        x, y = self.run(f"(box => [box.x + box.width / 2, box.y + box.height / 2])({there}.getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path: Path) -> None:
        """Keep what is seen, the whole page."""
        shown = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shown["data"]))


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Chromium until the end of the block, with a profile of its own in a folder."""
    (reads, sent), (received, writes) = os.pipe(), os.pipe()
    command = [find_chromium(), *FLAGS, f"--user-data-dir={folder / 'profile'}"]
    script = f'exec "$@" 3<&{reads} 4>&{writes}'  # the browser reads from 3 and writes to 4
    process = subprocess.Popen(
        ["bash", "-c", script, "bash", *command],
        pass_fds=(reads, writes),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(reads)
    os.close(writes)
    try:
        yield Browser(sent, received)
    finally:
        os.close(sent)  # it ends when nobody can tell it anything
        process.wait(TIMEOUT)
        os.close(received)
