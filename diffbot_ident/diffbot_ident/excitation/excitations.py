"""Excitations by name: `prbs`, `multisine`, `optimised`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from random import Random
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from diffbot_description import Robot, closed_form
from diffbot_ident.excitation.body_model import BodyInformation, BodyPrior, Motion, predicted_window
from diffbot_ident.excitation.shield import (
    Arena,
    PrbsSource,
    Shield,
    ShieldedExcitation,
    ShieldedSequence,
    reach,
    torque_levels,
)
from diffbot_ident.excitation.signals import GuardedPrbs, Multisine, wheel_speed_limit

# ---
# Torques that tell most about K5..K8, chosen some stages ahead.
#
# Sujan and Dubowsky (2002) drive a robot so that each motion adds the most information about its
# dynamic parameters. Here every sequence of a few torque levels over the coming stages is
# predicted, and the one that gains most joint bits (D-optimality, see information.py) about K5..K8
# over what is known already is begun. Its first stage is driven; then the choice is made anew.

Array = NDArray[np.float64]

# Bits that a plan loses if its limits are exceeded by all of themselves; its first stage is safe
# in any case.
PENALTY = 1e3
# Bits by which equal plans are told apart at random: at rest, left and right are the same.
CHANCE = 1e-3


class InformationPlanner:
    """Chooses among torque levels the one that begins the most informative sequence.

    Args:
        levels: torques [left, right] to choose from, N m, shape (2, m).
        stages: duration of each stage that is planned ahead, s; the first is what is driven.
        seed: breaks ties, >= 0.
    """

    def __init__(self, levels: Array, stages: Sequence[float], seed: int) -> None:
        count = levels.shape[1]
        self._sequences = np.array(list(product(range(count), repeat=len(stages))))
        self._torques = levels[:, self._sequences]  # (2, sequences, stages)
        self._stages = tuple(stages)
        self._random = Random(seed)

    def choose(
        self,
        pose: Array,
        velocity: Array,
        safe: NDArray[np.bool_],
        shield: Shield,
        information: BodyInformation,
    ) -> tuple[int, Array]:
        """The best first level and the regressors of its predicted window, shape (2, 6).

        Args:
            pose: now, shape (3,), m and rad.
            velocity: now, shape (2,), m/s and rad/s.
            safe: which levels may be held for one stage, shape (m,); at least one.
            shield: that knows model and limits.
            information: what is known already.
        """
        allowed = safe[self._sequences[:, 0]]
        sequences, torques = self._sequences[allowed], self._torques[:, allowed]
        count = len(sequences)
        poses = np.repeat(pose[:, None], count, axis=1)
        velocities = np.repeat(velocity[:, None], count, axis=1)
        windows = []
        for stage, duration in enumerate(self._stages):
            torque = torques[:, :, stage]
            paths = shield.model.held(poses, velocities, torque, duration)
            windows.append(predicted_window(shield.model, paths, torque, duration))
            poses, velocities = paths.pose[:, -1], paths.velocity[:, -1]
        gains = information.gain(np.stack(windows))
        gains -= PENALTY * shield.plan_excess(poses, velocities)
        gains += CHANCE * np.random.default_rng(self._random.getrandbits(32)).random(count)
        best = int(np.argmax(gains))
        return int(sequences[best, 0]), windows[0][best]


class OptimisedExcitation(ShieldedExcitation):
    """Drives what tells most about K5..K8 among the safe torque levels.

    Args:
        planner: chooses among the levels.
        predicted: counts the information in the predicted motions.
        settings: as for ShieldedExcitation.
    """

    def __init__(
        self, planner: InformationPlanner, predicted: BodyInformation, **settings: object
    ) -> None:
        super().__init__(**settings)
        self._planner = planner
        self._predicted = predicted

    @property
    def predicted_information(self) -> float:
        """Bits about K5..K8 that the motions would have gained as they were predicted."""
        return self._predicted.bits

    def _choose(self, pose: Array, velocity: Array) -> Array | None:
        excess = self._shield.excess(pose, velocity, self.levels, self._duration)
        safe = excess <= 0.0
        if not safe.any():
            return self._emergency(pose, velocity, excess)
        level, window = self._planner.choose(pose, velocity, safe, self._shield, self._achieved)
        self._predicted.add(window[None])
        return self._held(level)


KINDS = ("prbs", "multisine", "optimised")
# Time between two decisions about a sequence of torques, s.
DECISION = 0.1
# Longest hold, s.
LONGEST_HOLD = 1.0
# Durations of the stages that the optimised excitation plans ahead, in holds.
STAGES = (1, 2)


class Excitation(Protocol):
    """Gives the torques that excite a robot."""

    guarded: int
    """Wheel torques that were replaced to keep to the limits, up to two in a control period."""

    information: float
    """Bits about K5..K8 gained by the measured motion; NaN where it is not counted."""

    predicted_information: float
    """Bits about K5..K8 as predicted before each motion; NaN where nothing is predicted."""

    def torque(self, motion: Motion) -> tuple[float, float]:
        """Wheel torques [left, right] for the next control period, N m; call once per period."""

    def interrupt(self) -> None:
        """Samples were lost: nothing is known of the time in between, zero torque was commanded.

        Call it before `torque` is called with the next motion.
        """

    def learn(
        self,
        values: Sequence[float],
        variances: Sequence[float],
        viscous: Sequence[float] | None = None,
        coulomb: Sequence[float] | None = None,
    ) -> None:
        """Predict with an estimate from now on; see ShieldedExcitation.learn."""


class PrbsExcitation:
    """GuardedPrbs as an Excitation: bounded in speed, not in space, and needs no model.

    Args:
        prbs: the guarded sequences.
    """

    information = math.nan
    predicted_information = math.nan

    def __init__(self, prbs: GuardedPrbs) -> None:
        self._prbs = prbs

    @property
    def guarded(self) -> int:
        """Wheel torques that the speed guard has replaced so far."""
        return self._prbs.guarded

    def torque(self, motion: Motion) -> tuple[float, float]:
        """Wheel torques [left, right] for the next control period, N m."""
        return self._prbs.torque(motion.wheel_speeds)

    def interrupt(self) -> None:
        """Samples were lost; the speed guards forget the speeds before."""
        self._prbs.interrupt()

    def learn(self, *_: object) -> None:
        """Nothing is predicted, so there is nothing to learn."""


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
) -> Excitation:
    """The excitation of that name.

    `prbs` without an arena is bounded in speed by its guards alone; all others, and `prbs` in an
    arena, are kept inside the robot's speed limits for its excitation and the arena by a Shield.

    Args:
        kind: "prbs", "multisine" or "optimised".
        robot: gives geometry, limits and defaults.
        seed: of everything that is random, >= 0.
        amplitude: largest torque, N m; None for the robot's own.
        hold: control periods that a bit or a stage lasts; None for the robot's own.
        register: bits of the shift register; None for the robot's own; prbs only.
        arena: that the robot must stay in; None for no bound.
        prior: K5..K8 and friction that motion is predicted with, not needed for prbs without an
            arena; see nominal_prior.
        period: control period, s.

    Raises:
        ValueError: an argument is outside its range; the message says what to change.
    """
    if kind not in KINDS:
        raise ValueError(f"excitation = {kind!r}: choose one of {', '.join(KINDS)}")
    own = robot.excitation
    amplitude = own.amplitude if amplitude is None else amplitude
    hold = own.hold if hold is None else hold
    register = own.register if register is None else register
    _check(robot, amplitude, hold, period)
    speeds = (own.linear_velocity, own.angular_velocity)
    radius, half_track = robot.wheels.radius, robot.wheels.half_track
    wheel_speed = wheel_speed_limit(*speeds, radius, half_track)
    if kind == "prbs" and arena is None:
        return PrbsExcitation(GuardedPrbs(amplitude, hold, register, wheel_speed, seed))
    if prior is None:
        raise ValueError(
            f"prior = None: excitation {kind!r} predicts motions and needs K5..K8 to begin with; "
            "give nominal_prior(robot)"
        )
    room = None if arena is None else arena.room(reach(robot))
    interval = hold if kind == "optimised" else max(1, round(DECISION / period))

    def information() -> BodyInformation:
        counts = robot.encoder.counts
        window = interval * period
        return BodyInformation(
            prior, radius, half_track, amplitude, wheel_speed, counts, period, window
        )

    settings = {
        "shield": Shield(radius, half_track, prior, room, speeds, amplitude),
        "prior": prior,
        "amplitude": amplitude,
        "interval": interval,
        "period": period,
        "information": information(),
    }
    if kind == "optimised":
        planner = InformationPlanner(
            torque_levels(amplitude), [n * interval * period for n in STAGES], seed
        )
        return OptimisedExcitation(planner, information(), **settings)
    if kind == "multisine":
        return ShieldedSequence(Multisine(amplitude, hold, seed), seed, **settings)
    return ShieldedSequence(PrbsSource(amplitude, hold, register, seed), seed, **settings)


def nominal_prior(robot: Robot, spread: float = 0.3) -> BodyPrior:
    """The closed form and the friction of the robot's YAML, with each of K5..K8 off by `spread`."""
    k = closed_form(robot.model)
    friction = robot.friction
    return BodyPrior(k, (spread,) * 4, friction.viscous, friction.coulomb)


def _check(robot: Robot, amplitude: float, hold: int, period: float) -> None:
    if not (math.isfinite(amplitude) and 0.0 < amplitude <= robot.limits.torque):
        raise ValueError(
            f"amplitude = {amplitude} N m: must be > 0 and <= {robot.limits.torque} N m, the "
            f"torque limit of robot '{robot.name}'; choose one in between"
        )
    if not 0.001 <= period <= 0.1:
        raise ValueError(f"control period = {period} s: must be 0.001 to 0.1 s; 0.01 is usual")
    if not 1 <= hold <= round(LONGEST_HOLD / period):
        raise ValueError(
            f"hold = {hold} samples: must be 1 to {round(LONGEST_HOLD / period)}, that is "
            f"{LONGEST_HOLD} s; 20 suits 100 Hz"
        )
