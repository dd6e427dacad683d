# SPDX-License-Identifier: Apache-2.0
"""Excitations by name: `prbs`, `multisine`, `optimised`.

The last drives the first stage of the most informative sequence of torque levels (after Sujan and
Dubowsky, 2002), and chooses again; docs/theory/excitation.md#information.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from numbers import Integral
from random import Random
from typing import Protocol

import numpy as np

from diffbot_description import Robot, closed_form
from diffbot_description.arena import Arena, reach
from diffbot_description.robot import ExcitationDefaults
from diffbot_ident.estimate import Array, Estimate
from diffbot_ident.excitation.body_model import BodyPrior, Motion
from diffbot_ident.excitation.information import BodyInformation, predicted_window
from diffbot_ident.excitation.multisine import Multisine
from diffbot_ident.excitation.prbs import (
    GUARD_DELAY,
    GuardedPrbs,
    PrbsPair,
    wheel_speed_limit,
)
from diffbot_ident.excitation.safety_filter import (
    SPEED_FRACTION,
    Decision,
    FilteredExcitation,
    Policy,
    SafetyFilter,
    SequencePolicy,
)

KINDS = ("prbs", "multisine", "optimised")
# Time between two decisions about a sequence of torques, s.
DECISION_TIME = 0.1
# Longest hold, s.
MAX_HOLD = 1.0
# Share of its speed limit that a wheel may gain until its guard acts: with more, both mostly brake.
MAX_GAIN = 0.5
STAGES = (1, 2)
# Penalty in bits for a plan that exceeds its limits by 100 %.
EXCESS_PENALTY = 1e3
# Random bits that break ties: at rest, left and right are equal.
TIE_BITS = 1e-3


class Excitation(Protocol):
    """Generates the torques that excite a robot."""

    @property
    def guarded(self) -> int:
        """Number of wheel torques replaced to respect the limits, up to two per control period."""

    @property
    def information(self) -> float:
        """Bits about K5..K8 gained by the measured motion; NaN where it is not counted."""

    @property
    def predicted_information(self) -> float:
        """Bits about K5..K8 as predicted before each motion; NaN where nothing is predicted."""

    def torque(self, motion: Motion) -> tuple[float, float]:
        """Return the torques [left, right] for the next period, N m; call once per period."""

    def interrupt(self) -> None:
        """Handle lost samples: the motion meanwhile is unknown, zero torque was commanded."""

    def learn(self, estimate: Estimate) -> None:
        """Predict with an estimate from now on; see FilteredExcitation.learn."""


class InformationPolicy:
    """Drives the admissible level that starts the most informative sequence of levels."""

    def __init__(
        self,
        safety_filter: SafetyFilter,
        achieved: BodyInformation,
        predicted: BodyInformation,
        seed: int,
    ) -> None:
        self._filter = safety_filter
        self._achieved = achieved
        self._predicted = predicted
        self._stages = [n * safety_filter.duration for n in STAGES]
        levels = safety_filter.levels
        count = levels.shape[1]
        self._sequences = np.array(list(product(range(count), repeat=len(STAGES))))
        self._torques = levels[:, self._sequences]  # (2, sequences, stages)
        self._random = Random(seed)

    @property
    def predicted_information(self) -> float:
        return self._predicted.bits

    def decide(self, pose: Array, velocity: Array) -> Decision:
        excess = self._filter.excess(pose, velocity, self._filter.levels)
        admissible = excess <= 0.0
        if not admissible.any():
            return self._filter.least_excess(pose, velocity, excess)
        allowed = admissible[self._sequences[:, 0]]
        gains, windows = self._gains(pose, velocity, self._torques[:, allowed])
        best = int(np.argmax(gains))
        self._predicted.add(windows[None, best])
        return Decision(self._filter.constant_torque(int(self._sequences[allowed][best, 0])))

    def _gains(self, pose: Array, velocity: Array, torques: Array) -> tuple[Array, Array]:
        """Return the gains of n sequences, bits less penalties, and windows of their first stages.

        `torques`: N m, (2, n, stages); windows (n, 2, 6).
        """
        model, count = self._filter.model, torques.shape[1]
        poses = np.repeat(pose[:, None], count, axis=1)
        velocities = np.repeat(velocity[:, None], count, axis=1)
        windows = []
        for stage, duration in enumerate(self._stages):
            torque = torques[:, :, stage]
            paths = model.constant_torque(poses, velocities, torque, duration)
            windows.append(predicted_window(model, paths, torque, duration))
            poses, velocities = paths.pose[:, -1], paths.velocity[:, -1]
        gains = self._achieved.gain(np.stack(windows))
        gains -= EXCESS_PENALTY * self._filter.plan_excess(poses, velocities)
        gains += TIE_BITS * np.random.default_rng(self._random.getrandbits(32)).random(count)
        return gains, windows[0]


def make_excitation(
    kind: str,
    robot: Robot,
    seed: int = 0,
    amplitude: float | None = None,
    hold: int | None = None,
    register: int | None = None,
    arena: Arena | None = None,
    prior: BodyPrior | None = None,
    period: float = 0.01,
    levels: int = 2,
) -> Excitation:
    """Return the excitation of that name, one of KINDS.

    `prbs` without an arena is limited in speed by its guards alone; for all others a SafetyFilter
    enforces the speed limits of the robot's excitation and the arena.

        >>> from diffbot_description import load_robot
        >>> motion = Motion((0.0, 0.0, 0.0), (0.0, 0.0), (0.0, 0.0))
        >>> make_excitation("prbs", load_robot("twil"), seed=1).torque(motion)
        (0.4, 0.4)

    Args:
        robot: Geometry, limits and defaults; used where an argument is None.
        seed: Seed of all random choices, >= 0.
        amplitude: Maximum torque, N m.
        hold: Control periods of a bit or a stage.
        register, levels: Bits of the shift register, number of torque levels; prbs only.
        prior: K5..K8 and friction with which motion is predicted, see nominal_prior; not needed for
            prbs without an arena.
        period: Control period, s.

    Raises:
        ValueError: An argument is outside its range; the message states what to change.
    """
    if kind not in KINDS:
        raise ValueError(f"excitation = {kind!r}: choose one of {', '.join(KINDS)}")
    own = robot.excitation
    own = replace(
        own,
        amplitude=own.amplitude if amplitude is None else amplitude,
        hold=own.hold if hold is None else hold,
        register=own.register if register is None else register,
    )
    _check(robot, own.amplitude, own.hold, period)
    if kind == "prbs" and arena is None:
        limit = excited_wheel_speed(robot)
        _check_gain(robot, own.amplitude, limit, period)
        return GuardedPrbs(own.amplitude, own.hold, own.register, limit, seed, levels)
    if prior is None:
        raise ValueError(
            f"prior = None: excitation {kind!r} predicts motions and needs K5..K8 to begin with; "
            "give nominal_prior(robot)"
        )
    room = None if arena is None else arena.room(reach(robot))
    return _filtered(kind, robot, own, seed, room, prior, period, levels)


def _filtered(
    kind: str,
    robot: Robot,
    strength: ExcitationDefaults,
    seed: int,
    room: tuple[float, float] | None,
    prior: BodyPrior,
    period: float,
    levels: int,
) -> FilteredExcitation:
    """Return an excitation with a SafetyFilter; `room`: largest |x| and |y|, m."""
    amplitude, hold = strength.amplitude, strength.hold
    radius, half_track = robot.wheels.radius, robot.wheels.half_track
    interval = hold if kind == "optimised" else max(1, round(DECISION_TIME / period))
    achieved, predicted = (
        BodyInformation(
            prior,
            radius,
            half_track,
            amplitude=amplitude,
            speed=excited_wheel_speed(robot),
            counts=robot.encoder.counts,
            period=period,
            interval=interval,
        )
        for _ in range(2)
    )
    safety_filter = SafetyFilter(
        radius,
        half_track,
        prior,
        room,
        (strength.linear_velocity, strength.angular_velocity),
        robot.rim_limit,
        amplitude=amplitude,
        interval=interval,
        period=period,
    )
    policy: Policy
    if kind == "optimised":
        policy = InformationPolicy(safety_filter, achieved, predicted, seed)
    elif kind == "multisine":
        policy = SequencePolicy(Multisine(amplitude, hold, seed), safety_filter, seed)
    else:
        source = PrbsPair(amplitude, hold, strength.register, seed, levels)
        policy = SequencePolicy(source, safety_filter, seed)
    return FilteredExcitation(policy, safety_filter, prior, achieved)


def excited_wheel_speed(robot: Robot) -> float:
    """Return the largest wheel speed within the limits of the excitation, and most of its own."""
    own, wheels = robot.excitation, robot.wheels
    return min(
        wheel_speed_limit(
            own.linear_velocity, own.angular_velocity, wheels.radius, wheels.half_track
        ),
        SPEED_FRACTION * robot.wheel_speed,
    )


def nominal_prior(robot: Robot) -> BodyPrior:
    """Return K5..K8 (closed form) and friction of the robot's YAML."""
    k = closed_form(robot.model)
    friction = (*robot.friction.viscous, *robot.friction.coulomb)
    return BodyPrior(k, friction=friction)


def _check_gain(robot: Robot, amplitude: float, limit: float, period: float) -> None:
    values, wheels = closed_form(robot.model), robot.wheels
    gain = max(values.k7, abs(values.k8) * wheels.half_track) * 2.0 / wheels.radius
    time = (GUARD_DELAY + 1) * period
    most = MAX_GAIN * limit / (gain * time)
    if amplitude > most:
        raise ValueError(
            f"amplitude = {amplitude:g} N m: must be <= {most:.3g} N m without an arena, so that a "
            f"wheel gains at most {MAX_GAIN:.0%} of its {limit:.3g} rad/s within the "
            f"{1e3 * time:g} ms that its guard takes; lower it, or give an arena"
        )


def _check(robot: Robot, amplitude: float, hold: int, period: float) -> None:
    if not (math.isfinite(amplitude) and 0.0 < amplitude <= robot.limits.torque):
        raise ValueError(
            f"amplitude = {amplitude} N m: must be > 0 and <= {robot.limits.torque} N m, the "
            f"torque limit of robot '{robot.name}'; choose one in between"
        )
    if not 0.001 <= period <= 0.1:
        raise ValueError(f"control period = {period} s: must be 0.001 to 0.1 s; 0.01 is usual")
    if not (isinstance(hold, Integral) and 1 <= hold <= round(MAX_HOLD / period)):
        raise ValueError(
            f"hold = {hold} samples: must be whole, 1 to {round(MAX_HOLD / period)}, that is "
            f"{MAX_HOLD} s; 20 suits 100 Hz"
        )
