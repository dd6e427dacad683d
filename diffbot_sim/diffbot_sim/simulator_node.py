"""The simulator node: an engine behind the topics that ros2_control speaks.

Publishes `joint_states` and `clock` once per control period, `ground_truth` (nav_msgs/Odometry)
when somebody listens, and `ground_truth/dynamic_parameters` (latched) with the closed-form K5..K8.
Subscribes to `effort_controller/commands` ([left, right], N m). Serves `~/set_payload`.

In lock-step it publishes a state, waits for the command that answers it, and advances by one
control period: a run repeats to the last digit and is as fast as its nodes. Else it runs on by
itself with the latest command, as a robot does.
"""

from __future__ import annotations

import math
import time

from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from diffbot_description import load_robot
from diffbot_msgs.msg import DynamicParameters
from diffbot_msgs.srv import SetPayload
from diffbot_node import Parameter, declare, pose_from_text, to_stamp
from diffbot_sim.actuators import Actuator
from diffbot_sim.encoders import Encoders
from diffbot_sim.engines import ENGINES, make_simulator
from diffbot_sim.pacing import Pacer
from diffbot_sim.virtual_robot import VirtualRobot

PARAMETERS = (
    Parameter("robot", "twil", "name of a robot of the suite, or the path of a robot's YAML"),
    Parameter("engine", "mujoco", "physics engine", choices=tuple(ENGINES)),
    Parameter("period", 0.01, "control period, s", above=0.0, maximum=0.1),
    Parameter("lock_step", True, "wait for the command that answers each joint state"),
    Parameter("speed", 0.0, "robot time per wall time; 0: as fast as lock-step goes", minimum=0.0),
    Parameter("seed", 0, "seed of the sensors' and actuators' noise", minimum=0),
    Parameter(
        "encoder_counts", -1, "counts per wheel revolution; 0: exact; -1: the robot's", minimum=-1
    ),
    Parameter(
        "torque_noise", 0.0, "standard deviation of the torque, as a share of it", minimum=0.0
    ),
    Parameter("torque_delay", 0, "control periods between command and torque", minimum=0),
    Parameter("start", "0,0,0", "start pose x,y,theta in the odom frame, m, m, rad"),
    Parameter("leave_when_alone", False, "end when nobody publishes commands any more"),
    Parameter(
        "patience",
        20.0,
        "with leave_when_alone: wall time to wait for the first commands, s; then status 1",
        above=0.0,
    ),
)

# How often the node looks who is there, s of wall time; the first state is said again as often.
LOOK_PERIOD = 0.05
# Silence in lock-step is reported after this, s of wall time.
SILENCE = 2.0


class SimulatorNode(Node):
    """ROS side of the simulation; the physics and the sensors are VirtualRobot's."""

    def __init__(self) -> None:
        super().__init__("simulator")
        self.exit_code: int | None = None
        self.values = declare(self, PARAMETERS)
        if not self.values.lock_step and self.values.speed == 0.0:
            raise ValueError(
                "parameter 'speed' = 0.0: must be > 0 without lock_step, which alone can go as "
                "fast as possible; set speed to 1.0 for real time"
            )
        self.robot = load_robot(self.values.robot)
        self._virtual = self._make_robot()
        self._command = (0.0, 0.0)
        self._met = False
        self._answered = False
        self._warned = False
        self._last_answer = time.monotonic()
        self._pacer = Pacer(self.values.speed)
        self._make_topics()
        self._publish_truth()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(LOOK_PERIOD, self._look_around, clock=steady)
        if not self.values.lock_step:
            self.create_timer(self.values.period / self.values.speed, self._run_on, clock=steady)

    def _make_robot(self) -> VirtualRobot:
        values, robot = self.values, self.robot
        engine = make_simulator(values.engine, robot)
        engine.reset(pose_from_text("start", values.start))
        counts = robot.encoder.counts if values.encoder_counts < 0 else values.encoder_counts
        actuator = Actuator(
            robot.limits.torque, values.torque_delay, values.torque_noise, values.seed
        )
        return VirtualRobot(
            engine, actuator, Encoders(counts, values.period, values.seed), values.period
        )

    def _make_topics(self) -> None:
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._clock_topic = self.create_publisher(ClockMessage, "clock", 10)
        self._joints_topic = self.create_publisher(JointState, "joint_states", 10)
        self._pose_topic = self.create_publisher(Odometry, "ground_truth", 10)
        self._truth_topic = self.create_publisher(
            DynamicParameters, "ground_truth/dynamic_parameters", latched
        )
        self._commands = self.create_subscription(
            Float64MultiArray, "effort_controller/commands", self._on_command, 10
        )
        self.create_service(SetPayload, "~/set_payload", self._on_set_payload)
        joints = self.robot.joints
        self._joints = JointState(name=[joints.left, joints.right])
        self._odometry = Odometry(child_frame_id="base_link")
        self._odometry.header.frame_id = "odom"

    # Time.

    def _on_command(self, message: Float64MultiArray) -> None:
        command = tuple(message.data)
        if len(command) == 2 and all(map(math.isfinite, command)):
            self._command = command
        else:
            # As ros2_control's forward controller does: the last torque stays on.
            self.get_logger().warning(
                f"command {list(command)} refused: must be 2 finite torques [left, right] in N m; "
                f"{list(self._command)} N m stays on",
                throttle_duration_sec=1.0,
            )
        if self.values.lock_step:
            self._answer()

    def _answer(self) -> None:
        """Advance in lock-step by the period that the command just taken is for."""
        now = time.monotonic()
        if not self._answered:
            self._answered = True
            self._pacer.restart(self._virtual.sample.stamp)
        self._last_answer, self._warned = now, False
        sample = self._virtual.advance(self._command)
        if (delay := self._pacer.delay(sample.stamp)) > 0.0:
            time.sleep(delay)
        self._publish_state()

    def _run_on(self) -> None:
        """Advance without lock-step, with the latest command."""
        self._virtual.advance(self._command)
        self._publish_state()

    def _look_around(self) -> None:
        drivers = self.count_publishers(self._commands.topic_name)
        if not drivers and self.values.leave_when_alone and self._leave():
            return
        self._met = self._met or drivers > 0
        if not self.values.lock_step:
            return
        if not self._answered and self.count_publishers(self._joints_topic.topic) > 1:
            self.get_logger().error(
                f"somebody else publishes {self._joints_topic.topic}, perhaps another simulator; "
                "stop it, or give each run its own ROS_DOMAIN_ID"
            )
            self.exit_code = 1
            return
        if not self._answered:
            # Said again until somebody is there to answer; the stamp stays the same.
            self._publish_state()
        elif drivers and not self._warned and time.monotonic() - self._last_answer > SILENCE:
            self._warned = True
            self.get_logger().warning(
                f"no command for {SILENCE} s of wall time: the robot's time stands still in "
                "lock-step until one comes"
            )

    def _leave(self) -> bool:
        """Whether the node ends now that nobody is there."""
        if self._met:
            self.get_logger().info("nobody commands torque any more; the simulation ends")
            self.exit_code = 0
        elif time.monotonic() - self._last_answer > self.values.patience:
            self.get_logger().error(
                f"nobody commanded torque within {self.values.patience:g} s of wall time: start a "
                f"node that publishes {self._commands.topic_name}"
            )
            self.exit_code = 1
        return self.exit_code is not None

    def close(self) -> None:
        """Nothing has to be said at the end."""

    # Messages.

    def _publish_state(self) -> None:
        sample = self._virtual.sample
        stamp = to_stamp(sample.stamp)
        self._clock_topic.publish(ClockMessage(clock=stamp))
        joints = self._joints
        joints.header.stamp = stamp
        joints.position = sample.position
        joints.velocity = sample.velocity
        joints.effort = sample.effort
        self._joints_topic.publish(joints)
        if self._pose_topic.get_subscription_count():
            self._publish_pose(stamp)

    def _publish_pose(self, stamp: Time) -> None:
        engine, message = self._virtual.engine, self._odometry
        x, y, theta = engine.pose()
        linear, angular = engine.velocity()
        message.header.stamp = stamp
        message.pose.pose.position.x, message.pose.pose.position.y = float(x), float(y)
        message.pose.pose.orientation.z = math.sin(0.5 * theta)
        message.pose.pose.orientation.w = math.cos(0.5 * theta)
        message.twist.twist.linear.x = float(linear)
        message.twist.twist.angular.z = float(angular)
        self._pose_topic.publish(message)

    def _publish_truth(self) -> None:
        truth = self._virtual.engine.parameters()
        message = DynamicParameters(
            k5=truth.k5, k6=truth.k6, k7=truth.k7, k8=truth.k8, state=DynamicParameters.ESTIMATED
        )
        message.header.stamp = to_stamp(self._virtual.sample.stamp)
        message.header.frame_id = "base_link"
        self._truth_topic.publish(message)

    def _on_set_payload(
        self, request: SetPayload.Request, response: SetPayload.Response
    ) -> SetPayload.Response:
        try:
            self._virtual.engine.set_payload(
                request.mass, request.x, request.z, request.yaw_inertia
            )
        except ValueError as error:
            response.success, response.message = False, str(error)
            return response
        self._publish_truth()
        response.success = True
        return response
