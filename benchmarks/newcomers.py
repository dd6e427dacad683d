#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Longest interruption of a control loop when a live view starts.

The node `ident` drives a robot without lock-step, as in live_view.py. Every five seconds a live
view starts. Prints, for each kind of discovery and transport, the longest time between two commands
during the start (median and largest), and how often it exceeded ident's input_timeout.

    closed      as ./diffbot has it: UDP on the loopback interface
    localhost   ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST, with shared memory
    opened      SUBNET as ./diffbot has it: UDP; the view has shared memory, too, as a tool started
                in a terminal

    ./diffbot python benchmarks/newcomers.py [--arrivals 40] [--only closed]
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import time

import rclpy
from live_view import NODE, Robot, started
from std_msgs.msg import Float64MultiArray

from diffbot_bringup import domains
from diffbot_bringup.workspace.environment import with_defaults
from diffbot_node.parameters import CommandParameters

RANGE, TRANSPORTS = "ROS_AUTOMATIC_DISCOVERY_RANGE", "FASTDDS_BUILTIN_TRANSPORTS"
# ROS 2 of this process.
DISTRO = os.environ.get("ROS_DISTRO") or os.environ["DIFFBOT_DISTRO"]
WAYS = {
    "closed": with_defaults({}, DISTRO),
    "localhost": {RANGE: "LOCALHOST"},
    "opened": with_defaults({RANGE: "SUBNET"}, DISTRO),
}
# Environment variables that configure Fast DDS.
CHOICES = {name for direction in WAYS.values() for name in direction}
WARM_UP, STAY = 5.0, 5.0  # s
INPUT_TIMEOUT = CommandParameters.input_timeout  # input_timeout of ident, s


class ListeningRobot(Robot):
    """Records when commands arrive."""

    def __init__(self) -> None:
        super().__init__()
        self.commanded: list[float] = []

    def _on(self, message: Float64MultiArray) -> None:
        super()._on(message)
        self.commanded.append(time.perf_counter())

    def longest_silence(self, seconds: float) -> float:
        """Keep driving; return the longest time between two commands, s."""
        self.commanded.clear()
        self.drive(seconds)
        pairs = zip(self.commanded, self.commanded[1:], strict=False)
        return max((later - before for before, later in pairs), default=seconds)


def arrivals(count: int) -> list[float]:
    """Return the longest time without a command around each start of a view, s."""
    rclpy.init()
    robot = ListeningRobot()
    words = ["--ros-args", "-p", "robot:=twil", "-p", "duration:=36000.0"]
    plain = {name: value for name, value in os.environ.items() if name != TRANSPORTS}
    view = [sys.executable, "-c", NODE.format("diffbot_view", "live_view"), "--ros-args"]
    view += ["-p", "port:=0", "-p", "robot:=twil", "--log-level", "error"]
    results = []
    with started(NODE.format("diffbot_ident", "ident"), *words, "-p", "wheel_watch:=false"):
        robot.drive(WARM_UP)
        if not robot.latencies:
            raise RuntimeError("ident does not answer")
        for _ in range(count):
            newcomer = subprocess.Popen(view, env=plain)
            results.append(robot.longest_silence(STAY))
            newcomer.send_signal(signal.SIGINT)
            newcomer.wait()
    robot.destroy_node()
    rclpy.shutdown()
    return results


def main() -> None:
    """Measure and print; one process per kind, because the variables are read only once."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--arrivals", type=int, default=40)
    parser.add_argument("--only", nargs="+", default=list(WAYS), choices=WAYS)
    options = parser.parse_args()
    if len(options.only) > 1:
        for direction in options.only:
            words = [__file__, "--arrivals", str(options.arrivals), "--only", direction]
            subprocess.run([sys.executable, *words], check=True)
        return
    (direction,) = options.only
    for name in CHOICES:
        os.environ.pop(name, None)
    os.environ |= WAYS[direction]
    with domains.claim("benchmark of newcomers") as claimed:
        os.environ[domains.VARIABLE] = str(claimed.domain)
        results = [1e3 * each for each in arrivals(options.arrivals)]
    late = sum(each > 1e3 * INPUT_TIMEOUT for each in results)
    print(
        f"{direction:9} without a command: median {statistics.median(results):.0f} ms, largest "
        f"{max(results):.0f} ms; beyond {1e3 * INPUT_TIMEOUT:.0f} ms in {late} of {len(results)}",
        flush=True,
    )


if __name__ == "__main__":
    main()
