"""The nodes that drive a robot in the fault table, and what each needs for that."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from geometry_msgs.msg import TwistStamped
from rclpy.node import Node

from diffbot_msgs.msg import PoseReference


@dataclass(frozen=True)
class Subject:
    """A node that drives, and what it needs for that.

    Attributes:
        name: of the node.
        kind: gives its class; called when it is needed, as imports take long.
        states: topic of what it is told of the robot.
        references: topic and type of what it has to follow; None: it needs nothing.
        parameters: that it gets.
        bounds: largest error to the reference while a fault that it drives on with lasts and
            after it: m for poses, m/s for velocities.
        takes_velocity: whether its robot takes velocity commands.
    """

    name: str
    kind: Callable[[], type[Node]]
    states: str = "joint_states"
    references: tuple[str, type] | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    bounds: tuple[float, float] = (math.inf, math.inf)
    takes_velocity: bool = False


def _ident() -> type[Node]:
    from diffbot_ident.ident_node import IdentNode

    return IdentNode


def _backstep() -> type[Node]:
    from diffbot_controllers.backstep_node import BackstepNode

    return BackstepNode


def _pose() -> type[Node]:
    from diffbot_controllers.pose_node import PoseNode

    return PoseNode


def _linearizing() -> type[Node]:
    from diffbot_controllers.linearizing_node import LinearizingNode

    return LinearizingNode


def _tracking() -> type[Node]:
    from diffbot_controllers.velocity_tracking.velocity_tracking_node import VelocityTrackingNode

    return VelocityTrackingNode


IDENT = Subject("ident", _ident)
BACKSTEP = Subject(
    "backstep_controller",
    _backstep,
    references=("backstep_controller/reference", PoseReference),
    bounds=(0.3, 0.05),
)
POSE = Subject(
    "pose_controller",
    _pose,
    references=("pose_controller/reference", PoseReference),
    bounds=(0.4, 0.25),
)
LINEARIZING = Subject(
    "linearizing_controller",
    _linearizing,
    references=("cmd_vel", TwistStamped),
    bounds=(0.4, 0.1),
)
TRACKING = Subject(
    "velocity_tracking_controller",
    _tracking,
    states="odom",
    references=("velocity_tracking_controller/reference", PoseReference),
    parameters={"sigma": (0.35, 0.25, 1.0, 1.0)},
    bounds=(0.3, 0.05),
    takes_velocity=True,
)
DRIVERS = (IDENT, BACKSTEP, POSE, LINEARIZING)
"""Those that command torque."""
