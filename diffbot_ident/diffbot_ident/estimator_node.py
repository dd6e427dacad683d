# SPDX-License-Identifier: Apache-2.0
"""The dynamics_estimator node: K5..K8 of a robot that another node drives.

Its publisher appears with the first joint state: a node that waits for it misses none. With
`leave_when_alone` it exits with the last publisher of joint states, or user of the estimates.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from arc_odometry.joints import STAMP_TOLERANCE
from diffbot_description import closed_form, load_robot
from diffbot_ident import parameters_message
from diffbot_ident.estimators import LiveSettings, make_live_estimator
from diffbot_ident.interpretation.fleet_prior import NONE, read_prior
from diffbot_msgs.msg import DynamicParameters
from diffbot_node import Node, RobotParameters, declare, parameter, seconds
from diffbot_node.presence import PARTING, Complaints, Presence
from diffbot_node.robot_messages import create_wall_timer
from diffbot_node.topic_nodes import Subscribers

DEFAULT = LiveSettings()
PRESENCE_PERIOD = 0.05  # s of wall time between two checks of which nodes are present
# Most estimates queued until there is a subscriber.
MAX_PENDING = 10


@dataclass(frozen=True)
class EstimatorParameters(RobotParameters):
    """Parameters of the dynamics_estimator node."""

    period: float = parameter(
        0.2,
        "robot time between two estimates, s; a controller that waits for them calls it "
        "`estimate_period`",
        minimum=0.02,
        maximum=10.0,
    )
    memory: float = parameter(
        DEFAULT.memory,
        "robot time in which past data lose 63 % of their weight, s",
        minimum=0.5,
        maximum=1e6,
    )
    window: float = parameter(
        DEFAULT.window, "length of a window of the regression, s", above=0.0, maximum=1.0
    )
    spread: float = parameter(
        DEFAULT.spread,
        "standard deviation of K5..K8 around the robot's description before any data, as a share "
        "of them",
        above=0.0,
        maximum=100.0,
    )
    friction_spread: float = parameter(
        DEFAULT.friction_spread,
        "standard deviation of the friction around the robot's description, as a share of it; at "
        "least 0.0003 of limits.traction, or 0.05 where the description has no friction",
        above=0.0,
        maximum=100.0,
    )
    prior: str = parameter(
        NONE,
        "file prior_TYPE.yaml of `diffbot fleet`: the estimate begins with the mean of robots of "
        "this type, and forgets down to it, instead of the robot's description; none: not used",
    )
    velocity: float = parameter(DEFAULT.velocity, "speed that counts as excitation, m/s", above=0.0)
    yaw_rate: float = parameter(
        DEFAULT.yaw_rate, "yaw rate that counts as excitation, rad/s", above=0.0
    )
    torque: float = parameter(
        DEFAULT.torque,
        "wheel torque that counts as excitation, as a share of limits.traction",
        above=0.0,
        maximum=1.0,
    )
    acceleration: float = parameter(
        DEFAULT.acceleration,
        "rms of dv/dt below which the estimate is held as it is, m/s^2",
        above=0.0,
    )
    yaw_acceleration: float = parameter(
        DEFAULT.yaw_acceleration,
        "rms of domega/dt below which the estimate is held as it is, rad/s^2",
        above=0.0,
    )
    leave_when_alone: bool = parameter(
        False,
        "end when no node publishes joint states any more, or no subscriber of the estimates is "
        "left",
    )
    patience: float = parameter(
        0.0,
        "with leave_when_alone: wall time to wait for the first joint states, s; then exit with "
        "status 1; 0: no limit",
        minimum=0.0,
    )


class EstimatorNode(Node):
    """ROS interface of the live estimator."""

    def __init__(self) -> None:
        super().__init__("dynamics_estimator")
        self.values = values = declare(self, EstimatorParameters)
        robot = load_robot(values.robot)
        self._dead_band = robot.drive.dead_band
        nominal: Sequence[float] = closed_form(robot.model)
        if values.prior not in ("", NONE):
            nominal = read_prior(values.prior, robot).values
        self._estimator = make_live_estimator(
            robot,
            nominal,
            LiveSettings(
                **{name: getattr(values, name) for name in LiveSettings.__dataclass_fields__}
            ),
        )
        self._reader = robot.joint_reader(("position", "effort"))
        self._complaints = Complaints()
        self._publisher: Publisher[Any] | None = None
        self._subscribers: Subscribers | None = None
        self._pending: deque[DynamicParameters] = deque(maxlen=MAX_PENDING)
        self._newest: float | None = None
        self._published = -values.period
        self._robot = Presence(values.patience)
        self._users = Presence(patience=0.0, parting=PARTING)
        self._joint_states = self.create_subscription(
            JointState, "joint_states", self._on_joint_state, 100
        )
        create_wall_timer(self, PRESENCE_PERIOD, self._look_around)

    def _on_joint_state(self, message: JointState) -> None:
        if not self._reader.concerns(message.name):
            return
        stamp = seconds(message.header.stamp)
        self._publish_pending()
        if stamp == self._newest:
            return  # repeated, as by a paused simulator
        try:
            sample = self._reader.read(
                stamp, message.name, message.position, message.velocity, message.effort
            )
            if apart := self._reader.disagreement:
                self._reader.compare_anew()
                raise ValueError(apart)
            self._estimator.update(sample.beyond(self._dead_band))
        except ValueError as error:
            if self._complaints.due(str(error)):
                self.get_logger().warning(f"joint state refused: {error}")
        if self._newest is not None and stamp < self._newest:
            self._published = stamp - self.values.period  # time was set back
        self._newest = stamp
        if stamp - self._published >= self.values.period - STAMP_TOLERANCE:
            self._published = stamp
            self._publish(stamp)

    def _publish(self, stamp: float) -> None:
        if self._publisher is None:
            topic = "ident/dynamic_parameters"
            self._publisher = self.create_publisher(DynamicParameters, topic, 100)
            self._subscribers = Subscribers(self, self._publisher, followers=True)
        message = DynamicParameters()
        parameters_message.fill(message, self._estimator.estimate(), stamp)
        self._pending.append(message)
        self._publish_pending()

    def _publish_pending(self) -> None:
        publisher = self._publisher
        while self._pending and publisher is not None and publisher.get_subscription_count():
            publisher.publish(self._pending.popleft())

    def _look_around(self) -> None:
        if self.values.leave_when_alone and self.exit_code is None:
            self.exit_code = self._leave()

    def _leave(self) -> int | None:
        """Return the exit status once the robot or all users left; else None."""
        log, topic = self.get_logger(), self._joint_states.topic_name
        if self._subscribers is not None:
            used = self._subscribers.are_there()
            status = self._users.leave(used, log, "no subscriber of the estimates is left", "")
            if status is not None:
                return status
        return self._robot.leave(
            self.count_publishers(topic) > 0,
            log,
            "no node publishes joint states any more",
            f"no node published {topic} within {self._robot.waited:.1f} s of wall time: start "
            "the simulator or the robot's driver",
        )
