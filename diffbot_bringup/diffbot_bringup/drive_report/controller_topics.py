"""Which fields of the controllers' messages are what in a DriveRun."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StatusFields:
    """Fields of a controller's status.

    Attributes:
        message: name of the message type in diffbot_msgs.
        reference: x, y, theta of the reference; empty where there is none.
        odometry: x, y, theta of the robot; empty where they are not told.
        wanted: [v, omega] asked for.
        velocity: [v, omega] of the robot.
        torque: [left, right] commanded.
        gains: what the law is tuned with, by the key that the summary gives it.
        velocity_name: symbol of what is asked for.
    """

    message: str
    reference: tuple[str, ...]
    odometry: tuple[str, ...]
    wanted: str
    velocity: str
    torque: str
    gains: dict[str, str]
    velocity_name: str

    @property
    def names(self) -> tuple[str, ...]:
        """All fields of a row, in the order of the attributes."""
        return (*self.reference, *self.odometry, self.wanted, self.velocity, self.torque)


POSES = {
    "reference": ("set_point.x", "set_point.y", "set_point.theta"),
    "odometry": ("process_value.x", "process_value.y", "process_value.theta"),
}
CONTROLLERS = {
    "backstep_controller": StatusFields(
        "BackstepStatus",
        **POSES,
        wanted="backstep_set_point",
        velocity="backstep_process_value",
        torque="command",
        gains={"gamma": "gammas", "lambda": "lambdas"},
        velocity_name="η",
    ),
    "pose_controller": StatusFields(
        "PoseControllerStatus",
        **POSES,
        wanted="velocity.set_point",
        velocity="velocity.process_value",
        torque="velocity.command",
        gains={"kp": "velocity.kp", "ki": "velocity.ki", "weight": "velocity.weight"},
        velocity_name="uᵣ",
    ),
    "linearizing_controller": StatusFields(
        "LinearizingStatus",
        (),
        (),
        wanted="set_point",
        velocity="process_value",
        torque="command",
        gains={"kp": "kp", "ki": "ki", "weight": "weight"},
        velocity_name="uᵣ",
    ),
}
# Of nav_msgs/Odometry: pose and velocity of a robot in the plane.
TRUTH = (
    "pose.pose.position.x",
    "pose.pose.position.y",
    "pose.pose.orientation.z",
    "pose.pose.orientation.w",
    "twist.twist.linear.x",
    "twist.twist.angular.z",
)
