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

# The nodes that drive a robot in the fault table, and what each needs for that.


@dataclass(frozen=True)
class Subject:
    """A node that drives, and what it needs for that.

    Attributes:
        name: of the node.
        kind: gives its class; called when it is needed, as imports take long.
        states: topic of what it is told of the robot.
        references: topic and type of what it has to follow; None: it needs nothing.
        parameters: that it gets.
        bounds: largest error to the reference while a fault that it drives on with lasts and
            after it: m for poses, m/s for velocities.
        takes_velocity: whether its robot takes velocity commands.
    """

    name: str
    kind: Callable[[], type[Node]]
    states: str = "joint_states"
    references: tuple[str, type] | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    bounds: tuple[float, float] = (math.inf, math.inf)
    takes_velocity: bool = False


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
    parameters={"sigma": (0.35, 0.25, 1.0, 1.0)},
    bounds=(0.3, 0.05),
    takes_velocity=True,
)
DRIVERS = (IDENT, BACKSTEP, POSE, LINEARIZING)
"""Those that command torque."""


FAULT = BEGINNING + 1.0
"""When faults begin, s of robot time: the robot is driven by then."""
NOBODY_DRIVES = "the wheels had no torque when the fault came: the row shows nothing"


class Scene:
    """A subject at work; use it in a `with` statement.

    Args:
        subject: who drives.
        engine: physics, by name; robots that take velocity commands have only one.
        faults: put on their topics; times are the bus's.
        simulated: robot that is simulated, where it is another than the node believes.
        speed: factor on the motion that is asked for.
        phase: when the node's timers fire first, s.
        counts: of the encoders per turn; None: the robot's own.
        seed: of the faults.
        parameters: of the node, besides the subject's.

    Attributes:
        bus: the graph.
        robot: the robot.
        member: the node.
        source: of references; None without.
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
        **parameters: Any,
    ) -> None:
        self.subject, self._engine, self._simulated = subject, engine, simulated
        self._faults, self._seed, self._phase = tuple(faults), seed, phase
        self._speed, self._counts = speed, counts
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
        self.member = self.add(subject.kind(), phase=self._phase, **self._parameters)
        self.source = None
        if subject.references is not None:
            self.source = ReferenceSource(bus, *subject.references, self._speed)

    def add(self, kind: type[Node], **settings: Any) -> Member:
        """Make a node that believes in the robot under test, where it takes torque; as Bus.add."""
        if not self.subject.takes_velocity:
            settings = {"robot": under_test(), **settings}
        return self.bus.add(kind, **settings)

    def advance(self, to: float) -> Scene:
        """Let time pass up to a time, s."""
        self.bus.advance(to)
        return self

    # What came of it.

    def zero(self, since: float, until: float, *words: str) -> Outcome:
        """For rows that promise zero: when it came, and whether it stayed.

        Args:
            since: when the fault began, s.
            until: how long zero has to stay, s.
            words: that the node has to say in one line.
        """
        history = self.robot.history
        found = list(self.misbehaviour())
        if history.held(since) == ZERO:
            found.append(NOBODY_DRIVES)
        if words and not self.member.said(*words):
            found.append(f"it did not say: {' ... '.join(words)}")
        at = history.zero_after(since, until)
        return self._outcome(since, found, at)

    def on(self, since: float, detail: str = "", resting: bool = False) -> Outcome:
        """For rows that promise to drive on: the error now, and torque until now.

        Args:
            since: from when on the torque counts, s.
            detail: what else the row says.
            resting: whether friction may hold the robot now, without torque.
        """
        history, found = self.robot.history, list(self.misbehaviour())
        if self.member.status is not None:
            found.append(f"the node ended with status {self.member.status}: {self.last_words()}")
        elif not resting and not history.moved(self.bus.time - 0.1):
            found.append(f"it does not drive any more: {self.last_words()}")
        error = self.error()
        if not error <= self.subject.bounds[1]:
            found.append(f"error {error:.3f}, bound {self.subject.bounds[1]:g}")
        words = "" if self.source is None else f"error at the end {error:.3f}"
        text = ", ".join(filter(None, (words, detail)))
        return self._outcome(since, found, detail=text)

    def refused(self, *words: str, status: int | None = 1) -> Outcome:
        """For rows that promise that nothing starts.

        Args:
            words: that the node has to say in one line.
            status: that it has to end with; None: it goes on waiting.
        """
        found = []
        if self.member.status != status:
            found.append(f"status {self.member.status}, must be {status}")
        if not self.member.said(*words):
            found.append(f"{' ... '.join(words)!r} is not said; said was: {self.last_words()}")
        return self._outcome(-math.inf, found)

    def _outcome(
        self,
        since: float,
        found: Iterable[str],
        time_to_zero: float | None = None,
        detail: str = "",
    ) -> Outcome:
        robot = self.robot
        worst = robot.history.worst(since)
        return Outcome(time_to_zero, worst, robot.limit, tuple(found), detail, robot.unit)

    def error(self) -> float:
        """How far the robot is from its reference, m or m/s; 0 without one."""
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
        """What the node said last."""
        return self.member.log[-1][1] if self.member.log else "nothing"

    def misbehaviour(self) -> Iterable[str]:
        """What may never happen, whatever the fault."""
        rate, limit = self.robot.history.fastest_change(PERIOD), self.robot.rate
        if rate > limit * (1.0 + 1e-6):
            yield f"torque changed by {rate:.4g} per s, limit {limit:.4g}"
        if math.isnan(self.robot.history.worst()):
            yield "a command was not finite"
