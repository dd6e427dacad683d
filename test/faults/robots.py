# SPDX-License-Identifier: Apache-2.0
"""Simulated robots on a bus, which hold the last command as ros2_control does, and references."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from arc_odometry import Arc, Pose, Velocity
from diffbot_description import Robot, load_robot
from diffbot_description.sigma import Sigma
from diffbot_msgs.msg import PoseReference
from diffbot_node import to_stamp
from diffbot_sim.engines import make_simulator
from diffbot_sim.velocity_robot import VelocityRobot
from diffbot_sim.virtual_robot import Actuator, Encoders, VirtualRobot
from faults.bus import Bus
from faults.bus_time import nanoseconds
from faults.bus_topics import BusTimer

# The commands to a robot, and their evaluation for the table.

Pair = tuple[float, float]
ZERO: Pair = (0.0, 0.0)


class CommandHistory:
    """Commands in the order of arrival.

    Args:
        limits: Largest magnitude of each command of the pair; results are shares of these times
            `unit`.
        unit: Unit of the larger share; for torques the limit itself, so that results are in N m.
    """

    def __init__(self, limits: Pair, unit: float) -> None:
        self._scale = tuple(unit / limit for limit in limits)
        self.entries: list[tuple[float, float, float]] = []

    def add(self, time: float, values: tuple[float, ...]) -> None:
        """Store a command that arrived at a time, s; as NaN unless it is two numbers."""
        if len(values) != 2:
            values = (math.nan, math.nan)
        scaled = (abs(s) * value for s, value in zip(self._scale, values, strict=True))
        self.entries.append((time, *scaled))

    def kept(self, time: float) -> Pair:
        """Return the command held right before a time, s; the robot drops non-finite commands."""
        kept = ZERO
        for at, first, second in self.entries:
            if at >= time:
                break
            if math.isfinite(first) and math.isfinite(second):
                kept = (first, second)
        return kept

    def zero_after(self, since: float, until: float) -> float | None:
        """Return the time from `since` until the robot held zero for the rest of the span, s.

        None: it did not hold zero at the end of the span. 0: it always held zero.
        """
        zero = 0.0 if self.kept(since) == ZERO else None
        for at, first, second in self.entries:
            if not since <= at <= until:
                continue
            if (first, second) != ZERO:
                zero = None
            elif zero is None:
                zero = at - since
        return zero

    def worst(self, since: float = -math.inf, until: float = math.inf) -> float:
        """Return the largest magnitude of a command held in a span, times in s.

        Includes the command held at its start. NaN if a received command was not finite.
        """
        worst = max(map(abs, self.kept(since)))
        for at, first, second in self.entries:
            if since <= at <= until:
                if not (math.isfinite(first) and math.isfinite(second)):
                    return math.nan
                worst = max(worst, abs(first), abs(second))
        return worst

    def moved(self, since: float, until: float = math.inf) -> bool:
        """Whether a command other than zero arrived in a span, times in s."""
        return any(since <= at <= until and any(pair) for at, *pair in self.entries)

    def fastest_change(self, period: float) -> float:
        """Return the fastest change per s, except stops; states are at least `period` s apart."""
        worst, last, before = 0.0, -math.inf, ZERO
        for at, first, second in self.entries:
            if (first, second) != ZERO:
                change = max(abs(first - before[0]), abs(second - before[1]))
                worst = max(worst, change / max(at - last, period))
            last, before = at, (first, second)
        return worst


PERIOD = 0.01  # control period, s

# The robot of the rows, which their nodes use as their model, too.

DEFAULT = "twil"
_under_test = [DEFAULT]


def put_under_test(name: str) -> None:
    """Use a robot for all rows from now on, by name or the path of its file.

    Raises:
        ValueError: The robot does not exist, or its file is invalid.
    """
    load_robot(name)
    _under_test[0] = name


def under_test() -> str:
    """Return the name or path of the robot of the rows."""
    return _under_test[0]


def unchanged(torque: Pair) -> Pair:
    """Model a motor that applies the commanded torque."""
    return torque


def reported(message: JointState) -> Sequence[JointState]:
    """Model a driver that publishes the true state."""
    return (message,)


class BusRobot:
    """Publishes `joint_states` every control period and receives `effort_controller/commands`.

    Like ros2_control's forward controller, it drops commands that are not finite or not two numbers
    and holds the previous one.

    Args:
        bus: Bus of the robot.
        engine: Name of the physics engine.
        robot: Robot to simulate; None: the robot under test. The nodes' robot may differ.
        encoder_counts: Counts per wheel revolution; None: the robot's own.

    Attributes:
        held: Torque that is applied until the next command, [left, right], N m.
        history: History of the commands, N m.
        limit: Largest torque that a node may command, N m.
        rate: Largest rate of change of the torque, N m/s.
        unit: Unit of the results for commands.
        motor: Maps the commanded torque to the torque on the wheels.
        driver: Maps each joint state to the published messages.
    """

    unit = "N m"

    def __init__(
        self,
        bus: Bus,
        engine: str,
        robot: Robot | None = None,
        encoder_counts: int | None = None,
    ) -> None:
        self.robot = robot or load_robot(under_test())
        counts = self.robot.encoder.counts if encoder_counts is None else encoder_counts
        self.simulator = make_simulator(engine, self.robot)
        self._virtual = VirtualRobot(
            self.simulator,
            Actuator(self.robot.limits.torque),
            Encoders(counts, PERIOD),
            PERIOD,
        )
        self.kept: Pair = (0.0, 0.0)
        limits = self.robot.limits
        self.limit, self.rate = limits.traction, limits.torque_rate
        self.history = CommandHistory((self.limit, self.limit), self.limit)
        self.motor: Callable[[Pair], Pair] = unchanged
        self.driver: Callable[[JointState], Sequence[JointState]] = reported
        self._bus = bus
        joints = self.robot.joints
        self._names = list(joints.names)
        self.states = bus.publisher(JointState, "joint_states")
        self.commands = bus.subscribe(
            Float64MultiArray, "effort_controller/commands", self._on_command
        )
        period = nanoseconds(PERIOD)
        BusTimer(bus, None, period, self._step, bus.now_ns + period)

    def close(self) -> None:
        """Close the engine."""
        self.simulator.close()

    def _on_command(self, message: Float64MultiArray) -> None:
        values = tuple(message.data)
        self.history.add(self._bus.time, values)
        if len(values) == 2 and all(map(math.isfinite, values)):
            self.kept = values

    def _step(self) -> None:
        sample = self._virtual.advance(self.motor(self.kept))
        message = JointState(name=self._names)
        message.header.stamp = to_stamp(self._bus.time)
        message.position, message.velocity = list(sample.position), list(sample.velocity)
        message.effort = list(sample.effort)
        for each in self.driver(message):
            self.states.publish(each)


# A simulated robot on a bus that accepts velocity commands and publishes its odometry.

SIGMA = (0.35, 0.25, 1.0, 1.0)  # sigma1, sigma2 in s, sigma3, sigma4
LIMITS = (0.7, 3.14)  # largest v and omega, m/s and rad/s; defaults of the node's parameters


class BusVelocityRobot:
    """Publishes `odom` every control period and receives `cmd_vel`; holds the last command.

    Args:
        bus: Bus of the robot.

    Attributes:
        held: Command that is held until the next one, m/s and rad/s.
        history: History of the commands, as shares of LIMITS.
        limit: Largest share that a node may command.
        rate: Largest change of the share per s; unlimited.
        unit: Unit of the results for commands.
        driver: Maps each odometry message to the published messages.
    """

    unit = "of limit"

    def __init__(self, bus: Bus) -> None:
        self.simulator = VelocityRobot(Sigma(*SIGMA), speed_limits=LIMITS)
        self.kept: Pair = (0.0, 0.0)
        self.limit, self.rate = 1.0, math.inf
        self.history = CommandHistory(LIMITS, 1.0)
        self.driver: Callable[[Odometry], Sequence[Odometry]] = lambda message: (message,)
        self._bus = bus
        self.states = bus.publisher(Odometry, "odom")
        bus.subscribe(TwistStamped, "cmd_vel", self._on_command)
        period = nanoseconds(PERIOD)
        BusTimer(bus, None, period, self._step, bus.now_ns + period)

    def close(self) -> None:
        """Do nothing: no engine to close."""

    def _on_command(self, message: TwistStamped) -> None:
        command = (message.twist.linear.x, message.twist.angular.z)
        self.history.add(self._bus.time, command)
        if all(map(math.isfinite, command)):
            self.kept = command

    def _step(self) -> None:
        self.simulator.step(self.kept, PERIOD)
        message = Odometry(child_frame_id="base_link")
        message.header.frame_id = "odom"
        message.header.stamp = to_stamp(self._bus.time)
        x, y, theta = self.simulator.pose()
        position, orientation = message.pose.pose.position, message.pose.pose.orientation
        position.x, position.y = x, y
        orientation.z, orientation.w = math.sin(0.5 * theta), math.cos(0.5 * theta)
        message.twist.twist.linear.x, message.twist.twist.angular.z = self.simulator.velocity()
        for each in self.driver(message):
            self.states.publish(each)


# References that require wheel torque at all times.

# v = SPEED sin(2 pi t / SPEED_PERIOD), omega = TURN sin(2 pi t / TURN_PERIOD): m/s, rad/s, s.
SPEED, SPEED_PERIOD = 0.25, 2.0
TURN, TURN_PERIOD = 0.8, 1.4


class ReferenceSource:
    """Publishes an oscillating motion once per control period, midway between two states.

    Args:
        bus: Bus of the source.
        topic: Topic of the references.
        kind: PoseReference or TwistStamped.
        speed: Factor on the motion.

    Attributes:
        pose: Reference pose, m, m, rad.
        velocity: Reference velocity, m/s and rad/s.
        publisher: Publisher of the references.
    """

    def __init__(self, bus: Bus, topic: str, kind: type, speed: float = 1.0) -> None:
        self._bus, self._kind, self.speed = bus, kind, speed
        self.pose = Pose(0.0, 0.0, 0.0)
        self.velocity = Velocity(0.0, 0.0)
        self.publisher = bus.publisher(kind, topic)
        self._start = bus.time
        period = nanoseconds(PERIOD)
        self._timer = BusTimer(bus, None, period, self._send, bus.now_ns + period // 2)

    def stop(self) -> None:
        """Stop publishing; the publisher stays."""
        self._timer.cancel()

    def _send(self) -> None:
        t, first = self._bus.time - self._start, self.velocity
        p, q = math.tau / SPEED_PERIOD, math.tau / TURN_PERIOD
        v, omega = SPEED * self.speed, TURN * self.speed
        self.velocity = Velocity(v * math.sin(p * t), omega * math.sin(q * t))
        path = 0.5 * (first.v + self.velocity.v) * PERIOD
        turn = 0.5 * (first.omega + self.velocity.omega) * PERIOD
        self.pose = Arc(path, turn).end(self.pose)
        message = self._kind()
        message.header.stamp = to_stamp(self._bus.time)
        if isinstance(message, TwistStamped):
            message.twist.linear.x, message.twist.angular.z = self.velocity
        else:
            self._fill(message, v * p * math.cos(p * t), omega * q * math.cos(q * t))
        self.publisher.publish(message)

    def _fill(self, message: PoseReference, dv: float, domega: float) -> None:
        message.header.frame_id = "odom"
        message.x, message.y, message.theta = self.pose
        message.v, message.omega = self.velocity
        message.dv, message.domega = dv, domega
