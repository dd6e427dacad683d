"""The simulator node for Gazebo (Ionic or newer), driven in lock-step through ros_gz_bridge.

The suite's side is that of the other simulators: publishes `joint_states` and `clock` once per
control period, `ground_truth` and `ground_truth/dynamic_parameters` (latched); subscribes to
`effort_controller/commands` ([left, right], N m). Gazebo's side is config/gz_bridge.yaml and the
service that controls the world. The node starts Gazebo, the bridge and the robot's spawning as its
companions, and ends them with itself.

Gazebo's world stands still between two control periods. A command is sent to Gazebo, again and
again until it was seen there; only then is the world stepped by one period; the state at its end is
published with the torque that acted, and awaits the next command. Nothing so depends on how long a
message takes. ros_gz_bridge answers within one to two ms, and a run is faster than real time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from nav_msgs.msg import Odometry
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from arc_odometry import JointSample
from diffbot_description import Robot, load_robot
from diffbot_node import Parameter, declare, pose_from_text, seconds
from diffbot_node.stamps import answers
from diffbot_sim.companions import NOT_OFFERED, refuse_not_offered
from diffbot_sim.engines import make_simulator
from diffbot_sim.gz.program import PREFIX, STEP, GzProgram, GzWorld
from diffbot_sim.paced_simulator import CommandWatch, Pacer
from diffbot_sim.simulator_topics import COMMANDS, CommandTopic, SimulatorTopics
from diffbot_sim.virtual_robot import (
    LEAVE_WHEN_ALONE,
    NANOSECONDS,
    ROBOT,
    SENSORS_AND_MOTORS,
    START,
    SteppedRobot,
    WheelReading,
    make_actuator,
    make_encoders,
)

# ---
# True pose and velocity of a robot from the poses that Gazebo's odometry publisher gives.

# Poses further apart than this give no velocity, s.
LONGEST_GAP = 0.1


def angle_at_speed(angle: float, speed: float, step: float) -> float:
    """Angle (rad) at the time of a speed (rad/s), where the physics' are half a step (s) ahead."""
    return angle - 0.5 * step * speed


def yaw(z: float, w: float) -> float:
    """Heading, rad, of a level quaternion (0, 0, z, w)."""
    return 2.0 * math.atan2(z, w)


class GzPose:
    """Sets poses back by half a step of the physics (see topics.py) and derives velocities.

    Gazebo's own velocities are not used: where the heading passes ±pi, its yaw rate is wrong by
    hundreds of rad/s for some samples.

    Args:
        step: of the physics, s.
    """

    def __init__(self, step: float) -> None:
        self._step = step
        self._last: tuple[float, float, float, float] | None = None

    def update(
        self, stamp: float, x: float, y: float, theta: float
    ) -> tuple[tuple[float, float, float], tuple[float, float]]:
        """Take the pose that Gazebo gives for a time.

        Args:
            stamp: s.
            x: m.
            y: m.
            theta: rad, may be wrapped.

        Returns:
            (x, y, theta) at that time, and the velocity (m/s forward, rad/s) since the last pose;
            0 where there is none within 0.1 s.
        """
        last, self._last = self._last, (stamp, x, y, theta)
        if last is None or not 0.0 < stamp - last[0] <= LONGEST_GAP:
            return (x, y, theta), (0.0, 0.0)
        period = stamp - last[0]
        vx, vy = (x - last[1]) / period, (y - last[2]) / period
        omega = math.remainder(theta - last[3], math.tau) / period
        middle = theta - 0.5 * omega * period
        back = 0.5 * self._step
        pose = (x - back * vx, y - back * vy, theta - back * omega)
        return pose, (vx * math.cos(middle) + vy * math.sin(middle), omega)


# ---
# The ROS side of ros_gz_bridge: torques out and seen, wheels and pose in.
#
# Gazebo's physics (DART) first changes the speeds by a step's accelerations and then moves
# everything by the new speeds: positions are half a step ahead of the speeds. At 1 ms this is a
# twentieth of a control period between torque and motion, which the identification takes for
# physics: K6 comes out wrong by percents. So positions are set back by half a step.

SIDES = ("left", "right")


class GzTopics:
    """Topics of config/gz_bridge.yaml.

    Args:
        node: whose topics they are.
        robot: gives the joints' names.
        on_reading: called with the wheels' angles and speeds.
        on_seen: called when a torque was seen in Gazebo.
        on_motion: called with the time (s), true pose (m, m, rad) and velocity (m/s, rad/s) of
            base_link.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        on_reading: Callable[[WheelReading], None],
        on_seen: Callable[[], None],
        on_motion: Callable[[float, tuple[float, float, float], tuple[float, float]], None],
    ) -> None:
        self._names = (robot.joints.left, robot.joints.right)
        self._on_reading, self._on_seen, self._on_motion = on_reading, on_seen, on_motion
        self._pose = GzPose(STEP)
        self._seen: list[float | None] = [None, None]
        self._torques = [
            node.create_publisher(Float64, f"{PREFIX}{side}_wheel_torque", 10) for side in SIDES
        ]
        for index, side in enumerate(SIDES):
            node.create_subscription(
                Float64,
                f"{PREFIX}{side}_wheel_torque_seen",
                lambda message, index=index: self._on_torque_seen(index, message.data),
                10,
            )
        # The newest alone is of use: a state is said again until the next period begins.
        node.create_subscription(JointState, f"{PREFIX}joint_states", self._on_joint_states, 1)
        node.create_subscription(Odometry, f"{PREFIX}odometry", self._on_odometry, 10)

    def send(self, torque: tuple[float, float]) -> None:
        """Give Gazebo the torques [left, right] in N m."""
        for publisher, value in zip(self._torques, torque, strict=True):
            publisher.publish(Float64(data=float(value)))

    def has_seen(self, torque: tuple[float, float]) -> bool:
        """Whether the newest torques seen in Gazebo are these, in N m."""
        return tuple(self._seen) == tuple(torque)

    def _on_torque_seen(self, index: int, value: float) -> None:
        self._seen[index] = value
        self._on_seen()

    def _on_joint_states(self, message: JointState) -> None:
        try:
            left, right = (list(message.name).index(name) for name in self._names)
        except ValueError:
            return  # before both wheels are there
        stamp = message.header.stamp.sec * NANOSECONDS + message.header.stamp.nanosec
        velocities = (message.velocity[left], message.velocity[right])
        angles = (
            angle_at_speed(message.position[left], velocities[0], STEP),
            angle_at_speed(message.position[right], velocities[1], STEP),
        )
        self._on_reading(WheelReading(stamp, angles, velocities))

    def _on_odometry(self, message: Odometry) -> None:
        stamp, pose = seconds(message.header.stamp), message.pose.pose
        theta = yaw(pose.orientation.z, pose.orientation.w)
        self._on_motion(stamp, *self._pose.update(stamp, pose.position.x, pose.position.y, theta))


# ---
# Parameters of the simulator node for Gazebo (Ionic or newer).

PARAMETERS = (
    ROBOT,
    Parameter("period", 0.01, "control period, s; whole ms", minimum=0.001, maximum=0.1),
    Parameter("speed", 0.0, "robot time per wall time; 0: as fast as it goes", minimum=0.0),
    *SENSORS_AND_MOTORS,
    START,
    Parameter("gui", False, "open Gazebo's window"),
    *NOT_OFFERED,
    Parameter("start_gazebo", True, "start Gazebo and its bridge; false: they run already"),
    LEAVE_WHEN_ALONE,
    Parameter(
        "patience",
        60.0,
        "wall time to wait for Gazebo, and with leave_when_alone for commands, s; then status 1",
        above=0.0,
    ),
)


def steps_per_period(period: float) -> int:
    """How many steps of Gazebo's physics make a control period, s.

    Raises:
        ValueError: not a whole number.
    """
    steps = round(period / STEP)
    if abs(steps * STEP - period) > 1e-9:
        raise ValueError(
            f"parameter 'period' = {period} s: must be a whole number of ms, the step of "
            "Gazebo's world"
        )
    return steps


# How often the node looks around, s of wall time.
LOOK_PERIOD = 0.05
# A torque that was not seen in Gazebo is sent again after this, s of wall time.
REPEAT_PERIOD = 0.05
# Wall time between the first torque seen and the first period, s: the others meet, too.
SETTLING = 0.5
# Gazebo's silence ends the run after this, s of wall time.
SILENCE = 10.0


class GzSimulatorNode(Node):
    """ROS side of the simulation; which torque acts when is SteppedRobot's."""

    def __init__(self) -> None:
        super().__init__("simulator")
        self.exit_code: int | None = None
        self.values = declare(self, PARAMETERS)
        refuse_not_offered(self.values)
        if self.values.start_gazebo:
            GzProgram.check()
        self.robot = load_robot(self.values.robot)
        self._start = pose_from_text("start", self.values.start)
        self._steps = steps_per_period(self.values.period)
        self._stepped = self._make_robot()
        self._sample: JointSample | None = None
        self._ignored = 0
        self._sending = False
        self._sent = self._progress = time.monotonic()
        self._answered = False
        self._first_seen: float | None = None
        self._pacer = Pacer(self.values.speed)
        self._topics = SimulatorTopics(self, self.robot)
        truth = make_simulator("ideal", self.robot).parameters()
        self._topics.publish_parameters(0.0, truth)
        self._gz = GzTopics(
            self, self.robot, self._on_reading, self._on_seen, self._topics.publish_motion
        )
        self._world = GzWorld(self, self._fail)
        self._commands = CommandTopic(self, self.robot, self._on_command)
        self._watch = CommandWatch(self, COMMANDS, self.values.patience)
        self._program = GzProgram(self.robot, self._start, self.values.gui)
        if self.values.start_gazebo:
            self._program.start()
            self.get_logger().info(f"Gazebo starts; GZ_PARTITION={self._program.partition}")
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(LOOK_PERIOD, self._look_around, clock=steady)

    def _make_robot(self) -> SteppedRobot:
        return SteppedRobot(
            make_actuator(self.robot, self.values),
            make_encoders(self.robot, self.values),
            self.values.period,
            grips=not any(self.robot.friction.coulomb),
        )

    # A control period: command, torque seen, step, state.

    def _on_command(
        self, command: tuple[float, float], named: float | None, _sender: object
    ) -> None:
        if self._sample is None or self._sending or self._stepped.is_moving:
            return  # no state awaits an answer
        if not answers(named, self._sample.stamp):
            return
        if not self._answered:
            self._answered = True
            self._pacer.restart(self._sample.stamp)
        self._stepped.command(command)
        self._sending = True
        self._progress = time.monotonic()
        self._send()
        self._on_seen()

    def _send(self) -> None:
        self._sent = time.monotonic()
        self._gz.send(self._stepped.acting)

    def _on_seen(self) -> None:
        if not self._gz.has_seen(self._stepped.acting):
            return
        if self._first_seen is None:
            self._first_seen = time.monotonic()
        if self._sending:
            self._sending = False
            self._stepped.step()
            self._world.step(self._steps)

    def _on_reading(self, reading: WheelReading) -> None:
        if self._sample is None:
            self._begin(reading)
            return
        sample = self._stepped.read(reading)
        if sample is None:
            return
        self._progress = time.monotonic()
        self._sample = sample
        if self._stepped.ignored > self._ignored:
            self._ignored = self._stepped.ignored
            self.get_logger().warning("Gazebo did not hear the torque yet; it is reported as 0")
        if (delay := self._pacer.delay(sample.stamp)) > 0.0:
            time.sleep(delay)
        self._topics.publish_sample(sample)

    def _begin(self, reading: WheelReading) -> None:
        self._program.is_spawned = True
        ready = self._first_seen is not None and self._world.is_ready()
        if not ready or time.monotonic() - self._first_seen < SETTLING:
            return
        self._sample = self._stepped.begin(reading)
        self.get_logger().info("Gazebo is ready")
        self._publish_first_state()

    def _publish_first_state(self) -> None:
        # Gazebo says no pose before it has moved.
        self._topics.publish_motion(self._sample.stamp, self._start, (0.0, 0.0))
        self._topics.publish_sample(self._sample)

    # The others.

    def _look_around(self) -> None:
        if self.exit_code is not None:
            return
        now = time.monotonic()
        if (said := self._program.fault()) is not None:
            self._fail(said)
            return
        if self._sample is None:
            self._send()  # zero; how the torques' way is known to be open
            self._watch.keep_waiting()
            if self.values.leave_when_alone:
                self.exit_code = self._watch.end()
            if now - self._progress > self.values.patience:
                self._fail(f"after {self.values.patience:g} s of wall time {self._missing()}")
            return
        if self.values.leave_when_alone:
            self.exit_code = self._watch.end()
        if rival := self._topics.rival():
            self._fail(rival)
        if not self._sending and not self._stepped.is_moving:
            # Said again until it is answered; the stamp stays the same.
            self._topics.publish_sample(self._sample)
            if not self._answered:
                self._topics.publish_motion(self._sample.stamp, self._start, (0.0, 0.0))
        elif self._sending and now - self._sent > REPEAT_PERIOD:
            self._send()
        if (self._sending or self._stepped.is_moving) and now - self._progress > SILENCE:
            what = "the torque was not seen" if self._sending else "the world did not step"
            self._fail(f"Gazebo is silent for {SILENCE:g} s of wall time: {what}")

    def _missing(self) -> str:
        if not self._world.is_ready():
            return "the bridge does not offer the control of Gazebo's world"
        if self._first_seen is None:
            return "torques do not get through the bridge to Gazebo"
        return (
            f"Gazebo does not tell of the joints of robot '{self.robot.name}': look at what was "
            "printed above, and whether ros_gz is built for the release that `gz sim` starts"
        )

    def _fail(self, why: str) -> None:
        if self.exit_code is None:
            self.get_logger().error(why)
            self.exit_code = 1

    def close(self) -> None:
        """No torque any more; end Gazebo, the bridge and what else was started."""
        self._gz.send((0.0, 0.0))
        self._program.stop()
