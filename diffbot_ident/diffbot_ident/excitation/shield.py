"""Which torques are safe: the robot can always be braked to rest inside its room and speeds.

A torque that is held until the next decision is safe if the robot, braked from then on, comes to
rest without leaving its room or exceeding a speed limit. Standing still is safe, and what was
verified at one decision leaves at least the braking for the next one, so there is always a way on.
The prediction is repeated for K5..K8 that are off by what is not known of them: the corners of a
half-fraction factorial design (all pairs of parameters high and low) and the middle. Friction
helps to stop and is hardly known at first, so safety does not count on any.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from diffbot_description import Robot
from diffbot_ident.excitation.body_model import (
    BodyInformation,
    BodyModel,
    BodyPrior,
    InformationRecorder,
    Motion,
    Paths,
    brake_torque,
)
from diffbot_ident.excitation.signals import GuardedPrbs

Array = NDArray[np.float64]

# Share of the excitation's amplitude that braking is predicted with; the real brake uses all of it.
BRAKE_SHARE = 0.7
# Share of the speed limits that predictions may use; the rest is for noise of the measured speeds.
SPEED_SHARE = 0.92
# Time without torque that is reckoned with once samples have been lost, s.
COASTING = 0.3
# A description may be wrong by so much of the equivalent mass's offset, m: one that says that there
# is none has K5 = K6 = 0, of which a share is nothing.
OFFSET = 0.02
# Signs of the errors of K5..K8: the middle, and the 8 corners whose product is positive.
ERRORS = np.array(
    [(0, 0, 0, 0), *(corner for corner in product((-1, 1), repeat=4) if math.prod(corner) > 0)]
).T


class Shield:
    """Tells how far beyond the limits torques would lead, in the worst of several models.

    Args:
        radius: of the wheels, m.
        half_track: b, m.
        prior: K5..K8, how far they may be off, and the friction.
        room: largest |x| and |y| of the axle's midpoint, m; None for no limit.
        speeds: largest |v| in m/s and |omega| in rad/s.
        amplitude: largest torque of the excitation, N m.

    Raises:
        ValueError: a speed limit or the amplitude is not finite and > 0.
    """

    def __init__(
        self,
        radius: float,
        half_track: float,
        prior: BodyPrior,
        room: tuple[float, float] | None,
        speeds: tuple[float, float],
        amplitude: float,
    ) -> None:
        for name, value, unit in (
            ("linear velocity limit", speeds[0], "m/s"),
            ("angular velocity limit", speeds[1], "rad/s"),
            ("amplitude", amplitude, "N m"),
        ):
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"excitation's {name} = {value} {unit}: must be finite and > 0")
        self._radius, self._half_track = radius, half_track
        self._room = None if room is None else np.array(room)[:, None, None]
        self._speeds = SPEED_SHARE * np.array(speeds)[:, None, None]
        self._effort = BRAKE_SHARE * amplitude
        self._coasting = 0.0
        turned = OFFSET * abs(prior.values[3]) / (half_track * prior.values[2])
        self.offset_errors = (OFFSET, turned, 0.0, 0.0)
        self.learn(prior)

    def errors_of(self, prior: BodyPrior) -> tuple[float, ...]:
        """How far K5..K8 may be off: their spread, and no less than `offset_errors`.

        K5 = m_b d / M_e and K6 = K5 K8 / (b K7); `offset_errors` are what a move of the equivalent
        mass by OFFSET does to K5..K8, in their units.
        """
        return tuple(
            max(spread * abs(value), least)
            for value, spread, least in zip(
                prior.values, prior.spread, self.offset_errors, strict=True
            )
        )

    def learn(self, prior: BodyPrior, errors: Sequence[float] | None = None) -> None:
        """Predict with these parameters from now on.

        Args:
            prior: K5..K8 and friction.
            errors: how far K5..K8 may be off, in their units; None for `errors_of` the prior.
        """
        off = np.array(self.errors_of(prior) if errors is None else errors)
        shares = np.minimum(off, np.array(prior.spread) * np.abs(prior.values))
        # What is beyond their shares comes from the offset, to which K5 and -K6 are proportional.
        # K5 and K6 of one sign would make models that gain energy by turning.
        offset = (off - shares) * (1.0, -1.0, 0.0, 0.0)
        self._values = (
            np.array(prior.values)[:, None] + ERRORS * shares[:, None] + ERRORS[0] * offset[:, None]
        )
        self._models: dict[int, BodyModel] = {}
        # The middle model alone, with friction, for states and plans.
        self.model = BodyModel(
            self._radius, self._half_track, self._values[:, :1], prior.viscous, prior.coulomb
        )

    def expect_losses(self) -> None:
        """Samples were lost, and may be again: let the robot coast for COASTING before it brakes.

        The first loss comes unexpected; the margin of the arena and BRAKE_SHARE are for that.
        """
        self._coasting = COASTING

    def excess(self, pose: Array, velocity: Array, torques: Array, duration: float) -> Array:
        """How far each of n torques leads beyond the limits; 0 is safe.

        It is the mean over the way of what the limits are exceeded by, as a share of them.

        Args:
            pose: now, shape (3,), m and rad.
            velocity: now, shape (2,), m/s and rad/s.
            torques: [left, right] to hold, N m, shape (2, n).
            duration: until the next decision, s.

        Returns:
            Shape (n,), the worst over the models.
        """
        count, scenarios = torques.shape[1], ERRORS.shape[1]
        total = count * scenarios
        model = self._model_of(count)
        held = model.held(
            np.repeat(pose[:, None], total, axis=1),
            np.repeat(velocity[:, None], total, axis=1),
            np.repeat(torques, scenarios, axis=1),
            duration,
        )
        beyond = self._beyond(held)
        if self._coasting:
            end = held.pose[:, -1], held.velocity[:, -1]
            held = model.held(*end, np.zeros((2, total)), self._coasting)
            beyond += self._beyond(held)
        rest = model.braked(held.pose[:, -1], held.velocity[:, -1], self._effort)
        beyond += self._beyond(rest)
        return beyond.reshape(count, scenarios).max(axis=1)

    def braking_excess(self, pose: Array, velocity: Array) -> float:
        """How far braking from now on leads beyond the limits in the worst model; 0 is safe.

        Comparable with `excess`: a robot that stands outside its room has as much of it as if a
        torque kept it there, so that a torque that drives it back in is better.

        Args:
            pose: now, shape (3,), m and rad.
            velocity: now, shape (2,), m/s and rad/s.
        """
        count = ERRORS.shape[1]
        poses, velocities = (np.repeat(now[:, None], count, axis=1) for now in (pose, velocity))
        rest = self._model_of(1).braked(poses, velocities, self._effort)
        # `excess` adds up the means of two or three parts of the way.
        return (3.0 if self._coasting else 2.0) * float(self._beyond(rest).max())

    def plan_excess(self, pose: Array, velocity: Array) -> Array:
        """How far braking from n states leads beyond the limits in the middle model, (n,).

        Args:
            pose: shape (3, n), m and rad.
            velocity: shape (2, n), m/s and rad/s.
        """
        return self._beyond(self.model.braked(pose, velocity, self._effort))

    def _beyond(self, paths: Paths) -> Array:
        beyond = np.maximum(np.abs(paths.velocity) / self._speeds - 1.0, 0.0).sum(axis=0)
        if self._room is not None:
            beyond += np.maximum(np.abs(paths.pose[:2]) / self._room - 1.0, 0.0).sum(axis=0)
        mean = beyond.mean(axis=0)
        # A model that runs away says nothing but that it does.
        return np.where(np.isnan(mean), np.inf, mean)

    def _model_of(self, count: int) -> BodyModel:
        """All models for each of `count` torques."""
        if count not in self._models:
            values = np.tile(self._values, (1, count))
            self._models[count] = BodyModel(self._radius, self._half_track, values)
        return self._models[count]


# ---
# Excitations that keep the robot inside its room and speeds, whatever they would like to do.


Torque = tuple[float, float]

# Control periods by which decisions look back, as the guards of guarded_prbs.py do: the noise of
# the newest speeds is in the accelerations that the coming torques are paired with.
LOOK_BACK = 2
# Least spread that predictions reckon with, however precise an estimate says it is.
LEAST_SPREAD = 0.05
# An estimate may be off by this many of its standard deviations.
DEVIATIONS = 3.0


def torque_levels(amplitude: float) -> Array:
    """The nine pairs of full, no and reverse torque [left, right], N m, shape (2, 9)."""
    return amplitude * np.array(list(product((-1.0, 0.0, 1.0), repeat=2))).T


class ShieldedExcitation(ABC):
    """Decides at regular intervals what to drive; between two decisions the torques are fixed.

    Args:
        shield: tells which torques are safe.
        prior: what is believed of the robot at the beginning.
        amplitude: largest torque, N m.
        interval: control periods from one decision to the next.
        period: control period, s.
        information: counts the information in the measured motion.
    """

    def __init__(
        self,
        shield: Shield,
        prior: BodyPrior,
        amplitude: float,
        interval: int,
        period: float,
        information: BodyInformation,
    ) -> None:
        self._shield = shield
        self._prior = prior
        self._amplitude = amplitude
        self._interval = interval
        self._period = period
        self._achieved = information
        self._recorder = InformationRecorder(information, interval, period)
        self._motions: deque[Motion] = deque(maxlen=LOOK_BACK + 1)
        # The torques that acted over the periods that end with these motions, and the newest.
        self._torques = deque([(0.0, 0.0)] * (LOOK_BACK + 1), maxlen=LOOK_BACK + 1)
        # Torques still to come until the next decision; None where the robot brakes.
        self._plan: deque[Torque | None] = deque()
        self._begun = self._interrupted = False
        self.levels = torque_levels(amplitude)
        self.decisions = 0
        self.interventions = 0
        self.guarded = 0

    @property
    def information(self) -> float:
        """Bits about K5..K8 gained by the measured motion."""
        return self._achieved.bits

    @property
    def predicted_information(self) -> float:
        """Bits that the predicted motions would have gained; NaN where nothing is predicted."""
        return math.nan

    def learn(
        self,
        values: Sequence[float],
        variances: Sequence[float],
        viscous: Sequence[float] | None = None,
        coulomb: Sequence[float] | None = None,
    ) -> None:
        """Predict with an estimate from now on.

        A parameter whose variance is not finite keeps its value and spread of the beginning, and
        no spread grows beyond that of the beginning.

        Args:
            values: K5..K8.
            variances: of them, in their units squared.
            viscous: friction [left, right], N m s/rad; None for that of the beginning.
            coulomb: friction [left, right], N m; None for that of the beginning. Negative friction
                is taken for none.
        """
        new, errors = list(self._prior.values), list(self._shield.errors_of(self._prior))
        offsets = self._shield.offset_errors
        for i, (value, variance) in enumerate(zip(values, variances, strict=True)):
            sign_wrong = (i == 2 and value <= 0.0) or (i == 3 and value >= 0.0)
            if not (math.isfinite(value) and math.isfinite(variance)) or sign_wrong:
                continue
            off, size = DEVIATIONS * math.sqrt(variance), abs(value)
            most = max(self._prior.spread[i] * size, offsets[i])
            if off < most:
                new[i], errors[i] = value, max(off, min(LEAST_SPREAD * size, most))
        friction = {
            name: tuple(max(0.0, value) for value in pair)
            for name, pair in (("viscous", viscous), ("coulomb", coulomb))
            if pair is not None and all(map(math.isfinite, pair))
        }
        self._shield.learn(replace(self._prior, values=tuple(new), **friction), errors)

    def torque(self, motion: Motion) -> Torque:
        """Wheel torques [left, right] for the next control period, N m."""
        if self._take(motion):
            # What chooses the next torques must not know the newest speeds either.
            self._recorder.add(self._motions[0], self._torques[0])
            if not self._plan:
                self._decide()
            torque = self._plan.popleft() or self._brake(self._motions[0])
        else:
            torque = self._brake(motion)
        self._torques.append(torque)
        return torque

    def interrupt(self) -> None:
        """Samples were lost: nothing is known of the time in between, zero torque was commanded.

        The robot is braked until there are motions enough to decide by again. The next motion's
        speeds are means over the gap, so it only serves to begin with braking. From now on the
        shield reckons with further losses.
        """
        self._motions.clear()
        self._plan.clear()
        self._torques.extend([(0.0, 0.0)] * (LOOK_BACK + 1))
        self._recorder = InformationRecorder(self._achieved, self._interval, self._period)
        self._begun = self._interrupted = True
        self._shield.expect_losses()

    def _take(self, motion: Motion) -> bool:
        """Remember a motion; returns whether there are enough to decide by."""
        if self._interrupted:
            self._interrupted = False
            return False
        if not self._begun:
            # An excitation may begin anywhere in the arena, and while the robot still rolls.
            self._motions.extend([motion] * LOOK_BACK)
            self._begun = True
        self._motions.append(motion)
        return len(self._motions) > LOOK_BACK

    def _decide(self) -> None:
        """Plan the torques until the next decision."""
        self.decisions += 1
        plan = self._choose(*self._now())
        self._plan.extend([None] * self._interval if plan is None else map(tuple, plan.T.tolist()))

    def _brake(self, motion: Motion) -> Torque:
        ease = self._shield.model.brake_speed(self._amplitude)
        return brake_torque(motion.wheel_speeds, self._amplitude, ease)

    @abstractmethod
    def _choose(self, pose: Array, velocity: Array) -> Array | None:
        """Torques until the next decision, shape (2, interval), N m; None to brake."""

    def _now(self) -> tuple[Array, Array]:
        """Pose (3,) and velocity (2,) now, predicted from the motion LOOK_BACK periods ago."""
        old = self._motions[0]
        pose, velocity = np.array(old.pose)[:, None], np.array(old.velocity)[:, None]
        for torque in list(self._torques)[1:]:
            paths = self._shield.model.held(pose, velocity, np.array([torque]).T, self._period)
            pose, velocity = paths.pose[:, -1], paths.velocity[:, -1]
        return pose[:, 0], velocity[:, 0]

    def _emergency(self, pose: Array, velocity: Array, excess: Array) -> Array | None:
        """Where no level is safe: brake, or hold the level that leads least far beyond."""
        self.interventions += 1
        self.guarded += 2 * self._interval
        least = int(np.argmin(excess))
        if self._shield.braking_excess(pose, velocity) <= excess[least]:
            return None
        return self._held(least)

    def _held(self, level: int) -> Array:
        return np.repeat(self.levels[:, level : level + 1], self._interval, axis=1)

    @property
    def _duration(self) -> float:
        return self._interval * self._period


# ---
# Sequences of torques that are driven where they are safe: PRBS and multisine in an arena.


class TorqueSource(Protocol):
    """A sequence of torques that does not depend on the motion."""

    def take(self, count: int) -> Array:
        """The next `count` torques [left, right], N m, shape (2, count)."""


class ShieldedSequence(ShieldedExcitation):
    """Drives a sequence of torques, and the nearest safe torque level where that is not safe.

    Args:
        source: the sequence; it runs on while it is replaced.
        seed: chooses between levels that are equally near, >= 0.
        settings: as for ShieldedExcitation.
    """

    def __init__(self, source: TorqueSource, seed: int, **settings: object) -> None:
        super().__init__(**settings)
        self._source = source
        self._random = Random(seed)

    def _choose(self, pose: Array, velocity: Array) -> Array | None:
        wanted = self._source.take(self._interval)
        mean = wanted.mean(axis=1, keepdims=True)
        candidates = np.concatenate([mean, self.levels], axis=1)
        excess = self._shield.excess(pose, velocity, candidates, self._duration)
        if excess[0] <= 0.0:
            return wanted
        safe = np.flatnonzero(excess[1:] <= 0.0)
        if len(safe) == 0:
            return self._emergency(pose, velocity, excess[1:])
        distance = ((self.levels[:, safe] - mean) ** 2).sum(axis=0)
        nearest = safe[distance <= distance.min() + 1e-9]
        plan = self._held(int(self._random.choice(nearest.tolist())))
        self.interventions += 1
        self.guarded += int((plan != wanted).sum())
        return plan


class PrbsSource:
    """Binary torques of the two wheels, one sequence half a period apart.

    Args:
        amplitude: N m.
        hold: control periods of one bit.
        register: bits of the shift register, 7 to 15.
        seed: where in its period the sequence begins.
    """

    def __init__(self, amplitude: float, hold: int, register: int, seed: int) -> None:
        # The guarded excitation is the one copy of what the bits are; its guards never act at rest.
        self._prbs = GuardedPrbs(amplitude, hold, register, 1.0, seed)

    def take(self, count: int) -> Array:
        """The next `count` torques [left, right], N m, shape (2, count)."""
        return np.array([self._prbs.torque((0.0, 0.0)) for _ in range(count)]).T


# ---
# The rectangle that the whole robot must stay in while it is excited.

# Half of the least length of the midpoint's own rectangle, m. Less leaves no way to pick up speed.
LEAST_ROOM = 0.25


@dataclass(frozen=True)
class Arena:
    """A rectangle around the robot's start, along the robot's first heading (x) and across (y).

    It bounds the **whole body**: hull, wheels and casters in any heading. The axle's midpoint
    therefore keeps to the rectangle less the robot's reach and the margin on each side.

    Attributes:
        length: along x, m, > 0.
        width: along y, m, > 0.
        margin: kept free on each side for drift of the odometry and for errors of the model that
            motion is predicted with, m, >= 0.

    Raises:
        ValueError: a length is not finite or outside its range.
    """

    length: float
    width: float
    margin: float = 0.1

    def __post_init__(self) -> None:
        for name in ("length", "width"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"arena {name} = {value} m: must be finite and > 0; measure it")
        if not (math.isfinite(self.margin) and self.margin >= 0.0):
            raise ValueError(f"arena margin = {self.margin} m: must be finite and >= 0; try 0.1")

    @classmethod
    def parse(cls, text: str) -> Arena | None:
        """Read "length x width" in m, such as "3x3" or "4,2.5"; None where the text is empty.

        Raises:
            ValueError: it is not two numbers > 0.
        """
        if not text.strip():
            return None
        words = text.lower().replace("x", " ").replace(",", " ").split()
        try:
            length, width = map(float, words)
        except ValueError:
            raise ValueError(
                f"arena = {text!r}: must be length x width in m, such as 3x3; measure the floor"
            ) from None
        return cls(length, width)

    def room(self, reach: float) -> tuple[float, float]:
        """Largest |x| and |y|, m, that the axle's midpoint may have.

        Args:
            reach: largest distance of a part of the robot from the axle's midpoint, m.

        Raises:
            ValueError: the arena is too small for the robot.
        """
        taken = reach + self.margin
        least = 2.0 * (taken + LEAST_ROOM)
        for name in ("length", "width"):
            value = getattr(self, name)
            if value < least:
                raise ValueError(
                    f"arena {name} = {value:g} m: must be >= {least:.2f} m for this robot, which "
                    f"reaches {reach:.2f} m from its axle's middle and keeps a margin of "
                    f"{self.margin:g} m; clear a larger floor"
                )
        return 0.5 * self.length - taken, 0.5 * self.width - taken


def outline(robot: Robot) -> NDArray[np.float64]:
    """Corners of hull, wheels and the squares around the casters, x and y, shape (2, n), m.

    In the robot's frame, its origin the axle's midpoint.
    """
    shape, wheels = robot.body.shape, robot.wheels
    side, tread = 0.5 * shape.width, 0.5 * wheels.width
    boxes = [(shape.rear, shape.front, -side, side)]
    boxes += [
        (-wheels.radius, wheels.radius, y - tread, y + tread)
        for y in (wheels.half_track, -wheels.half_track)
    ]
    boxes += [
        (c.x - c.radius, c.x + c.radius, c.y - c.radius, c.y + c.radius) for c in robot.casters
    ]
    return np.array([(x, y) for x0, x1, *ys in boxes for x in (x0, x1) for y in ys]).T


def reach(robot: Robot) -> float:
    """Largest distance in the plane of a part of the robot from the axle's midpoint, m."""
    return float(np.hypot(*outline(robot)).max())


def extent(corners: NDArray[np.float64], pose: tuple[float, float, float]) -> tuple[float, float]:
    """Largest |x| and |y|, m, of the corners (see `outline`) of a robot at a pose (m, m, rad)."""
    x, y, theta = pose
    along, across = corners
    c, s = math.cos(theta), math.sin(theta)
    xs, ys = x + c * along - s * across, y + s * along + c * across
    return float(np.abs(xs).max()), float(np.abs(ys).max())
