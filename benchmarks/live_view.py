#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Effect of the live view on the control loop: latency from a joint state to its torque.

The node `ident` identifies a robot without lock-step, with 100 joint states per second as on real
robots. This program is the robot, and measures how long each state waits for the command that
answers it. Blocks of each case alternate in one run, in random order in each round:

    none      no live view
    idle      a live view, no browser
    ten       ten browsers that read all
    stalled   a browser that has stopped reading
    killed    a live view that was killed with SIGKILL at the start of the block
    stopped   a live view whose process is stopped (SIGSTOP)

Prints median, p99 and largest latency of each case over all its blocks; the ratio of p99 to that of
`none`, over all blocks and as minimum, median and maximum of the rounds; and processor time: of
`ident` per state, and of the view as a share of one core. On a busy machine, `--real-time` gives
robot and ident, but not the view, the priority that a robot's controller should have (this needs
the permission).

    ./diffbot python benchmarks/live_view.py [--rounds 6] [--seconds 8] [--only none,ten]
        [--real-time]
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import rclpy
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from websockets.asyncio.client import connect

from diffbot_bringup import domains
from diffbot_description import closed_form, load_robot
from diffbot_node.robot_messages import to_stamp

CASES = ("none", "idle", "ten", "stalled", "killed", "stopped")
BROWSERS = {"ten": 10, "stalled": 1}
PERIOD = 0.01  # s
# s before the first block, because estimates cost more with more data, and before each block.
WARM_UP, SETTLING = 25.0, 3.0
LATEST = 1.0  # a state without a command for this time is unanswered, s
# Code to start this program's child processes at a priority: an executable, and browsers.
PRIORITY = "import os; os.sched_setscheduler(0, {0}, os.sched_param({1})); "
ORDINARY = PRIORITY.format(os.SCHED_OTHER, 0)
NODE = "import sys; from {0}.executables import {1}; sys.exit({1}())"


@dataclass(frozen=True)
class BrowserLoad:
    """Measurements of one block.

    Attributes:
        latencies: Time from each state to its command, s, shape (n,).
        loop: Processor time of ident per state, s.
        view: Processor time of the live view as a share of one core.
    """

    latencies: NDArray[np.float64]
    loop: float
    view: float


class Robot(Node):
    """Moves by the closed form, publishes its wheels, and records when a state is answered."""

    def __init__(self) -> None:
        super().__init__("robot")
        robot = load_robot("twil")
        self._geometry, self._dynamics = robot.geometry, closed_form(robot.model)
        self._names = list(robot.joints.names)
        self._velocity, self._angles, self._torque = (0.0, 0.0), [0.0, 0.0], (0.0, 0.0)
        self._sent: dict[int, float] = {}
        self.latencies: list[float] = []
        self._states = self.create_publisher(JointState, "joint_states", 10)
        self.create_subscription(Float64MultiArray, "effort_controller/commands", self._on, 10)

    def step(self, now: float) -> None:
        """Run one control period at a wall time, s since the epoch."""
        k, (v, omega), (left, right) = self._dynamics, self._velocity, self._torque
        dv = k.k5 * omega**2 + k.k7 * (left + right)
        domega = k.k6 * v * omega + k.k8 * (left - right)
        self._velocity = v + PERIOD * dv, omega + PERIOD * domega
        speeds = self._geometry.wheel_velocity(*self._velocity)
        self._angles = [a + PERIOD * w for a, w in zip(self._angles, speeds, strict=True)]
        message = JointState(name=self._names, position=self._angles, velocity=list(speeds))
        message.effort = list(self._torque)
        message.header.stamp = to_stamp(now)
        key = round(1e6 * now)
        self._sent[key] = time.perf_counter()
        self._states.publish(message)
        for old in [each for each, at in self._sent.items() if self._sent[key] - at > LATEST]:
            del self._sent[old]

    def _on(self, message: Float64MultiArray) -> None:
        self._torque = message.data[0], message.data[1]
        if self._sent:  # the newest state is the one that is answered
            self.latencies.append(time.perf_counter() - self._sent.popitem()[1])
            self._sent.clear()

    def drive(self, seconds: float) -> NDArray[np.float64]:
        """Continue for a time, s; return the latencies of that time, s."""
        self.latencies.clear()
        begin = due = time.perf_counter()
        epoch = time.time() - begin
        while due < begin + seconds:
            self.step(due + epoch)
            due += PERIOD
            while (left := due - time.perf_counter()) > 0.0:
                rclpy.spin_once(self, timeout_sec=left)
        return np.array(self.latencies)


@contextmanager
def started(code: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run a Python process that ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words], stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
            process.send_signal(signal.SIGINT)
        try:
            process.wait(5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def viewed(case: str) -> Iterator[subprocess.Popen[str] | None]:
    """Run the live view of a case, with its browsers."""
    if case == "none":
        yield None
        return
    words = ("--ros-args", "-p", "port:=0", "-p", "robot:=twil")
    with started(ORDINARY + NODE.format("diffbot_view", "live_view"), *words) as view:
        assert view.stderr is not None
        for line in view.stderr:
            if match := re.search(r"live view: (http\S+)", line):
                break
        else:
            raise RuntimeError("the live view did not start")
        if case not in BROWSERS:
            yield view
            return
        run = "import runpy, sys; del sys.argv[0]; runpy.run_path(sys.argv[0], {}, '__main__')"
        reads = "1" if case == "ten" else ""
        browsers = [__file__, "--browsers", str(BROWSERS[case]), match[1], reads]
        with started(ORDINARY + run, *browsers):
            yield view


def processor_time(process: subprocess.Popen[str] | None) -> float:
    """Return the processor time of all threads of a process, s; 0 without a process."""
    if process is None or process.poll() is not None:
        return 0.0
    nanoseconds = 0
    for thread in Path(f"/proc/{process.pid}/task").iterdir():
        with suppress(OSError):
            nanoseconds += int((thread / "schedstat").read_text().split()[0])
    return 1e-9 * nanoseconds


async def browse(count: int, url: str, reads: bool) -> None:
    """Simulate browsers that read everything, or nothing after their first message."""
    origin = url.rstrip("/")

    async def one() -> None:
        own = socket.socket()
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        own.connect((urlsplit(origin).hostname, urlsplit(origin).port))
        async with connect(
            f"{origin.replace('http', 'ws')}/live",
            sock=own, origin=origin, max_size=None, max_queue=1,
        ) as browser:  # fmt: skip
            await browser.recv()
            while True:
                if reads:
                    await browser.recv()
                else:
                    browser.transport.pause_reading()
                    await asyncio.sleep(3600.0)

    await asyncio.gather(*(one() for _ in range(count)))


def measure(
    cases: list[str], rounds: int, seconds: float, priority: str
) -> dict[str, list[BrowserLoad]]:
    """Measure a block of each case per round; Ctrl-C keeps the completed rounds."""
    rclpy.init()
    robot = Robot()
    results: dict[str, list[BrowserLoad]] = {case: [] for case in cases}
    words = [
        "--ros-args", "-p", "robot:=twil", "-p", "duration:=36000.0", "-p", "wheel_watch:=false",
        "-p", f"results:={os.environ.get('TMPDIR', '/tmp')}/live_view_benchmark",
    ]  # fmt: skip
    with started(priority + NODE.format("diffbot_ident", "ident"), *words) as ident:
        robot.drive(WARM_UP)
        if not robot.latencies:
            raise RuntimeError("ident does not answer")
        shuffled = random.Random(0)  # so that no case always follows the same one
        with suppress(KeyboardInterrupt):
            for turn in range(rounds):
                order = shuffled.sample(cases, len(cases))
                batches = {case: _load(robot, ident, case, seconds) for case in order}
                for case, batch in batches.items():
                    results[case].append(batch)
                said = (f"{c} {1e3 * np.percentile(batches[c].latencies, 99):.2f}" for c in cases)
                print(
                    f"round {turn + 1}, p99 in ms: {', '.join(said)}", file=sys.stderr, flush=True
                )
    robot.destroy_node()
    rclpy.shutdown()
    return results


def _load(robot: Robot, ident: subprocess.Popen[str], case: str, seconds: float) -> BrowserLoad:
    with viewed(case) as view:
        robot.drive(SETTLING)
        if case == "killed" and view is not None:
            view.kill()
        elif case == "stopped" and view is not None:
            view.send_signal(signal.SIGSTOP)
        before = processor_time(ident), processor_time(view)
        latencies = robot.drive(seconds)
        after = processor_time(ident), processor_time(view)
    loop = (after[0] - before[0]) / (seconds / PERIOD)
    return BrowserLoad(latencies, loop, max(0.0, after[1] - before[1]) / seconds)


def report(results: dict[str, list[BrowserLoad]]) -> None:
    """Print the table."""
    print(
        "case       states   median ms   p99 ms   largest ms   p99/none   of rounds        "
        "ident us/state   view, core"
    )
    base = results.get("none")
    for case, batches in results.items():
        together = np.concatenate([batch.latencies for batch in batches])
        median, p99, most = 1e3 * np.percentile(together, (50, 99, 100))
        ratio, spread = math.nan, (math.nan,) * 3
        if base:
            ratio = p99 / (1e3 * np.percentile(np.concatenate([b.latencies for b in base]), 99))
            each = [
                float(np.percentile(mine.latencies, 99) / np.percentile(its.latencies, 99))
                for mine, its in zip(batches, base, strict=True)
            ]
            spread = min(each), float(np.median(each)), max(each)
        loop = 1e6 * np.mean([batch.loop for batch in batches])
        view = np.mean([batch.view for batch in batches])
        print(
            f"{case:8} {len(together):8} {median:11.3f} {p99:8.3f} {most:12.3f} {ratio:10.3f}"
            f"   {spread[0]:.2f}, {spread[1]:.2f}, {spread[2]:.2f} {loop:14.0f} {view:12.1%}"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=8.0, help="duration of each block, s")
    parser.add_argument("--only", default=",".join(CASES), help="cases, separated by commas")
    parser.add_argument(
        "--real-time",
        action="store_true",
        help="real-time priority for robot and ident, not the view",
    )
    parser.add_argument("--browsers", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.browsers:
        count, url, reads = options.browsers
        with suppress(KeyboardInterrupt, Exception):
            asyncio.run(browse(int(count), url, bool(reads)))
        return
    cases = options.only.split(",")
    if not set(cases) <= set(CASES):
        parser.error(f"--only: cases are {', '.join(CASES)}")
    with domains.claim("benchmark of the live view") as claimed:
        os.environ[domains.VARIABLE] = str(claimed.domain)
        priority = ""
        if options.real_time:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
            priority = PRIORITY.format(os.SCHED_FIFO, 1)
        report(measure(cases, options.rounds, options.seconds, priority))


if __name__ == "__main__":
    main()
