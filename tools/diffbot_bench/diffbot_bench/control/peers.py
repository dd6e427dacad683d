# SPDX-License-Identifier: Apache-2.0
"""What others drive robots with: regulated pure pursuit, a kinematic law, and PI loops on wheels.

Regulated pure pursuit is that of Nav2, after S. Macenski, S. Singh, F. Martin, J. Gines, Regulated
Pure Pursuit for Robot Path Tracking, Autonomous Robots 47 (2023), without its costmap terms, with
Nav2's default parameters. The kinematic law is that of Y. Kanayama et al. (1990) with the gains of
G. Klancar et al. (2005).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from arc_odometry import Pose, Velocity, WheelGeometry
from diffbot_bench.independent_plant import Array
from diffbot_controllers import State
from diffbot_controllers.velocity_tracking.law import pose_error
from diffbot_description import Torque
from pose2d_trajectories import Reference

# Nav2's defaults: time and distances of the look-ahead, s and m; radius below which the speed
# falls, m, and its least value, m/s; distance of the approach, m, and its least speed, m/s.
LOOK_TIME, LOOK_LEAST, LOOK_MOST = 1.5, 0.3, 0.9
SLOW_RADIUS, SLOW_SPEED = 0.9, 0.25
APPROACH, APPROACH_SPEED = 0.6, 0.05
RATE = 20.0  # Hz, of Nav2's controller server
# Distance along the path within which progress is searched, m.
SEARCHED = 1.0


class VelocityLaw(Protocol):
    """Turns a pose and velocity at a time, s, into a velocity command."""

    def command(self, time: float, pose: Pose, velocity: Velocity) -> Velocity:
        """Return v, m/s, and omega, rad/s."""


class PathProgress:
    """How far along a path a robot is: the nearest point, searched ahead of the last one.

    `points`: (n, 2), m, at equal distances.
    """

    def __init__(self, points: Array) -> None:
        self.points, self.index = points, 0
        steps = np.hypot(*np.diff(points, axis=0).T)
        self.lengths = np.concatenate(((0.0,), np.cumsum(steps)))
        self._ahead = max(2, int(SEARCHED / max(float(steps.mean()), 1e-6)))

    def update(self, x: float, y: float) -> float:
        """Return the distance from the path, m."""
        near = self.points[self.index : self.index + self._ahead]
        away = np.hypot(near[:, 0] - x, near[:, 1] - y)
        nearest = int(away.argmin())
        self.index += nearest
        return float(away[nearest])

    @property
    def fraction(self) -> float:
        """Share of the path behind."""
        return float(self.lengths[self.index] / self.lengths[-1])


class RegulatedPurePursuit:
    """Follows a path, (n, 2) in m, at `speed`, m/s, without a schedule."""

    def __init__(self, points: Array, speed: float) -> None:
        self._progress, self._speed = PathProgress(points), speed
        self._due, self._command = -math.inf, Velocity(0.0, 0.0)

    def command(self, time: float, pose: Pose, velocity: Velocity) -> Velocity:
        """See VelocityLaw; a new command every 1 / RATE s."""
        if time >= self._due:
            self._due = time + 1.0 / RATE - 1e-9
            self._command = self._new(pose, velocity)
        return self._command

    def _new(self, pose: Pose, velocity: Velocity) -> Velocity:
        progress = self._progress
        progress.update(pose.x, pose.y)
        look = min(max(abs(velocity.v) * LOOK_TIME, LOOK_LEAST), LOOK_MOST)
        rest = progress.points[progress.index :]
        away = np.hypot(rest[:, 0] - pose.x, rest[:, 1] - pose.y)
        beyond = np.flatnonzero(away >= look)
        carrot = rest[beyond[0]] if len(beyond) else rest[-1]
        dx, dy = (carrot - (pose.x, pose.y)).tolist()
        lateral = -math.sin(pose.theta) * dx + math.cos(pose.theta) * dy
        curvature = 2.0 * lateral / max(dx * dx + dy * dy, 1e-6)
        v = self._speed
        if abs(curvature) * SLOW_RADIUS > 1.0:
            v = max(v / (abs(curvature) * SLOW_RADIUS), min(SLOW_SPEED, self._speed))
        left = float(progress.lengths[-1] - progress.lengths[progress.index])
        if left < APPROACH:
            v = min(v, max(self._speed * left / APPROACH, APPROACH_SPEED))
        if left < 0.01:
            return Velocity(0.0, 0.0)
        return Velocity(v, v * curvature)


# Of Klancar's gains: damping ratio, and weight of the lateral error.
DAMPING, LATERAL = 0.7, 10.0


@dataclass
class KinematicLaw:
    """Kanayama's law: follows a timed reference by velocities, as if the robot had no dynamics."""

    def command_for(self, reference: Reference, pose: Pose) -> Velocity:
        """Return v, m/s, and omega, rad/s."""
        along, aside, turned = pose_error(reference, pose)
        v, omega = reference.v, reference.omega
        gain = 2.0 * DAMPING * math.sqrt(omega**2 + LATERAL * v**2)
        sinc = math.sin(turned) / turned if abs(turned) > 1e-6 else 1.0
        return Velocity(
            v * math.cos(turned) + gain * along,
            omega + LATERAL * v * sinc * aside + gain * turned,
        )


# Natural frequency of the wheels' loops, rad/s, with damping 1: at most LOOP, and PHASE over their
# dead time.
LOOP, PHASE = 15.0, 0.3


class SpeedLoops:
    """A PI loop on the speed of each wheel, as ros2_control's pid_controller has it.

    A D part is 0: on a wheel that a torque accelerates it only adds noise. The gains are those of
    two equal poles for the true inertia and dead time, better than a user knows them.

    Args:
        inertia: Torque of a wheel over its acceleration when both accelerate, kg m^2.
        limit: Largest torque, N m; the integral stops there.
        late: Time from a speed to the torque that answers it, s.
    """

    def __init__(self, geometry: WheelGeometry, inertia: float, limit: float, late: float) -> None:
        self._geometry, self._limit = geometry, limit
        fast = min(LOOP, PHASE / late)
        self._gain, self._integral_gain = 2.0 * fast * inertia, fast**2 * inertia
        self._integrals = [0.0, 0.0]

    def torque(self, wanted: Velocity, measured: Velocity, dt: float) -> Torque:
        """Return the torques [left, right], N m, for wanted and measured v and omega."""
        torques = []
        speeds = zip(
            self._geometry.wheel_velocity(wanted.v, wanted.omega),
            self._geometry.wheel_velocity(measured.v, measured.omega),
            strict=True,
        )
        for k, (goal, now) in enumerate(speeds):
            error = goal - now
            torque = self._gain * error + self._integrals[k] + self._integral_gain * error * dt
            if abs(torque) <= self._limit:
                self._integrals[k] += self._integral_gain * error * dt
            torques.append(min(max(torque, -self._limit), self._limit))
        return torques[0], torques[1]


class TimedKinematics:
    """KinematicLaw or RegulatedPurePursuit with loops on the wheels, as a law of torques."""

    def __init__(self, loops: SpeedLoops, path_law: VelocityLaw | None = None) -> None:
        self._loops, self._path_law, self._kinematic = loops, path_law, KinematicLaw()
        self._time = 0.0

    def update(self, state: State, reference: Reference, dt: float) -> Torque:
        self._time += dt
        if self._path_law is None:
            wanted = self._kinematic.command_for(reference, state.pose)
        else:
            wanted = self._path_law.command(self._time, state.pose, state.velocity)
        return self._loops.torque(wanted, state.velocity, dt)
