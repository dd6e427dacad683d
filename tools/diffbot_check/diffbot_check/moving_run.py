# SPDX-License-Identifier: Apache-2.0
"""Runs a MovingTest on a running graph: publishes its commands, and zero on every exit."""

from __future__ import annotations

import contextlib
import math
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Imu, JointState

from diffbot_check.joint_rules import usable
from diffbot_check.motion_record import TICK, ZERO, MovingSample, Pair, SurpriseError
from diffbot_check.moving_guard import MovingGuard, zero_of
from diffbot_check.moving_measures import whole_test
from diffbot_check.moving_test import MovingTest
from diffbot_check.observation import CheckedRobot
from diffbot_description.command_kind import CommandKind
from diffbot_node.command_guard import TorqueLimiter
from diffbot_node.endpoints import EndpointRole
from diffbot_node.hidden_node import HiddenNode
from diffbot_node.robot_messages import subscribe_to_states
from diffbot_node.stop_inputs import LAST_PERIOD, LAST_ZEROS, EmergencyStop
from diffbot_node.topic_nodes import Instead
from diffbot_node.topic_types import ARRAY, TWISTS
from diffbot_node.torque_interface import TorqueInterface

# Longest time until states arrive and the driver is matched, s.
MEETING = 5.0
# Longest time between two commands, s; the guard sends zero after 0.2 s.
PAUSE = 0.15
# Publishers of the commands while the test runs: its own and the guard's.
OWN = 2
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP)


class MovingGraph:
    """The nodes of a test: states in, commands out; use it as a context manager.

    `subject` has the robot's file.
    """

    def __init__(self, subject: CheckedRobot, test: MovingTest) -> None:
        assert subject.robot is not None
        self._subject, self._test, self._robot = subject, test, subject.robot
        self._new: list[MovingSample] = []
        self._yaw, self._turned = math.nan, (time.monotonic(), 0.0)
        self._angles: Pair = ZERO
        self._stamp: float | None = None
        self._pressed = ""
        self._signals: list[int] = []

    def __enter__(self) -> MovingGraph:
        self._hidden = HiddenNode("check_moving", args=[]).__enter__()
        try:
            self._open()
        except BaseException:
            self._hidden.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._guard.close()
        self._hidden.__exit__()

    def _open(self) -> None:
        node, topics = self._hidden.node, self._subject.topics
        torque = self._test.kind is CommandKind.EFFORT
        self.topic = topics.efforts if torque else topics.cmd_vel
        kind = ARRAY if torque else self._twist()
        count = len(self._robot.joints.names) if torque else 0
        self._message, self._zero = zero_of(kind, count)
        self._stamped = kind == TWISTS[1]
        self._publisher: Any = node.create_publisher(self._message, self.topic, 10)
        limiter = TorqueLimiter(self._robot.limits.torque)
        self._wheels = TorqueInterface(node, self._robot, limiter, ("position",), None)  # type: ignore[arg-type]
        if torque or self._has_joints():
            subscribe_to_states(node, JointState, topics.joint_states, self._on_joints)
        else:
            subscribe_to_states(node, Odometry, topics.odom, self._on_odometry)
        if node.count_publishers(topics.imu):
            qos = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
            node.create_subscription(Imu, topics.imu, self._on_imu, qos)
        EmergencyStop(node, self._on_emergency_stop)
        self._guard = MovingGuard(self.topic, kind, count)

    def _twist(self) -> str:
        partners = self._subject.seen.partners(self.topic, EndpointRole.SUBSCRIBES)
        kinds = {each.type for each in partners}
        return next((kind for kind in reversed(TWISTS) if kind in kinds), TWISTS[0])

    def _has_joints(self) -> bool:
        stream = self._subject.stream(self._subject.topics.joint_states)
        return stream is not None and bool(usable(stream, self._robot.joints.names))

    # States.

    def _on_joints(self, message: JointState) -> None:
        if not self._wheels.concerns(message):
            return
        sample = self._wheels.read(0.0, message)
        efforts = sample.effort if message.effort else (math.nan, math.nan)
        self._new.append(MovingSample(time.monotonic(), sample.position, efforts, self._yaw))

    def _on_odometry(self, message: Odometry) -> None:
        stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        step = 0.0 if self._stamp is None else max(stamp - self._stamp, 0.0)
        self._stamp = stamp
        twist = message.twist.twist
        left, right = self._robot.geometry.wheel_velocity(twist.linear.x, twist.angular.z)
        self._angles = self._angles[0] + step * left, self._angles[1] + step * right
        self._new.append(MovingSample(time.monotonic(), self._angles, yaw=self._yaw))

    def _on_imu(self, message: Imu) -> None:
        now, rate = time.monotonic(), message.angular_velocity.z
        before, last = self._turned
        self._turned = now, rate
        if math.isfinite(rate):
            self._yaw = 0.0 if math.isnan(self._yaw) else self._yaw
            self._yaw += 0.5 * (last + rate) * (now - before)

    def _on_emergency_stop(self, why: str) -> None:
        self._pressed = why

    # The run.

    def run(self, progress: Callable[[], None]) -> None:
        """Run the test; a surprise ends it, and is in its result.

        Raises:
            ValueError: It cannot begin: nothing was moved.
            KeyboardInterrupt: Ctrl-C, Ctrl-Z or SIGTERM; zero was sent.
        """
        with _ending_signals() as self._signals:
            self._meet()
            try:
                self._steps(progress)
            except SurpriseError as error:
                self._test.result.ended = str(error)
            finally:
                self._stop()
            self._end_by_signal()

    def _meet(self) -> None:
        """Wait until states arrive, and the driver listens to both publishers."""
        deadline = time.monotonic() + MEETING
        ready = self._guard.is_ready(lambda: bool(self._signals))
        self._end_by_signal()
        if not ready:
            raise ValueError(f"no node takes {self.topic}; start the robot's driver")
        while not (self._new and self._publisher.get_subscription_count()):
            if time.monotonic() > deadline:
                kind = JointState if self._test.kind is CommandKind.EFFORT else Odometry
                states = self._subject.topics.joint_states
                states = states if kind is JointState else self._subject.topics.odom
                there = Instead(self._hidden.node, EndpointRole.PUBLISHES, states, kind).text()
                raise ValueError(f"no state on {states} within {MEETING:g} s{there}")
            self._hidden.executor.spin_once(timeout_sec=0.05)
            self._end_by_signal()
        if rivals := self._rivals():
            raise ValueError(rivals)

    def _steps(self, progress: Callable[[], None]) -> None:
        test = self._test
        self._collect()
        due = time.monotonic()
        for command in whole_test(test):
            if command is not None:
                self._publisher.publish(self._message_of(command))
            if not self._guard.beat():
                raise SurpriseError("the guard of the test has ended, or has sent zero")
            progress()
            due += TICK
            self._spin(due)
            if time.monotonic() - due > PAUSE:
                raise SurpriseError("this process was held up; repeat it on a less busy computer")
            due = max(due, time.monotonic() - TICK)
            self._collect()
            test.surprise()
            self._look()

    def _spin(self, until: float) -> None:
        while (left := until - time.monotonic()) > 0.0:
            self._hidden.executor.spin_once(timeout_sec=left)

    def _collect(self) -> None:
        self._test.record.add(self._new)
        self._new.clear()
        self._test.now = time.monotonic()

    def _end_by_signal(self) -> None:
        if self._signals:
            raise KeyboardInterrupt

    def _look(self) -> None:
        self._end_by_signal()
        if self._pressed:
            raise SurpriseError(self._pressed)
        if rivals := self._rivals():
            raise SurpriseError(rivals)
        if not self._publisher.get_subscription_count():
            raise SurpriseError(f"no node takes {self.topic} any more")

    def _rivals(self) -> str:
        others = self._hidden.node.count_publishers(self.topic) - OWN
        return f"{others} other node publishes {self.topic}; stop it" if others > 0 else ""

    def _message_of(self, command: Pair) -> Any:
        if self._test.kind is CommandKind.EFFORT:
            return self._wheels.message_of(command)
        message = self._message()
        twist = message
        if self._stamped:
            now = self._hidden.node.get_clock().now().nanoseconds
            message.header.stamp = Time(sec=now // 10**9, nanosec=now % 10**9)
            twist = message.twist
        twist.linear.x, twist.angular.z = float(command[0]), float(command[1])
        return message

    def _stop(self) -> None:
        for _ in range(LAST_ZEROS):
            self._publisher.publish(self._zero)
            time.sleep(LAST_PERIOD)


@contextlib.contextmanager
def _ending_signals() -> Iterator[list[int]]:
    """Yield the signals that came and would end or stop the process; they only get noted.

    A handler that raises may do so within rclpy, whose C++ makes another error of it.
    """
    came: list[int] = []
    before = {number: signal.signal(number, lambda n, _: came.append(n)) for number in ENDING}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
