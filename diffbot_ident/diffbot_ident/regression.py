"""From joint states to rows of the two linear regressions of the robot's model.

Lages (2017), (41)-(55), with u = [v, omega] the **body** velocity and torques [left, right]:

    dv/dt     = K5 omega^2 + K7 (tau_l + tau_r)   -> phi_1 = [omega^2, tau_l + tau_r]
    domega/dt = K6 v omega + K8 (tau_l - tau_r)   -> phi_2 = [v omega, tau_l - tau_r]

The paper's Listing 4 takes wheel speeds for u and pairs an acceleration with a torque without
saying over which interval either holds. Here the times are kept straight. The effort of the joint
state at t_k acted over (t_{k-1}, t_k]. What a velocity stands for depends on where it comes from,
hence the two classes below. Both turn three moments into one row that is exact, in the torque,
for any torque that is constant over each control period and for uneven periods too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from arc_odometry import JointSample, WheelGeometry


@dataclass(frozen=True)
class Row:
    """One row of each regression.

    Attributes:
        linear: (phi_1, dv/dt): regressors [omega^2 in (rad/s)^2, tau_l + tau_r in N m] and m/s^2.
        angular: (phi_2, domega/dt): [v omega in m/s rad/s, tau_l - tau_r in N m] and rad/s^2.
        velocity: body velocity (v, omega) at the end of the row, m/s and rad/s.
    """

    linear: tuple[tuple[float, float], float]
    angular: tuple[tuple[float, float], float]
    velocity: tuple[float, float]


class Regression(Protocol):
    """Turns joint samples into rows."""

    velocity: tuple[float, float] | None

    def reset(self) -> None:
        """Forget the samples so far, as after a gap in time."""

    def push(self, sample: JointSample) -> Row | None:
        """Take in the next sample; None while there are too few. Stamps must increase."""


def _row(
    before: tuple[float, float],
    after: tuple[float, float],
    span: float,
    torque: tuple[float, float],
) -> Row:
    """Row from two body velocities `span` seconds apart and the mean torque between them.

    The products take one factor from either velocity: their noises are nearly independent, so the
    mean of a product is not raised by the noise's variance as that of a square would be.
    """
    (v0, w0), (v1, w1) = before, after
    left, right = torque
    return Row(
        linear=((w0 * w1, left + right), (v1 - v0) / span),
        angular=((0.5 * (v0 * w1 + v1 * w0), left - right), (w1 - w0) / span),
        velocity=after,
    )


class PositionRegression:
    """Velocities from differences of wheel angles, whatever the driver's velocities are.

    A difference of angles is the mean velocity over a period, i.e. the velocity at its middle for
    constant acceleration. Two of them are half of either period apart, and between them each
    period's torque acted for half of its length: with dt_1, dt_2 the lengths,

        u_2 - u_1 = (dt_1 a_1 + dt_2 a_2) / 2,   a_i from the effort reported at the end of i.

    Pairing with one effort alone is half a sample off and biases K7 and K8.
    """

    def __init__(self, geometry: WheelGeometry) -> None:
        self._geometry = geometry
        self.reset()

    def reset(self) -> None:
        """Forget the samples so far."""
        self._last: JointSample | None = None
        self._period = 0.0
        self.velocity: tuple[float, float] | None = None

    def push(self, sample: JointSample) -> Row | None:
        """Take in the next sample; the first row comes with the third one."""
        last, before, period = self._last, self.velocity, self._period
        self._last = sample
        if last is None:
            return None
        self._period = sample.stamp - last.stamp
        # Encoders may wrap; half a turn in one period is far beyond any wheel's speed.
        turned = [
            math.remainder(new - old, math.tau)
            for new, old in zip(sample.position, last.position, strict=True)
        ]
        length, turn = self._geometry.body_velocity(*turned)
        self.velocity = (length / self._period, turn / self._period)
        if before is None:
            return None
        total = period + self._period
        left, right = (
            (period * old + self._period * new) / total
            for old, new in zip(last.effort, sample.effort, strict=True)
        )
        return _row(before, self.velocity, 0.5 * total, (left, right))


class VelocityRegression:
    """Velocities as the driver reports them, taken as momentary values at the stamp.

    For drivers whose velocities are better than differences of their angles. A driver's filter
    delays velocities, which biases K7 and K8.
    """

    def __init__(self, geometry: WheelGeometry) -> None:
        self._geometry = geometry
        self.reset()

    def reset(self) -> None:
        """Forget the samples so far."""
        self._stamp = 0.0
        self.velocity: tuple[float, float] | None = None

    def push(self, sample: JointSample) -> Row | None:
        """Take in the next sample; the first row comes with the second one."""
        before, period = self.velocity, sample.stamp - self._stamp
        self._stamp = sample.stamp
        self.velocity = self._geometry.body_velocity(*sample.velocity)
        if before is None:
            return None
        return _row(before, self.velocity, period, sample.effort)
