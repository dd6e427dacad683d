"""The trajectory_publisher node: a trajectory as messages, at the robot's pace.

Publishes `command` (geometry_msgs/Pose2D, the pose alone, as in Lages (2018), 5.3) and `reference`
(diffbot_msgs/PoseReference: pose, velocity and acceleration). With `driven_by` = joint_states it
answers each message on `joint_states` with the reference for its stamp; no clock is read, and in a
lock-step simulation each state has its reference: a controller that waits for the reference with
the stamp of its state sees the same ones in every run. With `driven_by` = clock it publishes at
`rate` by the node's clock (see use_sim_time).

The trajectory's time begins once somebody listens. After its end its last pose is held. When the
time of the stamps goes back, as after a reset of a simulator, the trajectory begins anew.
"""

from __future__ import annotations

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose2D
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState

from diffbot_msgs.msg import PoseReference
from pose2d_trajectories.catalogue import make_trajectory
from pose2d_trajectories.node_parameters import declare
from pose2d_trajectories.reference import Reference
from pose2d_trajectories.running import run_node
from pose2d_trajectories.trajectory_parameters import PARAMETERS, limits, options

WAITING_PERIOD = 3.0  # s of wall time between two reminders of what is awaited
NANOSECONDS = 1_000_000_000
# Stamps that are older by less, ns, come from another publisher of joint states and are left out.
DISORDER = NANOSECONDS // 10


class TrajectoryNode(Node):
    """ROS side of a trajectory.

    Raises:
        ValueError: a parameter is wrong; the message says which and how.
    """

    def __init__(self) -> None:
        super().__init__("trajectory_publisher")
        self.values = values = declare(self, PARAMETERS)
        if values.rate <= 0.0:
            raise ValueError(f"rate = {values.rate} Hz: must be > 0")
        if values.lead < 0.0:
            raise ValueError(f"lead = {values.lead} s: must be >= 0")
        self.trajectory = make_trajectory(
            values.trajectory,
            x=values.x,
            y=values.y,
            theta=values.theta,
            backwards=values.backwards,
            limits=limits(values),
            **options(values),
        )
        self._lead = round(values.lead * NANOSECONDS)
        self._start: int | None = None  # stamp at which the trajectory's time is 0, ns
        self._newest = 0  # stamp, ns
        self._ended = False
        self._command = Pose2D()
        self._reference = PoseReference()
        self._reference.header.frame_id = values.frame
        self._command_topic = self.create_publisher(Pose2D, "command", 10)
        self._reference_topic = self.create_publisher(PoseReference, "reference", 10)
        if values.driven_by == "clock":
            self.create_timer(1.0 / values.rate, self._on_timer)
        else:
            self.create_subscription(JointState, "joint_states", self._on_joint_state, 10)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._reminder = self.create_timer(WAITING_PERIOD, self._remind, clock=steady)

    def _on_timer(self) -> None:
        self._advance(self.get_clock().now().nanoseconds)

    def _on_joint_state(self, message: JointState) -> None:
        stamp = message.header.stamp
        self._advance(stamp.sec * NANOSECONDS + stamp.nanosec)

    def listened_to(self) -> bool:
        """Whether as many subscribers as wanted have `command` or `reference`."""
        found = (
            self._command_topic.get_subscription_count(),
            self._reference_topic.get_subscription_count(),
        )
        return max(found) >= self.values.listeners

    def _advance(self, now: int) -> None:
        """Publish what is for the stamp `now` plus the lead, ns."""
        if self._start is not None and now < self._newest:
            if self._newest - now < DISORDER:
                return
            self.get_logger().warning(
                f"time went back from {self._newest / NANOSECONDS:g} s to {now / NANOSECONDS:g} s: "
                "the trajectory begins anew"
            )
            self._start = None
        if self._start is None:
            if not self.listened_to():
                return
            self._begin(now)
        self._newest = now
        at = now + self._lead
        self._publish(at, self.trajectory.at((at - self._start) / NANOSECONDS))

    def _begin(self, now: int) -> None:
        self._start, self._ended = now + self._lead, False
        duration = self.trajectory.duration
        self.get_logger().info(
            f"{self.values.trajectory} begins at {self._start / NANOSECONDS:g} s and "
            + (f"takes {duration:.6g} s" if duration < float("inf") else "has no end")
        )

    def _publish(self, at: int, now: Reference) -> None:
        sec, nanosec = divmod(at, NANOSECONDS)
        message = self._reference
        message.header.stamp = Time(sec=sec, nanosec=nanosec)
        message.x, message.y, message.theta = now.x, now.y, now.theta
        message.v, message.omega = now.v, now.omega
        message.dv, message.domega = now.dv, now.domega
        self._reference_topic.publish(message)
        command = self._command
        command.x, command.y, command.theta = now.x, now.y, now.theta
        self._command_topic.publish(command)
        if not self._ended and (at - self._start) >= self.trajectory.duration * NANOSECONDS:
            self._ended = True
            self.get_logger().info(
                f"{self.values.trajectory} has ended; its last pose is held: x {now.x:.6g} m, "
                f"y {now.y:.6g} m, theta {now.theta:.6g} rad"
            )

    def _remind(self) -> None:
        if self._start is not None:
            return
        if not self.listened_to():
            command, reference = self._command_topic.topic_name, self._reference_topic.topic_name
            missing = (
                f"{self.values.listeners} subscriber(s) of {command} or {reference}; start a "
                "controller, or remap these topics to it"
            )
        elif self.values.driven_by == "clock":
            missing = "the clock to run; with use_sim_time somebody has to publish /clock"
        else:
            missing = "joint states; start the robot, or set driven_by to clock"
        self.get_logger().info(f"waiting for {missing}")


def main(args: list[str] | None = None) -> int:
    """Entry point of the `trajectory_publisher` executable; returns the exit status."""
    return run_node(TrajectoryNode, "trajectory_publisher", args)
