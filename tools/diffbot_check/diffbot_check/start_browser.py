# SPDX-License-Identifier: Apache-2.0
"""The guide in a browser: the live view with the guide on its page."""

from __future__ import annotations

import os
import signal
import sys
import threading
import webbrowser
from collections.abc import Callable

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import try_shutdown

from diffbot_check.start_guide import StartGuide
from diffbot_check.start_page import GuidePage
from diffbot_check.start_run import DONE, LEFT, Rehearsal
from diffbot_view.live_view_node import LiveView


def has_browser() -> bool:
    """Whether a person at this terminal sees a browser that is opened."""
    shown = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(shown) and sys.stdin.isatty() and sys.stdout.isatty()


def lead_in_browser(
    guide: StartGuide, rehearsal: Rehearsal | None, port: int, say: Callable[[str], None]
) -> int:
    """Serve the guide on a port of the loopback interface until it is left; return the exit status.

    `rehearsal`: the simulated robot; None: a real one. OSError: it cannot listen there.
    """
    page = GuidePage(guide, rehearsal)
    ended: list[int] = []

    def end(number: int, frame: object) -> None:
        ended.append(number)
        page.left.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    words = ["leave_when_alone:=false", "address:=127.0.0.1", f"port:={port}"]
    options = [word for each in words for word in ("-p", each)]
    rclpy.init(args=["--ros-args", *options], signal_handler_options=SignalHandlerOptions.NO)
    try:
        view = LiveView(page.addition)
        try:
            page.begin(view.store, view.show_robot)
            say(f"The guide is on {view.url}; Ctrl-C here ends it.")
            if has_browser():
                threading.Thread(target=webbrowser.open, args=(view.url,), daemon=True).start()
            executor = SingleThreadedExecutor()
            executor.add_node(view)
            while not page.left.is_set():
                executor.spin_once(timeout_sec=0.1)
        finally:
            page.close()
            view.close()
            view.destroy_node()
    finally:
        try_shutdown()
    if ended:
        return 128 + ended[0]
    return DONE if guide.state.next_step is None else LEFT
