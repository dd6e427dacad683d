# SPDX-License-Identifier: Apache-2.0
"""The odometry_publisher node: the robot's pose and velocity from its wheel angles.

Subscribes to `joint_states` (other joints may be in the same messages or in others) and
`~/set_pose` (geometry_msgs/PoseWithCovarianceStamped in the odom frame). Publishes `odom`
(nav_msgs/Odometry) and, unless `publish_tf` is false, `/tf` from the odom frame to the base frame.
Stamps are those of the joint states; no clock is read.
"""

from __future__ import annotations

import math
import signal
from dataclasses import dataclass, field, fields
from time import monotonic
from typing import Any, TypeVar

import rclpy
from geometry_msgs.msg import PoseWithCovarianceStamped
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.clock import Clock, ClockType  # type: ignore[attr-defined]  # not in its __all__
from rclpy.executors import SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import try_shutdown
from sensor_msgs.msg import JointState

from arc_odometry.joints import LONGEST_GAP, JointOdometry, JointReader, RateLimit
from arc_odometry.odometry import MAX_WHEEL_SPEED, DiffOdometry, WheelGeometry
from arc_odometry.odometry_messages import OdometryPublisher, read_pose

V = TypeVar("V", bool, float, str)


def parameter(default: V, description: str, live: bool = False) -> V:
    """Return a field of OdometryParameters; `live` parameters may change while the node runs."""
    return field(default=default, metadata={"description": description, "live": live})


@dataclass(frozen=True)
class OdometryParameters:
    """Parameters of odometry_publisher."""

    left_radius: float = parameter(
        0.0, "radius of the left wheel, m, > 0; must be given", live=True
    )
    right_radius: float = parameter(
        0.0, "radius of the right wheel, m, > 0; must be given", live=True
    )
    separation: float = parameter(
        0.0, "distance between the wheels, 2 b, m, > 0; must be given", live=True
    )
    path_noise: float = parameter(
        1e-6,
        "variance of a wheel's path per path driven, m^2/m, >= 0; 1e-6 is 1 mm after 1 m",
        live=True,
    )
    left_joint: str = parameter(
        "left_wheel_joint",
        "name of the left wheel's joint; of several wheels: all names, separated by commas; with a "
        "- before a name whose positive angle rolls backward",
    )
    right_joint: str = parameter(
        "right_wheel_joint",
        "name of the right wheel's joint, or names, as left_joint",
    )
    odom_frame: str = parameter("odom", "frame of the pose; parent in tf")
    base_frame: str = parameter("base_link", "frame at the middle of the axle; child in tf")
    publish_tf: bool = parameter(True, "whether odom_frame -> base_frame is sent on /tf")
    publish_rate: float = parameter(
        50.0, "maximum rate of published poses by their stamps, Hz; 0: one per sample"
    )
    x: float = parameter(0.0, "start position, m, in odom_frame")
    y: float = parameter(0.0, "start position, m, in odom_frame")
    theta: float = parameter(0.0, "start heading, rad, in odom_frame")
    max_wheel_speed: float = parameter(
        MAX_WHEEL_SPEED, "faster changes of a wheel's angle are jumps of its encoder, rad/s, > 0"
    )
    longest_gap: float = parameter(
        LONGEST_GAP, "longer gaps between joint states are reported, s, > 0"
    )
    reset_on_time_jump: bool = parameter(
        False,
        "whether the pose returns to its start when time goes back, as with a bag played in a loop",
    )


FIELDS: dict[str, Any] = {each.name: each for each in fields(OdometryParameters)}


def checked(name: str, value: Any) -> Any:
    """Return a value in the type of its parameter, or raise a ValueError."""
    kind, description = type(FIELDS[name].default), FIELDS[name].metadata["description"]
    if kind is float and type(value) is int:
        value = float(value)  # launch files write 5 for 5.0
    if type(value) is not kind:
        raise ValueError(f"{name} = {value!r}: must be a {kind.__name__} ({description})")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} = {value}: must be finite ({description})")
    if value == "":
        raise ValueError(f"{name} is empty: must be a name ({description})")
    return value


def declare(node: Node) -> OdometryParameters:
    """Declare all parameters on the node; return their values, checked."""
    values = {}
    for name, own in FIELDS.items():
        descriptor = ParameterDescriptor(
            description=own.metadata["description"],
            dynamic_typing=True,
            read_only=not own.metadata["live"],
        )
        given: Any = node.declare_parameter(name, own.default, descriptor).value
        values[name] = checked(name, given)
    return OdometryParameters(**values)


WAITING_PERIOD = 3.0  # wall time between two reminders that the node waits for joint states, s
WAKE_PERIOD = 0.05  # maximum wall time until a signal is noticed, s
COMPLAINT_PERIOD = 1.0  # wall time between two warnings of the same kind, s


class OdometryNode(Node):
    """ROS interface of the odometry."""

    def __init__(self) -> None:
        super().__init__("odometry_publisher")
        self.values = values = declare(self)
        if values.odom_frame == values.base_frame:
            raise ValueError(f"odom_frame and base_frame are both '{values.odom_frame}': give two")
        self.odometry = DiffOdometry(
            WheelGeometry(values.left_radius, values.right_radius, values.separation),
            values.path_noise,
            values.max_wheel_speed,
            (values.x, values.y, values.theta),
        )
        self._samples = JointOdometry(self.odometry, values.longest_gap, values.reset_on_time_jump)
        left, right = (
            [name.strip() for name in names.split(",")]
            for names in (values.left_joint, values.right_joint)
        )
        self._reader = JointReader(
            [name.removeprefix("-") for name in left],
            [name.removeprefix("-") for name in right],
            ("position",),
            signs=[-1 if name.startswith("-") else 1 for name in (*left, *right)],
        )
        self._rate = RateLimit(values.publish_rate)
        self._complained: dict[str, float] = {}
        self._make_topics()
        self.add_on_set_parameters_callback(self._on_parameters)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._reminder = self.create_timer(WAITING_PERIOD, self._remind, clock=steady)
        self.get_logger().info(
            f"odometry of '{values.left_joint}' and '{values.right_joint}' on "
            f"{self._joint_states.topic_name}: {self.odometry.geometry}"
        )

    def _make_topics(self) -> None:
        values = self.values
        frames = values.odom_frame, values.base_frame
        self._topic = OdometryPublisher(self, "odom", frames, values.publish_tf)
        self._joint_states = self.create_subscription(
            JointState, "joint_states", self._on_joint_state, 10
        )
        self.create_subscription(PoseWithCovarianceStamped, "~/set_pose", self._on_set_pose, 10)

    def _on_joint_state(self, message: JointState) -> None:
        stamp = message.header.stamp
        if not self._reader.concerns(message.name):
            return  # message of another driver, for other joints
        before = self.odometry.time
        time = stamp.sec + 1e-9 * stamp.nanosec
        try:
            sample = self._reader.read(time, message.name, message.position, (), ())
            if apart := self._reader.disagreement:
                self._complain("disagreement", apart)
            anomaly = self._samples.update(sample)
            if anomaly is not None:
                self._complain(*anomaly)
        except ValueError as error:
            self._complain("refused", f"joint state refused: {error}")
        # The time is unchanged if the sample was rejected or skipped.
        if self.odometry.time != before and self._rate.due(time):
            self._topic.publish(stamp, self.odometry)

    def _complain(self, kind: str, text: str) -> None:
        now = monotonic()
        if now - self._complained.get(kind, -COMPLAINT_PERIOD) >= COMPLAINT_PERIOD:
            self._complained[kind] = now
            self.get_logger().warning(text)

    def _on_set_pose(self, message: PoseWithCovarianceStamped) -> None:
        try:
            pose, covariance = read_pose(message, self.values.odom_frame)
            self.odometry.set_pose(pose, covariance)
        except ValueError as error:
            self.get_logger().error(f"set_pose refused: {error}; the pose is kept")
            return
        self.get_logger().info(
            f"pose set to x {pose.x:g} m, y {pose.y:g} m, theta {pose.theta:g} rad"
        )

    def _on_parameters(self, parameters: list[Parameter[Any]]) -> SetParametersResult:
        """Apply all of the new parameters or none."""
        try:
            new = {p.name: checked(p.name, p.value) for p in parameters if p.name in FIELDS}
            now = self.odometry.geometry
            geometry = WheelGeometry(
                *(
                    new.get(name, getattr(now, name))
                    for name in ("left_radius", "right_radius", "separation")
                )
            )
            self.odometry.set_path_noise(new.get("path_noise", self.odometry.path_noise))
        except ValueError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self.odometry.set_geometry(geometry)
        return SetParametersResult(successful=True)

    def _remind(self) -> None:
        if self.odometry.time is not None:
            self._reminder.cancel()
            return
        topic, values = self._joint_states.topic_name, self.values
        who = "arrive" if self.count_publishers(topic) else "are published"
        self.get_logger().info(
            f"waiting: no joint states with '{values.left_joint}' and '{values.right_joint}' {who} "
            f"on {topic}; start the driver, or set left_joint and right_joint"
        )


def main(args: list[str] | None = None) -> int:
    """Run the `odometry_publisher` executable; return the exit status."""
    signals: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda caught, _frame: signals.append(caught))
    # rclpy's own signal handlers may interrupt rclpy in the middle of its own work.
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # a wrong remapping or parameter
        get_logger("odometry_publisher").fatal(str(error))
        return 1
    try:
        try:
            node = OdometryNode()
        except ValueError as error:
            get_logger("odometry_publisher").fatal(f"parameter {error}")
            return 1
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        while not signals:
            executor.spin_once(timeout_sec=WAKE_PERIOD)
        executor.shutdown()
        node.destroy_node()
    finally:
        try_shutdown()
    return 0
