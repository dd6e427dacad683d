# SPDX-License-Identifier: Apache-2.0
"""A safety filter for excitations: the robot can always be braked to rest within its limits.

See docs/theory/excitation.md#safety-filter.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from typing import Protocol

import numpy as np

from arc_odometry import UNLIMITED_RIMS, RimLimit
from diffbot_ident.estimate import Array, Estimate
from diffbot_ident.excitation.body_model import BodyModel, BodyPrior, Motion, Paths, brake_torque
from diffbot_ident.excitation.information import BodyInformation

Torque = tuple[float, float]

# Share of the amplitude with which braking is predicted; the real brake uses all of it.
BRAKE_FRACTION = 0.7
# Share of the speed limits that predictions may use, as measured speeds are noisy.
SPEED_FRACTION = 0.92
# Time without torque that is expected once samples have been lost, s.
COASTING = 0.3
# Possible error of the equivalent mass's offset, m: also where K5 = K6 = 0.
OFFSET_ERROR = 0.02
# Signs of the errors of K5..K8: no error, and the 8 corners whose product is positive.
ERRORS = np.array(
    [(0, 0, 0, 0), *(corner for corner in product((-1, 1), repeat=4) if math.prod(corner) > 0)]
).T


@dataclass(frozen=True)
class Decision:
    """Torques until the next decision.

    Attributes:
        torques: [left, right] of each control period, N m, shape (2, interval); None: brake.
        replaced: Number of wheel torques that differ from the policy's choice.
    """

    torques: Array | None
    replaced: int = 0


class SafetyFilter:
    """Computes by how much torques would exceed the limits, in the worst of several models.

    Args:
        radius, half_track: Wheel radius and b, m.
        prior: K5..K8, their possible errors, and the friction.
        room: Largest |x| and |y| of the axle's midpoint, m; None for no limit.
        speeds: Largest |v| in m/s and |omega| in rad/s, > 0.
        rims: Speed limit of the wheels' rims.
        amplitude: Maximum torque of the excitation, N m, > 0.
        interval: Control periods, s each, from one decision to the next.

    Attributes:
        model: The nominal model, with friction, to predict states and plans.
        levels: Pairs [left, right] of full, no and reverse torque, N m, shape (2, 9).
        offset_errors: Minimum errors of K5..K8, due to OFFSET_ERROR; see `errors_of`.
    """

    def __init__(
        self,
        radius: float,
        half_track: float,
        prior: BodyPrior,
        room: tuple[float, float] | None,
        speeds: tuple[float, float],
        rims: RimLimit = UNLIMITED_RIMS,
        *,
        amplitude: float,
        interval: int,
        period: float,
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
        self._speeds = SPEED_FRACTION * np.array(speeds)[:, None, None]
        self._rims = RimLimit(SPEED_FRACTION * rims.speed, rims.half_track)
        self._effort = BRAKE_FRACTION * amplitude
        self._coasting = 0.0
        self.amplitude, self.interval, self.period = amplitude, interval, period
        self.levels = amplitude * np.array(list(product((-1.0, 0.0, 1.0), repeat=2))).T
        turned = OFFSET_ERROR * abs(prior.values[3]) / (half_track * prior.values[2])
        self.offset_errors = (OFFSET_ERROR, turned, 0.0, 0.0)
        self.learn(prior)

    def errors_of(self, prior: BodyPrior) -> tuple[float, ...]:
        """Return the possible errors of K5..K8: their spread, at least `offset_errors`.

        By K5 = m_b d / M_e and K6 = K5 K8 / (b K7).
        """
        return tuple(
            max(spread * abs(value), least)
            for value, spread, least in zip(
                prior.values, prior.spread, self.offset_errors, strict=True
            )
        )

    def learn(self, prior: BodyPrior, errors: Sequence[float] | None = None) -> None:
        """Predict with this prior, and errors of K5..K8 (None: `errors_of` it), from now on."""
        off = np.array(self.errors_of(prior) if errors is None else errors)
        shares = np.minimum(off, np.array(prior.spread) * np.abs(prior.values))
        # Errors beyond the spread stem from the offset, of opposite signs.
        offset = (off - shares) * (1.0, -1.0, 0.0, 0.0)
        self._values = (
            np.array(prior.values)[:, None] + ERRORS * shares[:, None] + ERRORS[0] * offset[:, None]
        )
        self._models: dict[int, BodyModel] = {}
        self.model = BodyModel(self._radius, self._half_track, self._values[:, :1], prior.friction)

    def expect_losses(self) -> None:
        """Assume from now on that the robot coasts before it brakes, as samples may be lost."""
        self._coasting = COASTING

    @property
    def duration(self) -> float:
        return self.interval * self.period

    def constant_torque(self, level: int) -> Array:
        """Repeat a level until the next decision, N m, shape (2, interval)."""
        return np.repeat(self.levels[:, level : level + 1], self.interval, axis=1)

    def excess(self, pose: Array, velocity: Array, torques: Array) -> Array:
        """Return by how much n torques (2, n), N m, would exceed the limits, (n,); 0: admissible.

        As a share, averaged over the parts of the motion, in the worst model.
        """
        count, scenarios = torques.shape[1], ERRORS.shape[1]
        total = count * scenarios
        model = self._model_of(count)
        constant_torque = model.constant_torque(
            np.repeat(pose[:, None], total, axis=1),
            np.repeat(velocity[:, None], total, axis=1),
            np.repeat(torques, scenarios, axis=1),
            self.duration,
        )
        beyond = self._beyond(constant_torque)
        if self._coasting:
            end = constant_torque.pose[:, -1], constant_torque.velocity[:, -1]
            constant_torque = model.constant_torque(*end, np.zeros((2, total)), self._coasting)
            beyond += self._beyond(constant_torque)
        rest = model.braked(
            constant_torque.pose[:, -1], constant_torque.velocity[:, -1], self._effort
        )
        beyond += self._beyond(rest)
        worst: Array = beyond.reshape(count, scenarios).max(axis=1)
        return worst

    def least_excess(self, pose: Array, velocity: Array, excess: Array) -> Decision:
        """Decide where no level is admissible: brake, or hold that of the least excess, (9,)."""
        count = ERRORS.shape[1]
        poses, velocities = (np.repeat(now[:, None], count, axis=1) for now in (pose, velocity))
        rest = self._model_of(1).braked(poses, velocities, self._effort)
        # `excess` sums the means over two or three parts of the motion.
        braking = (3.0 if self._coasting else 2.0) * float(self._beyond(rest).max())
        least = int(np.argmin(excess))
        return Decision(
            None if braking <= excess[least] else self.constant_torque(least), 2 * self.interval
        )

    def plan_excess(self, pose: Array, velocity: Array) -> Array:
        """Return the excess of braking from poses (3, n), and velocities (2, n), shape (n,)."""
        return self._beyond(self.model.braked(pose, velocity, self._effort))

    def _beyond(self, paths: Paths) -> Array:
        sizes = np.abs(paths.velocity)
        beyond = np.maximum(sizes / self._speeds - 1.0, 0.0).sum(axis=0)
        if math.isfinite(self._rims.speed):
            rim = sizes[0] + self._rims.half_track * sizes[1]
            beyond += np.maximum(rim / self._rims.speed - 1.0, 0.0)
        if self._room is not None:
            beyond += np.maximum(np.abs(paths.pose[:2]) / self._room - 1.0, 0.0).sum(axis=0)
        mean = beyond.mean(axis=0)
        # A model that diverges exceeds all limits.
        return np.where(np.isnan(mean), np.inf, mean)

    def _model_of(self, count: int) -> BodyModel:
        if count not in self._models:
            values = np.tile(self._values, (1, count))
            self._models[count] = BodyModel(self._radius, self._half_track, values)
        return self._models[count]


class Policy(Protocol):
    """Chooses torques, among the admissible ones if there are any."""

    @property
    def predicted_information(self) -> float:
        """Bits that the predicted motions would have gained; NaN where nothing is predicted."""

    def decide(self, pose: Array, velocity: Array) -> Decision:
        """Return the torques for a pose (3,), m and rad, and a velocity (2,), m/s and rad/s."""


# Age of the motion that decisions use, control periods: the noise of the newest speeds is in the
# rows of the coming torques.
LOOK_BACK = 2
# Least spread in predictions, and possible error of an estimate, in standard deviations.
MIN_SPREAD = 0.05
ESTIMATE_STDS = 3.0


class FilteredExcitation:
    """Chooses torques at regular intervals; `guarded` were replaced to respect the limits."""

    def __init__(
        self,
        policy: Policy,
        safety_filter: SafetyFilter,
        prior: BodyPrior,
        information: BodyInformation,
    ) -> None:
        self._policy = policy
        self._filter = safety_filter
        self._prior = prior
        self._achieved = information
        self._motions: deque[Motion] = deque(maxlen=LOOK_BACK + 1)
        # Over the periods that end with these motions, and the newest.
        self._torques = deque([(0.0, 0.0)] * (LOOK_BACK + 1), maxlen=LOOK_BACK + 1)
        # Until the next decision; None where the robot brakes.
        self._plan: deque[Torque | None] = deque()
        self._begun = self._interrupted = False
        self.decisions = 0
        self.interventions = 0
        self.guarded = 0

    @property
    def information(self) -> float:
        return self._achieved.bits

    @property
    def predicted_information(self) -> float:
        return self._policy.predicted_information

    def learn(self, estimate: Estimate) -> None:
        """Predict with an estimate from now on.

        What is not identifiable keeps its initial value and spread, which is the largest; negative
        friction becomes 0.
        """
        new, errors = list(self._prior.values), list(self._filter.errors_of(self._prior))
        offsets = self._filter.offset_errors
        for i, (value, variance) in enumerate(
            zip(estimate.values, estimate.variances, strict=True)
        ):
            sign_wrong = (i == 2 and value <= 0.0) or (i == 3 and value >= 0.0)
            if not (math.isfinite(value) and math.isfinite(variance)) or sign_wrong:
                continue
            off, size = ESTIMATE_STDS * math.sqrt(variance), abs(value)
            most = max(self._prior.spread[i] * size, offsets[i])
            if off < most:
                new[i], errors[i] = value, max(off, min(MIN_SPREAD * size, most))
        k5, k6, k7, k8 = new
        friction = list(self._prior.friction)
        if estimate.friction is not None:
            result = list(estimate.friction.values)
            for pair in (slice(0, 2), slice(2, 4)):
                if all(map(math.isfinite, result[pair])):
                    friction[pair] = (max(0.0, value) for value in result[pair])
        viscous_left, viscous_right, coulomb_left, coulomb_right = friction
        learnt = replace(
            self._prior,
            values=(k5, k6, k7, k8),
            friction=(viscous_left, viscous_right, coulomb_left, coulomb_right),
        )
        self._filter.learn(learnt, errors)

    def torque(self, motion: Motion) -> Torque:
        if self._take(motion):
            self._achieved.record(self._motions[0], self._torques[0])
            if not self._plan:
                self._decide()
            torque = self._plan.popleft() or self._brake(self._motions[0])
        else:
            torque = self._brake(motion)
        self._torques.append(torque)
        return torque

    def interrupt(self) -> None:
        """Handle lost samples: brake until there are enough motions for a decision again."""
        self._motions.clear()
        self._plan.clear()
        self._torques.extend([(0.0, 0.0)] * (LOOK_BACK + 1))
        self._achieved.begin_window()
        self._begun = self._interrupted = True
        self._filter.expect_losses()

    def _take(self, motion: Motion) -> bool:
        """Store a motion; return whether there are enough."""
        if self._interrupted:
            self._interrupted = False
            return False
        if not self._begun:
            self._motions.extend([motion] * LOOK_BACK)
            self._begun = True
        self._motions.append(motion)
        return len(self._motions) > LOOK_BACK

    def _decide(self) -> None:
        decision = self._policy.decide(*self._now())
        self.decisions += 1
        self.interventions += decision.replaced > 0
        self.guarded += decision.replaced
        if decision.torques is None:
            self._plan.extend([None] * self._filter.interval)
        else:
            self._plan.extend((left, right) for left, right in decision.torques.T.tolist())

    def _now(self) -> tuple[Array, Array]:
        old = self._motions[0]
        pose, velocity = np.array(old.pose)[:, None], np.array(old.velocity)[:, None]
        for torque in list(self._torques)[1:]:
            acting = np.array([torque]).T
            paths = self._filter.model.constant_torque(pose, velocity, acting, self._filter.period)
            pose, velocity = paths.pose[:, -1], paths.velocity[:, -1]
        return pose[:, 0], velocity[:, 0]

    def _brake(self, motion: Motion) -> Torque:
        amplitude = self._filter.amplitude
        ease = self._filter.model.brake_speed(amplitude)
        return brake_torque(motion.wheel_speeds, amplitude, ease)


class TorqueSource(Protocol):
    """A sequence of torques that does not depend on the motion."""

    def take(self, count: int) -> Array:
        """Return the next `count` torques [left, right], N m, shape (2, count)."""


class SequencePolicy:
    """Drives a sequence of torques, or the nearest admissible level where it is not admissible.

    The sequence advances also while it is replaced; `seed` chooses between equally near levels.
    """

    predicted_information = math.nan

    def __init__(self, source: TorqueSource, safety_filter: SafetyFilter, seed: int) -> None:
        self._source = source
        self._filter = safety_filter
        self._random = Random(seed)

    def decide(self, pose: Array, velocity: Array) -> Decision:
        levels = self._filter.levels
        wanted = self._source.take(self._filter.interval)
        mean = wanted.mean(axis=1, keepdims=True)
        candidates = np.concatenate([mean, levels], axis=1)
        excess = self._filter.excess(pose, velocity, candidates)
        if excess[0] <= 0.0:
            return Decision(wanted)
        admissible = np.flatnonzero(excess[1:] <= 0.0)
        if len(admissible) == 0:
            return self._filter.least_excess(pose, velocity, excess[1:])
        distance = ((levels[:, admissible] - mean) ** 2).sum(axis=0)
        nearest = admissible[distance <= distance.min() + 1e-9]
        plan = self._filter.constant_torque(int(self._random.choice(nearest.tolist())))
        return Decision(plan, int((plan != wanted).sum()))
