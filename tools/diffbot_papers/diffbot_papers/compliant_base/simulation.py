# SPDX-License-Identifier: Apache-2.0
"""The simulated experiment: motions (24) of the arm, and the base on its suspension, (1)-(3).

Equations and integration: docs/theory/compliant_base.md#simulation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from diffbot_papers.compliant_base.estimation import PublishedFilter
from diffbot_papers.compliant_base.model import (
    AXIS,
    GRAVITY,
    MODES,
    Arm,
    Array,
    BaseParameters,
    SensorNoise,
    cross,
    cross_matrix,
    gravity_change,
)


@dataclass(frozen=True)
class ArmLimits:
    """Limits of the arm's angle, rad, speed, rad/s, acceleration, rad/s^2, and frequency, rad/s."""

    lowest: float = 0.0
    highest: float = 0.5 * math.pi
    speed: float = 6.0
    acceleration: float = 60.0
    slowest: float = 0.5 * math.pi
    fastest: float = 8.0 * math.pi

    def __post_init__(self) -> None:
        if not self.lowest < self.highest:
            raise ValueError(f"lowest = {self.lowest}: must be below highest = {self.highest} rad")
        if not (self.speed > 0.0 and self.acceleration > 0.0):
            raise ValueError(f"speed = {self.speed}, acceleration = {self.acceleration}: need > 0")
        if not 0.0 < self.slowest < self.fastest:
            raise ValueError(f"slowest = {self.slowest}: must be > 0 and below {self.fastest}")

    def sinusoid(self, unit: Array) -> tuple[Array, Array, Array]:
        """Return offset, amplitude and frequency, within the limits, for 3 numbers from 0 to 1."""
        frequency = self.slowest * (self.fastest / self.slowest) ** unit[1]
        largest = np.minimum(
            0.5 * (self.highest - self.lowest),
            np.minimum(self.speed / frequency, self.acceleration / frequency**2),
        )
        amplitude = unit[0] * largest
        room = self.highest - self.lowest - 2.0 * amplitude
        return self.lowest + amplitude + unit[2] * room, amplitude, frequency

    def excess(self, motion: ArmMotion) -> Array:
        """Return how far motions (..., n) exceed the limits, summed fractions (...); 0 within."""
        middle, half = 0.5 * (self.lowest + self.highest), 0.5 * (self.highest - self.lowest)
        shares = (
            np.abs(motion.angle - middle) / half,
            np.abs(motion.speed) / self.speed,
            np.abs(motion.acceleration) / self.acceleration,
        )
        return np.asarray(
            np.sum([np.maximum(fraction.max(axis=-1) - 1.0, 0.0) for fraction in shares], axis=0)
        )


class ArmMotion(NamedTuple):
    """Samples of the arm's angle and its derivatives, rad, rad/s, rad/s^2, each (..., n)."""

    angle: Array
    speed: Array
    acceleration: Array


@dataclass(frozen=True)
class Sinusoid:
    """offset + amplitude sin(phase + frequency t), rad, rad/s and s; numbers or arrays."""

    offset: float | Array
    amplitude: float | Array
    frequency: float | Array
    phase: float | Array = 0.0

    def motion(self, times: Array) -> ArmMotion:
        """Return the motion at these times, s: numbers (...) and times (n,) give (..., n)."""
        a0, a, w, phase = (
            np.asarray(each, dtype=float)[..., None]
            for each in (self.offset, self.amplitude, self.frequency, self.phase)
        )
        turned = phase + w * times
        sine, cosine = np.sin(turned), np.cos(turned)
        return ArmMotion(a0 + a * sine, a * w * cosine, -a * w * w * sine)

    def later(self, time: float) -> Sinusoid:
        """Return the same motion with its start shifted by this time, s."""
        return replace(self, phase=self.phase + self.frequency * time)


def changed(old: Sinusoid, new: Sinusoid, times: Array, blend: float) -> ArmMotion:
    """Return the transition from one motion to another within `blend`, s, at times >= 0, s."""
    x = np.minimum(times / blend, 1.0)
    s = x**3 * (10.0 - 15.0 * x + 6.0 * x * x)
    ds = 30.0 * x * x * (1.0 - x) ** 2 / blend
    dds = 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / blend**2
    one, two = old.motion(times), new.motion(times)
    gap = two.angle - one.angle
    gap_speed = two.speed - one.speed
    return ArmMotion(
        one.angle + s * gap,
        one.speed + s * gap_speed + ds * gap,
        one.acceleration
        + s * (two.acceleration - one.acceleration)
        + 2.0 * ds * gap_speed
        + dds * gap,
    )


# The angle at rest, rad, and (24), the constant excitation.
REST = 0.25 * math.pi
CONSTANT = Sinusoid(REST, 2.0 * math.pi / 9.0, 0.5 * math.pi)


class _Driven(NamedTuple):
    """Quantities given by the arm's motion, of shape (..., 3 modes, 3) or with one more axis."""

    centre: Array  # p, m
    push: Array  # acceleration of the arm's centre on a base at rest, m/s^2
    slide: Array  # velocity of the arm's centre relative to the base, m/s
    turn: Array  # angular velocity relative to the base, rad/s
    spin: Array  # angular acceleration relative to the base, rad/s^2
    inertia: Array  # I2, kg m^2


class CompliantBase:
    """The base in three modes of the arm at once, from rest at this angle, rad; period, s, > 0."""

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
        """Advance by n samples; return the true channels QUANTITIES, (3 modes, n, 8, 3)."""
        driven, h, base = self._driven(motion), self._period, self._truth
        mass = coupled_mass(base, self._arm, driven.centre, driven.inertia)
        springs = 0.5 * h * base.damping + 0.25 * h * h * base.stiffness
        implicit = np.linalg.inv(mass + np.diag(springs))
        states = []
        for k in range(len(motion.angle)):
            self._step(_Driven(*(each[k] for each in driven)), implicit[k])
            states.append((self._motion, self._place))
        motions, places = (np.stack(each) for each in zip(*states, strict=True))
        load = self._loads(driven, motions, places)
        acceleration = np.asarray(np.linalg.solve(mass, load[..., None])[..., 0], dtype=float)
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
        """Advance one period; `implicit`: inverse of the mass, damping and springs."""
        h = self._period
        v, omega = self._motion[:, :3], self._motion[:, 3:]
        r, theta = self._place[:, :3], self._place[:, 3:]
        # r and v change as the axes turn, but for terms of order theta^2 omega.
        motion = self._motion + 0.5 * h * self._acceleration
        motion[:, :3] -= h * cross(omega, v)
        place = self._place + 0.5 * h * (self._motion + motion)
        place[:, :3] -= h * cross(omega, r)
        place[:, 3:] += 0.5 * h * cross(theta, omega)
        a = (implicit @ self._loads(driven, motion, place)[..., None])[..., 0]
        self._motion, self._place = motion + 0.5 * h * a, place + 0.25 * h * h * a
        self._acceleration = a

    def _loads(self, driven: _Driven, motion: Array, place: Array) -> Array:
        """Return forces and moments without accelerations, (..., 3 modes, 6)."""
        base, omega = self._truth, motion[..., 3:]
        fall = gravity_change(place[..., 3:])
        push = self._arm.mass * (_swing(driven, omega) - fall - GRAVITY)
        force = self._weight - push + base.mass * fall
        moment = self._rest - cross(driven.centre, push) - _twist(driven, omega)
        moment -= cross(omega, omega @ base.inertia)
        rest = np.concatenate((force, moment), axis=-1)
        return rest - base.damping * motion - base.stiffness * place

    def _measured(self, driven: _Driven, motion: Array, place: Array, acceleration: Array) -> Array:
        """Return channels of n states, (n, 3 modes, 6) -> (3, n, 8, 3); at arm's base by (1)."""
        (v, omega), (r, theta) = np.split(motion, 2, -1), np.split(place, 2, -1)
        a, alpha = np.split(acceleration, 2, -1)
        whole = a + cross(alpha, driven.centre) + _swing(driven, omega)
        force = self._arm.mass * (whole - gravity_change(theta) - GRAVITY)
        moment = cross(driven.centre - self._truth.arm_base, force) + _twist(driven, omega)
        moment += (driven.inertia @ alpha[..., None])[..., 0]
        changes = (force - self._weight, moment - self._rest_at_arm)
        return np.stack((*changes, r, v, a, theta, omega, alpha), axis=-2).swapaxes(0, 1)


def _swing(driven: _Driven, omega: Array) -> Array:
    """Return the acceleration of the arm's centre without a and alpha, m/s^2."""
    return driven.push + cross(omega, cross(omega, driven.centre) + 2.0 * driven.slide)


def _twist(driven: _Driven, omega: Array) -> Array:
    """Return the rate of the arm's angular momentum without alpha, N m."""
    whole = omega + driven.turn
    spin = driven.spin + cross(omega, driven.turn)
    own = driven.inertia @ np.stack((spin, whole), axis=-1)
    return own[..., 0] + cross(whole, own[..., 1])


def coupled_mass(base: BaseParameters, arm: Arm, centre: Array, inertia: Array) -> Array:
    """Return the mass matrix of base and arm for [a, alpha], shape (..., 6, 6).

    `centre`: p, m, (..., 3); `inertia` of the arm about it, kg m^2, (..., 3, 3).
    """
    p = cross_matrix(centre)
    matrix = np.zeros((*centre.shape[:-1], 6, 6))
    matrix[..., :3, :3] = (base.mass + arm.mass) * np.eye(3)
    matrix[..., :3, 3:] = -arm.mass * p
    matrix[..., 3:, :3] = arm.mass * p
    matrix[..., 3:, 3:] = base.inertia + inertia - arm.mass * p @ p
    return matrix


@dataclass(frozen=True)
class ExperimentSettings:
    """Settings of an experiment: the paper's values where it gives them.

    Attributes:
        duration: s, a multiple of the interval.
        period: Sampling time, s.
        interval: Time between two choices of the excitation, s, a multiple of the period.
        settled: Time of (24), after a smooth start, before measuring, s; 0 in the paper.
        blend: Transition between excitations, including that start, s.
        window: Samples that the estimator averages; 1 in the paper.
        published_filter: Kalman filter of the paper; None: errors in variables.
        thin: Sampling periods per step of a prediction.
        population: Candidates of the optimiser per chosen number.
        generations: Generations of candidates.

    Raises:
        ValueError: A time is not a multiple as required, or a number is not positive.
    """

    arm: Arm = field(default_factory=Arm)
    limits: ArmLimits = field(default_factory=ArmLimits)
    noise: SensorNoise = field(default_factory=SensorNoise)
    duration: float = 10.0
    period: float = 0.005
    interval: float = 0.4
    settled: float = 0.0
    blend: float = 0.2
    window: int = 4
    published_filter: PublishedFilter | None = None
    thin: int = 2
    population: int = 6
    generations: int = 6

    def __post_init__(self) -> None:
        for name in ("duration", "period", "interval", "blend"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"{name} = {getattr(self, name)} s: must be > 0")
        if not self.settled >= 0.0:
            raise ValueError(f"settled = {self.settled} s: must be >= 0")
        for name in ("window", "thin", "population", "generations"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)}: must be 1 or more")
        for whole, part in (("duration", "interval"), ("interval", "period")):
            ratio = getattr(self, whole) / getattr(self, part)
            if abs(ratio - round(ratio)) > 1e-6:
                raise ValueError(
                    f"{whole} = {getattr(self, whole)} s: must be a multiple of the {part}, "
                    f"{getattr(self, part)} s"
                )
        for name, count in (("window", self.window), ("thin", self.thin)):
            if self.samples % count:
                raise ValueError(f"{name} = {count}: must divide the interval's {self.samples}")
        if self.samples // self.thin % self.foreseen_window:
            raise ValueError(f"thin = {self.thin}: must divide the window, {self.window}")

    @property
    def intervals(self) -> int:
        """Number of intervals of a run."""
        return round(self.duration / self.interval)

    @property
    def samples(self) -> int:
        """Number of sampling periods per interval."""
        return round(self.interval / self.period)

    @property
    def foreseen_window(self) -> int:
        """Number of prediction steps that are averaged."""
        return max(1, self.window // self.thin)
