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

With `--arrivals N` a view starts every five seconds instead, N times for each kind of discovery and
transport; prints the longest time between two commands during the start (median and largest), and
how often it exceeded ident's input_timeout:

    closed      as ./diffbot has it: UDP on the loopback interface
    localhost   ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST, with shared memory
    opened      SUBNET as ./diffbot has it: UDP; the view has shared memory, too, as a tool started
                in a terminal

    ./diffbot python benchmarks/live_view.py [--rounds 6] [--seconds 8] [--only none ten]
        [--real-time]
    ./diffbot python benchmarks/live_view.py --arrivals 40 [--only closed]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import rclpy
from benchmark_tables import Table, options, percent, spread
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from websockets.asyncio.client import connect

from diffbot_bringup import domains
from diffbot_bringup.workspace.environment import with_defaults
from diffbot_description import closed_form, load_robot
from diffbot_node.command_interfaces import CommandParameters
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
RANGE, TRANSPORTS = "ROS_AUTOMATIC_DISCOVERY_RANGE", "FASTDDS_BUILTIN_TRANSPORTS"
DISTRO = os.environ.get("ROS_DISTRO") or os.environ["DIFFBOT_DISTRO"]
WAYS = {
    "closed": with_defaults({}, DISTRO),
    "localhost": {RANGE: "LOCALHOST"},
    "opened": with_defaults({RANGE: "SUBNET"}, DISTRO),
}
STAY = 5.0  # s from one arrival to the next
INPUT_TIMEOUT = CommandParameters.input_timeout  # of ident, s
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
        self.commanded: list[float] = []
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
        self.commanded.append(time.perf_counter())
        self._torque = message.data[0], message.data[1]
        if self._sent:  # the newest state is the one that is answered
            self.latencies.append(time.perf_counter() - self._sent.popitem()[1])
            self._sent.clear()

    def drive(self, seconds: float) -> NDArray[np.float64]:
        """Continue for a time, s; return the latencies of that time, s."""
        self.latencies.clear()
        self.commanded.clear()
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


@contextmanager
def driven(priority: str, warm_up: float) -> Iterator[tuple[Robot, subprocess.Popen[str]]]:
    """Start robot and ident, and drive for a time, s."""
    rclpy.init()
    robot = Robot()
    words = ["robot:=twil", "duration:=36000.0", "wheel_watch:=false"]
    words.append(f"results:={tempfile.gettempdir()}/live_view_benchmark")
    parameters = [each for word in words for each in ("-p", word)]
    code = priority + NODE.format("diffbot_ident", "ident")
    with started(code, "--ros-args", *parameters) as ident:
        robot.drive(warm_up)
        if not robot.latencies:
            raise RuntimeError("ident does not answer")
        yield robot, ident
    robot.destroy_node()
    rclpy.shutdown()


def measure(
    cases: list[str], rounds: int, seconds: float, priority: str
) -> dict[str, list[BrowserLoad]]:
    """Measure a block of each case per round; Ctrl-C keeps the completed rounds."""
    results: dict[str, list[BrowserLoad]] = {case: [] for case in cases}
    shuffled = random.Random(0)  # so that no case always follows the same one
    with driven(priority, WARM_UP) as (robot, ident), suppress(KeyboardInterrupt):
        for _ in range(rounds):
            order = shuffled.sample(cases, len(cases))
            blocks = {case: _load(robot, ident, case, seconds) for case in order}
            for case, load in blocks.items():
                results[case].append(load)
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
    table = Table(
        "case", "states", "median ms", "p99 ms", "largest ms", "p99 / none", "of rounds",
        "ident us/state", "view, % of a core", width=8,
    )  # fmt: skip
    p99 = {
        case: np.array([np.percentile(load.latencies, 99) for load in blocks])
        for case, blocks in results.items()
    }
    together = {
        case: 1e3 * np.concatenate([load.latencies for load in blocks])
        for case, blocks in results.items()
    }
    for case, blocks in results.items():
        ratios: list[object] = ["-", "-"]
        if "none" in results:
            each = p99[case] / p99["none"]
            all_blocks = (np.percentile(together[name], 99) for name in (case, "none"))
            ratios = [np.divide(*all_blocks), (each.min(), np.median(each), each.max())]
        table.row(
            case, len(together[case]), *np.percentile(together[case], (50, 99, 100)), *ratios,
            1e6 * np.mean([load.loop for load in blocks]),
            percent(np.mean([load.view for load in blocks])),
        )  # fmt: skip


def silences(count: int) -> list[float]:
    """Return the longest time without a command around each start of a view, s."""
    plain = {name: value for name, value in os.environ.items() if name != TRANSPORTS}
    view = [sys.executable, "-c", NODE.format("diffbot_view", "live_view"), "--ros-args"]
    view += ["-p", "port:=0", "-p", "robot:=twil", "--log-level", "error"]
    results = []
    with driven("", STAY) as (robot, _):
        for _ in range(count):
            newcomer = subprocess.Popen(view, env=plain)
            robot.drive(STAY)
            results.append(float(np.max(np.diff(robot.commanded), initial=0.0)))
            newcomer.send_signal(signal.SIGINT)
            newcomer.wait()
    return results


def arrivals(ways: list[str], count: int) -> None:
    """Print the silences; one process per kind, because the variables are read only once."""
    if len(ways) > 1:
        for kind in ways:
            words = [__file__, "--arrivals", str(count), "--only", kind]
            subprocess.run([sys.executable, *words], check=True)
        return
    for name in {name for variables in WAYS.values() for name in variables}:
        os.environ.pop(name, None)
    os.environ |= WAYS[ways[0]]
    results = silences(count)
    median, largest = spread(1e3 * each for each in results)
    late = sum(each > INPUT_TIMEOUT for each in results)
    print(
        f"{ways[0]:9} without a command: median {median:.0f} ms, largest {largest:.0f} ms; beyond "
        f"{1e3 * INPUT_TIMEOUT:.0f} ms in {late} of {len(results)}",
        flush=True,
    )


def main() -> None:
    """Measure and print."""
    parser = options(__doc__)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=8.0, help="duration of each block, s")
    parser.add_argument("--arrivals", type=int, default=0, metavar="N", help="start N views")
    parser.add_argument("--only", nargs="+", help="cases, or kinds of discovery")
    parser.add_argument("--real-time", action="store_true", help="priority, not for the view")
    parser.add_argument("--browsers", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.browsers:
        count, url, reads = given.browsers
        with suppress(KeyboardInterrupt, Exception):
            asyncio.run(browse(int(count), url, bool(reads)))
        return
    choices = list(WAYS if given.arrivals else CASES)
    only = given.only or choices
    if not set(only) <= set(choices):
        parser.error(f"--only: choose from {', '.join(choices)}")
    with domains.claim("benchmark of the live view") as claimed:
        os.environ[domains.VARIABLE] = str(claimed.domain)
        if given.arrivals:
            arrivals(only, given.arrivals)
            return
        priority = ""
        if given.real_time:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
            priority = PRIORITY.format(os.SCHED_FIFO, 1)
        report(measure(only, given.rounds, given.seconds, priority))


if __name__ == "__main__":
    main()
