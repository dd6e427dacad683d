"""Torques that tell most about K5..K8, chosen some stages ahead.

Sujan and Dubowsky (2002) drive a robot so that each motion adds the most information about its
dynamic parameters. Here every sequence of a few torque levels over the coming stages is predicted,
and the one that gains most joint bits (D-optimality, see information.py) about K5..K8 over what is
known already is begun. Its first stage is driven; then the choice is made anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from random import Random

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.body_information import BodyInformation, predicted_window
from diffbot_ident.shield import Shield
from diffbot_ident.shielded import ShieldedExcitation

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
