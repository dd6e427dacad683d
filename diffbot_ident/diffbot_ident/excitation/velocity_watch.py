# SPDX-License-Identifier: Apache-2.0
"""Whether a robot that takes velocity commands obeys them, and its odometry agrees with itself."""

from __future__ import annotations

import math

from arc_odometry import REST, Pose, Velocity
from diffbot_ident.excitation.velocity_excitation import MOVING, STANDING, is_faster

# Factor on the largest command beyond which a robot does not obey, and samples that decide.
RUNAWAY, RUNAWAY_SAMPLES = 1.5, 2
# A robot that has not moved after commands for this long does not get them, s.
PATIENCE = 15.0
# Paths from which on signs, and poses against velocities, are judged: m and rad.
JUDGED = Velocity(0.3, 1.0)
# Allowed ratio of the path by poses to that by velocities, and its inverse.
SAME_PATH = 1.5
# Share of a path that may go against its commands, with the lag of the robot.
AGAINST = 0.6
# Way from the first pose beyond which a robot has moved, m and rad.
DISPLACED = Velocity(0.05, 0.2)

_NAMES = ("v", "omega")
_UNITS = ("m/s", "rad/s")


class VelocityWatch:
    """Judges the motion of a robot by the largest |v| in m/s and |omega| in rad/s commanded.

    Attributes:
        twist_differs: Whether velocities contradict the poses, which may be right.
    """

    def __init__(self, limits: Velocity) -> None:
        self._limits = limits
        self.twist_differs = False
        self._first: Pose | None = None
        self._last: Pose | None = None
        self._silent = 0.0  # time with commands before the robot has moved, s
        self._moved = False
        # Of each axis: paths by velocities and by poses, and the path against the last command.
        self._paths = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        self._signs = [0.0, 0.0]
        self._fast = [0, 0]  # samples of each axis in a row that are too fast

    @property
    def fastest(self) -> Velocity:
        """Speeds above which the robot does not obey, m/s and rad/s."""
        return Velocity(RUNAWAY * self._limits.v, RUNAWAY * self._limits.omega)

    def update(self, command: Velocity, pose: Pose, velocity: Velocity, duration: float) -> str:
        """Return how a sample contradicts the commands up to it, or nothing; duration, s.

        `pose` and `velocity` are by odometry, m, rad and m/s, rad/s.
        """
        last, self._last = self._last or pose, pose
        self._first = self._first or pose
        for axis, (speed, most) in enumerate(zip(velocity, self.fastest, strict=True)):
            self._fast[axis] = self._fast[axis] + 1 if abs(speed) > most else 0
            if self._fast[axis] >= RUNAWAY_SAMPLES:
                return (
                    f"{_NAMES[axis]} = {speed:.3g} {_UNITS[axis]} by the odometry, but at most "
                    f"{self._limits[axis]:g} was commanded: check the odometry's scale, and the "
                    "driver"
                )
        if is_faster(velocity, self._limits, STANDING):
            self._moved = True
        elif not self._moved and command != REST:
            if self._displaced(pose):
                self.twist_differs = True
                return (
                    "the odometry contradicts itself: by its poses the robot has moved, by its "
                    "twist it stands: the twist must be filled in, in the robot's own frame "
                    "(child_frame_id)"
                )
            self._silent += duration
            if self._silent > PATIENCE:
                return (
                    f"the robot has not moved in {self._silent:.0f} s of commands: check that its "
                    "driver listens to this topic, and is enabled"
                )
        x, y = pose.x - last.x, pose.y - last.y
        forward = x * math.cos(last.theta) + y * math.sin(last.theta)
        turn = math.remainder(pose.theta - last.theta, math.tau)
        for axis, step in enumerate((forward, turn)):
            if problem := self._judge(axis, command[axis], velocity[axis], duration, step):
                return problem
        return ""

    def _displaced(self, pose: Pose) -> bool:
        """Whether it has moved by its poses, further than by its velocities."""
        first = self._first or pose
        turn = abs(math.remainder(pose.theta - first.theta, math.tau))
        distance = math.hypot(pose.x - first.x, pose.y - first.y)
        return any(
            moved > max(most, SAME_PATH * paths[0])
            for moved, most, paths in zip((distance, turn), DISPLACED, self._paths, strict=True)
        )

    def _judge(self, axis: int, command: float, speed: float, duration: float, step: float) -> str:
        paths, limit = self._paths[axis], self._limits[axis]
        if abs(command) > MOVING * limit:
            self._signs[axis] = math.copysign(1.0, command)
        paths[0] += abs(speed) * duration
        paths[1] += math.copysign(step, step * speed) if speed else 0.0
        paths[2] += abs(speed) * duration if speed * self._signs[axis] < 0.0 else 0.0
        name = _NAMES[axis]
        if paths[0] < JUDGED[axis]:
            return ""
        if not paths[0] / SAME_PATH <= paths[1] <= paths[0] * SAME_PATH:
            self.twist_differs = True
            return (
                f"the odometry contradicts itself: by {name} of its twist the robot has moved "
                f"{paths[0]:.2g} {'m' if axis == 0 else 'rad'}, by its poses {paths[1]:.2g}: the "
                "twist must be in the robot's own frame (child_frame_id), in m/s and rad/s"
            )
        if paths[2] > AGAINST * paths[0]:
            return (
                f"{name} of the odometry has the wrong sign: the robot moves against its commands; "
                "check the wheels' signs in the driver and the odometry"
            )
        return ""
