# SPDX-License-Identifier: Apache-2.0
"""A node of the suite that drives a simulated robot on a bus, with faults on their topics."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from geometry_msgs.msg import TwistStamped
from rclpy.node import Node

from diffbot_description import Robot
from diffbot_msgs.msg import PoseReference
from diffbot_sim.faults.fault import Fault
from diffbot_sim.faults.injector import FaultInjector
from faults.bus import BEGINNING, Bus, Member
from faults.robots import (
    PERIOD,
    ZERO,
    BusRobot,
    BusVelocityRobot,
    ReferenceSource,
    under_test,
)
from faults.row import Outcome

# The driving nodes of the fault table, and the inputs of each.


@dataclass(frozen=True)
class Subject:
    """A driving node and its inputs.

    Attributes:
        name: Name of the node.
        kind: Returns its class; called when needed, because imports are slow.
        states: Topic of the robot's states.
        references: Topic and type of the references; None: it needs none.
        parameters: Its parameters.
        bounds: Largest reference error during a fault that it tolerates, and after it: m for
            poses, m/s for velocities.
        takes_velocity: Whether its robot accepts velocity commands.
        rests: Longest time for which it commands zero between two motions, s.
    """

    name: str
    kind: Callable[[], type[Node]]
    states: str = "joint_states"
    references: tuple[str, type] | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    bounds: tuple[float, float] = (math.inf, math.inf)
    takes_velocity: bool = False
    rests: float = 0.0


def _ident() -> type[Node]:
    from diffbot_ident.ident_node import IdentNode

    return IdentNode


def _backstep() -> type[Node]:
    from diffbot_controllers.nodes.backstep_node import BackstepNode

    return BackstepNode


def _pose() -> type[Node]:
    from diffbot_controllers.nodes.pose_node import PoseNode

    return PoseNode


def _linearizing() -> type[Node]:
    from diffbot_controllers.nodes.linearizing_node import LinearizingNode

    return LinearizingNode


def _tracking() -> type[Node]:
    from diffbot_controllers.velocity_tracking.velocity_tracking_node import VelocityTrackingNode

    return VelocityTrackingNode


def _velocity_ident() -> type[Node]:
    from diffbot_ident.velocity_ident_node import VelocityIdentNode

    return VelocityIdentNode


IDENT = Subject("ident", _ident)
BACKSTEP = Subject(
    "backstep_controller",
    _backstep,
    references=("backstep_controller/reference", PoseReference),
    bounds=(0.3, 0.05),
)
POSE = Subject(
    "pose_controller",
    _pose,
    references=("pose_controller/reference", PoseReference),
    bounds=(0.4, 0.25),
)
LINEARIZING = Subject(
    "linearizing_controller",
    _linearizing,
    references=("cmd_vel", TwistStamped),
    bounds=(0.4, 0.1),
)
TRACKING = Subject(
    "velocity_tracking_controller",
    _tracking,
    states="odom",
    references=("velocity_tracking_controller/reference", PoseReference),
    parameters={
        "sigma": (0.35, 0.25, 1.0, 1.0),
        "linear_velocity": 0.7,
        "angular_velocity": 3.14,
    },
    bounds=(0.3, 0.05),
    takes_velocity=True,
)
VELOCITY_IDENT = Subject(
    "velocity_ident",
    _velocity_ident,
    states="odom",
    parameters={
        "robot": "turtlebot2",
        "arena": "9x9",
        "odometry_source": "odom",
        "input_timeout": 0.07,
        "twist": "TwistStamped",
        "seed": 4,  # it drives when the faults come
    },
    takes_velocity=True,
    rests=1.0,
)
VELOCITY_DRIVERS = (TRACKING, VELOCITY_IDENT)
"""Those that command velocity."""
DRIVERS = (IDENT, BACKSTEP, POSE, LINEARIZING)
"""Those that command torque."""


FAULT = BEGINNING + 1.0
"""When faults begin, s of robot time: the robot is driven by then."""
NOBODY_DRIVES = "the wheels had no torque when the fault came: the row shows nothing"


class Scene:
    """A subject that drives a robot; use it in a `with` statement.

    Args:
        subject: The driving node.
        engine: Name of the physics engine; robots with velocity commands have only one.
        faults: Faults on their topics, in times of the bus.
        simulated: Robot to simulate if it differs from the node's model.
        speed: Factor on the reference motion.
        phase: Time until the node's timers first fire, s.
        counts: Encoder counts per wheel revolution; None: the robot's own.
        seed: Seed of the faults.
        composed: Whether the node believes that it shares the process of a simulator.
        parameters: Parameters of the node in addition to the subject's.

    Attributes:
        bus: The graph.
        robot: The robot.
        member: The node.
        source: Source of references; None without references.
    """

    def __init__(
        self,
        subject: Subject,
        engine: str,
        *,
        faults: Iterable[Fault] = (),
        simulated: Robot | None = None,
        speed: float = 1.0,
        phase: float = 0.0,
        counts: int | None = None,
        seed: int = 0,
        composed: bool = False,
        **parameters: Any,
    ) -> None:
        self.subject, self._engine, self._simulated = subject, engine, simulated
        self._faults, self._seed, self._phase = tuple(faults), seed, phase
        self._speed, self._counts, self._composed = speed, counts, composed
        self._parameters = {**subject.parameters, **parameters}

    def __enter__(self) -> Scene:
        self.bus = Bus().__enter__()
        try:
            self._build()
        except BaseException:
            self.bus.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.bus.__exit__()
        self.robot.close()

    def _build(self) -> None:
        subject, bus = self.subject, self.bus
        topics = defaultdict(list)
        for fault in self._faults:
            topics[fault.topic].append(fault)
        for topic, faults in topics.items():
            bus.inject(topic, FaultInjector(faults, self._seed))
        if subject.takes_velocity:
            self.robot = BusVelocityRobot(bus)
        else:
            self.robot = BusRobot(bus, self._engine, self._simulated, self._counts)
        settings = {"phase": self._phase, "composed": self._composed, **self._parameters}
        self.member = self.add(subject.kind(), **settings)
        self.source = None
        if subject.references is not None:
            self.source = ReferenceSource(bus, *subject.references, self._speed)

    def add(self, kind: type[Node], **settings: Any) -> Member:
        """Create a node as Bus.add does; for torque robots, its model is the robot under test."""
        if not self.subject.takes_velocity:
            settings = {"robot": under_test(), **settings}
        return self.bus.add(kind, **settings)

    def advance(self, to: float) -> Scene:
        """Let time pass up to a time, s."""
        self.bus.advance(to)
        return self

    # Evaluation.

    def zero(self, since: float, until: float, *words: str) -> Outcome:
        """Return the outcome of a row that promises zero: when it came, and whether it stayed.

        Args:
            since: Time at which the fault began, s.
            until: Time until which zero must stay, s.
            words: Words that one log line of the node must contain.
        """
        history = self.robot.history
        result = list(self.misbehaviour())
        if history.kept(since) == ZERO:
            result.append(NOBODY_DRIVES)
        if words and not self.member.said(*words):
            result.append(f"it did not say: {' ... '.join(words)}")
        at = history.zero_after(since, until)
        return self._outcome(since, result, at)

    def on(self, since: float, detail: str = "", resting: bool = False) -> Outcome:
        """Return the outcome of a row that promises to drive on: error now, torque until now.

        Args:
            since: Time from which on the torque counts, s.
            detail: Additional text for the row.
            resting: Whether friction may hold the robot now, without torque.
        """
        history, patience = self.robot.history, self.bus.time + self.subject.rests
        while not (driven := history.moved(self.bus.time - 0.1)) and self.bus.time < patience:
            self.advance(self.bus.time + PERIOD)
        result = list(self.misbehaviour())
        if self.member.status is not None:
            result.append(f"the node ended with status {self.member.status}: {self.last_words()}")
        elif not resting and not driven:
            result.append(f"it does not drive any more: {self.last_words()}")
        error = self.error()
        if not error <= self.subject.bounds[1]:
            result.append(f"error {error:.3f}, bound {self.subject.bounds[1]:g}")
        words = "" if self.source is None else f"error at the end {error:.3f}"
        text = ", ".join(filter(None, (words, detail)))
        return self._outcome(since, result, detail=text)

    def refused(self, *words: str, status: int | None = 1) -> Outcome:
        """Return the outcome of a row that promises that nothing starts.

        Args:
            words: Words that one log line of the node must contain.
            status: Expected exit status; None: it keeps waiting.
        """
        results = []
        if self.member.status != status:
            results.append(f"status {self.member.status}, must be {status}")
        if not self.member.said(*words):
            results.append(f"{' ... '.join(words)!r} is not said; said was: {self.last_words()}")
        return self._outcome(-math.inf, results)

    def _outcome(
        self,
        since: float,
        result: Iterable[str],
        time_to_zero: float | None = None,
        detail: str = "",
    ) -> Outcome:
        robot = self.robot
        worst = robot.history.worst(since)
        return Outcome(time_to_zero, worst, robot.limit, tuple(result), detail, robot.unit)

    def error(self) -> float:
        """Return the error of the robot to its reference, m or m/s; 0 without a reference."""
        if self.source is None:
            return 0.0
        if self.subject.references[1] is TwistStamped:
            v, omega = self.robot.simulator.velocity()
            half = 0.5 * self.robot.robot.wheels.separation
            wanted = self.source.velocity
            return math.hypot(v - wanted.v, half * (omega - wanted.omega))
        x, y, _ = self.robot.simulator.pose()
        return math.hypot(x - self.source.pose.x, y - self.source.pose.y)

    def last_words(self) -> str:
        """Return the last log message of the node."""
        return self.member.log[-1][1] if self.member.log else "nothing"

    def misbehaviour(self) -> Iterable[str]:
        """Yield violations of what must hold for any fault."""
        rate, limit = self.robot.history.fastest_change(PERIOD), self.robot.rate
        if rate > limit * (1.0 + 1e-6):
            yield f"torque changed by {rate:.4g} per s, limit {limit:.4g}"
        if math.isnan(self.robot.history.worst()):
            yield "a command was not finite"
