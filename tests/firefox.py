"""Firefox, headless, over the Marionette protocol that it has built in: no driver has to be installed."""

import base64
import contextlib
import itertools
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("firefox-esr", "firefox")
PREFERENCES = {
    "marionette.port": 0,  # a free one, which it writes into its profile
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.update.disabledForTesting": True,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
}
TIMEOUT = 90.0
"""Seconds to wait for an answer."""
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def find_firefox() -> str:
    """Firefox, if it is installed; else the test is skipped."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    pytest.skip("Firefox is not installed; install it to have sign-in checked in a second browser")


class Firefox:
    """One tab."""

    def __init__(self, connection: socket.socket) -> None:
        self._stream = connection.makefile("rwb")
        self._numbers = itertools.count(1)
        self._receive()  # what it says about itself
        self.call("WebDriver:NewSession", capabilities={})

    def _receive(self) -> Any:
        length = b""
        while (sign := self._stream.read(1)) != b":":
            assert sign, "Firefox does not answer"
            length += sign
        return json.loads(self._stream.read(int(length)))

    def call(self, command: str, **parameters: Any) -> Any:
        """Send a command, wait for its answer."""
        content = json.dumps([0, next(self._numbers), command, parameters]).encode()
        self._stream.write(b"%d:%b" % (len(content), content))
        self._stream.flush()
        _, _, error, result = self._receive()
        assert error is None, error
        return result

    def visit(self, address: str) -> None:
        """Open a page and wait until it is loaded."""
        self.call("WebDriver:Navigate", url=address)

    def resize(self, width: int, height: int = 900) -> None:
        """Show pages in a window of this size."""
        self.call("WebDriver:SetWindowRect", width=width, height=height)

    def run(self, script: str) -> Any:
        """The value of an expression on the page."""
        return self.call("WebDriver:ExecuteScript", script=f"return ({script})", args=[])["value"]

    def wait_for(self, script: str) -> None:
        """Wait until an expression holds."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            with contextlib.suppress(AssertionError):  # a page that is being replaced answers with an error
                if self.run(script):
                    return
            assert time.monotonic() < deadline, f"waited for {script}"
            time.sleep(0.05)

    def type(self, selector: str, text: str) -> None:
        """Type into a field, as somebody would."""
        self.call("WebDriver:ElementSendKeys", id=self._find(selector), text=text)

    def click(self, selector: str) -> None:
        """Click on something, as somebody would."""
        self.call("WebDriver:ElementClick", id=self._find(selector))

    def _find(self, selector: str) -> str:
        found = self.call("WebDriver:FindElement", using="css selector", value=selector)
        return str(found["value"][ELEMENT])

    def picture(self, path: Path) -> None:
        """Keep what is seen."""
        path.write_bytes(base64.b64decode(self.call("WebDriver:TakeScreenshot", full=True)["value"]))


@contextlib.contextmanager
def firefox(folder: Path) -> Iterator[Firefox]:
    """Firefox until the end of the block, with a profile in a folder."""
    profile = folder / "firefox"
    profile.mkdir()
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in PREFERENCES.items()]
    (profile / "user.js").write_text("\n".join(lines))
    command = [find_firefox(), "--headless", "--marionette", "--no-remote", "--profile", str(profile)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port = profile / "MarionetteActivePort"
        deadline = time.monotonic() + TIMEOUT
        while not port.exists() or not port.read_text():
            assert process.poll() is None, "Firefox ended"
            assert time.monotonic() < deadline, "Firefox does not start"
            time.sleep(0.1)
        with socket.create_connection(("127.0.0.1", int(port.read_text())), TIMEOUT) as connection:
            yield Firefox(connection)
    finally:
        process.terminate()
        process.wait(TIMEOUT)
