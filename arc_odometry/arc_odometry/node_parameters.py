"""Parameters of the odometry_publisher node, in one table."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, NamedTuple

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node

from arc_odometry.diff_odometry import MAX_WHEEL_SPEED
from arc_odometry.joint_odometry import LONGEST_GAP


class Entry(NamedTuple):
    """One parameter; `live` ones may be changed while the node runs."""

    default: bool | float | str
    description: str
    live: bool = False


TABLE = {
    "left_radius": Entry(0.0, "radius of the left wheel, m, > 0; must be given", live=True),
    "right_radius": Entry(0.0, "radius of the right wheel, m, > 0; must be given", live=True),
    "separation": Entry(0.0, "distance between the wheels, 2 b, m, > 0; must be given", live=True),
    "path_noise": Entry(
        1e-6,
        "variance of a wheel's path per path driven, m^2/m, >= 0; 1e-6 is 1 mm after 1 m",
        live=True,
    ),
    "left_joint": Entry("left_wheel_joint", "name of the left wheel's joint"),
    "right_joint": Entry("right_wheel_joint", "name of the right wheel's joint"),
    "odom_frame": Entry("odom", "frame of the pose; parent in tf"),
    "base_frame": Entry("base_link", "frame at the middle of the axle; child in tf"),
    "publish_tf": Entry(True, "whether odom_frame -> base_frame is sent on /tf"),
    "publish_rate": Entry(50.0, "most poses published per s of the stamps, Hz; 0: one per sample"),
    "x": Entry(0.0, "start position, m, in odom_frame"),
    "y": Entry(0.0, "start position, m, in odom_frame"),
    "theta": Entry(0.0, "start heading, rad, in odom_frame"),
    "max_wheel_speed": Entry(
        MAX_WHEEL_SPEED, "faster changes of a wheel's angle are jumps of its encoder, rad/s, > 0"
    ),
    "longest_gap": Entry(LONGEST_GAP, "longer gaps between joint states are reported, s, > 0"),
    "reset_on_time_jump": Entry(
        False, "whether the pose goes back to its start when time does, as with a bag in a loop"
    ),
}


def checked(name: str, value: Any) -> bool | float | str:
    """A value in the type of its parameter.

    Raises:
        ValueError: wrong type, not finite, or an empty name.
    """
    entry = TABLE[name]
    kind = type(entry.default)
    if kind is float and type(value) is int:
        value = float(value)  # launch files write 5 for 5.0
    if type(value) is not kind:
        raise ValueError(f"{name} = {value!r}: must be a {kind.__name__} ({entry.description})")
    if kind is float and not math.isfinite(value):
        raise ValueError(f"{name} = {value}: must be finite ({entry.description})")
    if value == "":
        raise ValueError(f"{name} is empty: must be a name ({entry.description})")
    return value


def declare(node: Node) -> SimpleNamespace:
    """Declare all parameters on the node; returns their values as attributes.

    Raises:
        ValueError: a value has the wrong type or is not finite.
    """
    values = SimpleNamespace()
    for name, entry in TABLE.items():
        descriptor = ParameterDescriptor(
            description=entry.description, dynamic_typing=True, read_only=not entry.live
        )
        given = node.declare_parameter(name, entry.default, descriptor).value
        setattr(values, name, checked(name, given))
    return values
