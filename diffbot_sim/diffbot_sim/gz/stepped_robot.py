# SPDX-License-Identifier: Apache-2.0
"""Samples and true pose of a robot in a simulator that stands still between control periods.

Two errors of Gazebo's physics are corrected: docs/theory/simulators.md#gazebo-of-a-ros-2-install.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from arc_odometry import JointSample
from diffbot_description import Robot, wheel_friction
from diffbot_description.robot import Pair
from diffbot_sim.simulator import Triple
from diffbot_sim.virtual_robot import Actuator, Encoders

NANOSECONDS = 1_000_000_000
# Smallest change of a wheel's speed in a period by a torque, rad/s, and smallest torque, N m, for
# which this test is reliable.
AT_REST, SIGNIFICANT_TORQUE = 1e-6, 0.01
# Between two poses from which a velocity is derived, s.
LONGEST_GAP = 0.1


def moves_at_any_torque(robot: Robot) -> bool:
    """Whether no dry friction and no dead band keep a wheel from turning under a small torque."""
    holding = [
        law.breakaway(direction) for law in wheel_friction(robot) for direction in (1.0, -1.0)
    ]
    return not any((*holding, *robot.drive.dead_band, robot.contact.caster_friction))


def damping_gains(robot: Robot, step: float) -> Pair:
    """Return factors [left, right] that correct DART's damping of torques, for a step in s."""
    left, right = (1.0 + step * c / robot.wheels.inertia_spin for c in robot.friction.viscous)
    return left, right


@dataclass(frozen=True)
class WheelReading:
    """Wheel states at a stamp, ns: angles, rad, set back by half a step, and speeds, rad/s."""

    stamp: int
    angles: Pair
    velocities: Pair


class SteppedRobot:
    """Makes joint samples from a simulator that is advanced period by period.

    A command's torque must have reached the simulator before `step`; the first reading at or after
    the end of the period (s) gives the sample, with a single, known torque. `grips`: whether a
    torque of 0.01 N m always moves a wheel.

    Attributes:
        acting: Torque [left, right], N m, of the present period.
        ignored: Number of periods in which the torque did not act; 0 was reported.
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
        """Process the first reading; return the first sample, in which no torque has acted."""
        self._encoders.reset(reading.angles)
        return self._sample(reading, (0.0, 0.0))

    def command(self, torque: Pair) -> Pair:
        """Begin a period with a command [left, right] in N m; return the torque to send."""
        self._reported, self.acting = self._actuator.apply(torque)
        return self.acting

    def step(self) -> None:
        """Note that the simulator is about to be advanced by one period."""
        self._target = self._reading.stamp + self._period

    def read(self, reading: WheelReading) -> JointSample | None:
        """Process a reading; return the sample if the period has ended with it."""
        if self._target is None or reading.stamp < self._target:
            return None
        self._target = None
        return self._sample(reading, self._torque_that_acted(reading))

    def _torque_that_acted(self, reading: WheelReading) -> Pair:
        # The first torque of a run may be lost while the programs still discover each other.
        if self._driven or not self._grips or max(map(abs, self.acting)) < SIGNIFICANT_TORQUE:
            return self._reported
        before = self._reading.velocities
        changes = (abs(b - a) for a, b in zip(before, reading.velocities, strict=True))
        if max(changes) < AT_REST:
            self.ignored += 1
            return 0.0, 0.0
        self._driven = True
        return self._reported

    def _sample(self, reading: WheelReading, effort: Pair) -> JointSample:
        self._reading = reading
        position, velocity = self._encoders.read(reading.angles, reading.velocities)
        return JointSample(reading.stamp / NANOSECONDS, position, velocity, effort)


class GzPose:
    """Sets poses back by half a step of the physics (s) and derives velocities.

    Gazebo's own yaw rate is wrong by hundreds of rad/s as the heading passes ±pi.
    """

    def __init__(self, step: float) -> None:
        self._step = step
        self._last: tuple[float, float, float, float] | None = None

    def update(self, stamp: float, x: float, y: float, theta: float) -> tuple[Triple, Pair]:
        """Return pose (m, m, rad) and mean velocity (m/s, rad/s) since the last one, 0 after a gap.

        The stamp is in s; theta may be wrapped.
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
