#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed of whole graphs in lock-step, compared with two empty nodes that only take turns.

The empty nodes show the limit of the middleware: one publishes a joint state, the other answers
with a command, and only then the next state is published. Each runs in a separate process with the
executor of the suite's nodes. A graph contains physics, estimator or law, report and table. Both
alternate in one run. Prints the ratio of robot time to wall time, at a control period of 10 ms, of
the motion only (as in summary.json), and its ratio to the empty nodes of the same round. Then the
processor time of each process per state, in the middle of the motion: their sum, divided by the
number of processors, bounds the speed, and depends less on other load than the speed does. Of one
empty node, it prints the processor time and the context switches of all its threads per message.

    ./diffbot python benchmarks/lock_step.py [--rounds 3] [--only ident] [--sim mujoco]

To compare profiles of Fast DDS, set FASTDDS_DEFAULT_PROFILES_FILE. `--only` without a name measures
the empty nodes only; they are much faster while the system runs both on one processor.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from diffbot_bringup import domains
from diffbot_node import Node, run_node

PERIOD = 0.01  # s of robot time for each turn
TURNS, SKIPPED = 3000, 200
LIMIT = 300.0  # s of wall time
LOOK_PERIOD = 0.1  # s of wall time between two looks at the processor times
# Part of the motion in which processor times count, as shares of it before its end.
MIDDLE = (0.8, 0.1)
GRAPHS = {
    "ident": ("duration:=60.0", "verification:=10.0"),
    "backstepping": ("duration:=60.0",),
    "pose": ("goal:=1,0.5,0", "duration:=30.0"),
    "linearizing": (),
}


def used() -> tuple[float, int]:
    """Return processor time, s, and context switches of this process's threads so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime, usage.ru_nvcsw + usage.ru_nivcsw


class Asking(Node):
    """Publishes a state whenever the previous one was answered."""

    def __init__(self) -> None:
        super().__init__("asking")
        self.exit_code: int | None = None
        self._state = JointState(name=["left", "right"])
        for field in ("position", "velocity", "effort"):
            setattr(self._state, field, [0.0, 0.0])
        self._turns, self._begin, self._used = 0, 0.0, (0.0, 0)
        self._topic = self.create_publisher(JointState, "joint_states", 10)
        self.create_subscription(Float64MultiArray, "effort_controller/commands", self._on, 10)
        self.create_timer(0.1, self._start)

    def _start(self) -> None:
        # The other node may not have started yet, or has missed the first state.
        if self._turns == 0:
            self._topic.publish(self._state)

    def _on(self, message: Float64MultiArray) -> None:
        self._turns += 1
        if self._turns == SKIPPED:
            self._begin, self._used = time.perf_counter(), used()
        if self._turns == SKIPPED + TURNS:
            took = time.perf_counter() - self._begin
            work, switches = (now - then for now, then in zip(used(), self._used, strict=True))
            print(took / TURNS, work / TURNS, switches / TURNS, flush=True)
            self.exit_code = 0
            return
        self._topic.publish(self._state)

    def close(self) -> None:
        """Nothing is left to do."""


class Answering(Node):
    """Answers each state with zero."""

    def __init__(self) -> None:
        super().__init__("answering")
        self.exit_code: int | None = None
        self._zero = Float64MultiArray(data=[0.0, 0.0])
        self._topic = self.create_publisher(Float64MultiArray, "effort_controller/commands", 10)
        self.create_subscription(JointState, "joint_states", self._on, 10)

    def _on(self, message: JointState) -> None:
        self._topic.publish(self._zero)

    def close(self) -> None:
        """Nothing is left to do."""


def empty_nodes() -> tuple[float, float, float]:
    """Return ratio of robot time to wall time, processor time, s, and switches of empty nodes."""
    with domains.claim("lock_step") as own:
        variables = {**os.environ, domains.VARIABLE: str(own.domain)}
        command = [sys.executable, __file__]
        answering = subprocess.Popen([*command, "--answering"], env=variables)
        try:
            asking = subprocess.run(
                [*command, "--asking"], env=variables, capture_output=True, text=True,
                timeout=LIMIT, check=True,
            )  # fmt: skip
        finally:
            answering.terminate()
            answering.wait()
    took, work, switches = map(float, asking.stdout.split()[-3:])
    return PERIOD / took, work, switches


@dataclasses.dataclass
class ProcessorTimes:
    """Processor times of the processes that a launch starts, by the names of their executables.

    Args:
        launch: Process number of the launch.

    Attributes:
        looks: Wall time, s, and the processor time of each process so far, s, at each look.
    """

    launch: int
    looks: list[tuple[float, dict[str, float]]] = dataclasses.field(default_factory=list)

    def look(self) -> None:
        """Note the processor times of now."""
        times = {}
        for number in Path(f"/proc/{self.launch}/task/{self.launch}/children").read_text().split():
            try:
                words = Path(f"/proc/{number}/cmdline").read_text()
                own = re.search(r"/lib/(?:diffbot_\w+|pose2d_trajectories)/(\w+)", words)
                if own:
                    stat = Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()
                    ticks = int(stat[11]) + int(stat[12])
                    times[own[1]] = ticks / os.sysconf("SC_CLK_TCK")
            except OSError:
                continue  # it has ended
        self.looks.append((time.perf_counter(), times))

    def per_state(self, seconds: float, factor: float) -> dict[str, float]:
        """Return the processor time of each process per state in the middle of the motion, us.

        The motion ends when the first of the processes does.

        Args:
            seconds: Robot time of the motion, s.
            factor: Robot time per wall time.
        """
        most = max(len(times) for _, times in self.looks)
        whole = [(at, times) for at, times in self.looks if len(times) == most]
        end, wall = whole[-1][0], seconds / factor
        inside = [each for each in whole if MIDDLE[1] * wall <= end - each[0] <= MIDDLE[0] * wall]
        (begin, first), (stop, last) = inside[0], inside[-1]
        states = (stop - begin) * factor / PERIOD
        return {name: 1e6 * (last[name] - first[name]) / states for name in last}


def graph(name: str, sim: str) -> tuple[float, dict[str, float]]:
    """Return the ratio of robot time to wall time of a launch, and the work of its processes.

    Returns:
        The ratio, and the processor time of each process per state, us.

    Raises:
        RuntimeError: It failed; the message contains its output.
    """
    with tempfile.TemporaryDirectory() as folder, open(f"{folder}/output", "w+b") as output:
        command = [sys.executable, "-m", "diffbot_bringup.cli", "launch", name]
        launch = subprocess.Popen(
            [*command, f"sim:={sim}", f"results:={folder}/run", *GRAPHS[name]],
            stdout=output, stderr=output,
        )  # fmt: skip
        times, end = ProcessorTimes(launch.pid), time.monotonic() + LIMIT
        while launch.poll() is None and time.monotonic() < end:
            times.look()
            time.sleep(LOOK_PERIOD)
        launch.terminate()
        if launch.wait():
            output.seek(0)
            raise RuntimeError(f"launch {name} failed:\n{output.read().decode()}")
        summary = json.loads(Path(folder, "run", "summary.json").read_text(encoding="utf-8"))
    factor = float(summary["real_time_factor"])
    return factor, times.per_state(float(summary["duration"]), factor)


def main() -> int:
    """Run the measurement."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=GRAPHS, default=list(GRAPHS))
    parser.add_argument("--sim", choices=("ideal", "mujoco"), default="mujoco")
    parser.add_argument("--asking", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--answering", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.asking or asked.answering:
        return run_node(Asking if asked.asking else Answering)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in asked.only}
    work: dict[str, list[dict[str, float]]] = {name: [] for name in asked.only}
    nodes = []
    for _ in range(asked.rounds):
        nodes.append(empty_nodes())
        empty = nodes[-1][0]
        for name in asked.only:
            own, times = graph(name, asked.sim)
            found[name].append((own, empty))
            work[name].append(times)
    print(f"robot time / wall time, {asked.sim}; medians of {asked.rounds} rounds")
    median = [statistics.median(values) for values in zip(*nodes, strict=True)]
    print(
        f"an empty node: {1e6 * median[1]:.0f} us of processor time and {median[2]:.1f} context "
        f"switches per message; two of them: {median[0]:.1f}×"
    )
    print(f"{'graph':14}{'of it':>8}{'empty nodes':>14}{'ratio':>8}  processor time per state, us")
    for name, pairs in found.items():
        own, empty = (statistics.median(values) for values in zip(*pairs, strict=True))
        ratio = statistics.median(a / b for a, b in pairs)
        parts = {
            process: statistics.median(times[process] for times in work[name])
            for process in work[name][0]
        }
        said = ", ".join(f"{process} {part:.0f}" for process, part in parts.items())
        print(f"{name:14}{own:7.1f}×{empty:13.1f}×{ratio:8.2f}  {sum(parts.values()):.0f}: {said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
