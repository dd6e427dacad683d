"""The robot as seen from where it should be."""

from __future__ import annotations

import math

from arc_odometry import Arc, Pose
from diffbot_controllers.motion import Reference, Velocity
from diffbot_controllers.rates import Rate


def offset_to_origin(pose: Pose, reference: Pose) -> Pose:
    """x_bar of (7) in the 2018 and (74) in the 2017 paper: m, m, rad; theta is not wrapped."""
    dx, dy = pose.x - reference.x, pose.y - reference.y
    cos, sin = math.cos(reference.theta), math.sin(reference.theta)
    return Pose(cos * dx + sin * dy, -sin * dx + cos * dy, pose.theta - reference.theta)


def moving_offset(
    pose: Pose, u: Velocity, reference: Pose, motion: Velocity
) -> tuple[Rate, Rate, Rate]:
    """x_bar and its rate while the robot moves with u and the reference with `motion`."""
    x, y, theta = offset_to_origin(pose, reference)
    theta = math.remainder(theta, math.tau)
    return (
        Rate(x, u.v * math.cos(theta) - motion.v + motion.omega * y),
        Rate(y, u.v * math.sin(theta) - motion.omega * x),
        Rate(theta, u.omega - motion.omega),
    )


def pose_of(reference: Reference) -> Pose:
    """The pose of a reference."""
    return Pose(reference.x, reference.y, reference.theta)


def preview(reference: Reference, time: float) -> Pose:
    """Where a reference will be after a time, s, if it goes on along its circle."""
    return Arc(reference.v * time, reference.omega * time).end(pose_of(reference))
