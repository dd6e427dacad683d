"""The base on its suspension with the arm in motion: the truth that is measured.

Newton-Euler, (1)-(3), without approximation but for theta, which is the rotation vector. With
p = c + r3 from the centre of gravity to the arm's, v the velocity and omega the rate in the axes
of the base, and a, alpha their changes as a body feels them:

    [m + m2      -m2 [p]x           ] [  a  ]   [ forces of suspension, gravity, arm's motion ]
    [m2 [p]x   I + I2 - m2 [p]x [p]x] [alpha] = [ moments of the same                         ]

The suspension is stiff: a turn fades with b / I = 2000 1/s. So its forces are taken by the
trapezoidal rule (implicit), all small rest as it is foreseen. The accelerations that are handed
out follow from the equations themselves, at the state reached: whatever the step does, what is
measured obeys (4).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.compliant_base.arm import AXIS, GRAVITY, MODES, Arm, cross, cross_matrix
from diffbot_ident.compliant_base.excitation import ArmMotion
from diffbot_ident.compliant_base.parameters import BaseParameters
from diffbot_ident.compliant_base.regressor import gravity_change

Array = NDArray[np.float64]


@dataclass(frozen=True)
class _Driven:
    """What the arm's motion gives, each of shape (..., 3 modes, 3) or with one more axis."""

    centre: Array  # p, m
    push: Array  # acceleration of the arm's centre on a base at rest, m/s^2
    slide: Array  # its velocity on the base, m/s
    turn: Array  # angular velocity against the base, rad/s
    spin: Array  # angular acceleration against the base, rad/s^2
    inertia: Array  # I2, kg m^2

    def at(self, k: int) -> _Driven:
        """Of one sample."""
        return _Driven(*(getattr(self, each.name)[k] for each in fields(self)))


class CompliantBase:
    """The base in three modes of the arm at once, from rest.

    Args:
        truth: parameters of the base.
        arm: on it.
        angle: of the arm at rest, before t = 0, rad.
        period: sampling time, s, > 0.

    Raises:
        ValueError: the parameters are not those of a body, or the period is not > 0.
    """

    def __init__(self, truth: BaseParameters, arm: Arm, angle: float, period: float) -> None:
        truth.check_physical()
        if not period > 0.0:
            raise ValueError(f"period = {period} s: must be > 0")
        self._truth, self._arm, self._period = truth, arm, period
        self._place = np.zeros((MODES, 6))  # position and angle
        self._motion = np.zeros((MODES, 6))  # velocity and rate
        self._acceleration = np.zeros((MODES, 6))
        reach = arm.centre(np.array(angle))
        self._weight = -arm.mass * GRAVITY  # F12 at rest
        self._rest = cross(truth.arm_base + reach, self._weight)
        self._rest_at_arm = cross(reach, self._weight)

    def follow(self, motion: ArmMotion) -> Array:
        """Go on while the arm moves, one sample per period.

        Args:
            motion: n samples, the first one period after the last of before.

        Returns:
            True values of the channels of `sensors.QUANTITIES`, shape (3 modes, n, 8, 3).
        """
        driven, h, base = self._driven(motion), self._period, self._truth
        mass = coupled_mass(base, self._arm, driven.centre, driven.inertia)
        springs = 0.5 * h * base.damping + 0.25 * h * h * base.stiffness
        implicit = np.linalg.inv(mass + np.diag(springs))
        states = []
        for k in range(len(motion.angle)):
            self._step(driven.at(k), implicit[k])
            states.append((self._motion, self._place))
        motions, places = (np.stack(each) for each in zip(*states, strict=True))
        load = self._loads(driven, motions, places)
        acceleration = np.linalg.solve(mass, load[..., None])[..., 0]
        return self._measured(driven, motions, places, acceleration)

    def _driven(self, motion: ArmMotion) -> _Driven:
        arm = self._arm
        r3, along, inertia = (
            np.moveaxis(each(motion.angle), 0, 1) for each in (arm.centre, arm.tangent, arm.inertia)
        )
        speed, change = motion.speed[:, None, None], motion.acceleration[:, None, None]
        push = change * along - speed**2 * r3
        centre = self._truth.arm_base + r3
        return _Driven(centre, push, speed * along, speed * AXIS, change * AXIS, inertia)

    def _step(self, driven: _Driven, implicit: Array) -> None:
        """One period on; `implicit` is the inverse of mass with damping's and springs' shares."""
        h = self._period
        v, omega = self._motion[:, :3], self._motion[:, 3:]
        r, theta = self._place[:, :3], self._place[:, 3:]
        # r and v change as the axes turn. Of the rotation vector's rate two terms are kept; the
        # next is of order theta^2 omega.
        motion = self._motion + 0.5 * h * self._acceleration
        motion[:, :3] -= h * cross(omega, v)
        place = self._place + 0.5 * h * (self._motion + motion)
        place[:, :3] -= h * cross(omega, r)
        place[:, 3:] += 0.5 * h * cross(theta, omega)
        a = (implicit @ self._loads(driven, motion, place)[..., None])[..., 0]
        self._motion, self._place = motion + 0.5 * h * a, place + 0.25 * h * h * a
        self._acceleration = a

    def _loads(self, driven: _Driven, motion: Array, place: Array) -> Array:
        """Forces and moments but for the accelerations' own, shape (..., 3 modes, 6)."""
        base, omega = self._truth, motion[..., 3:]
        fall = gravity_change(place[..., 3:])
        push = self._arm.mass * (_swing(driven, omega) - fall - GRAVITY)
        force = self._weight - push + base.mass * fall
        moment = self._rest - cross(driven.centre, push) - _twist(driven, omega)
        moment -= cross(omega, omega @ base.inertia)
        rest = np.concatenate((force, moment), axis=-1)
        return rest - base.damping * motion - base.stiffness * place

    def _measured(self, driven: _Driven, motion: Array, place: Array, acceleration: Array) -> Array:
        """Channels from n states, (n, 3 modes, 6) -> (3, n, 8, 3); at the arm's base from (1)."""
        (v, omega), (r, theta) = np.split(motion, 2, -1), np.split(place, 2, -1)
        a, alpha = np.split(acceleration, 2, -1)
        whole = a + cross(alpha, driven.centre) + _swing(driven, omega)
        force = self._arm.mass * (whole - gravity_change(theta) - GRAVITY)
        moment = cross(driven.centre - self._truth.arm_base, force) + _twist(driven, omega)
        moment += (driven.inertia @ alpha[..., None])[..., 0]
        changes = (force - self._weight, moment - self._rest_at_arm)
        return np.stack((*changes, r, v, a, theta, omega, alpha), axis=-2).swapaxes(0, 1)


def _swing(driven: _Driven, omega: Array) -> Array:
    """Acceleration of the arm's centre but for the shares of a and alpha, m/s^2."""
    return driven.push + cross(omega, cross(omega, driven.centre) + 2.0 * driven.slide)


def _twist(driven: _Driven, omega: Array) -> Array:
    """Rate of the arm's angular momentum but for the share of alpha, N m."""
    whole = omega + driven.turn
    spin = driven.spin + cross(omega, driven.turn)
    own = driven.inertia @ np.stack((spin, whole), axis=-1)
    return own[..., 0] + cross(whole, own[..., 1])


def coupled_mass(base: BaseParameters, arm: Arm, centre: Array, inertia: Array) -> Array:
    """Mass matrix of base and arm for [a, alpha], shape (..., 6, 6).

    Args:
        base: its parameters.
        arm: on it.
        centre: p, m, shape (..., 3).
        inertia: of the arm about its centre, kg m^2, shape (..., 3, 3).
    """
    p = cross_matrix(centre)
    matrix = np.zeros((*centre.shape[:-1], 6, 6))
    matrix[..., :3, :3] = (base.mass + arm.mass) * np.eye(3)
    matrix[..., :3, 3:] = -arm.mass * p
    matrix[..., 3:, :3] = arm.mass * p
    matrix[..., 3:, 3:] = base.inertia + inertia - arm.mass * p @ p
    return matrix
