"""The velocity_simulator node: a robot that takes velocity commands, (3) of Siwek et al. (2023).

Publishes what velocity_simulator_topics.py lists. Subscribes to `cmd_vel`
(geometry_msgs/TwistStamped, or Twist with stamped = false). Time goes as in paced_simulator.py.
"""

from __future__ import annotations

from arc_odometry import WheelGeometry
from diffbot_description import load_robot
from diffbot_ident.velocity.sigma import Sigma
from diffbot_node import Parameter, pose_from_text
from diffbot_sim.odometry_covariance import MeasuredMotion, OdometryCovariance
from diffbot_sim.paced_simulator import PACE, PacedSimulator
from diffbot_sim.simulator_parameters import ROBOT, SEED, START
from diffbot_sim.velocity_odometry import VelocityOdometry
from diffbot_sim.velocity_robot import VelocityRobot
from diffbot_sim.velocity_simulator_topics import COMMANDS, VelocitySimulatorTopics, VelocityTopic

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
