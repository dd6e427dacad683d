# SPDX-License-Identifier: Apache-2.0
"""Whether the wheels of a robot that takes velocities slip: they run ahead of their drive.

What the wheels turn in a step follows from what they turned before, the commands, and the yaw rate
of a gyro. It is learnt from the first turns, by least squares; later errors in the direction of the
turn are summed up. Where the ground gives way, the driver's controllers still push as before, and
the wheels run ahead. Derivation: docs/theory/velocity_robots.md#slip.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from arc_odometry import Velocity
from arc_odometry.number_range import Array

# Shortest step, and longest time between two samples, s.
STEP, LONGEST_GAP = 0.04, 0.25
# Steps of commands, of velocities and of the gyro that predict the next.
COMMANDS, VELOCITIES, READINGS = 12, 3, 3
# Least yaw rate of a turn that is judged, as a fraction of the largest command.
LEAST_TURN = 0.05
# Time of turns from which is learnt, and by which that is verified then, s.
LEARNT, VERIFIED = 30.0, 15.0
# Error that is expected of each step, and sum beyond it at which wheels slip, standard deviations.
# Independent normal errors sum up to so much once in 1e12 steps (Siegmund).
EXPECTED, LEAST_SUM = 3.0, 4.0
# The same over the largest sum while it was verified: errors may have longer tails.
SAFETY = 2.0
RIDGE = 1e-3


class SlipWatch:
    """Learns how the wheels turn a robot on its ground, then tells when they run ahead.

    Args:
        limits: Largest commands, m/s and rad/s, > 0.
    """

    def __init__(self, limits: Velocity) -> None:
        self._limits = limits
        size = 2 * COMMANDS + 2 * VELOCITIES + READINGS
        self._moments, self._products = RIDGE * np.eye(size), np.zeros(size)
        self._squares = 0.0
        self._rows = self._verified = 0
        self._weights: Array = np.zeros(size)
        self._inverse: Array = np.eye(size)
        self._error = math.inf  # standard deviation, fraction of the largest command
        self._threshold = LEAST_SUM
        self._turned = 0.0  # time of turns so far, s
        self.reset()

    def reset(self) -> None:
        """Forget the motion, as after a stop; what was learnt stays."""
        self._steps: deque[tuple[float, ...]] = deque(maxlen=COMMANDS + 1)
        self._sum = 0.0
        self._since = np.zeros(6)  # time, and integrals over it
        self._stamp: float | None = None

    @property
    def missing(self) -> float:
        """Time of turns that is needed before it can tell slip, s; 0: it can."""
        return max(0.0, LEARNT + VERIFIED - self._turned)

    @property
    def error(self) -> float:
        """Half width of the 95 % interval of a prediction, rad/s."""
        return 1.96 * self._error * self._limits.omega

    def update(self, stamp: float, wheels: Velocity, command: Velocity, yaw_rate: float) -> str:
        """Return how the wheels slip; empty if they do not, or it cannot be told yet.

        Args:
            stamp: Of the wheels' velocities, s.
            wheels: v and omega of the wheels, m/s and rad/s; not of a filter that knows the gyro.
            command: Held since the previous update, m/s and rad/s.
            yaw_rate: Mean of the gyro since then, rad/s.
        """
        before, self._stamp = self._stamp, stamp
        if before is None:
            return ""
        if not 0.0 < stamp - before <= LONGEST_GAP:
            self.reset()
            return ""
        period = stamp - before
        # Means over a step have less noise than its ends.
        self._since += period * np.array((1.0, *command, yaw_rate, *wheels))
        lasted = float(self._since[0])
        if lasted < STEP:
            return ""
        means = self._since[1:] / lasted
        self._since = np.zeros(6)
        v, omega = self._limits
        self._steps.append(
            (means[4] / omega, means[3] / v, means[2] / omega, means[1] / omega, means[0] / v)
        )
        return self._take(lasted) if len(self._steps) == self._steps.maxlen else ""

    def _take(self, lasted: float) -> str:
        steps = np.array(self._steps)[::-1]  # the newest first
        turn = float(steps[0, 0])
        row = np.concatenate(
            (
                steps[:COMMANDS, 3:].ravel(),
                steps[1 : VELOCITIES + 1, :2].ravel(),
                steps[:READINGS, 2],
            )
        )
        turns = abs(turn) > LEAST_TURN
        if turns and self.missing > 0.0:
            self._turned += lasted
        if self._turned < LEARNT:
            self._learn(row, turn)
            return ""
        if not math.isfinite(self._error):
            self._solve()
        ahead = turn - float(self._weights @ row)
        leverage = 1.0 + float(row @ self._inverse @ row)
        score = math.copysign(1.0, turn) * ahead / (self._error * math.sqrt(leverage))
        self._sum = max(0.0, self._sum + (score if turns else 0.0) - EXPECTED)
        if self.missing > 0.0:
            self._verify(score if turns else 0.0)
            return ""
        if self._sum < self._threshold:
            return ""
        self._sum = 0.0
        return (
            f"the wheels turn the robot at {turn * self._limits.omega:.3g} rad/s, "
            f"{abs(ahead) * self._limits.omega:.2g} rad/s faster than they did on the ground on "
            f"which it began to drive (± {self.error * math.sqrt(leverage):.2g} rad/s)"
        )

    def _learn(self, row: Array, turn: float) -> None:
        self._moments += np.outer(row, row)
        self._products += turn * row
        self._squares += turn * turn
        self._rows += 1

    def _solve(self) -> None:
        self._inverse = np.asarray(np.linalg.inv(self._moments), np.float64)
        self._weights = self._inverse @ self._products
        left = self._squares - float(self._weights @ self._products)
        self._error = math.sqrt(max(left, 1e-12) / max(self._rows - len(self._weights), 1))

    def _verify(self, score: float) -> None:
        """Widen the interval and the threshold if motion that was not learnt from asks for it."""
        self._verified += 1
        self._threshold = max(self._threshold, SAFETY * self._sum)
        if abs(score) > EXPECTED:
            # Errors that are larger than learnt: their variance counts as that of the whole.
            self._error *= math.sqrt(1.0 + (score * score - 1.0) / (self._rows + self._verified))
