# SPDX-License-Identifier: Apache-2.0
"""A person at the page of `diffbot start --browser`: sees what it shows, clicks, and types."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from browser import Browser

PATIENCE = 240.0  # s of wall time for one step; the machine may be busy
DRAWN = "document.body && document.body.dataset.drawn === 'true' && Boolean(state.guide)"


@contextmanager
def served_guide(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process of a guide with a page, and the address that it prints."""
    command = [sys.executable, "-m", "diffbot_bringup.cli", "start", str(folder), "--browser"]
    process = subprocess.Popen(
        [*command, "--port", "0", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if match := re.search(r"http://127\.0\.0\.1:\d+/", line):
                threading.Thread(target=process.stdout.read, daemon=True).start()
                yield process, match[0]
                return
        raise AssertionError("the guide printed no address")
    finally:
        process.terminate()
        try:
            process.wait(20.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class GuidedPage:
    """The page in a browser.

    Attributes:
        clicks: Clicks of the mouse until now; a field that is filled in counts as one.
    """

    def __init__(self, page: Browser, url: str) -> None:
        self.page, self.clicks = page, 0
        page.visit(url, DRAWN)

    def shows(self, width: int, height: int, dark: bool = False) -> None:
        """Set the size of the window, px, and the colours."""
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.page.call("Emulation.setEmulatedMedia", features=scheme)
        self.page.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip

    def click(self, selector: str) -> None:
        """Click in the middle of an element, as a mouse does."""
        self.page.wait(_visible(selector))
        at = self.page.value(
            f"(() => {{ const e = document.querySelector({selector!r});"
            " e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.page.call(
                "Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1
            )
        self.clicks += 1

    def fill(self, selector: str, text: str) -> None:
        """Type into a field."""
        self.page.value(
            f"(() => {{ const e = document.querySelector({selector!r}); e.focus();"
            f" e.value = {text!r}; e.dispatchEvent(new Event('input', {{bubbles: true}})); }})()"
        )
        self.clicks += 1

    @property
    def guide(self) -> dict[str, Any]:
        """What the page knows of the guide."""
        return dict(self.page.value("state.guide"))

    def shown(self, name: str) -> None:
        """Wait until the page shows a step."""
        self.until(f"guide.built === {name!r}")

    @property
    def step(self) -> dict[str, Any]:
        """The step that is shown."""
        return dict(self.page.value("stepNow()"))

    def text(self, selector: str) -> str:
        """The text of an element that is seen."""
        return str(self.page.value(f"document.querySelector({selector!r}).innerText"))

    def run(self) -> dict[str, Any]:
        """Click the step's main button, wait for its end, and return the step as it is then."""
        name, handled = self.step["name"], self.guide["handled"]
        self.shown(name)
        self.begin()
        self.until(f"state.guide.handled > {handled}")
        return next(each for each in self.guide["steps"] if each["name"] == name)

    def begin(self) -> None:
        """Click the step's main button."""
        self.page.wait("document.getElementById('go').getAttribute('aria-disabled') === 'false'")
        self.click("#go")

    def press(self, selector: str) -> None:
        """Click a button of the guide, and wait until it has been answered."""
        handled = self.guide["handled"]
        self.click(selector)
        self.until(f"state.guide.handled > {handled}")

    def until(self, expression: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.page.value(f"Boolean({expression})"):
            assert time.monotonic() < end, f"never true: {expression}: {self.guide}"
            time.sleep(0.05)


def _visible(selector: str) -> str:
    return (
        f"(() => {{ const e = document.querySelector({selector!r});"
        " return Boolean(e) && e.getClientRects().length > 0; })()"
    )
