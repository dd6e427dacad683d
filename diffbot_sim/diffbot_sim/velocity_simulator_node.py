"""The velocity_simulator node: a robot that takes velocity commands, (3) of Siwek et al. (2023).

Publishes what velocity_simulator_topics.py lists. Subscribes to `cmd_vel`
(geometry_msgs/TwistStamped, or Twist with stamped = false). Time goes as in paced_simulator.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from geometry_msgs.msg import TransformStamped, Twist, TwistStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage
from tf2_msgs.msg import TFMessage

from arc_odometry import WheelGeometry
from arc_odometry.odometry_messages import fill_odometry, fill_transform
from diffbot_description import load_robot
from diffbot_description.dynamics import Sigma
from diffbot_msgs.msg import VelocityParameters
from diffbot_node import KeptTopic, Parameter, pose_from_text, to_stamp
from diffbot_node.stamps import named_by
from diffbot_node.state_sources import WithSender
from diffbot_sim.paced_simulator import PACE, PacedSimulator
from diffbot_sim.simulator_topics import MotionTopic, rival_of
from diffbot_sim.velocity_robot import (
    MeasuredMotion,
    OdometryCovariance,
    VelocityOdometry,
    VelocityRobot,
)
from diffbot_sim.virtual_robot import ROBOT, SEED, START

# ---
# What the simulator of a robot that takes velocity commands publishes, and what it obeys.

COMMANDS = "cmd_vel"


class VelocityTopic:
    """Subscription of `cmd_vel`, linear.x in m/s and angular.z in rad/s.

    Args:
        node: whose subscription it is.
        stamped: whether it is a TwistStamped; else a Twist.
        on_command: called with every command, the stamp of the odometry that it names, s (None: no
            name), and who has sent it (None: not known); after one that is not finite with zero, as
            a robot's driver stops on it.
    """

    def __init__(
        self,
        node: Node,
        stamped: bool,
        on_command: Callable[[tuple[float, float], float | None, object], None],
    ) -> None:
        self._node = node
        self._on_command = on_command
        self._stamped = stamped
        kind = TwistStamped if stamped else Twist
        node.create_subscription(kind, COMMANDS, WithSender(self._receive), 10)

    def _receive(self, message: Twist | TwistStamped, sender: object) -> None:
        named = named_by(message) if self._stamped else None
        twist = message.twist if self._stamped else message
        command = (twist.linear.x, twist.angular.z)
        if not all(map(math.isfinite, command)):
            self._node.get_logger().warning(
                f"command v = {command[0]} m/s, omega = {command[1]} rad/s refused: must be "
                "finite; the robot is told to stop",
                throttle_duration_sec=1.0,
            )
            command = (0.0, 0.0)
        self._on_command(command, named, sender)


class VelocitySimulatorTopics(MotionTopic):
    """All publishers of the node.

    Besides the true motion: `odom` (nav_msgs/Odometry with covariance), `clock` and `/tf`, once per
    control period, and `ground_truth/velocity_parameters` (latched).

    Args:
        node: publishes.
        publish_tf: whether odom -> base_link is sent on /tf.
        resume: see KeptTopic; None: nobody is waited for.

    Attributes:
        parameters_topic: that the parameters are sent on.
    """

    def __init__(
        self, node: Node, publish_tf: bool, resume: Callable[[], None] | None = None
    ) -> None:
        super().__init__(node, resume)
        self._node = node
        self._clock_topic = node.create_publisher(ClockMessage, "clock", 10)
        self._odom_topic = node.create_publisher(Odometry, "odom", 10)
        self._tf_topic = node.create_publisher(TFMessage, "/tf", 100) if publish_tf else None
        self.parameters_topic = KeptTopic(
            node, VelocityParameters, "ground_truth/velocity_parameters", resume, latched=True
        )
        self._measured = Odometry(child_frame_id="base_link")
        self._measured.header.frame_id = "odom"
        self._transform = TransformStamped(child_frame_id="base_link")
        self._transform.header.frame_id = "odom"

    def publish_odometry(self, stamp: float, odometry: MeasuredMotion) -> None:
        """Publish what the robot measures, and the time of it, s."""
        now = to_stamp(stamp)
        self._clock_topic.publish(ClockMessage(clock=now))
        fill_odometry(self._measured, now, odometry)
        self._odom_topic.publish(self._measured)
        if self._tf_topic is not None:
            fill_transform(self._transform, self._measured)
            self._tf_topic.publish(TFMessage(transforms=[self._transform]))

    def publish_parameters(self, stamp: float, sigma: Sigma, dead_time: float) -> None:
        """Publish the true sigma and dead time (s) from this stamp on, s."""
        message = VelocityParameters(sigma=sigma.as_array(), dead_time=[dead_time] * 2)
        message.header.stamp = to_stamp(stamp)
        message.header.frame_id = "base_link"
        self.parameters_topic.publish(message)

    def rival(self) -> str | None:
        """What is wrong when somebody else publishes odometry or the clock, too; else None."""
        return rival_of(self._node, self._odom_topic, self._clock_topic)


# Stamps are multiples of the control period but for rounding, s.
TOLERANCE = 1e-6

PARAMETERS = (
    ROBOT,
    *PACE,
    START,
    SEED,
    Parameter("stamped", True, "whether cmd_vel is a TwistStamped; else a Twist"),
    Parameter(
        "sigma", (3.446, 4.576, 0.86, 0.254), "true sigma1 in s, sigma2 in s, sigma3, sigma4",
        above=0.0,
    ),
    Parameter(
        "dead_time", 0.0, "from a command to its effect, s", minimum=0.0,
        maximum=VelocityRobot.LONGEST_DEAD_TIME,
    ),
    Parameter("linear_velocity", 0.0, "largest |v| taken, m/s; 0: the robot's own", minimum=0.0),
    Parameter(
        "angular_velocity", 0.0, "largest |omega| taken, rad/s; 0: the robot's own", minimum=0.0
    ),
    Parameter(
        "command_timeout",
        0.5,
        "robot time without a command after which the driver stops, s; not in lock-step",
        above=0.0,
    ),
    Parameter("change", 1.0, "factor on sigma1 and sigma2 from change_time on", above=0.0),
    Parameter("change_time", -1.0, "robot time of that, s; below 0: never"),
    Parameter(
        "command_noise", (0.0, 0.0), "standard deviations of what the drive makes of a command, "
        "[m/s, rad/s]", minimum=0.0,
    ),
    Parameter(
        "velocity_noise", (0.0, 0.0), "standard deviations of measured [v, omega], m/s, rad/s",
        minimum=0.0,
    ),
    Parameter(
        "pose_noise", (0.0, 0.0, 0.0), "standard deviations of measured [x, y, theta], m, m, rad",
        minimum=0.0,
    ),
    Parameter(
        "encoder_counts",
        -1,
        "counts per wheel revolution; 0: exact pose and velocity; -1: the robot's",
        minimum=-1,
    ),
    Parameter(
        "path_noise", 1e-6, "variance of a wheel's path per path driven that the covariance of "
        "odom tells, m^2/m", minimum=0.0,
    ),
    Parameter("publish_tf", True, "whether odom -> base_link is sent on /tf"),
)  # fmt: skip
LENGTHS = {"sigma": 4, "command_noise": 2, "velocity_noise": 2, "pose_noise": 3}


class VelocitySimulatorNode(PacedSimulator):
    """ROS side of the simulation; the physics are VelocityRobot's, the sensors VelocityOdometry's.

    Raises:
        ValueError: a parameter is wrong; the message says which and how.
    """

    def __init__(self) -> None:
        super().__init__("velocity_simulator", PARAMETERS)
        for name, length in LENGTHS.items():
            values = getattr(self.values, name)
            if len(values) != length:
                raise ValueError(f"parameter '{name}' = {list(values)}: must be {length} numbers")
        if self.values.lock_step and not self.values.stamped:
            raise ValueError(
                "parameter 'stamped' = false: a Twist cannot say which odometry it answers, as "
                "lock_step needs; set lock_step to false and speed to 1.0, or stamped to true"
            )
        self._steps = 0
        self._silent = 0.0  # robot time since the last command, s
        self._changed = self.values.change_time < 0.0
        self._make_robot()
        resume = self.resume if self.values.lock_step else None
        self._topics = VelocitySimulatorTopics(self, self.values.publish_tf, resume)
        VelocityTopic(self, self.values.stamped, self._on_command)
        self._publish_truth()
        self.run(COMMANDS, "velocity")

    def _make_robot(self) -> None:
        values, robot = self.values, load_robot(self.values.robot)
        limits = robot.limits
        self._robot = VelocityRobot(
            Sigma(*values.sigma),
            speed_limits=(
                values.linear_velocity or limits.linear_velocity,
                values.angular_velocity or limits.angular_velocity,
            ),
            dead_time=values.dead_time,
            command_noise=values.command_noise,
            seed=values.seed,
        )
        self._robot.reset(pose_from_text("start", values.start))
        wheels = robot.wheels
        geometry = WheelGeometry(wheels.radius, wheels.radius, wheels.separation)
        counts = robot.encoder.counts if values.encoder_counts < 0 else values.encoder_counts
        noise = {"velocity_noise": values.velocity_noise, "pose_noise": values.pose_noise}
        self._odometry = VelocityOdometry(
            self._robot, values.period, geometry, counts=counts, seed=values.seed, **noise
        )
        self._covariance = OdometryCovariance(
            geometry, values.path_noise, counts, values.period, **noise
        )
        self._measured = self._measure()

    def _measure(self) -> MeasuredMotion:
        return self._covariance.measured(*self._odometry.read())

    @property
    def stamp(self) -> float:
        """Robot time of the newest state, s."""
        # Counted, not summed: a run of hours must not drift off the control grid.
        return self._steps * self.values.period

    def _on_command(
        self, command: tuple[float, float], named: float | None, sender: object
    ) -> None:
        self._silent = 0.0
        self.take_command(command, named, sender)

    def advance(self, command: tuple[float, float]) -> None:
        """One period with the command; sigma changes when its time has come."""
        if not self._changed and self.stamp >= self.values.change_time - TOLERANCE:
            self._change()
        if not self.values.lock_step and self._silent > self.values.command_timeout:
            command = (0.0, 0.0)
        self._robot.step(command, self.values.period)
        self._steps += 1
        self._silent += self.values.period
        self._measured = self._measure()

    def _change(self) -> None:
        self._changed, sigma, factor = True, self._robot.sigma, self.values.change
        self._robot.sigma = Sigma(factor * sigma.s1, factor * sigma.s2, sigma.s3, sigma.s4)
        self.get_logger().info(f"sigma1 and sigma2 times {factor:g} at {self.stamp:g} s")
        self._publish_truth()

    def publish_state(self) -> None:
        """Clock, odometry and true motion."""
        self._topics.publish_odometry(self.stamp, self._measured)
        if self._topics.is_watched():
            self._topics.publish_motion(self.stamp, self._robot.pose(), self._robot.velocity())

    def _publish_truth(self) -> None:
        self._topics.publish_parameters(self.stamp, self._robot.sigma, self.values.dead_time)

    def awaits(self) -> str:
        """Reports, which listen to what is true."""
        return self.awaits_listeners(self._topics.motion_topic, self._topics.parameters_topic)

    def rival(self) -> str | None:
        """Somebody else who publishes odometry."""
        return self._topics.rival()

    def close(self) -> None:
        """What is on its way arrives."""
        self.await_arrival(self._topics.motion_topic, self._topics.parameters_topic)
