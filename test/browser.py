# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium for tests of pages, over the DevTools protocol's pipe."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 60.0  # s of wall time; the machine may be busy


def program() -> str | None:
    """Path of a Chromium; None where there is none."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """One page in a browser whose network is off.

    Attributes:
        requests: addresses that were asked for.
        complaints: exceptions and entries of the console's log.
    """

    def __init__(self, commands: int, answers: int) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._commands, self._answers = commands, answers
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call(
            "Network.emulateNetworkConditions",
            offline=True, latency=0, downloadThroughput=0, uploadThroughput=0,
        )  # fmt: skip

    def open(self, page: Path, width: int = 1280, dark: bool = False) -> None:
        """Open a file and wait until it says that it is drawn."""
        self.requests.clear()
        self.complaints.clear()
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        self.call("Page.navigate", url=page.as_uri())
        self.wait("document.body && document.body.dataset.drawn === 'true'")

    def visit(self, url: str, drawn: str) -> None:
        """Open an address of this computer, with the network on, and wait for an expression."""
        self.call(
            "Network.emulateNetworkConditions",
            offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1,
        )  # fmt: skip
        self.call("Page.navigate", url=url)
        self.wait(drawn)

    def value(self, expression: str) -> Any:
        """Value of a JavaScript expression."""
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.value(expression):
            assert time.monotonic() < end, f"never true: {expression}; {self.complaints}"
            time.sleep(0.05)

    def press(self, key: str) -> None:
        """Press and release a key that writes a character."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, text=key)

    def screenshot(self, path: Path) -> None:
        """Write a PNG of the whole page."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Answer of the browser to a command; events that come before it are kept."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            command["sessionId"] = self._session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self._receive()
            if message.get("id") == self._number:
                assert "error" not in message, (method, message["error"])
                return dict(message["result"])
            self._note(message["method"], message["params"])

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            received = os.read(self._answers, 1 << 20)
            assert received, "the browser has ended"
            self._buffer += received
        text, self._buffer = self._buffer.split(b"\0", 1)
        return dict(json.loads(text))

    def _note(self, event: str, content: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            self.requests.append(content["request"]["url"])
        if event in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
            self.complaints.append(json.dumps(content)[:500])


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A browser with its profile in a folder; ends with the block."""
    result = program()
    assert result is not None
    to_browser, commands = os.pipe()
    answers, from_browser = os.pipe()

    def connect() -> None:
        # The browser reads commands from 3 and writes answers to 4; neither may be closed on exec.
        kept = (os.dup(to_browser), os.dup(from_browser))
        for number, copy in zip((3, 4), kept, strict=True):
            os.dup2(copy, number, inheritable=True)

    process = subprocess.Popen(
        [result, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
         "--no-first-run", f"--user-data-dir={profile}"],
        preexec_fn=connect, close_fds=False,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(to_browser)
    os.close(from_browser)
    try:
        yield Browser(commands, answers)
    finally:
        process.kill()
        process.wait()
        os.close(commands)
        os.close(answers)
