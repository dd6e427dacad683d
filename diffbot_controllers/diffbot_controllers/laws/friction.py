# SPDX-License-Identifier: Apache-2.0
"""Friction of the wheels and of the floor in a control law: feed-forward, breakaway and rest.

Equations: docs/theory/friction_feedforward.md; the model is FrictionLaw of diffbot_description.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

from arc_odometry import UNLIMITED_RIMS, RimLimit, Velocity, WheelGeometry
from arc_odometry.number_range import check_finite, check_limit, check_positive, within
from diffbot_description import DynamicParameters, FrictionLaw, Robot, Torque, wheel_friction
from diffbot_description.dynamics import NO_FRICTION, turning_resistance

Laws = tuple[FrictionLaw[float], FrictionLaw[float]]

# Rim speeds, m/s: below SLOW the desired speed gives the direction of friction, which is
# compensated in proportion below SMOOTH.
SLOW, SMOOTH = 0.02, 5e-4
# A wheel that must start gets an extra torque: it grows by the breakaway torque in START s, up to
# MOST of it, in case its friction is larger than described.
START, MOST = 0.5, 0.6
STILL = 1e-4  # a wheel with a lower rim speed, m/s, is at rest
BREAK = 1.02  # starting torque of a wheel as a multiple of its breakaway torque
ITERATIONS = 20  # maximum number of Gauss-Seidel iterations for the friction of the wheels


@dataclass(frozen=True)
class KnownWheels:
    """Known properties of the wheels [left, right], in addition to K5..K8.

    Example:
        >>> from diffbot_description import load_robot
        >>> wheels = KnownWheels.of(load_robot("twil"))
        >>> wheels.counts, wheels.hold
        (4096, False)

    Attributes:
        torque: Maximum torque of a wheel, N m, > 0; friction must not exceed it.
        counts: Encoder counts per revolution; 0: exact.
        delay: From a command to its torque, s, >= 0; only the observer predicts over it.
        observer: Whether an observer estimates the motion; if not, the State's velocity is used.
        integral: Whether accelerations that the model cannot explain are compensated.
        limit: Maximum commanded torque of a wheel, N m, > 0; infinite: `torque`.
        rise: Minimum time in which a law's torque rises from 0 to its limit, s, >= 0.
        turning: Moment with which the floor resists turning, over the yaw rate, N m.
        rims: Limit of the wheels' rim speed; laws made by tuning.py keep it.
    """

    geometry: WheelGeometry
    friction: Laws
    torque: float
    counts: int = 0
    delay: float = 0.0
    observer: bool = True
    integral: bool = True
    limit: float = math.inf
    rise: float = 0.0
    turning: FrictionLaw[float] = NO_FRICTION
    rims: RimLimit = UNLIMITED_RIMS

    def __post_init__(self) -> None:
        check_positive("wheels", torque=self.torque)
        check_limit("wheels", limit=self.limit)
        check_finite("wheels", counts=self.counts, delay=self.delay, rise=self.rise)
        for name, value in (("counts", self.counts), ("delay", self.delay), ("rise", self.rise)):
            if value < 0.0:
                raise ValueError(f"wheels: {name} = {value}: must be >= 0")
        check_breakaway(self.friction, self.torque)
        if not self.turning_torque <= self.torque:
            raise ValueError(
                f"turning.coulomb = {self.turning.coulomb:g} N m takes {self.turning_torque:g} N m "
                f"of each wheel: must be <= {self.torque:g} N m, their largest torque, else the "
                "robot never turns; correct turning, or limits.torque, in the robot's YAML"
            )

    @classmethod
    def of(cls, robot: Robot, counts: int | None = None, delay: float = 0.0) -> KnownWheels:
        """Return the wheels of a robot's file; counts None: its own; delay in s."""
        return cls(
            robot.geometry,
            wheel_friction(robot),
            robot.limits.torque,
            robot.encoder.counts if counts is None else counts,
            delay,
            turning=turning_resistance(robot),
            rims=robot.rim_limit,
        )

    @property
    def resolution(self) -> float:
        """Path of a wheel per encoder count, m; 0 with exact encoders."""
        radius = max(self.geometry.left_radius, self.geometry.right_radius)
        return radius * math.tau / self.counts if self.counts else 0.0

    @property
    def turning_torque(self) -> float:
        """Minimum torque that the floor's resistance takes from each wheel in a turn, N m."""
        return self.torque_of_moment(self.turning.coulomb)

    def torque_of_moment(self, moment: float) -> float:
        """Return the larger of the two wheel torques that balance a moment, N m, >= 0."""
        return max(map(abs, self.geometry.wheel_torque(0.0, moment)))

    @property
    def hold(self) -> bool:
        return holds(self.friction)


def check_breakaway(laws: Laws, torque: float) -> None:
    """Reject friction that a wheel's torque, N m, could never overcome, by a ValueError.

    Compensating it would command full torque for wheels that may turn freely.
    """
    for side, law in zip(("left", "right"), laws, strict=True):
        most = max(law.starting(direction) for direction in (1.0, -1.0))
        if not most <= torque:
            raise ValueError(
                f"friction of the {side} wheel at rest = {most:g} N m: must be <= {torque:g} N m, "
                "the wheel's largest torque, else it never starts; correct static and coulomb "
                "friction, gear_loss, or limits.torque, in the robot's YAML"
            )


def holds(laws: Laws) -> bool:
    """Whether dry friction holds both wheels at rest."""
    return all(law.breakaway(direction) > 0.0 for law in laws for direction in (1.0, -1.0))


def are_none(laws: Sequence[FrictionLaw[float]]) -> bool:
    """Whether there is no friction at all."""
    return not any(
        law.viscous or law.coulomb or law.coulomb_backward or law.static or law.gear_loss
        for law in laws
    )


def without_static(laws: Laws) -> Laws:
    """Return the laws with viscous and Coulomb friction only."""
    left, right = (FrictionLaw(law.viscous, law.coulomb) for law in laws)
    return left, right


def with_moment(torque: Torque, moment: float, geometry: WheelGeometry) -> Torque:
    """Add the wheel torques of a moment to the torques [left, right], N m."""
    left, right = geometry.wheel_torque(0.0, moment)
    return torque[0] + left, torque[1] + right


def wheel_mobility(dynamics: DynamicParameters, geometry: WheelGeometry) -> tuple[Torque, Torque]:
    """Return the matrix from torques to wheel accelerations, [left, right], 1/(kg m^2)."""
    k7, k8 = dynamics.k7, dynamics.k8
    by_left = geometry.wheel_velocity(k7, k8)
    by_right = geometry.wheel_velocity(k7, -k8)
    return (by_left[0], by_right[0]), (by_left[1], by_right[1])


def turning_mobility(
    dynamics: DynamicParameters, geometry: WheelGeometry
) -> tuple[tuple[float, float, float], ...]:
    """Return wheel_mobility with a third row (yaw acceleration) and column (moment); symmetric."""
    k8 = dynamics.k8
    (ll, lr), (rl, rr) = wheel_mobility(dynamics, geometry)
    pushed = dynamics.input_acceleration(geometry.wheel_torque(0.0, 1.0))
    left, right = geometry.wheel_velocity(*pushed)
    return (ll, lr, left), (rl, rr, right), (k8, -k8, pushed.omega)


@dataclass(frozen=True)
class PeriodFriction:
    """Mean friction torque of each wheel over a period, N m, and whether it rested at its end."""

    torque: tuple[float, ...]
    stuck: tuple[bool, ...]


def friction_over(
    laws: Sequence[FrictionLaw[float]],
    mobility: Sequence[Sequence[float]],
    speeds: Sequence[float],
    free: Sequence[float],
    dt: float,
) -> PeriodFriction:
    """Compute the friction over a period of dt s; it may stop a wheel but not reverse it.

    For the two wheels, or these and the floor's moment, whose speed is the yaw rate. Implicit time
    stepping (Moreau 1988) by projected Gauss-Seidel iterations.

    Args:
        mobility: wheel_mobility or turning_mobility.
        speeds: At the beginning, rad/s; `free`: at the end without friction.
    """
    if are_none(laws):
        return PeriodFriction((0.0,) * len(laws), (False,) * len(laws))
    bounds, torque = [], []
    for law, speed in zip(laws, speeds, strict=True):
        standing = abs(speed) < 1e-9
        forward, backward = (
            (law.breakaway(direction) if standing else law.dry(speed, direction))
            for direction in (1.0, -1.0)
        )
        drag = law.viscous * speed
        bounds.append((drag - backward, drag + forward))
        torque.append(drag if standing else drag + (forward if speed > 0.0 else -backward))
    for _ in range(ITERATIONS):
        change = 0.0
        for i, row in enumerate(mobility):
            gain = dt * row[i]
            end = free[i] - dt * sum(map(mul, row, torque))
            new = max(bounds[i][0], min(bounds[i][1], torque[i] + end / gain))
            change = max(change, abs(new - torque[i]) * gain)
            torque[i] = new
        if change < 1e-9:
            break
    stuck = (low < t < high for (low, high), t in zip(bounds, torque, strict=True))
    return PeriodFriction(tuple(torque), tuple(stuck))


class FrictionFeedforward:
    """Adds the friction torque to a law's torque; `laws` may be replaced between two updates."""

    def __init__(self, wheels: KnownWheels) -> None:
        self._geometry = wheels.geometry
        self._torque = wheels.torque
        self._turning = wheels.turning
        self.laws = wheels.friction
        self.reset()

    @property
    def is_needed(self) -> bool:
        return any(
            law.viscous > 0.0 or law.breakaway(1.0) > 0.0 or law.gear_loss > 0.0
            for law in self.laws
        )

    def check(self, laws: Laws) -> None:
        check_breakaway(laws, self._torque)

    def at_least(self, u: Velocity) -> float:
        """Return the minimum dry friction of both wheels together at a velocity, N m."""
        if are_none(self.laws):
            return 0.0
        return sum(
            min(law.dry(speed, direction) for direction in (1.0, -1.0))
            for law, speed in zip(self.laws, self._geometry.wheel_velocity(*u), strict=True)
        )

    def reset(self) -> None:
        self._extra = [0.0, 0.0]

    def add(
        self, torque: Torque, u: Velocity, wanted: Velocity, acceleration: Velocity, dt: float
    ) -> Torque:
        """Return the torque with friction compensation, [left, right], N m.

        Args:
            torque: Of a robot without friction, N m.
            wanted: Desired velocity, which gives the direction at low speed.
            acceleration: Commanded over the period of dt s, m/s^2 and rad/s^2.
        """
        end = Velocity(u.v + acceleration.v * dt, u.omega + acceleration.omega * dt)
        output, shares = torque, (0.0, 0.0)
        if self.is_needed:
            output, shares = self._wheels(torque, u, wanted, end, dt)
        if self._turning != NO_FRICTION:
            moment = self._moment(u.omega, end.omega, wanted.omega)
            output = with_moment(output, moment, self._geometry)
        left, right = (
            law.motor_torque(of_wheel, fraction)
            for law, of_wheel, fraction in zip(self.laws, output, shares, strict=True)
        )
        return left, right

    def _moment(self, now: float, final: float, desired: float) -> float:
        """Return the floor's moment, N m, for the present, final and desired yaw rate, rad/s."""
        half_track, law = self._geometry.half_track, self._turning
        target = desired if abs(final) * half_track < SLOW else final
        fraction = within(target * half_track / SMOOTH, 1.0)
        mean = 0.5 * (now + final)
        return law.viscous * mean + fraction * law.dry(mean, fraction)

    def _wheels(
        self, torque: Torque, u: Velocity, wanted: Velocity, end: Velocity, dt: float
    ) -> tuple[Torque, tuple[float, float]]:
        """Return the torques behind the gears, N m, and the directions of friction, -1 to 1."""
        speeds = [self._geometry.wheel_velocity(*each) for each in (u, end, wanted)]
        left, right = (
            self._wheel(side, torque[side], now, final, desired, dt)
            for side, (now, final, desired) in enumerate(zip(*speeds, strict=True))
        )
        return (left[0], right[0]), (left[1], right[1])

    def _wheel(
        self, side: int, torque: float, now: float, final: float, desired: float, dt: float
    ) -> tuple[float, float]:
        law = self.laws[side]
        radius = (self._geometry.left_radius, self._geometry.right_radius)[side]
        target = desired if abs(final) * radius < SLOW else final
        fraction = within(target * radius / SMOOTH, 1.0)
        mean = 0.5 * (now + final)
        total = torque + law.viscous * mean + fraction * law.dry(mean, fraction)
        if abs(now) * radius > STILL or fraction == 0.0:
            self._extra[side] = 0.0
            return total, fraction
        direction = math.copysign(1.0, fraction)
        hold = law.breakaway(direction)
        if self._extra[side] * direction < 0.0:
            self._extra[side] = 0.0
        grown = self._extra[side] + fraction * hold * dt / START
        self._extra[side] = within(grown, MOST * hold)
        needed = abs(fraction) * BREAK * hold
        return direction * max(direction * total, needed) + self._extra[side], fraction


# Errors within which a robot held by friction rests, m and rad, and multiple to start again.
ALONG, TURNED, LEAVE = 3e-4, 1e-3, 2.0
COUNTS = 0.75  # minimum of the error along the axis within which it rests, in encoder counts


class Standstill:
    """Decides when a robot at its goal may rest, held by its friction, instead of hunting."""

    def __init__(self, wheels: KnownWheels) -> None:
        self.laws = wheels.friction
        least = COUNTS * wheels.resolution
        self.along = max(ALONG, least)
        self.turned = max(TURNED, least / wheels.geometry.half_track)
        self.reset()

    def reset(self) -> None:
        self.rests = False

    def update(self, ahead: float, turn: float, u: Velocity, stop: Velocity) -> bool:
        """Update and return whether the robot rests.

        Args:
            ahead: Distance to the goal along the robot's axis, m; `turn`: to its heading, rad.
            stop: Decelerations by friction, m/s^2 and rad/s^2, >= 0.
        """
        if not holds(self.laws) or stop.v <= 0.0 or stop.omega <= 0.0:
            self.rests = False
            return False
        factor = LEAVE if self.rests else 1.0
        ahead -= u.v * abs(u.v) / (2.0 * stop.v)
        turn -= u.omega * abs(u.omega) / (2.0 * stop.omega)
        self.rests = abs(ahead) <= factor * self.along and abs(turn) <= factor * self.turned
        return self.rests
