# SPDX-License-Identifier: Apache-2.0
"""The dynamics_estimator node: K5..K8 of a robot that somebody else drives.

Subscribes to `joint_states` only, and publishes `ident/dynamic_parameters`
(diffbot_msgs/DynamicParameters) every `period` of robot time. It commands nothing. Its publisher
appears with the first joint state: who waits for the publisher knows that no joint state is missed.
Time is that of the joint states' stamps; with `leave_when_alone` it ends when nobody publishes them
any more, or nobody is left who used the estimates: a real robot's driver goes on after the run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from arc_odometry import JointReader
from diffbot_description import closed_form, load_robot
from diffbot_ident import parameters_message
from diffbot_ident.torque.estimators import LiveSettings, make_live_estimator
from diffbot_ident.torque.fleet_prior import NONE, read_prior
from diffbot_msgs.msg import DynamicParameters
from diffbot_node import RobotParameters, declare, parameter, seconds
from diffbot_node.complaints import Complaints
from diffbot_node.own_run import ESTIMATOR, OwnRun
from diffbot_node.robot_messages import Presence, Takers, create_wall_timer

DEFAULT = LiveSettings()
PRESENCE_PERIOD = 0.05  # s of wall time between two looks at who is there
# Who used the estimates and has been away for so long does not come back, s of wall time.
PARTING = 1.0
# Estimates that are kept until somebody listens; in lock-step a controller waits for the next one
# before it lets so many come.
MAX_UNHEARD = 10
# Estimates that are said again; the newest may be younger than the one that a controller waits for.
REPEATED = 2
# A rounding error of the stamps must not cost a control period, s.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class EstimatorParameters(RobotParameters):
    """Of dynamics_estimator."""

    period: float = parameter(
        0.2,
        "robot time between two estimates, s; of the controller that waits for them, "
        "`estimate_period`",
        minimum=0.02,
        maximum=10.0,
    )
    memory: float = parameter(
        DEFAULT.memory,
        "robot time in which what was seen loses 63 % of its weight, s",
        minimum=0.5,
        maximum=1e6,
    )
    window: float = parameter(
        DEFAULT.window, "length of a window of the regression, s", above=0.0, maximum=1.0
    )
    spread: float = parameter(
        DEFAULT.spread,
        "standard deviation of K5..K8 around the robot's description before anything is seen, as a "
        "share of them",
        above=0.0,
        maximum=100.0,
    )
    friction_spread: float = parameter(
        DEFAULT.friction_spread,
        "the same of the friction around the robot's description; 0.0003 of limits.traction at the "
        "least, and 0.05 where the description has none",
        above=0.0,
        maximum=100.0,
    )
    prior: str = parameter(
        NONE,
        "file prior_TYPE.yaml of `diffbot fleet`: the estimate begins with the mean of robots of "
        "this type, and forgets down to it, instead of the robot's description; none: it does not",
    )
    velocity: float = parameter(DEFAULT.velocity, "size of motion that excites, m/s", above=0.0)
    yaw_rate: float = parameter(DEFAULT.yaw_rate, "size of motion that excites, rad/s", above=0.0)
    torque: float = parameter(
        DEFAULT.torque,
        "size of a wheel's torque that excites, as a share of limits.traction",
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
        "end when nobody publishes joint states any more, or nobody is left who used the estimates",
    )
    patience: float = parameter(
        0.0,
        "with leave_when_alone: wall time to wait for the first joint states, s; then status 1; "
        "0: for ever",
        minimum=0.0,
    )


class EstimatorNode(Node):
    """ROS side of the live estimator."""

    def __init__(self) -> None:
        super().__init__("dynamics_estimator")
        self._own_run = OwnRun(self, ESTIMATOR)
        self.exit_code: int | None = None
        self.values = values = declare(self, EstimatorParameters)
        robot = load_robot(values.robot)
        self._dead_band = robot.drive.dead_band
        left, right = robot.joints.left, robot.joints.right
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
        self._reader = JointReader(
            left, right, ("position", "effort"), robot.drive.torque_of((1.0, 1.0))
        )
        self._complaints = Complaints()
        self._publisher: Publisher[Any] | None = None
        self._takers: Takers | None = None
        self._unheard: deque[DynamicParameters] = deque(maxlen=MAX_UNHEARD)
        self._said: deque[DynamicParameters] = deque(maxlen=REPEATED)
        self._newest: float | None = None
        self._published = -values.period
        self._robot = Presence(values.patience)
        self._users = Presence(patience=0.0, parting=PARTING)
        self._joint_states = self.create_subscription(
            JointState, "joint_states", self._on_joint_state, 100
        )
        create_wall_timer(self, PRESENCE_PERIOD, self._look_around)

    def close(self) -> None:
        """Nothing has to be said."""

    def _on_joint_state(self, message: JointState) -> None:
        if not self._reader.concerns(message.name):
            return
        if self._newest is None and self._own_run.missing():
            return
        stamp = seconds(message.header.stamp)
        self._say_unheard()
        if stamp == self._newest:
            # A simulator in lock-step says a state again until it is answered: perhaps nobody has
            # heard what the answer waits for.
            if self._publisher is not None:
                for said in self._said:
                    self._publisher.publish(said)
            return
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
        if stamp - self._published >= self.values.period - TOLERANCE:
            self._published = stamp
            self._publish(stamp)

    def _publish(self, stamp: float) -> None:
        if self._publisher is None:
            topic = "ident/dynamic_parameters"
            self._publisher = self.create_publisher(DynamicParameters, topic, 100)
            self._takers = Takers(self, self._publisher)
        message = DynamicParameters()
        parameters_message.fill(message, self._estimator.estimate(), stamp)
        self._unheard.append(message)
        self._say_unheard()

    def _say_unheard(self) -> None:
        """Publish what there is once somebody listens: a publisher needs time to be found."""
        publisher = self._publisher
        while self._unheard and publisher is not None and publisher.get_subscription_count():
            self._said.append(self._unheard.popleft())
            publisher.publish(self._said[-1])

    def _look_around(self) -> None:
        """Leave with the robot."""
        absent = self._own_run.left() if self._newest is None else ""
        if self.exit_code is None and (why := self._own_run.met() or absent):
            self.get_logger().error(why)
            self.exit_code = 1
        if self.values.leave_when_alone and self.exit_code is None:
            self.exit_code = self._leave()

    def _leave(self) -> int | None:
        """Exit status once the robot or who used the estimates has left; None before."""
        log, topic = self.get_logger(), self._joint_states.topic_name
        if self._takers is not None:
            used = self._takers.are_there()
            status = self._users.leave(used, log, "nobody is left who used the estimates", "")
            if status is not None:
                return status
        return self._robot.leave(
            self.count_publishers(topic) > 0,
            log,
            "nobody publishes joint states any more",
            f"nobody published {topic} within {self._robot.waited:.1f} s of wall time: start the "
            "simulator or the robot's driver",
        )
