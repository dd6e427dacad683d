"""From ROS messages to channels; the messages are those of the library `rosbags`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

JOINT_STATE = "sensor_msgs/msg/JointState"
ARRAY = "std_msgs/msg/Float64MultiArray"
ODOMETRY = "nav_msgs/msg/Odometry"
TWIST = "geometry_msgs/msg/Twist"
TWIST_STAMPED = "geometry_msgs/msg/TwistStamped"

JOINT_FIELDS = ("position", "velocity", "effort")

Values = tuple[float, ...]
Reader = Callable[[Any], Values | None]


def stamp_of(message: Any) -> float | None:
    """Stamp, s; None where there is none, or where nobody set it."""
    header = getattr(message, "header", None)
    if header is None:
        return None
    stamp = header.stamp.sec + 1e-9 * header.stamp.nanosec
    return stamp if stamp > 0.0 else None


def twist(message: Any) -> Values:
    """[v in m/s, omega in rad/s] of a Twist, a TwistStamped or an Odometry."""
    while hasattr(message, "twist"):
        message = message.twist
    return float(message.linear.x), float(message.angular.z)


def pair(message: Any) -> Values | None:
    """[left, right] of a Float64MultiArray, N m; None where it is not two numbers."""
    data = message.data
    return (float(data[0]), float(data[1])) if len(data) == 2 else None


def joints(left: str, right: str, fields: tuple[str, ...]) -> Reader:
    """What reads fields of two joints: [left, right] of each field.

    A message without both joints gives None, as other devices publish joint states, too. A field
    that a message leaves empty is NaN.
    """

    def read(message: Any) -> Values | None:
        names = message.name
        if left not in names or right not in names:
            return None
        indices = (names.index(left), names.index(right))
        found: list[float] = []
        for field in fields:
            values = getattr(message, field)
            found += [float(values[i]) if i < len(values) else math.nan for i in indices]
        return tuple(found)

    return read


def joint_channels(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Names of what `joints` reads."""
    return tuple(f"{side}_{field}" for field in fields for side in ("left", "right"))


TWISTS: Mapping[str, Reader] = {TWIST: twist, TWIST_STAMPED: twist}
