# SPDX-License-Identifier: Apache-2.0
"""Velocities that drive the robot to a pose at rest: the polar law, adapted for practical use.

Lages (2018), (7)-(15), and Lages (2017), (74)-(83). x_bar is the robot's pose in the goal's frame,
(e, psi, alpha) the same in polar coordinates, eta = [v, omega] the desired velocities. Additions
and their reasons: docs/theory/backstepping.md#approach.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from arc_odometry import UNLIMITED_RIMS, Pose, RimLimit, Velocity
from arc_odometry.number_range import check_limit, check_positive
from diffbot_controllers.laws import dual
from diffbot_controllers.laws.dual import Dual


@dataclass(frozen=True)
class ApproachGains:
    """Gains of the approach, each > 0, else a ValueError; a maximum may be infinite.

    Example:
        >>> ApproachGains(linear_velocity=1.0).gamma1
        5.0

    Attributes:
        gamma1: Rate at which the distance decays, 1/s; gamma_1 of the papers.
        gamma2: Rate at which the heading turns towards the goal, 1/s.
        ratio: lambda_3 / lambda_2, weight of the direction of arrival.
        linear_velocity: Maximum |v|, m/s; `angular_velocity`: maximum |omega|, rad/s.
        deceleration: With which the robot can stop at the goal, m/s^2.
        angular_deceleration: Likewise for turning towards the goal, rad/s^2.
        lateral_acceleration: Maximum |v omega|, m/s^2, at which the robot neither slides nor tips
            over; v is reduced to keep it.
        rims: Limit of the wheels' rim speed; v and omega are reduced together to keep it.
        near: Distance, m, at which the robot has arrived: from there on it only turns to the goal's
            heading and drives along its own axis.
    """

    gamma1: float = 5.0
    gamma2: float = 12.0
    ratio: float = 2.0
    linear_velocity: float = math.inf
    angular_velocity: float = math.inf
    deceleration: float = math.inf
    angular_deceleration: float = math.inf
    lateral_acceleration: float = math.inf
    rims: RimLimit = UNLIMITED_RIMS
    near: float = 0.004

    def __post_init__(self) -> None:
        check_positive(
            "approach gains",
            gamma1=self.gamma1,
            gamma2=self.gamma2,
            ratio=self.ratio,
            near=self.near,
        )
        check_limit(
            "approach gains",
            linear_velocity=self.linear_velocity,
            angular_velocity=self.angular_velocity,
            deceleration=self.deceleration,
            angular_deceleration=self.angular_deceleration,
            lateral_acceleration=self.lateral_acceleration,
        )


def offset_to_origin(pose: Pose, reference: Pose) -> Pose:
    """Return x_bar of (7) in the 2018 and (74) in the 2017 paper: m, m, rad; theta not wrapped."""
    dx, dy = pose.x - reference.x, pose.y - reference.y
    cos, sin = math.cos(reference.theta), math.sin(reference.theta)
    return Pose(cos * dx + sin * dy, -sin * dx + cos * dy, pose.theta - reference.theta)


def to_goal(pose: Pose, goal: Pose, near: float) -> tuple[float, float]:
    """Return the distance left along the robot's axis, m, and the turn left, rad, at the goal.

    Infinite if the robot is further away than LEAVE times `near`, m.
    """
    x, y, theta = offset_to_origin(pose, goal)
    if math.hypot(x, y) > LEAVE * near:
        return math.inf, math.inf
    return -(x * math.cos(theta) + y * math.sin(theta)), -math.remainder(theta, math.tau)


def moving_offset(
    pose: Pose, u: Velocity, reference: Pose, motion: Velocity
) -> tuple[Dual, Dual, Dual]:
    """Return x_bar and its rate while the robot moves with u and the reference with `motion`."""
    x, y, theta = offset_to_origin(pose, reference)
    theta = math.remainder(theta, math.tau)
    return (
        Dual(x, u.v * math.cos(theta) - motion.v + motion.omega * y),
        Dual(y, u.v * math.sin(theta) - motion.omega * x),
        Dual(theta, u.omega - motion.omega),
    )


# Alignment with the direction to the goal or from it.
FORWARDS, BACKWARDS = 1, -1
DIRECTIONS = {"forwards": (FORWARDS,), "backwards": (BACKWARDS,), "either": (FORWARDS, BACKWARDS)}

# Multiple of ApproachGains.near beyond which an arrived robot starts again.
LEAVE = 2.0


class PolarError(NamedTuple):
    """Robot's pose relative to the goal, (8)-(10) of the 2018 paper, (75)-(77) of the 2017 one.

    Attributes:
        e: Distance, m.
        psi: Direction of the line between robot and goal in the goal's frame, rad.
        alpha: Heading of the robot relative to that line, rad.
    """

    e: float
    psi: float
    alpha: float


class Approach:
    """eta = [v, omega] towards a goal at rest, and its rate of change; (14), (15), made practical.

    `direction` is "forwards", "backwards" or "either"; `error` holds e, psi, alpha.

    Example:
        >>> approach = Approach(ApproachGains(linear_velocity=1.0))
        >>> v, omega = approach.velocity(Dual(-2.0), Dual(0.0), Dual(0.0))  # 2 m before the goal
        >>> v.value, abs(omega.value)
        (1.0, 0.0)
    """

    # Share of the present direction's V below which another one is chosen.
    MARGIN = 0.7

    def __init__(self, gains: ApproachGains, direction: str = "either") -> None:
        if direction not in DIRECTIONS:
            raise ValueError(f"direction = {direction!r}: must be one of {', '.join(DIRECTIONS)}")
        self.gains = gains
        self._directions = DIRECTIONS[direction]
        self.reset()

    def reset(self) -> None:
        """Forget the driving direction, and that the robot has arrived."""
        self._psi: float | None = None
        self._arrived = False
        self.direction = self._directions[0]
        self.error = PolarError(0.0, 0.0, 0.0)

    def velocity(self, x: Dual, y: Dual, theta: Dual, v: float = 0.0) -> tuple[Dual, Dual]:
        """Return the velocities eta and their rates.

        Args:
            x, y: Position of the robot in the goal's frame, (7) or (74), m.
            theta: Heading relative to the goal's, rad.
            v: Present velocity, m/s, for the limits of lateral acceleration and rim speed.
        """
        eta1, eta2 = polar_velocity(x, y, theta, self.gains, self._angles, braking_gain)
        return self.bounded(eta1, eta2, v)

    def bounded(self, eta1: Dual, eta2: Dual, v: float) -> tuple[Dual, Dual]:
        """Return the velocities within the limits, at the present velocity v, m/s."""
        most = self.gains.angular_velocity
        if abs(eta2.value) > most:
            eta1 = eta1 * (most / (eta2 if eta2.value > 0.0 else -eta2))
            eta2 = dual.clamp(eta2, most)
        if abs(eta1.value * eta2.value) > self.gains.lateral_acceleration:
            slower = self.gains.lateral_acceleration / dual.absolute(eta2)
            eta1 = slower if eta1.value > 0.0 else -slower
        if abs(v * eta2.value) > self.gains.lateral_acceleration:
            eta2 = dual.clamp(eta2, self.gains.lateral_acceleration / abs(v))
        eta1 = dual.clamp(eta1, self.gains.linear_velocity)
        rims = self.gains.rims
        rim = dual.absolute(eta1) + rims.half_track * dual.absolute(eta2)
        if rim.value > rims.speed:
            fraction = rims.speed / rim
            eta1, eta2 = eta1 * fraction, eta2 * fraction
        if rims.rim(v, eta2.value) > rims.speed:
            eta2 = dual.clamp(eta2, rims.turning(v))
        return eta1, eta2

    def _angles(self, e: Dual, x: Dual, y: Dual, theta: Dual) -> tuple[Dual, Dual]:
        """Choose the driving direction and return its (psi, alpha)."""
        self._arrived = e.value <= self.gains.near * (LEAVE if self._arrived else 1.0)
        if self._arrived:
            self._psi = None
            self.error = PolarError(e.value, 0.0, theta.value)
            return Dual(0.0), theta
        candidates = []
        for direction in self._directions:
            psi = dual.atan2(-direction * y, -direction * x)
            candidates.append((self._cost(psi, theta), direction, psi))
        cost, direction, psi = min(candidates, key=lambda c: c[0])
        if self._psi is not None:
            # Continue the present choice; its psi may go beyond +-pi.
            _, own, kept = next(c for c in candidates if c[1] == self.direction)
            turns = math.tau * round((self._psi - kept.value) / math.tau)
            kept = kept + turns
            if cost > self.MARGIN * self._cost(kept, theta):
                direction, psi = own, kept
        self.direction, self._psi = direction, psi.value
        alpha = dual.wrap(theta - psi)
        self.error = PolarError(e.value, psi.value, alpha.value)
        return psi, alpha

    def _cost(self, psi: Dual, theta: Dual) -> float:
        alpha = math.remainder(theta.value - psi.value, math.tau)
        return alpha * alpha + self.gains.ratio * psi.value * psi.value


def polar_velocity(
    x: Dual,
    y: Dual,
    theta: Dual,
    gains: Any,
    angles: Callable[[Dual, Dual, Dual, Dual], tuple[Dual, Dual]],
    braking: Callable[[Dual, Any, Any, Any], Dual],
) -> tuple[Dual, Dual]:
    """Return (14), (15) with gains from which the robot can brake; numbers, or arrays of robots.

    Args:
        x, y, theta: As in Approach.velocity.
        gains: ApproachGains, or their fields as arrays.
        angles: Chooses psi and alpha for e, x, y and the wrapped theta.
        braking: braking_gain, or the same for arrays.
    """
    e = dual.hypot(x, y)
    ahead = -(x * dual.cos(theta) + y * dual.sin(theta))
    psi, alpha = angles(e, x, y, dual.wrap(theta))
    gamma1 = braking(e, gains.gamma1, gains.deceleration, gains.linear_velocity)
    gamma2 = braking(
        dual.absolute(alpha), gains.gamma2, gains.angular_deceleration, gains.angular_velocity
    )
    return gamma1 * ahead, turning(psi, alpha, gamma1, gamma2, gains.ratio)


def turning(psi: Dual, alpha: Dual, gamma1: Any, gamma2: Any, ratio: Any) -> Dual:
    """Return (15), rad/s; gammas in 1/s, ratio = lambda_3 / lambda_2."""
    cos = dual.cos(alpha)
    lateral: Dual = dual.sin(alpha) - ratio * psi * dual.sinc(alpha)
    rate: Dual = -gamma2 * alpha - gamma1 * cos * lateral
    return rate


def braking_gain(distance: Dual, gain: float, deceleration: float, most: float) -> Dual:
    """Return the gain speed / distance, 1/s, from which a robot can still brake to the goal.

    The speed is gain times the distance or, where this needs more than the deceleration a, sqrt(2 a
    distance - (a / gain)^2), and at most `most`; distance >= 0, m or rad.
    """
    if gain * gain * distance.value <= deceleration:
        if gain * distance.value <= most:
            return Dual(gain)
    else:
        root = dual.sqrt(2.0 * deceleration * distance - (deceleration / gain) ** 2)
        if root.value <= most:
            return root / distance
    return most / distance
