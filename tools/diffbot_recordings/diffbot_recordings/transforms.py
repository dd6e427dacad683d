# SPDX-License-Identifier: Apache-2.0
"""Poses of a robot from tf, such as map -> odom -> base_link of a localisation.

Messages may come from ROS or from a recording: only their fields are used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from diffbot_recordings.bag_topics import stamp_of, upright_yaw


def frames_of(text: str) -> tuple[str, str]:
    """Parse two different frames (fixed, of the robot), as "map base_link". Raises ValueError."""
    words = text.split()
    if len(words) != 2 or words[0].strip("/") == words[1].strip("/"):
        raise ValueError(
            f"tf = {text!r}: must be two frames, a fixed one and the robot's, such as 'map "
            "base_link'"
        )
    return words[0], words[1]


def planar_pose(message: Any) -> tuple[float, float, float]:
    """Return [x in m, y in m, yaw in rad] of a PoseStamped, or a pose with covariance, Odometry."""
    pose = message.pose
    while hasattr(pose, "pose"):
        pose = pose.pose
    return float(pose.position.x), float(pose.position.y), upright_yaw(pose.orientation)


class Transforms:
    """Poses from tf: direct, or via one intermediate frame, as in map -> odom -> base_link.

    Via a frame, a pose counts only after the first transform changed: otherwise it is odometry.
    """

    def __init__(self, fixed: str, robot: str) -> None:
        self._fixed, self._robot = fixed.strip("/"), robot.strip("/")
        self._corrections: dict[str, tuple[float, float, float]] = {}
        self._due: dict[str, bool] = {}

    def read(self, message: Any) -> Iterable[tuple[float, ...]]:
        """Return the rows [stamp, x, y, yaw] of a message."""
        rows: list[tuple[float, ...]] = []
        for transform in message.transforms:
            stamp = stamp_of(transform)
            if stamp is None:
                continue
            parent = transform.header.frame_id.strip("/")
            child = transform.child_frame_id.strip("/")
            moved = transform.transform
            pose = (
                float(moved.translation.x),
                float(moved.translation.y),
                upright_yaw(moved.rotation),
            )
            if (parent, child) == (self._fixed, self._robot):
                rows.append((stamp, *pose))
            elif parent == self._fixed:
                # A correction that is repeated before the robot's transform arrives is still new.
                changed = self._corrections.get(child) != pose
                self._due[child] = changed or self._due.get(child, False)
                self._corrections[child] = pose
            elif child == self._robot and self._due.get(parent):
                x, y, yaw = self._corrections[parent]
                cos, sin = math.cos(yaw), math.sin(yaw)
                place = x + cos * pose[0] - sin * pose[1], y + sin * pose[0] + cos * pose[1]
                rows.append((stamp, *place, yaw + pose[2]))
                self._due[parent] = False
        return rows
