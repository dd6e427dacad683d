#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time of DDS discovery until a running process has discovered a new one.

The script creates a node, waits, and starts a process with another node. Prints the time from the
new node's creation until the old one counts its publisher, alternately with the announcements of
config/fastdds_local.xml (of Fast DDS 2: fastdds2_local.xml) and with Fast DDS's defaults, in a
separate domain.

    ./diffbot python benchmarks/discovery.py [--pairs 20] [--age 4]

`--age` is the largest age of the old node, s; ages are evenly distributed from 0 on.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import rclpy
from benchmark_tables import options
from std_msgs.msg import Empty

from diffbot_bringup import domains

# The variable by which ./diffbot names the profile to Fast DDS 2 or 3, and the profile.
VARIABLE = next(
    name
    for name in ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
    if name in os.environ
)
PROFILE = Path(os.environ[VARIABLE])
PATIENCE = 20.0  # s


def newcomer() -> None:
    """Create a node with a publisher, print the time, and stay until standard input ends."""
    rclpy.init()
    node = rclpy.create_node("newcomer")
    node.create_publisher(Empty, "appears", 1)
    print(time.time(), flush=True)
    sys.stdin.read()


def met_after(age: float) -> float:
    """Return the time from the new node's creation until a node of this age discovers it, s."""
    rclpy.init()
    node = rclpy.create_node("old")
    time.sleep(age)
    process = subprocess.Popen(
        [sys.executable, __file__, "--newcomer"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    end = time.time() + PATIENCE
    try:
        while not node.count_publishers("appears"):
            if time.time() > end:
                raise RuntimeError(f"the newcomer was not met in {PATIENCE:g} s")
            time.sleep(0.005)
        met = time.time()
        assert process.stdout is not None
        return max(met - float(process.stdout.readline()), 0.0)
    finally:
        process.communicate()


def in_process(age: float, profile: Path) -> float:
    """Run met_after in a process with this profile, which Fast DDS reads once per process.

    Raises:
        RuntimeError: It failed; the message contains its output.
    """
    done = subprocess.run(
        [sys.executable, __file__, "--old", str(age)],
        env={**os.environ, VARIABLE: str(profile)}, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr)
    return float(done.stdout)


def main() -> None:
    """Print median and largest time for both."""
    parser = options(__doc__)
    parser.add_argument("--pairs", type=int, default=20, help="pairs of each kind; 20")
    parser.add_argument("--age", type=float, default=4.0, help="largest age of the old node, s; 4")
    parser.add_argument("--newcomer", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--old", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.newcomer:
        newcomer()
        return
    if given.old is not None:
        print(met_after(given.old))
        return
    results: dict[str, list[float]] = {"as of the profile": [], "Fast DDS's own": []}
    own_announcements = re.sub(
        r"\s*<discovery_config>.*?</discovery_config>", "", PROFILE.read_text(), flags=re.DOTALL
    )
    with domains.claim("discovery") as own, tempfile.TemporaryDirectory() as folder:
        os.environ[domains.VARIABLE] = str(own.domain)
        other = Path(folder) / "own.xml"
        other.write_text(own_announcements)
        for k in range(given.pairs):
            for times, profile in zip(results.values(), (PROFILE, other), strict=True):
                times.append(in_process(given.age * k / max(given.pairs - 1, 1), profile))
    for name, times in results.items():
        print(
            f"{name:18} met after {statistics.median(times):.2f} s (median), "
            f"{max(times):.2f} s (largest of {len(times)})"
        )


if __name__ == "__main__":
    main()
