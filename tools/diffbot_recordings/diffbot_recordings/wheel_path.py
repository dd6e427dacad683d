# SPDX-License-Identifier: Apache-2.0
"""Odometry of recorded wheel turns by exact arcs, Lages (2018) (35)-(37), for any geometry."""

from __future__ import annotations

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_recordings.sensor_readings import Array, ReadingsError, WheelTurns

LONGEST_GAP = 0.25
"""The motion between wheel readings further apart than this, s, is unknown."""


class WheelPath:
    """Odometry of wheels that roll without slip, from (0, 0), heading 0, at the first reading."""

    def __init__(self, wheels: WheelTurns, geometry: WheelGeometry) -> None:
        if len(wheels.stamps) < 2:
            raise ReadingsError(
                f"WheelTurns.stamps holds {len(wheels.stamps)} readings: must hold 2 or more"
            )
        self._stamps = wheels.stamps
        left = geometry.left_radius * np.diff(wheels.left)
        right = geometry.right_radius * np.diff(wheels.right)
        self._lengths, self._turns = 0.5 * (left + right), (right - left) / geometry.separation
        self._headings = np.concatenate(([0.0], np.cumsum(self._turns)))
        dx, dy = _chord(self._lengths, self._turns, self._headings[:-1])
        self._x = np.concatenate(([0.0], np.cumsum(dx)))
        self._y = np.concatenate(([0.0], np.cumsum(dy)))

    def poses(self, times: Array) -> Array:
        """Return poses [x m, y m, heading rad (whole turns counted)] at times in s, (n, 3)."""
        i, fraction = _places(self._stamps, times)
        turn = fraction * self._turns[i]
        dx, dy = _chord(fraction * self._lengths[i], turn, self._headings[i])
        return np.stack((self._x[i] + dx, self._y[i] + dy, self._headings[i] + turn), axis=1)

    def headings(self, times: Array) -> Array:
        """Return headings at times in s, rad, (n,)."""
        i, fraction = _places(self._stamps, times)
        turned: Array = self._headings[i] + fraction * self._turns[i]
        return turned


def angles(wheels: WheelTurns, times: Array) -> Array:
    """Return interpolated angles of the wheels [left, right] at times in s, rad, (..., 2)."""
    i, fraction = _places(wheels.stamps, times)
    return np.stack(
        [a[i] + fraction * (a[i + 1] - a[i]) for a in (wheels.left, wheels.right)], axis=-1
    )


def driven(wheels: WheelTurns, times: Array) -> Array:
    """Return the angles that the wheels have turned so far in either direction, rad, (..., 2)."""
    i, fraction = _places(wheels.stamps, times)
    columns = []
    for angle in (wheels.left, wheels.right):
        path = np.concatenate(([0.0], np.cumsum(np.abs(np.diff(angle)))))
        columns.append(path[i] + fraction * (path[i + 1] - path[i]))
    return np.stack(columns, axis=-1)


def gaps(wheels: WheelTurns) -> Array:
    """Return the time in the middle of each gap in the wheels' readings, s, (n,)."""
    wide = np.flatnonzero(np.diff(wheels.stamps) > LONGEST_GAP)
    return 0.5 * (wheels.stamps[wide] + wheels.stamps[wide + 1])


def _places(stamps: Array, times: Array) -> tuple[np.ndarray, Array]:
    i = np.clip(np.searchsorted(stamps, times, side="right") - 1, 0, len(stamps) - 2)
    return i, (times - stamps[i]) / (stamps[i + 1] - stamps[i])


def _chord(length: Array, turn: Array, heading: Array) -> tuple[Array, Array]:
    chord = length * np.sinc(turn / (2.0 * np.pi))
    direction = heading + 0.5 * turn
    return chord * np.cos(direction), chord * np.sin(direction)
