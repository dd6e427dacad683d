# SPDX-License-Identifier: Apache-2.0
"""The model of a robot that is driven by wheel torques, K5 to K8, and the friction of its wheels.

(41) and (61) of Lages (2017), u' = f(u) + G tau, u = [v, omega] of the axle's midpoint; with
friction, T replaces the wheel torques tau:

    v'     = K5 omega^2 + K7 (T_left + T_right)
    omega' = K6 v omega + K8 (T_left - T_right)
    T = tau - T_f(w),      w_left, w_right = (v -+ b omega) / r
    T_f(w, tau) = viscous w + sign(w) (C + g |tau| + (S - C) exp(-(w / w_s)^2))

At rest, T_f balances the torque that acts on the wheel, up to S + g |tau|. g is the gear loss,
1 - efficiency (Hamon, Gautier and Garrec, IROS 2010). A robot whose wheels slide sideways as it
turns (skid steer) has an additional resistance:

    omega' = ... - (c_w omega + f_w sign(omega)) / I_e,      I_e = -b / (r K8)

In Lages (2018), (1), f12 = K5, f21 = K6, g11 = g12 = K7, g21 = -g22 = K8; its (4) prints g21 twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from arc_odometry import Velocity
from arc_odometry.number_range import Array as Array
from arc_odometry.number_range import check_finite
from diffbot_description.ground_loads import ground_loads
from diffbot_description.robot import Robot
from diffbot_description.robot_model import RobotModel

Torque = tuple[float, float]  # of the wheels [left, right], N m
Number = TypeVar("Number", float, Array)

# Smallest plausible K7, 1/(kg m), and |K8|, 1/(kg m^2).
SMALLEST_INPUT = 1e-9


def accelerations(
    k: Sequence[Number] | Array, v: Number, omega: Number, left: Number, right: Number
) -> tuple[Number, Number]:
    """Return dv/dt in m/s^2 and domega/dt in rad/s^2 of (41); with arrays, of many robots.

    Args:
        k: K5 to K8, (4, ...).
        v, omega: Velocity, m/s and rad/s.
        left, right: Torques of the wheels less friction, N m; see acting_torque.
    """
    k5, k6, k7, k8 = k
    return k5 * omega * omega + k7 * (left + right), k6 * v * omega + k8 * (left - right)


def acting_torque(
    torque: Number, speed: Number, viscous: Number, coulomb: Number, sign: Number
) -> Number:
    """Return T of a wheel, N m: its torque less friction.

    Args:
        torque, speed: tau, N m, and w, rad/s.
        viscous, coulomb: Friction, N m s/rad and N m.
        sign: Sign of the speed; smooth when integrating through standstill.
    """
    return torque - viscous * speed - coulomb * sign


@dataclass(frozen=True)
class FrictionLaw(Generic[Number]):
    """Friction torque T_f of a wheel (numbers) or of many wheels (arrays of one shape), N m.

    Attributes:
        viscous: Viscous friction, N m s/rad, >= 0.
        coulomb, coulomb_backward: Coulomb friction C by direction, N m, >= 0; None: as forward.
        static: Breakaway torque S, N m, >= both C; None: C of that direction.
        stribeck_velocity: w_s, rad/s, > 0; required with static.
        gear_loss: Share g of the motor's torque that gears lose, 0 to 1; only `under` includes it.
    """

    viscous: Number
    coulomb: Number
    coulomb_backward: Number | None = None
    static: Number | None = None
    stribeck_velocity: Number | None = None
    gear_loss: Number | float = 0.0

    def __post_init__(self) -> None:
        if self.static is not None and self.stribeck_velocity is None:
            raise ValueError(
                f"friction: static = {self.static} N m needs stribeck_velocity, rad/s: the speed "
                "over which it falls to Coulomb friction; give it, or no static"
            )

    def lost(self, torque: Number) -> Number:
        """Return the part of a torque of the motor that the gears lose, g |torque|, N m."""
        lost: Number = self.gear_loss * abs(torque)
        return lost

    def under(self, torque: Number) -> FrictionLaw[Number]:
        """Return the law while the motor gives a torque, N m: dry friction larger by g |torque|."""
        if isinstance(self.gear_loss, float) and self.gear_loss == 0.0:
            return self
        more = self.lost(torque)
        back, static = self.coulomb_backward, self.static
        return FrictionLaw(
            self.viscous,
            self.coulomb + more,
            None if back is None else back + more,
            None if static is None else static + more,
            self.stribeck_velocity,
        )

    def sliding(self, direction: Number) -> Number:
        """Return C, N m, of a direction (> 0 forward, otherwise backward)."""
        if self.coulomb_backward is None:
            return self.coulomb
        return _by_direction(direction, self.coulomb, self.coulomb_backward)

    def breakaway(self, direction: Number) -> Number:
        """Return the torque, N m, that a wheel at rest withstands in a direction."""
        return self.sliding(direction) if self.static is None else self.static

    def dry(self, speed: Number, direction: Number) -> Number:
        """Return the size of the dry friction, C + (S - C) exp(-(w / w_s)^2), N m, at a speed.

        A wheel that starts has a direction while its speed, rad/s, is still 0.
        """
        coulomb = self.sliding(direction)
        if self.static is None or self.stribeck_velocity is None:
            return coulomb
        ratio = speed / self.stribeck_velocity
        return coulomb + (self.static - coulomb) * _exponential(-ratio * ratio)

    def starting(self, direction: Number) -> Number:
        """Return the smallest torque, N m, of a motor that starts the wheel, S / (1 - g)."""
        return self.breakaway(direction) / (1.0 - self.gear_loss)

    def motor_torque(self, output: Number, direction: Number) -> Number:
        """Return the torque tau of the motor, N m, of which the gears leave `output`, N m.

        It inverts output = tau - direction g |tau|, with a direction of -1 to 1.
        """
        return output / (1.0 - direction * _sign(output) * self.gear_loss)

    def torque(self, speed: Number) -> Number:
        """Return T_f, N m, of a wheel turning at a speed, rad/s; 0 at rest, where tau decides."""
        return self.viscous * speed + _sign(speed) * self.dry(speed, speed)


NO_FRICTION = FrictionLaw(0.0, 0.0)


def wheel_friction(
    robot: Robot, mass: float = 0.0, x: float = 0.0
) -> tuple[FrictionLaw[float], FrictionLaw[float]]:
    """Return the friction laws of the wheels (left, right), rolling resistance included.

    A payload of mass kg, x m ahead of the axle, increases the rolling resistance.

    Example:
        >>> from diffbot_description import load_robot
        >>> [round(wheel.coulomb, 3) for wheel in wheel_friction(load_robot("agv"))]
        [0.6, 0.7]
    """
    friction = robot.friction
    rolling = rolling_torques(robot, mass, x)

    def law(side: int) -> FrictionLaw[float]:
        added = [
            None if pair is None else pair[side] + rolling[side]
            for pair in (friction.coulomb_backward, friction.static)
        ]
        speed = friction.stribeck_velocity
        return FrictionLaw(
            viscous=friction.viscous[side],
            coulomb=friction.coulomb[side] + rolling[side],
            coulomb_backward=added[0],
            static=added[1],
            stribeck_velocity=None if speed is None else speed[side],
            gear_loss=friction.gear_loss[side],
        )

    return law(0), law(1)


def turning_resistance(robot: Robot) -> FrictionLaw[float]:
    """Return the friction law of turning, c_w in N m s/rad and f_w in N m, over the yaw rate."""
    turning = robot.turning
    if turning is None:
        return NO_FRICTION
    return FrictionLaw(turning.viscous, turning.coulomb)


def rolling_torques(robot: Robot, mass: float = 0.0, x: float = 0.0) -> tuple[float, float]:
    """Return the rolling resistance of the wheels (left, right), N m: coefficient x load x radius.

    With a payload of mass kg, x m ahead of the axle.
    """
    lever = robot.friction.rolling_resistance * robot.wheels.radius
    left, right = ground_loads(robot, mass, x).wheels
    return lever * left, lever * right


def _by_direction(direction: Number, forward: Number, backward: Number) -> Number:
    if isinstance(direction, np.ndarray):
        return np.where(direction > 0.0, forward, backward)
    return forward if direction > 0.0 else backward


def _sign(speed: Number) -> Number:
    if isinstance(speed, np.ndarray):
        return np.sign(speed)
    return float(speed > 0.0) - float(speed < 0.0)


def _exponential(x: Number) -> Number:
    if isinstance(x, np.ndarray):
        return np.exp(x)
    return math.exp(x)


class DynamicParameters(NamedTuple):
    """K5 to K8 of (41) from any source; `checked` verifies that a control law may use them.

    Attributes:
        k5: m/rad^2.
        k6: 1/m.
        k7: m/(s^2 N m), > 0.
        k8: rad/(s^2 N m), < 0 with torques [left, right].

    Example:
        >>> k = DynamicParameters(0.08, -3.8, 2.6, -16.0)
        >>> k.input_acceleration((1.0, 0.0))
        Velocity(v=2.6, omega=-16.0)
        >>> print(k)
        K5 0.08, K6 -3.8, K7 2.6, K8 -16
    """

    k5: float
    k6: float
    k7: float
    k8: float

    def __str__(self) -> str:
        """Return the values with their names, for messages; `repr` has all digits."""
        return ", ".join(f"{name.upper()} {value:.5g}" for name, value in self._asdict().items())

    def checked(self) -> DynamicParameters:
        """Return these parameters if a robot can have them.

        Raises:
            ValueError: A number is not finite, G is singular, or a sign is wrong.
        """
        check_finite("dynamic parameters", **self._asdict())
        for name, value, sign in (("k7", self.k7, 1.0), ("k8", self.k8, -1.0)):
            if sign * value < SMALLEST_INPUT:
                limit = f"> {SMALLEST_INPUT}" if sign > 0.0 else f"< -{SMALLEST_INPUT}"
                raise ValueError(
                    f"dynamic parameters: {name} = {value}: must be {limit}, else G is singular or "
                    "torque acts the wrong way round; order the wheels [left, right]"
                )
        return self

    def drift(self, u: Velocity) -> Velocity:
        """Return f(u), the acceleration without torque, m/s^2 and rad/s^2; (3) of Lages (2018)."""
        return Velocity(self.k5 * u.omega * u.omega, self.k6 * u.v * u.omega)

    def mean_drift(self, u: Velocity, acceleration: Velocity, period: float) -> Velocity:
        """Return the mean of f over a period (s) in which u changes at a constant rate."""
        dv, domega = acceleration.v * period, acceleration.omega * period
        v, omega = u.v + 0.5 * dv, u.omega + 0.5 * domega
        return Velocity(
            self.k5 * (omega * omega + domega * domega / 12.0),
            self.k6 * (v * omega + dv * domega / 12.0),
        )

    def input_acceleration(self, torque: Torque) -> Velocity:
        """Return G tau, the acceleration by torque alone, m/s^2 and rad/s^2."""
        left, right = torque
        return Velocity(self.k7 * (left + right), self.k8 * (left - right))

    def torque(self, acceleration: Velocity, drift: Velocity) -> Torque:
        """Return the torque G^-1 (u' - f), N m; (62) of Lages (2017) and (5) of Lages (2018).

        `drift`: f(u), or its mean over the control interval, in which torque is constant.
        """
        total = (acceleration.v - drift.v) / self.k7
        difference = (acceleration.omega - drift.omega) / self.k8
        return 0.5 * (total + difference), 0.5 * (total - difference)


def closed_form(model: RobotModel) -> DynamicParameters:
    """Return K5 to K8 of a robot whose wheels roll without slip and without friction.

    K5 = m_b d / M_e, K6 = -m_b d / I_e, K7 = 1 / (r M_e), K8 = -b / (r I_e). As the coupling of v
    and omega does no work, M_e K5 + I_e K6 = 0, which the papers' values violate.

    Example:
        >>> from diffbot_description import load_robot
        >>> print(closed_form(load_robot("twil").model))
        K5 0.084439, K6 -3.7706, K7 2.6468, K8 -16.084
    """
    mass, inertia = model.equivalent_mass, model.equivalent_inertia
    moment = model.mass_body * model.com_offset
    return DynamicParameters(
        k5=moment / mass,
        k6=-moment / inertia,
        k7=1 / (model.wheel_radius * mass),
        k8=-model.half_track / (model.wheel_radius * inertia),
    )
