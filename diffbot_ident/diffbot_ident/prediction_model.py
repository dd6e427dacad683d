# SPDX-License-Identifier: Apache-2.0
"""Prediction of the velocities by identified or described parameters, by several models at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from arc_odometry import WheelGeometry
from diffbot_description import Robot
from diffbot_description.dynamics import accelerations, acting_torque, turning_resistance
from diffbot_ident.estimate import Array, Estimate, Four, Pair

# Wheel speed over which the sign of Coulomb friction is smoothed, rad/s.
FADE = 0.05


@dataclass(frozen=True)
class Model:
    """Prediction model: (41) of Lages (2017) with the wheels' friction, one period after another.

        >>> model, start = Model((0.0, 0.0, 2.0, -10.0)), np.zeros((2, 1))
        >>> torque, geometry = np.ones((10, 2, 1)), WheelGeometry(0.1, 0.1, 0.5)
        >>> model.predict(start, torque, 0.01, geometry).round(6).tolist()
        [[0.4], [0.0]]

    Attributes:
        values: [K5, K6, K7, K8].
        friction: [viscous left, right in N m s/rad, Coulomb left, right in N m].
        gear_loss: Share of its torque that each wheel's gear loses, [left, right].
        delay: Control periods between a torque's report and its action, >= 0; see `delayed`.
        turning: Resistance of the floor against turning, [c_w in N m s/rad, f_w in N m].
        sloped: Whether the gravity along the floor is fitted to the motion to be predicted.
        gravity: That gravity along the x and the y axis of the motion's first heading, m/s^2.
        doubts: Changes of [values, friction, gear_loss] by one standard deviation in each of n
            independent directions, shape (n, 10); () if unknown.
    """

    values: Four
    friction: Four = (0.0, 0.0, 0.0, 0.0)
    delay: float = 0.0
    turning: tuple[float, float] = (0.0, 0.0)
    sloped: bool = False
    gravity: tuple[float, float] = (0.0, 0.0)
    doubts: tuple[tuple[float, ...], ...] = ()
    gear_loss: Pair = (0.0, 0.0)

    @classmethod
    def described(cls, values: Four, robot: Robot) -> Model:
        """Return the model of a robot's file, with these K5..K8."""
        friction, floor = robot.friction, turning_resistance(robot)
        return cls(
            values,
            (*friction.viscous, *friction.coulomb),
            turning=(floor.viscous, floor.coulomb),
            gear_loss=friction.gear_loss,
        )

    @classmethod
    def of(cls, estimate: Estimate) -> Model:
        """Return the model of an estimate; unknown coefficients are set to 0.

        Friction may be negative: it compensates an excess of another friction.
        """
        friction, gear_loss = (0.0, 0.0, 0.0, 0.0), (0.0, 0.0)
        if estimate.friction is not None:
            gear_loss = estimate.friction.gear_loss
            a, b, c, d = (
                value if math.isfinite(variance) else 0.0
                for value, variance in zip(
                    estimate.friction.values, estimate.friction.variances, strict=True
                )
            )
            friction = (a, b, c, d)
        delay = max(0.0, float(estimate.delay)) if math.isfinite(estimate.delay) else 0.0
        turning = (0.0, 0.0)
        if estimate.turning is not None:
            a, b = (
                max(0.0, value) if math.isfinite(variance) else 0.0
                for value, variance in zip(
                    estimate.turning.values, estimate.turning.variances, strict=True
                )
            )
            turning = (a, b)
        sloped = estimate.slope is not None
        return cls(
            estimate.values,
            friction,
            delay,
            turning,
            sloped=sloped,
            doubts=_doubts(estimate),
            gear_loss=gear_loss,
        )

    def moved(self, deviations: Array) -> Model:
        """Return the model moved by deviations along its doubts, shape (n,)."""
        change = np.array(deviations) @ np.array(self.doubts)
        k5, k6, k7, k8, left, right, coulomb_left, coulomb_right, gear_left, gear_right = (
            np.array((*self.values, *self.friction, *self.gear_loss)) + change
        ).tolist()
        return replace(
            self,
            values=(k5, k6, k7, k8),
            friction=(left, right, coulomb_left, coulomb_right),
            gear_loss=(gear_left, gear_right),
        )

    def predict(
        self,
        start: Array,
        torque: Array,
        period: float,
        geometry: WheelGeometry,
        lengths: NDArray[np.int_] | None = None,
        heading: Array | None = None,
    ) -> Array:
        """Predict the velocities [v, omega] at the ends of n predictions, shape (2, n).

        Args:
            start: Initial [v, omega], shape (2, n).
            torque: [left, right] of each period, N m, shape (m, 2, n).
            period: Control period, s.
            lengths: Number of periods of each prediction, at most m, shape (n,); None: m.
            heading: Initial headings, rad, for `gravity`, shape (n,); None: 0.

        Raises:
            ValueError: The shapes are not as specified.
        """
        if np.ndim(start) != 2 or np.shape(torque)[1:] != np.shape(start) or len(start) != 2:
            raise ValueError(
                f"prediction: start {np.shape(start)} and torque {np.shape(torque)}: must be "
                "(2, n) and (m, 2, n), for m periods of n predictions"
            )
        torques = torque[:, :, None]
        return predictions((self,), start, torques, period, geometry, lengths, heading)[:, 0]

    def advance(
        self,
        velocity: Array,
        heading: Array,
        torque: Array,
        period: float,
        geometry: WheelGeometry,
    ) -> tuple[Array, Array]:
        """Return velocities (2, n) and headings (n,), rad, after a period, s (midpoint rule).

        `torque`: [left, right], N m, shape (2, n); headings are for `gravity`.
        """
        stepper = _Stepper((self,), period, geometry)
        torques = torque[:, None]
        friction = stepper.dry_friction(torques)
        after, turned = stepper.step(velocity[:, None], heading[None], torques, friction)
        return after[:, 0], turned[0]


def predictions(
    models: Sequence[Model],
    start: Array,
    torques: Array,
    period: float,
    geometry: WheelGeometry,
    lengths: NDArray[np.int_] | None = None,
    heading: Array | None = None,
) -> Array:
    """Predict velocities with k models at once; see `Model.predict`.

    Args:
        start: Initial [v, omega] of n predictions, shape (2, n).
        torques: [left, right] of m periods, by each model or all, (m, 2, k, n) or (m, 2, 1, n).

    Returns:
        [v, omega] at the ends, shape (2, k, n).
    """
    stepper = _Stepper(models, period, geometry)
    count = start.shape[1]
    velocity: Array = np.repeat(start[:, None], len(models), axis=1)
    headings = np.zeros((1, count)) if heading is None else heading[None]
    shortest = len(torques) if lengths is None else int(min(lengths, default=0))
    friction = stepper.dry_friction(torques)
    for step, (acting, dry) in enumerate(zip(torques, friction, strict=True)):
        after, headings = stepper.step(velocity, headings, acting, dry)
        if step < shortest or lengths is None:
            velocity = after
        else:
            velocity = np.where(step < lengths, after, velocity)
    return velocity


class _Stepper:
    """Steps of k models over one control period, s, by the midpoint rule.

    Velocities [v, omega] and torques [left, right] have the shape (2, k, n), headings (k, n).
    """

    def __init__(self, models: Sequence[Model], period: float, geometry: WheelGeometry) -> None:
        def columns(values: Sequence[Sequence[float]]) -> Array:
            result: Array = np.array(values, dtype=float).T[:, :, None]
            return result

        self._period, self._geometry = period, geometry
        self._values = columns([model.values for model in models])
        self._viscous, self._coulomb = columns([model.friction for model in models]).reshape(
            2, 2, len(models), 1
        )
        self._loss = columns([model.gear_loss for model in models])
        self._gravity = columns([model.gravity for model in models])
        self._slopes = bool(self._gravity.any())
        turning = columns([model.turning for model in models])
        self._turns, self._drags = (bool(each.any()) for each in turning)
        radius = 0.5 * (geometry.left_radius + geometry.right_radius)
        self._turning = turning * self._values[3] * (-radius / geometry.half_track)

    def dry_friction(self, torques: Array) -> Array:
        """Return the dry friction of the wheels under torques, N m, shape (..., 2, k, n)."""
        result: Array = self._coulomb + self._loss * np.abs(torques)
        return result

    def step(
        self, velocity: Array, heading: Array, torque: Array, friction: Array
    ) -> tuple[Array, Array]:
        period = self._period
        half = velocity + 0.5 * period * self._rates(velocity, heading, torque, friction)
        if self._drags:
            half = self._kept(half, 0.5 * period)
        middle = heading + 0.5 * period * velocity[1] if self._slopes else heading
        after = velocity + period * self._rates(half, middle, torque, friction)
        if self._drags:
            after = self._kept(after, period)
        return after, heading + period * half[1]

    def _rates(self, velocity: Array, heading: Array, torque: Array, friction: Array) -> Array:
        v, omega = velocity
        speed: Array = np.array(self._geometry.wheel_velocity(v, omega))
        sign = np.tanh(speed / FADE)
        left, right = acting_torque(torque, speed, self._viscous, friction, sign)
        result = np.array(accelerations(self._values, v, omega, left, right))
        if self._turns:
            result[1] -= self._turning[0] * omega
        if self._slopes:
            (x, y), cos, sin = self._gravity, np.cos(heading), np.sin(heading)
            result += (x * cos + y * sin, self._values[1] * (x * sin - y * cos))
        return result

    def _kept(self, velocity: Array, duration: float) -> Array:
        """Return the velocity after the floor's friction, which cannot reverse the yaw rate."""
        v, omega = velocity
        most = self._turning[1] * duration
        return np.array([v, np.sign(omega) * np.maximum(np.abs(omega) - most, 0.0)])


def _doubts(estimate: Estimate) -> tuple[tuple[float, ...], ...]:
    friction = estimate.friction
    rows = np.zeros((4, 4))
    if friction is not None:
        variances = (*friction.variances, *friction.gear_variances)
        rows = np.array(np.diag(variances) if friction.covariance is None else friction.covariance)
    size = 4 + len(rows)
    covariance = np.zeros((size, size))
    covariance[:4, :4], covariance[4:, 4:] = estimate.covariance, rows
    known = np.isfinite(covariance.diagonal())
    covariance[~known], covariance[:, ~known] = 0.0, 0.0
    sizes, directions = np.linalg.eigh(_scaled(covariance))
    deviations = np.sqrt(covariance.diagonal())[:, None] * directions * np.sqrt(sizes.clip(0.0))
    result = np.zeros((np.count_nonzero(sizes > 0.0), 10))
    result[:, :size] = deviations.T[sizes > 0.0]
    return tuple(map(tuple, result.tolist()))


def _scaled(covariance: Array) -> Array:
    deviations = np.sqrt(covariance.diagonal())
    shape = deviations[:, None] * deviations
    correlation: Array = np.divide(covariance, shape, out=np.zeros_like(shape), where=shape > 0.0)
    return correlation
