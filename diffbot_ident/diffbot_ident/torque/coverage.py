# SPDX-License-Identifier: Apache-2.0
"""How much of the motion that each parameter needs has been seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffbot_ident.torque.columns import OMEGA, V
from diffbot_ident.torque.effects import DIFFERENCE, SUM
from diffbot_ident.torque.estimate import Array


@dataclass(frozen=True)
class MotionScale:
    """The size of motions and torques under identification: m/s, rad/s, N m of one wheel."""

    velocity: float
    yaw_rate: float
    torque: float


# Windows after which a bucket of the coverage is full.
FULL_BUCKET = 10
# Buckets of K5..K8: pairs of v, omega, sum and difference forward (0 to 3) and backward (4 to 7).
BUCKETS = (((1, 1), (5, 5)), ((0, 1), (0, 5), (4, 1), (4, 5)), ((2, 2), (6, 6)), ((3, 3), (7, 7)))


class Coverage:
    """How much of the motion that each parameter needs has been seen: windows in buckets.

    K5: turning both ways; K6: driving while turning, in all four combinations; K7: common torques
    both ways; K8: opposite ones. Windows count beyond the scale's tenth (velocities) or fifth.
    """

    def __init__(self, scale: MotionScale) -> None:
        self._least = np.array(
            [0.1 * scale.velocity, 0.1 * scale.yaw_rate, *[0.2 * scale.torque] * 2]
        )
        self._counts = np.zeros((8, 8))

    def add(self, rows: Array, span: float) -> None:
        """Count windows by their rows; span is the length of a window, s."""
        seen = rows[:, [V, OMEGA, SUM.start, DIFFERENCE.start]] / span
        ways = np.concatenate((seen > self._least, seen < -self._least), axis=1).astype(float)
        self._counts += ways.T @ ways

    def forget(self, factor: float) -> None:
        """Scale the counts so far by this factor (0 to 1)."""
        self._counts *= factor

    def shares(self) -> tuple[float, float, float, float]:
        """Return how full the buckets of [K5, K6, K7, K8] are, 0 to 1."""
        filled = np.minimum(self._counts / FULL_BUCKET, 1.0).tolist()
        k5, k6, k7, k8 = (sum(filled[i][j] for i, j in own) / len(own) for own in BUCKETS)
        return k5, k6, k7, k8
