# SPDX-License-Identifier: Apache-2.0
"""`launch ident view:=true` in a browser: parameters change, stop stops, a reload comes back."""

import os
import re
import signal
import threading
import time

import browser as chromium
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("websockets", minversion="13")

from launched import PATIENCE, CommandRecorder, processes_of, start

ZERO = (0.0, 0.0)
TO_ZERO = 0.1  # s from the click to zero torque on the wire
# What changes in the page: K7's estimate, the position of the robot along x.
K7 = "(series.parameters || []).length && series.parameters.at(-1)[5]"
X = "(series.pose || []).length && series.pose.at(-1)[1]"
DRAWN = "document.body && document.body.dataset.drawn === 'true' && state.mode === 'live'"


class TimedRecorder(CommandRecorder):
    """Keeps when commands came, s since the epoch, too; spins in a thread of its own."""

    def __init__(self):
        self.times, self._ends = [], threading.Event()
        super().__init__()
        self.thread = threading.Thread(target=self.spin, args=(self._ends.is_set, 10 * PATIENCE))
        self.thread.start()

    def on_command(self, message):
        self.times.append(time.time())
        super().on_command(message)

    def close(self):
        self._ends.set()
        self.thread.join()
        super().close()


def address_of(process):
    """The URL that the launch prints; what it prints later is read, and dropped, in a thread."""
    for line in process.stdout:
        if match := re.search(r"live view: (http://127\.0\.0\.1:\d+/)", line):
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return match[1]
    raise AssertionError("no address was printed")


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


def click(page, name):
    """A click of the mouse in the middle of an element."""
    box = page.value(
        f"(() => {{ const b = document.getElementById('{name}').getBoundingClientRect();"
        " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
    )
    for kind in ("mousePressed", "mouseReleased"):
        page.call(
            "Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1
        )


@pytest.mark.wall_time
@pytest.mark.one_distribution
@pytest.mark.skipif(
    chromium.program() is None, reason="no Chromium: install the Debian package chromium"
)
@pytest.mark.parametrize(
    ("name", "seen", "least", "most"),
    [("ident", K7, 2.3, 2.9), ("backstepping", X, -3.0, 3.0)],  # twil's K7 is 2.6468
)
def test_a_browser_sees_what_changes_and_stops_the_robot(tmp_path, domain, name, seen, least, most):
    recorder = TimedRecorder()
    process = start(name, tmp_path / "run", "sim:=ideal", "speed:=1", "view:=true")
    try:
        url = address_of(process)
        with chromium.browser(tmp_path / "profile") as page:
            page.visit(url, DRAWN)
            page.wait(f"({seen}) !== 0 && ({seen}) !== null")
            first = page.value(seen)
            page.wait(f"({seen}) !== {first}")
            page.wait(f"({seen}) > {least} && ({seen}) < {most}")
            until(lambda: recorder.commands and recorder.commands[-1] != ZERO, "torque")
            page.wait("(state.nodes || []).some((each) => each.commands)")

            click(page, "stop")
            page.wait("state.nodes.some((each) => each.stopped)")
            clicked = 1e-3 * page.value("stopPressedAt")
            count = len(recorder.commands)
            until(lambda: len(recorder.commands) > count + 50, "commands")
            moving = [
                at
                for at, command in zip(recorder.times, recorder.commands, strict=False)
                if command != ZERO
            ]
            assert moving and moving[-1] - clicked < TO_ZERO
            assert set(recorder.commands[count:]) == {ZERO}

            page.call("Page.reload")
            page.wait(DRAWN)
            page.wait("document.getElementById('stop').textContent === 'STOPPED'")
            for _ in range(2):  # it asks whether one is sure
                page.wait("!document.getElementById('enable').hidden")
                click(page, "enable")
                time.sleep(0.2)
            until(lambda: recorder.commands[-1] != ZERO, "torque again")
            assert not page.complaints
            elsewhere = [each for each in page.requests if not each.startswith((url, "data:"))]
            assert not elsewhere
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert processes_of(domain) == []
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        recorder.close()
