# SPDX-License-Identifier: Apache-2.0
"""The velocity_simulator node: a robot that takes velocity commands, (3) of Siwek et al. (2023).

Publishes `odom` (with covariance), `clock` and `/tf` once per control period, `ground_truth`, and
`ground_truth/velocity_parameters` (latched); `joint_states`, `imu/data` and `pose` if selected.
Subscribes to `cmd_vel` (TwistStamped, or Twist with stamped = false).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from geometry_msgs.msg import TransformStamped, Twist, TwistStamped
from nav_msgs.msg import Odometry
from rosgraph_msgs.msg import Clock as ClockMessage
from tf2_msgs.msg import TFMessage

from arc_odometry import JointSample, Velocity, WheelGeometry
from arc_odometry.odometry_messages import fill_odometry, fill_transform
from diffbot_description import Robot, load_robot
from diffbot_description.command_ramp import UNLIMITED, CommandRamp
from diffbot_description.dead_band import DeadBandKind
from diffbot_description.robot import Pair
from diffbot_description.sigma import Sigma
from diffbot_msgs.msg import VelocityParameters
from diffbot_node import Node, parameter, pose_from_text, to_stamp
from diffbot_node.senders import Origin, WithOrigin
from diffbot_sim.paced_simulator import PacedSimulator, PacingParameters
from diffbot_sim.simulator_parameters import NoiseParameters
from diffbot_sim.simulator_topics import JointTopic, SensorTopics, TruthTopics
from diffbot_sim.velocity_robot import DriveDeadBand, VelocityOdometry, VelocityRobot
from diffbot_sim.virtual_robot import TOLERANCE

COMMANDS = "cmd_vel"
LARGEST_DEAD_BAND = 10.0  # m/s, rad/s


@dataclass(frozen=True)
class VelocitySimulatorParameters(NoiseParameters, PacingParameters):
    """Parameters of velocity_simulator."""

    stamped: bool = parameter(True, "whether cmd_vel is a TwistStamped; else a Twist")
    sigma: tuple[float, float, float, float] = parameter(
        (3.446, 4.576, 0.86, 0.254), "true sigma1 in s, sigma2 in s, sigma3, sigma4", above=0.0
    )
    dead_time: float = parameter(
        0.0, "from a command to its effect, s", minimum=0.0, maximum=VelocityRobot.LONGEST_DEAD_TIME
    )
    dead_band: tuple[float, float] = parameter(
        (0.0, 0.0),
        "largest commands of [v, omega] that move nothing, m/s, rad/s",
        minimum=0.0,
        maximum=LARGEST_DEAD_BAND,
    )
    wheel_dead_band: tuple[float, float] = parameter(
        (0.0, 0.0),
        "largest commands of the [left, right] wheel that do not move it, m/s at the rim",
        minimum=0.0,
        maximum=LARGEST_DEAD_BAND,
    )
    dead_band_kind: str = parameter(
        DeadBandKind.OFFSET.value,
        "effect on larger commands: offset (the dead band is subtracted), threshold (none)",
        choices=tuple(kind.value for kind in DeadBandKind),
    )
    stiction: float = parameter(
        1.0,
        "command that moves an axis or wheel at rest, over its dead band",
        minimum=1.0,
        maximum=10.0,
    )
    linear_velocity: float = parameter(
        0.0, "largest |v| accepted, m/s; 0: the robot's own", minimum=0.0
    )
    angular_velocity: float = parameter(
        0.0, "largest |omega| accepted, rad/s; 0: the robot's own", minimum=0.0
    )
    acceleration_limit: tuple[float, float] = parameter(
        (0.0, 0.0),
        "limits of the change of the commands of [v, omega], as of a smoother, m/s^2, rad/s^2; "
        "0: none",
        minimum=0.0,
    )
    command_timeout: float = parameter(
        0.5,
        "robot time without a command after which the driver stops, s; not in one process with "
        "the node that commands",
        above=0.0,
    )
    change: float = parameter(1.0, "factor on sigma1 and sigma2 from change_time on", above=0.0)
    change_time: float = parameter(-1.0, "robot time of that change, s; below 0: never")
    command_noise: tuple[float, float] = parameter(
        (0.0, 0.0),
        "standard deviations of the drive's error in a command, [m/s, rad/s]",
        minimum=0.0,
    )
    velocity_noise: tuple[float, float] = parameter(
        (0.0, 0.0), "standard deviations of measured [v, omega], m/s, rad/s", minimum=0.0
    )
    pose_noise: tuple[float, float, float] = parameter(
        (0.0, 0.0, 0.0), "standard deviations of measured [x, y, theta], m, m, rad", minimum=0.0
    )
    encoder_counts: int = parameter(
        -1, "counts per wheel revolution; 0: exact pose and velocity; -1: the robot's", minimum=-1
    )
    path_noise: float = parameter(
        1e-6,
        "variance of a wheel's path per path driven, in the covariance of odom, m^2/m",
        minimum=0.0,
    )
    publish_tf: bool = parameter(True, "whether odom -> base_link is sent on /tf")
    frame_prefix: str = parameter("", "prefix of the names of these frames, such as one/")
    joint_states: bool = parameter(
        False, "whether the wheels' angles, by encoders, are published on joint_states"
    )


class OdometryTopics:
    """Publishers of `odom`, `clock` and, if selected, odom -> base_link on `/tf`."""

    def __init__(self, node: Node, publish_tf: bool, frame_prefix: str) -> None:
        odom_frame, base_frame = f"{frame_prefix}odom", f"{frame_prefix}base_link"
        self._clock = node.create_publisher(ClockMessage, "clock", 10)
        self._odom = node.create_publisher(Odometry, "odom", 10)
        self._tf = node.create_publisher(TFMessage, "/tf", 100) if publish_tf else None
        self._frames = odom_frame, base_frame
        self.publishers = (self._odom, self._clock)

    def publish(self, stamp: float, odometry: VelocityOdometry) -> None:
        """Publish the robot's odometry at a stamp, s, and the clock."""
        now = to_stamp(stamp)
        odom_frame, base_frame = self._frames
        message = Odometry(child_frame_id=base_frame)
        message.header.frame_id = odom_frame
        fill_odometry(message, now, odometry)
        # Before the clock: the node that answers it has the time from its stamp.
        self._odom.publish(message)
        self._clock.publish(ClockMessage(clock=now))
        if self._tf is not None and self._tf.get_subscription_count():
            transform = TransformStamped(child_frame_id=base_frame)
            transform.header.frame_id = odom_frame
            fill_transform(transform, message)
            self._tf.publish(TFMessage(transforms=[transform]))


def _ramp(limits: Pair) -> CommandRamp | None:
    slopes = Velocity(*(limit or math.inf for limit in limits))
    return None if slopes == UNLIMITED else CommandRamp(slopes, slopes, before_band=True)


class VelocitySimulatorNode(PacedSimulator[VelocitySimulatorParameters]):
    """ROS interface of VelocityRobot and VelocityOdometry; ValueError for a wrong parameter."""

    def __init__(self) -> None:
        super().__init__("velocity_simulator", VelocitySimulatorParameters)
        self._steps = 0
        self._silent = 0.0  # robot time since the last command, s
        self._changed = self.values.change_time < 0.0
        robot = load_robot(self.values.robot)
        self._make_robot(robot, load_robot(self.values.moved_robot).geometry)
        self.sensors = SensorTopics(self, self.values, self.values.seed)
        self._read_sensors()
        self._topics = OdometryTopics(self, self.values.publish_tf, self.values.frame_prefix)
        self._joints = JointTopic(self, robot) if self.values.joint_states else None
        self.truth = TruthTopics(self, VelocityParameters)
        kind = TwistStamped if self.values.stamped else Twist
        self.create_subscription(kind, COMMANDS, WithOrigin(self._on_command), 10)
        self._publish_parameters()
        self.run(self._topics.publishers, COMMANDS, "velocity")

    def _make_robot(self, robot: Robot, wheels: WheelGeometry) -> None:
        values, limits = self.values, robot.limits
        self._robot = VelocityRobot(
            Sigma(*values.sigma),
            speed_limits=(
                values.linear_velocity or limits.linear_velocity,
                values.angular_velocity or limits.angular_velocity,
            ),
            rims=robot.rim_limit,
            ramp=_ramp(values.acceleration_limit),
            dead_time=values.dead_time,
            command_noise=values.command_noise,
            dead_band=DriveDeadBand(
                values.dead_band,
                values.wheel_dead_band,
                DeadBandKind.named(values.dead_band_kind),
                values.stiction,
                robot.geometry.separation,
            ),
            seed=values.seed,
        )
        self._robot.reset(pose_from_text("start", values.start))
        self._odometry = VelocityOdometry(
            self._robot,
            values.period,
            robot.geometry,
            counts=robot.encoder.counts_or(values.encoder_counts),
            velocity_noise=values.velocity_noise,
            pose_noise=values.pose_noise,
            seed=values.seed,
            wheels=wheels,
            path_noise=values.path_noise,
        )
        self._odometry.read()

    @property
    def stamp(self) -> float:
        """Robot time of the newest state, s."""
        return self._steps * self.values.period

    def _on_command(self, message: Twist | TwistStamped, came_from: Origin) -> None:
        """Take a command; zero for one that is not finite, as a robot's driver would stop."""
        twist = message.twist if self.values.stamped else message
        command = (twist.linear.x, twist.angular.z)
        if not all(map(math.isfinite, command)):
            self.get_logger().warning(
                f"command v = {command[0]} m/s, omega = {command[1]} rad/s refused: must be "
                "finite; zero is commanded",
                throttle_duration_sec=1.0,
            )
            command = (0.0, 0.0)
        self._silent = 0.0
        self.take_command(command, came_from)

    def advance(self, command: Pair) -> None:
        """Advance by one period with the command; change sigma when it is due."""
        if not self._changed and self.stamp >= self.values.change_time - TOLERANCE:
            self._change()
        if not self.composed and self._silent > self.values.command_timeout:
            command = (0.0, 0.0)
        self._robot.step(command, self.values.period)
        self._steps += 1
        self._silent += self.values.period
        self._odometry.read()
        self._read_sensors()

    def _read_sensors(self) -> None:
        self.sensors.note(self.stamp, self._robot.pose(), self._robot.velocity())

    def _change(self) -> None:
        self._changed, sigma, factor = True, self._robot.sigma, self.values.change
        self._robot.sigma = Sigma(factor * sigma.s1, factor * sigma.s2, sigma.s3, sigma.s4)
        self.get_logger().info(f"sigma1 and sigma2 times {factor:g} at {self.stamp:g} s")
        self._publish_parameters()

    def publish_state(self) -> None:
        """Publish clock, odometry, sensors and true motion."""
        self._topics.publish(self.stamp, self._odometry)
        if self._joints is not None:
            angles, speeds = self._odometry.wheels
            self._joints.publish(JointSample(self.stamp, angles, speeds, (0.0, 0.0)))
        self.sensors.publish()
        self.truth.publish_motion(self.stamp, self._robot.pose(), self._robot.velocity())

    def _publish_parameters(self) -> None:
        dead_time = [self.values.dead_time] * 2
        message = VelocityParameters(
            sigma=self._robot.sigma.as_array(), dead_time=dead_time, dead_band=self.values.dead_band
        )
        self.truth.publish_parameters(self.stamp, message)
