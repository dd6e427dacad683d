"""The base of every node that commands wheel torque; it keeps the suite's promises on torque.

- The torque sent is finite and inside the limit and the rate limit.
- Nothing is commanded before somebody sends joint states and somebody takes commands.
- Zero torque is sent when a joint state cannot be used, within `input_timeout` when they stop,
  and as the last command on every way out of the process.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from arc_odometry import JointReader, JointSample, WheelGeometry
from diffbot_description import Robot, load_robot
from diffbot_node.complaints import Complaints
from diffbot_node.effort_parameters import EFFORT_PARAMETERS
from diffbot_node.parameters import Parameter, declare
from diffbot_node.stamps import seconds
from diffbot_node.torque_limiter import TorqueLimiter

# How often the age of the inputs is looked at, s of wall time.
WATCH_PERIOD = 0.02
# A stamp may be repeated for so long, as simulators do while they wait, s of wall time.
LONGEST_REPEAT = 1.0
# What is still awaited at the start is reported this often, s of wall time.
WAITING_PERIOD = 3.0


class EffortNode(Node, ABC):
    """Reads joint states, asks its subclass for the wheels' torque, and commands it safely.

    Subscribes to `joint_states`, publishes `effort_controller/commands` ([left, right], N m).

    Args:
        name: name of the node.
        parameters: the subclass's own parameters; EFFORT_PARAMETERS are added.

    Raises:
        ValueError: a parameter is wrong; the message says which and how.
    """

    def __init__(self, name: str, parameters: tuple[Parameter, ...] = ()) -> None:
        super().__init__(name)
        self.exit_code: int | None = None
        self.last_words = ""
        self.values = declare(self, (*EFFORT_PARAMETERS, *parameters))
        self.robot: Robot = load_robot(self.values.robot)
        self.geometry = WheelGeometry(
            self.robot.wheels.radius, self.robot.wheels.radius, self.robot.wheels.separation
        )
        self.refused = 0
        self._limiter = self._make_limiter()
        joints = self.robot.joints
        self._reader = JointReader(joints.left, joints.right, self.required_fields())
        self._last_stamp: float | None = None
        self._period = 0.0
        self._pending: JointSample | None = None
        self._received: Time | None = None
        self._received_wall = time.monotonic()
        self._reminded = time.monotonic()
        self._complaints = Complaints()
        self._command = Float64MultiArray(data=[0.0, 0.0])
        self._commands = self.create_publisher(Float64MultiArray, "effort_controller/commands", 10)
        self._joint_states = self.create_subscription(
            JointState, "joint_states", self._on_joint_state, 10
        )
        self.create_timer(WATCH_PERIOD, self._watch, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _make_limiter(self) -> TorqueLimiter:
        limits, asked = self.robot.limits, self.values.torque_limit
        if asked > limits.torque:
            raise ValueError(
                f"parameter 'torque_limit' = {asked} N m: must be <= {limits.torque} N m, the "
                f"torque limit of robot '{self.robot.name}'; lower it or correct the robot's YAML"
            )
        if asked > limits.traction:
            self.get_logger().warning(
                f"torque_limit = {asked} N m is more than limits.traction = {limits.traction} N m "
                f"of robot '{self.robot.name}': its wheels may slip or lift, and odometry is then "
                "wrong"
            )
        return TorqueLimiter(asked or limits.traction, limits.torque_rate)

    # What a subclass gives.

    @abstractmethod
    def on_sample(self, sample: JointSample) -> tuple[float, float]:
        """Torque [left, right] in N m for the next control period; the subclass's law.

        A ValueError refuses the sample: zero torque is commanded and the reason is reported.
        """

    def required_fields(self) -> tuple[str, ...]:
        """What the joint states must hold, of position, velocity and effort."""
        return JointReader.FIELDS

    def on_commanded(self, sample: JointSample, torque: tuple[float, float]) -> None:
        """Called after the command is out, for telemetry; torque is what was commanded."""

    def on_refused(self, sample: JointSample) -> None:
        """Called after zero torque was commanded because `on_sample` refused the sample."""

    def awaits(self, sample: JointSample) -> str:
        """What has to come before the sample can be answered; empty when nothing has to.

        Only for inputs that belong to a sample, where a run shall repeat to the last digit. The
        subclass calls `resume` when something has come. A sample that has no answer when the next
        one comes is refused.
        """
        return ""

    # What a subclass may use.

    @property
    def torque_limit(self) -> float:
        """Largest torque that will be commanded, N m."""
        return self._limiter.limit

    @property
    def commanded(self) -> tuple[float, float]:
        """Torque [left, right] commanded last, N m."""
        return self._limiter.torque

    @property
    def is_pending(self) -> bool:
        """Whether a sample waits for what `awaits` names."""
        return self._pending is not None

    def resume(self) -> None:
        """Answer the sample that waits, if nothing is missing any more."""
        sample = self._pending
        if sample is not None and not self.awaits(sample):
            self._pending = None
            self._answer(sample)

    def waits_for(self) -> str:
        """What is missing before torque may be commanded; empty when nothing is.

        Matches are counted and never slept for: discovery takes up to seconds.
        """
        if not self.count_publishers(self._joint_states.topic_name):
            topic, what = self._joint_states.topic_name, "the simulator or the robot's driver"
            return f"nobody publishes {topic}; start {what}"
        others = self.count_publishers(self._commands.topic) - 1
        if others > 0:
            return (
                f"{others} other nodes publish {self._commands.topic}; stop them, or give each "
                "robot its own namespace or ROS_DOMAIN_ID"
            )
        if not self._commands.get_subscription_count():
            return f"nobody subscribes to {self._commands.topic}; start the effort controller"
        return ""

    def keep_waiting(self) -> None:
        """What is waited for is on its way: `patience` begins anew."""
        self._received_wall = time.monotonic()

    def complain(self, what: str) -> None:
        """Warn, at most once a second for sentences that differ in numbers only."""
        if self._complaints.due(what):
            self.get_logger().warning(what)

    def finish(self, exit_code: int, last_words: str = "") -> None:
        """End the process after this callback; zero torque goes out on the way.

        Args:
            exit_code: status of the process.
            last_words: why; logged as an error when the status is not 0.
        """
        self._send(self._limiter.stop())
        self.last_words = last_words
        if last_words:
            (self.get_logger().error if exit_code else self.get_logger().info)(last_words)
        self.exit_code = exit_code

    def close(self) -> None:
        """Zero torque as the last thing on the wire; sent thrice in case one gets lost."""
        for _ in range(3):
            self._send(self._limiter.stop())
            time.sleep(0.02)

    # The loop.

    def _on_joint_state(self, message: JointState) -> None:
        if self.exit_code is not None or not self._reader.concerns(message.name):
            return
        stamp = seconds(message.header.stamp)
        if stamp == self._last_stamp:
            self._repeated(stamp)
            return
        if self._received is None and self.waits_for():
            return
        if self._pending is not None:
            self._refuse(self.awaits(self._pending))
            self._pending = None
        self._received = self.get_clock().now()
        self._period = 0.0 if self._last_stamp is None else stamp - self._last_stamp
        self._last_stamp = stamp
        try:
            sample = self._reader.read(
                stamp, message.name, message.position, message.velocity, message.effort
            )
        except ValueError as error:
            self._refuse(str(error))
            return
        self._received_wall = time.monotonic()
        self._pending = sample
        self.resume()

    def _answer(self, sample: JointSample) -> None:
        try:
            wanted = self.on_sample(sample)
            # A late state must not let the rate limit open wide, an early one not close it.
            period = min(max(self._period, 0.0), self.values.input_timeout)
            torque = self._limiter.apply(wanted, period)
        except ValueError as error:
            self._refuse(str(error))
            self.on_refused(sample)
            return
        if self.exit_code is None:
            self._send(torque)
        self.on_commanded(sample, torque)

    def _refuse(self, why: str) -> None:
        self.refused += 1
        self._send(self._limiter.stop())
        self.complain(f"{why}; zero torque")

    def _repeated(self, stamp: float) -> None:
        # A lock-step simulator says its first state again until the answer has arrived.
        if self._pending is not None:
            self.resume()
            return
        if self.get_clock().ros_time_is_active:
            # A simulator that is paused says its state again and again.
            self.keep_waiting()
            if time.monotonic() - self._reminded > WAITING_PERIOD:
                self._reminded = time.monotonic()
                self.get_logger().info(
                    f"the simulator's time stands still at {stamp:g} s; to let it go on press its "
                    "play button, or call simulator/set_paused with data: false"
                )
        elif time.monotonic() - self._received_wall > LONGEST_REPEAT:
            self.refused += 1
            self.complain(
                f"joint states repeat the stamp {stamp} s: time step must be > 0; check that the "
                "driver stamps each of them"
            )

    def _watch(self) -> None:
        if self.exit_code is not None:
            return
        silence = time.monotonic() - self._received_wall
        if 0.0 < self.values.patience < silence:
            missing = self._missing() or (
                f"nothing that can be used comes on {self._joint_states.topic_name}"
            )
            self.finish(1, f"gave up after {silence:.1f} s of wall time: {missing}")
            return
        if silence > WAITING_PERIOD and (self._received is None or self._pending is not None):
            self._remind()
        if self._received is not None:
            self._check_age(self._received)

    def _remind(self) -> None:
        if time.monotonic() - self._reminded > WAITING_PERIOD:
            self._reminded = time.monotonic()
            topic = self._joint_states.topic_name
            self.get_logger().info("waiting: " + (self._missing() or f"nothing on {topic} yet"))

    def _missing(self) -> str:
        pending = "" if self._pending is None else self.awaits(self._pending)
        return self.waits_for() or pending

    def _check_age(self, received: Time) -> None:
        # The node's clock is the simulator's where there is one: a robot time that stands still
        # lets no robot run away, and a simulator slower than real time is no fault.
        # A clock that was set back hides how old it is: that counts as old.
        age = abs(1e-9 * (self.get_clock().now() - received).nanoseconds)
        if age > self.values.input_timeout and self._limiter.torque != (0.0, 0.0):
            self._send(self._limiter.stop())
            self.complain(
                f"no joint state for {age:.3f} s, limit {self.values.input_timeout} s: zero "
                "torque until they come again; check the robot's driver"
            )

    def _send(self, torque: tuple[float, float]) -> None:
        self._command.data[0], self._command.data[1] = float(torque[0]), float(torque[1])
        self._commands.publish(self._command)
