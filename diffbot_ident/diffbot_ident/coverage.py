"""How much of the motion that each parameter needs has been seen, in buckets.

K5 needs turning to both sides, K6 driving while turning in all four combinations, K7 torques in
common to both sides and K8 opposite ones. A bucket is full after so many windows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffbot_ident.integral_rows import DIFFERENCE, OMEGA, SUM, Array, V

FULL = 10
"""Windows that fill a bucket."""


@dataclass(frozen=True)
class MotionScale:
    """The size of motions and torques of a robot under identification.

    Attributes:
        velocity: m/s.
        yaw_rate: rad/s.
        torque: of one wheel, N m.
    """

    velocity: float
    yaw_rate: float
    torque: float


class Coverage:
    """Counts windows in buckets.

    Args:
        scale: of the motion; a window counts beyond a tenth of it.
    """

    def __init__(self, scale: MotionScale) -> None:
        self._scale = scale
        self._counts = [np.zeros(2), np.zeros(4), np.zeros(2), np.zeros(2)]

    def add(self, rows: Array, span: float) -> None:
        """Count rows; span is the length of a row's window, s."""
        scale = self._scale
        v = _side(rows[:, V] / span, 0.1 * scale.velocity)
        omega = _side(rows[:, OMEGA] / span, 0.1 * scale.yaw_rate)
        total = _side(rows[:, SUM.start] / span, 0.2 * scale.torque)
        difference = _side(rows[:, DIFFERENCE.start] / span, 0.2 * scale.torque)
        for counts, side in ((0, omega), (2, total), (3, difference)):
            self._counts[counts] += (np.sum(side > 0), np.sum(side < 0))
        self._counts[1] += [np.sum((v == a) & (omega == b)) for a in (1, -1) for b in (1, -1)]

    def forget(self, factor: float) -> None:
        """Let the counts so far be worth this factor (0 to 1) only."""
        for counts in self._counts:
            counts *= factor

    def shares(self) -> tuple[float, float, float, float]:
        """Share of the buckets of [K5, K6, K7, K8] that is full, 0 to 1."""
        k5, k6, k7, k8 = (float(np.minimum(c / FULL, 1.0).mean()) for c in self._counts)
        return k5, k6, k7, k8


def _side(values: Array, threshold: float) -> Array:
    """+1, 0 or -1: on which side of the threshold."""
    return np.where(np.abs(values) > threshold, np.sign(values), 0.0)
