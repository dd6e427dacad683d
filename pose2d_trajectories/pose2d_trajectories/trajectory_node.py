# SPDX-License-Identifier: Apache-2.0
"""The trajectory_publisher and velocity_steps nodes, at the robot's pace (see PacedNode).

trajectory_publisher publishes `command` (geometry_msgs/Pose2D, the pose alone, as in Lages (2018),
5.3) and `reference` (diffbot_msgs/PoseReference). After the end its last pose is held.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Twist, TwistStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from arc_odometry import Pose
from arc_odometry.odometry_messages import heading
from diffbot_description import Robot, load_robot
from diffbot_description.arena import Arena, reach
from diffbot_msgs.msg import PoseReference
from diffbot_node import parameter, pose_from_text
from pose2d_trajectories.paced_node import HOLD, PacedNode, PaceParameters
from pose2d_trajectories.pose_message import Pose2D
from pose2d_trajectories.robot_limits import robot_limits
from pose2d_trajectories.shapes import OPTIONS, TRAJECTORIES, from_pose, make_trajectory
from pose2d_trajectories.timing import UNITS, TrajectoryLimits
from pose2d_trajectories.velocity_steps import DEMONSTRATION, VelocitySteps

PREFIX = "max_"


def _limit(name: str) -> float:
    what = name.replace("_", " ")
    return parameter(0.0, f"largest {what}, {UNITS[name]}; 0: no limit", minimum=0.0)


@dataclass(frozen=True)
class SpeedParameters(PaceParameters):
    """Parameters of nodes whose trajectory has speed limits."""

    max_linear_velocity: float = _limit("linear_velocity")
    max_angular_velocity: float = _limit("angular_velocity")


def limits(values: SpeedParameters) -> TrajectoryLimits:
    """Return the limits given by a node's parameters; a ValueError if one is out of range."""
    given = {name: getattr(values, PREFIX + name, 0.0) for name in UNITS}
    return TrajectoryLimits(**{name: value for name, value in given.items() if value})


OWN, ROBOT, NO_ROBOT = "own", "robot", "none"
_FORM = {
    "points": " [x0, y0, x1, y1, ...]; empty: the trajectory's own",
    "corners": "; empty: the trajectory's own",
    "sense": "; empty: the trajectory's own",
}
T = TypeVar("T", int, float, str, tuple[float, ...])


def _option(name: str, absent: T) -> T:
    """Return a parameter for an option of a trajectory; `absent` stands for one not given."""
    return parameter(absent, OPTIONS[name] + _FORM.get(name, "; -1: the trajectory's own"))


@dataclass(frozen=True)
class TrajectoryParameters(SpeedParameters):
    """Parameters of trajectory_publisher."""

    FILE: ClassVar[str] = "sizes"

    sizes: str = parameter(
        "",
        "ROS parameter file with the trajectory's size and speed, which other parameters override; "
        "empty: none",
    )
    trajectory: str = parameter("figure_eight", "trajectory to drive", choices=tuple(TRAJECTORIES))
    begin: str = parameter(
        OWN,
        "where the trajectory begins: own (where x, y and theta put it), robot (where the robot "
        "stands by its first odom; needs driven_by = odom), or a pose x,y,theta in m, m, rad",
    )
    robot_file: str = parameter(
        NO_ROBOT,
        "robot, or a robot's YAML, URDF or xacro file, of whose limits.linear_velocity and "
        "angular_velocity the trajectory takes at most 80 %, and of its linear_acceleration and "
        "angular_acceleration at most 60 %; none: no limit",
    )
    identified: str = parameter(
        NO_ROBOT,
        "velocity_parameters.yaml of the robot of robot_file, which tells what speeds and "
        "accelerations it reaches, of which the trajectory takes at most 80 % and 60 %; none: no "
        "file",
    )
    assumed_linear_acceleration: float = parameter(
        0.0,
        "largest linear acceleration if neither robot_file nor identified tells one, m/s^2; 0: no "
        "limit",
        minimum=0.0,
    )
    assumed_angular_acceleration: float = parameter(
        0.0,
        "largest angular acceleration if neither robot_file nor identified tells one, rad/s^2; 0: "
        "no limit",
        minimum=0.0,
    )
    arena: str = parameter(
        NO_ROBOT,
        "area that the whole robot of robot_file must stay in, length x width in m, such as 3x3, "
        "around its beginning; a larger trajectory is made smaller; none: no bound",
    )
    frame: str = parameter("odom", "frame of the trajectory, for the header of reference")
    x: float = parameter(0.0, "position of the origin of the trajectory's own frame, m")
    y: float = parameter(0.0, "position of the origin of the trajectory's own frame, m")
    theta: float = parameter(0.0, "direction of the x axis of the trajectory's own frame, rad")
    backwards: bool = parameter(
        False, "same points at the same times, the robot facing the other way"
    )
    max_linear_acceleration: float = _limit("linear_acceleration")
    max_angular_acceleration: float = _limit("angular_acceleration")
    amplitude_x: float = _option("amplitude_x", -1.0)
    amplitude_y: float = _option("amplitude_y", -1.0)
    period: float = _option("period", -1.0)
    radius: float = _option("radius", -1.0)
    side: float = _option("side", -1.0)
    border: float = _option("border", -1.0)
    length: float = _option("length", -1.0)
    points: tuple[float, ...] = _option("points", ())
    corners: str = _option("corners", "")
    sense: str = _option("sense", "")
    time: float = _option("time", -1.0)
    rounding: float = _option("rounding", -1.0)
    speed: float = _option("speed", -1.0)
    acceleration: float = _option("acceleration", -1.0)
    turn_rate: float = _option("turn_rate", -1.0)
    turn_acceleration: float = _option("turn_acceleration", -1.0)
    laps: int = _option("laps", -1)
    ramp_up: float = _option("ramp_up", -1.0)
    ramp_down: float = _option("ramp_down", -1.0)


def options(values: TrajectoryParameters) -> dict[str, Any]:
    """Return the options given by the parameters, for make_trajectory.

    Raises:
        ValueError: The points are not pairs.
    """
    given = {name: getattr(values, name) for name in OPTIONS}
    results = {k: v for k, v in given.items() if v != getattr(TrajectoryParameters, k)}
    if "points" in results:
        numbers = results["points"]
        if len(numbers) % 2:
            raise ValueError(
                f"points = {list(numbers)}: must be pairs x, y in m, and are {len(numbers)} numbers"
            )
        results["points"] = list(zip(numbers[::2], numbers[1::2], strict=True))
    return results


def limits_for(values: TrajectoryParameters, robot: Robot) -> TrajectoryLimits:
    """Return the limits, reduced to what a trajectory takes of a robot's.

    Raises:
        ValueError: The file of identified values cannot be used.
    """
    return robot_limits(
        robot,
        None if values.identified == NO_ROBOT else values.identified,
        (values.assumed_linear_acceleration, values.assumed_angular_acceleration),
        limits(values),
    )


def _room(text: str, robot: Robot | None) -> tuple[float, float]:
    """Return the largest distances from the beginning, along and across, m."""
    arena = Arena.parse(text)
    if arena is None:
        return math.inf, math.inf
    if robot is None:
        raise ValueError(f"parameter 'arena' = '{text}': needs robot_file, which has its size")
    return arena.room(reach(robot))


class TrajectoryNode(PacedNode[TrajectoryParameters]):
    """ROS interface of a trajectory."""

    def __init__(self) -> None:
        super().__init__("trajectory_publisher", TrajectoryParameters)
        values = self.values
        robot = None if values.robot_file == NO_ROBOT else load_robot(values.robot_file)
        if robot is None and values.identified != NO_ROBOT:
            raise ValueError(
                f"parameter 'identified' = '{values.identified}': needs robot_file, which has the "
                "largest commands"
            )
        self.trajectory = self._shape = make_trajectory(
            values.trajectory,
            x=values.x,
            y=values.y,
            theta=values.theta,
            backwards=values.backwards,
            limits=limits(values) if robot is None else limits_for(values, robot),
            **options(values),
        )
        self._room = _room(values.arena, robot)
        if values.begin == ROBOT and values.driven_by != "odom":
            raise ValueError(
                f"parameter 'begin' = '{ROBOT}': needs driven_by = odom, which tells where the "
                "robot stands; give its pose x,y,theta"
            )
        if values.begin not in (OWN, ROBOT):
            self._place(Pose(*pose_from_text("begin", values.begin)))
        elif values.begin == OWN and math.isfinite(min(self._room)):
            self._place(self._shape.at(0.0).pose)
        self.title, self.duration = values.trajectory, self.trajectory.duration
        self._command_topic = self.create_publisher(Pose2D, "command", 10)
        self._reference_topic = self.create_publisher(PoseReference, "reference", 10)
        self.topics = (self._command_topic, self._reference_topic)

    def _place(self, start: Pose) -> None:
        self.trajectory = from_pose(self._shape, start, self._room)

    def begins(self, state: JointState | Odometry | None) -> None:
        if self.values.begin == ROBOT and isinstance(state, Odometry):
            pose = state.pose.pose
            at = pose.position
            self._place(Pose(at.x, at.y, heading(pose.orientation)))

    def publish(self, stamp: Time, t: float) -> None:
        now = self.trajectory.at(t)
        message = PoseReference()
        message.header.frame_id = self.values.frame
        message.header.stamp = stamp
        message.x, message.y, message.theta = now.x, now.y, now.theta
        message.v, message.omega = now.v, now.omega
        message.dv, message.domega = now.dv, now.domega
        self._reference_topic.publish(message)
        if self._command_topic.get_subscription_count():
            self._command_topic.publish(Pose2D(x=now.x, y=now.y, theta=now.theta))


# The velocity_steps node: steps of [v, omega] at the robot's pace (see PacedNode).
#
# Publishes `cmd_vel` (geometry_msgs/TwistStamped, or Twist with `stamped` = false). It ends `hold`
# s after the beginning of the last step; if it is interrupted, it sends zero velocity first.

EMPTY = "times, linear and angular all empty: a demonstration"


@dataclass(frozen=True)
class VelocityStepsParameters(SpeedParameters):
    """Parameters of velocity_steps."""

    times: tuple[float, ...] = parameter(
        (), f"when each step begins, s, increasing; {EMPTY}", minimum=0.0
    )
    linear: tuple[float, ...] = parameter(
        (), f"velocity along the robot's x axis from then on, m/s; {EMPTY}"
    )
    angular: tuple[float, ...] = parameter((), f"yaw rate from then on, rad/s; {EMPTY}")
    stamped: bool = parameter(True, "publish TwistStamped; else Twist")
    frame: str = parameter("base_link", "frame of the velocities, for the header of TwistStamped")
    hold: float = parameter(0.5, HOLD)


class VelocityStepsNode(PacedNode[VelocityStepsParameters]):
    """ROS interface of VelocitySteps."""

    title = "the sequence of steps"

    def __init__(self) -> None:
        super().__init__("velocity_steps", VelocityStepsParameters)
        values = self.values
        given = (values.times, values.linear, values.angular)
        times, linear, angular = given if any(given) else DEMONSTRATION
        self.steps = VelocitySteps(times, linear, angular, limits(values))
        if values.hold >= 0.0 and not self.steps.ends_at_rest:
            raise ValueError(
                f"linear[-1] = {values.linear[-1]} m/s, angular[-1] = {values.angular[-1]} rad/s: "
                "must be 0 if the node ends by itself, as nothing then stops the robot; add a "
                "step to 0, or set hold to -1"
            )
        self.duration = self.steps.duration
        self._header = Header(frame_id=values.frame)
        self._last = (0.0, 0.0)
        kind = TwistStamped if values.stamped else Twist
        self._topic = self.create_publisher(kind, "cmd_vel", 10)
        self.topics = (self._topic,)

    def publish(self, stamp: Time, t: float) -> None:
        self._header = Header(stamp=stamp, frame_id=self.values.frame)
        self._send(*self.steps.at(t))

    def close(self) -> None:
        if self._last != (0.0, 0.0):
            self._send(0.0, 0.0)
        super().close()

    def _send(self, linear: float, angular: float) -> None:
        twist = Twist()
        twist.linear.x, twist.angular.z = self._last = (linear, angular)
        stamped = self.values.stamped
        self._topic.publish(TwistStamped(header=self._header, twist=twist) if stamped else twist)
