#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time from a launch command to the first torque, and the CPU time of every process.

Runs `launch ident sim:=ideal duration:=5` (or another launch) of one or more checkouts in turn, so
that other load affects all equally, and prints medians:

    first torque   time from the start of the command to the first non-zero command, s
    end            time from the start of the command to its end, s
    CPU            time of all its processes, and of each, without waiting, s

    ./diffbot python benchmarks/start.py [--rounds 5] [--launch pose --arguments sim:=ideal]
    ./diffbot python benchmarks/start.py --checkouts BEFORE .

`--checkouts` takes several checkouts, for example from `git worktree add BEFORE COMMIT`, and
compares the others with the first. A checkout that is set up runs with its own `./diffbot`. With
`--sources` its sources run in the environment of this checkout, without the script: it needs no
set-up, and the time of the script is excluded.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import Float64MultiArray

from diffbot_bringup import domains
from diffbot_bringup.workspace.packages import find_packages

LAUNCH = "ident"
ARGUMENTS = ("sim:=ideal", "duration:=5.0")
TOPIC = "effort_controller/commands"
# Timeout of a run, s of wall time: far more than a run takes on a busy machine.
LIMIT = 120.0
# Time between two checks of the processes, s: a process that lives shorter counts for its parent.
LOOK = 0.02
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Timing:
    """Timing of one run.

    Attributes:
        first_torque: Time after the start of the command, s; None without a torque.
        end: Time of the end after the start, s.
        cpu: CPU time of all processes, s.
        processes: Last measured CPU time by program, s.
    """

    first_torque: float | None = None
    end: float = 0.0
    cpu: float = 0.0
    processes: dict[str, float] = field(default_factory=dict)


class FirstTorque:
    """A subscriber that records the time of the first torque."""

    def __init__(self, domain: int) -> None:
        self.at: float | None = None
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._node = rclpy.create_node("start_benchmark", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._topic = self._node.create_subscription(Float64MultiArray, TOPIC, self._on, 100)

    def _on(self, message: Float64MultiArray) -> None:
        if self.at is None and any(message.data):
            self.at = time.monotonic()
            # Later messages would only cost CPU time that the run needs.
            self._node.destroy_subscription(self._topic)

    def wait(self, seconds: float) -> None:
        """Receive for a time, s, or only sleep after the first torque."""
        if self.at is None:
            self._executor.spin_once(timeout_sec=seconds)
        else:
            time.sleep(seconds)

    def close(self) -> None:
        """Leave the domain."""
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)


def command_of(checkout: Path, sources: bool) -> tuple[list[str], dict[str, str]]:
    """Return the command of a checkout, up to the word `launch`, and its environment."""
    variables = dict(os.environ)
    if not sources:
        # A separate shell, without this checkout's environment.
        for name in ("PYTHONPATH", "AMENT_PREFIX_PATH", "DIFFBOT_ROOT", "ROS_LOG_DIR"):
            variables.pop(name, None)
        return [str(checkout / "diffbot"), "launch"], variables
    packages = [str(package.path) for package in find_packages(checkout) if package.is_python]
    variables["PYTHONPATH"] = os.pathsep.join([*packages, variables.get("PYTHONPATH", "")])
    variables["DIFFBOT_ROOT"] = str(checkout)
    return [sys.executable, "-m", "diffbot_bringup.cli", "launch"], variables


def timed(checkout: Path, sources: bool, launch: str, arguments: Sequence[str]) -> Timing:
    """Run a launch and measure its times.

    Raises:
        RuntimeError: It failed; the message contains its output.
    """
    command, variables = command_of(checkout, sources)
    with domains.claim("start") as own, tempfile.TemporaryDirectory() as results:
        variables[domains.VARIABLE] = str(own.domain)
        listener = FirstTorque(own.domain)
        with open(Path(results) / "output", "w+", encoding="utf-8") as output:
            before, begin = os.times(), time.monotonic()
            process = subprocess.Popen(
                [*command, launch, f"results:={results}/run", *arguments],
                env=variables, cwd=checkout, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
            try:
                seen = _watch(process, listener, begin + LIMIT)
            finally:
                listener.close()
            after, end = os.times(), time.monotonic()
            output.seek(0)
            if process.returncode:
                raise RuntimeError(f"{launch} of {checkout} failed:\n{output.read()}")
    timing = Timing(end=end - begin, processes=seen)
    timing.cpu = sum(after[2:4]) - sum(before[2:4])
    timing.first_torque = None if listener.at is None else listener.at - begin
    return timing


def _watch(
    process: subprocess.Popen[bytes], listener: FirstTorque, deadline: float
) -> dict[str, float]:
    """Wait for the end of a launch; return the CPU time by program, s."""
    seen: dict[int, tuple[str, float]] = {}
    while process.poll() is None:
        listener.wait(LOOK)
        for number in _descendants(process.pid):
            seen.update(_usage(number))
        if time.monotonic() > deadline:
            process.terminate()
            process.wait()
    results: dict[str, float] = defaultdict(float)
    for program, seconds in seen.values():
        results[program] += seconds
    return dict(results)


def _descendants(root: int) -> list[int]:
    """Return a process and all its descendants."""
    result, at = [root], 0
    while at < len(result):
        for task in _listed(f"/proc/{result[at]}/task"):
            try:
                children = Path(f"/proc/{result[at]}/task/{task}/children").read_text()
            except OSError:
                continue
            result += map(int, children.split())
        at += 1
    return result


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _usage(number: int) -> dict[int, tuple[str, float]]:
    """Return program and CPU time of a process, s; empty if it has ended."""
    try:
        words = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
        figures = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return {}
    if not any(words):
        return {}
    return {number: (_program([word.decode() for word in words]), _seconds(figures))}


def _program(words: Sequence[str]) -> str:
    """Return the name of the node's program, or `launch`."""
    for word in words[:4]:
        if "/lib/" in word and not Path(word).name.startswith("python"):
            return Path(word).name
    return "launch"


def _seconds(figures: Sequence[str]) -> float:
    return (int(figures[11]) + int(figures[12])) / TICKS


def middle(values: Sequence[float | None]) -> float:
    """Return the median of the known values; NaN without any."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else float("nan")


def print_table(results: Mapping[str, Sequence[Timing]]) -> None:
    """Print a column for each checkout, and its ratios to the first one."""
    rows = {
        "first torque": {
            name: middle([t.first_torque for t in ts]) for name, ts in results.items()
        },
        "end": {name: middle([t.end for t in ts]) for name, ts in results.items()},
        "CPU": {name: middle([t.cpu for t in ts]) for name, ts in results.items()},
    }
    programs = sorted({program for ts in results.values() for t in ts for program in t.processes})
    for program in programs:
        rows[f"CPU of {program}"] = {
            name: middle([t.processes.get(program) for t in ts]) for name, ts in results.items()
        }
    first = next(iter(results))
    for row, values in rows.items():
        said = [f"{value:8.2f} s" for value in values.values()]
        ratios = [f"{v / values[first]:6.2f} ×" for n, v in values.items() if n != first]
        print(f"{row:32}", *said, *ratios)


def main() -> None:
    """Run the measurement."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    own = Path(os.environ.get("DIFFBOT_ROOT", "."))
    parser.add_argument("--checkouts", nargs="+", type=Path, default=[own], metavar="FOLDER")
    parser.add_argument(
        "--sources", action="store_true", help="run the sources in this environment"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--launch", default=LAUNCH)
    parser.add_argument("--arguments", nargs="*", default=ARGUMENTS)
    asked = parser.parse_args()
    checkouts = [folder.resolve() for folder in asked.checkouts]
    results: dict[str, list[Timing]] = {str(folder): [] for folder in checkouts}
    # The first round only fills the caches, and is not counted.
    for round_number in range(asked.rounds + 1):
        for folder in checkouts:
            timing = timed(folder, asked.sources, asked.launch, asked.arguments)
            if round_number:
                results[str(folder)].append(timing)
    print(f"{asked.launch} {' '.join(asked.arguments)}; medians of {asked.rounds} rounds")
    for number, name in enumerate(results):
        print(f"  column {number + 1}: {name}")
    print_table(results)


if __name__ == "__main__":
    main()
