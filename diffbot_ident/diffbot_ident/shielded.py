"""Excitations that keep the robot inside its room and speeds, whatever they would like to do."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.body_information import BodyInformation, InformationRecorder
from diffbot_ident.body_model import BodyPrior, brake_torque
from diffbot_ident.motion import Motion
from diffbot_ident.shield import Shield

Array = NDArray[np.float64]
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
