#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Soak test: a robot driven over DDS in real time, with a fault every few seconds.

The adaptive backstep_controller drives figure-8s on engine mujoco, with dynamics_estimator,
trajectory_publisher, effort_watchdog and a relay of joint states, each in a process. In turn, the
reference stops for 0.5 s, joint states are lost for 0.3 s, the emergency stop is pressed, held and
released and the controller enabled again, and a foreign node sends garbage to the watchdog. Each
time, the wheels must get zero within 100 ms of robot time. Prints and writes

    zero      times to zero by fault: number, median, worst, missed
    loop      without faults: time from the sending of a joint state by the simulator, through relay
              and controller, to the sending of its torque by the watchdog, ms; and the deviation of
              the time between two torques from the control period, ms
    memory    resident memory of each process after 1 min and at the end; growth of at most 5 %

The exit status is 1 if zero was missed, memory grew by more, or the robot did not drive again.

    ./diffbot python benchmarks/soak.py [--minutes 30] [--engine mujoco] [--output soak.json]
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import cycle
from pathlib import Path

import numpy as np
from benchmark_tables import Table, options, spread

from diffbot_description import load_robot
from faults.process_graph import PERIOD, ProcessGraph
from faults.process_group import PATIENCE
from faults.process_nodes import CONTROLLERS, NODES, REFERENCE, SIMULATED, NodeSpec
from faults.process_record import Record
from faults.row import LONGEST_TIME_TO_ZERO

CALM = 3.0  # s of wall time between two disturbances
SETTLED = 60.0  # s of wall time after which memory is compared
LARGEST_GROWTH = 0.05  # relative
CONTROLLER = "backstep_controller"
GARBAGE = ((float("nan"), 0.0), (9.0, -9.0), (), (0.1,), (float("inf"), 1.0), (0.5, 0.5, 0.5))
RELAYED = {"joint_states": "relayed"}
SOAK_NODES = {
    "simulator": NODES["simulator"],
    "effort_watchdog": NODES["effort_watchdog"],
    "relay": NodeSpec("faults.process_relay", "relay", knows_robot=False),
    "dynamics_estimator": NodeSpec("diffbot_ident.executables", "dynamics_estimator", SIMULATED),
    CONTROLLER: replace(
        NODES[CONTROLLER],
        parameters=(*SIMULATED, "parameters:=adaptive", "nominal_parameters:=robot"),
        remappings={
            **NODES[CONTROLLER].remappings,
            **RELAYED,
            "dynamic_parameters": "ident/dynamic_parameters",
        },
    ),
    "trajectory_publisher": replace(
        NODES["trajectory_publisher"],
        parameters=("trajectory:=figure_eight", "laps:=0", "lead:=0.01", *SIMULATED),
        remappings=REFERENCE,
    ),
}


# Disturbances. Each starts a fault, and returns its wall time in s and a function that ends it.

Disturbance = Callable[[ProcessGraph], tuple[float, Callable[[], None]]]


def hangs(node: str) -> Disturbance:
    """Return a disturbance: a node hangs for a while."""

    def begin(graph: ProcessGraph) -> tuple[float, Callable[[], None]]:
        process = graph.process(node)
        fault = time.time()
        process.signal(signal.SIGSTOP)
        return fault, lambda: process.signal(signal.SIGCONT)

    return begin


def emergency_stop(graph: ProcessGraph) -> tuple[float, Callable[[], None]]:
    """Press the emergency stop; the end releases it and enables the controller."""

    def end() -> None:
        graph.probe.press(False)
        graph.probe.ask(f"{CONTROLLER}/enable", True)

    return graph.probe.press(True), end


def garbage(graph: ProcessGraph) -> tuple[float, Callable[[], None]]:
    """Send garbage to the watchdog from a foreign node, once per control period."""
    probe, sent = graph.probe, cycle(GARBAGE)
    probe.appear(CONTROLLERS)
    fault = time.time()
    probe.answer = lambda stamp: probe.say(CONTROLLERS, next(sent))

    def end() -> None:
        probe.vanish()
        probe.until(lambda: probe.commanders(CONTROLLERS) == 1, 5.0)
        probe.ask(f"{CONTROLLER}/enable", True)

    return fault, end


DISTURBANCES: dict[str, tuple[Disturbance, float]] = {
    "reference stops": (hangs("trajectory_publisher"), 0.5),
    "joint states are lost": (hangs("relay"), 0.3),
    "emergency stop": (emergency_stop, 0.5),
    "garbage": (garbage, 0.5),
}
"""By name: what goes wrong, and for how long, s of wall time."""


@dataclass
class Results:
    """Results of a soak test so far.

    Attributes:
        zero: Times to zero by fault, s of robot time; None: zero never came.
        latency: Latencies from joint states to torques, s.
        jitter: Jitter of the time between two torques, s.
        anew: How often the controller had to be stopped and enabled to continue.
        settled: Resident memory by process after settling, byte.
        memory: Current resident memory by process, byte.
        problems: Broken promises, a sentence each.
        minutes: Wall time, min.
        speed: Ratio of robot time to wall time.
        priority: Whether the nodes run at real-time priority, if the machine allows it.
    """

    zero: dict[str, list[float | None]] = field(default_factory=dict)
    latency: list[float] = field(default_factory=list)
    jitter: list[float] = field(default_factory=list)
    anew: int = 0
    settled: dict[str, int] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    minutes: float = 0.0
    speed: float = 0.0
    priority: bool = False


def resident(number: int) -> int:
    """Return the resident memory of a process, byte."""
    pages = Path(f"/proc/{number}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def calm_figures(record: Record, since: float, until: float) -> tuple[list[float], list[float]]:
    """Return latencies and jitters of the torques between two wall times, s."""
    reported, sent = np.array(record.reported), np.array(record.sent)
    reported = reported[(reported >= since) & (reported < until - 0.1)]
    answers = np.searchsorted(sent, reported)
    latency = sent[answers[answers < len(sent)]] - reported[answers < len(sent)]
    calm = sent[(sent >= since) & (sent < until)]
    return latency.tolist(), np.abs(np.diff(calm) - PERIOD).tolist()


def drop_old(record: Record) -> None:
    """Delete old measurements, so that a long run does not need more memory."""
    for values in (record.sent, record.torques, record.reported, record.stamps, record.efforts):
        del values[:-500]


def disturb(graph: ProcessGraph, name: str, results: Results) -> None:
    """Apply one disturbance and check the response."""
    begin, length = DISTURBANCES[name]
    fault, end = begin(graph)
    measured = graph.probe.record.measure(fault, graph.probe.hears_for(length))
    end()
    results.zero.setdefault(name, []).append(measured.time_to_zero)
    if measured.time_to_zero is None or measured.time_to_zero > LONGEST_TIME_TO_ZERO:
        results.problems.append(
            f"{name} at {results.minutes:.2f} min: zero after {measured.time_to_zero} s, limit "
            f"{LONGEST_TIME_TO_ZERO:g} s"
        )
    if not measured.worst_torque <= graph.limit:
        results.problems.append(f"{name}: torque of {measured.worst_torque} N m")
    driven, how = graph.regain()
    results.anew += "anew" in how
    if not driven:
        raise RuntimeError(f"after '{name}' the robot is not driven again:\n{graph.said()}")


def soak(graph: ProcessGraph, minutes: float, results: Results) -> Iterator[None]:
    """Run, and yield after each disturbance."""
    graph.drive()
    results.priority = all(graph.process(node).has_priority for node in SOAK_NODES)
    record = graph.probe.record
    if not graph.probe.until(lambda: record.stamps, PATIENCE):
        raise RuntimeError(f"no joint states within {PATIENCE:g} s")
    start, robot_start = time.time(), record.stamps[-1]
    for name in cycle(DISTURBANCES):
        since = time.time()
        until = graph.probe.hears_for(CALM)
        latency, jitter = calm_figures(record, since, until)
        results.latency += latency
        results.jitter += jitter
        disturb(graph, name, results)
        results.memory = {node: resident(graph.process(node).number) for node in SOAK_NODES}
        if not results.settled and time.time() - start >= SETTLED:
            results.settled = results.memory
        results.minutes = (time.time() - start) / 60.0
        results.speed = (record.stamps[-1] - robot_start) / (time.time() - start)
        drop_old(record)
        yield
        if results.minutes >= minutes:
            return


def check_memory(results: Results) -> None:
    """Note processes whose memory has grown."""
    for node, settled in results.settled.items():
        growth = results.memory[node] / settled - 1.0
        if growth > LARGEST_GROWTH:
            results.problems.append(
                f"{node} grew by {100.0 * growth:.1f} % from {settled / 1e6:.1f} MB, limit "
                f"{100.0 * LARGEST_GROWTH:g} %"
            )


def percentiles(values: list[float]) -> dict[str, float]:
    """Return p50, p99, p99.9 and the largest value, ms."""
    if not values:
        return {}
    points = np.percentile(np.array(values) * 1e3, (50, 99, 99.9, 100))
    return dict(zip(("p50", "p99", "p99.9", "max"), map(float, points), strict=True))


def show(results: Results) -> None:
    """Print the tables."""
    table = Table("what went wrong", "times", "zero, ms: median, worst", "missed")
    for name, times in results.zero.items():
        known = [1e3 * t for t in times if t is not None]
        missed = sum(t is None or t > LONGEST_TIME_TO_ZERO for t in times)
        table.row(name, len(times), spread(known) if known else "-", missed)
    table = Table("loop, ms", "n", "p50", "p99", "p99.9", "max")
    for name in ("latency", "jitter"):
        values = getattr(results, name)
        table.row(name, len(values), *percentiles(values).values())
    table = Table("memory, MB", "after 1 min", "at the end")
    for node, now in results.memory.items():
        table.row(node, 1e-6 * results.settled.get(node, math.nan), 1e-6 * now)
    print(
        f"{results.minutes:.1f} min, {results.speed:.3f} x real time, real-time priority: "
        f"{'yes' if results.priority else 'no'}; enabled anew after {results.anew} disturbances",
        *results.problems,
        f"{len(results.problems)} promises missed",
        sep="\n",
    )


def write(results: Results, path: Path) -> None:
    """Write the figures, with percentiles for the loop."""
    said = asdict(results)
    said["latency"], said["jitter"] = percentiles(results.latency), percentiles(results.jitter)
    path.write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")


def main() -> int:
    """Run the soak test; return the exit status."""
    parser = options(__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="wall time (%(default)s)")
    parser.add_argument("--engine", default="mujoco", choices=("mujoco", "ideal"))
    parser.add_argument("--output", type=Path, help="JSON file for the figures")
    arguments = parser.parse_args()
    if not arguments.minutes > 0.0:
        parser.error(f"--minutes {arguments.minutes}: must be > 0")
    results = Results()
    robot = str(load_robot("twil").path)
    graph = ProcessGraph(arguments.engine, SOAK_NODES, tuple(SOAK_NODES), robot)
    try:
        for _ in soak(graph, arguments.minutes, results):
            count = sum(map(len, results.zero.values()))
            missed = len(results.problems)
            print(f"{results.minutes:.1f} min, {count} disturbances, {missed} missed", flush=True)
    except KeyboardInterrupt:
        print("interrupted; so far:")
    except RuntimeError as error:
        results.problems.append(str(error))
    finally:
        graph.close()
    check_memory(results)
    show(results)
    if arguments.output is not None:
        write(results, arguments.output)
    return 1 if results.problems else 0


if __name__ == "__main__":
    sys.exit(main())
