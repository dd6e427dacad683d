#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time from a launch command to the first torque, and the CPU time of every process.

Runs `launch ident sim:=ideal duration:=5`, or another launch, of one or more checkouts that are set
up, in turn, so that other load affects all equally. Prints medians of the time from the start of
the command to the first non-zero command and to its end, and the CPU time of all its processes.

    ./diffbot python benchmarks/start.py [--rounds 5] [--launch pose --arguments sim:=ideal]
    ./diffbot python benchmarks/start.py --checkouts BEFORE .
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import rclpy
from benchmark_tables import Table, options
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import Float64MultiArray

from diffbot_bringup import domains

TOPIC = "effort_controller/commands"
# Timeout of a run, s of wall time: far more than a run takes on a busy machine.
LIMIT = 120.0


class FirstTorque:
    """A subscriber that records the time of the first torque, NaN without one."""

    def __init__(self, domain: int) -> None:
        self.at = float("nan")
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._node = rclpy.create_node("start_benchmark", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._topic = self._node.create_subscription(Float64MultiArray, TOPIC, self._on, 100)

    def _on(self, message: Float64MultiArray) -> None:
        if self.at != self.at and any(message.data):
            self.at = time.monotonic()
            # Later messages would only cost CPU time that the run needs.
            self._node.destroy_subscription(self._topic)

    def wait(self, seconds: float) -> None:
        """Receive for a time, s, or only sleep after the first torque."""
        if self.at != self.at:
            self._executor.spin_once(timeout_sec=seconds)
        else:
            time.sleep(seconds)

    def close(self) -> None:
        """Leave the domain."""
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)


def timed(checkout: Path, launch: str, arguments: Sequence[str]) -> tuple[float, float, float]:
    """Run a launch; return times of first torque and end, and CPU time of all processes, s.

    Raises:
        RuntimeError: It failed; the message contains its output.
    """
    # A separate shell, without this checkout's environment.
    own = ("PYTHONPATH", "AMENT_PREFIX_PATH", "DIFFBOT_ROOT", "ROS_LOG_DIR")
    variables = {name: value for name, value in os.environ.items() if name not in own}
    with domains.claim("start") as claimed, tempfile.TemporaryDirectory() as results:
        variables[domains.VARIABLE] = str(claimed.domain)
        listener, output = FirstTorque(claimed.domain), Path(results) / "output"
        before, begin = os.times(), time.monotonic()
        with output.open("wb") as log:
            process = subprocess.Popen(
                [checkout / "diffbot", "launch", launch, f"results:={results}/run", *arguments],
                env=variables, cwd=checkout, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        try:
            while process.poll() is None:
                listener.wait(0.02)
                if time.monotonic() > begin + LIMIT:
                    process.terminate()
        finally:
            listener.close()
        after, end = os.times(), time.monotonic()
        if process.returncode:
            raise RuntimeError(f"{launch} of {checkout} failed:\n{output.read_text()}")
    return listener.at - begin, end - begin, sum(after[2:4]) - sum(before[2:4])


def main() -> None:
    """Run the measurement."""
    parser = options(__doc__)
    here = Path(os.environ.get("DIFFBOT_ROOT", "."))
    parser.add_argument("--checkouts", nargs="+", type=Path, default=[here], metavar="FOLDER")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--launch", default="ident")
    parser.add_argument("--arguments", nargs="*", default=("sim:=ideal", "duration:=5.0"))
    given = parser.parse_args()
    # The first round only fills the caches, and is not counted.
    times = [
        [timed(each.resolve(), given.launch, given.arguments) for each in given.checkouts]
        for _ in range(given.rounds + 1)
    ][1:]
    table = Table("checkout", "first torque, s", "end, s", "CPU, s", width=40)
    for checkout, row in zip(given.checkouts, np.median(times, axis=0), strict=True):
        table.row(str(checkout), *row)


if __name__ == "__main__":
    main()
