# SPDX-License-Identifier: Apache-2.0
"""Prediction of motions by (41) of Lages (2017) with friction, for many robots and torques at once.

For choosing torques, not for simulation: explicit Euler, and a sign that is smooth near standstill.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from diffbot_ident.estimate import Array, Four

# Integration steps under constant torque and while braking, s.
STEP = 0.025
BRAKE_STEP = 0.04
# Share of a wheel's speed that braking removes in a step near standstill; above 1 it oscillates.
MAX_DECAY = 0.5
REST_CHECK_STEPS = 4
# Longest predicted braking, s.
LONGEST_BRAKING = 3.0


@dataclass(frozen=True)
class BodyPrior:
    """Assumed parameters of a robot before, or while, it is identified; ValueError: impossible.

    Attributes:
        values: [K5 in m, K6 in 1/m, K7 in 1/(kg m), K8 in 1/(kg m^2)].
        spread: Possible error of each value, as a share of it, 0 to 0.9.
        friction: [viscous left, right in N m s/rad, Coulomb left, right in N m].
    """

    values: Four
    spread: Four = (0.3, 0.3, 0.3, 0.3)
    friction: Four = (0.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, self.values)):
            raise ValueError(f"prior K5..K8 = {self.values}: must be finite; give an estimate")
        if not (self.values[2] > 0.0 > self.values[3]):
            raise ValueError(
                f"prior K7, K8 = {self.values[2:]}: must have K7 > 0 and K8 < 0; check the masses "
                "and inertias of the robot's YAML"
            )
        if not all(0.0 <= spread <= 0.9 for spread in self.spread):
            raise ValueError(f"prior spread = {self.spread}: each must be from 0 to 0.9; try 0.3")
        for name, pair in (("viscous", self.friction[:2]), ("coulomb", self.friction[2:])):
            if not all(math.isfinite(value) and value >= 0.0 for value in pair):
                raise ValueError(f"prior {name} friction = {pair}: must be finite and >= 0")


@dataclass(frozen=True)
class Motion:
    """Motion over the last control period, with the pose at its end by odometry.

    Poses (x, y in m, theta in rad) are in the arena's frame: its origin is the centre, where the
    robot starts. Velocity (v, omega), m/s and rad/s; wheel speeds (left, right), rad/s.
    """

    pose: tuple[float, float, float] = (0.0, 0.0, 0.0)
    velocity: tuple[float, float] = (0.0, 0.0)
    wheel_speeds: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Paths:
    """Predicted motions of n robots at m instants, from the initial state on.

    Poses, (3, m, n), m and rad; body velocities [v, omega], (2, m, n), m/s and rad/s.
    """

    pose: Array
    velocity: Array


class BodyModel:
    """Predicts motions of n robots that may differ in K5..K8, (4, n) or (4, 1); radius and b, m."""

    def __init__(
        self,
        radius: float,
        half_track: float,
        values: Array,
        friction: Four = (0.0, 0.0, 0.0, 0.0),
    ) -> None:
        k5, k6, k7, k8 = np.asarray(values, dtype=float)
        self._to_wheels = np.array([[1.0, -half_track], [1.0, half_track]]) / radius
        self._curving = np.array([k5, k6])
        self._pushing = np.array([k7, k8])
        self._viscous, self._coulomb = np.array(friction, dtype=float).reshape(2, 2, 1)
        self._rubs = any(friction)
        # Largest wheel acceleration per wheel torque, rad/s^2 per N m.
        self._mobility = float(max(2.0 * np.max(k7), -2.0 * half_track * np.min(k8)) / radius)

    def wheel_speeds(self, velocity: Array) -> Array:
        """Return wheel speeds [left, right], rad/s, from [v, omega]; both of shape (2, ...)."""
        speeds: Array = np.tensordot(self._to_wheels, velocity, axes=1)
        return speeds

    def constant_torque(
        self, pose: Array, velocity: Array, torque: Array, duration: float
    ) -> Paths:
        """Predict motions for a duration, s, from poses (3, n) and velocities (2, n).

        `torque`: [left, right], N m, shape (2, n).
        """
        count = max(1, math.ceil(duration / STEP - 1e-9))
        step = duration / count
        velocities = np.empty((2, count + 1, velocity.shape[1]))
        velocities[:, 0] = velocity
        for i in range(count):
            velocity = velocity + step * self._acceleration(velocity, torque)
            velocities[:, i + 1] = velocity
        return _paths(pose, velocities, step)

    def braked(self, pose: Array, velocity: Array, effort: float) -> Paths:
        """Predict braking to standstill with up to `effort` per wheel, N m; see brake_torque."""
        count = round(LONGEST_BRAKING / BRAKE_STEP)
        velocities = np.empty((2, count + 1, velocity.shape[1]))
        velocities[:, 0] = velocity
        gain = effort / self.brake_speed(effort)
        slow = 0.1 * self.brake_speed(effort)
        for i in range(count):
            torque = self._to_wheels @ velocity
            torque *= -gain
            np.minimum(np.maximum(torque, -effort, out=torque), effort, out=torque)
            velocity = velocity + BRAKE_STEP * self._acceleration(velocity, torque)
            velocities[:, i + 1] = velocity
            if (
                i % REST_CHECK_STEPS == REST_CHECK_STEPS - 1
                and np.abs(self._to_wheels @ velocity).max() < slow
            ):
                count = i + 1
                break
        return _paths(pose, velocities[:, : count + 1], BRAKE_STEP)

    def brake_speed(self, effort: float) -> float:
        """Return the wheel speed, rad/s, below which braking by `effort`, N m, is linear."""
        return effort * self._mobility * BRAKE_STEP / MAX_DECAY

    def _acceleration(self, velocity: Array, torque: Array) -> Array:
        if self._rubs:
            torque = torque - self._friction(velocity)
        net = np.empty_like(velocity)
        np.add(torque[0], torque[1], out=net[0])
        np.subtract(torque[0], torque[1], out=net[1])
        net *= self._pushing
        net += self._curving * (velocity[::-1] * velocity[1])
        return net

    def _friction(self, velocity: Array) -> Array:
        speeds = self._to_wheels @ velocity
        slow = np.maximum(self._coulomb * (self._mobility * BRAKE_STEP / MAX_DECAY), 1e-9)
        signs = np.minimum(np.maximum(speeds / slow, -1.0), 1.0)
        friction: Array = self._viscous * speeds + self._coulomb * signs
        return friction


def brake_torque(speeds: tuple[float, float], effort: float, ease: float) -> tuple[float, float]:
    """Return torques [left, right], N m, up to `effort`, against the wheels' speeds, rad/s.

    They remove energy from any robot. Below `ease`, rad/s, they are proportional to the speed; see
    BodyModel.brake_speed.
    """
    left, right = (-effort * max(-1.0, min(1.0, speed / ease)) for speed in speeds)
    return left, right


def _paths(pose: Array, velocities: Array, step: float) -> Paths:
    mean = 0.5 * step * (velocities[:, 1:] + velocities[:, :-1])
    poses = np.empty((3, *velocities.shape[1:]))
    poses[:, 0] = pose
    np.cumsum(mean[1], axis=0, out=poses[2, 1:])
    poses[2, 1:] += pose[2]
    heading = 0.5 * (poses[2, 1:] + poses[2, :-1])
    for row, direction in ((0, np.cos), (1, np.sin)):
        np.cumsum(mean[0] * direction(heading), axis=0, out=poses[row, 1:])
        poses[row, 1:] += pose[row]
    return Paths(poses, velocities)
