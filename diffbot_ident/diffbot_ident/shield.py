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
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.body_model import BodyModel, BodyPrior, Paths

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
