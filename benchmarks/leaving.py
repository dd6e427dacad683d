#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many processes do not end when all nodes of a graph leave together.

Threads of Fast DDS 3.2 may block each other for ever when a process leaves while another one's
announcement is due (diffbot_node/forced_exit.py). Several graphs run side by side, each in its own
domain, again and again: four processes, each with a node that publishes and subscribes
to the others' topics for a second, and then leaves as `run_node` does, but without its time limit.

    ./diffbot python benchmarks/leaving.py [--seconds 120] [--graphs 4] [--period 0.1]

Prints how many processes there were and how many did not end. `--period` is the time between two
announcements, s, instead of that of config/fastdds_local.xml.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import rclpy
from discovery import PROFILE, VARIABLE
from rclpy.clock import Clock, ClockType
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import Header

from diffbot_bringup import domains
from diffbot_node.counted_topic import COUNTED
from diffbot_node.node_process import make_executor

NODES, LIFE = 4, 1.0  # nodes of a graph; how long each lives, s
PERIODS = (0.002, 0.01, 0.02, 0.05)  # of the timers that publish, s
PATIENCE = 30.0  # s
LATCHED = QoSProfile(depth=COUNTED.depth, durability=DurabilityPolicy.TRANSIENT_LOCAL)
TOPICS = (("counted", COUNTED), ("states", 30), ("latched", LATCHED))


def live(number: int, end: float) -> None:
    """Run one node until `end` (time.time()), and leave."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node(f"node_{number}")
    publishers = [node.create_publisher(Header, f"{name}_{number}", qos) for name, qos in TOPICS]
    for other in set(range(NODES)) - {number}:
        for name, qos in TOPICS:
            node.create_subscription(Header, f"{name}_{other}", lambda _: None, qos)

    def publish() -> None:
        for publisher in publishers:
            publisher.publish(Header())

    for period in PERIODS:
        node.create_timer(period, publish, clock=Clock(clock_type=ClockType.STEADY_TIME))
    executor = make_executor()
    executor.add_node(node)
    while time.time() < end:
        executor.spin_once(timeout_sec=0.05)
    executor.remove_node(node)
    node.destroy_node()
    executor.shutdown()
    rclpy.try_shutdown()


def run_graph() -> int:
    """Run the processes of one graph; return how many did not end."""
    end = time.time() + LIFE
    left = set()
    for number in range(NODES):
        if (process := os.fork()) == 0:
            live(number, end)
            os._exit(0)
        left.add(process)
    deadline = time.monotonic() + LIFE + PATIENCE
    while left and time.monotonic() < deadline:
        left -= {process for process in left if os.waitpid(process, os.WNOHANG)[0]}
        time.sleep(0.02)
    for process in left:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    return len(left)


def run_graphs(seconds: float) -> None:
    """Run graphs one after the other; print the numbers of processes and of those that hung."""
    end = time.monotonic() + seconds
    processes = hung = 0
    while time.monotonic() < end:
        hung += run_graph()
        processes += NODES
    print(processes, hung)


def main() -> None:
    """Run graphs side by side."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=120.0, help="how long, s; 120")
    parser.add_argument("--graphs", type=int, default=4, help="graphs side by side; 4")
    parser.add_argument("--period", type=float, help="time between announcements, s")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        run_graphs(given.seconds)
        return
    words = [sys.executable, __file__, "--one", "--seconds", str(given.seconds)]
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "profile.xml"
        text = PROFILE.read_text()
        if given.period is not None:
            own = f"<sec>{int(given.period)}</sec><nanosec>{given.period % 1 * 1e9:.0f}</nanosec>"
            discovery = re.search(r"<discovery_config>.*</discovery_config>", text, re.DOTALL)[0]
            text = text.replace(discovery, re.sub(r"<sec>.*?</nanosec>", own, discovery))
        profile.write_text(text)
        claimed = [domains.claim("leaving") for _ in range(given.graphs)]
        graphs = [
            subprocess.Popen(
                words,
                env={**os.environ, VARIABLE: str(profile), domains.VARIABLE: str(each.domain)},
                stdout=subprocess.PIPE,
                text=True,
            )
            for each in claimed
        ]
        counts = [tuple(map(int, graph.communicate()[0].split())) for graph in graphs]
        for each in claimed:
            each.release()
    processes, hung = map(sum, zip(*counts, strict=True))
    print(f"{hung} of {processes} processes did not end within {PATIENCE:g} s")


if __name__ == "__main__":
    main()
