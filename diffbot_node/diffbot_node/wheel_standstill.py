"""Whether an angle that repeats itself belongs to a wheel that must be turning: stuck encoders.

What is followed is the least way that the wheel must have turned since its angle changed last.
With its speed u along s, the sign of its last motion (of its torque, where it stands), and
H = 1 / (M_e r^2) + b^2 / (I_e r^2), its acceleration by its own torque,

    u' >= H a (s tau - F - C),   u >= 0,   a = 1 / SPREAD where the bracket is > 0, else SPREAD

once for each delay of the torque, 0 to DELAYS steps. F = HELD x the torque limit bounds friction
and a slope that nobody has told; C is what the other wheel's torque and the coupling f(u) of (41),
Lages (2017), can do. The angle is stuck when the integral of s u exceeds a count with each delay,
and it has repeated itself exactly for STUCK_TIME and STUCK_STEPS at least. A wheel that is blocked,
or a robot that pushes a wall with more torque than F, looks the same; to stop is right then too.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from diffbot_description import Robot, RobotModel, closed_form
from diffbot_node.wheel_energy import DELAYS, SPREAD

# What may hold a wheel though the YAML does not tell, as a share of the torque limit: friction of
# half of it, and a slope.
HELD = 0.75
# Friction that the YAML does tell may be this many times more.
FRICTION_ERROR = 1.5
# Drivers may repeat an angle while they wait for their encoder: at 20 Hz for 0.05 s.
STUCK_TIME, STUCK_STEPS = 0.05, 2
SIDES = ("left", "right")


class WheelStandstill:
    """Follows the least way that one wheel must have turned while its angle repeats itself.

    Args:
        robot: its friction.
        model: of the robot, as its YAML describes it.
        side: 0 for the left wheel, 1 for the right one.
        limit: largest torque that will be commanded, N m.
    """

    def __init__(self, robot: Robot, model: RobotModel, side: int, limit: float) -> None:
        k, r, b = closed_form(model), model.wheel_radius, model.half_track
        self._radius, self._half_track = r, b
        # Accelerations of the wheel by its own torque and by the other's, rad/s^2 per N m.
        self._own = k.k7 / r - b * k.k8 / r
        self._cross = abs(k.k7 / r + b * k.k8 / r) / self._own
        self._coupling = abs(k.k5) / r / self._own, b * abs(k.k6) / r / self._own
        self._friction = max(HELD * limit, FRICTION_ERROR * robot.friction.coulomb[side])
        self._side = side
        self.reset()

    def reset(self) -> None:
        """Forget the motion. The torque before the next step counts as zero."""
        self._torques = deque([0.0] * (DELAYS + 1), DELAYS + 1)
        self._begin(0.0)

    def _begin(self, speed: float) -> None:
        self._before = speed
        self._speeds, self._ways = np.full(DELAYS + 1, speed), np.zeros(DELAYS + 1)
        self._time, self._steps = 0.0, 0

    def update(
        self,
        period: float,
        turn: tuple[float, float],
        torque: tuple[float, float],
        count: float,
    ) -> str:
        """Take in a step; see EnergyBalance.update for the arguments.

        Returns:
            What contradicts the angle that stands, with numbers; "" where nothing does.
        """
        own, other = turn[self._side], turn[1 - self._side]
        self._torques.append(torque[self._side])
        if own != 0.0:
            self._begin(math.copysign(max(abs(own) - count, 0.0) / period, own))
            return ""
        way = 0.5 * self._radius * other / period
        bend = way / self._half_track  # the size of the yaw rate: this wheel stands
        coupling = self._coupling[0] * bend**2 + self._coupling[1] * abs(way * bend)
        load = self._friction + self._cross * abs(torque[1 - self._side]) + coupling
        self._advance(period, load)
        least = float(np.abs(self._ways).min())
        if self._time < STUCK_TIME or self._steps < STUCK_STEPS or least <= count:
            return ""
        return (
            f"the {SIDES[self._side]} wheel's angle has stood still for {self._time:.3f} s, but "
            f"from {self._before:.3g} rad/s and under {torque[self._side]:.3g} N m it must have "
            f"turned by at least {least:.3g} rad"
        )

    def _advance(self, period: float, load: float) -> None:
        """Follow the least speeds over a step in which the angle has stood still."""
        speeds, torques = self._speeds, np.array(self._torques)
        direction = np.sign(np.where(speeds == 0.0, torques, speeds))
        net = direction * torques - load
        acceleration = self._own * net * np.where(net > 0.0, 1.0 / SPREAD, SPREAD)
        size = np.abs(speeds)
        if self._steps == 0:
            # The speed before is a mean over a step, that in its middle.
            size = np.maximum(size + np.minimum(acceleration, 0.0) * 0.5 * period, 0.0)
        after = np.maximum(size + acceleration * period, 0.0)
        self._ways += direction * 0.5 * (size + after) * period
        self._speeds = direction * after
        self._time += period
        self._steps += 1
