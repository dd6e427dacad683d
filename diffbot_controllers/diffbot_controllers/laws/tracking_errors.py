# SPDX-License-Identifier: Apache-2.0
"""Errors of a robot relative to its reference over a run."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

# A robot has settled within these errors: position, m, and heading, rad.
SETTLED_POSITION = 0.01
SETTLED_HEADING = math.radians(1.0)


@dataclass(frozen=True)
class TrackingErrors:
    """Errors at n > 0 instants of a run.

    Attributes:
        time: s, increasing, shape (n,).
        error: Pose minus the reference's, m, m, rad, the heading within +-pi, shape (n, 3).
    """

    time: NDArray[np.float64]
    error: NDArray[np.float64]

    @classmethod
    def between(cls, time: ArrayLike, pose: ArrayLike, reference: ArrayLike) -> TrackingErrors:
        """Return the errors of poses; both arrays x, y, theta in m and rad, shape (n, 3)."""
        error = np.asarray(pose, float) - np.asarray(reference, float)
        error[:, 2] = np.remainder(error[:, 2] + math.pi, math.tau) - math.pi
        return cls(np.asarray(time, float), error)

    @property
    def distance(self) -> NDArray[np.float64]:
        """Distance from the reference, m, shape (n,)."""
        return np.hypot(self.error[:, 0], self.error[:, 1])

    @property
    def heading(self) -> NDArray[np.float64]:
        """Size of the heading error, rad, shape (n,)."""
        return np.abs(self.error[:, 2])

    @property
    def settling_time(self) -> float:
        """First time from which on the robot stays within 1 cm and 1 degree, s; inf if never."""
        outside = (self.distance > SETTLED_POSITION) | (self.heading > SETTLED_HEADING)
        return inside_from(self.time, outside)

    def rms(self, since: float) -> tuple[float, float]:
        """Return the RMS of distance (m) and heading error (rad) from a time (s) on."""
        late = self.time >= since
        return (
            float(np.sqrt(np.mean(self.distance[late] ** 2))),
            float(np.sqrt(np.mean(self.heading[late] ** 2))),
        )

    def largest(self, since: float) -> tuple[float, float]:
        """Return the largest distance (m) and heading error (rad) from a time (s) on."""
        late = self.time >= since
        return float(self.distance[late].max()), float(self.heading[late].max())


def inside_from(time: NDArray[np.float64], outside: ArrayLike) -> float:
    """Return the first time from which on nothing is outside, s, both (n,); inf if never."""
    late = np.flatnonzero(outside)
    if not len(late):
        return float(time[0])
    return float(time[late[-1] + 1]) if late[-1] + 1 < len(time) else math.inf
