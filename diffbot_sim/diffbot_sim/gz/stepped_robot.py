# SPDX-License-Identifier: Apache-2.0
"""The robot in a simulator that stands still between control periods: its samples, its true pose.

Gazebo's physics (DART) first changes the speeds by a step's accelerations and then moves
everything by the new speeds: positions are half a step ahead of the speeds. At 1 ms this is a
twentieth of a control period between torque and motion, which the identification takes for
physics: K6 comes out wrong by percents. So positions are set back by half a step.

DART takes a joint's viscous friction at the speed of the end of the step, and does so for the
wheel by itself, before the floor comes into it: the wheel gets T / (I + step c) instead of T / I
(spin inertia I, viscous friction c), and what the floor adds does not undo that. The robot agv
would so get all torques 0.4 and 0.7 % too small. So they are made larger by the same factor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from arc_odometry import JointSample
from diffbot_description import Robot, wheel_friction
from diffbot_sim.virtual_robot import Actuator, Encoders

NANOSECONDS = 1_000_000_000
# A wheel at rest that changes its speed by less than this in a period was not driven, rad/s.
AT_REST = 1e-6
# Torques below this move too little to be sure of that, N m.
SURE_TORQUE = 0.01
# Poses further apart than this give no velocity, s.
LONGEST_GAP = 0.1


def moves_at_any_torque(robot: Robot) -> bool:
    """Whether nothing keeps a wheel from turning under a small torque: no friction, no drive."""
    holding = [law.breakaway(way) for law in wheel_friction(robot) for way in (1.0, -1.0)]
    return not any((*holding, *robot.drive.dead_band, robot.contact.caster_friction))


def damping_gains(robot: Robot, step: float) -> tuple[float, float]:
    """Factors [left, right] by which DART makes torques too small, for a step of its physics, s."""
    left, right = (1.0 + step * c / robot.wheels.inertia_spin for c in robot.friction.viscous)
    return left, right


@dataclass(frozen=True)
class WheelReading:
    """What the simulator says of the wheels; pairs are ordered [left, right].

    Attributes:
        stamp: simulated time, ns.
        angles: rad, unwrapped, set back by half a step.
        velocities: rad/s.
    """

    stamp: int
    angles: tuple[float, float]
    velocities: tuple[float, float]


class SteppedRobot:
    """Makes the samples of the suite's contract from a simulator that is advanced by periods.

    A period begins with a command. Its torque has to be in the simulator before the simulator is
    advanced by one period (`step`); the first reading at or after the end of the period gives the
    sample. Every sample so has one torque that acted over the whole of its period, and which one
    is known and not guessed.

    Args:
        actuator: from commanded to reported and acting torque.
        encoders: from wheel angles to measured angles and speeds.
        period: control period, s; a whole number of the simulator's steps.
        grips: whether a torque of 0.01 N m always moves a wheel (no friction in its bearing).

    Attributes:
        acting: torque [left, right] in N m that the simulator has to hold in the present period.
        ignored: periods in which the torque was sent and did not act; it was reported as 0.
    """

    def __init__(
        self, actuator: Actuator, encoders: Encoders, period: float, grips: bool = True
    ) -> None:
        self._actuator = actuator
        self._encoders = encoders
        self._period = round(period * NANOSECONDS)
        self._grips = grips
        self._reading = WheelReading(0, (0.0, 0.0), (0.0, 0.0))
        self._reported = (0.0, 0.0)
        self._target: int | None = None
        self._driven = False
        self.acting = (0.0, 0.0)
        self.ignored = 0

    def begin(self, reading: WheelReading) -> JointSample:
        """Take the first reading; returns the first sample, in which no torque has acted."""
        self._encoders.reset(reading.angles)
        return self._sample(reading, (0.0, 0.0))

    def command(self, torque: tuple[float, float]) -> tuple[float, float]:
        """Begin a period with a command [left, right] in N m; returns the torque to send.

        Raises:
            ValueError: a command is not finite; nothing has changed then.
        """
        self._reported, self.acting = self._actuator.apply(torque)
        return self.acting

    def step(self) -> None:
        """The simulator is about to be advanced by one period."""
        self._target = self._reading.stamp + self._period

    def read(self, reading: WheelReading) -> JointSample | None:
        """Take a reading; returns the sample if the period has ended with it."""
        if self._target is None or reading.stamp < self._target:
            return None
        self._target = None
        return self._sample(reading, self._torque_that_acted(reading))

    def _torque_that_acted(self, reading: WheelReading) -> tuple[float, float]:
        # The first torque of a run may be lost where two programs have just met.
        if self._driven or not self._grips or max(map(abs, self.acting)) < SURE_TORQUE:
            return self._reported
        before = self._reading.velocities
        changes = (abs(b - a) for a, b in zip(before, reading.velocities, strict=True))
        if max(changes) < AT_REST:
            self.ignored += 1
            return 0.0, 0.0
        self._driven = True
        return self._reported

    def _sample(self, reading: WheelReading, effort: tuple[float, float]) -> JointSample:
        self._reading = reading
        position, velocity = self._encoders.read(reading.angles, reading.velocities)
        return JointSample(reading.stamp / NANOSECONDS, position, velocity, effort)


class GzPose:
    """Sets poses back by half a step of the physics and derives velocities.

    Gazebo's own velocities are not used: where the heading passes ±pi, its yaw rate is wrong by
    hundreds of rad/s for some samples.

    Args:
        step: of the physics, s.
    """

    def __init__(self, step: float) -> None:
        self._step = step
        self._last: tuple[float, float, float, float] | None = None

    def update(
        self, stamp: float, x: float, y: float, theta: float
    ) -> tuple[tuple[float, float, float], tuple[float, float]]:
        """Take the pose that Gazebo gives for a time.

        Args:
            stamp: s.
            x: m.
            y: m.
            theta: rad, may be wrapped.

        Returns:
            (x, y, theta) at that time, and the velocity (m/s forward, rad/s) since the last pose;
            0 where there is none within 0.1 s.
        """
        last, self._last = self._last, (stamp, x, y, theta)
        if last is None or not 0.0 < stamp - last[0] <= LONGEST_GAP:
            return (x, y, theta), (0.0, 0.0)
        period = stamp - last[0]
        vx, vy = (x - last[1]) / period, (y - last[2]) / period
        omega = math.remainder(theta - last[3], math.tau) / period
        middle = theta - 0.5 * omega * period
        back = 0.5 * self._step
        pose = (x - back * vx, y - back * vy, theta - back * omega)
        return pose, (vx * math.cos(middle) + vy * math.sin(middle), omega)
