# SPDX-License-Identifier: Apache-2.0
"""Lock-step under random schedules: delays, losses and stopped processes do not change a run.

A schedule is drawn from a seed: start time of each process, discovery times, late and lost
messages, stopped processes, and a process killed with SIGKILL. The real nodes run it in virtual
time (bus.py, bus_topics.py). The following must hold:

- the robot advances only with the command that answers its current state: the torques equal those
  of an undisturbed run, to the last digit;
- the run ends, with status 0 if no process was killed;
- if a process was killed, the others end too, and the robot's motion is the first part of
  the undisturbed one.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rclpy.node import Node

from diffbot_controllers.nodes.backstep_node import BackstepNode
from diffbot_controllers.nodes.linearizing_node import LinearizingNode
from diffbot_controllers.velocity_tracking.velocity_tracking_node import VelocityTrackingNode
from diffbot_ident.estimator_node import EstimatorNode
from diffbot_ident.ident_node import IdentNode
from diffbot_msgs.msg import (
    AdaptationStatus,
    BackstepStatus,
    DynamicParameters,
    IdentStatus,
    LinearizingStatus,
    VelocityTrackingStatus,
)
from diffbot_node.effort_watchdog_node import EffortWatchdogNode
from diffbot_node.kept_topic import KEPT, Receipts
from diffbot_sim.simulator_node import SimulatorNode
from diffbot_sim.velocity_simulator_node import VelocitySimulatorNode
from faults.bus import BEGINNING, Bus
from faults.bus_time import Member
from faults.bus_topics import Disturbance, Network
from pose2d_trajectories.trajectory_node import TrajectoryNode, VelocityStepsNode

# Topics whose messages may be lost, because they are repeated until answered; the estimator of an
# adaptive run answers none, and needs each joint state.
LOSSY = (
    *("/joint_states", "/odom", "/commands", "/effort_controller/commands", "/cmd_vel"),
    *("/backstep_controller/reference", "/velocity_tracking_controller/reference"),
)
# Robot time of a run, s.
DURATION = 0.5
# Bus time after which a run counts as endless, s.
LONGEST = 120.0
# Longest stop of a process, s: longer than LONGEST_PAUSE, after which a simulator without lock-step
# counts as gone.
LONGEST_STALL = 8.0

# Time after which a node without its partners leaves, and check period of the report, s.
PATIENCE, LOOK_PERIOD = 60.0, 0.05

Pair = tuple[float, float]


class Report(Node):
    """Receives and acknowledges the topics of a report; leaves when they have no publisher.

    Args:
        topics: Name and type of each topic.
    """

    def __init__(self, topics: dict[str, type]) -> None:
        super().__init__("report")
        self.exit_code: int | None = None
        self._topics, self._met, self._looks = topics, False, 0
        for topic, kind in topics.items():
            receipts = Receipts(self, topic)
            self.create_subscription(
                kind, topic, lambda message, r=receipts: r.taken(message.header.stamp), KEPT
            )
        self.create_timer(LOOK_PERIOD, self._look)

    def _look(self) -> None:
        there = any(map(self.count_publishers, self._topics))
        self._looks += 1
        # A short run may be over before its topics have been discovered.
        if not there and (self._met or self._looks > PATIENCE / LOOK_PERIOD):
            self.exit_code = 0
        self._met = self._met or there

    def close(self) -> None:
        """Do nothing: no final message."""


@dataclass(frozen=True)
class Process:
    """One process of a graph: the class of its node, its parameters, remappings and arguments."""

    kind: type
    parameters: dict[str, Any] = field(default_factory=dict)
    remap: dict[str, str] = field(default_factory=dict)
    arguments: tuple[Any, ...] = ()


def _report(node: str, status: type, **more: type) -> Process:
    topics = {f"{node}/status": status} | {f"{node}/{name}": kind for name, kind in more.items()}
    return Process(Report, arguments=(topics,))


_SIMULATOR = Process(
    SimulatorNode, {"engine": "ideal", "leave_when_alone": True, "patience": PATIENCE}
)
_TRAJECTORY = {"listeners": 1, "leave_when_alone": True, "patience": PATIENCE}
_REFERENCE = Process(
    TrajectoryNode,
    {"trajectory": "circle", **_TRAJECTORY},
    {"reference": "backstep_controller/reference"},
)
_BACKSTEPPING = {
    "duration": DURATION,
    "wait_for_reference": True,
    "patience": PATIENCE,
    "listeners": 1,
}
_WATCHDOG = Process(EffortWatchdogNode, {"leave_when_alone": True, "patience": PATIENCE})
_GUARDED = {"effort_controller/commands": "effort_watchdog/commands"}

_OF_BACKSTEPPING = _report("backstep_controller", BackstepStatus)

GRAPHS: dict[str, tuple[Process, ...]] = {
    "backstepping": (
        _SIMULATOR,
        Process(BackstepNode, _BACKSTEPPING),
        _REFERENCE,
        _OF_BACKSTEPPING,
    ),
    "watchdog": (
        _SIMULATOR,
        Process(BackstepNode, _BACKSTEPPING, _GUARDED),
        _REFERENCE,
        _WATCHDOG,
        _OF_BACKSTEPPING,
    ),
    "adaptive": (
        _SIMULATOR,
        Process(
            BackstepNode,
            {**_BACKSTEPPING, "parameters": "adaptive", "wait_for_estimates": True},
            {"dynamic_parameters": "ident/dynamic_parameters"},
        ),
        _REFERENCE,
        Process(EstimatorNode, {"leave_when_alone": True, "patience": PATIENCE}),
        _report("backstep_controller", BackstepStatus, adaptation=AdaptationStatus),
    ),
    "linearizing": (
        _SIMULATOR,
        Process(
            LinearizingNode,
            {
                "duration": DURATION,
                "wait_for_reference": True,
                "patience": PATIENCE,
                "listeners": 1,
            },
        ),
        Process(VelocityStepsNode, _TRAJECTORY),
        _report("linearizing_controller", LinearizingStatus),
    ),
    "ident": (
        _SIMULATOR,
        Process(
            IdentNode,
            {
                **{"duration": DURATION, "verification": 0.0, "lock_step": True},
                **{"listeners": 1, "patience": PATIENCE},
            },
        ),
        _report("ident", IdentStatus, dynamic_parameters=DynamicParameters),
    ),
    "siwek": (
        Process(VelocitySimulatorNode, {"leave_when_alone": True, "patience": PATIENCE}),
        Process(VelocityTrackingNode, {**_BACKSTEPPING, "sigma": (3.446, 4.576, 0.86, 0.254)}),
        Process(
            TrajectoryNode,
            {"trajectory": "circle", "driven_by": "odom", **_TRAJECTORY},
            {"reference": "velocity_tracking_controller/reference"},
        ),
        _report("velocity_tracking_controller", VelocityTrackingStatus),
    ),
}


@dataclass(frozen=True)
class Outcome:
    """Outcome of a run.

    Attributes:
        applied: (stamp, command) of each control period of the robot; s, N m or m/s and rad/s.
        statuses: Exit status of each process by the name of its class; None: it still runs.
        took: Bus time until all had ended, s.
        killed: The process killed with SIGKILL; None: none.
        stalled: Longest time that a process was stopped, s.
        log: Logged errors and warnings.
    """

    applied: tuple[tuple[float, Pair], ...]
    statuses: dict[str, int | None]
    took: float
    killed: str | None
    stalled: float
    log: tuple[str, ...]


def undisturbed(graph: str) -> Outcome:
    """Return the outcome of the undisturbed run."""
    return _run(GRAPHS[graph], lambda bus: None, random.Random(0), calm=True)


def disturbed(graph: str, seed: int) -> Outcome:
    """Return the outcome of the run under the schedule of a seed."""
    chance = random.Random(seed)
    disturbance = Disturbance(
        discovery=chance.choice((0.05, 0.5, 2.0)),
        late=chance.choice((0.0, 0.01, 0.1)),
        delay=chance.choice((0.02, 0.2, 1.0)),
        lost=chance.choice((0.0, 0.02, 0.2)),
        lossy=set(LOSSY) - ({"/joint_states"} if graph == "adaptive" else set()),
    )
    return _run(GRAPHS[graph], lambda bus: Network(bus, disturbance, seed), chance, calm=False)


def problem(wanted: Outcome, found: Outcome) -> str:
    """Return the error of a disturbed run; empty if there is none."""
    left = [name for name, status in found.statuses.items() if status is None]
    if left:
        return f"still running after {LONGEST:g} s: {', '.join(left)}; said: {found.log[-6:]}"
    count = len(found.applied)
    # After the last answer of a run, the robot is driven by zero, or not at all.
    shared = min(count, len(wanted.applied))
    for (stamp, command), (_, other) in zip(wanted.applied[:shared], found.applied, strict=False):
        if command != other and not (found.killed and other == (0.0, 0.0)):
            return f"at {stamp:g} s {other} instead of {command}; said: {found.log[-6:]}"
    if found.killed is None:
        if count < len(wanted.applied) - 1:
            return f"{count} control periods instead of {len(wanted.applied)}: {found.log[-6:]}"
        failed = {name: status for name, status in found.statuses.items() if status}
        if failed:
            return f"exit statuses {failed}; said: {found.log[-6:]}"
    return ""


def _run(
    processes: tuple[Process, ...],
    connect: Callable[[Bus], object],
    chance: random.Random,
    calm: bool,
) -> Outcome:
    with Bus(beginning=BEGINNING) as bus:
        network = connect(bus)
        applied: list[tuple[float, Pair]] = []
        starts = sorted((0.0 if calm else 2.0 * chance.random(), n) for n in range(len(processes)))
        members: dict[int, Member] = {}
        for delay, number in starts:
            bus.advance(max(bus.time, BEGINNING + delay))
            members[number] = _start(bus, processes[number], applied, chance)
        stalled, killed = 0.0, None
        if isinstance(network, Network):
            stalled = _stall(network, list(members.values()), bus.time, chance)
            killed = _kill(bus, members, chance)
        while bus.time < BEGINNING + LONGEST and any(m.status is None for m in members.values()):
            bus.advance(bus.time + 0.05)
        everybody = [members[number] for number in sorted(members)]
        return Outcome(
            tuple(applied),
            {m.name: m.status for m in everybody if m.name != killed},
            bus.time - BEGINNING,
            killed,
            stalled,
            tuple(f"{m.name}: {text}" for m in everybody for _, text in m.log),
        )


def _start(
    bus: Bus, process: Process, applied: list[tuple[float, Pair]], chance: random.Random
) -> Member:
    simulates = process.kind in (SimulatorNode, VelocitySimulatorNode)
    member = bus.add(
        process.kind,
        *process.arguments,
        remap=process.remap,
        simulated=not simulates,
        phase=0.01 * chance.random(),
        **process.parameters,
    )
    if not simulates:
        bus.follow_clock(member)
    elif member.node is not None:
        _record(member.node, applied)
    return member


def _record(simulator: Any, applied: list[tuple[float, Pair]]) -> None:
    """Record the commands that drive the robot."""
    advance = simulator.advance

    def noted(command: Pair) -> None:
        applied.append((simulator.stamp, (float(command[0]), float(command[1]))))
        advance(command)

    simulator.advance = noted


def _stall(network: Network, members: list[Member], now: float, chance: random.Random) -> float:
    """Stop some processes for a while; return the longest time, s."""
    longest = 0.0
    for _ in range(chance.randrange(4)):
        duration = LONGEST_STALL * chance.random() ** 2
        network.stall(chance.choice(members), now + 2.0 * chance.random(), duration)
        longest = max(longest, duration)
    return longest


def _kill(bus: Bus, members: dict[int, Member], chance: random.Random) -> str | None:
    """Kill one process in a third of the schedules; return its name."""
    if chance.random() > 0.35:
        return None
    victim = chance.choice(list(members.values()))
    bus.advance(bus.time + chance.choice((0.1, 2.0)) * chance.random())
    if victim.status is not None:
        return None
    bus.kill(victim)
    return victim.name
